// Rows of relative position tables (Shaw et al., arXiv:1803.02155; BERT's relative_key).

import { RelativeRows } from '../calls.js';
import * as check from '../runtime/check.js';
import type { Heap } from '../runtime/heap.js';
import type { OwnIntegers } from '../runtime/typed-arrays.js';
import { type BiasShape, biasShape, shapeFields } from './bias-shape.js';

/** Which way distances count: j - i or i - j, for the query i and the key j. Tables of one do not fit the other. */
export type RelativeSign = 'key-minus-query' | 'query-minus-key';

/** 1 for `key-minus-query`. @internal */
export function checkSign(where: string, name: string, sign: unknown): number {
  return check.choice(where, name, sign, { 'query-minus-key': 0, 'key-minus-query': 1 });
}

/** Options of `rw.relativeRows`. */
export interface RelativeRowsOptions extends BiasShape {
  /** Distances beyond share the outermost rows; the table has 2 * maxDistance + 1 rows. From 0 to 16777216. */
  maxDistance: number;
  /** `key-minus-query` (the default; Shaw) or `query-minus-key` (BERT). */
  sign?: RelativeSign;
}

/** @internal */
export function relativeRows(heap: Heap, options: RelativeRowsOptions): OwnIntegers {
  const where = 'relativeRows';
  const given = check.options(where, 'options', options, [...shapeFields, 'maxDistance', 'sign']);
  const { queries, keys, queryOffset } = biasShape(where, given);
  const rows = {
    limit: check.integer(where, 'maxDistance', given.maxDistance, 0, 2 ** 24),
    keyMinusQuery: checkSign(where, 'sign', given.sign ?? 'key-minus-query') === 1,
  };
  const list = heap.doublesOf(where, queries * keys, (out, scratch) => {
    const table = heap.putCall(scratch, RelativeRows, rows);
    heap.call((c) => c.relativeRows(table, queries, keys, queryOffset, out));
  });
  return Int32Array.from(list);
}
