// Reads the header of a GGUF file, and of a split one the header of each part.

import { ArgumentRangeError, describe, GgufError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import type { FileSource } from '../sources/open-source.js';
import { forFiles, type OpenFile, Opening, type OpenOptions } from '../sources/opening.js';
import type { ByteSource } from '../sources/source.js';
import { Gguf } from './file.js';
import { type Header, parseHeader } from './header.js';

/** Options of openGguf(). */
export interface OpenGgufOptions extends OpenOptions {
  /**
   * Gives the source of a part of a split file, by its number from 1 to `count`. Default: the file beside the first part, by
   * ggml's names (`model-00001-of-00003.gguf`). Required if the first part is a Blob or bytes, or has another name.
   */
  part?: (number: number, count: number) => FileSource | Promise<FileSource>;
}

// Most headers without a tokenizer fit into the first read; those with one take 2 to 15 MB.
const firstBytes = 2 ** 18;

const mostParts = 2 ** 16 - 1; // split.count is a uint16

type GgufPart = OpenFile<Header>;

/** Opens a file, or all parts of a split one; `name` is the source's in errors of `where`. @internal */
export function openFiles(
  heap: Heap,
  where: string,
  name: string,
  source: FileSource,
  options: OpenGgufOptions,
): Promise<Gguf> {
  const { part } = options;
  const opening = new Opening(heap, where, GgufError, options, { part });
  return opening.closing(async () => {
    const first = await openFile(opening, name, source);
    const count = countIn(first, 'split.count') ?? 1;
    if (count <= 1) return joined(opening, first);
    if (count > mostParts) {
      const problem = `is ${count}; expected at most ${mostParts}`;
      throw new GgufError(first.source.name, undefined, problem, { key: 'split.count' });
    }
    first.source.pause?.();
    checkPart(first, 1, count);
    const others = Array.from({ length: count - 1 }, (_, i) => i + 2);
    const rest = await forFiles(others, (number) => openPart(opening, first, number, count, part));
    const file = joined(opening, first, rest);
    const tensors = countIn(first, 'split.tensors.count');
    if (tensors === undefined || tensors === file.names.length) return file;
    const problem = `is ${tensors}; the ${count} parts hold ${file.names.length}`;
    throw new GgufError(first.source.name, undefined, problem, { key: 'split.tensors.count' });
  });
}

async function openFile(opening: Opening, name: string, value: FileSource): Promise<GgufPart> {
  const source = await opening.open(name, value);
  return { source, header: await readHeader(opening, source) };
}

// A header does not say its length, so more and more of the file is read until it is whole.
async function readHeader(opening: Opening, source: ByteSource): Promise<Header> {
  const { heap, where, read } = opening;
  const limit = source.size ?? Number.POSITIVE_INFINITY;
  let [pointer, size, asked] = [0, 0, Math.min(firstBytes, limit)];
  try {
    for (;;) {
      const larger = heap.allocate(asked, where);
      heap.move(pointer, larger, size);
      heap.release(pointer);
      pointer = larger;
      const known = source.size !== undefined;
      for await (const piece of opening.bytesOf(source, size, asked, !known)) {
        heap.write(pointer + size, piece);
        size += piece.length;
        read.onProgress?.({ loaded: size, total: asked, name: source.name });
      }
      const whole = size < asked ? size : source.size;
      const header = parseHeader(heap, source.name, pointer, size, whole);
      if (typeof header !== 'number') return header;
      asked = Math.min(Math.max(header, 4 * size), limit);
    }
  } finally {
    heap.release(pointer);
  }
}

async function openPart(
  opening: Opening,
  first: GgufPart,
  number: number,
  count: number,
  part: OpenGgufOptions['part'],
): Promise<GgufPart> {
  const name = `-${text(1)}-of-${text(count)}.gguf`;
  const { name: whole } = first.source;
  const called = (/^(https?|file):/.test(whole) ? decoded(whole) : whole).split(/[/\\]/).at(-1) ?? '';
  const stem = called.endsWith(name) ? called.slice(0, -name.length) : undefined;
  const beside = stem && first.source.sibling?.(`${stem}-${text(number)}-of-${text(count)}.gguf`);
  const found = part === undefined ? beside : await part(number, count);
  if (found === undefined || found === '') {
    const problem = `is missing; ${first.source.name} is the first of ${count} parts, and openGguf's option part says where the others are`;
    throw new ArgumentRangeError(opening.where, 'part', undefined, problem);
  }
  const opened = await openFile(opening, `part(${number}, ${count})`, found);
  opened.source.pause?.();
  checkPart(opened, number, count);
  return opened;
}

// The text of a URL; one with a percent sign by itself stays.
function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

function text(number: number): string {
  return String(number).padStart(5, '0');
}

// A number of the keys that split files have.
function countIn({ header, source }: GgufPart, key: string): number | undefined {
  const value = header.metadata.get(key);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new GgufError(source.name, undefined, `is ${describe(value)}; expected a count`, { key });
}

function checkPart(file: GgufPart, number: number, count: number): void {
  const found = countIn(file, 'split.no');
  if (found === number - 1 && countIn(file, 'split.count') === count) return;
  const problem = `is ${found}; expected ${number - 1}, as this is part ${number} of ${count}`;
  throw new GgufError(file.source.name, undefined, problem, { key: 'split.no' });
}

function joined(opening: Opening, first: GgufPart, others: readonly GgufPart[] = []): Gguf {
  const { header, source } = first;
  return new Gguf(opening.heap, opening.entriesOf([first, ...others]), header.metadata, header.version, source.name);
}
