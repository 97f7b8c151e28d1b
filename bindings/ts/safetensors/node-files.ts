// What Node has of its own, where there is Node: the file system and zlib. The only place that asks for them, when they
// are needed and not before. Bundlers for the browser pass it by: no import names a module of Node as a literal.
import { UnsupportedError } from '../runtime/errors.js';

// At once, and in a tenth of the time of an import; Node has it since 20.16, Deno and Bun have it as well.
function builtin<Module>(name: 'node:buffer' | 'node:fs' | 'node:zlib'): Module | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => Module | undefined } };
  return process?.getBuiltinModule?.(name);
}

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
  const known = builtin<{ promises: FileSystem }>('node:fs');
  if (known !== undefined) return known.promises;
  const name = 'node:fs/promises';
  try {
    return (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as FileSystem;
  } catch (cause) {
    throw new UnsupportedError(problem, { cause });
  }
}

/** The bytes of a small file, read without a turn of the event loop where that can be. @internal */
export async function readWhole(url: URL, problem: string): Promise<Uint8Array<ArrayBuffer>> {
  const known = builtin<{ readFileSync(path: URL): Uint8Array<ArrayBuffer> }>('node:fs');
  return known?.readFileSync(url) ?? (await fileSystem(problem)).readFile(url);
}

/** The bytes of a deflated text in base64, where zlib unpacks them at once; a browser streams them. @internal */
export function unpackAtOnce(base64: string): Uint8Array<ArrayBuffer> | undefined {
  const zlib = builtin<{ inflateRawSync(deflated: Uint8Array): Uint8Array<ArrayBuffer> }>('node:zlib');
  const buffer = builtin<{ Buffer: { from(text: string, encoding: 'base64'): Uint8Array } }>('node:buffer');
  return buffer && zlib?.inflateRawSync(buffer.Buffer.from(base64, 'base64'));
}
