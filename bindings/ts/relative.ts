// Rows of relative position tables (Shaw et al., arXiv:1803.02155; BERT's relative_key).
import { type BiasShape, biasShape } from './alibi.js';
import * as check from './check.js';
import type { Heap } from './heap.js';

/** Options of `rw.relativeRows`. */
export interface RelativeRowsOptions extends BiasShape {
  /** Distances beyond share the outermost rows; the table has 2 * maxDistance + 1 rows. */
  maxDistance: number;
  /** `key-minus-query` (the default; Shaw) or `query-minus-key` (BERT). Tables of one do not fit the other. */
  sign?: 'key-minus-query' | 'query-minus-key';
}

/** @internal */
export function relativeRows(heap: Heap, options: RelativeRowsOptions): Int32Array {
  const where = 'relativeRows';
  const known = ['queries', 'keys', 'queryOffset', 'maxDistance', 'sign'];
  const given = check.options<RelativeRowsOptions>(where, 'options', options, known);
  const { queries, keys, queryOffset } = biasShape(where, given);
  const signs = { 'query-minus-key': 0, 'key-minus-query': 1 };
  const rows = {
    limit: check.integer(where, 'maxDistance', given.maxDistance, 0, 2 ** 24),
    keyMinusQuery: check.choice(where, 'sign', given.sign ?? 'key-minus-query', signs) === 1,
  };
  return heap.scope(where, (take) => {
    const out = take(queries * keys * 8);
    heap.call((c) => c.relativeRows(rows, queries, keys, queryOffset, out));
    return Int32Array.from(heap.readDoubles(out, queries * keys));
  });
}
