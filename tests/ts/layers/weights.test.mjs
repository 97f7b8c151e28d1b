// Weights of every type and storage, and their memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { outOfRange, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { layerWeights, matrixShapes } from '../support/layer-reference.mjs';
import { testAllRefusals, testMisfits } from '../support/refusals.mjs';

const size = { modelDim: 24, heads: 3, hiddenDim: 40 };
const norms = [
  ['attentionNorm', 24],
  ['feedForwardNorm', 24],
];
const weights = layerWeights(size, { norms, biases: ['query', 'down', 'attentionNorm'] });
const x = randomArray([5, 24], 3);
const bits = (value) => new Uint32Array(Float32Array.of(value).buffer)[0];
const float = (word) => new Float32Array(Uint32Array.of(word).buffer)[0];

// Truncation is enough here: the tests start from the narrow numbers.
const narrow = {
  bfloat16: (value) => bits(value) >>> 16,
  // Numbers of 0.001 to 4 and 0; the mantissa is cut to 10 bits.
  float16: (value) =>
    Math.abs(value) < 0.001 ? 0 : ((bits(value) >>> 16) & 0x8000) | (((bits(value) - 0x38000000) >>> 13) & 0x7fff),
};
const widen = {
  bfloat16: (word) => float(word << 16),
  float16: (word) =>
    (word & 0x7fff) === 0 ? 0 : float(((word & 0x8000) << 16) | (((word & 0x7fff) << 13) + 0x38000000)),
};
const narrowed = (type) =>
  Object.fromEntries(
    Object.entries(weights).map(([name, w]) => [name, { data: Uint16Array.from(w, narrow[type]), type }]),
  );
const widened = (from, type) =>
  Object.fromEntries(Object.entries(from).map(([name, { data }]) => [name, Float32Array.from(data, widen[type])]));

await onEachBuild((rw) => {
  const outOf = (options) => {
    const layer = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope' }, ...options });
    const { bytes } = layer;
    const out = layer.forward(x).out.data;
    layer.dispose();
    return { out, bytes };
  };

  for (const type of ['float16', 'bfloat16']) {
    test(`${type} weights are kept at two bytes and give the bits of a float32 layer with the same numbers`, () => {
      const given = narrowed(type);
      const wide = outOf({ weights: widened(given, type) });
      const kept = outOf({ weights: given });
      assertSameBits(kept.out, wide.out);
      assertSameBits(outOf({ weights: given, storage: 'float32' }).out, wide.out);
      assertSameBits(outOf({ weights: widened(given, type), storage: type }).out, wide.out);
      assert.equal(outOf({ weights: given, storage: 'float32' }).bytes, wide.bytes);
      assert.ok(kept.bytes < 0.56 * wide.bytes, `${kept.bytes} of ${wide.bytes}`);
    });
  }

  test('weights of mixed types are each kept as given', () => {
    const given = { ...weights, ...Object.fromEntries(Object.entries(narrowed('float16')).slice(0, 5)) };
    const wide = {
      ...weights,
      ...Object.fromEntries(Object.entries(widened(narrowed('float16'), 'float16')).slice(0, 5)),
    };
    assertSameBits(outOf({ weights: given }).out, outOf({ weights: wide }).out);
  });

  test('int8 is a byte per weight, each within half a step, and exact where the numbers are steps', () => {
    const steps = (inputs) => (w, i) =>
      (i % inputs === 0 ? 127 : Math.round(w * 100)) * 2 ** -9 * (1 + (Math.floor(i / inputs) % 3));
    const shapes = matrixShapes(size);
    const exact = Object.fromEntries(
      Object.entries(weights).map(([name, w]) => [name, shapes[name] ? w.map(steps(shapes[name][1])) : w]),
    );
    const wide = outOf({ weights: exact });
    const { out, bytes } = outOf({ weights: exact, storage: 'int8' });
    // The scale is rounded once: 127 s is a power of two, s is not.
    const largest = Math.max(...wide.out.map(Math.abs));
    for (const [i, value] of out.entries()) assert.ok(Math.abs(value - wide.out[i]) <= 1e-5 * largest);
    assert.ok(bytes < 0.35 * wide.bytes, `${bytes} of ${wide.bytes}`);
  });

  test('the output of an int8 matrix is within s / 2 sum |x| of the float32 one', () => {
    const n = 32;
    const identity = Float32Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0));
    const value = random(n * n, 7);
    const make = (storage) =>
      rw.attentionLayer({
        ...{ modelDim: n, heads: 1, storage },
        weights: { query: identity, key: identity, value, output: identity },
      });
    // One token attends to itself: out = O V x, and the identity is exact in int8 up to the rounding of its scale.
    const token = randomArray([1, n], 8);
    const [wide, kept] = ['float32', 'int8'].map((storage) => {
      const layer = make(storage);
      const out = layer.forward(token).out.data;
      layer.dispose();
      return out;
    });
    const sum = token.data.reduce((a, b) => a + Math.abs(b), 0);
    let moved = 0;
    for (let row = 0; row < n; ++row) {
      const largest = Math.max(...value.subarray(row * n, row * n + n).map(Math.abs));
      const error = Math.abs(kept[row] - wide[row]);
      assert.ok(error <= (largest / 127 / 2) * sum * (1 + 1e-4) + 64 * 2 ** -24 * sum, `${error} in row ${row}`);
      moved = Math.max(moved, error);
    }
    assert.ok(moved > 0);
  });

  test('tensors, and arrays with a shape, are weights too', () => {
    const { out } = outOf({});
    const shapes = matrixShapes(size);
    const shaped = Object.fromEntries(
      Object.entries(weights).map(([name, data]) => [name, { data, dims: shapes[name] ?? [data.length] }]),
    );
    assertSameBits(outOf({ weights: shaped }).out, out);
    const tensors = Object.fromEntries(
      Object.entries(weights).map(([name, data]) => [name, rw.tensor(shapes[name] ?? [data.length], data)]),
    );
    assertSameBits(outOf({ weights: tensors }).out, out);
    for (const tensor of Object.values(tensors)) tensor.dispose();
  });

  test('a matrix of one row has two sizes, or one', () => {
    const sizes = { modelDim: 4, heads: 2, kvHeads: 1, headDim: 2, valueDim: 1 };
    const value = randomArray([1, 4], 8);
    const run = (given) => {
      const layer = rw.attentionLayer({
        ...sizes,
        weights: {
          query: randomArray([4, 4], 5),
          key: randomArray([2, 4], 6),
          value: given,
          output: randomArray([4, 2], 7),
        },
      });
      const { out } = layer.forward(randomArray([3, 4], 9));
      layer.dispose();
      return out.data;
    };
    const tensor = rw.tensor([1, 4], value.data);
    const expected = run(value.data);
    for (const given of [value, { data: value.data, shape: [4] }, tensor]) assertSameBits(run(given), expected);
    const wrong = { data: value.data, shape: [4, 1] };
    assert.throws(() => run(wrong), { name: 'ArgumentRangeError', message: /has shape \[4, 1\]; expected \[1, 4\]/ });
    rw.attentionLayer(sizes).dispose();
    tensor.dispose();
  });

  test('a view of the heap is copied before the heap grows', () => {
    const tensor = rw.tensor([24 * 24], weights.query);
    assertSameBits(outOf({ weights: { ...weights, query: tensor.view() } }).out, outOf({}).out);
    tensor.dispose();
  });

  test('matrices longer than a slice are packed whole', () => {
    const wide = { modelDim: 700, heads: 1, hiddenDim: 900 };
    const large = layerWeights(wide, {
      norms: [
        ['attentionNorm', 700],
        ['feedForwardNorm', 700],
      ],
      without: ['gate'],
    });
    const input = randomArray([2, 700], 5);
    const run = (given) => {
      const layer = rw.decoderLayer({ ...wide, weights: given });
      const out = layer.forward(input).out.data;
      layer.dispose();
      return out;
    };
    const tensors = Object.fromEntries(
      Object.entries(large).map(([name, data]) => [name, rw.tensor([data.length], data)]),
    );
    assertSameBits(run(large), run(tensors)); // tensors are packed in one go
    for (const tensor of Object.values(tensors)) tensor.dispose();
  });

  test('making a layer takes its own size, one matrix and one slice', async () => {
    const instance = await load();
    const wide = { modelDim: 1024, heads: 8, hiddenDim: 4096 };
    const data = Object.fromEntries(
      Object.entries(matrixShapes(wide)).map(([name, [rows, inputs]]) => [
        name,
        { data: new Uint16Array(rows * inputs), type: 'bfloat16' },
      ]),
    );
    const norm = { attentionNorm: new Float32Array(1024), feedForwardNorm: new Float32Array(1024) };
    const layer = instance.decoderLayer({ ...wide, weights: { ...data, ...norm } });
    assert.equal(layer.bytes, 2 * (4 * 2 ** 20 + 3 * 2 ** 22) + 8192);
    const { heapBytes, usedBytes } = instance.memory();
    assert.ok(usedBytes < layer.bytes + 2 ** 20, `${usedBytes} for ${layer.bytes}`);
    // Growth goes in steps of a fifth; beside the layer there was a slice of 1 MiB.
    assert.ok(heapBytes < 1.2 * (layer.bytes + 2 ** 21) + 2 ** 24, `${heapBytes} for ${layer.bytes}`);
    layer.dispose();
  });
});

const rw = await load({ simd: 'deterministic' });
const withQuery = (query, storage = 'as given') =>
  rw.decoderLayer({ ...size, storage, weights: { ...weights, query } });
const words = (n) => new Uint16Array(n);
testAllRefusals(rw, 'a layer', {
  'weights.query.type': [
    [wrongType(1, '1'), outOfRange('float64', '"float64"'), outOfRange('int8', '"int8"')],
    (type) => withQuery({ data: words(576), type }),
  ],
  'weights.query.data': [
    [wrongType(null, 'null'), wrongType(random(576), 'Float32Array(576)'), wrongType([1, 2], '[1, 2]')],
    (data) => withQuery({ data, type: 'bfloat16' }),
  ],
  'weights.query.shape': [
    [wrongType(4, '4'), wrongType('24,24', '"24,24"')],
    (shape) => withQuery({ data: weights.query, shape }),
  ],
});
testMisfits(rw, 'a layer', {
  'two bytes without their type': [TypeError, 'weights.query.data', () => withQuery({ data: words(576) })],
  'a length that does not fit': [
    RangeError,
    ['weights.query', '575', '576', '[24, 24]'],
    () => withQuery({ data: words(575), type: 'float16' }),
  ],
  'a matrix that lies the other way round': [
    RangeError,
    ['weights.down', '[40, 24]', '[24, 40]'],
    () => rw.decoderLayer({ ...size, weights: { ...weights, down: { data: weights.down, shape: [40, 24] } } }),
  ],
  'a number too large for float16': [
    RangeError,
    ['weights.query', 'float16'],
    () => withQuery(weights.query.with(100, 1e5), 'float16'),
  ],
  'an infinite number as int8': [
    RangeError,
    ['weights.query', 'int8'],
    () => withQuery(weights.query.with(100, Number.POSITIVE_INFINITY), 'int8'),
  ],
  'a disposed tensor': [
    Error,
    'weights.query',
    () => {
      const tensor = rw.tensor([24, 24]);
      tensor.dispose();
      withQuery(tensor);
    },
  ],
});
