// Causal linear attention with the features elu + 1: out_i = sum_{j <= i} w_ij v_j / sum_{j <= i} w_ij, w_ij = f(q_i) f(k_j).
import { random } from '../random.mjs';
import { sample, spread } from '../reference.mjs';

const feature = (x) => (x > 0 ? x + 1 : Math.exp(x));

export function linearAttention(heads, tokens, headDim) {
  const size = heads * tokens * headDim;
  return {
    id: `linear attention ${heads}x${headDim} ${tokens}`,
    title: `causal linear attention, ${heads} heads x ${headDim}, T ${tokens}`,
    operation: 'linearAttention',
    sizes: { heads, tokens, headDim },
    flops: 4 * size * headDim,
    inputs: () => ({ q: random(size, 1), k: random(size, 2), v: random(size, 3) }),
    reference({ q, k, v }) {
      return sample(spread(size, 24), (index) => {
        const [row, d] = [Math.floor(index / headDim), index % headDim];
        const [head, t] = [Math.floor(row / tokens) * tokens, row % tokens];
        let [sum, total] = [0, 0];
        for (let j = head; j <= head + t; ++j) {
          let w = 0;
          for (let i = 0; i < headDim; ++i) w += feature(q[row * headDim + i]) * feature(k[j * headDim + i]);
          sum += w * v[j * headDim + d];
          total += w;
        }
        return sum / total;
      });
    },
  };
}
