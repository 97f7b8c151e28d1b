// Contextual position encoding, CoPE (Golovneva et al., arXiv:2405.18719).
import * as check from '../runtime/check.js';
import { wrongShape } from '../runtime/errors.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import { matrix, type NdArray, numbersOf, plain, type TensorInput } from '../runtime/tensor.js';
import { type AttentionInputs, type AttentionOptions, attend, inputsOf } from './attention.js';
import { boundsOf, type Visibility, type VisibilityOptions, visibilityOf } from './visibility.js';

/** Options of copeBias; those beside `table` are the ones of the `rw.attention` that takes the bias. */
export interface CopeOptions
  extends VisibilityOptions,
    Pick<AttentionOptions, 'mask' | 'layout' | 'heads' | 'kvHeads'> {
  /** e, `[positions, D]`: a vector for each whole count, the same ones for all heads. At least one. */
  table: TensorInput;
  /** Multiplies q . k in the gates. Default 1 / sqrt(D), as in the paper's code. */
  scale?: number;
}

/**
 * The bias of contextual position encoding, CoPE (Golovneva et al., arXiv:2405.18719), [B, H, Tq, Tk], for `bias` of
 * `rw.attention` with the same queries and keys. A visible key t counts by its gate, sigmoid(q_i . k_t scale). The position of
 * key j is the sum of the gates from j on, in causal order up to the query, and at most the last of the table; the bias is
 * q_i . e of this position, between two rows by linear interpolation.
 *
 * @param q [.., H, Tq, D]
 * @param k [.., G, Tk, D]
 * @throws ArgumentTypeError or ArgumentRangeError where an array has another shape, or a mask does not broadcast.
 *
 * @example
 * const bias = copeBias(rw, q, k, { table: { data: positions, shape: [32, 64] }, causal: true });
 * const { out } = rw.attention(q, k, v, { bias, causal: true });
 */
export function copeBias(rw: Instance, q: TensorInput, k: TensorInput, options: CopeOptions): NdArray {
  const where = 'copeBias';
  const heap = heapOf(where, rw);
  const given = check.options(where, 'options', options, [
    ...(['table', 'scale', 'mask', 'layout', 'heads', 'kvHeads', 'causal', 'queryOffset'] as const),
    ...(['keyPositions', 'keyLengths', 'window', 'sinkTokens'] as const),
  ]);
  const keysInput = check.read(k);
  const inputs = inputsOf(heap, where, [check.read(q), keysInput, keysInput], given);
  const { qs, ks } = inputs;
  const { batch, heads, tokens, dim } = qs;
  const axes = `[positions, ${dim}], with at least one`;
  const table = matrix(heap, where, 'table', given.table, axes);
  if (table.rows === 0 || table.columns !== dim) throw wrongShape(where, 'table', given.table, table.input.shape, axes);

  const queries = plain(heap, where, 'q', numbersOf(heap, where, inputs.q), inputs.q.shape);
  const scoresOf = (
    to: Pick<AttentionInputs, 'k' | 'v' | 'ks' | 'vs'>,
    options: Pick<AttentionOptions, 'scale' | 'mask'>,
    visibility: Visibility,
  ) => {
    const all = { ...inputs, ...to, q: queries, outShape: [batch, heads, tokens, dim] };
    const request = { ...options, returnScores: 'biased' } as const;
    const result = attend<NdArray, 'biased', undefined>(heap, where, all, request, visibility, (fields) =>
      heap.call((core) => core.attention(fields)),
    );
    return result.scores.data;
  };
  const gating = { scale: given.scale ?? 1 / Math.sqrt(dim), ...(given.mask !== undefined && { mask: given.mask }) };
  const logits = scoresOf(inputs, gating, visibilityOf(where, boundsOf(where, given), given, qs, ks));

  // Products with the table, which is one head of keys for each batch entry.
  const rows = numbersOf(heap, where, table.input);
  const repeated = new Float32Array(batch * rows.length);
  for (let b = 0; b < batch; ++b) repeated.set(rows, b * rows.length);
  const positions = plain(heap, where, 'table', repeated, [batch, 1, table.rows, dim]);
  const shape = { tokensFirst: false, batch, heads: 1, tokens: table.rows, dim };
  const everything = visibilityOf(where, boundsOf(where, {}), {}, qs, shape);
  const products = scoresOf({ k: positions, v: positions, ks: shape, vs: shape }, { scale: 1 }, everything);

  const bias = new Float32Array(logits.length);
  for (let row = 0; row < batch * heads * tokens; ++row) {
    let position = 0;
    for (let j = ks.tokens - 1; j >= 0; --j) {
      const at = row * ks.tokens + j;
      position += 1 / (1 + Math.exp(-(logits[at] ?? 0)));
      const place = Math.min(position, table.rows - 1);
      const [below, above] = [Math.floor(place), Math.ceil(place)].map((p) => products[row * table.rows + p] ?? 0) as [
        number,
        number,
      ];
      bias[at] = below + (place - Math.floor(place)) * (above - below);
    }
  }
  return { data: bias, shape: [batch, heads, tokens, ks.tokens] };
}
