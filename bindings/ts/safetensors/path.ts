// Files of a path, where there is Node's file system.
import { type FileHandle, type FileSystem, fileSystem } from './node-files.js';
import { type ByteSource, messageOf, SourceFailure } from './source.js';

const pieceBytes = 2 ** 20;

export async function openPath(path: string | URL): Promise<ByteSource> {
  const fs = await fileSystem('openSafetensors: this runtime has no files; pass an address, a File or its bytes');
  const source = new PathSource(fs, path);
  await source.measure();
  return source;
}

class PathSource implements ByteSource {
  readonly name: string;
  size = 0;
  readonly #fs: FileSystem;
  readonly #path: string | URL;
  #modified = 0;

  constructor(fs: FileSystem, path: string | URL) {
    this.#fs = fs;
    this.#path = path;
    this.name = String(path);
  }

  async measure(): Promise<void> {
    const handle = await this.#open();
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) throw new SourceFailure('is not a file');
      this.size = stat.size;
      this.#modified = stat.mtimeMs;
    } finally {
      await handle.close();
    }
  }

  // Opened for each range: nothing is left open where a caller forgets to close.
  async *read(from: number, to: number): AsyncIterable<Uint8Array> {
    const end = Math.min(to, this.size);
    const handle = await this.#open();
    try {
      const { size, mtimeMs } = await handle.stat();
      if (size !== this.size || mtimeMs !== this.#modified) throw new SourceFailure('has changed since it was opened');
      const piece = new Uint8Array(Math.max(0, Math.min(pieceBytes, end - from)));
      for (let at = from; at < end; ) {
        const { bytesRead } = await handle.read(piece, 0, Math.min(piece.length, end - at), at).catch(failure);
        if (bytesRead === 0) return; // whoever counts sees it
        yield piece.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      await handle.close();
    }
  }

  async #open(): Promise<FileHandle> {
    return this.#fs.open(this.#path, 'r').catch(failure);
  }

  expectEnd(): void {}

  sibling(file: string): string | URL {
    if (typeof this.#path !== 'string') return new URL(encodeURIComponent(file), this.#path);
    return this.#path.replace(/[^/\\]*$/, '') + file;
  }

  pause(): void {}
  close(): void {}
}

function failure(error: unknown): never {
  throw new SourceFailure(`cannot be read: ${messageOf(error)}`, { cause: error });
}
