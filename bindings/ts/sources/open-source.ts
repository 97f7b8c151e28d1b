// Opens the caller's source: memory, a Blob, a path, an address or a file that is kept.
import { ArgumentTypeError } from '../runtime/errors.js';
import { EventLoop } from '../runtime/event-loop.js';
import { bytesGiven, isRevoked } from '../runtime/typed-arrays.js';
import { blobSource } from './blob.js';
import { openHttp } from './http.js';
import { openPath } from './path.js';
import { addressOf, isA } from './platform.js';
import { type ByteSource, CachedFile, type Fetch, pieceBytes, SourceFailure, unreadable } from './source.js';
import type { ReadOptions } from './tensor-file.js';

/**
 * A file: an address (string or URL; a relative one is resolved against the page), a Blob or File, its bytes, or, where
 * there is no page, a path (string or file: URL); or one that is kept, of `cached()`.
 */
export type FileSource = string | URL | Blob | ArrayBuffer | Uint8Array | CachedFile;

/** Opens the caller's source; fetches the first bytes of an address, and all of a file that is to be kept. */
export async function openSource(
  where: string,
  name: string,
  value: unknown,
  fetch: Fetch,
  { signal, onProgress }: ReadOptions,
): Promise<ByteSource> {
  if (!isRevoked(value) && value instanceof CachedFile) return value.open(fetch, signal, onProgress);
  const address = addressOf(value);
  if (address !== undefined) return openAddress(address, fetch, signal);
  if (isA('Blob', value, 'size')) return blobSource(value);
  const bytes = bytesGiven(value);
  if (bytes !== undefined) return memorySource(bytes);
  const expected = 'an address, a path, a Blob, or an ArrayBuffer or a Uint8Array that is not detached';
  throw new ArgumentTypeError(where, name, value, expected);
}

// A single letter before a colon is a drive, not a scheme.
function openAddress(text: string, fetch: Fetch, signal: AbortSignal | undefined): Promise<ByteSource> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'file') return openPath(urlOf(text));
  // Ranges of these cannot be fetched, and would save nothing.
  if (scheme === 'blob' || scheme === 'data') return openWhole(text, scheme, fetch, signal);
  if (scheme !== undefined) return openHttp(urlOf(text), fetch, signal);
  const page = globalThis.location?.href;
  return page === undefined ? openPath(text) : openHttp(urlOf(text, page), fetch, signal);
}

function urlOf(text: string, base?: string): URL {
  try {
    return new URL(text, base);
  } catch (cause) {
    throw new SourceFailure('is no address', { cause });
  }
}

async function openWhole(
  text: string,
  scheme: string,
  fetch: Fetch,
  signal: AbortSignal | undefined,
): Promise<ByteSource> {
  const response = await fetch(text, { signal: signal ?? null });
  return blobSource(await response.blob().catch(unreadable), scheme === 'data' ? 'data:' : text);
}

function memorySource(bytes: Uint8Array): ByteSource {
  const size = bytes.length;
  const loop = new EventLoop(); // nothing else here waits, and a signal would not be heard
  return {
    name: 'buffer',
    size,
    async *read(from, to) {
      const end = Math.min(to, size);
      for (let at = from; at < end; at += pieceBytes) {
        await loop.pause();
        if (bytes.length !== size) throw new SourceFailure('was detached or resized');
        yield bytes.subarray(at, Math.min(at + pieceBytes, end));
      }
    },
  };
}
