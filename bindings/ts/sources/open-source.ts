// Opens the caller's source: memory, a Blob, a path or an address.
import * as check from '../runtime/check.js';
import { ArgumentTypeError } from '../runtime/errors.js';
import { bytesOf } from '../runtime/typed-arrays.js';
import { type Fetch, openHttp } from './http.js';
import { openPath } from './path.js';
import { type ByteSource, messageOf, pieceBytes, SourceFailure, unreadable } from './source.js';

/**
 * A file: an address (string or URL; a relative one is resolved against the page), a Blob or File, its bytes, or, where
 * there is no page, a path (string or file: URL).
 */
export type FileSource = string | URL | Blob | ArrayBuffer | Uint8Array;

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Opens the caller's source; fetches the first bytes of an address. */
export async function openSource(
  where: string,
  name: string,
  value: unknown,
  fetch: Fetch,
  signal: AbortSignal | undefined,
): Promise<ByteSource> {
  if (typeof value === 'string' || tagOf(value) === 'URL') return openAddress(String(value), fetch, signal);
  const tag = tagOf(value);
  if (tag === 'Blob' || tag === 'File') return blobSource(value as Blob);
  if (check.isTypedArray(value, 'Uint8Array')) return memorySource(bytesOf(value));
  if (tag === 'ArrayBuffer') return memorySource(new Uint8Array(value as ArrayBuffer));
  throw new ArgumentTypeError(where, name, value, 'an address, a path, a Blob, an ArrayBuffer or a Uint8Array');
}

// A single letter before a colon is a drive, not a scheme.
function openAddress(text: string, fetch: Fetch, signal: AbortSignal | undefined): Promise<ByteSource> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'file') return openPath(new URL(text));
  // Ranges of these cannot be fetched, and would save nothing.
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
    return blobSource(await response.blob(), scheme === 'data' ? 'data:' : text);
  } catch (error) {
    throw new SourceFailure(`cannot be fetched: ${messageOf(error)}`, { cause: error });
  }
}

function memorySource(bytes: Uint8Array): ByteSource {
  const size = bytes.length;
  return sourceOf('buffer', size, (from, to) => {
    if (bytes.length !== size) throw new SourceFailure('was detached or resized');
    return bytes.subarray(from, to);
  });
}

// Sliced rather than streamed: the pieces of a stream may be of any size.
function blobSource(blob: Blob, name = (blob as Partial<File>).name): ByteSource {
  const called = typeof name === 'string' && name !== '' ? name : 'blob';
  return sourceOf(called, blob.size, async (from, to) => {
    const buffer = await blob.slice(from, to).arrayBuffer().catch(unreadable);
    return new Uint8Array(buffer);
  });
}

// A source of known size without an open connection.
function sourceOf(
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
