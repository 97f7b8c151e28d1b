// Layer norm and RMS norm against float64.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { assertClose, assertSameBits, randomArray } from '../support/arrays.mjs';
import { notABoolean, notAShape, notFloats, notOptions, notPositive, required } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const unit = 2 ** -24;
const sum = (values) => values.reduce((a, b) => a + b, 0);

// Row by row in float64. `largest` is that of the row before weight and bias.
function reference({ data, shape }, { center, eps, weight, bias, offset = 0 }) {
  const n = shape.at(-1);
  const result = { data: [], largest: [] };
  for (let start = 0; start < data.length; start += n) {
    const row = [...data.subarray(start, start + n)];
    const mean = center ? sum(row) / n : 0;
    const plain = row.map((v) => (v - mean) / Math.sqrt(sum(row.map((u) => (u - mean) ** 2)) / n + eps));
    const largest = Math.max(1, ...plain.map(Math.abs));
    plain.forEach((v, i) => {
      result.data.push(v * ((weight?.[i] ?? 1 - offset) + offset) + (bias?.[i] ?? 0));
      result.largest.push(largest);
    });
  }
  return result;
}

// n / 16 + 6 roundings in each sum, 8 after them, as shares of the largest result; weight and bias are at most 2.
function assertNormed(got, x, options) {
  const want = reference(x, options);
  assert.deepEqual(got.shape, x.shape);
  const roundings = 2 * (x.shape.at(-1) / 16 + 6) + 8;
  assertClose(
    got.data,
    want.data,
    want.largest.map((largest) => roundings * unit * 3 * largest),
  );
}

const shapes = [[1], [5], [3, 1], [2, 3, 4], [4, 33], [2, 1, 2, 64], [3, 768]];

await onEachBuild((rw) => {
  test('layerNorm is that of float64, with and without weight and bias', () => {
    for (const shape of shapes) {
      const x = randomArray(shape, 1);
      const [{ data: weight }, { data: bias }] = [randomArray([shape.at(-1)], 2), randomArray([shape.at(-1)], 3)];
      assertNormed(rw.layerNorm(x), x, { center: true, eps: 1e-5 });
      assertNormed(rw.layerNorm(x, { weight, eps: 1e-12 }), x, { center: true, weight, eps: 1e-12 });
      assertNormed(rw.layerNorm(x, { bias, eps: 0.5 }), x, { center: true, bias, eps: 0.5 });
      assertNormed(rw.layerNorm(x, { weight, bias }), x, { center: true, weight, bias, eps: 1e-5 });
    }
  });

  test('rmsNorm is that of float64, with the weight as it is or less 1', () => {
    for (const shape of shapes) {
      const x = randomArray(shape, 1);
      const { data: weight } = randomArray([shape.at(-1)], 2);
      assertNormed(rw.rmsNorm(x), x, { eps: 1e-6 });
      assertNormed(rw.rmsNorm(x, { unitOffset: true }), x, { eps: 1e-6 });
      assertNormed(rw.rmsNorm(x, { weight, eps: 1e-5 }), x, { weight, eps: 1e-5 });
      assertNormed(rw.rmsNorm(x, { weight, unitOffset: true }), x, { weight, offset: 1, eps: 1e-6 });
    }
  });

  test('a mean of 10000 costs nothing, nor do numbers whose squares float32 does not hold', () => {
    const x = randomArray([2, 768], 4);
    const far = { data: x.data.map((v) => v + 10000), shape: x.shape };
    assertNormed(rw.layerNorm(far, { eps: 1e-12 }), far, { center: true, eps: 1e-12 });
    for (const size of [1e-25, 1e25]) {
      const scaled = { data: x.data.map((v) => v * size), shape: x.shape };
      const eps = 1e-20 * size * size;
      assertNormed(rw.layerNorm(scaled, { eps }), scaled, { center: true, eps });
      assertNormed(rw.rmsNorm(scaled, { eps }), scaled, { eps });
    }
  });

  test('tensors in any place give tensors with the same bits, and nothing given is changed', () => {
    const [x, weight, bias] = [randomArray([2, 3, 5], 1), randomArray([5], 2), randomArray([5], 3)];
    const tensors = [x, weight, bias].map(({ data, shape }) => rw.tensor(shape, data));
    const want = rw.layerNorm(x, { weight: weight.data, bias: bias.data }).data;
    for (const [w, b] of [
      [weight, bias],
      [tensors[1], { data: bias.data, dims: bias.shape }],
    ]) {
      assertSameBits(rw.layerNorm(x, { weight: w, bias: b }).data, want);
      const { liveObjects } = rw.memory();
      const got = rw.layerNorm(tensors[0], { weight: w, bias: b });
      assert.equal(rw.memory().liveObjects, liveObjects + 1);
      assert.deepEqual(got.shape, [2, 3, 5]);
      assertSameBits(got.data(), want);
      got.dispose();
    }
    const rms = rw.rmsNorm(tensors[0], { weight: tensors[1] });
    assertSameBits(rms.data(), rw.rmsNorm(x, { weight: weight.data }).data);
    rms.dispose();
    [x, weight, bias].forEach(({ data, shape }, i) => {
      assertSameBits(data, randomArray(shape, i + 1).data);
      assertSameBits(tensors[i].data(), data);
      tensors[i].dispose();
    });
  });

  test('no rows, or rows of nothing, give nothing', () => {
    for (const shape of [[0], [0, 4], [3, 0]]) {
      for (const norm of ['layerNorm', 'rmsNorm']) {
        assert.deepEqual(rw[norm]({ data: new Float32Array(0), shape }), { data: new Float32Array(0), shape });
      }
    }
  });

  test('NaN stays in its row', () => {
    const x = randomArray([3, 7], 5);
    for (const norm of ['layerNorm', 'rmsNorm']) {
      const want = rw[norm](x).data;
      const spoilt = Float32Array.from(x.data);
      spoilt[9] = Number.NaN;
      const got = rw[norm]({ data: spoilt, shape: x.shape }).data;
      assertSameBits(got.subarray(0, 7), want.subarray(0, 7));
      assertSameBits(got.subarray(14), want.subarray(14));
      assert.ok(got.subarray(7, 14).every(Number.isNaN));
    }
  });
});

const rw = await load({ simd: 'deterministic' });
const x = randomArray([2, 3, 4], 1);
const other = await load({ simd: 'deterministic' });
const foreign = other.tensor([4]);
const disposed = rw.tensor([4]);
disposed.dispose();

// Both ways to give a row of numbers.
const vectors = (name, norm) => ({
  [name]: [notFloats(4), (value) => rw[norm](x, { [name]: value })],
  [`${name}.shape`]: [notAShape, (shape) => rw[norm](x, { [name]: { data: new Float32Array(4), shape } })],
});

for (const norm of ['layerNorm', 'rmsNorm']) {
  testAllRefusals(rw, norm, {
    options: [notOptions, (options) => rw[norm](x, options)],
    x: [required(notFloats(24)), (data) => rw[norm]({ data, shape: x.shape })],
    'x.shape': [notAShape, (shape) => rw[norm]({ data: x.data, shape })],
    eps: [notPositive, (eps) => rw[norm](x, { eps })],
    ...vectors('weight', norm),
    ...(norm === 'layerNorm' ? vectors('bias', norm) : {}),
  });
  testUnknownOptions(
    rw,
    norm,
    ['nonsense', 'epsilon', 'constructor', norm === 'layerNorm' ? 'unitOffset' : 'bias'],
    (o) => rw[norm](x, o),
  );
  testMisfits(rw, norm, {
    'a number without axes': [RangeError, ['x', '[]'], () => rw[norm](randomArray([]))],
    'a weight of another length': [
      RangeError,
      ['weight', '3', '4'],
      () => rw[norm](x, { weight: new Float32Array(3) }),
    ],
    'a weight whose data do not fit its shape': [
      RangeError,
      ['weight', '3', '[4]'],
      () => rw[norm](x, { weight: { data: new Float32Array(3), shape: [4] } }),
    ],
    'a weight of doubles': [
      TypeError,
      ['weight.data', 'Float64Array(4)'],
      () => rw[norm](x, { weight: { data: new Float64Array(4), shape: [4] } }),
    ],
    'a weight of two axes': [
      RangeError,
      ['weight', '[1, 4]', '[4]'],
      () => rw[norm](x, { weight: { data: new Float32Array(4), shape: [1, 4] } }),
    ],
    'a weight of another instance': [StateError, ['weight', 'instance'], () => rw[norm](x, { weight: foreign })],
    'a disposed weight': [StateError, ['weight', 'disposed'], () => rw[norm](x, { weight: disposed })],
    'an x of another instance': [StateError, ['x', 'instance'], () => rw[norm](foreign)],
    'a disposed x': [StateError, ['x', 'disposed'], () => rw[norm](disposed)],
  });
}
testAllRefusals(rw, 'rmsNorm', { unitOffset: [notABoolean, (unitOffset) => rw.rmsNorm(x, { unitOffset })] });
