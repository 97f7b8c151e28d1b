// The numbers in the texts of the words figure. Does not use the DOM.
import { outputDim } from './programs';

/** For each place, the largest difference between the output of its word now and at the word's first place. */
export function changes(now: Float32Array, before: Float32Array, order: readonly number[]): number[] {
  return order.map((from, to) => {
    const old = before.subarray(from * outputDim, (from + 1) * outputDim);
    return old.reduce((most, value, d) => Math.max(most, Math.abs(value - (now[to * outputDim + d] ?? 0))), 0);
  });
}
