// The interface of sources: each reads ranges of a file's bytes in pieces, and keeps none.

/** The failure of a source. Its message is preceded by the name of the file. */
export class SourceFailure extends Error {}

export interface ByteSource {
  /** Name of the file in errors. */
  readonly name: string;
  /** In bytes; undefined where it is unknown until the end. */
  readonly size: number | undefined;
  /** The bytes from `from` up to `to` (Infinity: to the end), in order. A piece is valid until the next one. */
  read(from: number, to: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array>;
  /** Called once with the offset at which the file must end, for a source without a size. */
  expectEnd?(at: number): void;
  /** The source of a file in the same folder, or undefined where there is no folder. */
  sibling?(file: string): string | URL | CachedFile | undefined;
  /** Closes an unused connection; browsers allow few per server. */
  pause?(): void;
  /** Ends all reads and connections. */
  close?(): void;
}

/** The signature of fetch() that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

type Opener = (
  fetch: Fetch,
  signal: AbortSignal | undefined,
  onProgress: ((progress: { loaded: number; total: number; name: string }) => void) | undefined,
) => Promise<ByteSource>;

/** A file of `cached()`. It brings what opens it, so that only those who import `cached` load the code of storage. */
export class CachedFile {
  /** Its address in full, as in `storedFiles()`. */
  readonly address: string;
  readonly #open: Opener;

  /** @internal */
  constructor(address: string, open: Opener) {
    this.address = address;
    this.#open = open;
  }

  /** @internal */
  open(...args: Parameters<Opener>): Promise<ByteSource> {
    return this.#open(...args);
  }
}

/** Aborts the controller with the signal, until the returned function is called. */
export function link(signal: AbortSignal | undefined, controller: Pick<AbortController, 'abort'>): () => void {
  const stop = () => controller.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);
  return () => signal?.removeEventListener('abort', stop);
}

/** What a promise gives, or rejects with the signal's reason. */
export function unlessAborted<T>(before: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let unlink = () => {};
  const aborted = new Promise<never>((_, abort) => {
    unlink = link(signal, { abort });
  });
  return Promise.race([before, aborted]).finally(unlink);
}

/** Maximum bytes of a piece of a local file. */
export const pieceBytes = 2 ** 20;

/** The message of an error, with the code or else the message of its cause for messages such as "fetch failed". */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error as { message: string; cause?: { code?: unknown; message?: unknown } | null };
  const why = cause?.code || cause?.message;
  return why ? `${message} (${String(why)})` : message;
}

/** An address or path for errors: without user, password, query and fragment, which may be secret. */
export function withoutSecrets(address: string): string {
  return address.replace(/(^\w[^/?#:]+:\/*)[^/?#]*@|[?#].*$/g, '$1');
}

/** Throws the failure of a local read. */
export function unreadable(error: unknown): never {
  throw new SourceFailure(`cannot be read: ${messageOf(error)}`, { cause: error });
}

/** Joins pieces to one array; throws `tooLong()` for more bytes than the limit. */
export async function gathered(
  pieces: AsyncIterable<Uint8Array>,
  limit: number,
  tooLong: () => Error,
): Promise<Uint8Array> {
  const copies: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    if (piece.length > limit - length) throw tooLong();
    copies.push(piece.slice());
    length += piece.length;
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of copies) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * The pieces of a local file in order, out of blocks of several. Each block is read while the one before it is used; where
 * reading ends, not waited for.
 */
export async function* readAhead(
  from: number,
  to: number,
  blockBytes: number,
  blockOf: (from: number, to: number) => Promise<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const ask = (at: number) => {
    const block = at < to ? blockOf(at, Math.min(at + blockBytes, to)) : undefined;
    block?.catch(() => {}); // one that nobody waits for yet
    return block;
  };
  let next = ask(from);
  for (let at = from + blockBytes; next !== undefined; at += blockBytes) {
    const block: Uint8Array = await next;
    next = ask(at); // after a short block there are fewer bytes in all, which the caller counts
    for (let i = 0; i < block.length; i += pieceBytes) yield block.subarray(i, i + pieceBytes);
  }
}
