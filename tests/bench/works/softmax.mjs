// Softmax over the rows of a matrix.
import { random } from '../random.mjs';
import { sample, softmax, spread } from '../reference.mjs';

function rows(count, columns) {
  return {
    id: `softmax ${count}x${columns}`,
    title: `softmax ${count} x ${columns}`,
    operation: 'softmax',
    sizes: { rows: count, columns },
    bytes: 2 * 4 * count * columns,
    inputs: () => ({ x: random(count * columns, 1).map((v) => 8 * v) }),
    reference({ x }) {
      const wanted = new Map(spread(count, 9).map((r) => [r, softmax(x.subarray(r * columns, (r + 1) * columns))]));
      const places = [...wanted.keys()].flatMap((r) => Array.from({ length: columns }, (_, c) => r * columns + c));
      return sample(places, (index) => wanted.get(Math.floor(index / columns))[index % columns]);
    },
  };
}

export const works = [rows(4096, 512), rows(1536, 128)];
