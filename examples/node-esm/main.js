// node main.js
// The score of a rotated query and a rotated key depends on their distance, not on where they are.
import { load } from 'ropewalk';

const rw = await load();
const headDim = 64;
const plan = rw.rope({ headDim, base: 10000, pairing: 'half' });

const vector = Float32Array.from({ length: headDim }, (_, i) => Math.sin(i + 1));
const at = (position) => plan.rotate(vector, { positions: [position] }); // a copy; the vector stays
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

for (const distance of [0, 1, 10, 100]) {
  const near = dot(at(distance), at(0));
  const far = dot(at(2 ** 40 + distance), at(2 ** 40));
  console.log(`distance ${distance}: ${near.toFixed(4)} at the start, ${far.toFixed(4)} at position 2^40`);
}
