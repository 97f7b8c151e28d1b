// Checks of arguments. Each takes where it is (`rope.rotate`), the argument's name and the value, and gives the
// value back with its type, or throws an error that names all three.
import { ArgumentRangeError, ArgumentTypeError, describe, Unreadable } from './errors.js';
import { Handle } from './handle.js';
import { bytesOf, isArray, isDetached, isRevoked, kindOf, lengthOf } from './typed-arrays.js';

/** The largest position, 2^53 - 1: positions beyond are not all distinct numbers in JavaScript. */
const maxPosition = Number.MAX_SAFE_INTEGER;

export function finite(where: string, name: string, value: unknown): number {
  if (typeof value !== 'number') throw new ArgumentTypeError(where, name, value, 'a number');
  if (!Number.isFinite(value))
    throw new ArgumentRangeError(where, name, value, `is ${value}; expected a finite number`);
  return value;
}

export function positive(where: string, name: string, value: unknown): number {
  const number = finite(where, name, value);
  if (number <= 0) throw new ArgumentRangeError(where, name, value, `is ${value}; expected a number above 0`);
  return number;
}

/** A number above 0 but not 1: the base of a geometric sequence that has to fall or rise. */
export function base(where: string, name: string, value: unknown): number {
  const number = positive(where, name, value);
  if (number === 1) throw new ArgumentRangeError(where, name, value, 'is 1, which makes all frequencies equal');
  return number;
}

export function integer(where: string, name: string, value: unknown, min: number, max = maxPosition): number {
  if (typeof value !== 'number') throw new ArgumentTypeError(where, name, value, 'an integer');
  if (!Number.isInteger(value) || value < min || value > max) {
    const range = max === maxPosition && value <= max ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new ArgumentRangeError(where, name, value, `is ${describe(value)}; expected an integer ${range}`);
  }
  return value;
}

export function even(where: string, name: string, value: unknown, max = maxPosition): number {
  const number = integer(where, name, value, 2, max);
  if (number % 2 !== 0) {
    throw new ArgumentRangeError(
      where,
      name,
      value,
      `is ${number}; expected an even number, coordinates turn in pairs`,
    );
  }
  return number;
}

export function position(where: string, name: string, value: unknown): number {
  return integer(where, name, value, -maxPosition);
}

export function boolean(where: string, name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new ArgumentTypeError(where, name, value, 'true or false');
  return value;
}

export function functionIfAny(where: string, name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw new ArgumentTypeError(where, name, value, 'a function');
}

/** The numbers of an enum E of the core that has the names N, not one more or less. */
export type Choices<N extends string, E extends Readonly<Record<N, number>>> = [keyof E] extends [N]
  ? Readonly<Record<N, number>>
  : never;

/** A key of `choices`; gives what stands there, such as the number that the core knows it by. */
export function choice<T extends string, V>(
  where: string,
  name: string,
  value: unknown,
  choices: Readonly<Record<T, V>>,
): V {
  if (typeof value === 'string' && Object.hasOwn(choices, value)) return choices[value as T];
  const expected = Object.keys(choices).map(describe).join(', ');
  if (typeof value !== 'string') throw new ArgumentTypeError(where, name, value, `one of ${expected}`);
  throw new ArgumentRangeError(where, name, value, `is ${describe(value)}; expected one of ${expected}`);
}

// Whether its own properties are all that it has, in this realm or another: no Map, no instance of a class, nothing with
// options on a prototype, which a look at its keys would miss.
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.hasOwn(prototype as object, 'isPrototypeOf');
}

export function plainObject(where: string, name: string, value: unknown, expected: string): object {
  if (isPlain(value)) return value;
  throw new ArgumentTypeError(where, name, value, expected);
}

// What is read of an array of another library.
const arrayNames = ['type', 'data', 'shape', 'dims'];

function isArrayLike(value: object): boolean {
  return 'data' in value && ('shape' in value || 'dims' in value);
}

// What stays as it is.
function isKept(value: unknown): boolean {
  if (typeof value === 'function') return !isRevoked(value);
  return typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || value instanceof Handle;
}

// An array of another library tells by its own error why its numbers cannot be had.
function entryOf(value: object, copies: Map<object, unknown>): unknown {
  try {
    return copied(value, copies);
  } catch (error) {
    if ('data' in value) throw error;
    return new Unreadable(value, error);
  }
}

// `copies` has what was read already: objects may hold one another. Most hold none, and need no such map.
function copied(value: object, copies?: Map<object, unknown>): unknown {
  if (copies?.has(value)) return copies.get(value);
  if (isRevoked(value)) return new Unreadable(value, undefined);
  const copy: unknown[] | Record<string, unknown> = Array.isArray(value) ? [] : {};
  const read = (entry: unknown) => {
    if (isKept(entry)) return entry;
    copies ??= new Map();
    return entryOf(entry as object, copies.set(value, copy));
  };
  if (Array.isArray(value) && Array.isArray(copy)) {
    for (let i = 0, { length } = value; i < length; ++i) copy.push(read(value[i]));
    return copy;
  }
  const plain = isPlain(value);
  if (!plain && !isArrayLike(value)) return value;
  for (const name of plain ? Object.getOwnPropertyNames(value) : arrayNames.filter((each) => each in value)) {
    const entry = read((value as Record<string, unknown>)[name]);
    // Bytes are those of a mask, which a later property may take away.
    const isMask = name === 'data' && isTypedArray(entry, 'Uint8Array') && !isDetached(entry);
    if (name === '__proto__') Object.defineProperty(copy, name, { value: entry, enumerable: true });
    else (copy as Record<string, unknown>)[name] = isMask ? bytesOf(entry).slice() : entry;
  }
  return Object.freeze(copy);
}

/**
 * A copy of what a caller hands over, every property of it read once: of lists, of plain objects, of arrays of other
 * libraries. Handles, typed arrays, functions and other objects stay as they are. Getters and proxies run here and never
 * again, so that whatever is checked afterwards stays as it was checked.
 */
export function read<T>(value: T): T {
  return isKept(value) ? value : (entryOf(value as object, new Map()) as T);
}

/** Holds where the names N are all that T has. */
export type AllOf<T, N extends readonly unknown[]> = [Exclude<keyof T, N[number]>] extends [never]
  ? unknown
  : { readonly missing: Exclude<keyof T, N[number]> };

/** Refuses what is no plain object, and keys that are not known: a misspelt option is an error, not a silent default. */
export function keys(where: string, name: string, value: unknown, known: readonly PropertyKey[]): void {
  const given = plainObject(where, name, value, 'a plain object of options') as Record<string, unknown>;
  for (const key of Object.keys(given)) {
    const entry = given[key];
    if (entry !== null && known.includes(key)) continue;
    const path = name === 'options' ? key : `${name}.${key}`;
    if (entry === null) throw new ArgumentTypeError(where, path, null, 'a value, or nothing for the default');
    const among = known.length === 0 ? 'there are none here' : `known are ${known.join(', ')}`;
    throw new ArgumentRangeError(where, path, entry, `is not an option; ${among}`);
  }
}

/**
 * Reads an object of options, and refuses keys that are not known. Known are those of the interface T: with one missing, or
 * one that T does not have, the call does not compile.
 */
export function options<T extends object, const N extends readonly (keyof T)[]>(
  where: string,
  name: string,
  value: T,
  known: N & AllOf<T, N>,
): Readonly<T> {
  const given = isKept(value) ? value : (copied(value) as T);
  keys(where, name, given, known);
  return given;
}

// The test of every call; the name of an axis is put together only for an error.
function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2 ** 30;
}

export function shape(where: string, name: string, value: unknown): readonly number[] {
  if (!isArray(value)) throw new ArgumentTypeError(where, name, value, 'an array of sizes');
  const sizes = [...value];
  let product = 1;
  for (let axis = 0; axis < sizes.length; ++axis) {
    const size: unknown = sizes[axis]; // a hole of a sparse array is undefined, and refused
    product *= isSize(size) ? size : integer(where, `${name}[${axis}]`, size, 0, 2 ** 30);
  }
  if (!(product <= 2 ** 30)) {
    throw new ArgumentRangeError(where, name, value, `is ${describe(value)}, too many numbers; at most 2^30 fit`);
  }
  return product === 0 ? (sizes as number[]).map((size) => size + 0) : (sizes as number[]); // -0 becomes 0
}

/** How many numbers a checked shape holds. */
export function sizeOf(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

/** Whether the value is a typed array of this kind, from this realm or another. */
export function isTypedArray(value: unknown, kind: 'Float32Array'): value is Float32Array;
export function isTypedArray(value: unknown, kind: 'Uint8Array'): value is Uint8Array;
export function isTypedArray(value: unknown, kind: 'Uint16Array'): value is Uint16Array;
export function isTypedArray(value: unknown, kind: string): boolean {
  return kindOf(value) === kind;
}

export function float32(where: string, name: string, value: unknown, length?: number): Float32Array {
  if (!isTypedArray(value, 'Float32Array')) throw new ArgumentTypeError(where, name, value, 'a Float32Array');
  if (isDetached(value)) throw new ArgumentTypeError(where, name, value, 'a Float32Array that is not detached');
  if (length !== undefined && lengthOf(value) !== length) {
    throw new ArgumentRangeError(where, name, value, `has ${lengthOf(value)} numbers; expected ${length}`);
  }
  return value;
}

/** A number that float32 can hold. */
export function float32Number(where: string, name: string, value: unknown): number {
  const number = finite(where, name, value);
  if (!Number.isFinite(Math.fround(number))) {
    throw new ArgumentRangeError(where, name, value, `is ${number}, which float32 cannot hold`);
  }
  return number;
}

/** A number above 0 that float32 can hold: 1e-46 would be 0. */
export function positiveFloat32(where: string, name: string, value: unknown): number {
  const number = float32Number(where, name, positive(where, name, value));
  if (Math.fround(number) > 0) return number;
  throw new ArgumentRangeError(where, name, value, `is ${number}, which is 0 in float32; expected a number above 0`);
}

/** A list of numbers: an array, or a typed array of any kind that has its memory. */
export function list(where: string, name: string, value: unknown, expected: string): ArrayLike<unknown> {
  const isTyped = kindOf(value) !== undefined && !isDetached(value as ArrayBufferView);
  if (isTyped || isArray(value)) return value as ArrayLike<unknown>;
  throw new ArgumentTypeError(where, name, value, expected);
}

/** What a list of integers may come as. */
export type IntegersInput = readonly number[] | Int32Array | Uint32Array | Float64Array | BigInt64Array;

/** Any of IntegersInput, each entry a whole number within ±(2^53 - 1), as doubles. */
export function positions(where: string, name: string, value: unknown): Float64Array {
  const from = list(where, name, value, 'an array of integers');
  // All are in range.
  if (kindOf(from) === 'Int32Array') return new Float64Array(from as Int32Array);
  const to = new Float64Array(ArrayBuffer.isView(from) ? lengthOf(from) : from.length);
  for (let i = 0; i < to.length; ++i) {
    const entry = from[i];
    // Told as it is: as a number it would be rounded.
    if (typeof entry === 'bigint' && BigInt.asIntN(54, entry) !== entry) {
      const problem = `is ${describe(entry)}; expected an integer in +-(2^53 - 1)`;
      throw new ArgumentRangeError(where, `${name}[${i}]`, entry, problem);
    }
    to[i] = position(where, `${name}[${i}]`, typeof entry === 'bigint' ? Number(entry) : entry);
  }
  return to;
}
