// Blobs and Files.
import { type ByteSource, readAhead, unreadable } from './source.js';

/** Sliced rather than streamed: the pieces of a stream may be of any size. */
export function blobSource(blob: Blob, name = (blob as Partial<File>).name): ByteSource {
  const { size } = blob;
  const pieceOf = async (from: number, to: number) => {
    const buffer = await blob.slice(from, to).arrayBuffer().catch(unreadable);
    return new Uint8Array(buffer);
  };
  const read = (from: number, to: number) => readAhead(from, Math.min(to, size), pieceOf);
  return { name: typeof name === 'string' && name !== '' ? name : 'blob', size, read };
}
