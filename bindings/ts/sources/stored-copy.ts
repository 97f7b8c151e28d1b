// The stored copy of a file: segments of its bytes, and a record of them. A segment's name contains the version of the
// file, so segments of two versions never come together; the record is rewritten after each, so that nothing is lost
// where a download breaks off.
import { StorageError } from '../runtime/errors.js';
import { type ByteSource, gathered, messageOf, SourceFailure, withoutSecrets } from './source.js';
import type { Store } from './store.js';

/** How a file is told from other versions of it. */
export interface Version {
  /** Its ETag, with Last-Modified and length where it is weak or missing; undefined for a server that sends neither. */
  readonly validator?: string | undefined;
  /** In bytes, if the server says it. */
  readonly size?: number | undefined;
}

interface CopyRecord extends Version {
  readonly address: string;
  /** Part of the names of segments: equal for equal validators. */
  readonly version: string;
  /** Bytes of each segment. */
  readonly segments: readonly number[];
  /** Milliseconds since 1970. */
  readonly lastUsed: number;
}

const segmentBytes = 2 ** 23; // what a page that is closed loses at most, and what a download has in memory
const suffix = '.json';

export class StoredCopy {
  readonly #store: Store;
  readonly #key: string;
  readonly #name: string; // in errors
  #record: CopyRecord;
  #segments: readonly ByteSource[] = [];

  private constructor(store: Store, key: string, record: CopyRecord) {
    this.#store = store;
    this.#key = key;
    this.#name = withoutSecrets(record.address);
    this.#record = record;
  }

  /** The copy of a file, empty if there is none. */
  static async of(store: Store, address: string): Promise<StoredCopy> {
    const key = await keyOf(address);
    const none = { address, version: '', segments: [], lastUsed: 0 };
    const copy = new StoredCopy(store, key, (await recordIn(store, key + suffix)) ?? none);
    await copy.#open();
    return copy;
  }

  /** The copies in a store, with the bytes that their records tell of. */
  static async all(store: Store): Promise<StoredCopy[]> {
    const records = (await store.names()).filter((name) => name.endsWith(suffix));
    const copies = await Promise.all(
      records.map(async (name) => {
        const record = await recordIn(store, name);
        return record && new StoredCopy(store, name.slice(0, -suffix.length), record);
      }),
    );
    return copies.filter((copy) => copy !== undefined);
  }

  get address(): string {
    return this.#record.address;
  }
  get validator(): string | undefined {
    return this.#record.validator;
  }
  get size(): number | undefined {
    return this.#record.size;
  }
  get bytes(): number {
    return this.#record.segments.reduce((sum, bytes) => sum + bytes, 0);
  }
  get isComplete(): boolean {
    return this.bytes === this.size;
  }
  get lastUsed(): Date {
    return new Date(this.#record.lastUsed);
  }

  // Finds the segments; what follows a missing one is of no use.
  async #open(): Promise<void> {
    const { segments } = this.#record;
    let at = 0;
    const found = await Promise.all(
      segments.map((bytes) => {
        at += bytes;
        return this.#store.open(this.#nameOf(at - bytes, bytes));
      }),
    );
    const missing = found.findIndex((source, i) => source?.size !== segments[i]);
    if (missing >= 0) this.#record = { ...this.#record, segments: segments.slice(0, missing) };
    this.#segments = found.slice(0, this.#record.segments.length).filter((source) => source !== undefined);
  }

  #nameOf(at: number, bytes: number): string {
    return `${this.#key}-${this.#record.version}-${at}-${bytes}`;
  }

  /** Whether it is, as far as it goes, of this version beyond doubt. */
  isOf({ validator, size = this.size }: Version): boolean {
    const fits = size === (this.size ?? size) && (size ?? Number.POSITIVE_INFINITY) >= this.bytes;
    return fits && validator !== undefined && validator === this.validator;
  }

  /** Goes on with a version, or begins with it in place of the one that was stored. */
  async take(next: Version): Promise<void> {
    const { validator, size } = next;
    const lastUsed = Date.now();
    if (this.isOf(next)) return this.#save({ ...this.#record, size: this.size ?? size, lastUsed });
    const left = await this.#store.available().catch(() => undefined);
    const available = left && left + this.bytes;
    if (size !== undefined && available !== undefined && size > available) {
      throw new StorageError(this.#name, 'cannot be kept', { needed: size, available });
    }
    const { address, version: before } = this.#record;
    await this.#remove(`${this.#key}-${before}-`);
    const version = await keyOf(validator ?? crypto.randomUUID());
    this.#segments = [];
    await this.#save({ address, version, validator, size, segments: [], lastUsed });
  }

  /**
   * Stores the next bytes. What came is stored even if more do not come; of too many nothing is, since which of them are the
   * file's is unknown. `report` gets the bytes of the file so far.
   */
  async append(pieces: AsyncIterable<Uint8Array>, report: (loaded: number) => void): Promise<void> {
    const buffer = new Uint8Array(Math.min(segmentBytes, (this.size ?? Number.POSITIVE_INFINITY) - this.bytes));
    let filled = 0;
    const flush = async () => {
      if (filled === 0) return;
      const name = this.#nameOf(this.bytes, filled);
      // Another process may have stored it, and read it now.
      const stored = await this.#store.open(name);
      if (stored?.size !== filled) await this.#writing(this.#store.write(name, buffer.subarray(0, filled)));
      await this.#save({ ...this.#record, segments: [...this.#record.segments, filled] });
      filled = 0;
    };
    try {
      for await (const piece of pieces) {
        if (this.bytes + filled + piece.length > (this.size ?? Number.POSITIVE_INFINITY)) {
          filled = 0;
          await this.delete();
          throw new SourceFailure('the server sent more bytes than the file has');
        }
        for (let at = 0; at < piece.length; ) {
          const part = piece.subarray(at, at + buffer.length - filled);
          buffer.set(part, filled);
          at += part.length;
          filled += part.length;
          if (filled === buffer.length) await flush();
        }
        report(this.bytes + filled);
      }
    } finally {
      await flush();
    }
    if (this.size === undefined) await this.#save({ ...this.#record, size: this.bytes });
    await this.#open();
  }

  /** Notes that it is used now. Storage that is full or read-only is no obstacle to reading. */
  async touch(): Promise<void> {
    await this.#save({ ...this.#record, lastUsed: Date.now() }).catch(() => {});
  }

  /** Its bytes from `from` up to `to`. */
  async *read(from: number, to: number, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    let at = 0;
    for (const segment of this.#segments) {
      const [begin, bytes] = [at, segment.size ?? 0];
      at += bytes;
      if (from < at && to > begin) {
        yield* segment.read(Math.max(0, from - begin), Math.min(bytes, to - begin), signal);
      }
    }
  }

  /** Deletes it, and whatever is left of other versions. */
  delete(): Promise<void> {
    return this.#remove(this.#key);
  }

  async #remove(prefix: string): Promise<void> {
    const names = await this.#writing(this.#store.names());
    const all = names.filter((name) => name.startsWith(prefix)).map((name) => this.#store.delete(name));
    await this.#writing(Promise.all(all));
  }

  async #save(record: CopyRecord): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify(record));
    await this.#writing(this.#store.write(this.#key + suffix, bytes));
    this.#record = record;
  }

  async #writing<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      const available = await this.#store.available().catch(() => undefined);
      const needed = this.size && this.size - this.bytes;
      throw new StorageError(this.#name, `cannot be kept: ${messageOf(cause)}`, { needed, available }, { cause });
    }
  }
}

// A name of an item: text of any length and kind, hashed.
async function keyOf(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return [...hash.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

// Undefined where it is missing, damaged, or another program's.
async function recordIn(store: Store, name: string): Promise<CopyRecord | undefined> {
  try {
    const source = await store.open(name);
    if (source === undefined) return undefined;
    const pieces = source.read(0, Number.POSITIVE_INFINITY, undefined);
    const record = JSON.parse(new TextDecoder().decode(await gathered(pieces, 2 ** 24, () => new Error())));
    return Array.isArray(record.segments) && typeof record.address === 'string' ? record : undefined;
  } catch {
    return undefined;
  }
}
