// Opens the source of what a caller gave: memory, a Blob, a path or an address.
import * as check from '../runtime/check.js';
import { ArgumentTypeError } from '../runtime/errors.js';
import { bytesOf } from '../runtime/typed-arrays.js';
import { type Fetch, openHttp } from './http.js';
import { openPath } from './path.js';
import { type ByteSource, messageOf, SourceFailure } from './source.js';

/**
 * A file: an address (string or URL; relative ones count from the page), a Blob or File, its bytes, or, where there is no
 * page, a path (string or file: URL).
 */
export type SafetensorsSource = string | URL | Blob | ArrayBuffer | Uint8Array;

const pieceBytes = 2 ** 20;

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** The source of what the caller gave. Of an address the first bytes are fetched here. */
export async function openSource(
  where: string,
  name: string,
  value: unknown,
  fetch: Fetch,
  signal: AbortSignal | undefined,
): Promise<ByteSource> {
  if (typeof value === 'string' || tagOf(value) === 'URL') return openAddress(String(value), fetch, signal);
  const tag = tagOf(value);
  if (tag === 'Blob' || tag === 'File') return new BlobSource(value as Blob);
  if (check.isTypedArray(value, 'Uint8Array')) return new MemorySource(bytesOf(value));
  if (tag === 'ArrayBuffer') return new MemorySource(new Uint8Array(value as ArrayBuffer));
  throw new ArgumentTypeError(where, name, value, 'an address, a path, a Blob, an ArrayBuffer or a Uint8Array');
}

// One letter and a colon is a drive.
function openAddress(text: string, fetch: Fetch, signal: AbortSignal | undefined): Promise<ByteSource> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'file') return openPath(new URL(text));
  // Of these there is no part to be fetched, and nothing to be saved.
  if (scheme === 'blob' || scheme === 'data') return openWhole(text, scheme, fetch, signal);
  if (scheme !== undefined) return openHttp(new URL(text), fetch, signal);
  const page = globalThis.location?.href;
  return page === undefined ? openPath(text) : openHttp(new URL(text, page), fetch, signal);
}

async function openWhole(
  text: string,
  scheme: string,
  fetch: Fetch,
  signal: AbortSignal | undefined,
): Promise<ByteSource> {
  try {
    const response = await fetch(text, signal === undefined ? {} : { signal });
    return new BlobSource(await response.blob(), scheme === 'data' ? 'data:' : text);
  } catch (error) {
    throw new SourceFailure(`cannot be fetched: ${messageOf(error)}`, { cause: error });
  }
}

class MemorySource implements ByteSource {
  readonly name = 'buffer';
  readonly size: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.size = bytes.length;
  }

  async *read(from: number, to: number): AsyncIterable<Uint8Array> {
    const end = Math.min(to, this.size);
    for (let at = from; at < end; at += pieceBytes) {
      if (this.#bytes.length !== this.size) throw new SourceFailure('was detached or resized');
      yield this.#bytes.subarray(at, Math.min(at + pieceBytes, end));
    }
  }

  expectEnd(): void {}
  sibling(): undefined {}
  pause(): void {}
  close(): void {}
}

class BlobSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #blob: Blob;

  constructor(blob: Blob, name?: string) {
    this.name = name ?? (('name' in blob && typeof blob.name === 'string' && blob.name) || 'blob');
    this.#blob = blob;
    this.size = blob.size;
  }

  // Not as a stream: its pieces may be of any size.
  async *read(from: number, to: number): AsyncIterable<Uint8Array> {
    const end = Math.min(to, this.size);
    for (let at = from; at < end; at += pieceBytes) {
      const piece = this.#blob.slice(at, Math.min(at + pieceBytes, end));
      const buffer = await piece.arrayBuffer().catch((error: unknown) => {
        throw new SourceFailure(`cannot be read: ${messageOf(error)}`, { cause: error });
      });
      yield new Uint8Array(buffer);
    }
  }

  expectEnd(): void {}
  sibling(): undefined {}
  pause(): void {}
  close(): void {}
}
