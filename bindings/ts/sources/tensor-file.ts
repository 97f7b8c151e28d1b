/// <reference lib="esnext.disposable" preserve="true" />
// An open file of weights, or the files of one model: lists the tensors and reads their numbers on demand, whatever
// the format. Nothing is cached.
import { WeightType } from '../enums.js';
import * as check from '../runtime/check.js';
import {
  ArgumentRangeError,
  ArgumentTypeError,
  describe,
  OutOfMemoryError,
  type SafetensorsError,
  StateError,
} from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { Tensor } from '../runtime/tensor.js';
import type { OwnFloats } from '../runtime/typed-arrays.js';
import type { SequentialRead } from './cursor.js';
import { type NumberForm, type StoredArray, Widener } from './numbers.js';
import { isA } from './platform.js';
import { type ByteSource, SourceFailure } from './source.js';
/** How a format names itself, fails, and stores the numbers of each dtype. @internal */
export interface FileFormat<Dtype extends string> {
  /** Of the class, and lower case of functions in messages. */
  readonly name: string;
  readonly Failure: FailureOf;
  readonly forms: Readonly<Record<Dtype, NumberForm>>;
}

/** The error class of a format. @internal */
export type FailureOf = new (
  file: string,
  tensor: string | undefined,
  problem: string,
  options?: ErrorOptions,
) => SafetensorsError;

/** Progress of a read, in bytes. */
export interface ReadProgress {
  /** Bytes read so far. */
  readonly loaded: number;
  /**
   * Bytes of the whole read; of the header of a GGUF file, which does not say its length, as many as are known to be needed;
   * of a download of unknown length, `loaded`.
   */
  readonly total: number;
  /** Name of the tensor; while a file is opened, of the file. */
  readonly name: string;
}

/** Options common to all reads. */
export interface ReadOptions {
  /** Ends the read, which then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called after every piece. What it throws ends the read. */
  onProgress?: (progress: ReadProgress) => void;
}

/** Options of `tensor()`. */
export interface ReadTensorOptions extends ReadOptions {
  /**
   * `float32` keeps F32, widens F16 and BF16 exactly, and decodes blocks (Q4_0, Q4_K ...), each weight rounded once; other
   * dtypes are refused. Default: as stored.
   */
  as?: 'float32';
}

/** Options of `readInto()` and `stream()`: the part of the tensor to read, in bytes. */
export interface ReadSliceOptions extends ReadOptions {
  /** First byte, counted from the start of the tensor. Default 0. */
  start?: number;
  /** The byte after the last one. Default: the tensor's byteLength. */
  end?: number;
}

/** Options of `readInto()`. */
export interface ReadIntoOptions extends ReadSliceOptions {
  /** Index in the target of the first number written. Default 0. */
  offset?: number;
}

/** A tensor as its file describes it. */
export interface TensorInfo<Dtype extends string = string> {
  /** How its numbers are stored. */
  readonly dtype: Dtype;
  /** Outermost first; [] is a scalar. */
  readonly shape: readonly number[];
  /** Bytes in the file. */
  readonly byteLength: number;
  /** Name of its file, as in errors. */
  readonly file: string;
}

/** @internal */
export interface Entry<Dtype extends string> {
  readonly info: TensorInfo<Dtype>;
  readonly source: ByteSource;
  /** Offset in the file, in bytes. */
  readonly begin: number;
}

/** The bytes that a read asks for, and its options. */
interface Part<Dtype extends string> extends ReadOptions {
  readonly where: string;
  readonly name: string;
  readonly entry: Entry<Dtype>;
  readonly start: number;
  readonly end: number;
  readonly sequence?: SequentialRead | undefined;
}

type Receiver = (bytes: Uint8Array, at: number) => void;

/** @internal */
export const readKeys = ['signal', 'onProgress'] as const;
const sliceKeys = ['start', 'end', ...readKeys] as const;

/** @internal */
export function readOptions(where: string, options: ReadOptions): ReadOptions {
  const { signal, onProgress } = options;
  if (signal !== undefined && !isA('AbortSignal', signal, 'aborted', 'throwIfAborted')) {
    throw new ArgumentTypeError(where, 'signal', signal, 'an AbortSignal');
  }
  check.functionIfAny(where, 'onProgress', onProgress);
  return { ...(signal !== undefined && { signal }), ...(onProgress !== undefined && { onProgress }) };
}

/**
 * Reads exactly the bytes from `from` to `to` (Infinity: to the end; `mayEnd`: or until the file ends), or throws an error
 * that names file and tensor.
 * @internal
 */
export async function* bytesOf(
  Failure: FailureOf,
  source: ByteSource,
  tensor: string | undefined,
  from: number,
  to: number,
  signal: AbortSignal | undefined,
  mayEnd = to === Number.POSITIVE_INFINITY,
): AsyncIterable<Uint8Array> {
  let at = from;
  try {
    signal?.throwIfAborted();
    for await (const piece of source.read(from, to, signal)) {
      signal?.throwIfAborted();
      if (piece.length > to - at) throw new SourceFailure('gave more bytes than it was asked for');
      at += piece.length;
      yield piece;
    }
    if (at < to && !mayEnd) throw new SourceFailure('ended');
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof SourceFailure)) throw error;
    const progress = to === Number.POSITIVE_INFINITY ? '' : ` (after ${at - from} of ${to - from} bytes)`;
    throw new Failure(source.name, tensor, error.message + progress, { cause: error.cause ?? error });
  }
}

/** What models read of a file. @internal */
export interface WeightFile extends Pick<TensorFile, 'names' | 'has' | 'info' | 'form' | 'weightDtypes' | 'failure'> {
  tensor(name: string, options: ReadTensorOptions, sequence?: SequentialRead): Promise<StoredArray>;
  stream(name: string, receive: Receiver, options: ReadSliceOptions, sequence?: SequentialRead): Promise<void>;
}

/** What the open files of all formats have in common. They hold only headers; each read fetches the bytes that it needs. */
export abstract class TensorFile<Dtype extends string = string> implements Disposable {
  /**
   * Names of the tensors, in the order of their bytes. Reading in this order is fastest where a server sends only whole
   * files: each is then sent once.
   */
  readonly names: readonly string[];
  /** Total size of all tensors, in bytes. */
  readonly byteLength: number;
  readonly #heap: Heap;
  readonly #format: FileFormat<Dtype>;
  readonly #entries: ReadonlyMap<string, Entry<Dtype>>;
  readonly #file: string; // in errors about what no file has
  #disposed = false;
  #last: ByteSource | undefined; // the source of the latest read, whose stream is kept open

  /** @internal */
  constructor(heap: Heap, format: FileFormat<Dtype>, entries: ReadonlyMap<string, Entry<Dtype>>, file: string) {
    this.#heap = heap;
    this.#format = format;
    this.#entries = entries;
    this.#file = file;
    this.names = Object.freeze([...entries.keys()]);
    this.byteLength = [...entries.values()].reduce((sum, { info }) => sum + info.byteLength, 0);
  }

  /** Whether a tensor has this name. */
  has(name: string): boolean {
    if (typeof name === 'string') return this.#entries.has(name);
    throw new ArgumentTypeError(this.#where('has'), 'name', name, 'the name of a tensor');
  }

  /** The dtype, shape and size of a tensor. @throws ArgumentRangeError for an unknown name */
  info(name: string): TensorInfo<Dtype> {
    return this.#entry(this.#where('info'), name).info;
  }

  /**
   * Reads the numbers of a tensor into a new array: F32 into a Float32Array, I64 into a BigInt64Array, F16 and BF16 as
   * bits into a Uint16Array, blocks of a GGUF file as bytes into a Uint8Array, or with `as: 'float32'` all of these but I64
   * into a Float32Array. F8, F6, F4 and C64 of safetensors have no typed array; `stream()` gives their bytes.
   *
   * @throws SafetensorsError or GgufError where the bytes cannot be read or the dtype has no array.
   *
   * @example
   * const weights = await file.tensor('model.norm.weight', { as: 'float32' });
   */
  tensor(name: string, options: ReadTensorOptions & { as: 'float32' }): Promise<OwnFloats>;
  tensor(name: string, options?: ReadTensorOptions): Promise<StoredArray>;
  /** @internal */
  tensor(name: string, options: ReadTensorOptions, sequence?: SequentialRead): Promise<StoredArray>;
  async tensor(name: string, options: ReadTensorOptions = {}, sequence?: SequentialRead): Promise<StoredArray> {
    const where = this.#where('tensor');
    const entry = this.#entry(where, name);
    const given = check.options(where, 'options', options, ['as', ...readKeys]);
    const { as } = given;
    if (as !== undefined) check.choice(where, 'as', as, { float32: 0 });
    const { byteLength } = entry.info;
    const whole: Part<Dtype> = {
      where,
      name,
      entry,
      start: 0,
      end: byteLength,
      ...readOptions(where, given),
      sequence,
    };
    const { array: Kind, weightType, bytes, count } = this.#formOf(entry);
    if (as === undefined || weightType === WeightType.float32) {
      if (Kind === undefined) throw this.#notGiven(entry, name, 'as an array; stream() gives its bytes');
      const array = new Kind(room(where, byteLength));
      const out = new Uint8Array(array.buffer);
      await this.#read(whole, (piece, at) => out.set(piece, at));
      return array;
    }
    if (weightType === undefined) throw this.#notGiven(entry, name, 'as float32');
    const floats = new Float32Array(room(where, (byteLength / bytes) * count * 4));
    await this.#widen(whole, () => floats);
    return floats;
  }

  /**
   * Reads a tensor, or a part of it, into a tensor in wasm memory, piece by piece, without a second copy. F16, BF16 and
   * blocks become float32. Without `start`, `end` and `offset` both tensors need the same size; the shapes may differ. A
   * failed read leaves what it has written so far.
   *
   * @throws SafetensorsError or GgufError where the bytes cannot be read or the dtype is another.
   *
   * @example
   * using rows = rw.tensor([16, 768]);   // the first 16 rows of a float32 table
   * await file.readInto('embeddings.weight', rows, { end: 16 * 768 * 4 });
   */
  async readInto(name: string, target: Tensor, options: ReadIntoOptions = {}): Promise<void> {
    const where = this.#where('readInto');
    const entry = this.#entry(where, name);
    if (!(target instanceof Tensor)) throw new ArgumentTypeError(where, 'target', target, 'a tensor of rw.tensor()');
    const given = check.options(where, 'options', options, ['offset', ...sliceKeys]);
    target.usableIn(this.#heap, where, 'target');
    const { offset = 0 } = given;
    check.integer(where, 'offset', offset, 0, target.size);
    const read = readOptions(where, given);
    const form = this.#formOf(entry);
    if (form.weightType === undefined) throw this.#notGiven(entry, name, 'as float32');
    const [start, end] = slice(where, entry.info, given, form);
    const count = ((end - start) / form.bytes) * form.count;
    const part = given.start !== undefined || given.end !== undefined || given.offset !== undefined;
    if (part ? count > target.size - offset : count !== target.size) {
      const rest = part ? `${target.size - offset} numbers from offset ${offset} on` : `${target.size} numbers`;
      throw new ArgumentRangeError(where, 'target', target, `has ${rest}; ${count} are read`);
    }

    const first = target.pointer + 4 * offset;
    // Checked for every piece: the target or the instance may have been disposed of in between.
    const address = () => {
      target.usableIn(this.#heap, where, 'target');
      this.#heap.call(Boolean);
      return first;
    };
    const asked: Part<Dtype> = { where, name, entry, start, end, ...read };
    if (form.weightType !== WeightType.float32) return this.#widen(asked, address);
    await this.#read(asked, (piece, at) => this.#heap.write(address() + at, piece));
  }

  /**
   * Reads the bytes of a tensor of any dtype, or of a part of it, piece by piece.
   *
   * @param receive gets each piece, valid only until it returns, and the offset of its first byte from `start`.
   *
   * @example
   * const digest = crypto.createHash('sha256');
   * await file.stream('lm_head.weight', (bytes) => digest.update(bytes));
   */
  stream(name: string, receive: (bytes: Uint8Array, at: number) => void, options?: ReadSliceOptions): Promise<void>;
  /** @internal */
  stream(name: string, receive: Receiver, options: ReadSliceOptions, sequence?: SequentialRead): Promise<void>;
  async stream(
    name: string,
    receive: Receiver,
    options: ReadSliceOptions = {},
    sequence?: SequentialRead,
  ): Promise<void> {
    const where = this.#where('stream');
    const entry = this.#entry(where, name);
    if (typeof receive !== 'function') throw new ArgumentTypeError(where, 'receive', receive, 'a function');
    const given = check.options(where, 'options', options, sliceKeys);
    const read = readOptions(where, given);
    const [start, end] = slice(where, entry.info, given, { bytes: 1, count: 1 });
    await this.#read({ where, name, entry, start, end, ...read, sequence }, receive);
  }

  /** How the numbers of a tensor are stored. @internal */
  form(name: string): NumberForm {
    return this.#formOf(this.#entry(this.#where('info'), name));
  }

  /** The dtypes that become float32. @internal */
  get weightDtypes(): readonly string[] {
    const forms: readonly (readonly [string, NumberForm])[] = Object.entries(this.#format.forms);
    return forms.filter(([, { weightType }]) => weightType !== undefined).map(([dtype]) => dtype);
  }

  /** The error of this format about a tensor. @internal */
  failure(name: string | undefined, problem: string): SafetensorsError {
    const { Failure } = this.#format;
    return new Failure(this.#entries.get(name ?? '')?.info.file ?? this.#file, name, problem);
  }

  /** True once dispose() ran. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /** Ends connections and running reads. A second call does nothing; later reads throw StateError. */
  dispose(): void {
    this.#disposed = true;
    for (const source of new Set([...this.#entries.values()].map((entry) => entry.source))) source.close?.();
  }

  /** dispose() for `using`, on engines with Symbol.dispose. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  #where(method: string): string {
    return `${this.#format.name}.${method}`;
  }

  #entry(where: string, name: unknown): Entry<Dtype> {
    if (typeof name !== 'string') throw new ArgumentTypeError(where, 'name', name, 'the name of a tensor');
    this.#alive(where);
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      const problem = `is ${describe(name)}; none of the ${this.names.length} tensors is called that`;
      throw new ArgumentRangeError(where, 'name', name, problem);
    }
    return entry;
  }

  #formOf({ info }: Entry<Dtype>): NumberForm {
    return this.#format.forms[info.dtype];
  }

  #notGiven({ info }: Entry<Dtype>, name: string, how: string): SafetensorsError {
    return this.failure(name, `is ${info.dtype}, which is not given ${how}`);
  }

  #alive(where: string): void {
    if (this.#disposed) throw new StateError(`${where}: this file was disposed`);
  }

  // Where the last tensor of a source ends.
  #endOf(source: ByteSource): number {
    let end = 0;
    for (const { source: other, begin, info } of this.#entries.values()) {
      if (other === source) end = Math.max(end, begin + info.byteLength);
    }
    return end;
  }

  async #widen(part: Part<Dtype>, out: () => number | Float32Array): Promise<void> {
    const widener = new Widener(this.#heap, part.where, this.#formOf(part.entry));
    try {
      await this.#read(part, (piece) => widener.widen(piece, out()));
    } finally {
      widener.release();
    }
  }

  async #read(part: Part<Dtype>, receive: Receiver): Promise<void> {
    const { where, name, entry, start, end, signal, onProgress, sequence } = part;
    const { source, begin } = entry;
    const bytes = sequence?.of(source, () => this.#endOf(source)) ?? source;
    const total = end - start;
    let loaded = 0;
    if (this.#last !== source) this.#last?.pause?.();
    this.#last = source;
    try {
      for await (const piece of bytesOf(this.#format.Failure, bytes, name, begin + start, begin + end, signal)) {
        this.#alive(where);
        loaded += piece.length; // before a caller's function may give the piece away
        receive(piece, loaded - piece.length);
        onProgress?.({ loaded, total, name });
      }
    } catch (error) {
      if (error instanceof this.#format.Failure) this.#alive(where); // a connection that dispose() cut
      throw error;
    } finally {
      if (this.#last !== source) source.pause?.();
    }
  }
}

function slice(
  where: string,
  info: TensorInfo,
  options: ReadSliceOptions,
  { bytes, count }: NumberForm,
): [number, number] {
  const { start = 0, end = info.byteLength } = options;
  check.integer(where, 'start', start, 0, info.byteLength);
  check.integer(where, 'end', end, start, info.byteLength);
  for (const [name, value] of Object.entries({ start, end })) {
    if (value % bytes === 0) continue;
    const what = count === 1 ? 'a number' : `a block of ${count} weights`;
    const problem = `is ${value}, within ${what}; ${info.dtype} takes ${bytes} bytes`;
    throw new ArgumentRangeError(where, name, value, problem);
  }
  return [start, end];
}

function room(where: string, bytes: number): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (cause) {
    throw Object.assign(new OutOfMemoryError(`${where}: no room for an array of ${bytes} bytes`), { cause });
  }
}
