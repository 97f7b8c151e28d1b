// Scaled dot-product attention against float64: sizes, heads, causal offsets, scale, scores. For masks see
// mask.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, randomArray } from '../support/arrays.mjs';
import { attention, inputs } from '../support/attention-reference.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testMisfits } from '../support/refusals.mjs';

const eps = 2 ** -24;

// Values are at most 1. A score of D products is off by up to (D + 2) eps D / sqrt(D) at worst, in practice by a few
// eps; a weight's relative error is the score's, and the weighted sum adds its own.
const tolerance = (dim) => (16 + 2 * Math.sqrt(dim)) * eps;

await onEachBuild((rw) => {
  const sizes = [
    { queries: 1, keys: 1, dim: 1 },
    { queries: 1, keys: 7, dim: 3 },
    { queries: 5, keys: 2, dim: 8, valueDim: 1 },
    { batch: 2, heads: 3, queries: 4, keys: 6, dim: 5, valueDim: 9 },
    { batch: 3, heads: 4, groups: 2, queries: 3, keys: 5, dim: 16 },
    { heads: 6, groups: 1, queries: 2, keys: 33, dim: 64 },
    { heads: 2, queries: 70, keys: 70, dim: 32 },
    { heads: 1, queries: 3, keys: 300, dim: 20, valueDim: 130 },
  ];
  for (const size of sizes) {
    test(`attention is that of float64 for ${JSON.stringify(size)}`, () => {
      const [q, k, v] = inputs(size);
      for (const causalOffset of [undefined, size.keys - size.queries, 0, 2, -1]) {
        const want = attention(q, k, v, { causalOffset });
        const causal = causalOffset === undefined ? {} : { causal: true, queryOffset: causalOffset };
        const got = rw.attention(q, k, v, { ...causal, returnScores: 'probabilities' });
        assert.deepEqual(got.out.shape, [...q.shape.slice(0, 3), v.shape[3]]);
        assert.deepEqual(got.scores.shape, [...q.shape.slice(0, 3), size.keys]);
        assertClose(got.out.data, want.out, tolerance(size.dim));
        assertClose(got.scores.data, want.scores, tolerance(size.dim));
      }
    });
  }

  for (let n = 1; n <= 40; ++n) {
    test(`${n} queries, keys and coordinates are right at every remainder of the vector width`, () => {
      const [q, k, v] = inputs({ queries: n, keys: n + 1, dim: n, valueDim: n + 2, seed: n });
      assertClose(rw.attention(q, k, v).out.data, attention(q, k, v).out, tolerance(n));
    });
  }

  test('the default query offset puts the last query at the last key', () => {
    const [q, k, v] = inputs({ heads: 2, queries: 3, keys: 7, dim: 4 });
    const got = rw.attention(q, k, v, { causal: true }).out.data;
    assertSameBits(got, rw.attention(q, k, v, { causal: true, queryOffset: 4 }).out.data);
    assertClose(got, attention(q, k, v, { causalOffset: 4 }).out, tolerance(4));
  });

  test('a query offset without causal changes nothing, and a far one hides all or nothing', () => {
    const [q, k, v] = inputs({ queries: 3, keys: 7, dim: 4 });
    const all = rw.attention(q, k, v).out.data;
    assertSameBits(rw.attention(q, k, v, { queryOffset: -100 }).out.data, all);
    const far = 2 ** 53 - 1;
    assertSameBits(rw.attention(q, k, v, { causal: true, queryOffset: far }).out.data, all);
    assertSameBits(rw.attention(q, k, v, { causal: true, queryOffset: -far }).out.data, new Float32Array(12));
  });

  test('scale multiplies the scores', () => {
    const [q, k, v] = inputs({ heads: 2, queries: 3, keys: 5, dim: 6 });
    for (const scale of [0, 1, -2, 0.1]) {
      const want = attention(q, k, v, { scale });
      assertClose(rw.attention(q, k, v, { scale }).out.data, want.out, 2 * tolerance(6));
    }
    const uniform = rw.attention(q, k, v, { scale: 0, returnScores: 'probabilities' }).scores.data;
    assertClose(uniform, new Float64Array(30).fill(1 / 5), eps);
  });

  test('scores that would overflow exp are softened by their maximum', () => {
    const [q, k, v] = inputs({ queries: 4, keys: 6, dim: 8 });
    const large = { data: q.data.map((x) => 1e4 * x), shape: q.shape };
    const { out, scores } = rw.attention(large, k, v, { returnScores: 'probabilities' });
    assert.ok([...out.data, ...scores.data].every(Number.isFinite));
    for (let i = 0; i < 4; ++i) {
      const sum = scores.data.subarray(6 * i, 6 * i + 6).reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - 1) <= 8 * eps, `${sum}`);
    }
  });

  test('grouped heads are heads whose keys and values are repeated', () => {
    const [q, k, v] = inputs({ batch: 2, heads: 6, groups: 2, queries: 4, keys: 5, dim: 8 });
    const repeated = ({ data, shape: [batch, groups, keys, dim] }) => {
      const size = keys * dim;
      const head = (h) => data.subarray(h * size, (h + 1) * size);
      const heads = Array.from({ length: batch * 6 }, (_, h) =>
        head(Math.floor(h / 6) * groups + Math.floor((h % 6) / 3)),
      );
      return { data: Float32Array.from(heads.flatMap((h) => [...h])), shape: [batch, 6, keys, dim] };
    };
    assertSameBits(rw.attention(q, k, v).out.data, rw.attention(q, repeated(k), repeated(v)).out.data);
  });

  test('asking for the scores does not change the result', () => {
    const [q, k, v] = inputs({ heads: 2, queries: 9, keys: 11, dim: 12 });
    const plain = rw.attention(q, k, v, { causal: true });
    assert.equal('scores' in plain, false);
    assert.equal('scores' in rw.attention(q, k, v, { causal: true, returnScores: 'none' }), false);
    const both = rw.attention(q, k, v, { causal: true, returnScores: 'probabilities' });
    assertClose(both.out.data, plain.out.data, 16 * eps);
  });

  test('tensors in any place are read and left alone', () => {
    const plains = inputs({ heads: 2, queries: 3, keys: 4, dim: 8 });
    const tensors = plains.map(({ data, shape }) => rw.tensor(shape, data));
    const want = rw.attention(...plains).out.data;
    for (let mix = 0; mix < 8; ++mix) {
      const { out } = rw.attention(...plains.map((plain, i) => ((mix >> i) & 1 ? tensors[i] : plain)));
      // The queries decide in which form the result comes.
      assertSameBits(mix & 1 ? out.data() : out.data, want);
      if (mix & 1) out.dispose();
    }
    tensors.forEach((tensor, i) => {
      assertSameBits(tensor.data(), plains[i].data);
      tensor.dispose();
    });
  });

  test('the same tensor may be queries, keys and values', () => {
    const [x] = inputs({ heads: 2, queries: 5, keys: 5, dim: 4 });
    const tensor = rw.tensor(x.shape, x.data);
    const { out } = rw.attention(tensor, tensor, tensor, { causal: true });
    assertSameBits(out.data(), rw.attention(x, x, x, { causal: true }).out.data);
    out.dispose();
    tensor.dispose();
  });

  test('without keys every query gives zeros, without queries there is nothing', () => {
    const [q, k, v] = inputs({ heads: 2, queries: 3, keys: 0, dim: 4 });
    assertSameBits(rw.attention(q, k, v).out.data, new Float32Array(24));
    const none = inputs({ heads: 2, queries: 0, keys: 3, dim: 4 });
    assert.deepEqual(rw.attention(...none).out.shape, [1, 2, 0, 4]);
    const noBatch = inputs({ batch: 0, heads: 2, queries: 3, keys: 3, dim: 4 });
    assert.equal(rw.attention(...noBatch).out.data.length, 0);
  });

  test('NaN in a query stays in its row', () => {
    const [q, k, v] = inputs({ queries: 3, keys: 4, dim: 4 });
    const clean = rw.attention(q, k, v).out.data;
    q.data[5] = Number.NaN;
    const got = rw.attention(q, k, v).out.data;
    assertSameBits(got.subarray(0, 4), clean.subarray(0, 4));
    assertSameBits(got.subarray(8), clean.subarray(8));
    assert.ok(got.subarray(4, 8).every(Number.isNaN));
  });

  test('rows of scores sum to 1, and an order of the keys is no matter', () => {
    const size = fc.record({
      queries: fc.integer({ min: 1, max: 9 }),
      keys: fc.integer({ min: 1, max: 40 }),
      dim: fc.integer({ min: 1, max: 20 }),
      seed: fc.nat(),
    });
    const property = fc.property(size, fc.integer({ min: 1, max: 39 }), (size, shift) => {
      const [q, k, v] = inputs(size);
      const { out, scores } = rw.attention(q, k, v, { returnScores: 'probabilities' });
      for (let i = 0; i < size.queries; ++i) {
        const sum = scores.data.subarray(i * size.keys, (i + 1) * size.keys).reduce((a, b) => a + b, 0);
        assert.ok(Math.abs(sum - 1) <= (4 + size.keys) * eps);
      }
      const moved = ({ data, shape }) => {
        const by = (shift % size.keys) * size.dim;
        return { data: Float32Array.of(...data.subarray(by), ...data.subarray(0, by)), shape };
      };
      assertClose(rw.attention(q, moved(k), moved(v)).out.data, out.data, tolerance(size.dim));
    });
    fc.assert(property, { seed: 7, numRuns: 200 });
  });
});

const rw = await load({ simd: 'deterministic' });
const [q, k, v] = inputs({ batch: 2, heads: 4, groups: 2, queries: 3, keys: 5, dim: 6 });
const other = (x, shape) => randomArray(shape.map((n, axis) => n ?? x.shape[axis]));
const with_ = { dim: [null, null, null, 7], batch: [3, null, null, null], keys: [null, null, 4, null] };
testMisfits(rw, 'attention', {
  'keys of another head size': [RangeError, ['k', '7', '6'], () => rw.attention(q, other(k, with_.dim), v)],
  'keys of another batch size': [RangeError, ['k', '3', '2'], () => rw.attention(q, other(k, with_.batch), v)],
  'values of another batch size': [RangeError, ['v', '3', '2'], () => rw.attention(q, k, other(v, with_.batch))],
  'values of another length': [RangeError, ['v', '4', '5'], () => rw.attention(q, k, other(v, with_.keys))],
  'values of another number of heads': [
    RangeError,
    ['v', '4', '2'],
    () => rw.attention(q, k, other(v, [null, 4, null, null])),
  ],
  'key heads that do not divide the query heads': [
    RangeError,
    ['k', '3', '4'],
    () => rw.attention(q, other(k, [null, 3, null, null]), other(v, [null, 3, null, null])),
  ],
  'no key heads': [
    RangeError,
    ['k', '0'],
    () => rw.attention(q, other(k, [null, 0, null, null]), other(v, [null, 0, null, null])),
  ],
  'heads of size 0': [
    RangeError,
    'q',
    () => rw.attention(other(q, [null, null, null, 0]), other(k, [null, null, null, 0]), v),
  ],
});
