// Reads of ranges that follow one another.
import { type ByteSource, pieceBytes, SourceFailure } from './source.js';

/** Goes through the pieces of one read of a file once, and gives ranges that follow one another. @internal */
export class Cursor {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array(0);
  #at: number;

  /** `at` is the offset in the file of the first byte. */
  constructor(pieces: AsyncIterable<Uint8Array>, at: number) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#at = at;
  }

  /** Offset in the file of the next byte. */
  get at(): number {
    return this.#at;
  }

  /** The bytes from `from` up to `to`, of which those before `at` are gone. Ends early where the file ends. */
  async *read(from: number, to: number): AsyncIterable<Uint8Array> {
    while (this.#at < to && (await this.hasMore())) {
      const begin = Math.min(this.#rest.length, Math.max(0, from - this.#at));
      const end = Math.min(this.#rest.length, to - this.#at);
      const piece = this.#rest.subarray(begin, end);
      this.#at += end;
      this.#rest = this.#rest.subarray(end);
      if (piece.length > 0) yield piece;
    }
  }

  /** False at the end of the file. */
  async hasMore(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const next = await this.#pieces.next();
      if (next.done === true) return false;
      this.#rest = next.value;
    }
    return true;
  }

  /** Ends the read. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}

/** Makes of the reads of tensors that follow one another in a file one read of its source. @internal */
export class SequentialRead {
  #source: ByteSource | undefined;
  #cursor: Cursor | undefined;
  #end = 0;

  /** A source of the same bytes. A read of it begins one up to `end()`, unless it goes on with the last one. */
  of(source: ByteSource, end: () => number): ByteSource {
    const { name, size } = source;
    return { name, size, read: (from, to, signal) => this.#read(source, from, to, end, signal) };
  }

  async *#read(source: ByteSource, from: number, to: number, end: () => number, signal: AbortSignal | undefined) {
    const at = source === this.#source ? this.#cursor?.at : undefined;
    if (at === undefined || from < at || from > at + pieceBytes) {
      await this.close();
      this.#source = source;
      this.#end = end();
      this.#cursor = new Cursor(source.read(from, this.#end, signal), from);
    }
    const cursor = this.#cursor as Cursor;
    yield* cursor.read(from, to);
    // What comes after the end shows that the bytes before it may be others than were asked for.
    if (cursor.at === this.#end && (await cursor.hasMore())) {
      throw new SourceFailure('gave more bytes than it was asked for');
    }
  }

  /** Ends the read of the source. */
  async close(): Promise<void> {
    await this.#cursor?.close();
    this.#cursor = undefined;
  }
}
