// Weights in the blocks of GGUF files: given as they are, and chosen by `storage`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { notAChoice, outOfRange, wrongType } from '../support/bad-values.mjs';
import { blockSizes, randomBlocks, weightsOfBlocks } from '../support/blocks.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { layerWeights, matrixShapes } from '../support/layer-reference.mjs';
import { testAllRefusals, testMisfits } from '../support/refusals.mjs';

const identity = (n) => ({
  data: Float32Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0)),
  shape: [n, n],
});

// Of numbers from -1 to 1: half a step, or a whole one where codes have one number less on a side; more where scales and
// minima are chosen for the least squared error.
const most = {
  ...{ q4_0: 1 / 8, q4_1: 1 / 15, q5_0: 1 / 16, q5_1: 1 / 31, q8_0: 1 / 254 },
  ...{ q4_k: 2 / 15, q5_k: 2 / 31, q6_k: 2 / 63 },
};

const bits = {}; // of the first build

await onEachBuild((rw) => {
  // A product with the identity gives the weights themselves, a column for each row.
  function weightsOf(linear) {
    const { data } = linear.apply(identity(linear.inputs));
    const { inputs, outputs } = linear;
    return Float32Array.from({ length: data.length }, (_, i) => data[(i % inputs) * outputs + Math.floor(i / inputs)]);
  }

  for (const [type, [size, bytes]] of Object.entries(blockSizes)) {
    test(`${type} is read as its definition says, and kept at ${bytes} bytes for ${size} weights`, () => {
      for (const [rows, inputs] of [
        [1, size],
        [16, size],
        [35, 3 * size],
      ]) {
        const data = randomBlocks(type, rows * inputs, 7);
        const linear = rw.linear({ weight: { type, data, shape: [rows, inputs] }, arithmetic: 'float32' });
        assertSameBits(
          weightsOf(linear).map((x) => x + 0),
          weightsOfBlocks(type, data).map((x) => x + 0),
        );
        assert.equal(linear.bytes, Math.ceil(rows / 16) * 16 * (inputs / size) * bytes);
        linear.dispose();
      }
    });

    test(`products with ${type} are those with the same float32 weights, up to roundings`, () => {
      const [rows, inputs] = [200, 2560]; // several slices
      const data = randomBlocks(type, rows * inputs, 9);
      const weights = weightsOfBlocks(type, data);
      const bias = random(rows, 4);
      const linear = rw.linear({ weight: { type, data, shape: [rows, inputs] }, bias, arithmetic: 'float32' });
      const wide = rw.linear({ weight: { data: weights, shape: [rows, inputs] }, bias });
      for (const count of [1, 2, 7, 40]) {
        const x = randomArray([count, inputs], count);
        const [got, want] = [linear.apply(x).data, wide.apply(x).data];
        for (const [i, value] of got.entries()) {
          const [row, o] = [Math.floor(i / rows), i % rows];
          let work = 1;
          for (let l = 0; l < inputs; ++l) work += Math.abs(x.data[row * inputs + l] * weights[o * inputs + l]);
          assert.ok(Math.abs(value - want[i]) <= 600 * 2 ** -24 * work, `${value} for ${want[i]}`);
        }
      }
      linear.dispose();
      wide.dispose();
    });

    test(`storage ${type} keeps weights within the error that is documented`, () => {
      for (const inputs of [size, size + 24]) {
        const data = random(20 * inputs, 5);
        for (const weight of [{ data, shape: [20, inputs] }, rw.tensor([20, inputs], data)]) {
          const linear = rw.linear({ weight, storage: type, arithmetic: 'float32' });
          assert.equal(linear.bytes, 32 * Math.ceil(inputs / size) * bytes);
          for (const [i, w] of weightsOf(linear).entries()) {
            assert.ok(Math.abs(w - data[i]) <= most[type] + 2 ** -10, `${w} for ${data[i]}`);
          }
          linear.dispose();
        }
      }
    });
  }

  test('products in integers are those with inputs rounded to bytes, and the same in every build', () => {
    for (const [type, [size]] of Object.entries(blockSizes)) {
      const [rows, inputs] = [40, 2 * size];
      const data = randomBlocks(type, rows * inputs, 12);
      const weights = weightsOfBlocks(type, data);
      const linear = rw.linear({ weight: { type, data, shape: [rows, inputs] } });
      const x = randomArray([3, inputs], 5);
      const rounded = Float64Array.from(x.data, (value, i) => {
        const run = x.data.subarray(i - (i % 32), i - (i % 32) + 32);
        const scale = Math.fround(run.reduce((most, v) => Math.max(most, Math.abs(v)), 0) / 127);
        return scale * Math.round(Math.fround(value / scale));
      });
      const y = linear.apply(x).data;
      bits[type] ??= y;
      assertSameBits(y, bits[type]);
      for (const [i, value] of y.entries()) {
        const [row, o] = [Math.floor(i / rows), i % rows];
        let [sum, work] = [0, 0];
        for (let l = 0; l < inputs; ++l) {
          const term = rounded[row * inputs + l] * weights[o * inputs + l];
          sum += term;
          work += Math.abs(rounded[row * inputs + l]) * 4; // codes and minima, each at most 4 with these scales
        }
        assert.ok(Math.abs(value - sum) <= 40 * 2 ** -24 * work, `${type}: ${value} for ${sum}`);
      }
      linear.dispose();
    }
  });

  test('layers take blocks, each matrix of its own type, with the results of their float32 weights', () => {
    const size = { modelDim: 256, heads: 4, hiddenDim: 512 };
    const norms = [
      ['attentionNorm', 256],
      ['feedForwardNorm', 256],
    ];
    const shapes = matrixShapes(size);
    const types = Object.keys(blockSizes);
    const blocks = {};
    const wide = {};
    for (const [i, [name, array]] of Object.entries(layerWeights(size, { norms })).entries()) {
      const type = types[i % types.length];
      const data = shapes[name] && randomBlocks(type, array.length, i + 1);
      blocks[name] = data ? { type, data, shape: shapes[name] } : array;
      wide[name] = data ? weightsOfBlocks(type, data) : array;
    }
    const x = randomArray([5, 256], 3);
    const [got, want] = [blocks, wide].map((weights) => {
      const layer = rw.decoderLayer({ ...size, weights, position: { encoding: 'rope' }, arithmetic: 'float32' });
      const { out } = layer.forward(x);
      layer.dispose();
      return out.data;
    });
    const largest = want.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    for (const [i, value] of got.entries()) assert.ok(Math.abs(value - want[i]) <= 1e-4 * largest);
  });

  test('a bias may be blocks, and blocks are kept as numbers where storage says so', () => {
    const bias = { type: 'q8_0', data: randomBlocks('q8_0', 32, 3), shape: [32] };
    const weight = { type: 'q5_1', data: randomBlocks('q5_1', 32 * 64, 4), shape: [32, 64] };
    const zero = { data: new Float32Array(64), shape: [64] };
    const linear = rw.linear({ weight, bias, storage: 'float32' });
    assertSameBits(
      linear.apply(zero).data.map((x) => x + 0),
      weightsOfBlocks('q8_0', bias.data).map((x) => x + 0),
    );
    const plain = rw.linear({ weight: { data: weightsOfBlocks('q5_1', weight.data), shape: [32, 64] }, bias });
    const x = randomArray([3, 64], 2);
    assertSameBits(linear.apply(x).data, plain.apply(x).data);
    assert.equal(linear.bytes, plain.bytes);
    linear.dispose();
    plain.dispose();
  });
});

const rw = await load({ simd: 'deterministic' });
const q4 = { type: 'q4_0', data: new Uint8Array(2 * 36), shape: [2, 64] };
testAllRefusals(rw, 'linear', {
  'weight.data': [
    [wrongType(null, 'null'), wrongType(new Uint16Array(36), 'Uint16Array(36)'), wrongType([1, 2], '[1, 2]')],
    (data) => rw.linear({ weight: { ...q4, data } }),
  ],
  arithmetic: [notAChoice, (arithmetic) => rw.linear({ weight: q4, arithmetic })],
  'weight.type': [
    [outOfRange('Q4_0', '"Q4_0"'), outOfRange('q3_k', '"q3_k"'), outOfRange('int8', '"int8"')],
    (type) => rw.linear({ weight: { ...q4, type } }),
  ],
});
testMisfits(rw, 'linear', {
  'bytes that are too few': [
    RangeError,
    ['weight', '71 bytes of q4_0', '72', '[2, 64]'],
    () => rw.linear({ weight: { ...q4, data: q4.data.subarray(1) } }),
  ],
  'rows that are no whole blocks': [
    RangeError,
    ['weight', 'rows of 48', 'q4_0', '32'],
    () => rw.linear({ weight: { ...q4, shape: [2, 48] } }),
  ],
  'rows that are no whole blocks of 256': [
    RangeError,
    ['weight', 'rows of 64', 'q6_k', '256'],
    () => rw.linear({ weight: { ...q4, type: 'q6_k' } }),
  ],
  'a number beyond the range of a scale': [
    RangeError,
    ['weight', 'q8_0'],
    () => rw.linear({ weight: { data: random(64).with(3, 1e7), shape: [2, 32] }, storage: 'q8_0' }),
  ],
  'a number that is not finite': [
    RangeError,
    ['weight', 'q4_k'],
    () => rw.linear({ weight: { data: random(64).with(3, Number.NaN), shape: [2, 32] }, storage: 'q4_k' }),
  ],
});
