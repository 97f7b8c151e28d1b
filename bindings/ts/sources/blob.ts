// Sources without a connection: Blobs, and whatever else gives any part of its bytes.
import { type ByteSource, pieceBytes, unreadable } from './source.js';

/** Sliced rather than streamed: the pieces of a stream may be of any size. */
export function blobSource(blob: Blob, name = (blob as Partial<File>).name): ByteSource {
  const called = typeof name === 'string' && name !== '' ? name : 'blob';
  return sourceOf(called, blob.size, async (from, to) => {
    const buffer = await blob.slice(from, to).arrayBuffer().catch(unreadable);
    return new Uint8Array(buffer);
  });
}

/** A source of known size without an open connection. */
export function sourceOf(
  name: string,
  size: number,
  pieceOf: (from: number, to: number) => Uint8Array | Promise<Uint8Array>,
): ByteSource {
  async function* read(from: number, to: number): AsyncIterable<Uint8Array> {
    const end = Math.min(to, size);
    for (let at = from; at < end; at += pieceBytes) yield await pieceOf(at, Math.min(at + pieceBytes, end));
  }
  return { name, size, read };
}
