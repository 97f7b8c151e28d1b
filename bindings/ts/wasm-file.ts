// The wasm file of ropewalk/external: fetched from an address, read from disk, or given by the caller. Every error names
// where the file came from, what came instead, and the fix.

import { type BuildName, buildOf, compiledOnce, hasRelaxed, refusal } from './instance.js';
import { ArgumentRangeError, ArgumentTypeError, UnsupportedError } from './runtime/errors.js';
import { isArrayBuffer, isDetached } from './runtime/typed-arrays.js';
import { readWhole } from './sources/node-files.js';
import { isA } from './sources/platform.js';
import { version } from './version.js';

// Makes the error for one file: `problem` is a predicate, and the subject is where the file came from.
type Fail = (problem: string, cause?: unknown) => Error;

const inside = "import 'ropewalk', which fetches nothing";
const served = `serve the file there, or ${inside}`;

// Where the file is missing because a bundler left it out. Each address is one that the bundler makes.
const leftOut = [
  {
    address: /\/\.vite\/deps\/|\/deps\/core[^/]*\.wasm/,
    advice: "in Vite's configuration set optimizeDeps: { exclude: ['ropewalk'] }",
  },
  { address: /^\/(?:.*\/)?_next\//, advice: "in Next's configuration set serverExternalPackages: ['ropewalk']" },
  { address: /(?:)/, advice: 'copy it from ropewalk/dist, or tell load() where it is: load({ url })' },
];

// An address in full up to a length that no address of a file reaches; a data: address contains the file.
const shown = (address: string): string => (address.length > 300 ? `${address.slice(0, 300)}...` : address);

const failureAt =
  (address: string, advice: string): Fail =>
  (problem, cause) =>
    new UnsupportedError(`load: ${shown(address)} ${problem}; ${advice}`, { cause });

/** Compiles a build's file beside this module, for which `addressOf` gives the URL. @internal */
export async function compileBeside(name: BuildName, addressOf: () => URL): Promise<WebAssembly.Module> {
  let address: string;
  try {
    address = String(addressOf());
  } catch (cause) {
    const why = 'the address of this module is missing, or is a blob: or data: one';
    const problem = `load: the ${name} build has no address, because ${why}`;
    throw new UnsupportedError(`${problem}; tell load() where it is: load({ url }), or ${inside}`, { cause });
  }
  const advice = leftOut.find((each) => each.address.test(address))?.advice;
  return compileAt(address, name, failureAt(address, `${advice}, or ${inside}`));
}

/** Compiles the file at an address that the caller gave: a build of this version, `name` if given. @internal */
export const compileUrl = /* @__PURE__ */ compiledOnce((address: string, name?: BuildName) =>
  compileAt(address, name, failureAt(address, served)),
);

/** Compiles what the caller gave as `wasm`: a build of this version. @internal */
export async function compileGiven(given: unknown): Promise<WebAssembly.Module> {
  const value = await settled(given);
  if (isA('URL', value, 'href')) return compileUrl(`${value.href}`);
  if (isA('Response', value, 'headers')) {
    if (value.bodyUsed) throw new ArgumentTypeError('load', 'wasm', value, 'a Response whose body is not read yet');
    const fail = failureAt(value.url || 'the Response given as wasm', served);
    return checked(await compileResponse(value, fail), undefined, fail);
  }
  const fail: Fail = (problem, cause) => {
    const expected = `expected 'ropewalk/core.wasm' or 'ropewalk/core-relaxed.wasm' of version ${version}`;
    return Object.assign(new ArgumentRangeError('load', 'wasm', value, `${problem}; ${expected}`), { cause });
  };
  return checked(await compileBytes(bytesGiven(value), fail), undefined, fail);
}

async function settled(value: unknown): Promise<unknown> {
  try {
    return await value;
  } catch (cause) {
    throw new UnsupportedError(`load: the promise given as wasm was rejected: ${told(cause)}; ${served}`, { cause });
  }
}

function bytesGiven(value: unknown): Uint8Array<ArrayBuffer> {
  if (!isArrayBuffer(value) && !ArrayBuffer.isView(value)) {
    const expected = 'the bytes of the file, a Response, a promise of either, or a URL (a text is for url)';
    throw new ArgumentTypeError('load', 'wasm', value, expected);
  }
  const bytes = value as ArrayBuffer | ArrayBufferView<ArrayBuffer>;
  if (isDetached(bytes)) throw new ArgumentTypeError('load', 'wasm', value, 'bytes that are not detached');
  return ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
}

async function compileAt(address: string, name: BuildName | undefined, fail: Fail): Promise<WebAssembly.Module> {
  const url = resolved(address, fail);
  if (url.protocol !== 'file:') return checked(await compileFetched(url, fail), name, fail);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await readWhole(url, 'load: this runtime reads no files');
  } catch (cause) {
    throw fail('cannot be read', cause);
  }
  return checked(await compileBytes(bytes, fail), name, fail);
}

// An address in full. A relative one is resolved against the page's or the worker's, as fetch() does.
function resolved(address: string, fail: Fail): URL {
  const { document, location } = globalThis as { document?: { baseURI: string }; location?: { href: string } };
  const base = document?.baseURI ?? location?.href;
  try {
    return new URL(address, base);
  } catch (cause) {
    throw fail(`is no full address${base === undefined ? '' : `, nor one relative to ${shown(base)}`}`, cause);
  }
}

async function compileFetched(url: URL, fail: Fail): Promise<WebAssembly.Module> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: 'same-origin' });
  } catch (cause) {
    throw fail("cannot be fetched (no network, no CORS headers, or a policy's connect-src)", cause);
  }
  return compileResponse(response, fail);
}

async function compileResponse(response: Response, fail: Fail): Promise<WebAssembly.Module> {
  if (!response.ok) throw fail(`answered ${response.status}`);
  const type = response.headers.get('content-type') ?? '';
  // compileStreaming() requires exactly this type; any other answer is compiled after the download.
  if (/^application\/wasm$/i.test(type.trim())) {
    return WebAssembly.compileStreaming(response).catch((cause) => {
      const isCompiled = cause instanceof WebAssembly.CompileError;
      throw refusal(cause) ?? fail(isCompiled ? notCompiled(cause) : brokeOff(cause), cause);
    });
  }
  let bytes: ArrayBuffer;
  try {
    bytes = await response.arrayBuffer();
  } catch (cause) {
    throw fail(brokeOff(cause), cause);
  }
  const answered: Fail = (problem, cause) =>
    fail(`answered ${type || 'something without a type'}, which ${problem}`, cause);
  return compileBytes(new Uint8Array(bytes), answered);
}

async function compileBytes(bytes: Uint8Array<ArrayBuffer>, fail: Fail): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    throw refusal(cause) ?? fail(notWasm(bytes) ?? notCompiled(cause), cause);
  }
}

function notWasm(bytes: Uint8Array): string | undefined {
  if ([0, 97, 115, 109].every((byte, i) => bytes[i] === byte)) return undefined;
  const beginning = JSON.stringify(new TextDecoder().decode(bytes.subarray(0, 16)));
  return bytes.length === 0 ? 'is empty' : `is no WebAssembly: it begins with ${beginning}`;
}

const told = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));

// By the connection, or by a signal of the caller's, whose reason may be anything.
const brokeOff = (cause: unknown) => `broke off: ${told(cause)}`;

function notCompiled(cause: unknown): string {
  const needs = hasRelaxed() ? '' : ' (this engine has no relaxed SIMD, so it needs core.wasm, not core-relaxed.wasm)';
  return `does not compile: ${told(cause)}${needs}`;
}

function checked(module: WebAssembly.Module, name: BuildName | undefined, fail: Fail): WebAssembly.Module {
  const build = buildOf(module);
  if (build === undefined) {
    const isOurs = WebAssembly.Module.customSections(module, 'ropewalk').length > 0;
    throw fail(isOurs ? `is of another version than the code, ${version}` : 'is another WebAssembly module');
  }
  if (name !== undefined && build !== name) throw fail(`is the ${build} build, in place of the ${name} one`);
  return module;
}
