// Sandwich: its bias against the formula, attention with it, and refused arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertClose, assertSameBits, randomArray } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';

// In float64, from the formula: [H, Tq, Tk].
function reference(heads, dim, base, queries, keys, queryOffset) {
  const biasOf = (h, distance) => {
    let sum = 0;
    for (let k = 0; k < dim / 2; ++k) sum += Math.cos(distance * base ** ((-2 * k) / dim));
    return sum / ((8 * (h + 1)) / heads);
  };
  const size = queries * keys;
  return Array.from({ length: heads * size }, (_, n) =>
    biasOf(Math.floor(n / size), (Math.floor(n / keys) % queries) + queryOffset - (n % keys)),
  );
}

await onEachBuild((rw) => {
  test('the bias is the sum of cosines over the ratio of each head', () => {
    for (const [heads, dim, base] of [
      [1, 2, 10000],
      [3, 10, 500],
      [12, 128, 10000],
    ]) {
      for (const [queries, keys, queryOffset] of [
        [1, 1, 0],
        [4, 9, -2],
        [2, 67, 1000],
        [2, 0, 0],
      ]) {
        const { data, shape } = rw.sandwichBias({ heads, dim, base, queries, keys, queryOffset });
        assert.deepEqual(shape, [heads, queries, keys]);
        const want = reference(heads, dim, base, queries, keys, queryOffset);
        // One rounding; the reference's angles at a thousand are off by 1e-13 each.
        assertClose(data, want, (dim * heads) / 16 / 2 ** 24);
      }
    }
  });

  test('it is the product of sinusoidal vectors, and has 128 coordinates unless told otherwise', () => {
    const dim = 128;
    const vectors = rw.sinusoidal({ dim, positions: [0, 1, 2, 3] });
    const { data } = rw.sandwichBias({ heads: 8, queries: 1, keys: 4, queryOffset: 3 });
    for (let j = 0; j < 4; ++j) {
      let product = 0;
      for (let d = 0; d < dim; ++d) product += vectors[3 * dim + d] * vectors[j * dim + d];
      for (let h = 0; h < 8; ++h) assertClose([data[h * 4 + j]], [product / (h + 1)], 1e-5);
    }
  });

  test('attention with it is attention with its bias', () => {
    const [q, k, v] = [1, 2, 3].map((seed) => randomArray([1, 2, 70, 4], seed));
    const bias = rw.sandwichBias({ heads: 2, dim: 6, base: 100, queries: 70, keys: 70 });
    const position = { encoding: 'sandwich', dim: 6, base: 100 };
    const [got, want] = [{ position }, { bias }].map((options) => rw.attention(q, k, v, { causal: true, ...options }));
    assertSameBits(got.out.data, want.out.data);
  });

  test('arguments out of range are refused by name', () => {
    const refused = [
      [{ heads: 0 }, /heads is 0/],
      [{ dim: 5 }, /dim is 5; expected an even number/],
      [{ dim: 0 }, /dim is 0/],
      [{ base: 1 }, /base is 1/],
      [{ base: -2 }, /base is -2/],
      [{ keys: -1 }, /keys is -1/],
    ];
    for (const [options, message] of refused) {
      const call = () => rw.sandwichBias({ heads: 2, queries: 2, keys: 2, ...options });
      assert.throws(call, { name: 'ArgumentRangeError', message });
    }
    const call = () => rw.sandwichBias({ heads: 2, dim: '8', queries: 2, keys: 2 });
    assert.throws(call, { name: 'ArgumentTypeError', message: /dim/ });
    const x = randomArray([1, 2, 2, 4], 1);
    const position = { encoding: 'sandwich', dim: 3 };
    assert.throws(() => rw.attention(x, x, x, { position }), { message: /position\.dim is 3/ });
  });
});

test('both builds have the same bits', async () => {
  const { load } = await import('ropewalk');
  const builds = await Promise.all([load(), load({ simd: 'deterministic' })]);
  const [one, other] = builds.map((rw) => rw.sandwichBias({ heads: 4, queries: 5, keys: 400 }).data);
  assertSameBits(one, other);
});
