// ALiBi's slopes and biases against float64 and published numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, OutOfMemoryError } from 'ropewalk';
import { assertClose, assertSameBits } from '../support/arrays.mjs';
import { notAChoice, notAnInteger, notOptions, required } from '../support/bad-values.mjs';
import { grid, slopes } from '../support/bias-reference.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const last = 2 ** 53 - 1;
const relative = (want, by) => want.map((value) => by * Math.abs(value));

// To bfloat16's eight bits.
function bfloat16(x) {
  const unit = 2 ** (Math.floor(Math.log2(x)) - 7);
  return Math.round(x / unit) * unit;
}

const forms = {
  symmetric: (slope, i, j, offset) => -slope * Math.abs(i + offset - j),
  bloom: (slope, _i, j) => slope * j,
  mpt: (slope, _i, j, _offset, keys) => slope * (j - (keys - 1)),
  falcon: (slope, _i, j) => bfloat16(slope) * j,
};

await onEachBuild((rw) => {
  test('the slopes of 6, 8 and 12 heads are the published ones', () => {
    const eight = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625];
    assertSameBits(rw.alibiSlopes(8), eight);
    // biome-ignore lint/suspicious/noApproximativeNumericConstant: the digits as published
    assertClose(rw.alibiSlopes(12), [...eight, 0.7071068, 0.3535534, 0.1767767, 0.08838835], 5e-8);
    assertClose(rw.alibiSlopes(6), [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125], 0);
  });

  test('the slopes of any number of heads are those of float64', () => {
    for (const heads of [...Array.from({ length: 70 }, (_, n) => n + 1), 127, 128, 129, 1000, 2 ** 16]) {
      const want = slopes(heads);
      const got = rw.alibiSlopes(heads);
      assert.equal(got.constructor, Float64Array);
      // A power in JavaScript is good to a unit of the last place.
      assertClose(got, want, relative(want, 2 ** -51));
    }
  });

  for (const [variant, form] of Object.entries(forms)) {
    test(`the ${variant} bias is that of float64 at every head, query and key`, () => {
      for (const [heads, queries, keys] of [
        [1, 1, 1],
        [8, 1, 100],
        [12, 5, 3],
        [6, 4, 9],
        [3, 7, 7],
      ]) {
        for (const queryOffset of [undefined, 0, 3, -4, 2 ** 31, 2 ** 40 + 1]) {
          const offset = queryOffset ?? keys - queries;
          const all = slopes(heads);
          const want = grid(heads, queries, keys, (h, i, j) => form(all[h], i, j, offset, keys));
          const got = rw.alibiBias({
            heads,
            queries,
            keys,
            variant,
            ...(queryOffset !== undefined && { queryOffset }),
          });
          assert.deepEqual(got.shape, [heads, queries, keys]);
          assert.equal(got.data.constructor, Float32Array);
          assertClose(got.data, want, relative(want, 1.0001 * 2 ** -24));
        }
      }
    });
  }

  test('the defaults are symmetric, with the last query at the last key', () => {
    const got = rw.alibiBias({ heads: 3, queries: 2, keys: 5 }).data;
    assertSameBits(got, rw.alibiBias({ heads: 3, queries: 2, keys: 5, queryOffset: 3, variant: 'symmetric' }).data);
    for (let h = 0; h < 3; ++h) assert.ok(got[h * 10 + 9] === 0, 'the distance of the last two is 0');
  });

  test('a bias of no queries or no keys is empty', () => {
    for (const [queries, keys] of [
      [0, 4],
      [4, 0],
      [0, 0],
    ]) {
      const { data, shape } = rw.alibiBias({ heads: 2, queries, keys });
      assert.deepEqual([data.length, shape], [0, [2, queries, keys]]);
    }
  });

  test('a decoding step has the last row of the whole bias', () => {
    const whole = rw.alibiBias({ heads: 1, queries: 9, keys: 9 }).data;
    assertSameBits(rw.alibiBias({ heads: 1, queries: 1, keys: 9 }).data, whole.subarray(72));
  });

  test('the variants differ by a number per query under a causal mask', () => {
    const size = { heads: 5, queries: 6, keys: 6 };
    const symmetric = rw.alibiBias(size).data;
    for (const variant of ['bloom', 'mpt']) {
      const other = rw.alibiBias({ ...size, variant }).data;
      for (let row = 0; row < 30; ++row) {
        for (let j = 0; j <= row % 6; ++j) {
          const difference = other[row * 6 + j] - symmetric[row * 6 + j];
          assert.ok(Math.abs(difference - (other[row * 6] - symmetric[row * 6])) <= 2 ** -20, variant);
        }
      }
    }
  });

  test('falcon rounds 0.7071 to 0.70703125', () => {
    const { data } = rw.alibiBias({ heads: 12, queries: 1, keys: 2, variant: 'falcon' });
    assert.equal(data[2 * 8 + 1], 0.70703125);
  });

  test('the symmetric bias is the same seen from either side', () => {
    const { data } = rw.alibiBias({ heads: 1, queries: 5, keys: 5, queryOffset: 0 });
    for (let i = 0; i < 5; ++i) for (let j = 0; j < 5; ++j) assert.equal(data[5 * i + j], data[5 * j + i]);
  });

  test('the farthest offsets give finite biases', () => {
    for (const queryOffset of [last, -last]) {
      const { data } = rw.alibiBias({ heads: 1, queries: 2, keys: 2, queryOffset });
      assertClose(data, Array(4).fill(-last / 256), last * 2 ** -32);
    }
  });
});

const rw = await load({ simd: 'deterministic' });
const heads = required(notAnInteger({ min: 1, max: 2 ** 16 }));
const count = required(notAnInteger({ min: 0, max: 2 ** 24 }));
const bias = (more) => rw.alibiBias({ heads: 2, queries: 2, keys: 2, ...more });
testAllRefusals(rw, 'alibiSlopes', { heads: [heads, (value) => rw.alibiSlopes(value)] });
testAllRefusals(rw, 'alibiBias', {
  heads: [heads, (heads) => bias({ heads })],
  queries: [count, (queries) => bias({ queries })],
  keys: [count, (keys) => bias({ keys })],
  queryOffset: [notAnInteger({ min: -last, max: last }), (queryOffset) => bias({ queryOffset })],
  variant: [notAChoice, (variant) => bias({ variant })],
  options: [required(notOptions), (options) => rw.alibiBias(options)],
});
testUnknownOptions(rw, 'alibiBias', ['nonsense', 'head', 'offset', 'constructor'], bias);
testMisfits(rw, 'alibiBias', {
  'what the heap has no room for': [OutOfMemoryError, 'alibiBias', () => bias({ queries: 2 ** 24, keys: 2 ** 24 })],
});
