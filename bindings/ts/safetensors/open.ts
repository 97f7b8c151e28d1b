// Opens a file from its source: reads its header, or the index of several files and the header of each.

import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, SafetensorsError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import type { Fetch } from '../sources/http.js';
import { openSource, type SafetensorsSource } from '../sources/open-source.js';
import { type ByteSource, gathered, SourceFailure } from '../sources/source.js';
import { bytesOf, type Entry, readKeys, readOptions, Safetensors, type SafetensorsReadOptions } from './file.js';
import { type Header, headerBytes, lengthBytes, parseHeader, parseWeightMap } from './header.js';

/** Options of openSafetensors(). */
export interface OpenSafetensorsOptions extends SafetensorsReadOptions {
  /** Replaces the global fetch(), for example to add headers. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Gives the source of a file that an index names. Default: the file in the folder of the index. Required if the index
   * is a Blob or bytes.
   */
  shard?: (file: string) => SafetensorsSource | Promise<SafetensorsSource>;
}

const where = 'openSafetensors';
const maxIndexBytes = 100_000_000;
const filesAtOnce = 6;

interface Opening {
  readonly heap: Heap;
  readonly fetch: Fetch;
  readonly read: SafetensorsReadOptions;
  /** All open sources, closed on failure. */
  readonly sources: ByteSource[];
}

interface OpenFile {
  readonly source: ByteSource;
  readonly header: Header;
}

/**
 * Opens a safetensors file, or a model of several files by its `model.safetensors.index.json`. Reads only headers. The
 * core checks them completely: a file with a duplicate name, a hole, an overlap, or bytes missing or left over is
 * refused. From servers that support ranges only the needed bytes are fetched; others send the whole file, which is
 * read as a stream and not kept.
 *
 * @param rw the instance whose tensors `readInto` fills.
 * @param source bytes are not copied: they must stay unchanged until the file is closed.
 * @throws SafetensorsError where a file cannot be read or is damaged; the reason of `signal`.
 *
 * @example
 * import { load } from 'ropewalk';
 * import { openSafetensors } from 'ropewalk/models';
 * const rw = await load();
 * using file = await openSafetensors(rw, 'https://example.org/model.safetensors', { signal });
 * const weights = await file.tensor('model.norm.weight', { as: 'float32' });
 */
export async function openSafetensors(
  rw: Instance,
  source: SafetensorsSource,
  options: OpenSafetensorsOptions = {},
): Promise<Safetensors> {
  const heap = heapOf(where, rw);
  const given = check.options(where, 'options', options, [...readKeys, 'fetch', 'shard']);
  const { fetch = (url, init) => globalThis.fetch(url, init), shard } = given;
  for (const [name, value] of Object.entries({ fetch, shard })) {
    if (value !== undefined && typeof value !== 'function') {
      throw new ArgumentTypeError(where, name, value, 'a function');
    }
  }
  const opening: Opening = { heap, fetch, read: readOptions(where, given), sources: [] };
  try {
    const first = await open(opening, 'source', source);
    const start = await firstBytes(first, opening.read.signal);
    if (!isIndex(start)) return joined(heap, [await readHeader(opening, first, start)]);
    return await openShards(opening, first, start, shard);
  } catch (error) {
    for (const opened of opening.sources) opened.close?.();
    throw error;
  }
}

async function open({ fetch, read, sources }: Opening, name: string, value: unknown): Promise<ByteSource> {
  const { signal } = read;
  signal?.throwIfAborted();
  try {
    const source = await openSource(where, name, value, fetch, signal);
    sources.push(source);
    signal?.throwIfAborted();
    return source;
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof SourceFailure)) throw error;
    throw new SafetensorsError(nameOf(value), undefined, error.message, { cause: error.cause ?? error });
  }
}

// The name in errors of an address or path that could not be opened, without its query, which may be secret.
function nameOf(value: unknown): string {
  const text = String(value);
  return text.startsWith('data:') ? 'data:' : text.replace(/[?#].*$/, '');
}

async function firstBytes(source: ByteSource, signal: AbortSignal | undefined): Promise<Uint8Array> {
  return collect(source, 0, Math.min(lengthBytes, source.size ?? lengthBytes), signal);
}

async function collect(
  source: ByteSource,
  from: number,
  to: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const tooLong = () => new SafetensorsError(source.name, undefined, 'is no index: it is too long for one');
  return gathered(bytesOf(source, undefined, from, to, signal), maxIndexBytes, tooLong);
}

// Whether the first 8 bytes are JSON rather than a header's length: as a number, text is far above the limit.
function isIndex(start: Uint8Array): boolean {
  const text = String.fromCharCode(...start);
  return start.length === lengthBytes && /^\s*\{/.test(text) && !text.includes('\0');
}

async function readHeader({ heap, read }: Opening, source: ByteSource, start: Uint8Array): Promise<OpenFile> {
  const { signal, onProgress } = read;
  const bytes = headerBytes(heap, source.name, start, source.size);
  const total = lengthBytes + bytes;
  const pointer = heap.allocate(bytes, where);
  try {
    let at = 0;
    for await (const piece of bytesOf(source, undefined, lengthBytes, total, signal)) {
      heap.write(pointer + at, piece);
      at += piece.length;
      onProgress?.({ loaded: lengthBytes + at, total, name: source.name });
    }
    const header = parseHeader(
      heap,
      source.name,
      pointer,
      bytes,
      source.size === undefined ? undefined : source.size - total,
    );
    source.expectEnd?.(header.end);
    return { source, header };
  } finally {
    heap.release(pointer);
  }
}

async function openShards(
  opening: Opening,
  index: ByteSource,
  start: Uint8Array,
  shard: OpenSafetensorsOptions['shard'],
): Promise<Safetensors> {
  const { heap, read } = opening;
  const rest = await collect(index, start.length, index.size ?? Number.POSITIVE_INFINITY, read.signal);
  const text = new Uint8Array(start.length + rest.length);
  text.set(start);
  text.set(rest, start.length);
  const map = heap.scope(where, (scratch) => parseWeightMap(heap, index.name, heap.put(scratch, text), text.length));
  index.close?.();
  const names = [...new Set(map.map(([, file]) => file))];
  const files: OpenFile[] = [];
  for (let i = 0; i < names.length; i += filesAtOnce) {
    const some = names.slice(i, i + filesAtOnce).map((file) => openShard(opening, index, file, shard));
    files.push(...(await allOf(some)));
  }
  const model = joined(heap, files);
  const sourceOf = new Map(files.map(({ source }, i) => [names[i], source.name]));
  for (const [tensor, file] of map) {
    if (!model.has(tensor) || model.info(tensor).file !== sourceOf.get(file)) {
      throw new SafetensorsError(index.name, tensor, `is not in ${file}, where this index says it is`);
    }
  }
  return model;
}

// Like Promise.all, but rejects only when no work is running any more.
async function allOf<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(work);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

async function openShard(
  opening: Opening,
  index: ByteSource,
  file: string,
  shard: OpenSafetensorsOptions['shard'],
): Promise<OpenFile> {
  if (/[/\\\0]/.test(file) || ['', '.', '..'].includes(file)) {
    const problem = `names a file ${JSON.stringify(file)}; only plain names of files beside it are followed`;
    throw new SafetensorsError(index.name, undefined, problem);
  }
  const found = shard === undefined ? index.sibling?.(file) : await shard(file);
  if (found === undefined) {
    const problem = `is missing; ${index.name} is an index, and where its ${file} is nobody can tell`;
    throw new ArgumentRangeError(where, 'shard', undefined, problem);
  }
  const source = await open(opening, `shard(${JSON.stringify(file)})`, found);
  const opened = await readHeader(opening, source, await firstBytes(source, opening.read.signal));
  source.pause?.();
  return opened;
}

function joined(heap: Heap, files: readonly OpenFile[]): Safetensors {
  const entries = new Map<string, Entry>();
  for (const { source, header } of files) {
    for (const { name, dtype, shape, begin, end } of header.tensors) {
      const before = entries.get(name);
      if (before !== undefined) {
        throw new SafetensorsError(source.name, name, `is in ${before.source.name} as well`);
      }
      const info = Object.freeze({ dtype, shape, byteLength: end - begin, file: source.name });
      entries.set(name, { info, source, begin });
    }
  }
  const [first, ...others] = files.map(({ header }) => new Map(header.metadata));
  const agreed = [...(first ?? [])].filter(([key, value]) => others.every((other) => other.get(key) === value));
  return new Safetensors(heap, entries, new Map(agreed));
}
