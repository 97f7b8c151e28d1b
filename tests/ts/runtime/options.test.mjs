// Options and all nested values are read once, so that no getter or proxy can give one value to a check and another to
// the call. The names of each list of options are those of its interface, which the compiler checks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as ropewalk from 'ropewalk';
import * as models from 'ropewalk/models';
import { random, randomArray } from '../support/arrays.mjs';
import { fireParameters } from '../support/fire.mjs';
import { folderWith } from '../support/folder.mjs';
import { root, run } from '../support/node.mjs';
import { writeSafetensors } from '../support/safetensors.mjs';
import { fileOfModel, tinyBert, tinyLlama } from '../support/tiny-models.mjs';

const rw = await ropewalk.load({ simd: 'deterministic' });

/** Proxies of objects and lists: count in `reads` the reads of each property; only the first gives the real value. */
function counting(value, reads, path = '') {
  const isOwn = Array.isArray(value) || (typeof value === 'object' && value !== null && isPlain(value));
  if (!isOwn) return value;
  return new Proxy(value, {
    get(target, name) {
      if (typeof name === 'symbol' || !(Object.hasOwn(target, name) || name === 'length'))
        return Reflect.get(target, name);
      const at = `${path}.${name}`;
      reads.set(at, (reads.get(at) ?? 0) + 1);
      return reads.get(at) === 1 ? counting(target[name], reads, at) : 'another answer';
    },
  });
}

const isPlain = (value) => Object.getPrototypeOf(value) === Object.prototype;

/** Paths of all properties within. */
function pathsOf(value, path = '') {
  if (typeof value !== 'object' || value === null || !(Array.isArray(value) || isPlain(value))) return [];
  return Object.keys(value).flatMap((name) => [`${path}.${name}`, ...pathsOf(value[name], `${path}.${name}`)]);
}

const plan = rw.rope({ headDim: 4 });
const other = rw.rope({ headDim: 4, base: 500 });
const tensor = (shape, seed = 3) =>
  rw.tensor(
    shape,
    random(
      shape.reduce((a, b) => a * b, 1),
      seed,
    ),
  );
const x = randomArray([2, 3, 4], 1);
const cacheOf = () => rw.kvCache({ kvHeads: 2, headDim: 4, rope: { plan } }).append(x, x);
const saved = cacheOf().save();
const matrix = (rows, columns) => ({ type: 'float32', data: random(rows * columns, rows), shape: [rows, columns] });
const vector = (size) => ({ data: random(size, size), shape: [size] });
const attentionWeights = { query: matrix(8, 8), key: matrix(8, 8), value: matrix(8, 8), output: matrix(8, 8) };
const blockWeights = {
  ...attentionWeights,
  queryBias: vector(8),
  up: matrix(12, 8),
  down: matrix(8, 12),
  attentionNorm: vector(8),
  feedForwardNorm: vector(8),
};
const layer = rw.decoderLayer({ modelDim: 8, heads: 2, hiddenDim: 12, weights: blockWeights });
const small = rw.attentionLayer({ modelDim: 8, heads: 2, seed: 1 });
const input = randomArray([3, 8], 2);
const linear = rw.linear({ weight: matrix(3, 4) });
const state = () => rw.linearAttentionState({ headDim: 4, kvHeads: 2 });
const yarn = { type: 'yarn', factor: 4, originalLength: 16, betaFast: 32 };
const mask = { data: Uint8Array.of(1, 1, 0), shape: [1, 3] };
const window = { left: 2, right: 1 };
const sizes = {
  modelDim: 8,
  heads: 2,
  kvHeads: 2,
  headDim: 4,
  causal: true,
  window,
  sinkTokens: 1,
  scale: 0.5,
  softcap: 9,
};
const block = {
  ...sizes,
  hiddenDim: 12,
  eps: 1e-5,
  weights: blockWeights,
  position: { encoding: 'rope', scaling: yarn },
};
const llama = tinyLlama();
const { config } = llama;
const model = await models.loadModel(rw, { config, weights: fileOfModel(llama) });
const bert = tinyBert();
const encoder = await models.loadModel(rw, { config: bert.config, weights: fileOfModel(bert) });
const file = await models.openSafetensors(
  rw,
  writeSafetensors({ w: { dtype: 'F32', shape: [4], data: Float32Array.of(1, 2, 3, 4) } }),
);
const signal = new AbortController().signal;
const onProgress = () => {};
const ids = [3, 1, 4, 1];

/** For each function, options with all lists and objects that it accepts, and a call with them. */
const ofInstance = {
  rope: [{ headDim: 8, rotaryDim: 8, base: 500, scaling: yarn, xpos: { scaleBase: 256 } }, (o) => rw.rope(o)],
  explainRope: [{ trainingLength: 16 }, (o) => rw.explainRope({ headDim: 8, scaling: yarn }, o)],
  detectPairing: [{ positions: [0, 1, 2], scaling: yarn }, (o) => rw.detectPairing(x, x, randomArray([2, 3, 3], 4), o)],
  rotaryEmbedding: [
    { cos: randomArray([5, 2], 1), sin: randomArray([5, 2], 2), positions: [0, 1, 4], layout: 'BHTD' },
    (o) => rw.rotaryEmbedding(x, o),
  ],
  sinusoidal: [{ dim: 4, positions: { length: 3, offset: 1 }, base: 500, scale: 2 }, (o) => rw.sinusoidal(o)],
  binary: [{ bits: 4, positions: [1, 2], msbFirst: true }, (o) => rw.binary(o)],
  learned: [{ table: randomArray([5, 4], 1), mode: 'add', positions: [0, 1, 4] }, (o) => rw.learned(x, o)],
  extendLearned: [{ length: 6, alpha: 0.3 }, (o) => rw.extendLearned(randomArray([3, 4], 1), o)],
  alibiBias: [{ heads: 2, queries: 2, keys: 3, queryOffset: 1, variant: 'bloom' }, (o) => rw.alibiBias(o)],
  t5Buckets: [{ bidirectional: true, numBuckets: 8, maxDistance: 16 }, (o) => rw.t5Buckets([1, 2], o)],
  t5Bias: [{ table: randomArray([8, 2], 1), numBuckets: 8, queries: 2, keys: 3 }, (o) => rw.t5Bias(o)],
  kerpleBias: [{ r1: Float32Array.of(1), r2: Float32Array.of(1), queries: 2, keys: 3 }, (o) => rw.kerpleBias(o)],
  sandwichBias: [{ heads: 2, dim: 4, base: 9, queries: 2, keys: 3 }, (o) => rw.sandwichBias(o)],
  fireBias: [{ ...fireParameters(1), queries: 2, keys: 3 }, (o) => rw.fireBias(o)],
  relativeRows: [{ queries: 2, keys: 3, maxDistance: 4, sign: 'query-minus-key' }, (o) => rw.relativeRows(o)],
  attention: [
    {
      ...{ causal: true, window, sinkTokens: 1, mask, bias: randomArray([3, 3], 1), sinks: vector(2), scale: 0.5 },
      ...{ queryOffset: [2], keyPositions: [0, 1, 2], keyLengths: [3] },
      ...{ returnScores: ['raw', 'probabilities'], scoreHeads: [1] },
      position: { encoding: 'rope', plan, queries: [0, 1, 2], keys: [0, 1, 2] },
    },
    (o) => rw.attention(x, x, x, o),
  ],
  kvCache: [
    {
      batch: 1,
      kvHeads: 2,
      headDim: 4,
      capacity: 9,
      window: { size: 4, sinkTokens: 1 },
      rope: { plan, keys: 'rotated' },
    },
    (o) => rw.kvCache(o),
  ],
  restoreKvCache: [{ plan: [plan, other] }, (o) => rw.restoreKvCache(saved, o)],
  layerNorm: [{ weight: vector(4), bias: vector(4), eps: 1e-5 }, (o) => rw.layerNorm(x, o)],
  rmsNorm: [{ weight: vector(4), eps: 1e-5, unitOffset: true }, (o) => rw.rmsNorm(x, o)],
  gelu: [{ approximate: 'tanh' }, (o) => rw.gelu(x, o)],
  silu: [{ out: new Float32Array(24) }, (o) => rw.silu(x, o)],
  softmax: [{ out: new Float32Array(24) }, (o) => rw.softmax(x, o)],
  embed: [{ shape: [2, 1], scale: 2 }, (o) => rw.embed(randomArray([5, 4], 1), [0, 4], o)],
  linearAttention: [
    { causal: true, mask, normalize: true, position: { encoding: 'rope', plan, form: 'both', queries: [0, 1, 2] } },
    (o) => rw.linearAttention(x, x, x, o),
  ],
  linearAttentionState: [
    {
      headDim: 4,
      kvHeads: 2,
      normalize: false,
      outputNorm: { eps: 1e-5 },
      position: { encoding: 'rope', plan, offset: 2 },
    },
    (o) => rw.linearAttentionState(o),
  ],
  recurrentAttention: [
    { updateRule: 'gated_delta', decay: randomArray([2, 3], 1), beta: randomArray([2, 3], 2), scale: 1 },
    (o) => rw.recurrentAttention(x, x, x, o),
  ],
  linear: [{ weight: matrix(3, 4), bias: vector(3), storage: 'int8', activation: 'gelu' }, (o) => rw.linear(o)],
  attentionLayer: [
    { ...sizes, weights: attentionWeights, position: { encoding: 'relative_key', table: randomArray([9, 4], 1) } },
    (o) => rw.attentionLayer(o),
  ],
  encoderLayer: [block, (o) => rw.encoderLayer(o)],
  decoderLayer: [block, (o) => rw.decoderLayer(o)],
};
const others = {
  load: [{ simd: 'deterministic' }, (o) => ropewalk.load(o)],
  'plan.rotate': [{ positions: [0, 1, 5], layout: 'BHTD' }, (o) => plan.rotate(x, o)],
  'plan.unrotate': [{ offset: 3, shape: [6, 4] }, (o) => plan.unrotate(x.data, o)],
  'plan.rotateBoth': [
    { positions: [0, 1, 5], out: [new Float32Array(24), new Float32Array(24)] },
    (o) => plan.rotateBoth(x, x, o),
  ],
  'plan.rerotate': [{ from: [0, 1, 2], to: [4, 5, 6], plan: other }, (o) => plan.rerotate(x, o)],
  'plan.tables': [{ length: 3, offset: 2 }, (o) => plan.tables(o)],
  'cache.append': [{ positions: [5, 6, 9], layout: 'BHTD' }, (o) => cacheOf().append(x, x, o)],
  'cache.attend': [{ mask, window, returnScores: ['raw'], scoreHeads: [0] }, (o) => cacheOf().attend(x, o)],
  'cache.shift': [{ first: 1, count: 2 }, (o) => cacheOf().shift(4, o)],
  'cache.merge': [{ first: 1, count: 2, at: 9 }, (o) => cacheOf().merge(cacheOf(), o)],
  'layer.forward': [
    { positions: [0, 1, 2], mask: { ...mask, shape: [1, 3] }, capture: ['q', 'raw'], captureHeads: [1] },
    (o) => layer.forward(input, o),
  ],
  'attentionLayer.forward': [{ offset: 2, returnScores: 'probabilities' }, (o) => small.forward(input, o)],
  'layer.kvCache': [{ batch: 1, capacity: 9, window: { size: 4 } }, (o) => layer.kvCache(o)],
  'linear.apply': [{ out: new Float32Array(18) }, (o) => linear.apply(x, o)],
  'state.append': [
    { mask: { data: [true, true, false], shape: [3] }, returnDenominators: true },
    (o) => state().append(x, x, x, o),
  ],
  'analysis.shiftMatrix': [{ dim: 4, base: 500, k: 2, layout: 'concatenated' }, (o) => rw.analysis.shiftMatrix(o)],
  'analysis.dotCurve': [{ dim: 4, base: 500, distances: [0, 1] }, (o) => rw.analysis.dotCurve(o)],
  'analysis.decayCurve': [{ dim: 4, base: 500, distances: [0, 1] }, (o) => rw.analysis.decayCurve(o)],
  'analysis.decayBound': [
    { dim: 4, q: random(4, 1), k: random(4, 2), distances: [0, 1] },
    (o) => rw.analysis.decayBound(o),
  ],
  permutePairing: [
    { from: 'half', to: 'interleaved', heads: 2, headDim: 4, rotaryDim: 4, headsOn: 'rows' },
    (o) => ropewalk.permutePairing(random(32, 1), o),
  ],
  convertPairing: [{ from: 'half', to: 'interleaved', headDim: 4 }, (o) => ropewalk.convertPairing(random(8, 1), o)],
  mixedRope: [
    { frequencies: randomArray([2, 2, 2], 1), positions: { length: 3, offset: 1 }, pairing: 'half' },
    (o) => ropewalk.mixedRope(rw, o),
  ],
  'mixedRope.rotate': [
    { layout: 'BHTD' },
    (o) => ropewalk.mixedRope(rw, { frequencies: randomArray([1, 2, 2], 1), positions: [0, 1, 2] }).rotate(x, o),
  ],
  axialTable: [
    { rows: randomArray([3, 4], 1), columns: randomArray([2, 4], 2), mode: 'concatenate' },
    (o) => ropewalk.axialTable(rw, o),
  ],
  copeBias: [
    { table: randomArray([3, 4], 1), causal: true, queryOffset: 0, keyLengths: [3], layout: 'BHTD' },
    (o) => ropewalk.copeBias(rw, x, x, o),
  ],
  transformerXlAttention: [
    {
      ...{ table: randomArray([11, 8], 1), contentBias: randomArray([2, 4], 2), positionBias: randomArray([2, 4], 3) },
      ...{ causal: true, keyLengths: [3], window: { left: 2, right: 1 }, returnScores: ['raw'] },
    },
    (o) => ropewalk.transformerXlAttention(rw, x, x, x, o),
  ],
  debertaAttention: [
    { keyTable: randomArray([8, 8], 1), queryTable: randomArray([8, 8], 2), maxDistance: 9, scale: 0.5 },
    (o) => ropewalk.debertaAttention(rw, x, x, x, o),
  ],
  mropePositions: [{ advance: 'grid', spatialMerge: 2 }, (o) => ropewalk.mropePositions([{ image: [4, 2] }], o)],
  'mropePositions, segments': [
    [{ text: 2 }, { video: [2, 1, 1], timestamps: [1, 2] }],
    (o) => ropewalk.mropePositions(o),
  ],
  ropeFromConfig: [{ sequenceLength: 9, pairing: 'half' }, (o) => ropewalk.ropeFromConfig(config, o)],
  'ropeFromConfig, config': [config, (o) => ropewalk.ropeFromConfig(o)],
  ropeFromGgml: [{ n_rot: 8, mode: 2, freq_base: 500, freq_factors: [1, 2, 3, 4] }, (o) => ropewalk.ropeFromGgml(o)],
  ropeFromMlx: [{ dims: 8, traditional: true, freqs: [1, 2, 3, 4] }, (o) => ropewalk.ropeFromMlx(o)],
  'explainRope, config': [
    { headDim: 8, scaling: yarn, axes: { layout: 'sections', sections: [2, 2] } },
    (o) => rw.explainRope(o),
  ],
  sample: [{ temperature: 0.5, topK: 2, previous: [0, 1], seed: 3, index: 2 }, (o) => models.sample(random(4, 1), o)],
  readModelConfig: [{ sequenceLength: 9 }, (o) => models.readModelConfig(config, o)],
  'readModelConfig, config': [config, (o) => models.readModelConfig(o)],
  loadModel: [
    { config, weights: fileOfModel(llama), storage: 'int8', angles: 'float32', signal, onProgress },
    (o) => models.loadModel(rw, o),
  ],
  'decoder.forward': [
    {
      positions: [0, 1, 2, 3],
      attentionMask: [1, 1, 1, 1],
      capture: ['q'],
      captureLayers: [1],
      captureHeads: [0],
      logits: 'all',
    },
    (o) => model.forward(ids, o),
  ],
  'decoder.forward, ids': [[ids, [1, 2, 3, 4]], (o) => model.forward(o)],
  'decoder.forwardAsync': [
    { offset: 2, capture: ['q'], hiddenStates: true, onProgress },
    (o) => model.forwardAsync(ids, o),
  ],
  'decoder.generate': [
    { maxTokens: 2, stop: [40], previous: [1], seed: 1, logprobs: true, chunk: 2, topK: 3 },
    (o) => Array.fromAsync?.(model.generate(ids, o)) ?? model.generate(ids, o).next(),
  ],
  'decoder.kvCache': [{ batch: 1, capacity: 9, chunk: 3, keys: 'unrotated' }, (o) => model.kvCache(o)],
  'decoder.withRope': [{ base: 500, scaling: yarn }, (o) => model.withRope(o)],
  'decoder.withRope, function': [{ headDim: 6, scaling: yarn }, (o) => model.withRope((_, i) => (i === 0 ? o : null))],
  'encoder.forward': [
    { tokenTypes: [0, 0, 1, 1], attentionMask: [1, 1, 1, 0], pooled: true, capture: ['raw'] },
    (o) => encoder.forward(ids, o),
  ],
  'encoder.forwardAsync': [{ tokenTypes: [0, 0, 1, 1], logits: true, signal }, (o) => encoder.forwardAsync(ids, o)],
  compare: [
    { tolerance: 1e-3, layout: 'BHTD', names: (name) => name, pass: { positions: [0, 1, 2, 3] } },
    (o) => models.compare(model, ids, { logits: { data: [1], shape: [1] } }, o),
  ],
  perplexity: [{ length: 3, stride: 1, signal, onProgress }, (o) => models.perplexity(model, ids, o)],
  lengthCurve: [{ length: 3, points: 1, signal }, (o) => models.lengthCurve(model, ids, { a: { type: 'default' } }, o)],
  'lengthCurve, scalings': [{ a: yarn }, (o) => models.lengthCurve(model, ids, o)],
  replaceEncoding: [
    { maxLength: 8, maxDistance: 2, seed: 1, deviation: 1 },
    (o) => models.replaceEncoding(model, { encoding: 'shaw' }, o),
  ],
  'replaceEncoding, encoding': [{ encoding: 't5', numBuckets: 8 }, (o) => models.replaceEncoding(model, o)],
  openSafetensors: [{ signal, onProgress }, (o) => models.openSafetensors(rw, writeSafetensors({}), o)],
  'safetensors.tensor': [{ as: 'float32', signal }, (o) => file.tensor('w', o)],
  'safetensors.readInto': [{ offset: 1, start: 0, end: 8 }, (o) => file.readInto('w', tensor([4]), o)],
  'safetensors.stream': [{ start: 4, end: 8, onProgress }, (o) => file.stream('w', () => {}, o)],
};

describe('what a caller hands over is read once', () => {
  for (const [name, [options, call]] of Object.entries({ ...ofInstance, ...others })) {
    test(name, async () => {
      const reads = new Map();
      await call(counting(options, reads));
      const often = [...reads].filter(([, count]) => count > 1);
      assert.deepEqual(often, []);
      const unread = pathsOf(options).filter((path) => !reads.has(path));
      assert.deepEqual(unread, []);
    });
  }
});

test('of every function of an instance that takes options there is a case here', () => {
  const { prototype } = rw.constructor;
  const names = Object.getOwnPropertyNames(prototype).filter(
    (name) => name !== 'constructor' && /^\w+\([^)]*options/.test(String(prototype[name])),
  );
  assert.ok(names.length > 20, names.join());
  assert.deepEqual(
    names.filter((name) => !Object.hasOwn(ofInstance, name)),
    [],
  );
});

test('an object that holds itself is refused, and not followed for ever', () => {
  const circle = { headDim: 4 };
  circle.scaling = circle;
  assert.throws(() => rw.rope(circle), { name: 'ArgumentTypeError', argument: 'scaling.type' });
  assert.throws(() => rw.rope({ headDim: 4, scaling: [circle] }), { name: 'ArgumentTypeError', argument: 'scaling' });
});

test('an instance of a class keeps all of its properties, also where one is called data', () => {
  class Config {
    data = 1;
    model_type = 'llama';
    head_dim = 4;
    rope_theta = 10;
  }
  assert.deepEqual(ropewalk.ropeFromConfig(new Config()), ropewalk.ropeFromConfig({ ...new Config() }));
});

test('what a getter throws is told: by itself of options and arrays, as the cause of others', () => {
  const failing = (name) => Object.defineProperty({}, name, { enumerable: true, get: () => assert.fail('mine') });
  assert.throws(() => plan.rotate(x, failing('offset')), { message: 'mine' });
  assert.throws(() => plan.rotate(failing('data')), { message: 'mine' });
  const refused = { name: 'ArgumentTypeError', argument: 'window', message: /an object that cannot be read/ };
  assert.throws(
    () => rw.attention(x, x, x, { window: failing('left') }),
    (error) => {
      assert.equal(error.cause.message, 'mine');
      return assert.throws(() => assert.fail(error), refused) ?? true;
    },
  );
});

test('a name that the list of options lacks, or has besides those of the interface, does not compile', async (t) => {
  const check = join(root, 'bindings', 'ts', 'runtime', 'check.ts');
  const call = (names) => `import { options } from ${JSON.stringify(check)};
    interface Given { left?: number; right?: number }
    export const read = (given: Given) => options('where', 'options', given, ${names});`;
  const folder = folderWith(t, {
    'right.ts': call("['left', 'right']"),
    'missing.ts': call("['left']"),
    'foreign.ts': call("['left', 'right', 'top']"),
  });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const flags = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--skipLibCheck',
  ];
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'bindings', 'ts', 'tsconfig.json'), 'utf8'));
  const lib = ['--lib', compilerOptions.lib.join(), '--allowImportingTsExtensions', '--types', ''];
  const files = ['right', 'missing', 'foreign'].map((name) => join(folder, `${name}.ts`));
  const { stdout = '' } = await run([tsc, ...flags, ...lib, ...files], { cwd: folder }).catch((error) => error);
  assert.deepEqual(
    ['right', 'missing', 'foreign'].filter((name) => stdout.includes(`${name}.ts(`)),
    ['missing', 'foreign'],
    stdout,
  );
});
