// Node's file system, where there is one. The only place that asks for it, when a file is opened and not before; the
// name of its module is no literal of an import, so that bundlers for the browser pass it by.
import { UnsupportedError } from './errors.js';

// What is used of fs.promises.
/** @internal */
export interface FileSystem {
  open(path: string | URL, flags: 'r'): Promise<FileHandle>;
  readFile(path: string | URL): Promise<Uint8Array<ArrayBuffer>>;
}
/** @internal */
export interface FileHandle {
  stat(): Promise<{ size: number; mtimeMs: number; isFile(): boolean }>;
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
  close(): Promise<void>;
}

/** @internal */
export async function fileSystem(problem: string): Promise<FileSystem> {
  const name = 'node:fs/promises';
  try {
    return (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as FileSystem;
  } catch (cause) {
    throw new UnsupportedError(problem, { cause });
  }
}
