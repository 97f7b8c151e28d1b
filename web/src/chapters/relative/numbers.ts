// The numbers of the relative figures. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';

export interface Clipping {
  readonly length: number;
  readonly maxDistance: number;
  readonly sign: 'key-minus-query' | 'query-minus-key';
}

/** The row of the table for each query and key, [length, length]. */
export function clippedRows(core: Ropewalk, { length, maxDistance, sign }: Clipping): Int32Array {
  return core.relativeRows({ queries: length, keys: length, maxDistance, sign });
}

export function clippedCode({ length, maxDistance, sign }: Clipping): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const result = rw.relativeRows({
  queries: ${length},
  keys: ${length},
  maxDistance: ${maxDistance},
  sign: ${literal(sign)},
});   // [${length}, ${length}]
`;
}

export const heads = 8;
export const shawDistance = 4;

export interface Biases {
  /** Rows of Shaw's table, T5's buckets and ALiBi's bias, each [length, length]. */
  readonly shaw: Int32Array;
  readonly t5: Int32Array;
  readonly alibi: Float32Array;
}

/** @param decoder keys after the query do not count, so T5 spends no buckets on them. */
export function biases(core: Ropewalk, length: number, head: number, decoder: boolean): Biases {
  const shape = { queries: length, keys: length };
  const distances = Array.from({ length: length ** 2 }, (_, i) => (i % length) - Math.floor(i / length));
  const all = core.alibiBias({ heads, ...shape }).data;
  return {
    shaw: core.relativeRows({ ...shape, maxDistance: shawDistance }),
    t5: core.t5Buckets(distances, { bidirectional: !decoder }),
    alibi: all.subarray(head * length ** 2, (head + 1) * length ** 2),
  };
}

export function biasesCode(length: number, head: number, decoder: boolean): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const shape = { queries: ${length}, keys: ${length} };
const distances = Array.from({ length: ${length ** 2} }, (_, i) => (i % ${length}) - Math.floor(i / ${length}));

const shaw = rw.relativeRows({ ...shape, maxDistance: ${shawDistance} });
const t5 = rw.t5Buckets(distances, { bidirectional: ${!decoder} });
const alibi = rw.alibiBias({ heads: ${heads}, ...shape });
const head = alibi.data.subarray(${head * length ** 2}, ${(head + 1) * length ** 2});
const result = [...shaw, ...t5, ...head];
`;
}

const tableRows = 16;
export const tableDim = 8;

// A table that nobody trained: waves of other lengths in each column, rounded so that the program shows them whole.
const entry = (row: number, column: number): number =>
  Math.round(100 * Math.sin(1.7 * row + 2.9 * column + 0.31 * row * column)) / 100;
const table = Float32Array.from({ length: tableRows * tableDim }, (_, i) =>
  entry(Math.floor(i / tableDim), i % tableDim),
);
export const learnedLength = tableRows;

/** Rows of a learned table: its own, or extended to `length` in two levels (Su 2020). */
export function learnedRows(core: Ropewalk, length: number): Float32Array {
  const own = { data: table, shape: [tableRows, tableDim] };
  return length > tableRows ? core.extendLearned(own, { length }).data : table;
}

/** What the package says of a position of the learned table: a row, or why there is none. */
export function learnedRow(core: Ropewalk, position: number, extended: Float32Array | undefined): string | undefined {
  const data = extended ?? table;
  const zeros = { data: new Float32Array(tableDim), shape: [1, tableDim] };
  try {
    core.learned(zeros, { table: { data, shape: [data.length / tableDim, tableDim] }, positions: [position] });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function learnedCode(length: number): string {
  const make =
    length > tableRows
      ? `const result = rw.extendLearned(own, { length: ${length} }).data;   // [${length}, ${tableDim}]`
      : `const result = own.data;   // [${tableRows}, ${tableDim}]`;
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
// A table that nobody trained.
const entry = (row, column) =>
  Math.round(100 * Math.sin(1.7 * row + 2.9 * column + 0.31 * row * column)) / 100;
const data = Float32Array.from({ length: ${tableRows * tableDim} }, (_, i) => entry(Math.floor(i / ${tableDim}), i % ${tableDim}));
const own = { data, shape: [${tableRows}, ${tableDim}] };
${make}
`;
}
