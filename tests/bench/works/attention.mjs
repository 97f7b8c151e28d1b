// Scaled dot-product attention, softmax(q kT / sqrt(D)) v, on [1, H, T, D].
import { random } from '../random.mjs';
import { attend, sample, spread } from '../reference.mjs';

export function attention(heads, tokens, headDim, causal) {
  const size = heads * tokens * headDim;
  const kind = causal ? 'causal' : 'full';
  return {
    id: `attention ${heads}x${headDim} ${tokens} ${kind}`,
    title: `attention core, ${heads} heads x ${headDim}, T ${tokens}, ${kind}`,
    operation: 'attention',
    sizes: { heads, tokens, headDim, causal },
    flops: (4 * heads * tokens * tokens * headDim) / (causal ? 2 : 1),
    inputs: () => ({ q: random(size, 1), k: random(size, 2), v: random(size, 3) }),
    reference({ q, k, v }) {
      const row = (x, h, t) => x.subarray((h * tokens + t) * headDim, (h * tokens + t + 1) * headDim);
      const places = spread(heads * tokens, 7).flatMap((r) =>
        Array.from({ length: headDim }, (_, d) => r * headDim + d),
      );
      const wanted = new Map();
      return sample(places, (index) => {
        const at = Math.floor(index / headDim);
        const [h, t] = [Math.floor(at / tokens), at % tokens];
        const seen = Array.from({ length: causal ? t + 1 : tokens }, (_, j) => j);
        if (!wanted.has(at)) {
          const [keys, values] = [k, v].map((x) => seen.map((j) => row(x, h, j)));
          wanted.set(at, attend(row(q, h, t), keys, values));
        }
        return wanted.get(at)[index % headDim];
      });
    },
  };
}

export const works = [false, true].flatMap((causal) => [128, 512, 2048].map((T) => attention(8, T, 64, causal)));
