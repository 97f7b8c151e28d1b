// Encoder and decoder layers against float64: families of models, captures, and every refusal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray } from '../support/arrays.mjs';
import {
  notABoolean,
  notAChoice,
  notAnInteger,
  notFinite,
  notFloats,
  notOptions,
  notPositive,
  outOfRange,
  required,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { layerReference, layerWeights } from '../support/layer-reference.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const eps = 2 ** -24;
// Seven matrix products, norms that divide by a spread of about 1 and a softmax, on numbers of about 1.
const tolerance = 256 * eps;

const all = ['query', 'key', 'value', 'output', 'gate', 'up', 'down', 'attentionNorm', 'feedForwardNorm'];
const two = (n) => [
  ['attentionNorm', n],
  ['feedForwardNorm', n],
];
const after = (n) => [
  ['attentionAfterNorm', n],
  ['feedForwardAfterNorm', n],
];
const heads = (q, k = q) => [
  ['queryNorm', q],
  ['keyNorm', k],
];
const small = { modelDim: 16, heads: 4, hiddenDim: 24 };
const grouped = { modelDim: 12, heads: 4, kvHeads: 2, headDim: 6, hiddenDim: 20 };

// name: which layer, its sizes and weights, its options, and the same for the reference.
const families = {
  BERT: {
    kind: 'encoderLayer',
    size: small,
    weights: { norms: two(16), biases: all, without: ['gate'] },
    options: {},
    means: { norms: 'post', kind: 'layer', eps: 1e-12, activation: 'gelu' },
  },
  'RoFormer with turned values': {
    kind: 'encoderLayer',
    size: small,
    weights: { norms: two(16), biases: all, without: ['gate'] },
    options: { position: { encoding: 'rope', pairing: 'interleaved' }, turnValues: true },
    means: {
      ...{ norms: 'post', kind: 'layer', eps: 1e-12, activation: 'gelu' },
      ...{ rope: { pairing: 'interleaved' }, turnValues: true },
    },
  },
  LLaMA: {
    kind: 'decoderLayer',
    size: grouped,
    weights: { norms: two(12) },
    options: { eps: 1e-5, position: { encoding: 'rope', base: 500000 } },
    means: { norms: 'pre', kind: 'rms', eps: 1e-5, activation: 'silu', causal: true, rope: { base: 500000 } },
  },
  'Qwen2, with biases': {
    kind: 'decoderLayer',
    size: grouped,
    weights: { norms: two(12), biases: ['query', 'key', 'value'] },
    options: { position: { encoding: 'rope', base: 1e6 } },
    means: { norms: 'pre', kind: 'rms', eps: 1e-6, activation: 'silu', causal: true, rope: { base: 1e6 } },
  },
  Qwen3: {
    kind: 'decoderLayer',
    size: grouped,
    weights: { norms: [...two(12), ...heads(6)] },
    options: { position: { encoding: 'rope', base: 1e6 } },
    means: { norms: 'pre', kind: 'rms', eps: 1e-6, activation: 'silu', causal: true, rope: { base: 1e6 } },
  },
  'Gemma 3': {
    kind: 'decoderLayer',
    size: grouped,
    weights: { norms: [...two(12), ...after(12), ...heads(6)] },
    options: {
      ...{ norms: 'sandwich', unitOffset: true, activation: 'geluTanh', scale: 0.3 },
      position: { encoding: 'rope' },
    },
    means: {
      ...{ norms: 'sandwich', kind: 'rms', eps: 1e-6, unitOffset: true, activation: 'geluTanh', scale: 0.3 },
      ...{ causal: true, rope: {} },
    },
  },
  'OLMo 2': {
    kind: 'decoderLayer',
    size: grouped,
    weights: { norms: [...after(12), ...heads(24, 12)] },
    options: { norms: 'sandwich', position: { encoding: 'rope' } },
    means: { norms: 'sandwich', kind: 'rms', eps: 1e-6, activation: 'silu', causal: true, rope: {} },
  },
  'GPT-NeoX': {
    kind: 'decoderLayer',
    size: small,
    weights: { norms: two(16), biases: all, without: ['gate'] },
    options: { norms: 'parallel', norm: 'layer', eps: 1e-5, activation: 'gelu', position: { encoding: 'rope' } },
    means: { norms: 'parallel', kind: 'layer', eps: 1e-5, activation: 'gelu', causal: true, rope: {} },
  },
  'GPT-J': {
    kind: 'decoderLayer',
    size: small,
    weights: { norms: [['attentionNorm', 16]], biases: ['attentionNorm'], without: ['gate'] },
    options: { norms: 'parallel', norm: 'layer', eps: 1e-5, activation: 'geluTanh' },
    means: { norms: 'parallel', kind: 'layer', eps: 1e-5, activation: 'geluTanh', causal: true },
  },
  'ModernBERT, whose first attention reads what is normed already': {
    kind: 'encoderLayer',
    size: small,
    weights: { norms: [['feedForwardNorm', 16]], biases: [] },
    options: { norms: 'pre', eps: 1e-5, position: { encoding: 'rope' } },
    means: { norms: 'pre', kind: 'layer', eps: 1e-5, activation: 'gelu', causal: false, rope: {} },
  },
  'Granite, whose parts count less': {
    kind: 'decoderLayer',
    size: grouped,
    weights: { norms: two(12) },
    options: { residualScale: 0.22, scale: 0.1, position: { encoding: 'rope' } },
    means: {
      ...{ norms: 'pre', kind: 'rms', eps: 1e-6, activation: 'silu', causal: true, rope: {} },
      ...{ residual: 0.22, scale: 0.1 },
    },
  },
  'SmolLM3 without rope, values of another size': {
    kind: 'decoderLayer',
    size: { ...grouped, valueDim: 5 },
    weights: { norms: two(12) },
    options: {},
    means: { norms: 'pre', kind: 'rms', eps: 1e-6, activation: 'silu', causal: true },
  },
  // Matrices of one row are matrices.
  'one number at each place': {
    kind: 'decoderLayer',
    size: { modelDim: 4, heads: 4, kvHeads: 1, headDim: 2, valueDim: 1, hiddenDim: 1 },
    weights: { norms: two(4) },
    options: {},
    means: { norms: 'pre', kind: 'rms', eps: 1e-6, activation: 'silu', causal: true },
  },
};

await onEachBuild((rw) => {
  for (const [name, { kind, size, weights: which, options, means }] of Object.entries(families)) {
    const weights = layerWeights(size, which);
    const make = (more) => rw[kind]({ ...size, ...options, weights, ...more });
    const x = randomArray([2, 5, size.modelDim], 9);

    test(`a layer of ${name} is that of float64`, () => {
      const layer = make();
      const offset = 20;
      const mask = { data: Uint8Array.of(1, 1, 1, 0, 1, 1, 1, 1, 1, 1), shape: [2, 1, 1, 5] };
      const { out, captured } = layer.forward(x, { offset, mask, capture: ['probabilities'] });
      assert.deepEqual([out.shape, captured.probabilities.shape], [x.shape, [2, size.heads, 5, 5]]);
      for (const b of [0, 1]) {
        const one = x.data.subarray(b * 5 * size.modelDim, (b + 1) * 5 * size.modelDim);
        const keeps = (_b, _h, _i, j) => mask.data[b * 5 + j] === 1;
        const rope = means.rope && { ...means.rope, offset };
        const want = layerReference(one, size, weights, { ...means, rope, keeps });
        assertClose(out.data.subarray(b * one.length, (b + 1) * one.length), want.out, tolerance);
        const scores = want.scores.length;
        assertClose(captured.probabilities.data.subarray(b * scores, (b + 1) * scores), want.scores, tolerance);
      }
      layer.dispose();
    });

    test(`${name}: asking for everything changes no bit of the result, and each has its shape`, () => {
      const layer = make();
      const { out } = layer.forward(x);
      const [rows, T, kv] = [[2, 5], 5, size.kvHeads ?? size.heads];
      const headDim = size.headDim ?? size.modelDim / size.heads;
      const valueDim = size.valueDim ?? headDim;
      const shapes = {
        ...{ q: [...rows, size.heads, headDim], k: [...rows, kv, headDim], v: [...rows, kv, valueDim] },
        ...{ qRotated: [...rows, size.heads, headDim], kRotated: [...rows, kv, headDim] },
        ...{ vRotated: [...rows, kv, valueDim], context: [...rows, size.heads, valueDim] },
        ...Object.fromEntries(
          ['content', 'position', 'raw', 'capped', 'biased', 'probabilities'].map((stage) => [stage, [2, 2, T, T]]),
        ),
        ...Object.fromEntries(['normed', 'attentionOut', 'hidden', 'mlp'].map((each) => [each, x.shape])),
      };
      if (layer.norms === 'parallel') delete shapes.hidden;
      const capture = Object.keys(shapes);
      const result = layer.forward(x, { capture, captureHeads: [3, 1] });
      assertSameBits(result.out.data, out.data);
      assert.deepEqual(Object.fromEntries(capture.map((each) => [each, result.captured[each].shape])), shapes);
      const everyHead = layer.forward(x, { capture: ['probabilities'] }).captured.probabilities.data;
      const rowsOf = (b, h) => everyHead.subarray((b * size.heads + h) * T * T).subarray(0, T * T);
      for (const b of [0, 1]) {
        for (const [slot, head] of [3, 1].entries()) {
          const part = result.captured.probabilities.data.subarray((2 * b + slot) * T * T).subarray(0, T * T);
          assertSameBits(part, rowsOf(b, head));
        }
      }
      layer.dispose();
    });
  }

  test("position tables and plans are the layer's own copies, or shared", () => {
    const weights = layerWeights(small, { norms: two(16), biases: all, without: ['gate'] });
    const x = randomArray([6, 16], 4);
    const table = randomArray([13, 4], 5);
    const before = rw.memory();
    for (const encoding of ['relative_key', 'relative_key_query']) {
      const layer = rw.encoderLayer({ ...small, weights, position: { encoding, table } });
      const first = layer.forward(x);
      const kept = table.data.slice();
      table.data.fill(0);
      assertSameBits(layer.forward(x).out.data, first.out.data);
      table.data.set(kept);
      const plain = rw.encoderLayer({ ...small, weights });
      assert.notDeepEqual(plain.forward(x).out.data, first.out.data);
      const { captured } = layer.forward(x, { capture: ['content', 'position', 'raw'] });
      const sums = captured.content.data.map((value, i) => value + captured.position.data[i]);
      assertClose(captured.raw.data, sums, 8 * eps);
      layer.dispose();
      plain.dispose();
    }
    const plan = rw.rope({ headDim: 4, base: 500 });
    const shared = rw.encoderLayer({ ...small, weights, position: { encoding: 'rope', plan } });
    const own = rw.encoderLayer({ ...small, weights, position: { encoding: 'rope', base: 500 } });
    assertSameBits(shared.forward(x).out.data, own.forward(x).out.data);
    own.dispose();
    plan.dispose();
    assert.throws(() => shared.forward(x), /plan was disposed/);
    shared.dispose();
    assert.deepEqual([rw.memory().usedBytes, rw.memory().liveObjects], [before.usedBytes, before.liveObjects]);
  });

  test('sinks take their share of each row', () => {
    const weights = layerWeights(small, { norms: two(16), without: ['gate'] });
    const x = randomArray([3, 16], 6);
    const sinks = Float32Array.of(0, 1, 2, -50);
    const layer = rw.decoderLayer({ ...small, weights: { ...weights, sinks } });
    const { captured } = layer.forward(x, { capture: ['biased', 'probabilities'] });
    const { biased, probabilities } = captured;
    for (let row = 0; row < 12; ++row) {
      const powers = [...biased.data.subarray(3 * row, 3 * row + 3)].map(Math.exp);
      const total = powers.reduce((a, b) => a + b, Math.exp(sinks[Math.floor(row / 3)]));
      assertClose(
        probabilities.data.subarray(3 * row, 3 * row + 3),
        powers.map((p) => p / total),
        16 * eps,
      );
    }
    layer.dispose();
  });

  test('a window and a softcap are those of attention', () => {
    const weights = layerWeights(small, { norms: two(16) });
    const x = randomArray([7, 16], 6);
    const layer = rw.decoderLayer({ ...small, weights, window: { left: 2 }, softcap: 0.5, sinkTokens: 1 });
    const { raw, capped, biased } = layer.forward(x, { capture: ['raw', 'capped', 'biased'] }).captured;
    for (let n = 0; n < raw.data.length; ++n) {
      const [i, j] = [Math.floor(n / 7) % 7, n % 7];
      assert.ok(Math.abs(capped.data[n] - 0.5 * Math.tanh(raw.data[n] / 0.5)) <= 8 * eps);
      const seen = j <= i && (i - j <= 2 || j < 1);
      assert.equal(biased.data[n], seen ? capped.data[n] : Number.NEGATIVE_INFINITY);
    }
    layer.dispose();
  });

  test('tensors in give tensors out, with the bits of plain arrays', () => {
    const weights = layerWeights(grouped, { norms: two(12) });
    const layer = rw.decoderLayer({ ...grouped, weights });
    const x = randomArray([4, 12], 6);
    const before = rw.memory();
    const tensor = rw.tensor(x.shape, x.data);
    const { out, captured } = layer.forward(tensor, { capture: ['mlp'] });
    const plain = layer.forward(x, { capture: ['mlp'] });
    assertSameBits(out.data(), plain.out.data);
    assertSameBits(captured.mlp.data(), plain.captured.mlp.data);
    for (const made of [tensor, out, captured.mlp]) made.dispose();
    assert.deepEqual([rw.memory().usedBytes, rw.memory().liveObjects], [before.usedBytes, before.liveObjects]);
    layer.dispose();
  });
});

const rw = await load({ simd: 'deterministic' });
const weights = layerWeights(small, { norms: [...two(16), ...heads(4)], biases: all });
const make = (more) => rw.decoderLayer({ ...small, weights, ...more });
const withWeights = (more) => make({ weights: { ...weights, ...more } });
const lengths = { query: 256, key: 256, value: 256, output: 256, gate: 384, up: 384, down: 384 };
testAllRefusals(rw, 'decoderLayer', {
  options: [required(notOptions), (options) => rw.decoderLayer(options)],
  hiddenDim: [required(notAnInteger({ min: 1, max: 2 ** 20 })), (hiddenDim) => make({ hiddenDim })],
  valueDim: [notAnInteger({ min: 1, max: 2 ** 16 }), (valueDim) => make({ valueDim })],
  norms: [notAChoice, (norms) => make({ norms })],
  norm: [notAChoice, (norm) => make({ norm })],
  eps: [notPositive, (eps) => make({ eps })],
  unitOffset: [notABoolean, (unitOffset) => make({ unitOffset })],
  ownHeadNorms: [notABoolean, (ownHeadNorms) => make({ ownHeadNorms })],
  activation: [notAChoice, (activation) => make({ activation })],
  residualScale: [notFinite, (residualScale) => make({ residualScale })],
  turnValues: [notABoolean, (turnValues) => make({ turnValues })],
  causal: [notABoolean, (causal) => make({ causal })],
  softcap: [[...notPositive, outOfRange(1e-46)], (softcap) => make({ softcap })],
  storage: [notAChoice, (storage) => make({ storage })],
  weights: [required(notOptions), (value) => make({ weights: value })],
  ...Object.fromEntries(
    Object.entries({ ...lengths, attentionNorm: 16, feedForwardNorm: 16 }).map(([name, length]) => [
      `weights.${name}`,
      [
        ['gate', 'attentionNorm'].includes(name) ? notFloats(length) : required(notFloats(length)),
        (value) => withWeights({ [name]: value }),
      ],
    ]),
  ),
  'weights.queryNorm': [notFloats(4), (queryNorm) => withWeights({ queryNorm })],
  'weights.upBias': [notFloats(24), (upBias) => withWeights({ upBias })],
  'weights.attentionNormBias': [notFloats(16), (attentionNormBias) => withWeights({ attentionNormBias })],
  'weights.sinks': [notFloats(4), (sinks) => withWeights({ sinks })],
});
testUnknownOptions(rw, 'decoderLayer', ['dim', 'ropeTheta', 'seed'], make);
testUnknownOptions(rw, 'the weights of a decoder layer', ['q', 'fc1', 'attentionAfterNorm'], withWeights);
const { gate: _, ...ungated } = weights;
const { attentionNorm: __, ...unnormed } = weights;
testMisfits(rw, 'a transformer layer', {
  'heads that do not divide modelDim': [RangeError, ['heads', '3', '16'], () => make({ heads: 3 })],
  'kvHeads that do not divide heads': [RangeError, ['kvHeads', '3', '4'], () => make({ kvHeads: 3 })],
  'a bias without its matrix': [RangeError, 'weights.gateBias', () => make({ weights: ungated })],
  'one set of weights for all heads, where each has its own': [
    RangeError,
    ['weights.queryNorm', '4', '16'],
    () => make({ ownHeadNorms: true }),
  ],
  'a bias without its norm': [RangeError, 'weights.attentionNormBias', () => make({ weights: unnormed })],
  'sinusoids, which are added to embeddings': [
    RangeError,
    ['position.encoding', 'sinusoidal'],
    () => make({ position: { encoding: 'sinusoidal' } }),
  ],
  'a plan for heads of another size': [
    RangeError,
    ['position.plan', '8', '4'],
    () => {
      const plan = rw.rope({ headDim: 8 });
      try {
        make({ position: { encoding: 'rope', plan } });
      } finally {
        plan.dispose();
      }
    },
  ],
  'a plan that is none': [TypeError, 'position.plan', () => make({ position: { encoding: 'rope', plan: {} } })],
  'a table of another width': [
    RangeError,
    ['position.table', '[5, 3]', '4'],
    () => make({ position: { encoding: 'relative_key', table: randomArray([5, 3]) } }),
  ],
  'a table of no shape': [TypeError, 'position.table', () => make({ position: { encoding: 't5', table: random(8) } })],
  'turned values of another size': [
    RangeError,
    ['turnValues', 'valueDim'],
    () => {
      const size = { ...small, valueDim: 3 };
      rw.decoderLayer({
        ...size,
        weights: layerWeights(size, { norms: two(16) }),
        turnValues: true,
        position: { encoding: 'rope' },
      });
    },
  ],
  'values turned without rope': [RangeError, ['turnValues', 'none'], () => make({ turnValues: true })],
  'values turned by xPos': [
    RangeError,
    ['turnValues', 'xpos'],
    () => make({ turnValues: true, position: { encoding: 'rope', xpos: { scaleBase: 512 } } }),
  ],
});

const layer = make({ position: { encoding: 'rope' } });
const parallel = make({ norms: 'parallel' });
const relative = make({ position: { encoding: 'relative_key', table: randomArray([5, 4]) } });
const x = randomArray([4, 16], 8);
const forward = (options) => layer.forward(x, options);
testAllRefusals(rw, 'forward of a transformer layer', {
  options: [notOptions, forward],
  capture: [notOptions.filter(({ value }) => !Array.isArray(value)), (capture) => forward({ capture })],
  'capture[1]': [required(notAChoice), (name) => forward({ capture: ['q', name] })],
  'captureHeads[0]': [
    notAnInteger({ min: 0, max: 3 }).filter(({ value }) => typeof value !== 'bigint'),
    (head) => forward({ capture: ['raw'], captureHeads: [head] }),
  ],
});
testUnknownOptions(rw, 'forward of a transformer layer', ['returnScores', 'causal'], forward);
testMisfits(rw, 'forward of a transformer layer', {
  'a head twice': [RangeError, ['captureHeads[1]', '2'], () => forward({ capture: ['raw'], captureHeads: [2, 2] })],
  'the hidden state of a parallel layer': [
    RangeError,
    ['capture[0]', 'hidden'],
    () => parallel.forward(x, { capture: ['hidden'] }),
  ],
  'an input of another width': [RangeError, ['x', '[2, 5]', '16'], () => layer.forward(randomArray([2, 5]))],
  'distances that a table does not have': [RangeError, ['table', '2', '3'], () => relative.forward(x)],
  'positions for an encoding of distances': [
    RangeError,
    ['positions', 'relative_key'],
    () => relative.forward(randomArray([2, 16]), { positions: [3, 9] }),
  ],
});
test('an attention layer does not know what it has not', () => {
  const attention = rw.attentionLayer({ modelDim: 16, heads: 4 });
  for (const name of ['normed', 'hidden', 'mlp', 'attentionOut']) {
    assert.throws(() => attention.forward(x, { capture: [name] }), RangeError);
  }
  assert.throws(() => attention.forward(x, { capture: ['q'], returnScores: 'probabilities' }), /returnScores/);
  attention.dispose();
});
