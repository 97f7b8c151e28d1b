// Reads ranges of a file's bytes, in pieces of bounded size. A source keeps no piece.

/** The failure of a source. Its message continues a sentence that begins with the name of the file. */
export class SourceFailure extends Error {}

export interface ByteSource {
  /** For people: what an error calls the file. */
  readonly name: string;
  /** In bytes; undefined where only the end will tell. */
  readonly size: number | undefined;
  /** The bytes from `from` up to `to` (Infinity: to the end), in order. A piece is valid until the next is asked for. */
  read(from: number, to: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array>;
  /** Told once, for a source without a size: where the file has to end. */
  expectEnd?(at: number): void;
  /** The source of a file beside this one, or undefined where there is no such thing as beside. */
  sibling?(file: string): string | URL | undefined;
  /** Lets go of a connection that no read is using; browsers have few for one server. */
  pause?(): void;
  /** Ends every read, and lets go of everything. */
  close?(): void;
}

/** The most bytes of a piece of a file that is at hand. */
export const pieceBytes = 2 ** 20;

/** What an error says, and its cause where it says nothing itself ("fetch failed"). */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? ` (${String(cause.code)})` : '';
  return `${error.message}${code}`;
}

/** For a read of something at hand that failed. */
export function unreadable(error: unknown): never {
  throw new SourceFailure(`cannot be read: ${messageOf(error)}`, { cause: error });
}

/** Pieces in one array; `tooLong` makes the error for more bytes than the limit. */
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
