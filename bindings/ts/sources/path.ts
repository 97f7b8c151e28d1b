// Reads the file at a path through Node's file system.
import { fileSystem } from './node-files.js';
import { type ByteSource, pieceBytes, readAhead, SourceFailure, unreadable } from './source.js';

/** `replaced` is for a file that other processes replace as a whole by an equal or newer one: the one of now is read. */
export async function openPath(path: string | URL, { replaced = false } = {}): Promise<ByteSource> {
  const fs = await fileSystem('this runtime has no files; pass an address, a File or its bytes');
  const open = () => fs.open(path, 'r').catch(unreadable);
  const { size: fileBytes, mtimeMs: modified } = await measured();

  async function measured(): Promise<{ size: number; mtimeMs: number }> {
    const handle = await open();
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) throw new SourceFailure('is not a file');
      return stat;
    } finally {
      await handle.close();
    }
  }

  // Opens the file for each range, so that nothing stays open if a caller forgets to close.
  async function* read(from: number, to: number): AsyncIterable<Uint8Array> {
    const handle = await open();
    try {
      const { size, mtimeMs } = await handle.stat();
      const isSame = size === fileBytes && mtimeMs === modified;
      if (!isSame && !replaced) throw new SourceFailure('has changed since it was opened');
      const end = Math.min(to, size);
      const room = () => new Uint8Array(Math.max(0, Math.min(pieceBytes, end - from)));
      let [used, spare] = [room(), end - from > pieceBytes ? room() : new Uint8Array(0)];
      yield* readAhead(from, end, pieceBytes, async (first, last) => {
        const piece = used.subarray(0, last - first);
        [used, spare] = [spare, used];
        let filled = 0;
        while (filled < piece.length) {
          const asked = handle.read(piece, filled, piece.length - filled, first + filled);
          const { bytesRead } = await asked.catch(unreadable);
          if (bytesRead === 0) break; // the caller counts the bytes
          filled += bytesRead;
        }
        return piece.subarray(0, filled);
      });
    } finally {
      await handle.close();
    }
  }

  function sibling(file: string): string | URL {
    if (typeof path !== 'string') return new URL(encodeURIComponent(file), path);
    // With a folder in any case: a name by itself may read as an address.
    return (path.replace(/[^/\\]*$/, '') || './') + file;
  }

  return { name: String(path), size: fileBytes, read, sibling };
}
