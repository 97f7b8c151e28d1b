// Weights of the caller: checked, then packed into the core slice by slice, so that no more than one matrix and one slice
// of it exist besides the caller's memory.

import type { PackedMatrix } from '../core.mjs';
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, wrongShape } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { Tensor } from '../runtime/tensor.js';
import { bytesOf, isDetached, lengthOf } from '../runtime/typed-arrays.js';

/** How numbers of weights are stored. */
export type WeightType = 'float32' | 'float16' | 'bfloat16';

/**
 * The blocks of GGUF files, with the bytes and the order that ggml gives them: 32 weights of a row with codes of 4, 5 or 8
 * bits and a float16 scale (in `_1` formats also a minimum), or 256 weights (`_k`) with a scale for each 16 or 32 of them.
 * Bytes of a block: q4_0 18, q4_1 20, q5_0 22, q5_1 24, q8_0 34; q4_k 144, q5_k 176, q6_k 210.
 */
export type BlockType = 'q4_0' | 'q4_1' | 'q5_0' | 'q5_1' | 'q8_0' | 'q4_k' | 'q5_k' | 'q6_k';

/**
 * Weights, row major: float32 numbers, a tensor, or the numbers of a checkpoint as they come, the bits of float16 and
 * bfloat16 in a Uint16Array, blocks of a GGUF file in a Uint8Array. With a shape (or dims, as onnxruntime's tensors have)
 * that is checked too.
 */
export type WeightInput =
  | Float32Array
  | Tensor
  | ({
      /** How data stores the numbers. Default `float32`. */
      readonly type?: 'float32';
      /** The numbers, row major. */
      readonly data: Float32Array;
    } & WeightShape)
  | StoredWeight;

/** Weights in another format than float32: the bits of numbers, or blocks of a GGUF file. */
export type StoredWeight =
  | ({
      /** How data stores the numbers. */
      readonly type: 'float16' | 'bfloat16';
      /** The bits of the numbers, row major. */
      readonly data: Uint16Array;
    } & WeightShape)
  | ({
      /** How data stores the numbers. */
      readonly type: BlockType;
      /** The blocks, row after row; a row is whole blocks. */
      readonly data: Uint8Array;
    } & WeightShape);

/** The shape of a weight; it is checked where it is given. */
export interface WeightShape {
  /** Sizes, outermost first; or their product alone. Default: those that the layer expects. */
  readonly shape?: readonly number[];
  /** In place of `shape`, as onnxruntime's tensors have it. */
  readonly dims?: readonly number[];
}

/**
 * How a layer keeps its matrices: `as given`, at the size they came in, or as one of these. float16 and bfloat16 round
 * to nearest; results are those of a float32 layer with the rounded weights, bit for bit. `int8` keeps a byte per weight
 * and a scale s = max |w| / 127 per output, at least 2^-126: each weight is then off by at most s / 2, and an output by at
 * most s / 2 sum |x|, typically by s / sqrt(12) |x| (Euclidean). A block type chooses scales and codes as ggml's
 * reference does; the last block of a row is filled up with zeros. Where m is the largest magnitude of a block of 32 and
 * r its range, a weight is off by at most m / 254 (`q8_0`), m / 8 (`q4_0`), m / 16 (`q5_0`), r / 30 (`q4_1`) or r / 62
 * (`q5_1`), and by what its code makes of the rounding of the scale to float16, by 2^-11 of it or, below 2^-14, by 2^-25.
 * Blocks of 256 have scales that are multiples of 1 / 63 (`q6_k`: 1 / 128) of their largest, and are chosen for the least
 * squared error: a weight is off by about half a step of (largest - smallest, or 0) / 15 (`q4_k`) or / 31 (`q5_k`) of its 32,
 * of m / 32 of its 16 (`q6_k`), more where its neighbours are much larger. A float16 scale below 2^-14 is off by up to 2^-25,
 * and a weight then by up to 2.8e-5 (`q4_k`), 5.8e-5 (`q5_k`) or 1.2e-4 (`q6_k`): little is left of a block whose weights are
 * no larger than that. Biases and norms stay float32.
 */
export type WeightStorage = 'as given' | WeightType | 'int8' | BlockType;

/**
 * How a layer multiplies by matrices in blocks. `int8`: each block of 32 inputs is quantized to int8 with scale
 * max(|x|) / 127 (at least 2^-126); an input is off by at most half the scale. Products are in integers, with the same bits
 * on every engine, in the relaxed build too. `float32` multiplies the inputs as they are by the exact weights; for one
 * row it is several times slower. Other matrices are always multiplied in float32.
 */
export type WeightArithmetic = 'int8' | 'float32';

const { float32, float16, bfloat16, int8 } = enums.WeightType;
const { q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k } = enums.WeightType;
const blocks: Readonly<Record<BlockType, number>> = { q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k };
const types: Readonly<Record<WeightType | BlockType, number>> = { float32, float16, bfloat16, ...blocks };
const storages: Readonly<Record<Exclude<WeightStorage, 'as given'>, number>> = { ...types, int8 };

// Weights of a block, and its bytes.
const blockSizes: Readonly<Record<WeightType | BlockType, readonly [weights: number, bytes: number]>> = {
  ...{ float32: [1, 4], float16: [1, 2], bfloat16: [1, 2] },
  ...{ q4_0: [32, 18], q4_1: [32, 20], q5_0: [32, 22], q5_1: [32, 24], q8_0: [32, 34] },
  ...{ q4_k: [256, 144], q5_k: [256, 176], q6_k: [256, 210] },
};

const nameOf = (type: number) =>
  Object.keys(storages).find((name) => storages[name as keyof typeof storages] === type) as keyof typeof storages;

/** @internal */
export const sliceBytes = 2 ** 20;

/**
 * A matrix that was packed before, slice by slice as a file of weights came in; a layer takes it over. In place of a
 * WeightInput.
 * @internal
 */
export class PackedWeight {
  readonly matrix: PackedMatrix;
  readonly shape: readonly [rows: number, columns: number];

  constructor(matrix: PackedMatrix, shape: readonly [rows: number, columns: number]) {
    this.matrix = matrix;
    this.shape = shape;
  }
}

/** Checked weights. @internal */
export interface Weight {
  readonly name: string;
  /** [rows, columns]; a vector has one row. */
  readonly rows: number;
  readonly columns: number;
  readonly type: number;
  /** Bytes of a row, as `at` gives them. */
  readonly rowBytes: number;
  /** The address of `count` rows from `first` on; `slice` has room for them, if they are not in the heap already. */
  at(slice: number, first: number, count: number): number;
  /** Whether they lie in the heap already. */
  readonly inHeap: boolean;
  /** Set where they are packed, to be taken over; then there is no address. */
  readonly packed?: PackedMatrix;
}

/** How a layer keeps its matrices and multiplies by them. @internal */
export interface Keeping {
  /** Of src/kernels/weight_type.h; undefined is as given. */
  readonly stored: number | undefined;
  readonly inFloats: boolean;
}

const arithmetics = { int8: 0, float32: 1 } as const satisfies Record<WeightArithmetic, number>;

/** @internal */
export function checkKeeping(where: string, options: { storage?: unknown; arithmetic?: unknown }): Keeping {
  const { storage = 'as given', arithmetic = 'int8' } = options;
  const asGiven = -1;
  const type = check.choice(where, 'storage', storage, { 'as given': asGiven, ...storages });
  const inFloats = check.choice(where, 'arithmetic', arithmetic, arithmetics) === arithmetics.float32;
  return { stored: type === asGiven ? undefined : type, inFloats };
}

function checkShape(where: string, name: string, value: unknown, given: unknown, wanted: readonly number[]): void {
  const shape = check.shape(where, `${name}.shape`, given);
  const size = check.sizeOf(wanted);
  const flat = shape.length === 1 && shape[0] === size;
  const fits = shape.length === wanted.length && shape.every((n, axis) => n === wanted[axis]);
  if (!flat && !fits) throw wrongShape(where, name, value, shape, `[${wanted.join(', ')}]`);
}

// What an object brings: its numbers as bytes, and their type.
function arrayOf(where: string, name: string, value: unknown, wanted: readonly number[]) {
  const expected = 'a Float32Array, a tensor, or an object with data and type';
  if (check.isTypedArray(value, 'Float32Array'))
    return { data: check.float32(where, name, value), type: types.float32 };
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
  if (!isObject || !('data' in value)) throw new ArgumentTypeError(where, name, value, expected);
  const given = value as { data: unknown; type?: unknown; shape?: unknown; dims?: unknown };
  const { data, type: named = 'float32' } = given;
  const shape = given.shape ?? given.dims;
  const type = check.choice(where, `${name}.type`, named, types);
  if (shape !== undefined) checkShape(where, name, value, shape, wanted);
  if (type === types.float32) return { data: check.float32(where, `${name}.data`, data), type };
  const isBlocks = (named as string) in blocks;
  const fits = isBlocks ? check.isTypedArray(data, 'Uint8Array') : check.isTypedArray(data, 'Uint16Array');
  if (!fits || isDetached(data as Uint8Array)) {
    const form = isBlocks ? 'a Uint8Array with the blocks' : 'a Uint16Array with the bits';
    throw new ArgumentTypeError(where, `${name}.data`, data, `${form} of ${String(named)}`);
  }
  return { data: data as Uint8Array | Uint16Array, type };
}

// Checks how long data is; gives the bytes of a row.
function checkLength(
  where: string,
  name: string,
  value: unknown,
  data: ArrayBufferView,
  type: number,
  rows: number,
  columns: number,
): number {
  const format = nameOf(type) as WeightType | BlockType;
  const [weights, bytes] = blockSizes[format];
  if (columns % weights !== 0) {
    const problem = `has rows of ${columns} weights; a row of ${format} is whole blocks of ${weights}`;
    throw new ArgumentRangeError(where, name, value, problem);
  }
  const rowBytes = (columns / weights) * bytes;
  const shape = rows === 1 ? '' : `, [${rows}, ${columns}]`;
  const isBlocks = weights > 1;
  const length = lengthOf(data as Uint8Array);
  const wanted = rows * (isBlocks ? rowBytes : columns);
  if (length === wanted) return rowBytes;
  throw new ArgumentRangeError(
    where,
    name,
    value,
    `has ${length} ${isBlocks ? `bytes of ${format}` : 'numbers'}; expected ${wanted}${shape}`,
  );
}

/**
 * Checks weights [rows, columns], or a vector of as many numbers as `columns` where rows is 1. `wanted` is the shape that
 * they must have if they bring one along.
 * @internal
 */
export function weight(
  heap: Heap,
  where: string,
  name: string,
  value: unknown,
  [rows, columns]: readonly [rows: number, columns: number],
  wanted: readonly number[] = rows === 1 ? [columns] : [rows, columns],
): Weight {
  if (value instanceof Tensor) {
    value.usableIn(heap, where, name);
    checkShape(where, name, value, value.shape, wanted);
    const rowBytes = columns * 4;
    const at = (_: number, first: number) => value.pointer + first * rowBytes;
    return { name, rows, columns, type: types.float32, rowBytes, at, inHeap: true };
  }
  if (value instanceof PackedWeight) {
    checkShape(where, name, value, value.shape, wanted);
    return { name, rows, columns, type: types.float32, rowBytes: 0, at: () => 0, inHeap: true, packed: value.matrix };
  }
  const { data, type } = arrayOf(where, name, value, wanted);
  const rowBytes = checkLength(where, name, value, data, type, rows, columns);
  // A view of this heap would die if the heap grows before it is copied.
  const own = heap.owns(data) ? bytesOf(data).slice() : data;
  const at = (slice: number, first: number, count: number) => {
    heap.write(slice, bytesOf(own, first * rowBytes, count * rowBytes));
    return slice;
  };
  return { name, rows, columns, type, rowBytes, at, inHeap: false };
}

/**
 * The address of a whole vector.
 * @internal
 */
export function vectorAddress(vector: Weight, scratch: Scratch): number {
  return vector.at(vector.inHeap ? 0 : scratch(vector.rows * vector.columns * 4), 0, vector.rows);
}

/**
 * Runs work with the packed matrix, which is gone when it ends unless work moved it on.
 * @internal
 */
export function withPacked(
  heap: Heap,
  where: string,
  from: Weight,
  { stored: wanted, inFloats }: Keeping,
  work: (matrix: PackedMatrix) => void,
): void {
  if (from.packed !== undefined) {
    work(from.packed);
    return;
  }
  const stored = wanted ?? from.type;
  const rowBytes = Math.max(1, from.columns * 4);
  const sliceRows = from.inHeap ? from.rows : Math.min(from.rows, Math.max(1, Math.floor(sliceBytes / rowBytes)));
  const matrix = heap.construct(where, (core) => new core.PackedMatrix());
  try {
    heap.run(where, () => matrix.allocate(from.rows, from.columns, stored, inFloats));
    heap.scope(where, (scratch) => {
      const slice = from.inHeap ? 0 : scratch(sliceRows * rowBytes);
      for (let first = 0; first < from.rows; first += sliceRows) {
        const count = Math.min(sliceRows, from.rows - first);
        const at = from.at(slice, first, count);
        heap.run(
          where,
          () => matrix.packRows(first, count, from.type, at),
          () => new ArgumentRangeError(where, from.name, undefined, unfitProblem(stored)),
        );
      }
    });
    work(matrix);
  } finally {
    heap.destroy(matrix);
  }
}

/**
 * What is wrong where packRows finds its argument invalid: numbers that the storage cannot hold.
 * @internal
 */
export function unfitProblem(stored: number): string {
  const storage = nameOf(stored);
  const reason =
    storage === 'int8'
      ? 'is not finite'
      : storage in blocks
        ? 'is not finite or beyond the range of a float16 scale'
        : 'would become infinite';
  return `has a number that ${reason} as ${storage}`;
}
