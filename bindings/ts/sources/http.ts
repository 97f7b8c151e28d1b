// Reads files over HTTP: ranges if the server supports them, otherwise one stream from the beginning, which is
// restarted for earlier bytes. Of ranges, only the first bytes are kept: they hold the header of most files.
import { kindOf } from '../runtime/typed-arrays.js';
import { Cursor } from './cursor.js';
import {
  type ByteSource,
  type Fetch,
  gathered,
  link,
  messageOf,
  SourceFailure,
  unlessAborted,
  withoutSecrets,
} from './source.js';

const probeBytes = 2 ** 16;

/** Fetches the first bytes; the answer shows whether the server supports ranges. */
export async function openHttp(url: URL, fetch: Fetch, signal: AbortSignal | undefined): Promise<ByteSource> {
  const remote = new Remote(url, fetch);
  // A stream continues after the file is open, so it must not end with the caller's signal.
  const connection = new AbortController();
  const unlink = link(signal, connection);
  try {
    const response = await remote.fetch(connection.signal, `bytes=0-${probeBytes - 1}`);
    if (response.status === 200) return new StreamSource(remote, response, connection);
    if (response.status !== 416 || response.headers.has('content-range')) return await openRanges(remote, response);
    // No byte is there to send a range of, or the server hides why it sent none.
    discard(response);
    const whole = await remote.fetch(connection.signal, undefined);
    if (whole.status !== 200) throw refused(whole);
    return new StreamSource(remote, whole, connection);
  } finally {
    unlink();
  }
}

async function openRanges(remote: Remote, response: Response): Promise<ByteSource> {
  if (response.status === 416 && response.headers.get('content-range') === 'bytes */0') {
    discard(response);
    return new RangeSource(remote, 0, response, new Uint8Array(0));
  }
  if (response.status !== 206) throw refused(response);
  const range = rangeOf(response);
  if (range !== undefined && (range.first !== 0 || range.last >= probeBytes)) {
    throw misfit(response, `0 to ${probeBytes - 1}`);
  }
  const first = await gathered(bodyOf(response), probeBytes, () => tooMany(response));
  if (range !== undefined && first.length !== range.last + 1) {
    throw new SourceFailure(`ended after ${first.length} of ${range.last + 1} bytes`);
  }
  // A server of another origin may hide Content-Range. Fewer bytes than requested are then the whole file.
  const size = range?.total ?? (first.length < probeBytes ? first.length : undefined);
  return new RangeSource(remote, size, response, first);
}

/** A file on a server. */
export class Remote {
  readonly url: URL;
  /** The address without user, password and query, which may be secret. */
  readonly name: string;
  readonly #fetch: Fetch;

  constructor(url: URL, fetch: Fetch) {
    this.url = url;
    this.name = withoutSecrets(url.href);
    this.#fetch = fetch;
  }

  fetch(signal: AbortSignal | undefined, range: string | undefined, init: RequestInit = {}): Promise<Response> {
    return this.#fetch(this.url.href, {
      ...init,
      ...(range !== undefined && { headers: { Range: range } }),
      signal: signal ?? null,
    });
  }

  sibling(file: string): URL | undefined {
    if (!/^https?:$/.test(this.url.protocol)) return undefined;
    const beside = new URL(encodeURIComponent(file), this.url);
    beside.search = this.url.search;
    return beside;
  }
}

// A file on a server, as its first answer describes it.
class HttpSource {
  readonly name: string;
  readonly size: number | undefined;
  protected readonly remote: Remote;
  protected readonly version: Headers;

  constructor(remote: Remote, size: number | undefined, { headers }: Response) {
    this.remote = remote;
    this.name = remote.name;
    this.size = size;
    this.version = headers;
  }

  sibling(file: string): URL | undefined {
    return this.remote.sibling(file);
  }
}

// Of a server that supports ranges.
class RangeSource extends HttpSource implements ByteSource {
  readonly #first: Uint8Array;
  readonly #closed = new AbortController();

  constructor(remote: Remote, size: number | undefined, response: Response, first: Uint8Array) {
    super(remote, size, response);
    this.#first = first;
  }

  async *read(from: number, to: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    const known = Math.min(to, this.#first.length);
    if (from < known) yield this.#first.subarray(from, known);
    const begin = Math.max(from, this.#first.length);
    const end = Math.min(to, this.size ?? to);
    if (begin < end) yield* this.#fetchRange(begin, end, signal);
  }

  async *#fetchRange(from: number, to: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    const connection = new AbortController();
    const unlinks = [signal, this.#closed.signal].map((each) => link(each, connection));
    try {
      const response = await this.#answer(from, to, connection.signal);
      if (response !== undefined) yield* bodyOf(response);
    } finally {
      for (const unlink of unlinks) unlink();
    }
  }

  // Undefined where a file of unknown size ends before `from`.
  async #answer(from: number, to: number, signal: AbortSignal): Promise<Response | undefined> {
    const last = Number.isFinite(to) ? to - 1 : '';
    const response = await this.remote.fetch(signal, `bytes=${from}-${last}`);
    if (response.status === 416 && this.size === undefined) return discard(response) as undefined;
    if (response.status !== 206) throw refused(response);
    const range = rangeOf(response);
    const fits =
      range === undefined ||
      (range.first === from &&
        // A file of unknown size may end before.
        (this.size === undefined
          ? range.last < to
          : range.last === to - 1 && (range.total ?? this.size) === this.size));
    if (!fits) throw misfit(response, `${from} to ${last}`);
    checkLength(response, from, range?.last ?? to - 1);
    checkVersion(response, this.version);
    return response;
  }

  close(): void {
    this.#closed.abort();
  }
}

// Of a server that ignores ranges and sends the whole file.
class StreamSource extends HttpSource implements ByteSource {
  #connection: AbortController;
  #cursor: Cursor | undefined;
  #end: number | undefined;
  #turn: Promise<void> = Promise.resolve();
  #reads = 0; // running or waiting for #turn
  #isClosed = false;

  constructor(remote: Remote, response: Response, connection: AbortController) {
    super(remote, sizeOf(response), response);
    this.#connection = connection;
    this.#cursor = new Cursor(bodyOf(response), 0);
  }

  // One reader at a time, since there is one stream.
  async *read(from: number, to: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    const before = this.#turn;
    let done = () => {};
    this.#turn = new Promise((resolve) => {
      done = resolve;
    });
    this.#reads += 1;
    let whole = true;
    let unlink = () => {};
    try {
      await unlessAborted(before, signal);
      if (this.#isClosed) throw new SourceFailure('was closed');
      whole = false;
      if (this.#cursor !== undefined && this.#cursor.at > from) this.#drop();
      if (this.#cursor === undefined) this.#connection = new AbortController();
      unlink = link(signal, this.#connection);
      this.#cursor ??= await this.#begin();
      const cursor = this.#cursor;
      yield* cursor.read(from, to);
      if (cursor.at === this.#end && (await cursor.hasMore())) {
        throw new SourceFailure(`has more than the ${this.#end} bytes that its header tells of`);
      }
      whole = true;
    } finally {
      unlink();
      if (!whole) this.#drop();
      this.#reads -= 1;
      void before.then(done);
    }
  }

  async #begin(): Promise<Cursor> {
    const response = await this.remote.fetch(this.#connection.signal, undefined);
    if (response.status !== 200) throw refused(response);
    if (sizeOf(response) !== this.size) throw changed(response, 'size');
    checkVersion(response, this.version);
    return new Cursor(bodyOf(response), 0);
  }

  expectEnd(at: number): void {
    if (this.size === undefined) this.#end = at;
  }

  pause(): void {
    if (this.#reads === 0) this.#drop();
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #drop(): void {
    this.#connection.abort();
    this.#cursor = undefined;
  }
}

/** The pieces of a response; cancels it when the reader stops. */
export async function* bodyOf(response: Response): AsyncIterable<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    reader = response.body?.getReader();
    for (;;) {
      const next = await reader?.read();
      if (next === undefined || next.done) return;
      if (kindOf(next.value) !== 'Uint8Array') throw new Error('its body is no stream of bytes');
      yield next.value;
    }
  } catch (error) {
    throw new SourceFailure(`the connection was cut: ${messageOf(error)}`, { cause: error });
  } finally {
    reader?.cancel().catch(() => {}); // not awaited: the rest is not needed
  }
}

/** Cancels without waiting; a failure does not matter. */
export function discard(response: Response): void {
  response.body?.cancel().catch(() => {});
}

// Cancels a response that is of no use.
function failure(response: Response, problem: string): SourceFailure {
  discard(response);
  return new SourceFailure(problem);
}

function tooMany(response: Response): SourceFailure {
  return failure(response, 'gave more bytes than it was asked for');
}

function changed(response: Response, what: string): SourceFailure {
  return failure(response, `has changed since it was opened: its ${what} is another`);
}

// Refuses a response of another version than the first one: by ETag or, where one of them has none, by Last-Modified.
function checkVersion(response: Response, first: Headers): void {
  for (const name of ['ETag', 'Last-Modified']) {
    const [then, now] = [first.get(name), response.headers.get(name)];
    if (then !== null && then === now) return;
    if (then !== null && now !== null) throw changed(response, name);
  }
}

/** Undefined for a compressed response, whose Content-Length is not the size of the file. */
export function sizeOf(response: Response): number | undefined {
  const length = response.headers.get('content-length');
  return response.headers.has('content-encoding') || !/^\d{1,15}$/.test(length ?? '') ? undefined : Number(length);
}

/** Refuses a range that is longer than it may be, before its body is read. */
export function checkLength(response: Response, first: number, last: number): void {
  if ((sizeOf(response) ?? 0) > last - first + 1) throw tooMany(response);
}

interface ContentRange {
  readonly first: number;
  readonly last: number;
  readonly total: number | undefined;
}

/** Undefined where there is no Content-Range, or a server of another origin hides it. */
export function rangeOf(response: Response): ContentRange | undefined {
  const has = (name: string, kind: RegExp) => kind.test(response.headers.get(name) ?? '');
  // A part of a compressed file is not that part of the file, and cannot be unpacked by itself.
  if (has('content-encoding', /gzip|deflate|br|zstd/i)) throw failure(response, 'sent a compressed range');
  if (has('content-type', /^multipart/i)) throw tooMany(response); // heads of parts, among the bytes
  const text = response.headers.get('content-range');
  if (text === null) return undefined;
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(text) ?? [];
  const [, first = 0, last = -1, total = 0] = match.map(Number); // NaN for *
  if (last < first || last >= total) {
    throw failure(response, `sent Content-Range ${JSON.stringify(text)}, which is none`);
  }
  return { first, last, total: total || undefined };
}

export function misfit(response: Response, asked: string): SourceFailure {
  const sent = response.headers.get('content-range');
  return failure(response, `sent Content-Range ${JSON.stringify(sent)} when asked for bytes ${asked}`);
}

export function refused(response: Response): SourceFailure {
  const { status, statusText } = response;
  const answer = `cannot be fetched: HTTP ${status} ${statusText}`.trimEnd();
  return failure(response, status === 200 ? 'sent the whole file when asked for a range' : answer);
}
