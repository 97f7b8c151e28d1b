/**
 * The package with its WebAssembly in separate files, for a smaller download: it fetches only the build that the
 * browser runs, while 'ropewalk' contains both. Bundlers that support `new URL('./file', import.meta.url)` (Vite,
 * webpack 5, Parcel, Rspack) copy the files; docs/external.md has a recipe for the others.
 * @packageDocumentation
 * @module ropewalk/external
 */

import { type BuildName, compiledOnce, type LoadOptions, open } from './instance.js';
import type { Ropewalk } from './ropewalk.js';
import * as check from './runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from './runtime/errors.js';
import { addressOf } from './sources/platform.js';
import { compileBeside, compileGiven, compileUrl } from './wasm-file.js';

export * from './api.js';

/** The addresses of both builds. load() fetches the one that it runs. */
export interface BuildUrls {
  /** Of `ropewalk/core.wasm`. */
  simd128: string | URL;
  /** Of `ropewalk/core-relaxed.wasm`. */
  relaxed: string | URL;
}

/** The wasm file itself. */
export type WasmInput = ArrayBuffer | ArrayBufferView | Response | URL;

/** Options of load() of 'ropewalk/external'. At most one of `url`, `wasm` and `module` is given. */
export interface ExternalLoadOptions extends LoadOptions {
  /**
   * Where the files are, if not beside the code: the address of each build, or of one file for every engine (then of
   * core.wasm, since some engines lack relaxed SIMD). A relative address is relative to the page or worker. Files with
   * the same address are fetched and compiled once.
   */
  url?: string | URL | BuildUrls;
  /**
   * A file that the caller has read: its bytes or its Response, as a value or as a promise, or its URL. Either build;
   * `rw.info().simd` tells which one it is.
   */
  wasm?: WasmInput | Promise<WasmInput>;
}

// Bundlers find the files only by literal URLs.
const fileOf = {
  simd128: () => new URL('./core.wasm', import.meta.url),
  relaxed: () => new URL('./core-relaxed.wasm', import.meta.url),
} satisfies Record<BuildName, () => URL>;

const beside = /* @__PURE__ */ compiledOnce((name: BuildName) => compileBeside(name, fileOf[name]));

// How a build is compiled from the caller's addresses.
function fromUrl(url: NonNullable<ExternalLoadOptions['url']>): (name: BuildName) => Promise<WebAssembly.Module> {
  const address = addressOf(url);
  if (address !== undefined) return () => compileUrl(address);
  if (typeof url !== 'object') {
    throw new ArgumentTypeError(
      'load',
      'url',
      url,
      'an address (text or a URL), or { simd128, relaxed }, one for each',
    );
  }
  const urls = check.options('load', 'url', url as BuildUrls, ['simd128', 'relaxed']);
  const addresses = { simd128: '', relaxed: '' };
  for (const name of ['simd128', 'relaxed'] as const) {
    const text = addressOf(urls[name]);
    if (text === undefined) {
      throw new ArgumentTypeError('load', `url.${name}`, urls[name], 'an address (text or a URL)');
    }
    addresses[name] = text;
  }
  return (name) => compileUrl(addresses[name], name);
}

/**
 * Makes an instance of ropewalk, as load() of 'ropewalk' does. The first call for a build fetches its file, by default
 * from the folder of this module; later calls share its compiled code.
 *
 * @throws UnsupportedError where the file cannot be fetched, is no WebAssembly or is of another version, WebAssembly
 *   SIMD is missing or a Content-Security-Policy forbids WebAssembly; ArgumentTypeError and ArgumentRangeError for
 *   options that do not fit and for bytes that are not such a file. Each names the address and the fix.
 *
 * @example
 * import { load } from 'ropewalk/external';
 * const rw = await load();
 * const same = await load({ wasm: fetch('/assets/core.wasm') });
 */
export async function load(options: ExternalLoadOptions = {}): Promise<Ropewalk> {
  const known = ['simd', 'module', 'url', 'wasm'] as const;
  const { url, wasm, ...others } = check.options('load', 'options', options, known);
  const given = Object.entries({ module: others.module, url, wasm }).filter(([, value]) => value !== undefined);
  const [first, second] = given;
  if (first !== undefined && second !== undefined) {
    throw new ArgumentRangeError('load', second[0], second[1], `is given beside ${first[0]}; give one of them`);
  }
  if (url !== undefined) return open(others, fromUrl(url), { name: 'url', value: url });
  if (wasm !== undefined) return open(others, () => compileGiven(wasm), { name: 'wasm', value: wasm });
  return open(others, beside);
}
