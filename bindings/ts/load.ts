// load() of the package. It contains the wasm of both builds, so it fetches nothing and needs no support from a bundler
// or server.

import { counts, packedRelaxed, packedSteps, sizes } from './inline.js';
import { compiledOnce, type LoadOptions, open } from './instance.js';
import type { Ropewalk } from './ropewalk.js';
import { UnsupportedError } from './runtime/errors.js';
import { unpackAtOnce } from './sources/node-files.js';

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

// Reads the stream directly: new Response(stream) is shorter, but makes some runtimes load all of fetch first.
async function inflate(base64: string, size: number): Promise<Uint8Array<ArrayBuffer>> {
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
