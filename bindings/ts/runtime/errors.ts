// Every error that ropewalk throws, and the only place that knows the core's Status.
import { nameOf, Status } from '../enums.js';

/** Stands for an object whose getters threw when it was read, and so is of no type that an argument has. @internal */
export class Unreadable {
  readonly value: unknown;
  readonly cause: unknown;

  constructor(value: unknown, cause: unknown) {
    this.value = value;
    this.cause = cause;
  }
}

// Names and values of a caller's may be of any length: of a long message the beginning and the end are kept.
function limited(message: string): string {
  return message.length <= 2000 ? message : `${message.slice(0, 1200)} ... ${message.slice(-400)}`;
}

// A revoked proxy is of no class, and throws where it is asked for one.
function unreadableOf(value: unknown): Unreadable | undefined {
  try {
    return value instanceof Unreadable ? value : undefined;
  } catch (cause) {
    return new Unreadable(value, cause);
  }
}

/** A number of a file's for a message: beyond 2^53 it was rounded. @internal */
export function stated(number: number): string {
  return Number.isSafeInteger(number) ? String(number) : `about ${number}`;
}

/** A wrong type of argument: names the argument, says what came and what would be right. */
export class ArgumentTypeError extends TypeError {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'ArgumentTypeError';
  /** The argument as the caller knows it, such as `positions`. */
  readonly argument: string;
  /** What was passed. */
  readonly value: unknown;

  constructor(where: string, argument: string, value: unknown, expected: string) {
    const unreadable = unreadableOf(value);
    super(
      limited(`${where}: ${argument} is ${describe(unreadable ?? value)}; expected ${expected}`),
      unreadable && { cause: unreadable.cause },
    );
    this.argument = argument;
    this.value = unreadable ? unreadable.value : value;
  }
}

/** An argument of the right type with a value that does not fit: out of range, or of another length or shape. */
export class ArgumentRangeError extends RangeError {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'ArgumentRangeError';
  /** The argument as the caller knows it, such as `scaling.factor`. */
  readonly argument: string;
  /** What was passed; undefined where no single value is at fault. */
  readonly value: unknown;

  constructor(where: string, argument: string, value: unknown, problem: string) {
    super(limited(`${where}: ${argument} ${problem}`));
    this.argument = argument;
    this.value = value;
  }
}

/** The error for an array that has another shape than `expected`. @internal */
export function wrongShape(
  where: string,
  argument: string,
  value: unknown,
  shape: readonly number[],
  expected: string,
): ArgumentRangeError {
  return new ArgumentRangeError(where, argument, value, `has shape [${shape.join(', ')}]; expected ${expected}`);
}

/** An object that was disposed, or that belongs to another instance, was used. */
export class StateError extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'StateError';
}

/** The heap could not grow. Nothing was changed; smaller work, or disposing of tensors, may succeed. */
export class OutOfMemoryError extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'OutOfMemoryError';
}

/**
 * The WebAssembly instance trapped, or JavaScript's stack ended within a call; its state is unknown and every later call on
 * it is refused. `load()` again.
 */
export class InstanceLostError extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'InstanceLostError';
}

/** This runtime, or this page's Content-Security-Policy, does not run the module. */
export class UnsupportedError extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'UnsupportedError';
}

/**
 * A file of weights is damaged, of another format, of an unknown kind, or cannot be fetched. Names the file, the tensor
 * if one tensor is at fault, and the problem.
 */
export class SafetensorsError extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'SafetensorsError';
  /** The address without its query, the path, or the name of the file; `blob` and `buffer` where there is none. */
  readonly file: string;
  /** The name of the tensor at fault; undefined if the whole file is. */
  readonly tensor: string | undefined;

  constructor(file: string, tensor: string | undefined, problem: string, options?: ErrorOptions) {
    super(limited(`${file}: ${tensor === undefined ? '' : `tensor ${quoted(tensor)}: `}${problem}`), options);
    this.file = file;
    this.tensor = tensor;
  }
}

/** As SafetensorsError, for GGUF files; names the key if an entry of the metadata is at fault. */
export class GgufError extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'GgufError';
  /** The address without its query, the path, or the name of the file; `blob` and `buffer` where there is none. */
  readonly file: string;
  /** The name of the tensor at fault, or undefined. */
  readonly tensor: string | undefined;
  /** The key of the metadata at fault, or undefined. */
  readonly key: string | undefined;

  constructor(
    file: string,
    tensor: string | undefined,
    problem: string,
    options: ErrorOptions & {
      /** The key at fault. */
      key?: string | undefined;
    } = {},
  ) {
    const { key } = options;
    const part = tensor === undefined ? key && `${quoted(key)}: ` : `tensor ${quoted(tensor)}: `;
    super(limited(`${file}: ${part ?? ''}${problem}`), options);
    this.file = file;
    this.tensor = tensor;
    this.key = key;
  }
}

/** Storage has no room for a file that is to be kept, or cannot be read or written. */
export class StorageError extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'StorageError';
  /** The address without its query; the folder, or `storage`, where no file is at fault. */
  readonly file: string;
  /** Bytes still to be stored; undefined where that is unknown. */
  readonly needed: number | undefined;
  /** Bytes that storage has left, or undefined. */
  readonly available: number | undefined;

  constructor(
    file: string,
    problem: string,
    room: {
      /** Bytes still to be stored. */
      needed?: number | undefined;
      /** Bytes that storage has left. */
      available?: number | undefined;
    } = {},
    options?: ErrorOptions,
  ) {
    const { needed, available } = room;
    const left = available === undefined ? '' : `; storage has ${available} left`;
    super(
      limited(`${file}: ${problem}${needed === undefined ? left : ` (needs ${needed} bytes more${left})`}`),
      options,
    );
    this.file = file;
    this.needed = needed;
    this.available = available;
  }
}

/** A step of training was not made, because a number was not finite. The trainer is as it was before the step. */
export class TrainingError extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = 'TrainingError';
  /** The step, counted from 1. */
  readonly step: number;
  /** The parameter that was not finite, or whose gradient was not; undefined if only the loss was not. */
  readonly tensor: string | undefined;

  constructor(step: number, tensor: string | undefined, problem: string) {
    super(`trainer.step: step ${step} was not made: ${problem}`);
    this.step = step;
    this.tensor = tensor;
  }
}

/** A name in full up to a length that no name of a model reaches. @internal */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}...` : name);
}

/** What is said of a name that is not known: those that begin as it does or are a part of it, and all. @internal */
export function unsupported(name: string, known: readonly string[]): string {
  const list = (names: readonly string[]) => names.map(describe).join(', ');
  const near = list(known.filter((each) => name && (name.includes(each) || each.startsWith(name.slice(0, 3)))));
  return `, which is not supported; ${near && `near it: ${near}; `}expected one of ${list(known)}`;
}

const longest = 40;

/** A value for an error message: short, and telling 'abc' from NaN from an array. */
export function describe(value: unknown): string {
  try {
    return described(value);
  } catch {
    return `an ${typeof value} that cannot be read`; // a proxy or a getter of it threw
  }
}

function described(value: unknown): string {
  if (value instanceof Unreadable) return `an ${typeof value.value} that cannot be read`;
  const short = (text: string) => (text.length > longest ? `${text.slice(0, longest)}...` : text);
  if (typeof value === 'string') return JSON.stringify(short(value));
  if (typeof value === 'bigint') return `${short(String(value))}n`;
  if (typeof value === 'function') return 'a function';
  if (ArrayBuffer.isView(value)) {
    return `${short(value.constructor.name)}(${'length' in value ? value.length : value.byteLength})`;
  }
  if (Array.isArray(value)) {
    return value.length <= 8 && value.every((v) => typeof v === 'number')
      ? `[${value.join(', ')}]`
      : `Array(${value.length})`;
  }
  if (typeof value === 'object' && value !== null) {
    const name = Object.getPrototypeOf(value)?.constructor?.name ?? 'Object';
    return name === 'Object' || name === '' ? 'an object' : `a ${short(name)}`;
  }
  return Object.is(value, -0) ? '-0' : short(String(value));
}

const statusErrors: Readonly<Record<Exclude<keyof typeof Status, 'ok'>, (where: string) => Error>> = {
  outOfMemory: (where) => new OutOfMemoryError(`${where}: the WebAssembly heap could not grow`),
  invalidShape: (where) => new ArgumentRangeError(where, 'shape', undefined, 'does not fit'),
  invalidArgument: (where) => new ArgumentRangeError(where, 'options', undefined, 'are out of range'),
  positionOutOfRange: (where) =>
    new ArgumentRangeError(where, 'positions', undefined, 'are beyond +-(2^53 - 1), or beyond the reach of xPos'),
  full: (where) => new ArgumentRangeError(where, 'tokens', undefined, 'are more than a fixed capacity has room for'),
};

/**
 * Throws the error that a Status number stands for; 0 passes. `invalid` makes the one for kInvalidArgument where that
 * says something of its own.
 * @internal
 */
export function checkStatus(status: number, where: string, invalid?: () => Error): void {
  if (status === Status.ok) return;
  if (status === Status.invalidArgument && invalid !== undefined) throw invalid();
  const name = nameOf(Status, status);
  if (name === undefined || name === 'ok') throw new Error(`${where}: unknown status of the core`);
  throw statusErrors[name](where);
}
