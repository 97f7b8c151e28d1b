/// <reference lib="esnext.disposable" preserve="true" />
// An open safetensors file, or the files of one model: lists the tensors and reads their numbers on demand. Nothing is
// cached.
import * as check from '../runtime/check.js';
import {
  ArgumentRangeError,
  ArgumentTypeError,
  describe,
  OutOfMemoryError,
  SafetensorsError,
  StateError,
} from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { Tensor } from '../runtime/tensor.js';
import type { OwnFloats } from '../runtime/typed-arrays.js';
import { type ByteSource, SourceFailure } from '../sources/source.js';
import type { SafetensorsDtype } from './header.js';
import { arrayOf, type SafetensorsArray, Widener } from './tensors.js';

/** Progress of a read, in bytes. */
export interface SafetensorsProgress {
  /** Bytes read so far. */
  readonly loaded: number;
  /** Bytes of the whole read. */
  readonly total: number;
  /** Name of the tensor; while a file is opened, of the file. */
  readonly name: string;
}

/** Options common to all reads. */
export interface SafetensorsReadOptions {
  /** Ends the read, which then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called after every piece. What it throws ends the read. */
  onProgress?: (progress: SafetensorsProgress) => void;
}

/** Options of `tensor()`. */
export interface SafetensorsTensorOptions extends SafetensorsReadOptions {
  /** `float32` widens F16 and BF16 exactly and keeps F32; other dtypes are refused. Default: no conversion. */
  as?: 'float32';
}

/** Options of `readInto()` and `stream()`: the part of the tensor to read, in bytes. */
export interface SafetensorsSliceOptions extends SafetensorsReadOptions {
  /** First byte, counted from the start of the tensor. Default 0. */
  start?: number;
  /** The byte after the last one. Default: the tensor's byteLength. */
  end?: number;
}

/** Options of `readInto()`. */
export interface SafetensorsIntoOptions extends SafetensorsSliceOptions {
  /** Index in the target of the first number written. Default 0. */
  offset?: number;
}

/** A tensor as its file describes it. */
export interface SafetensorsInfo {
  /** How its numbers are stored. */
  readonly dtype: SafetensorsDtype;
  /** Outermost first; [] is a scalar. */
  readonly shape: readonly number[];
  /** Bytes in the file. */
  readonly byteLength: number;
  /** Name of its file, as in SafetensorsError. */
  readonly file: string;
}

/** @internal */
export interface Entry {
  readonly info: SafetensorsInfo;
  readonly source: ByteSource;
  /** Offset in the file, in bytes. */
  readonly begin: number;
}

/** The bytes that a read asks for, and its options. */
interface Part extends SafetensorsReadOptions {
  readonly where: string;
  readonly name: string;
  readonly entry: Entry;
  readonly start: number;
  readonly end: number;
}

/** @internal */
export const readKeys = ['signal', 'onProgress'] as const;
const sliceKeys = ['start', 'end', ...readKeys] as const;

/** @internal */
export function readOptions(where: string, options: SafetensorsReadOptions): SafetensorsReadOptions {
  const { signal, onProgress } = options;
  if (signal !== undefined && Object.prototype.toString.call(signal) !== '[object AbortSignal]') {
    throw new ArgumentTypeError(where, 'signal', signal, 'an AbortSignal');
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new ArgumentTypeError(where, 'onProgress', onProgress, 'a function');
  }
  return { ...(signal !== undefined && { signal }), ...(onProgress !== undefined && { onProgress }) };
}

/**
 * Reads exactly the bytes from `from` to `to` (Infinity: to the end), or throws an error that names file and tensor.
 * @internal
 */
export async function* bytesOf(
  source: ByteSource,
  tensor: string | undefined,
  from: number,
  to: number,
  signal: AbortSignal | undefined,
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
    if (at < to && to !== Number.POSITIVE_INFINITY) throw new SourceFailure('ended');
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof SourceFailure)) throw error;
    const progress = to === Number.POSITIVE_INFINITY ? '' : ` (after ${at - from} of ${to - from} bytes)`;
    throw new SafetensorsError(source.name, tensor, error.message + progress, { cause: error.cause ?? error });
  }
}

/**
 * An open safetensors file. It holds only the header; each read fetches the bytes that it needs.
 *
 * @example
 * const file = await openSafetensors(rw, 'https://example.org/model.safetensors');
 * for (const name of file.names) console.log(name, file.info(name).dtype, file.info(name).shape);
 * using weight = rw.tensor(file.info('lm_head.weight').shape);
 * await file.readInto('lm_head.weight', weight);
 */
export class Safetensors implements Disposable {
  /**
   * Names of the tensors, in the order of their bytes. Reading in this order is fastest where a server sends only whole
   * files: each is then sent once.
   */
  readonly names: readonly string[];
  /** The header's `__metadata__`; for several files, the entries on which all agree. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Total size of all tensors, in bytes. */
  readonly byteLength: number;
  readonly #heap: Heap;
  readonly #entries: ReadonlyMap<string, Entry>;
  #disposed = false;
  #last: ByteSource | undefined; // the source of the latest read, whose stream is kept open

  /** @internal */
  constructor(heap: Heap, entries: ReadonlyMap<string, Entry>, metadata: ReadonlyMap<string, string>) {
    this.#heap = heap;
    this.#entries = entries;
    this.names = Object.freeze([...entries.keys()]);
    this.metadata = metadata;
    this.byteLength = [...entries.values()].reduce((sum, { info }) => sum + info.byteLength, 0);
  }

  /** Whether a tensor has this name. */
  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** The dtype, shape and size of a tensor. @throws ArgumentRangeError for an unknown name */
  info(name: string): SafetensorsInfo {
    return this.#entry('safetensors.info', name).info;
  }

  /**
   * Reads the numbers of a tensor into a new array: F32 into a Float32Array, I64 into a BigInt64Array, F16 and BF16 as
   * bits into a Uint16Array or, with `as: 'float32'`, into a Float32Array. F8, F6, F4 and C64 have no typed array;
   * `stream()` gives their bytes.
   *
   * @throws SafetensorsError where the bytes cannot be read or the dtype has no array.
   *
   * @example
   * const weights = await file.tensor('model.norm.weight', { as: 'float32' });
   */
  tensor(name: string, options: SafetensorsTensorOptions & { as: 'float32' }): Promise<OwnFloats>;
  tensor(name: string, options?: SafetensorsTensorOptions): Promise<SafetensorsArray>;
  async tensor(name: string, options: SafetensorsTensorOptions = {}): Promise<SafetensorsArray> {
    const where = 'safetensors.tensor';
    const entry = this.#entry(where, name);
    const given = check.options(where, 'options', options, ['as', ...readKeys]);
    const { as } = given;
    if (as !== undefined) check.choice(where, 'as', as, { float32: 0 });
    const { dtype, byteLength } = entry.info;
    const whole: Part = { where, name, entry, start: 0, end: byteLength, ...readOptions(where, given) };
    const Kind = arrayOf[dtype];
    if (Kind === undefined || (as !== undefined && !isFloat32(dtype))) {
      const what = as === undefined ? 'as an array; stream() gives its bytes' : 'as float32';
      throw new SafetensorsError(entry.source.name, name, `is ${dtype}, which is not given ${what}`);
    }
    if (as === undefined || dtype === 'F32') {
      const array = new Kind(room(where, byteLength));
      const bytes = new Uint8Array(array.buffer);
      await this.#read(whole, (piece, at) => bytes.set(piece, at));
      return array;
    }
    const floats = new Float32Array(room(where, byteLength * 2));
    await this.#widen(whole, () => floats);
    return floats;
  }

  /**
   * Reads a tensor, or a part of it, into a tensor in wasm memory, piece by piece, without a second copy. F16 and BF16
   * are widened. Without `start`, `end` and `offset` both tensors need the same size; the shapes may differ. A failed
   * read leaves what it has written so far.
   *
   * @throws SafetensorsError where the bytes cannot be read or the dtype is another.
   *
   * @example
   * using rows = rw.tensor([16, 768]);   // the first 16 rows of a float32 table
   * await file.readInto('embeddings.weight', rows, { end: 16 * 768 * 4 });
   */
  async readInto(name: string, target: Tensor, options: SafetensorsIntoOptions = {}): Promise<void> {
    const where = 'safetensors.readInto';
    const entry = this.#entry(where, name);
    if (!(target instanceof Tensor)) throw new ArgumentTypeError(where, 'target', target, 'a tensor of rw.tensor()');
    const given = check.options(where, 'options', options, ['offset', ...sliceKeys]);
    target.usableIn(this.#heap, where, 'target');
    const { offset = 0 } = given;
    check.integer(where, 'offset', offset, 0, target.size);
    const read = readOptions(where, given);
    const { dtype } = entry.info;
    if (!isFloat32(dtype)) {
      throw new SafetensorsError(entry.source.name, name, `is ${dtype}; a tensor holds float32, F16 or BF16 widened`);
    }
    const size = dtype === 'F32' ? 4 : 2;
    const [start, end] = slice(where, entry.info, given, size);
    const count = (end - start) / size;
    const part = given.start !== undefined || given.end !== undefined || given.offset !== undefined;
    if (part ? count > target.size - offset : count !== target.size) {
      const rest = part ? `${target.size - offset} numbers from offset ${offset} on` : `${target.size} numbers`;
      throw new ArgumentRangeError(where, 'target', target, `has ${rest}; ${count} are read`);
    }

    const first = target.pointer + 4 * offset;
    // Checked for every piece: the target may have been disposed of in between.
    const address = () => {
      target.usableIn(this.#heap, where, 'target');
      return first;
    };
    const asked: Part = { where, name, entry, start, end, ...read };
    if (dtype !== 'F32') return this.#widen(asked, address);
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
  async stream(
    name: string,
    receive: (bytes: Uint8Array, at: number) => void,
    options: SafetensorsSliceOptions = {},
  ): Promise<void> {
    const where = 'safetensors.stream';
    const entry = this.#entry(where, name);
    if (typeof receive !== 'function') throw new ArgumentTypeError(where, 'receive', receive, 'a function');
    const given = check.options(where, 'options', options, sliceKeys);
    const read = readOptions(where, given);
    const [start, end] = slice(where, entry.info, given, 1);
    await this.#read({ where, name, entry, start, end, ...read }, receive);
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

  #entry(where: string, name: unknown): Entry {
    if (typeof name !== 'string') throw new ArgumentTypeError(where, 'name', name, 'the name of a tensor');
    this.#alive(where);
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      const problem = `is ${describe(name)}; none of the ${this.names.length} tensors is called that`;
      throw new ArgumentRangeError(where, 'name', name, problem);
    }
    return entry;
  }

  #alive(where: string): void {
    if (this.#disposed) throw new StateError(`${where}: this Safetensors was disposed`);
  }

  async #widen(part: Part, out: () => number | Float32Array): Promise<void> {
    const widener = new Widener(this.#heap, part.where, part.entry.info.dtype as 'F16' | 'BF16');
    try {
      await this.#read(part, (piece) => widener.widen(piece, out()));
    } finally {
      widener.release();
    }
  }

  async #read(part: Part, receive: (piece: Uint8Array, at: number) => void): Promise<void> {
    const { where, name, entry, start, end, signal, onProgress } = part;
    const { source, begin } = entry;
    const total = end - start;
    let loaded = 0;
    if (this.#last !== source) this.#last?.pause?.();
    this.#last = source;
    try {
      for await (const piece of bytesOf(source, name, begin + start, begin + end, signal)) {
        this.#alive(where);
        receive(piece, loaded);
        loaded += piece.length;
        onProgress?.({ loaded, total, name });
      }
    } catch (error) {
      if (error instanceof SafetensorsError) this.#alive(where); // a connection that dispose() cut
      throw error;
    } finally {
      if (this.#last !== source) source.pause?.();
    }
  }
}

function isFloat32(dtype: SafetensorsDtype): boolean {
  return dtype === 'F32' || dtype === 'F16' || dtype === 'BF16';
}

function slice(where: string, info: SafetensorsInfo, options: SafetensorsSliceOptions, size: number): [number, number] {
  const { start = 0, end = info.byteLength } = options;
  check.integer(where, 'start', start, 0, info.byteLength);
  check.integer(where, 'end', end, start, info.byteLength);
  for (const [name, value] of Object.entries({ start, end })) {
    if (value % size === 0) continue;
    const problem = `is ${value}, within a number; ${info.dtype} takes ${size} bytes`;
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
