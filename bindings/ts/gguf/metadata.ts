// Reads entries of a GGUF file's metadata, each with its type, or throws an error that names the key.
import { describe, GgufError, unsupported } from '../runtime/errors.js';

/** An open GGUF file, as far as its tokenizer needs it; what `openGguf` gives is one. */
export interface GgufMetadata {
  /** The entries of the header. */
  readonly metadata: ReadonlyMap<string, unknown>;
  /** Its name in errors. Default `GGUF`. */
  readonly file?: string;
}

/** What a value has to be. @internal */
export interface Kind<T> {
  readonly is: (value: unknown) => value is T;
  readonly expected: string;
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** @internal */
export const text: Kind<string> = { is: isText, expected: 'a text' };

/** @internal */
export const flag: Kind<boolean> = {
  is: (value): value is boolean => typeof value === 'boolean',
  expected: 'true or false',
};

/** @internal */
export const whole: Kind<number | bigint> = {
  is: (value): value is number | bigint => Number.isInteger(value) || typeof value === 'bigint',
  expected: 'a whole number',
};

/** @internal */
export const texts: Kind<readonly string[]> = {
  is: (value): value is readonly string[] => Array.isArray(value) && value.every(isText),
  expected: 'an array of texts',
};

/** @internal */
export const numbers: Kind<ArrayLike<number>> = {
  is: (value): value is ArrayLike<number> =>
    ArrayBuffer.isView(value) && !/^(DataView|Big)/.test(Object.prototype.toString.call(value).slice(8)),
  expected: 'an array of numbers of at most 32 bits',
};

/** @internal */
export class Metadata {
  readonly #entries: ReadonlyMap<string, unknown>;
  readonly #file: string;

  constructor(file: GgufMetadata) {
    this.#entries = file.metadata;
    this.#file = file.file ?? 'GGUF';
  }

  keys(): readonly string[] {
    return [...this.#entries.keys()];
  }

  error(key: string, problem: string, cause?: unknown): GgufError {
    return new GgufError(this.#file, undefined, problem, { key, ...(cause !== undefined && { cause }) });
  }

  /** The value under a key, or undefined. */
  read<T>(key: string, { is, expected }: Kind<T>): T | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || is(value)) return value;
    throw this.error(key, `is ${describe(value)}; expected ${expected}`);
  }

  /** The value under a key, or an error. */
  need<T>(key: string, kind: Kind<T>): T {
    const value = this.read(key, kind);
    if (value === undefined) throw this.error(key, `is missing; expected ${kind.expected}`);
    return value;
  }

  /** The text under a key, which is one of those known, or an error that lists them. */
  oneOf<T extends string>(key: string, known: readonly T[]): T {
    const value = this.need(key, text);
    const found = known.find((each) => each === value);
    if (found !== undefined) return found;
    throw this.error(key, `is ${describe(value)}${unsupported(value, known)}`);
  }

  /** The numbers under a key, one for each token; none where the key is missing. */
  perToken(key: string, tokens: number): ArrayLike<number> {
    const value = this.read(key, numbers);
    if (value === undefined) return [];
    if (value.length < tokens) throw this.error(key, `holds ${value.length} numbers for ${tokens} tokens`);
    return value;
  }
}
