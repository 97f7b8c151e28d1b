// Files that are kept whole in storage: downloaded once, resumed where the download broke off, and compared with the
// server's at each opening.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, describe, StorageError } from '../runtime/errors.js';
import { bodyOf, checkLength, discard, misfit, Remote, rangeOf, refused, sizeOf } from './http.js';
import { addressOf } from './platform.js';
import { type ByteSource, CachedFile, messageOf, SourceFailure } from './source.js';
import { alone, storeOf } from './store.js';
import { StoredCopy, type Version } from './stored-copy.js';
import type { ReadOptions } from './tensor-file.js';

/** Options of cached() and storedFiles(). */
export interface CachedOptions {
  /**
   * The path of the folder that holds the files; it is made if it is missing. Required in Node, Deno and Bun; browsers have
   * storage of their own for each site, and refuse it.
   */
  folder?: string;
}

/** A file in storage. */
export interface StoredFile {
  /** Its address in full. */
  readonly address: string;
  /** How many bytes are stored. */
  readonly bytes: number;
  /** Whether these are all; otherwise the download broke off, or goes on now. */
  readonly complete: boolean;
  /** Its ETag, with Last-Modified and length where it is weak or missing; undefined if the server sends neither. */
  readonly validator: string | undefined;
  /** When it was opened last. */
  readonly lastUsed: Date;
  /** Deletes it, after a download that is under way. Open files can then read no more of it. @throws StorageError */
  delete(): Promise<void>;
}

/**
 * A file at an address, kept whole in storage: in the browser's origin private file system (the Cache API where that cannot
 * be written to), or elsewhere in a folder. `openSafetensors`, `openGguf` and `loadModel` take it as a source; files that
 * an index names, and parts of a split file, are then kept as well. Nothing happens before it is opened.
 *
 * The first opening downloads the file, and `onProgress` counts its bytes. A download that breaks off keeps what came: the
 * next opening requests the rest, if the server's ETag (or else Last-Modified and length) is the same. Of a page that is
 * closed the last 8 MB may be missing. An opening of a complete file asks the server whether the file has changed (HEAD,
 * then GET); if so, the new version replaces it. Without an answer, or with HTTP 429 or 5xx, the stored file is used, so
 * it works offline. A file without ETag and Last-Modified is downloaded at each opening that reaches the server. Openings
 * of one address wait for each other, in all pages of a site.
 *
 * Opening it throws StorageError where storage has no room or cannot be written, UnsupportedError in a page without storage.
 *
 * @param address string or URL, http or https; a relative one is resolved against the page. It is stored with its query.
 * @throws ArgumentTypeError or ArgumentRangeError for another kind of address, or a folder that is missing or not wanted.
 *
 * @example
 * import { cached, openSafetensors } from 'ropewalk/models';
 * const source = cached('https://example.org/model.safetensors', { folder: 'files' }); // in a browser without folder
 * using file = await openSafetensors(rw, source, { signal, onProgress });
 */
export function cached(address: string | URL, options: CachedOptions = {}): CachedFile {
  const where = 'cached';
  const text = addressOf(address);
  if (text === undefined) {
    throw new ArgumentTypeError(where, 'address', address, 'an address');
  }
  let url: URL | undefined;
  try {
    url = new URL(text, globalThis.location?.href);
    url.hash = '';
  } catch {} // an address that is none, or relative where there is no page
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const problem = `is ${describe(text)}; expected an http or https address`;
    throw new ArgumentRangeError(where, 'address', address, problem);
  }
  return keptFile(url, folderOf(where, options));
}

/**
 * The files that `cached()` keeps for this site, or in the folder; also those whose download broke off.
 *
 * @throws StorageError where storage cannot be read, UnsupportedError in a page without storage.
 *
 * @example
 * import { storedFiles } from 'ropewalk/models';
 * for (const file of await storedFiles({ folder: 'files' })) {
 *   if (file.lastUsed.getTime() < Date.now() - 30 * 86_400_000) await file.delete();
 * }
 */
export async function storedFiles(options: CachedOptions = {}): Promise<StoredFile[]> {
  const folder = folderOf('storedFiles', options);
  const copies = await storage(folder, async () => StoredCopy.all(await storeOf(folder)));
  return copies.map((copy) => {
    const { address, bytes, isComplete: complete, validator, lastUsed } = copy;
    const remove = () => alone(lockOf(address, folder), undefined, () => copy.delete());
    return { address, bytes, complete, validator, lastUsed, delete: remove };
  });
}

function folderOf(where: string, options: CachedOptions): string | undefined {
  const { folder } = check.options(where, 'options', options, ['folder']);
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  const isBrowser = process?.versions?.node === undefined;
  const fits = isBrowser ? folder === undefined : typeof folder === 'string' && folder !== '';
  if (fits) return folder;
  const expected = isBrowser ? 'none, since a browser has storage of its own' : 'the path of a folder';
  throw new ArgumentTypeError(where, 'folder', folder, expected);
}

async function storage<T>(folder: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof DOMException) && !(cause instanceof Error && 'code' in cause)) throw cause;
    throw new StorageError(folder ?? 'storage', `cannot be used: ${messageOf(cause)}`, {}, { cause });
  }
}

const lockOf = (address: string, folder: string | undefined) => `${folder ?? ''} ${address}`;

function keptFile(url: URL, folder: string | undefined): CachedFile {
  const address = url.href;
  return new CachedFile(address, async (fetch, signal, onProgress) => {
    const remote = new Remote(url, fetch);
    const store = await storage(folder, () => storeOf(folder));
    const copy = await alone(lockOf(address, folder), signal, async () => {
      const stored = await StoredCopy.of(store, address);
      await update(stored, remote, signal, onProgress);
      await stored.touch();
      return stored;
    });
    return sourceOf(copy, remote, folder);
  });
}

function sourceOf(copy: StoredCopy, remote: Remote, folder: string | undefined): ByteSource {
  return {
    name: remote.name,
    size: copy.size,
    read: (from, to, signal) => copy.read(from, to, signal),
    sibling(file) {
      const beside = remote.sibling(file);
      return beside && keptFile(beside, folder);
    },
  };
}

// The browser's own cache would keep the file a second time, and answer in place of the server.
async function ask(
  remote: Remote,
  signal: AbortSignal | undefined,
  from: number,
  method: 'GET' | 'HEAD' = 'GET',
): Promise<Response> {
  const response = await remote.fetch(signal, `bytes=${from}-`, { method, cache: 'no-store' });
  if (response.status !== 416 || response.headers.get('content-range') !== 'bytes */0') return response;
  discard(response); // an empty file has no range; what reads it says what is wrong with it
  return new Response(null, { headers: { 'Content-Length': '0' } });
}

const isFile = ({ status }: Response) => status === 200 || status === 206;

async function update(
  copy: StoredCopy,
  remote: Remote,
  signal: AbortSignal | undefined,
  onProgress: ReadOptions['onProgress'],
): Promise<void> {
  signal?.throwIfAborted();
  const { isComplete } = copy;
  if (isComplete && (await isCurrent(copy, remote, signal))) return;
  let from = isComplete || copy.validator === undefined ? 0 : copy.bytes;
  let response = isComplete ? await answer(remote, signal, 'GET') : await ask(remote, signal, from);
  if (response === undefined) return;
  if (from > 0 && (response.status === 416 || (response.status === 206 && !goesOn(copy, response)))) {
    discard(response);
    from = 0;
    response = await ask(remote, signal, from);
  }
  if (!isFile(response)) throw refused(response);
  if (response.status === 200) from = 0; // a server that ignores ranges: what is stored is skipped
  const version = versionOf(response, from);
  try {
    if (isComplete && copy.isOf(version)) return discard(response); // a server that refuses HEAD
    await copy.take(version);
  } catch (error) {
    discard(response);
    throw error;
  }
  const { size } = copy;
  const name = remote.name;
  await copy.append(rest(bodyOf(response), from, copy, signal), (loaded) =>
    onProgress?.({ loaded, total: size ?? loaded, name }),
  );
  if (!copy.isComplete) throw new SourceFailure(`ended after ${copy.bytes} of ${size} bytes`);
}

// Asks for the headers of a complete file. Where nobody answers, it is taken for current.
async function isCurrent(copy: StoredCopy, remote: Remote, signal: AbortSignal | undefined): Promise<boolean> {
  const response = await answer(remote, signal, 'HEAD');
  return response === undefined || (isFile(response) && copy.isOf(versionOf(response, 0)));
}

// What the server says of a complete file; undefined where it is out of reach, busy or broken.
async function answer(remote: Remote, signal: AbortSignal | undefined, method: 'GET' | 'HEAD') {
  const response = await ask(remote, signal, 0, method).catch((error) => {
    if (!(error instanceof SourceFailure)) throw error;
  });
  signal?.throwIfAborted();
  if (response === undefined) return undefined;
  const { status } = response;
  const hasNoHead = status === 501 && method === 'HEAD';
  if (hasNoHead || (status < 500 && status !== 429)) return response;
  discard(response);
  return undefined;
}

// What a response with the bytes of a file from `from` on says of it.
function versionOf(response: Response, from: number): Version {
  const { headers, status } = response;
  const range = status === 206 ? rangeOf(response) : undefined;
  if (range !== undefined && range.first !== from) throw misfit(response, `${from} to the end`);
  if (range !== undefined) checkLength(response, from, range.last);
  const length = sizeOf(response);
  const size = range?.total ?? (length === undefined ? undefined : from + length);
  if (headers.has('content-encoding')) return { size }; // ranges of it would be of other bytes
  const [etag, modified] = [headers.get('etag'), headers.get('last-modified')];
  if (etag?.startsWith('"')) return { validator: etag, size };
  if (modified === null || size === undefined) return { size };
  // A weak ETag may stand for other bytes as well, so all three have to be the same.
  const parts = [etag, modified, `${size} bytes`];
  return { validator: parts.filter((part) => part !== null).join(', '), size };
}

// Whether a range is of the stored version and begins where the copy ends, by Content-Range or else by its length.
function goesOn(copy: StoredCopy, response: Response): boolean {
  const version = versionOf(response, copy.bytes);
  const isNext = response.headers.has('content-range') || (copy.size !== undefined && version.size === copy.size);
  return isNext && copy.isOf(version);
}

// What a body that begins at `from` has beyond the stored bytes.
async function* rest(
  pieces: AsyncIterable<Uint8Array>,
  from: number,
  { bytes }: StoredCopy,
  signal: AbortSignal | undefined,
): AsyncIterable<Uint8Array> {
  let at = from;
  for await (const piece of pieces) {
    signal?.throwIfAborted();
    const begin = at;
    at += piece.length;
    if (at > bytes) yield piece.subarray(Math.max(0, bytes - begin));
  }
}
