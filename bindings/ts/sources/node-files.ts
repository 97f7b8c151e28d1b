// Node's file system and zlib, if available. They are loaded only here and only when needed. Bundlers for the browser
// ignore them, since no import names a module of Node as a literal.
import { UnsupportedError } from '../runtime/errors.js';

// Synchronous, and takes a tenth of the time of import(). Node 20.16, Deno and Bun have getBuiltinModule.
function builtin<Module>(name: 'node:buffer' | 'node:fs' | 'node:zlib'): Module | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => Module | undefined } };
  return process?.getBuiltinModule?.(name);
}

/** The part of fs.promises that is used. @internal */
export interface FileSystem {
  open(path: string | URL, flags: 'r'): Promise<FileHandle>;
  readFile(path: string | URL): Promise<Uint8Array<ArrayBuffer>>;
  writeFile(path: string, bytes: Uint8Array, options: { flush: boolean }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: boolean }): Promise<void>;
  mkdir(path: string, options: { recursive: boolean }): Promise<unknown>;
  readdir(path: string): Promise<string[]>;
  statfs(path: string): Promise<{ bavail: number; bsize: number }>;
}
/** @internal */
export interface FileHandle {
  stat(): Promise<{ size: number; mtimeMs: number; isFile(): boolean }>;
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
  close(): Promise<void>;
}

/** @internal */
export async function fileSystem(problem: string): Promise<FileSystem> {
  const known = builtin<{ promises: FileSystem }>('node:fs');
  if (known !== undefined) return known.promises;
  const name = 'node:fs/promises';
  try {
    return (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as FileSystem;
  } catch (cause) {
    throw new UnsupportedError(problem, { cause });
  }
}

/** The bytes of a small file, read synchronously if possible. @internal */
export async function readWhole(url: URL, problem: string): Promise<Uint8Array<ArrayBuffer>> {
  const known = builtin<{ readFileSync(path: URL): Uint8Array<ArrayBuffer> }>('node:fs');
  return known?.readFileSync(url) ?? (await fileSystem(problem)).readFile(url);
}

/** Unpacks deflated bytes in base64 by Node's zlib; undefined without zlib. @internal */
export function unpackAtOnce(base64: string): Uint8Array<ArrayBuffer> | undefined {
  const zlib = builtin<{ inflateRawSync(deflated: Uint8Array): Uint8Array<ArrayBuffer> }>('node:zlib');
  const buffer = builtin<{ Buffer: { from(text: string, encoding: 'base64'): Uint8Array } }>('node:buffer');
  return buffer && zlib?.inflateRawSync(buffer.Buffer.from(base64, 'base64'));
}
