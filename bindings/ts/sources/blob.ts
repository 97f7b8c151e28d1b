// Blobs and Files.
import { type ByteSource, readAhead, unreadable } from './source.js';

// Bytes that are read at once: in a page, each read takes milliseconds besides.
const blockBytes = 2 ** 23;

/** Sliced rather than streamed: the pieces of a stream may be of any size. */
export function blobSource(blob: Blob, name = (blob as Partial<File>).name): ByteSource {
  const { size } = blob;
  const bytes = async (from: number, to: number) => new Uint8Array(await blob.slice(from, to).arrayBuffer());
  const read = (from: number, to: number) =>
    readAhead(from, Math.min(to, size), blockBytes, (...range) => bytes(...range).catch(unreadable));
  return { name: typeof name === 'string' && name !== '' ? name : 'blob', size, read };
}
