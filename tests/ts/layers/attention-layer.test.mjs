// The attention layer against float64: weights, encodings, batches, masks, seeds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { attention, linear } from '../support/attention-reference.mjs';
import { notFloats, notOptions, outOfRange, required } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { angle, geometric } from '../support/fixed.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';
import { frequencies, rotate } from '../support/rope-reference.mjs';

const eps = 2 ** -24;

// Weights as a model has them: about 1 / sqrt(inputs).
function weightsOf({ modelDim, heads, kvHeads = heads, headDim = modelDim / heads }, biases, seed = 50) {
  const of = (rows, inputs, i) => random(rows * inputs, seed + i).map((w) => w * Math.sqrt(3 / inputs));
  const [width, kvWidth] = [heads * headDim, kvHeads * headDim];
  const weights = {
    query: of(width, modelDim, 1),
    key: of(kvWidth, modelDim, 2),
    value: of(kvWidth, modelDim, 3),
    output: of(modelDim, width, 4),
  };
  if (!biases) return weights;
  const names = ['query', 'key', 'value', 'output'];
  const rows = { query: width, key: kvWidth, value: kvWidth, output: modelDim };
  return {
    ...weights,
    ...Object.fromEntries(names.map((name, i) => [`${name}Bias`, random(rows[name], seed + 10 + i)])),
  };
}

// What the layer does, in float64, a batch entry at a time: { out, scores }.
function reference(x, weights, { heads, kvHeads = heads, position, positions, causal, keeps }) {
  const [tokens, modelDim] = x.shape;
  const headDim = weights.query.length / modelDim / heads;
  const input = position.added ? x.data.map((value, i) => value + position.added(positions, modelDim)[i]) : x.data;
  const project = (name, groups) => {
    const rows = linear(Float64Array.from(input), weights[name], weights[`${name}Bias`], modelDim);
    // [T, H, D] to [1, H, T, D].
    const data = new Float64Array(rows.length);
    for (let t = 0; t < tokens; ++t) {
      for (let h = 0; h < groups; ++h) {
        const from = (t * groups + h) * headDim;
        data.set(rows.subarray(from, from + headDim), (h * tokens + t) * headDim);
      }
    }
    return { data, shape: [1, groups, tokens, headDim] };
  };
  const turn = (a) => (position.turned ? { ...a, data: position.turned(a, positions) } : a);
  const [q, k, v] = [turn(project('query', heads)), turn(project('key', kvHeads)), project('value', kvHeads)];
  const { out, scores } = attention(q, k, v, { causalOffset: causal ? 0 : undefined, keeps });
  const mixed = Float64Array.from({ length: out.length }, (_, i) => {
    const d = i % headDim;
    const h = Math.floor(i / headDim) % heads;
    const t = Math.floor(i / headDim / heads);
    return out[(h * tokens + t) * headDim + d];
  });
  return { out: linear(mixed, weights.output, weights.outputBias, heads * headDim), scores };
}

const sines = (positions, dim) => {
  const w = geometric(10000, dim, dim / 2);
  return positions.flatMap((p) => w.flatMap((f) => [Math.sin(angle(p, f)), Math.cos(angle(p, f))]));
};
const turned = (pairing) => (a, positions) =>
  rotate(a, { frequencies: frequencies(a.shape[3]), positions: [positions], pairing }).data;

// name: [option, what it means]
const encodings = {
  none: [undefined, {}],
  'none, by name': [{ encoding: 'none' }, {}],
  rope: [{ encoding: 'rope' }, { turned: turned('half') }],
  'interleaved rope': [{ encoding: 'rope', pairing: 'interleaved' }, { turned: turned('interleaved') }],
  sinusoidal: [{ encoding: 'sinusoidal' }, { added: sines }],
};
const sizes = [
  { modelDim: 8, heads: 2 },
  { modelDim: 12, heads: 4, kvHeads: 2, headDim: 6 },
  { modelDim: 6, heads: 3, kvHeads: 1, headDim: 10 },
  { modelDim: 64, heads: 4 },
];
// Three matrix products and a softmax on numbers of about 1, each worth at most 16 roundings of its largest.
const tolerance = 64 * eps;

await onEachBuild((rw) => {
  const makeLayer = (options) => rw.attentionLayer(options);

  for (const [name, [position, meaning]] of Object.entries(encodings)) {
    for (const size of sizes) {
      test(`a layer with ${name} is that of float64 for ${JSON.stringify(size)}`, () => {
        for (const causal of [false, true]) {
          const weights = weightsOf(size, causal);
          const layer = makeLayer({ ...size, weights, causal, ...(position && { position }) });
          const x = randomArray([7, size.modelDim], 9);
          const offset = 20;
          const positions = Array.from({ length: 7 }, (_, i) => offset + i);
          const want = reference(x, weights, { ...size, position: meaning, positions, causal });
          const got = layer.forward(x, { offset, returnScores: 'probabilities' });
          assert.deepEqual(
            [got.out.shape, got.scores.shape],
            [
              [7, size.modelDim],
              [1, size.heads, 7, 7],
            ],
          );
          assertClose(got.out.data, want.out, tolerance);
          assertClose(got.scores.data, want.scores, tolerance);
          layer.dispose();
        }
      });
    }
  }

  test('a batch is its entries one by one', () => {
    for (const encoding of ['none', 'rope', 'sinusoidal']) {
      const layer = makeLayer({ modelDim: 16, heads: 4, position: { encoding }, causal: true, seed: 4 });
      const x = randomArray([3, 5, 16]);
      const whole = layer.forward(x, { offset: 3, returnScores: 'probabilities' });
      assert.deepEqual(
        [whole.out.shape, whole.scores.shape],
        [
          [3, 5, 16],
          [3, 4, 5, 5],
        ],
      );
      for (const b of [0, 1, 2]) {
        const one = layer.forward({ data: x.data.subarray(80 * b, 80 * b + 80), shape: [5, 16] }, { offset: 3 });
        assertClose(whole.out.data.subarray(80 * b, 80 * b + 80), one.out.data, 8 * eps);
      }
      layer.dispose();
    }
  });

  test('a mask hides keys, and hidden tokens have no influence', () => {
    const size = { modelDim: 8, heads: 2 };
    const weights = weightsOf(size, true);
    const layer = makeLayer({ ...size, weights });
    const x = randomArray([2, 4, 8], 3);
    const data = Uint8Array.of(1, 1, 0, 0, 1, 1, 1, 0);
    const mask = { data, shape: [2, 1, 1, 4] };
    const { out } = layer.forward(x, { mask });
    for (const b of [0, 1]) {
      const part = { data: x.data.subarray(32 * b, 32 * b + 32), shape: [4, 8] };
      const want = reference(part, weights, { ...size, position: {}, keeps: (_, __, ___, j) => data[4 * b + j] });
      assertClose(out.data.subarray(32 * b, 32 * b + 32), want.out, tolerance);
    }
    const other = { data: x.data.slice(), shape: x.shape };
    other.data.fill(9, 24, 32);
    assertSameBits(layer.forward(other, { mask }).out.data.subarray(0, 24), out.data.subarray(0, 24));
    layer.dispose();
  });

  test('without positions a permutation of the tokens permutes the result, with them it does not', () => {
    const order = [3, 0, 4, 1, 2];
    const moved = (rows) => Float32Array.from(order.flatMap((t) => [...rows.subarray(8 * t, 8 * t + 8)]));
    const x = randomArray([5, 8], 11);
    for (const encoding of ['none', 'rope', 'sinusoidal']) {
      const layer = makeLayer({ modelDim: 8, heads: 2, position: { encoding }, seed: 5 });
      const want = moved(layer.forward(x).out.data);
      const got = layer.forward({ data: moved(x.data), shape: [5, 8] }).out.data;
      const worst = Math.max(...got.map((value, i) => Math.abs(value - want[i])));
      if (encoding === 'none') assert.ok(worst <= 16 * eps, `${worst}`);
      else assert.ok(worst > 1e-3, `${encoding}: ${worst}`);
      layer.dispose();
    }
  });

  test('a shift of all positions changes nothing for rope, but does for sinusoids', () => {
    const x = randomArray([5, 8], 12);
    for (const encoding of ['rope', 'sinusoidal']) {
      const layer = makeLayer({ modelDim: 8, heads: 2, position: { encoding }, seed: 5 });
      const here = layer.forward(x).out.data;
      const there = layer.forward(x, { offset: 123_456 }).out.data;
      const worst = Math.max(...here.map((value, i) => Math.abs(value - there[i])));
      if (encoding === 'rope') assert.ok(worst <= tolerance, `${worst}`);
      else assert.ok(worst > 1e-3, `${worst}`);
      layer.dispose();
    }
  });

  test('rows of a batch stand where each has its own positions, as alone', () => {
    const x = randomArray([2, 3, 8], 13);
    const own = [
      [4, 0, 9],
      [-1, 2, 700],
    ];
    for (const encoding of ['rope', 'sinusoidal']) {
      const layer = makeLayer({ modelDim: 8, heads: 2, position: { encoding }, seed: 5 });
      const { data } = layer.forward(x, { positions: own.flat() }).out;
      own.forEach((positions, b) => {
        const row = { data: x.data.subarray(24 * b, 24 * b + 24), shape: [3, 8] };
        assertSameBits(data.subarray(24 * b, 24 * b + 24), layer.forward(row, { positions }).out.data);
      });
      layer.dispose();
    }
  });

  test('the same seed gives the same bits, another gives others', () => {
    const x = randomArray([3, 12]);
    const outOf = (options) => {
      const layer = makeLayer({ modelDim: 12, heads: 3, ...options });
      const { out } = layer.forward(x);
      layer.dispose();
      return out.data;
    };
    for (const seed of [0, 1, 2 ** 32, 2 ** 53 - 1]) assertSameBits(outOf({ seed }), outOf({ seed }));
    assertSameBits(outOf({}), outOf({ seed: 0 }));
    const all = [0, 1, 2, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1].map((seed) => String(outOf({ seed })));
    assert.equal(new Set(all).size, all.length);
  });

  test('seeded queries and keys have weights of their own', () => {
    const layer = makeLayer({ modelDim: 16, heads: 1, seed: 3 });
    const { scores } = layer.forward(randomArray([3, 16]), { returnScores: 'probabilities' });
    const logit = (i, j) => Math.log(scores.data[3 * i + j] / scores.data[4 * i]);
    // With equal weights q_i . k_j would be q_j . k_i, and the sum would not depend on which way round one goes.
    const difference = logit(0, 1) + logit(1, 2) + logit(2, 0) - logit(0, 2) - logit(2, 1) - logit(1, 0);
    assert.ok(Math.abs(difference) > 1e-2, `${difference}`);
    layer.dispose();
  });

  test('seeded weights have mean 0 and a spread that keeps the size of what passes through', () => {
    const layer = makeLayer({ modelDim: 256, heads: 4, seed: 8 });
    // One token attends to itself, so out = O V x: two products that each keep the variance.
    const x = randomArray([1, 1, 256], 2);
    const variance = (a) => a.reduce((sum, v) => sum + v * v, 0) / a.length;
    const ratio = variance(layer.forward(x).out.data) / variance(x.data);
    assert.ok(ratio > 0.6 && ratio < 1.6, `${ratio}`);
    layer.dispose();
  });

  test('the weights are copied, and the input is left alone', () => {
    const size = { modelDim: 8, heads: 2 };
    const weights = weightsOf(size, true);
    const layer = makeLayer({ ...size, weights });
    const x = rw.tensor([3, 8], random(24));
    const before = layer.forward(x).out;
    for (const array of Object.values(weights)) array.fill(0);
    const after = layer.forward(x).out;
    assertSameBits(after.data(), before.data());
    assertSameBits(x.data(), random(24));
    for (const made of [layer, x, before, after]) made.dispose();
  });

  test('no tokens give nothing', () => {
    for (const encoding of ['none', 'rope', 'sinusoidal']) {
      const layer = makeLayer({ modelDim: 4, heads: 2, position: { encoding } });
      for (const shape of [
        [0, 4],
        [0, 3, 4],
        [3, 0, 4],
      ]) {
        assert.deepEqual(layer.forward({ data: new Float32Array(0), shape }).out, { data: new Float32Array(0), shape });
      }
      layer.dispose();
    }
  });
});

const rw = await load({ simd: 'deterministic' });
const size = { modelDim: 4, heads: 2, kvHeads: 1 };
const weights = weightsOf(size, true);
const make = (more) => rw.attentionLayer({ ...size, weights: { ...weights, ...more } });
const lengths = { query: 16, key: 8, value: 8, output: 16 };
testAllRefusals(rw, 'attentionLayer', {
  weights: [notOptions, (value) => rw.attentionLayer({ ...size, weights: value })],
  ...Object.fromEntries(
    Object.entries(lengths).map(([name, length]) => [
      `weights.${name}`,
      [required(notFloats(length)), (value) => make({ [name]: value })],
    ]),
  ),
  'weights.queryBias': [notFloats(4), (value) => make({ queryBias: value })],
  'weights.keyBias': [notFloats(2), (value) => make({ keyBias: value })],
  'weights.valueBias': [notFloats(2), (value) => make({ valueBias: value })],
  'weights.outputBias': [notFloats(4), (value) => make({ outputBias: value })],
});
testUnknownOptions(rw, 'the weights of a layer', ['bias', 'Query'], make);

const layer = rw.attentionLayer({ modelDim: 4, heads: 2 });
const forward = (shape, options) => () => layer.forward(randomArray(shape), options);
testAllRefusals(rw, 'forward', {
  mask: [
    [...notOptions, outOfRange({ data: new Uint8Array(3), shape: [3] }, '[3]')],
    (mask) => forward([2, 4], { mask })(),
  ],
});
testMisfits(rw, 'attentionLayer', {
  'a seed together with weights': [
    RangeError,
    ['seed', 'weights'],
    () => rw.attentionLayer({ ...size, weights, seed: 1 }),
  ],
  'heads that do not divide modelDim': [
    RangeError,
    ['heads', '3', '4'],
    () => rw.attentionLayer({ modelDim: 4, heads: 3 }),
  ],
  'kvHeads that do not divide heads': [
    RangeError,
    ['kvHeads', '2', '3'],
    () => rw.attentionLayer({ modelDim: 6, heads: 3, kvHeads: 2 }),
  ],
  'rope on heads of odd size': [
    RangeError,
    ['headDim', '3'],
    () => rw.attentionLayer({ modelDim: 6, heads: 2, position: { encoding: 'rope' } }),
  ],
});
testMisfits(rw, 'forward', {
  'an input of one axis': [RangeError, ['x', '[4]'], forward([4])],
  'an input of four axes': [RangeError, ['x', '[1, 1, 2, 4]'], forward([1, 1, 2, 4])],
  'an input of another width': [RangeError, ['x', '[2, 5]', '4'], forward([2, 5])],
});
