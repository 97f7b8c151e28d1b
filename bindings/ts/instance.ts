// The common part of every load(): chooses a build, instantiates it, and explains failures. The caller supplies the
// compiled module.

import createCore, { type MainModule } from './core.mjs';
import { Ropewalk } from './ropewalk.js';
import * as check from './runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, OutOfMemoryError, UnsupportedError } from './runtime/errors.js';
import { Heap } from './runtime/heap.js';
import { unpackAtOnce } from './sources/node-files.js';
import { buildIds, version } from './version.js';

/** Options of load(). */
export interface LoadOptions {
  /**
   * `auto` (the default) uses relaxed SIMD where the engine has it. It is faster, and its results may differ in the
   * last bit from machine to machine. `deterministic` uses the build whose results have the same bits everywhere.
   */
  simd?: 'auto' | 'deterministic';
  /**
   * A WebAssembly.Module: a compiled `ropewalk/core.wasm` (or `ropewalk/core-relaxed.wasm`) of this version, for
   * runtimes that refuse to compile at run time, such as edge workers.
   */
  module?: object;
}

/** @internal */
export type BuildName = 'simd128' | 'relaxed';

// A module with one exported function () -> i32 from the rest of its code section in hexadecimal.
function probe(code: string): Uint8Array<ArrayBuffer> {
  // Magic, types, functions, exports, code.
  const module = `0061736d01000000 0105016000017f 03020100 07050101660000 0a${code}`;
  const digits = module.match(/[0-9a-f]{2}/g) ?? [];
  return Uint8Array.from(digits, (byte) => Number.parseInt(byte, 16));
}

// Instructions of simd128: i32x4.extract_lane 0 (i8x16.splat (i32.const 1)).
const simdProbe = /* @__PURE__ */ probe('0b010900 4101fd0f fd1b00 0b');
// Relaxed ones: a local variable, twice increased by the dot products of the bytes -128 and 127, of which lane 0.
const relaxedProbe = /* @__PURE__ */ probe(
  '2d012b 01017b 41807ffd0f 41ff00fd0f 2000fd9302 2100 41807ffd0f 41ff00fd0f 2000fd9302 2100 2000fd1b00 0b',
);
const relaxedResult = 2 * 4 * -128 * 127;

/** The build for this engine; UnsupportedError where there is none. @internal */
export function buildFor(simd: 'auto' | 'deterministic'): BuildName {
  if (typeof WebAssembly === 'undefined') throw new UnsupportedError('load: this runtime has no WebAssembly');
  if (simd === 'auto' && hasRelaxed()) return 'relaxed';
  if (!WebAssembly.validate(simdProbe)) {
    throw new UnsupportedError(
      'load: this runtime has no WebAssembly SIMD; Chrome 91, Firefox 89, Safari 16.4 and Node 16.4 have it',
    );
  }
  return 'simd128';
}

/**
 * Whether this engine runs the relaxed build, with the dot products of bytes as it needs them: V8 11.3, which has relaxed
 * SIMD behind a flag, loses what they are added to. Where a module must not be compiled here, no engine is known to be
 * wrong.
 * @internal
 */
export function hasRelaxed(): boolean {
  if (!WebAssembly.validate(relaxedProbe)) return false;
  try {
    const { f } = new WebAssembly.Instance(new WebAssembly.Module(relaxedProbe)).exports;
    return (f as () => number)() === relaxedResult;
  } catch {
    return true;
  }
}

/**
 * The error for an engine's refusal to compile or to instantiate; undefined for any other error. Chromium and WebKit
 * name 'unsafe-eval', although the narrower 'wasm-unsafe-eval' is enough, and Firefox only the CSP. WebKit throws an
 * EvalError in some versions, and in some only at instantiation.
 * @internal
 */
export function refusal(
  error: unknown,
  advice = "import 'ropewalk/core.wasm' as a module and pass it: load({ module })",
): UnsupportedError | undefined {
  if (!(error instanceof Error && /^(Compile|Eval)Error$/.test(error.name))) return undefined;
  if (/content.security.policy|unsafe-eval|\bCSP\b/i.test(error.message)) {
    const source = "add 'wasm-unsafe-eval' to script-src ('unsafe-eval' is not needed)";
    return new UnsupportedError(`load: this page's Content-Security-Policy refuses WebAssembly; ${source}`, {
      cause: error,
    });
  }
  if (/disallowed by embedder/i.test(error.message)) {
    return new UnsupportedError(`load: this runtime compiles no WebAssembly at run time; ${advice}`, { cause: error });
  }
  return undefined;
}

/**
 * An instance of a module, by the glue that was made with it.
 * @internal
 */
export async function instantiate(
  module: WebAssembly.Module,
  create: (options: object) => Promise<unknown> = createCore,
): Promise<Heap> {
  // create() never settles if its callback is not called, so failures reject this promise.
  return new Promise((resolve, reject) => {
    let memory: WebAssembly.Memory | undefined;
    const fail = (cause?: unknown) => reject(refusal(cause) ?? outOfMemory(cause) ?? notOurs(module, cause));
    const instantiateWasm = (imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) => {
      WebAssembly.instantiate(module, imports)
        .then((instance) => {
          memory = Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory);
          receive(instance);
        })
        .catch(fail);
      return {};
    };
    create({ instantiateWasm })
      .then((core) => (memory ? resolve(new Heap(core as MainModule, memory)) : fail()))
      .catch(fail);
  });
}

/**
 * The build that a module is, if it is of this version: bindings/package.mjs writes a hash into a custom section.
 * @internal
 */
export function buildOf(module: WebAssembly.Module): BuildName | undefined {
  let text: string;
  try {
    text = new TextDecoder().decode(WebAssembly.Module.customSections(module, 'ropewalk')[0]);
  } catch {
    return undefined; // no module
  }
  return text === buildIds.relaxed ? 'relaxed' : text === buildIds.simd128 ? 'simd128' : undefined;
}

function outOfMemory(cause: unknown): OutOfMemoryError | undefined {
  if (!(cause instanceof RangeError)) return undefined;
  return new OutOfMemoryError('load: there is no memory for another instance', { cause });
}

// The error for a module that does not fit the glue or is of another version.
function notOurs(module: WebAssembly.Module, cause?: unknown): ArgumentTypeError {
  const error = new ArgumentTypeError('load', 'module', module, "the compiled 'ropewalk/core.wasm' of this version");
  error.cause = cause;
  return error;
}

// Engines before 2025 lack fromBase64; a loop takes a tenth of the time of Uint8Array.from with a callback.
function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const { fromBase64 } = Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (fromBase64 !== undefined) return fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

function inflater(): DecompressionStream {
  try {
    return new DecompressionStream('deflate-raw');
  } catch (cause) {
    const known = 'Chrome 103, Firefox 113, Safari 16.4 and Node 20 do';
    const problem = `load: this runtime cannot unpack the WebAssembly inside; ${known}, or import 'ropewalk/external'`;
    throw new UnsupportedError(problem, { cause });
  }
}

/** Unpacks a build that the JavaScript contains: deflated, in base64. @internal */
// Reads the stream directly: new Response(stream) is shorter, but makes some runtimes load all of fetch first.
export async function inflate(base64: string, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const atOnce = unpackAtOnce(base64);
  if (atOnce !== undefined) return atOnce;
  const { writable, readable } = inflater();
  const writer = writable.getWriter();
  const reader = readable.getReader();
  const bytes = new Uint8Array(size);
  const read = async () => {
    let at = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes.set(part.value, at);
      at += part.value.length;
    }
  };
  await Promise.all([writer.write(decodeBase64(base64)), writer.close(), read()]);
  return bytes;
}

/**
 * The build of `size` bytes that the steps of bindings/steps.mjs, which are so many, make of the relaxed one.
 * @internal
 */
export function fromSteps(
  relaxed: Uint8Array,
  steps: Uint8Array,
  size: number,
  counts: { readonly steps: number; readonly changes: number },
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let [read, at, from] = [0, 0, 0];
  const varint = (): number => {
    const byte = steps[read++] ?? 0;
    return byte < 128 ? byte : byte - 128 + 128 * varint();
  };
  const column = (length: number) => Array.from({ length }, varint);
  const [added, skipped, copied] = [column(counts.steps), column(counts.steps), column(counts.steps)];
  const places = column(counts.changes);
  const changed = steps.subarray(read, read + places.length);
  let own = read + places.length;
  for (const [i, count] of added.entries()) {
    const [skip = 0, length = 0] = [skipped[i], copied[i]];
    bytes.set(steps.subarray(own, own + count), at);
    own += count;
    from += count + (skip % 2 === 0 ? skip / 2 : -(skip + 1) / 2);
    bytes.set(relaxed.subarray(from, from + length), at + count);
    at += count + length;
    from += length;
  }
  at = 0;
  for (const [i, byte] of changed.entries()) {
    at += places[i] ?? 0;
    bytes[at] = byte;
  }
  return bytes;
}

/** Compiles once for the same arguments; retries after a failure. @internal */
export function compiledOnce<Args extends readonly (string | undefined)[]>(
  compile: (...args: Args) => Promise<WebAssembly.Module>,
): (...args: Args) => Promise<WebAssembly.Module> {
  const compiled = new Map<string, Promise<WebAssembly.Module>>();
  return (...args) => {
    const key = args.join(' ');
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const compiling = compile(...args).catch((error) => {
      compiled.delete(key);
      throw error;
    });
    compiled.set(key, compiling);
    return compiling;
  };
}

/** The argument that a file came as. @internal */
export interface Given {
  readonly name: string;
  readonly value: unknown;
}

/** Instantiates the options' module, or the build from `compiled`, which may read it from what is `given`. @internal */
export async function open(
  options: LoadOptions,
  compiled: (name: BuildName) => Promise<WebAssembly.Module>,
  given: Given = { name: 'module', value: undefined },
): Promise<Ropewalk> {
  const { simd = 'auto', module } = check.options('load', 'options', options, ['simd', 'module']);
  check.choice('load', 'simd', simd, { auto: 0, deterministic: 1 });
  if (module !== undefined && buildOf(module) === undefined) throw notOurs(module);
  try {
    const heap = await instantiate(module ?? (await compiled(buildFor(simd))));
    const isRelaxed = heap.core.isRelaxed();
    if (simd === 'deterministic' && isRelaxed) {
      const problem = "is the relaxed build, which simd: 'deterministic' excludes";
      throw new ArgumentRangeError('load', given.name, module ?? given.value, problem);
    }
    if (isRelaxed && !hasRelaxed()) {
      const problem = 'is the relaxed build, whose dot products are wrong in this engine; expected core.wasm';
      throw new ArgumentRangeError('load', given.name, module ?? given.value, problem);
    }
    return new Ropewalk(heap, { version, simd: isRelaxed ? 'relaxed' : 'simd128' });
  } catch (error) {
    throw refusal(error) ?? error;
  }
}
