// What the words figure tells of its numbers. Knows nothing of the DOM.
import { outputDim } from './programs';

/** For each place, the largest difference between what the word there gives now and what it gave where it stood. */
export function changes(now: Float32Array, before: Float32Array, order: readonly number[]): number[] {
  return order.map((from, to) => {
    const old = before.subarray(from * outputDim, (from + 1) * outputDim);
    return old.reduce((most, value, d) => Math.max(most, Math.abs(value - (now[to * outputDim + d] ?? 0))), 0);
  });
}
