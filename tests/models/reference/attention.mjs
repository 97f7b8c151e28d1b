// Softmax attention of one sequence, with all intermediates.
import { dot, softmax } from './parts.mjs';

/**
 * q [T][heads * headDim], k and v [S][kvHeads * headDim] -> scores [heads][T][S] at three stages, and context
 * [T][heads * headDim]; S is T where a sequence attends to itself. Query head h reads key/value head h // (heads / kvHeads).
 *
 * @param keeps (i, j) => whether key j is visible to query i.
 * @param bias (h, i, j) => what is added to the score, or undefined.
 * @param terms (h, i, j, query, key) => what is added to the product of a query and a key, or undefined.
 * @param distances { table [rows][headDim], rowOf: (i, j) => row, keys: whether keys use the table too }, or undefined.
 */
export function attend(f, { q, k, v }, { heads, kvHeads, headDim, scale, softcap, keeps, distances, bias, terms }) {
  const [tokens, keys] = [q.length, k.length];
  const part = (x, t, h) => x[t].subarray(h * headDim, (h + 1) * headDim);
  const grid = () => Array.from({ length: heads }, () => Array.from({ length: tokens }, () => new Float64Array(keys)));
  const [raw, capped, probabilities] = [grid(), grid(), grid()];
  const context = q.map(() => new Float64Array(heads * headDim));
  for (let h = 0; h < heads; ++h) {
    const g = Math.floor(h / (heads / kvHeads));
    for (let i = 0; i < tokens; ++i) {
      const query = part(q, i, h);
      const logits = new Float64Array(keys);
      for (let j = 0; j < keys; ++j) {
        const key = part(k, j, g);
        let score = dot(f, query, key);
        if (distances !== undefined) {
          const far = distances.table[distances.rowOf(i, j)];
          score = f(score + dot(f, query, far));
          if (distances.keys) score = f(score + dot(f, key, far));
        }
        for (const term of terms?.(h, i, j, query, key) ?? []) score = f(score + term);
        raw[h][i][j] = f(score * f(scale));
        const value = raw[h][i][j];
        capped[h][i][j] = softcap == null ? value : f(softcap * f(Math.tanh(f(value / softcap))));
        const biased = bias === undefined ? capped[h][i][j] : f(capped[h][i][j] + f(bias(h, i, j)));
        logits[j] = keeps(i, j) ? biased : Number.NEGATIVE_INFINITY;
      }
      probabilities[h][i] = softmax(f, logits);
      for (let d = 0; d < headDim; ++d) {
        let sum = 0;
        for (let j = 0; j < keys; ++j) sum = f(sum + f(probabilities[h][i][j] * part(v, j, g)[d]));
        context[i][h * headDim + d] = sum;
      }
    }
  }
  return { raw, capped, probabilities, context };
}
