// T5's relative position buckets and bias (Raffel et al., arXiv:1910.10683).

import * as calls from '../calls.js';
import type { T5Buckets } from '../core.mjs';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import { matrix, type NdArray, type Operand, type TensorInput } from '../runtime/tensor.js';
import type { OwnIntegers } from '../runtime/typed-arrays.js';
import { type BiasShape, biasShape, shapeFields } from './bias-shape.js';

/** How distances fall into buckets. */
export interface T5Options {
  /** True (the default) for encoders; false for decoders, where all keys after the query share bucket 0. */
  bidirectional?: boolean;
  /** Even and from 4 to 65536; with bidirectional false also odd and from 2. Default 32. */
  numBuckets?: number;
  /**
   * All distances from this one on share the last bucket, which begins before it: at 91, or 113 in one direction, by default.
   * Above numBuckets / 4, or numBuckets / 2 in one direction. Default 128.
   */
  maxDistance?: number;
}

/** Options of `rw.t5Bias`. */
export interface T5BiasOptions<O extends Out = undefined> extends T5Options, BiasShape, OutOption<O> {
  /** [numBuckets, heads] */
  table: TensorInput;
}

/** @internal */
export const t5Fields = ['bidirectional', 'numBuckets', 'maxDistance'] as const;

/** @internal */
export function checkT5(where: string, given: T5Options, prefix = ''): Required<T5Options> {
  const bidirectional = check.boolean(where, `${prefix}bidirectional`, given.bidirectional ?? true);
  const least = bidirectional ? 4 : 2;
  const numBuckets = check.integer(where, `${prefix}numBuckets`, given.numBuckets ?? 32, least, 2 ** 16);
  if (bidirectional && numBuckets % 2 !== 0) {
    throw new ArgumentRangeError(
      where,
      `${prefix}numBuckets`,
      numBuckets,
      `is ${numBuckets}; two directions need an even number`,
    );
  }
  const exact = Math.floor(numBuckets / (bidirectional ? 4 : 2));
  const maxDistance = check.integer(where, `${prefix}maxDistance`, given.maxDistance ?? 128, exact + 1, 2 ** 31);
  return { bidirectional, numBuckets, maxDistance };
}

/**
 * Runs work with the core's buckets, which are gone when it ends.
 * @internal
 */
export function withBuckets<T>(
  heap: Heap,
  where: string,
  options: Required<T5Options>,
  work: (buckets: T5Buckets) => T,
): T {
  const buckets = heap.construct(where, (core) => new core.T5Buckets());
  try {
    heap.scope(where, (scratch) => {
      const at = heap.putCall(scratch, calls.T5Options, options);
      heap.run(where, () => buckets.create(at));
    });
    return work(buckets);
  } finally {
    heap.destroy(buckets);
  }
}

/**
 * A bias table as an operand, with its number of heads.
 * @internal
 */
export function t5Table(
  heap: Heap,
  where: string,
  value: TensorInput,
  numBuckets: number,
  name = 'table',
): { table: Operand; heads: number } {
  const axes = `[numBuckets, heads] with ${numBuckets} buckets`;
  const { input: table, rows, columns: heads } = matrix(heap, where, name, value, axes);
  if (rows !== numBuckets) throw wrongShape(where, name, value, table.shape, axes);
  return { table, heads };
}

/** @internal */
export function t5Buckets(heap: Heap, relative: check.IntegersInput, options: T5Options): OwnIntegers {
  const where = 't5Buckets';
  const core = checkT5(where, check.options(where, 'options', options, t5Fields));
  const distances = check.positions(where, 'relativePositions', relative);
  const list = withBuckets(heap, where, core, (buckets) =>
    heap.doublesOf(where, distances.length, (out, scratch) => {
      const from = heap.put(scratch, distances);
      heap.call(() => buckets.buckets(from, distances.length, out));
    }),
  );
  return Int32Array.from(list);
}

/** Writes the biases [heads, queries, keys]. @internal */
export function writeT5Bias(heap: Heap, buckets: T5Buckets, bias: calls.T5BiasCall, scratch: Scratch): void {
  const fields = heap.putCall(scratch, calls.T5BiasCall, bias);
  heap.call(() => buckets.bias(fields));
}

/** @internal */
export function t5Bias<O extends Out>(heap: Heap, options: T5BiasOptions<O>): ResultOf<NdArray, O> {
  const where = 't5Bias';
  const given = check.options(where, 'options', options, ['table', ...t5Fields, ...shapeFields, 'out']);
  const core = checkT5(where, given);
  const { queries, keys, queryOffset } = biasShape(where, given);
  const { table, heads } = t5Table(heap, where, given.table, core.numBuckets);
  return withBuckets(heap, where, core, (buckets) =>
    output<NdArray, O>(heap, where, false, [heads, queries, keys], given.out, (to, scratch) => {
      const bias = { out: to, table: table.address(scratch), heads, queries, keys, queryOffset };
      writeT5Bias(heap, buckets, bias, scratch);
    }),
  );
}
