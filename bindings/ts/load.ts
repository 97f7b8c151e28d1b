// load() of the package. It contains the wasm of both builds, so it fetches nothing and needs no support from a bundler
// or server.

import { counts, packedRelaxed, packedSteps, sizes } from './inline.js';
import { compiledOnce, fromSteps, inflate, type LoadOptions, open } from './instance.js';
import type { Ropewalk } from './ropewalk.js';

const compiled = /* @__PURE__ */ compiledOnce(async (name) => {
  if (name === 'relaxed') return WebAssembly.compile(await inflate(packedRelaxed, sizes.relaxed));
  const parts = [inflate(packedRelaxed, sizes.relaxed), inflate(packedSteps, sizes.steps)] as const;
  return WebAssembly.compile(fromSteps(...(await Promise.all(parts)), sizes.simd128, counts));
});

/**
 * Makes an instance of ropewalk. Nothing is fetched: the WebAssembly is inside the package. Every call makes a new
 * instance with a heap of its own; the compiled code is shared.
 *
 * @throws UnsupportedError where WebAssembly SIMD is missing or a Content-Security-Policy forbids WebAssembly;
 *   ArgumentTypeError for a module of another version.
 *
 * @example
 * import { load } from 'ropewalk';
 * const rw = await load();
 */
export async function load(options: LoadOptions = {}): Promise<Ropewalk> {
  return open(options, compiled);
}
