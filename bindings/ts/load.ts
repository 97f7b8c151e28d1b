// load() of the package: the wasm of both builds is inside, so nothing is fetched and no bundler or server has to know.
import { block, packed, sizes } from './inline.js';
import { type BuildName, compiledOnce, type LoadOptions, open } from './instance.js';
import { unpackAtOnce } from './node-files.js';
import type { Ropewalk } from './ropewalk.js';

// Unpacked once; both builds come together.
let unpacked: Promise<Readonly<Record<BuildName, Uint8Array<ArrayBuffer>>>> | undefined;

// Engines of before 2025 have no fromBase64; a loop takes a tenth of the time of Uint8Array.from with a callback.
function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const { fromBase64 } = Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (fromBase64 !== undefined) return fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// By the stream's own ends: Response would do it in one line, and make some runtimes load all of fetch first.
async function inflate(base64: string, size: number): Promise<Uint8Array> {
  const atOnce = unpackAtOnce(base64);
  if (atOnce !== undefined) return atOnce;
  const { writable, readable } = new DecompressionStream('deflate-raw');
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

// The builds lie in blocks taken in turns (see bindings/package.mjs).
async function unpack(): Promise<Readonly<Record<BuildName, Uint8Array<ArrayBuffer>>>> {
  const bytes = await inflate(packed, sizes.simd128 + sizes.relaxed); // named once: bundlers copy a constant to its uses
  const builds = { simd128: new Uint8Array(sizes.simd128), relaxed: new Uint8Array(sizes.relaxed) };
  let from = 0;
  for (let at = 0; from < bytes.length; at += block) {
    for (const build of [builds.simd128, builds.relaxed]) {
      const length = Math.max(0, Math.min(block, build.length - at));
      build.set(bytes.subarray(from, from + length), Math.min(at, build.length));
      from += length;
    }
  }
  return builds;
}

const compiled = compiledOnce(async (name) => {
  unpacked ??= unpack().catch((error) => {
    unpacked = undefined; // the next load() tries again
    throw error;
  });
  return WebAssembly.compile((await unpacked)[name]);
});

/**
 * Makes an instance of ropewalk. Nothing is fetched: the WebAssembly is inside the package. Every call makes a new
 * instance with a heap of its own; the compiled code is shared.
 *
 * @throws UnsupportedError where WebAssembly SIMD is missing or a Content-Security-Policy forbids WebAssembly.
 *
 * @example
 * import { load } from 'ropewalk';
 * const rw = await load();
 */
export async function load(options: LoadOptions = {}): Promise<Ropewalk> {
  return open(options, compiled);
}
