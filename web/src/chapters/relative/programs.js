// What the figures compute, as their programs show it.
// @ts-nocheck
/** @import { NdArray, Ropewalk } from 'ropewalk' */

export const heads = 8;
export const shawDistance = 4;

/**
 * A number for each of T5's buckets, as training might leave them.
 * @type {() => NdArray}
 */
export const t5Table = () => {
  // It is not trained.
  const data = Float32Array.from({ length: 32 }, (_, bucket) => Math.round(100 * Math.sin(1.7 * bucket + 1)) / 100);
  return { data, shape: [32, 1] };
};

/**
 * Rows of Shaw's table, T5's buckets and the numbers that it adds for them, and ALiBi's bias for one head, each
 * [length, length].
 * @type {(rw: Ropewalk, length: number, head: number, decoder: boolean) =>
 *   { shaw: Int32Array, buckets: Int32Array, t5: Float32Array, alibi: Float32Array }}
 */
export const biases = (rw, length, head, decoder) => {
  const shape = { queries: length, keys: length };
  const distances = Array.from({ length: length ** 2 }, (_, i) => (i % length) - Math.floor(i / length));
  const shaw = rw.relativeRows({ ...shape, maxDistance: shawDistance });
  // In a decoder keys after the query do not count, so T5 spends no buckets on them.
  const bidirectional = !decoder;
  const buckets = rw.t5Buckets(distances, { bidirectional });
  const t5 = rw.t5Bias({ table: t5Table(), ...shape, bidirectional }).data;
  const alibi = rw.alibiBias({ heads, ...shape });
  return { shaw, buckets, t5, alibi: alibi.data.subarray(head * length ** 2, (head + 1) * length ** 2) };
};

export const tableDim = 8;
export const learnedLength = 16;

/** @type {() => NdArray} */
export const learnedTable = () => {
  // It is not trained.
  const entry = (row, column) => Math.round(100 * Math.sin(1.7 * row + 2.9 * column + 0.31 * row * column)) / 100;
  const place = (i) => [Math.floor(i / tableDim), i % tableDim];
  const data = Float32Array.from({ length: learnedLength * tableDim }, (_, i) => entry(...place(i)));
  return { data, shape: [learnedLength, tableDim] };
};

/**
 * Rows of the learned table: its own, or extended to `length` in two levels (Su 2020).
 * @type {(rw: Ropewalk, length: number) => Float32Array}
 */
export const learnedRows = (rw, length) => {
  const own = learnedTable();
  return length > learnedLength ? rw.extendLearned(own, { length }).data : own.data;
};
