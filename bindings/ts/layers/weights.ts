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
 * Weights, row major: float32 numbers, a tensor, or the numbers of a checkpoint as they come, the bits of float16 and
 * bfloat16 in a Uint16Array. With a shape (or dims, as onnxruntime's tensors have) that is checked too.
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
  | ({
      /** How data stores the numbers. */
      readonly type: 'float16' | 'bfloat16';
      /** The bits of the numbers, row major. */
      readonly data: Uint16Array;
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
 * most s / 2 sum |x|, typically by s / sqrt(12) |x| (Euclidean). Biases and norms stay float32.
 */
export type WeightStorage = 'as given' | WeightType | 'int8';

const { float32, float16, bfloat16, int8 } = enums.WeightType;
const types: Readonly<Record<WeightType, number>> = { float32, float16, bfloat16 };
const storages: Readonly<Record<Exclude<WeightStorage, 'as given'>, number>> = { ...types, int8 };
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
  /** The address of `count` rows from `first` on; `slice` has room for them, if they are not in the heap already. */
  at(slice: number, first: number, count: number): number;
  /** Whether they lie in the heap already. */
  readonly inHeap: boolean;
  /** Set where they are packed, to be taken over; then there is no address. */
  readonly packed?: PackedMatrix;
}

/** Of src/kernels/weight_type.h; undefined is as given. @internal */
export type StoredType = number | undefined;

/** @internal */
export function checkStorage(where: string, value: unknown = 'as given'): StoredType {
  const asGiven = -1;
  const type = check.choice(where, 'storage', value, { 'as given': asGiven, ...storages });
  return type === asGiven ? undefined : type;
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
  if (!check.isTypedArray(data, 'Uint16Array') || isDetached(data)) {
    throw new ArgumentTypeError(where, `${name}.data`, data, `a Uint16Array with the bits of ${String(named)}`);
  }
  return { data, type };
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
    const at = (_: number, first: number) => value.pointer + first * columns * 4;
    return { name, rows, columns, type: types.float32, at, inHeap: true };
  }
  if (value instanceof PackedWeight) {
    checkShape(where, name, value, value.shape, wanted);
    return { name, rows, columns, type: types.float32, at: () => 0, inHeap: true, packed: value.matrix };
  }
  const { data, type } = arrayOf(where, name, value, wanted);
  const size = rows * columns;
  if (lengthOf(data) !== size) {
    const shape = rows === 1 ? `${size}` : `${size}, [${rows}, ${columns}]`;
    throw new ArgumentRangeError(where, name, value, `has ${lengthOf(data)} numbers; expected ${shape}`);
  }
  // A view of this heap would die if the heap grows before it is copied.
  const own = heap.owns(data) ? bytesOf(data).slice() : data;
  const bytes = type === types.float32 ? 4 : 2;
  const at = (slice: number, first: number, count: number) => {
    heap.write(slice, bytesOf(own, first * columns * bytes, count * columns * bytes));
    return slice;
  };
  return { name, rows, columns, type, at, inHeap: false };
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
  storage: StoredType,
  work: (matrix: PackedMatrix) => void,
): void {
  if (from.packed !== undefined) {
    work(from.packed);
    return;
  }
  const stored = storage ?? from.type;
  const rowBytes = Math.max(1, from.columns * 4);
  const sliceRows = from.inHeap ? from.rows : Math.min(from.rows, Math.max(1, Math.floor(sliceBytes / rowBytes)));
  const matrix = heap.construct(where, (core) => new core.PackedMatrix());
  try {
    heap.run(where, () => matrix.allocate(from.rows, from.columns, stored));
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
  const storage = Object.entries(storages).find(([, number]) => number === stored)?.[0];
  const reason = stored === storages.int8 ? 'is not finite' : 'would become infinite';
  return `has a number that ${reason} as ${storage}`;
}
