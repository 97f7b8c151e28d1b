// Relative attention of Transformer-XL (Dai et al., arXiv:1901.02860).
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import type { Out, ResultOf } from '../runtime/outputs.js';
import { matrix, numbersOf, type TensorInput } from '../runtime/tensor.js';
import type { AttentionResult, ScoreRequest } from './attention.js';
import { attendPerHead, type PerHeadOptions, perHeadCall, perHeadFields } from './per-head.js';

/** Options of transformerXlAttention. */
export interface TransformerXlOptions<S extends ScoreRequest = ScoreRequest, O extends Out = undefined>
  extends PerHeadOptions<S, O> {
  /**
   * R, `[2 maxDistance + 1, H * D]`: W_R s of the distances i - j from -maxDistance to maxDistance, where s is the sinusoidal
   * vector of the distance. Rows of distances that causal order, the window or lengths hide, such as those below 0 in causal
   * order, may hold anything. A key that `mask` hides needs its row.
   */
  table: TensorInput;
  /** u, `[H, D]`: added to queries before they meet keys (`r_w_bias`). */
  contentBias: TensorInput;
  /** v, `[H, D]`: added to queries before they meet the table (`r_r_bias`). */
  positionBias: TensorInput;
  /** Multiplies the sum of both products. Default 1 / sqrt(D). */
  scale?: number;
}

/**
 * Attention of Transformer-XL (Dai et al., arXiv:1901.02860): the score of query i and key j is
 * ((q_i + u) . k_j + (q_i + v) . R_(i - j)) scale, whose first product is the `content` of the scores, the other their
 * `position`. Each head has a table R, u and v of its own. Keys of a memory stand before
 * those of the segment: then the last query is at the last key. A clamp of the distances (`clamp_len`) is one of the
 * positions that the table is made from.
 *
 * @param q [.., H, Tq, D]
 * @param k [.., G, Tk, D]
 * @param v [.., G, Tk, Dv]
 * @throws ArgumentRangeError where a query sees a key farther away than the table has rows for, also if `mask` hides it. Keys
 *   that are hidden otherwise count if the scores asked for show them (`position`, `raw` and `capped` do).
 *
 * @example
 * const distances = { length: 31, offset: -15 };
 * const s = rw.sinusoidal({ dim: 512, positions: distances, layout: 'concatenated' });
 * using project = rw.linear({ weight: { data: rNet, shape: [8 * 64, 512] } });
 * const table = project.apply({ data: s, shape: [31, 512] });
 * const { out } = transformerXlAttention(rw, q, k, v, { table, contentBias, positionBias, causal: true });
 */
export function transformerXlAttention<
  const S extends ScoreRequest = 'none',
  X extends TensorInput = TensorInput,
  O extends Out = undefined,
>(
  rw: Instance,
  q: X,
  k: TensorInput,
  v: TensorInput,
  options: TransformerXlOptions<S, O>,
): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
  const where = 'transformerXlAttention';
  const heap = heapOf(where, rw);
  const names = [...perHeadFields, 'table', 'contentBias', 'positionBias'] as const;
  const given = check.options(where, 'options', options, names);
  const call = perHeadCall(heap, where, [q, k, v], given);
  const { heads, dim } = call.inputs.qs;
  const axes = `[an odd number of distances, ${heads * dim}]`;
  const { input, rows, columns } = matrix(heap, where, 'table', given.table, axes);
  if (rows % 2 === 0 || columns !== heads * dim) throw wrongShape(where, 'table', given.table, input.shape, axes);
  const limit = (rows - 1) / 2;
  if (call.farthest > limit) {
    const problem = `has rows for distances up to ${limit}; this call needs ${call.farthest}`;
    throw new ArgumentRangeError(where, 'table', given.table, problem);
  }
  const biasOf = (name: 'contentBias' | 'positionBias') => {
    const shape = `[${heads}, ${dim}], heads and their size`;
    const bias = matrix(heap, where, name, given[name], shape);
    if (bias.rows === heads && bias.columns === dim) return numbersOf(heap, where, bias.input);
    throw wrongShape(where, name, given[name], bias.input.shape, shape);
  };
  const [contentBias, positionBias] = [biasOf('contentBias'), biasOf('positionBias')];
  const all = numbersOf(heap, where, input);

  // With q' = [q + u, q + v], k' = [k, 0] and rows [0, R].
  const width = 2 * dim;
  return attendPerHead<X, S, O>(call, 'relative_key', given.scale ?? 1 / Math.sqrt(dim), width, (h) => {
    const of = h * dim;
    const table = new Float32Array(rows * width);
    for (let r = 0; r < rows; ++r) {
      table.set(all.subarray(r * columns + of, r * columns + of + dim), r * width + dim);
    }
    return {
      table,
      widen(query) {
        for (let d = 0; d < dim; ++d) {
          const x = query[d] ?? 0;
          query[d] = x + (contentBias[of + d] ?? 0);
          query[dim + d] = x + (positionBias[of + d] ?? 0);
        }
      },
    };
  });
}
