// The sinusoidal table: sin and cos interleaved, positions 0 .. rows - 1.
import { frequency, sample, spread } from '../reference.mjs';

function sinusoid(rows, dim) {
  return {
    id: `sinusoid ${rows}x${dim}`,
    title: `sinusoidal table ${rows} x ${dim}`,
    operation: 'sinusoid',
    sizes: { rows, dim },
    bytes: rows * dim * 4,
    inputs: () => ({}),
    reference: () =>
      sample(spread(rows * dim, 20001), (index) => {
        const angle = Math.floor(index / dim) * frequency((index % dim) >> 1, dim);
        return index % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
      }),
  };
}

export const works = [sinusoid(8192, 512)];
