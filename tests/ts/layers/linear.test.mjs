// linear(): an affine map with packed weights against float64, in every storage and form of result.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, detached, random, randomArray, sizeOf } from '../support/arrays.mjs';
import { notAChoice, notFloats, notOptions, outOfRange, required, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { inUse } from '../support/peak.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const unit = 2 ** -24;

// y = x W^T + b, and sum |x| |w| + |b|, what roundings are shares of.
function reference(x, weight, bias, inputs) {
  const outputs = inputs === 0 ? bias.length : weight.length / inputs;
  const rows = sizeOf(x.shape.slice(0, -1));
  const values = new Float64Array(rows * outputs);
  const sizes = new Float64Array(rows * outputs);
  for (let i = 0; i < values.length; ++i) {
    const [row, o] = [Math.floor(i / outputs), i % outputs];
    values[i] = bias?.[o] ?? 0;
    sizes[i] = Math.abs(values[i]);
    for (let l = 0; l < inputs; ++l) {
      const product = x.data[row * inputs + l] * weight[o * inputs + l];
      values[i] += product;
      sizes[i] += Math.abs(product);
    }
  }
  return { values, sizes };
}

// Blocks of 256 inputs are summed in order and then added: at most 256 + inputs / 256 + 2 roundings, each a unit of the
// sum of magnitudes.
const bound = ({ sizes }, inputs) => sizes.map((s) => (Math.min(inputs, 256) + Math.ceil(inputs / 256) + 2) * unit * s);

const float = (word) => new Float32Array(Uint32Array.of(word).buffer)[0];
const word = (value) => new Uint32Array(Float32Array.of(value).buffer)[0];
const bfloat16 = (array) => Uint16Array.from(array, (v) => word(v) >>> 16);
const widened = (array) => Float32Array.from(array, (bits) => float(bits << 16));
// Exact, and no number is subnormal or too large.
const float16 = (array) =>
  Uint16Array.from(array, (v) => ((word(v) >>> 16) & 0x8000) | ((word(Math.abs(v)) - 0x38000000) >>> 13));
const coarse = (length, seed) => random(length, seed).map((v) => (Math.round(v * 500) || 1) / 512);

const activations = {
  gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  geluTanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
  relu: (x) => Math.max(x, 0),
  tanh: Math.tanh,
};
// The series of erf, for |x| of at most 3.
function erf(x) {
  let [term, sum] = [x, x];
  for (let n = 1; n < 80; ++n) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const around = [1, 2, 3, 4, 5, 15, 16, 17, 33];
const shapes = [
  ...around.map((n) => [2, n, 7]),
  ...around.map((n) => [5, 6, n]),
  ...[1, 2, 3, 5, 6, 7, 13].map((rows) => [rows, 18, 20]),
  ...[
    [1, 40, 257],
    [3, 17, 600],
    [0, 3, 4],
    [4, 0, 3],
    [2, 3, 0],
  ],
];

await onEachBuild((rw) => {
  test('apply is that of float64 at sizes around those of vectors and blocks', () => {
    for (const [rows, outputs, inputs] of shapes) {
      const x = randomArray([rows, inputs], 1);
      const weight = { data: random(outputs * inputs, 2), shape: [outputs, inputs] };
      const bias = random(outputs, 3);
      for (const b of [undefined, bias]) {
        const linear = rw.linear({ weight, ...(b && { bias: b }) });
        assert.deepEqual([linear.inputs, linear.outputs], [inputs, outputs]);
        const got = linear.apply(x);
        assert.deepEqual(got.shape, [rows, outputs]);
        if (inputs === 0)
          assertSameBits(
            got.data,
            Float32Array.from({ length: rows * outputs }, (_, i) => b?.[i % outputs] ?? 0),
          );
        else {
          const want = reference(x, weight.data, b, inputs);
          assertClose(got.data, want.values, bound(want, inputs));
        }
        linear.dispose();
      }
    }
  });

  test('x has any axes before the last, and a row the bits that it has alone', () => {
    const linear = rw.linear({ weight: { data: random(19 * 300), shape: [19, 300] }, bias: random(19, 2) });
    const x = randomArray([2, 1, 7, 300], 3);
    const { data, shape } = linear.apply(x);
    assert.deepEqual(shape, [2, 1, 7, 19]);
    for (let row = 0; row < 14; ++row) {
      const alone = linear.apply({ data: x.data.subarray(row * 300, row * 300 + 300), dims: [300] });
      assert.deepEqual(alone.shape, [19]);
      assertSameBits(alone.data, data.subarray(row * 19, row * 19 + 19));
    }
    linear.dispose();
  });

  for (const [type, narrow] of Object.entries({ float16, bfloat16 })) {
    test(`${type} weights are kept at two bytes and give the bits of float32 weights with the same numbers`, () => {
      const wide = type === 'bfloat16' ? widened(bfloat16(random(21 * 70))) : coarse(21 * 70, 1);
      const shape = [21, 70];
      const x = randomArray([5, 70], 2);
      const outOf = (options) => {
        const linear = rw.linear(options);
        const { bytes } = linear;
        const { data } = linear.apply(x);
        linear.dispose();
        return { data, bytes };
      };
      const want = outOf({ weight: { data: wide, shape } });
      const given = { data: narrow(wide), shape, type };
      for (const options of [
        { weight: given },
        { weight: given, storage: 'float32' },
        { weight: { data: wide, shape }, storage: type },
      ]) {
        const { data, bytes } = outOf(options);
        assertSameBits(data, want.data);
        assert.equal(bytes < want.bytes, options.storage !== 'float32');
      }
      const biased = coarse(21, 7);
      assertSameBits(
        outOf({ weight: given, bias: { data: narrow(biased), type: type } }).data,
        outOf({ weight: given, bias: type === 'bfloat16' ? widened(bfloat16(biased)) : biased }).data,
      );
    });
  }

  test('int8 is a byte per weight, and an output is within half a step of each', () => {
    const [rows, outputs, inputs] = [4, 37, 130];
    const weight = { data: random(outputs * inputs), shape: [outputs, inputs] };
    const x = randomArray([rows, inputs], 2);
    const linear = rw.linear({ weight, storage: 'int8' });
    assert.ok(linear.bytes < 1.5 * outputs * inputs);
    const want = reference(x, weight.data, undefined, inputs);
    const rounding = bound(want, inputs);
    const allowed = want.values.map((_, i) => {
      const [row, o] = [Math.floor(i / outputs), i % outputs];
      const largest = Math.max(...weight.data.subarray(o * inputs, (o + 1) * inputs).map(Math.abs));
      const sum = x.data.subarray(row * inputs, (row + 1) * inputs).reduce((a, b) => a + Math.abs(b), 0);
      return (largest / 254) * sum * (1 + 4 * unit) + 2 * rounding[i];
    });
    const got = linear.apply(x).data;
    assertClose(got, want.values, allowed);
    assert.ok(got.some((v, i) => Math.abs(v - want.values[i]) > rounding[i]));
    linear.dispose();
  });

  for (const [activation, f] of Object.entries(activations)) {
    test(`${activation} is of the whole sum, bias included`, () => {
      const weight = { data: random(9 * 5).map((v) => v / 2), shape: [9, 5] };
      const bias = random(9, 2).map((v) => v / 2);
      const x = randomArray([3, 5], 3);
      const linear = rw.linear({ weight, bias, activation });
      const want = reference(x, weight.data, bias, 5);
      // Slopes are at most 1.13; the functions themselves are within 5 ulp, and a few more for the argument of tanh.
      const allowed = bound(want, 5).map((b, i) => 1.13 * b + 12 * unit * Math.abs(want.values[i]) + unit / 2 ** 4);
      assertClose(linear.apply(x).data, want.values.map(f), allowed);
      linear.dispose();
    });
  }

  test('tensors and arrays, as weight, as x and as out, give the same bits', () => {
    const [w, bias, x] = [random(12 * 10, 1), random(12, 2), random(30, 3)];
    const tensors = { w: rw.tensor([12, 10], w), bias: rw.tensor([12], bias), x: rw.tensor([3, 10], x) };
    const linear = rw.linear({ weight: { data: w, shape: null, dims: [12, 10] }, bias });
    const other = rw.linear({ weight: tensors.w, bias: tensors.bias });
    const want = linear.apply({ data: x, shape: [3, 10] }).data;

    const made = other.apply(tensors.x);
    assert.deepEqual(made.shape, [3, 12]);
    const place = rw.tensor([3, 12]);
    const array = new Float32Array(36);
    for (const input of [tensors.x, { data: x, shape: [3, 10] }]) {
      place.set(new Float32Array(36).fill(7));
      assert.equal(other.apply(input, { out: place }), place);
      assertSameBits(place.data(), want);
      array.fill(7);
      const result = other.apply(input, { out: array });
      assert.equal(result.data, array);
      assert.deepEqual(result.shape, [3, 12]);
      assertSameBits(array, want);
    }
    assertSameBits(made.data(), want);
    assertSameBits(tensors.x.data(), x);
    for (const one of [made, place, linear, other, ...Object.values(tensors)]) one.dispose();
  });

  test('x itself may be out where as many numbers come out', () => {
    const linear = rw.linear({ weight: { data: random(16), shape: [4, 4] } });
    const x = random(8, 2);
    const want = linear.apply({ data: x.slice(), shape: [2, 4] }).data;
    linear.apply({ data: x, shape: [2, 4] }, { out: x });
    assertSameBits(x, want);
    linear.dispose();
  });

  test('weights of one row, of one column, and of more than a slice are taken as they are', () => {
    for (const shape of [
      [1, 6],
      [6, 1],
      [1, 1],
      [700, 500],
    ]) {
      const data = random(sizeOf(shape));
      const x = randomArray([2, shape[1]], 2);
      const tensor = rw.tensor(shape, data);
      for (const weight of [{ data, shape }, tensor]) {
        const linear = rw.linear({ weight });
        const want = reference(x, data, undefined, shape[1]);
        assertClose(linear.apply(x).data, want.values, bound(want, shape[1]));
        linear.dispose();
      }
      tensor.dispose();
    }
  });

  test('a linear map keeps a copy of its weights, and leaves nothing behind', () => {
    const before = inUse(rw);
    const data = random(64);
    const linear = rw.linear({ weight: { data, shape: [8, 8] } });
    const x = randomArray([2, 8], 2);
    const want = linear.apply(x).data;
    data.fill(0);
    assertSameBits(linear.apply(x).data, want);
    linear.dispose();
    assert.throws(() => linear.apply(x), { name: 'StateError' });
    assert.deepEqual(inUse(rw), before);
  });
});

const rw = await load({ simd: 'deterministic' });
const weight = { data: random(6), shape: [2, 3] };
const linear = rw.linear({ weight });
const x = randomArray([4, 3], 2);
const tensor = rw.tensor([4, 3], x.data);

testAllRefusals(rw, 'linear', {
  options: [required(notOptions), (v) => rw.linear(v)],
  weight: [
    required([
      wrongType(null, 'null'),
      wrongType('text', '"text"'),
      wrongType(random(6), 'Float32Array(6)'),
      wrongType([1], '[1]'),
    ]),
    (v) => rw.linear({ weight: v }),
  ],
  'weight.data': [
    notFloats(6).filter(({ error }) => error === TypeError),
    (data) => rw.linear({ weight: { data, shape: [2, 3] } }),
  ],
  'weight.type': [notAChoice, (type) => rw.linear({ weight: { ...weight, type } })],
  bias: [
    [wrongType(null, 'null'), wrongType('text', '"text"'), outOfRange(random(3), '3'), outOfRange(random(1), '1')],
    (bias) => rw.linear({ weight, bias }),
  ],
  storage: [notAChoice, (storage) => rw.linear({ weight, storage })],
  activation: [notAChoice, (activation) => rw.linear({ weight, activation })],
});
testUnknownOptions(rw, 'linear', ['nonsense', 'inputs'], (options) => rw.linear({ weight, ...options }));
testMisfits(rw, 'linear', {
  'a weight of one axis': [RangeError, ['weight', '[6]'], () => rw.linear({ weight: { data: random(6), shape: [6] } })],
  'a weight of three axes': [
    RangeError,
    ['weight'],
    () => rw.linear({ weight: { data: random(6), shape: [1, 2, 3] } }),
  ],
  'a weight whose numbers are not those of its shape': [
    RangeError,
    ['weight', '5', '6'],
    () => rw.linear({ weight: { data: random(5), shape: [2, 3] } }),
  ],
  'a bias of another shape': [
    RangeError,
    ['bias', '[1, 2]'],
    () => rw.linear({ weight, bias: { data: random(2), shape: [1, 2] } }),
  ],
  'bits that are no bits': [
    TypeError,
    ['weight.data', 'float16'],
    () => rw.linear({ weight: { data: random(6), shape: [2, 3], type: 'float16' } }),
  ],
  'a number that float16 cannot hold': [
    RangeError,
    ['weight', 'float16'],
    () => rw.linear({ weight: { data: random(6).fill(1e6), shape: [2, 3] }, storage: 'float16' }),
  ],
  'a NaN as int8': [
    RangeError,
    ['weight', 'int8'],
    () => rw.linear({ weight: { data: random(6).fill(Number.NaN), shape: [2, 3] }, storage: 'int8' }),
  ],
});

testAllRefusals(rw, 'linear.apply', {
  options: [notOptions, (v) => linear.apply(x, v)],
  x: [required([wrongType(null, 'null'), wrongType('text', '"text"'), wrongType([1], '[1]')]), (v) => linear.apply(v)],
  out: [notFloats(8), (out) => linear.apply(x, { out })],
});
testUnknownOptions(rw, 'linear.apply', ['nonsense', 'Out'], (options) => linear.apply(x, options));
const foreign = (await load({ simd: 'deterministic' })).tensor([4, 3]);
const place = rw.tensor([4, 2]);
testMisfits(rw, 'linear.apply', {
  'rows of another length': [RangeError, ['x', '[4, 2]', '3'], () => linear.apply(randomArray([4, 2]))],
  'x without axes': [RangeError, ['x', '3'], () => linear.apply({ data: random(1), shape: [] })],
  'a tensor of another instance': [Error, ['x'], () => linear.apply(foreign)],
  'an out of another shape': [RangeError, ['out', '[4, 3]', '[4, 2]'], () => linear.apply(x, { out: tensor })],
  'an out that is a view of the heap': [RangeError, ['out'], () => linear.apply(x, { out: place.view() })],
  'a detached x': [TypeError, ['x'], () => linear.apply({ data: detached(random(12)), shape: [4, 3] })],
});

test('x as a tensor is refused as out, and stays as it was', () => {
  const square = rw.linear({ weight: { data: random(9), shape: [3, 3] } });
  assert.throws(() => square.apply(tensor, { out: tensor }), { name: 'ArgumentRangeError', argument: 'out' });
  assertSameBits(tensor.data(), x.data);
  square.dispose();
});

test('a map or an out that a getter of x disposes of is refused', () => {
  const doomed = rw.linear({ weight });
  const out = rw.tensor([4, 2]);
  const meddling = (meddle) => ({
    shape: [4, 3],
    get data() {
      meddle();
      return new Float32Array(12);
    },
  });
  assert.throws(
    () =>
      linear.apply(
        meddling(() => out.dispose()),
        { out },
      ),
    { name: 'StateError' },
  );
  assert.throws(() => doomed.apply(meddling(() => doomed.dispose())), { name: 'StateError' });
});
