/**
 * The package with its WebAssembly in separate files, for a smaller download: it fetches only the build that the
 * browser runs, while 'ropewalk' contains both. Bundlers that support `new URL('./file', import.meta.url)` (Vite,
 * webpack 5, Rollup, Parcel, Rspack) copy the files.
 * @packageDocumentation
 */

import { type BuildName, buildOf, compiledOnce, type LoadOptions, open } from './instance.js';
import type { Ropewalk } from './ropewalk.js';
import { UnsupportedError } from './runtime/errors.js';
import { readWhole } from './safetensors/node-files.js';

export * from './api.js';

// Bundlers find the files only by literal URLs.
const addressOf = {
  simd128: () => new URL('./core.wasm', import.meta.url),
  relaxed: () => new URL('./core-relaxed.wasm', import.meta.url),
} satisfies Record<BuildName, () => URL>;

const advice = "serve this file, or import 'ropewalk', which fetches nothing";

async function compileFetched(url: URL): Promise<WebAssembly.Module> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: 'same-origin' });
  } catch (cause) {
    throw new UnsupportedError(`load: ${url} cannot be fetched; ${advice}`, { cause });
  }
  if (!response.ok) throw new UnsupportedError(`load: ${url} answered ${response.status}; ${advice}`);
  const type = response.headers.get('content-type') ?? '';
  // compileStreaming() requires exactly this type; any other answer is compiled after the download.
  if (/^application\/wasm$/i.test(type.trim())) return WebAssembly.compileStreaming(response);
  const bytes = await response.arrayBuffer();
  if (!WebAssembly.validate(bytes)) {
    throw new UnsupportedError(`load: ${url} answered ${type || 'something'} that is no WebAssembly; ${advice}`);
  }
  return WebAssembly.compile(bytes);
}

async function compileFile(url: URL): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readWhole(url, `load: ${url} cannot be read`));
}

const compiled = compiledOnce(async (name) => {
  const url = addressOf[name]();
  const module = await (url.protocol === 'file:' ? compileFile(url) : compileFetched(url));
  if (buildOf(module) === name) return module;
  throw new UnsupportedError(`load: ${url} is not this build of this version, as an old copy would be`);
});

/**
 * Makes an instance of ropewalk, as load() of 'ropewalk' does. The first call for a build fetches its file from the
 * folder of this module; later calls share its compiled code.
 *
 * @throws UnsupportedError where the file cannot be fetched or is of another version, WebAssembly SIMD is missing or a
 *   Content-Security-Policy forbids WebAssembly.
 *
 * @example
 * import { load } from 'ropewalk/external';
 * const rw = await load();
 */
export async function load(options: LoadOptions = {}): Promise<Ropewalk> {
  return open(options, compiled);
}
