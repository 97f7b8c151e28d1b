// What gives the bytes of a file: ranges of them in pieces of bounded size, of which it keeps none.

/** How a source fails: the rest of the sentence that begins with the name of the file. */
export class SourceFailure extends Error {}

export interface ByteSource {
  /** For people: what an error calls the file. */
  readonly name: string;
  /** In bytes; undefined where only the end will tell. */
  readonly size: number | undefined;
  /** The bytes from `from` up to `to` (Infinity: to the end), in order. A piece is valid until the next is asked for. */
  read(from: number, to: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array>;
  /** Told once, for a source without a size: where the file has to end. */
  expectEnd(at: number): void;
  /** The source of a file beside this one, or undefined where there is no such thing as beside. */
  sibling(file: string): string | URL | undefined;
  /** Lets go of a connection that no read is using; browsers have few for one server. */
  pause(): void;
  /** Ends every read, and lets go of everything. */
  close(): void;
}

/** What an error says, and its cause where it says nothing itself ("fetch failed"). */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : '';
  return `${error.message}${code}`;
}
