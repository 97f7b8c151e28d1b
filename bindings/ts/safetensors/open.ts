// Opens a file from its source: reads its header, or the index of several files and the header of each.

import * as check from '../runtime/check.js';
import { ArgumentRangeError, SafetensorsError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import type { FileSource } from '../sources/open-source.js';
import { forFiles, type OpenFile, Opening, type OpenOptions } from '../sources/opening.js';
import { type ByteSource, gathered } from '../sources/source.js';
import { readKeys } from '../sources/tensor-file.js';
import { Safetensors } from './file.js';
import { type Header, headerBytes, lengthBytes, parseHeader, parseWeightMap } from './header.js';

/** Options of openSafetensors(). */
export interface OpenSafetensorsOptions extends OpenOptions {
  /**
   * Gives the source of a file that an index names. Default: the file in the folder of the index. Required if the index
   * is a Blob or bytes.
   */
  shard?: (file: string) => FileSource | Promise<FileSource>;
}

const maxIndexBytes = 100_000_000;
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
  source: FileSource,
  options: OpenSafetensorsOptions = {},
): Promise<Safetensors> {
  const where = 'openSafetensors';
  const heap = heapOf(where, rw);
  const given = check.options(where, 'options', options, [...readKeys, 'fetch', 'shard']);
  return openFiles(heap, where, 'source', source, given);
}

/** Opens a file, or all files that an index names; `name` is the source's in errors of `where`. @internal */
export function openFiles(
  heap: Heap,
  where: string,
  name: string,
  source: FileSource,
  options: OpenSafetensorsOptions,
): Promise<Safetensors> {
  const { shard } = options;
  const opening = new Opening(heap, where, SafetensorsError, options, { shard });
  return opening.closing(async () => {
    const first = await opening.open(name, source);
    const start = await firstBytes(opening, first);
    return isIndex(start)
      ? openShards(opening, first, start, shard)
      : joined(opening, [await readHeader(opening, first, start)], first);
  });
}

async function firstBytes(opening: Opening, source: ByteSource): Promise<Uint8Array> {
  return collect(opening, source, 0, Math.min(lengthBytes, source.size ?? lengthBytes));
}

async function collect(opening: Opening, source: ByteSource, from: number, to: number): Promise<Uint8Array> {
  const tooLong = () => new SafetensorsError(source.name, undefined, 'is no index: it is too long for one');
  return gathered(opening.bytesOf(source, from, to), maxIndexBytes, tooLong);
}

// Whether the first 8 bytes are JSON rather than a header's length: as a number, text is far above the limit.
function isIndex(start: Uint8Array): boolean {
  const text = String.fromCharCode(...start);
  return start.length === lengthBytes && /^\s*\{/.test(text) && !text.includes('\0');
}

async function readHeader(opening: Opening, source: ByteSource, start: Uint8Array): Promise<OpenFile<Header>> {
  const { heap, where } = opening;
  const bytes = headerBytes(heap, source.name, start, source.size);
  const total = lengthBytes + bytes;
  const pointer = heap.allocate(bytes, where);
  try {
    let at = 0;
    for await (const piece of opening.bytesOf(source, lengthBytes, total)) {
      heap.write(pointer + at, piece);
      at += piece.length;
      opening.read.onProgress?.({ loaded: lengthBytes + at, total, name: source.name });
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
  const { heap, where } = opening;
  const rest = await collect(opening, index, start.length, index.size ?? Number.POSITIVE_INFINITY);
  const text = new Uint8Array(start.length + rest.length);
  text.set(start);
  text.set(rest, start.length);
  const map = heap.scope(where, (scratch) => parseWeightMap(heap, index.name, heap.put(scratch, text), text.length));
  index.close?.();
  const names = [...new Set(map.map(([, file]) => file))];
  const files = await forFiles(names, (file) => openShard(opening, index, file, shard));
  const model = joined(opening, files, index);
  const sourceOf = new Map(files.map(({ source }, i) => [names[i], source.name]));
  for (const [tensor, file] of map) {
    if (!model.has(tensor) || model.info(tensor).file !== sourceOf.get(file)) {
      throw new SafetensorsError(index.name, tensor, `is not in ${file}, where this index says it is`);
    }
  }
  return model;
}

async function openShard(
  opening: Opening,
  index: ByteSource,
  file: string,
  shard: OpenSafetensorsOptions['shard'],
): Promise<OpenFile<Header>> {
  if (/[/\\:\0]/.test(file) || ['', '.', '..'].includes(file)) {
    const problem = `names a file ${JSON.stringify(file)}; only plain names of files beside it are followed`;
    throw new SafetensorsError(index.name, undefined, problem);
  }
  const found = shard === undefined ? index.sibling?.(file) : await shard(file);
  if (found === undefined) {
    const problem = `is missing; ${index.name} is an index, and openSafetensors' option shard says where its ${file} is`;
    throw new ArgumentRangeError(opening.where, 'shard', undefined, problem);
  }
  const source = await opening.open(`shard(${JSON.stringify(file)})`, found);
  const opened = await readHeader(opening, source, await firstBytes(opening, source));
  source.pause?.();
  return opened;
}

function joined(opening: Opening, files: readonly OpenFile<Header>[], { name }: ByteSource): Safetensors {
  const [first, ...others] = files.map(({ header }) => new Map(header.metadata));
  const agreed = [...(first ?? [])].filter(([key, value]) => others.every((other) => other.get(key) === value));
  return new Safetensors(opening.heap, opening.entriesOf(files), new Map(agreed), name);
}
