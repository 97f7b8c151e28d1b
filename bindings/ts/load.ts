// load() of the package. It contains the wasm of both builds, so it fetches nothing and needs no support from a bundler
// or server.

import { counts, packedRelaxed, packedSteps, sizes } from './inline.js';
import { compiledOnce, inflate, type LoadOptions, open } from './instance.js';
import type { Ropewalk } from './ropewalk.js';

// The simd128 build, from the relaxed one and the steps of bindings/steps.mjs.
function simd128From(relaxed: Uint8Array, steps: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sizes.simd128);
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

const compiled = /* @__PURE__ */ compiledOnce(async (name) => {
  if (name === 'relaxed') return WebAssembly.compile(await inflate(packedRelaxed, sizes.relaxed));
  const parts = [inflate(packedRelaxed, sizes.relaxed), inflate(packedSteps, sizes.steps)] as const;
  return WebAssembly.compile(simd128From(...(await Promise.all(parts))));
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
