// Seeded data, and the two comparisons of the tests: within a bound, and bit for bit.
import assert from 'node:assert/strict';

/** Numbers from -1 to 1, the same for the same seed (mulberry32). */
export function random(length, seed = 1) {
  let state = seed >>> 0;
  return Float32Array.from({ length }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
}

export const sizeOf = (shape) => shape.reduce((product, n) => product * n, 1);

/** A plain array input of random numbers. */
export const randomArray = (shape, seed) => ({ data: random(sizeOf(shape), seed), shape });

/** Detaches the buffer of a Float32Array. */
export function detached(array) {
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

/** Fails at the first number whose error exceeds `tolerance` (a number, or one per entry). */
export function assertClose(got, want, tolerance) {
  assert.equal(got.length, want.length, 'as many numbers');
  for (let i = 0; i < want.length; ++i) {
    const allowed = typeof tolerance === 'number' ? tolerance : tolerance[i];
    const error = Math.abs(got[i] - want[i]);
    // NaN is within no tolerance.
    assert.ok(error <= allowed, `[${i}] is ${got[i]}, want ${want[i]} within ${allowed}; the error is ${error}`);
  }
}

/** Fails unless the numbers are equal bit for bit; -0 differs from 0. */
export function assertSameBits(got, want) {
  assert.equal(got.length, want.length, 'as many numbers');
  for (let i = 0; i < want.length; ++i) {
    assert.ok(Object.is(got[i], want[i]), `[${i}] is ${got[i]}, want ${want[i]} bit for bit`);
  }
}

/** Converts [B, H, T, D] to [B, T, H, D]; with tokens and heads exchanged in the shape, back. */
export function swapHeadsAndTokens(data, [batch, heads, tokens, dim]) {
  const swapped = new data.constructor(data.length);
  for (let b = 0; b < batch; ++b) {
    for (let h = 0; h < heads; ++h) {
      for (let t = 0; t < tokens; ++t) {
        const from = ((b * heads + h) * tokens + t) * dim;
        swapped.set(data.subarray(from, from + dim), ((b * tokens + t) * heads + h) * dim);
      }
    }
  }
  return swapped;
}
