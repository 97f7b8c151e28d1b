// Disentangled attention of DeBERTa (He et al., arXiv:2006.03654).
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import type { Out, ResultOf } from '../runtime/outputs.js';
import { matrix, numbersOf, type TensorInput } from '../runtime/tensor.js';
import type { AttentionResult, ScoreRequest } from './attention.js';
import { attendPerHead, checkFarthest, type PerHeadOptions, perHeadCall, perHeadFields } from './per-head.js';

/** Options of debertaAttention: at least one of the two tables is needed. */
export interface DebertaOptions<S extends ScoreRequest = ScoreRequest, O extends Out = undefined>
  extends PerHeadOptions<S, O> {
  /**
   * `[2 span, H * D]`: the relative embeddings as keys (`c2p`), by `key_proj` with share_att_key, otherwise by
   * `pos_key_proj`. Default: no such term.
   */
  keyTable?: TensorInput;
  /**
   * `[2 span, H * D]`: the relative embeddings as queries (`p2c`), by `query_proj` or `pos_query_proj`. Default: no such
   * term.
   */
  queryTable?: TensorInput;
  /**
   * max_relative_positions of models with position_buckets (v2 and v3), where span is position_buckets, or their
   * max_position_embeddings where that is -1: distances beyond span / 2 fall into logarithmic buckets; from this distance on
   * they share the last. At least span / 2 + 2. Default: each distance has its row.
   */
  maxDistance?: number;
  /** Multiplies the sum of all products. Default 1 / sqrt(D n), n being 1 + the number of tables. */
  scale?: number;
}

/**
 * Tells the row, of 2 span, of the distance i - j. With `most` those beyond span / 2 share rows up to that distance.
 * @internal
 */
export function disentangledRow(span: number, most: number | undefined): (distance: number) => number {
  const middle = Math.floor(span / 2);
  const bucketOf = (distance: number) => {
    const size = Math.abs(distance);
    if (most === undefined || size <= middle) return distance;
    const share = Math.log(size / middle) / Math.log((most - 1) / middle);
    return Math.sign(distance) * (Math.ceil(share * (middle - 1)) + middle);
  };
  return (distance) => Math.min(Math.max(bucketOf(distance) + span, 0), 2 * span - 1);
}

/**
 * Disentangled attention of DeBERTa (He et al., arXiv:2006.03654): the score of query i and key j is
 * (q_i . k_j + q_i . keyTable[r] + k_j . queryTable[r]) scale. Row r is that of the distance i - j, or of its bucket, plus
 * span, at least 0 and at most 2 span - 1. Both terms take the same row, as the models' code has it (Microsoft's and Hugging
 * Face's); the paper writes that of j - i for the second.
 *
 * @param q [.., H, Tq, D]
 * @param k [.., G, Tk, D]
 * @param v [.., G, Tk, Dv]
 * @throws ArgumentRangeError where a key is more than 2^16 positions from a query, or a size does not fit. Keys that causal
 *   order, the window or lengths hide count only if the scores asked for show them.
 *
 * @example
 * // embeddings [2 * 256, 512] and 8 heads; position_buckets 256, max_relative_positions 512
 * const tables = { keyTable: keyProject.apply(embeddings), queryTable: queryProject.apply(embeddings) };
 * const { out } = debertaAttention(rw, q, k, v, { ...tables, maxDistance: 512 });
 */
export function debertaAttention<
  const S extends ScoreRequest = 'none',
  X extends TensorInput = TensorInput,
  O extends Out = undefined,
>(
  rw: Instance,
  q: X,
  k: TensorInput,
  v: TensorInput,
  options: DebertaOptions<S, O>,
): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
  const where = 'debertaAttention';
  const heap = heapOf(where, rw);
  const given = check.options(where, 'options', options, [...perHeadFields, 'keyTable', 'queryTable', 'maxDistance']);
  const call = perHeadCall(heap, where, [q, k, v], given);
  const { farthest, inputs } = call;
  const { heads, dim } = inputs.qs;
  const columns = heads * dim;
  let rows = 0;
  const tableOf = (name: 'keyTable' | 'queryTable') => {
    if (given[name] === undefined) return undefined;
    const axes = `[${rows === 0 ? 'an even number of distances' : rows}, ${columns}]`;
    const table = matrix(heap, where, name, given[name], axes);
    const isWrong = table.rows === 0 || table.rows % 2 !== 0 || (rows !== 0 && table.rows !== rows);
    if (isWrong || table.columns !== columns) throw wrongShape(where, name, given[name], table.input.shape, axes);
    rows = table.rows;
    return numbersOf(heap, where, table.input);
  };
  const [keyTable, queryTable] = [tableOf('keyTable'), tableOf('queryTable')];
  if (rows === 0) {
    throw new ArgumentRangeError(where, 'keyTable', undefined, 'is missing, and so is queryTable; give one or both');
  }
  const span = rows / 2;
  const middle = Math.floor(span / 2);
  const most =
    given.maxDistance === undefined
      ? undefined
      : check.integer(where, 'maxDistance', given.maxDistance, middle + 2, 2 ** 30);
  if (most !== undefined && middle === 0) {
    throw new ArgumentRangeError(where, 'maxDistance', most, 'is for tables of at least 4 rows, which have buckets');
  }
  checkFarthest(call);

  const rowOf = disentangledRow(span, most);
  const starts = Int32Array.from({ length: 2 * farthest + 1 }, (_, r) => rowOf(r - farthest) * columns);

  // Attention has one table for queries and keys: q' = [q, q, 0], k' = [k, 0, k] and rows [0, K, Q], since the score has
  // q' . k' = q . k and (q' + k') . row = q . K + k . Q.
  const width = 3 * dim;
  const terms = 1 + [keyTable, queryTable].filter((table) => table !== undefined).length;
  const scale = given.scale ?? 1 / Math.sqrt(dim * terms);
  return attendPerHead<X, S, O>(call, 'relative_key_query', scale, width, (h) => {
    const table = new Float32Array(starts.length * width);
    starts.forEach((start, r) => {
      const from = start + h * dim;
      if (keyTable) table.set(keyTable.subarray(from, from + dim), r * width + dim);
      if (queryTable) table.set(queryTable.subarray(from, from + dim), r * width + 2 * dim);
    });
    return {
      table,
      widen: (query) => query.copyWithin(dim, 0, dim),
      widenKey: (key) => key.copyWithin(2 * dim, 0, dim),
    };
  });
}
