// Rotary position embedding of queries and keys, both [1, H, T, D], at consecutive positions from `offset`.
import { random } from '../random.mjs';
import { sample, spread, turned } from '../reference.mjs';

export function rope(pairing, heads, tokens, headDim, offset = 0, note = '') {
  const size = heads * tokens * headDim;
  return {
    id: `rope ${pairing} ${heads}x${tokens}x${headDim}`,
    title: `RoPE ${pairing}, q and k [1, ${heads}, ${tokens}, ${headDim}]${note}`,
    operation: 'rope',
    sizes: { pairing, heads, tokens, headDim, offset },
    bytes: 4 * size * 4, // q and k, read and written
    inputs: () => ({ q: random(size, 1), k: random(size, 2) }),
    // The result is q, then k.
    reference({ q, k }) {
      return sample(spread(2 * size, 4001), (index) => {
        const [x, at] = index < size ? [q, index] : [k, index - size];
        const row = Math.floor(at / headDim);
        const position = offset + (row % tokens);
        return turned(x.subarray(row * headDim, (row + 1) * headDim), position, pairing)[at % headDim];
      });
    },
  };
}

export const works = ['half', 'interleaved'].flatMap((pairing) => [
  rope(pairing, 32, 2048, 128),
  rope(pairing, 9, 512, 64),
  rope(pairing, 32, 1, 128, 1000, ', decode'),
  rope(pairing, 1, 1, 2, 1000, ', the call alone'),
]);
