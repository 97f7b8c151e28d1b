// ropewalk against PyTorch: attention, RoPE, layers and steps of training, which tests/peers/torch computes in float64 with
// PyTorch's own functions, layers, gradients and AdamW.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { enums } from '../../bindings/calls/enums.mjs';
import { load } from '../../dist/node.js';
import { load as loadTraining } from '../../dist/training.js';
import { random, sizeOf } from '../ts/support/arrays.mjs';
import { folderWith } from '../ts/support/folder.mjs';
import { root, run } from '../ts/support/node.mjs';
import { noTorch, pythonWith } from '../ts/support/python.mjs';
import { drawer } from './cases.mjs';

// float32 rounds each number by 2^-24 of itself. An operation sums some ten to a hundred products, and a layer puts about ten
// operations one after the other: the error of a result is a few times the rounding of the largest number of its array. Bounds
// are three to four times the errors of these cases, which the tests print.
const roundings = (count) => count * 2 ** -24;

const rw = await load({ simd: 'deterministic' });
const trainers = await loadTraining();

const packed = ({ data, shape }) => {
  const { buffer, byteOffset, byteLength } = data;
  const type = data instanceof Int32Array ? 'int32' : 'float32';
  return { shape, type, data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
};
const packedAll = (inputs) =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [
      name,
      ArrayBuffer.isView(value.data) ? packed(value) : packedAll(value),
    ]),
  );

/** Lists of cases { op, options, inputs, ours }, each with what PyTorch makes of it as `theirs`: arrays by name. */
async function byTorch(t, command, lists) {
  const cases = lists.flat();
  const text = JSON.stringify(cases.map(({ op, options, inputs }) => ({ op, options, inputs: packedAll(inputs) })));
  const folder = folderWith(t, { 'cases.json': text });
  const { stdout } = await run([join(root, 'tests/peers/torch/run.py'), join(folder, 'cases.json')], { command });
  const doubles = (base64) => new Float64Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer);
  const results = JSON.parse(stdout).map((outputs) =>
    Object.fromEntries(Object.entries(outputs).map(([name, base64]) => [name, doubles(base64)])),
  );
  return lists.map((list) => list.map((each) => ({ ...each, theirs: results.shift() })));
}

// Of arrays with a common first name, such as all gradients: sums of one kind, some of which should be 0.
const kindOf = (name) => name.split('.')[0];
const largestOf = (numbers) => numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** Fails where an array differs by more than `share` of the largest number of its kind. Gives the largest share. */
function assertAgree(ours, theirs, share, what) {
  const kinds = {};
  for (const [name, numbers] of Object.entries(theirs)) {
    kinds[kindOf(name)] = Math.max(kinds[kindOf(name)] ?? 0, largestOf(numbers));
  }
  assert.deepEqual(Object.keys(ours).sort(), Object.keys(theirs).sort(), what);
  let worst = 0;
  for (const [name, expected] of Object.entries(theirs)) {
    const got = ours[name];
    assert.equal(got.length, expected.length, `${name} of ${what}`);
    const [error, largest] = [largestOf(expected.map((value, i) => value - got[i])), kinds[kindOf(name)]];
    assert.ok(error <= share * largest, `${name} is apart by ${error}, the largest is ${largest}: ${what}`);
    worst = Math.max(worst, error / largest);
  }
  return worst;
}

// One Python makes all of them, since importing PyTorch takes long.
const groups = [];
let made;

/** A test of `count` cases; `draw(drawer, i)` gives { op, options, inputs, ours }. */
function compare(name, count, share, draw) {
  const place = groups.push(() => Array.from({ length: count }, (_, i) => draw(drawer(1000 * name.length + i), i)));
  test(`${name} as PyTorch has it`, async (t) => {
    const command = await pythonWith('torch');
    if (command === undefined) return t.skip(noTorch);
    made ??= byTorch(
      t,
      command,
      groups.map((cases) => cases()),
    );
    const errors = (await made)[place - 1].map(({ ours, theirs, op, options }) =>
      assertAgree(ours, theirs, share, JSON.stringify({ op, options })),
    );
    t.diagnostic(`at most ${(Math.max(...errors) * 2 ** 24).toFixed(1)} roundings of the largest number`);
  });
}

const given = (options) => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

compare('rotary encodings turn', 40, roundings(4), (draw) => {
  const [heads, tokens, headDim] = [draw.integer(1, 3), draw.integer(1, 7), draw.pick(4, 8, 64)];
  const x = draw.numbers(1, heads, tokens, headDim);
  const options = {
    ...{ base: draw.pick(100, 10000, 500000), pairing: draw.pick('half', 'interleaved') },
    rotaryDim: draw.pick(headDim, headDim / 2),
  };
  const positions = draw.integers(tokens, 100_000);
  const plan = rw.rope({ headDim, ...options });
  const { data } = plan.rotate(x, { positions });
  plan.dispose();
  return {
    op: 'rotate',
    options,
    inputs: { x, positions: { data: Int32Array.from(positions), shape: [tokens] } },
    ours: { out: data },
  };
});

compare('attention', 120, roundings(12), (draw) => {
  const kvHeads = draw.pick(1, 2, 3);
  const heads = kvHeads * draw.pick(1, 2, 4);
  const [batch, queries, headDim, valueDim] = [
    draw.integer(1, 2),
    draw.integer(1, 9),
    draw.pick(1, 7, 8, 32),
    draw.pick(3, 16),
  ];
  const keys = queries + draw.integer(0, 12);
  const inputs = {
    q: draw.numbers(batch, heads, queries, headDim),
    k: draw.numbers(batch, kvHeads, keys, headDim),
    v: draw.numbers(batch, kvHeads, keys, valueDim),
  };
  const [left, right] = draw.pick([undefined, undefined], [3, undefined], [2, 1], [0, 4]);
  const options = given({
    scale: draw.pick(undefined, 0.25),
    softcap: draw.pick(undefined, 0.5, 20),
    causal: draw.pick(true, false),
  });
  const own = { ...options };
  if (left !== undefined) own.window = given({ left, right });
  if (draw.pick(true, false)) inputs.bias = own.bias = draw.numbers(1, heads, queries, keys);
  const { out, scores } = rw.attention(inputs.q, inputs.k, inputs.v, { ...own, returnScores: 'probabilities' });
  return {
    op: 'attention',
    options: given({ ...options, left, right }),
    inputs,
    ours: { out: out.data, probabilities: scores.data },
  };
});

compare('linear attention', 60, roundings(24), (draw) => {
  const kvHeads = draw.pick(1, 2);
  const shape = (heads, dim) => [1, heads, tokens, dim];
  const [tokens, headDim] = [draw.integer(1, 70), draw.pick(4, 16)];
  const inputs = {
    q: draw.numbers(...shape(2 * kvHeads, headDim)),
    k: draw.numbers(...shape(kvHeads, headDim)),
    v: draw.numbers(...shape(kvHeads, 5)),
  };
  const causal = draw.pick(true, false);
  const kind = draw.pick('elu1', 'exp', 'cosine');
  const form = kind === 'cosine' ? 'both' : 'numerator';
  const rope = draw.pick(undefined, { base: 100, pairing: draw.pick('half', 'interleaved') });
  const plan = rope && rw.rope({ headDim, ...rope });
  const similarity = kind === 'cosine' ? { similarity: 'cosine' } : { featureMap: kind };
  const position = plan && { position: { encoding: 'rope', plan, form } };
  const { out } = rw.linearAttention(inputs.q, inputs.k, inputs.v, { ...similarity, causal, ...position });
  plan?.dispose();
  return {
    op: 'linearAttention',
    options: given({ featureMap: kind, causal, rope, form }),
    inputs,
    ours: { out: out.data },
  };
});

// Matrices that keep the size of what they map, biases and norms.
function weightsOf(draw, shapes) {
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const { data } = draw.numbers(...shape);
      const [from, size] = shape.length === 2 ? [0, Math.sqrt(3 / shape[1])] : [/Norm$/.test(name) ? 1 : 0, 0.3];
      return [name, { data: data.map((value) => from + size * value), shape }];
    }),
  );
}

const withBiases = (shapes) => ({
  ...shapes,
  ...Object.fromEntries(Object.entries(shapes).map(([name, [rows]]) => [`${name}Bias`, [rows]])),
});
const attentionShapes = (dim, kvDim) => ({
  query: [dim, dim],
  key: [kvDim, dim],
  value: [kvDim, dim],
  output: [dim, dim],
});

/** Runs a pass of a layer and disposes of it. */
function passOf(layer, x, options) {
  const result = layer.forward(x, options);
  layer.dispose();
  return result;
}

compare('attention layers', 40, roundings(16), (draw) => {
  const [heads, headDim, tokens] = [draw.pick(2, 4), draw.pick(4, 8), draw.integer(1, 9)];
  const kvHeads = draw.pick(1, heads);
  const modelDim = heads * headDim;
  const x = draw.numbers(2, tokens, modelDim);
  const shapes = attentionShapes(modelDim, kvHeads * headDim);
  const weights = weightsOf(draw, draw.pick(shapes, withBiases(shapes)));
  const rope = draw.pick(undefined, { base: 100, pairing: draw.pick('half', 'interleaved') });
  const options = given({ heads, kvHeads, causal: draw.pick(true, false), softcap: draw.pick(undefined, 2) });
  const position = rope && { position: { encoding: 'rope', ...rope } };
  const { out } = passOf(rw.attentionLayer({ modelDim, weights, ...options, ...position }), x);
  return {
    op: 'attentionLayer',
    options: given({ ...options, rope }),
    inputs: { x, weights },
    ours: { out: out.data },
  };
});

compare('the attention layer of torch.nn', 20, roundings(16), (draw) => {
  const [heads, modelDim, causal] = [draw.pick(1, 2, 4), 16, draw.pick(true, false)];
  const x = draw.numbers(2, draw.integer(1, 9), modelDim);
  const weights = weightsOf(draw, withBiases(attentionShapes(modelDim, modelDim)));
  const layer = rw.attentionLayer({ modelDim, heads, causal, weights });
  const { out, scores } = passOf(layer, x, { returnScores: 'probabilities' });
  return {
    op: 'MultiheadAttention',
    options: { heads, causal },
    inputs: { x, weights },
    ours: { out: out.data, probabilities: scores.data },
  };
});

const blockShapes = (modelDim, kvDim, hiddenDim, gated) => ({
  ...attentionShapes(modelDim, kvDim),
  ...(gated && { gate: [hiddenDim, modelDim] }),
  ...{ up: [hiddenDim, modelDim], down: [modelDim, hiddenDim] },
});
const normShapes = (modelDim, biased) => {
  const shapes = { attentionNorm: [modelDim], feedForwardNorm: [modelDim] };
  return biased ? withBiases(shapes) : shapes;
};

compare('transformer layers', 60, roundings(24), (draw, i) => {
  const [heads, headDim, hiddenDim] = [4, draw.pick(4, 8), draw.pick(12, 40)];
  const [kvHeads, modelDim] = [draw.pick(1, 2, 4), heads * headDim];
  const x = draw.numbers(2, draw.integer(1, 9), modelDim);
  const kind = draw.pick('rms', 'layer');
  const shapes = blockShapes(modelDim, kvHeads * headDim, hiddenDim, draw.pick(true, false));
  const weights = weightsOf(draw, {
    ...draw.pick(shapes, withBiases(shapes)),
    ...normShapes(modelDim, kind === 'layer'),
  });
  const rope = draw.pick(undefined, { base: 100, pairing: draw.pick('half', 'interleaved') });
  const [norms, eps] = [draw.pick('pre', 'post', 'parallel'), draw.pick(1e-5, 1e-2)];
  const activation = draw.pick('gelu', 'geluTanh', 'silu');
  const scores = { heads, kvHeads, causal: draw.pick(true, false) };
  const make = i % 2 === 0 ? rw.encoderLayer : rw.decoderLayer;
  const position = rope && { position: { encoding: 'rope', ...rope } };
  const layer = make.call(rw, {
    modelDim,
    hiddenDim,
    weights,
    norms,
    norm: kind,
    eps,
    activation,
    ...scores,
    ...position,
  });
  const { out } = passOf(layer, x);
  const options = given({ ...scores, rope, norms, kind, eps, activation });
  return { op: 'transformerLayer', options, inputs: { x, weights }, ours: { out: out.data } };
});

compare('the encoder layer of torch.nn', 20, roundings(16), (draw) => {
  const [heads, modelDim, hiddenDim, eps] = [draw.pick(1, 2, 4), 16, 24, draw.pick(1e-12, 1e-5)];
  const norms = draw.pick('pre', 'post');
  const x = draw.numbers(2, draw.integer(1, 9), modelDim);
  const weights = weightsOf(draw, {
    ...withBiases(blockShapes(modelDim, modelDim, hiddenDim, false)),
    ...normShapes(modelDim, true),
  });
  const { out } = passOf(rw.encoderLayer({ modelDim, heads, hiddenDim, norms, eps, weights }), x);
  return {
    op: 'TransformerEncoderLayer',
    options: { heads, norms, eps },
    inputs: { x, weights },
    ours: { out: out.data },
  };
});

const trained = [
  { position: { encoding: 'none' }, activation: 'silu', norm: 'layer' },
  { position: { encoding: 'learned' } },
  { position: { encoding: 'binary', maxPositions: 13 } },
  { position: { encoding: 'sinusoidal', base: 100 } },
  { position: { encoding: 'rope', base: 100, pairing: 'half' } },
  { position: { encoding: 'rope', base: 100, pairing: 'interleaved', rotaryDim: 4 } },
  { position: { encoding: 'alibi', trainable: true } },
  { position: { encoding: 't5', numBuckets: 6, maxDistance: 9 } },
  { position: { encoding: 'kerple' } },
  { position: { encoding: 'shaw', maxDistance: 3 } },
  { position: { encoding: 'relative_key' } },
  { position: { encoding: 'relative_key_query' } },
  { position: { encoding: 'm3' } },
  { position: { encoding: 'pope', base: 100 } },
  { position: { encoding: 'forget' } },
  { position: { encoding: 'fire', width: 5, threshold: 3 } },
  { position: { encoding: 'axial', columns: 5 } },
  { position: { encoding: 'sandwich', dim: 10, base: 100 } },
  { position: { encoding: 'transformer_xl', base: 100 } },
  { position: { encoding: 'deberta', span: 4 } },
  { position: { encoding: 'deberta', span: 6, maxDistance: 14 } },
  { position: { encoding: 'cope', positions: 4 } },
  { position: { encoding: 'rope_mixed', columns: 5, pairing: 'interleaved' } },
  { position: { encoding: 'rope_mixed', columns: 4, base: 100, pairing: 'half' } },
  { position: { encoding: 'none' }, attention: { linear: 'elu1' } },
  { position: { encoding: 'rope', base: 100 }, attention: { linear: 'elu1', ropeForm: 'numerator' } },
  { position: { encoding: 'rope', base: 100 }, attention: { linear: 'cosine', ropeForm: 'both' } },
];
const steps = 3;

test('every encoding that is trained is compared', () => {
  const compared = new Set(trained.map(({ position }) => position.encoding));
  assert.deepEqual([...compared].sort(), Object.keys(enums.TrainedPosition.values).sort());
});

// Sums over 24 tokens and two layers, forward and back. The eps of AdamW is large enough for a step not to be the sign of a
// gradient, which would be that of a rounding error where it should be 0.
compare('training', trained.length, roundings(32), (draw, i) => {
  const options = {
    ...{ layers: 2, heads: 2, attention: 'softmax', norm: 'rms', normEps: 1e-5, activation: 'gelu' },
    optimizer: { learningRate: 0.02, betas: [0.9, 0.98], eps: 1e-3, weightDecay: 0.1, clip: 0.5 },
    ...trained[i],
  };
  const [vocab, shape] = [11, [2, 12]];
  const trainer = trainers.trainer({ ...options, modelDim: 16, hiddenDim: 20, vocab, context: shape[1], seed: i });
  const parameters = Object.fromEntries(
    Object.entries(trainer.parameters()).map(([name, { data, shape: own }]) => {
      const more = random(sizeOf(own), i + 1); // some begin as 0
      return [name, { data: data.map((value, at) => value + 0.05 * more[at]), shape: own }];
    }),
  );
  trainer.setParameters(parameters);
  const numbers = () => ({ data: Int32Array.from(draw.integers(sizeOf(shape), vocab - 1)), shape });
  const [ids, targets] = [numbers(), numbers()];
  const weights = { data: Float32Array.from({ length: sizeOf(shape) }, (_, at) => [1, 0.5, 0, 2][at % 4]), shape };
  const ours = {};
  for (let step = 0; step < steps; ++step) {
    const { loss, gradientNorm } = trainer.step({ ids, targets, weights: weights.data });
    Object.assign(ours, { [`loss.${step}`]: [loss], [`gradientNorm.${step}`]: [gradientNorm] });
    if (step > 0) continue;
    for (const [name, { data }] of Object.entries(trainer.gradients())) ours[`gradients.${name}`] = data;
  }
  for (const [name, { data }] of Object.entries(trainer.parameters())) ours[`parameters.${name}`] = data;
  trainer.dispose();
  return { op: 'train', options: { options, steps }, inputs: { parameters, ids, targets, weights }, ours };
});
