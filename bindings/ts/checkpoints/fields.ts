// Reads the fields of a configuration one by one, under their own names. It records which fields were read, to report
// the unused ones.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, describe } from '../runtime/errors.js';

/** Gives a field's value with its type, or throws an error that names the field. */
export type FieldCheck<T> = (where: string, name: string, value: unknown) => T;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

export function text(where: string, name: string, value: unknown): string {
  if (typeof value !== 'string') throw new ArgumentTypeError(where, name, value, 'a string');
  return value;
}

/** The value of a name, which is one of those known. */
export const oneOf =
  <const T>(known: Readonly<Record<string, T>>): FieldCheck<T> =>
  (where, name, value) =>
    check.choice(where, name, value, known);

/** A list, each entry of which a check takes. */
export const listOf =
  <T>(of: string, one: FieldCheck<T>): FieldCheck<readonly T[]> =>
  (where, name, value) => {
    if (!Array.isArray(value)) throw new ArgumentTypeError(where, name, value, `an array of ${of}`);
    return value.map((entry: unknown, i) => one(where, `${name}[${i}]`, entry));
  };

export const numbers = /* @__PURE__ */ listOf('numbers', check.positive);

export const sizes = /* @__PURE__ */ listOf('sizes', (...at) => check.integer(...at, 0, 2 ** 20));

function record(where: string, name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new ArgumentTypeError(where, name, value, 'an object');
  return value;
}

/** A configuration as it was given. A promise of one, or a response, has no fields. */
export function configOf(where: string, source: unknown): Readonly<Record<string, unknown>> {
  const value = check.read(source);
  if (isRecord(value) && Object.keys(value).length > 0) return value;
  throw new ArgumentTypeError(where, 'config', value, 'an object, as a config.json holds it');
}

/** One object of a configuration. null counts as absent: Hugging Face writes null for "not given". */
export class Fields {
  readonly where: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** The object's name in messages; '' for the outermost. */
  readonly path: string;
  readonly #used = new Set<string>();

  constructor(where: string, path: string, values: Readonly<Record<string, unknown>>) {
    this.where = where;
    this.path = path;
    this.values = values;
  }

  /** A field's name in messages. */
  name(field: string): string {
    return this.path === '' ? field : `${this.path}.${field}`;
  }

  /** The fields that may hold one setting, for `agreed`. */
  at(...fields: readonly string[]): (readonly [Fields, string])[] {
    return fields.map((field) => [this, field]);
  }

  has(field: string): boolean {
    return Object.hasOwn(this.values, field) && this.values[field] !== null && this.values[field] !== undefined;
  }

  /** The value, without marking the field as used. */
  peek(field: string): unknown {
    return this.has(field) ? this.values[field] : undefined;
  }

  use(...fields: readonly string[]): void {
    for (const field of fields) this.#used.add(field);
  }

  need<T>(field: string, checkField: FieldCheck<T>): T {
    this.use(field);
    return checkField(this.where, this.name(field), this.peek(field));
  }

  optional<T>(field: string, checkField: FieldCheck<T>): T | undefined {
    return this.has(field) ? this.need(field, checkField) : undefined;
  }

  /** The object in a field; an empty one if there is none. */
  inner(field: string): Fields {
    return new Fields(this.where, this.name(field), this.optional(field, record) ?? {});
  }

  /** Fields with a value that were not read. */
  unused(): string[] {
    return Object.keys(this.values).filter((field) => this.has(field) && !this.#used.has(field));
  }

  /** The error for a field with a wrong value; the message begins with its name. */
  misfit(field: string, problem: string): ArgumentRangeError {
    const value = this.peek(field);
    return new ArgumentRangeError(this.where, this.name(field), value, `is ${describe(value)}${problem}`);
  }
}

/** A value and the name of its field. */
export interface Named<T> {
  readonly name: string;
  readonly value: T;
}

/** A setting that several fields may hold; those that do must agree. @internal */
export function agreed<T>(
  sources: readonly (readonly [Fields, string])[],
  checkField: FieldCheck<T>,
): Named<T> | undefined {
  let first: Named<T> | undefined;
  for (const [fields, field] of sources) {
    const value = fields.optional(field, checkField);
    if (value === undefined) continue;
    if (first === undefined) first = { name: fields.name(field), value };
    else if (first.value !== value) {
      throw fields.misfit(field, `, but ${first.name} is ${describe(first.value)}; they must agree`);
    }
  }
  return first;
}
