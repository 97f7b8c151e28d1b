// A good call of every public function of the package, by its name in the declarations: [what it is called on, its
// arguments]. `Class.method, variant` is one more call of the same. Both are functions: what a call changes is made anew
// for each, and the caller disposes of what is not in `kept`.
import * as ropewalk from 'ropewalk';
import * as models from 'ropewalk/models';
import * as training from 'ropewalk/training';
import * as worker from 'ropewalk/worker';
import { tinyModel } from '../../models/tiny/models.mjs';
import { random, randomArray } from './arrays.mjs';
import { fireParameters } from './fire.mjs';
import { writeGguf } from './gguf.mjs';
import { byteLevel, metadataOf } from './gguf-tokenizer.mjs';
import { writeSafetensors } from './safetensors.mjs';
import { fileOfModel, tinyBert, tinyLlama } from './tiny-models.mjs';

/** Whether an object's own properties are all that it has. */
export const isPlain = (value) =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

export const entries = { ropewalk, models, training, worker };

// Models of one layer: campaigns load them a million times.
const oneLayer = { num_hidden_layers: 1 };
const [llama, bert, t5] = [
  tinyLlama(oneLayer),
  tinyBert(oneLayer),
  tinyModel('t5-both', { fields: { num_layers: 1 } }),
];
const [llamaFile, bertFile, t5File] = [llama, bert, t5].map(fileOfModel);
const w = { dtype: 'F32', shape: [4], data: Float32Array.of(1, 2, 3, 4) };
const [safetensorsBytes, ggufBytes] = [writeSafetensors({ w }), writeGguf({ k: ['u32', 1] }, { w })];
const tokenizerEntries = { vocabSize: 300, entries: { 'tokenizer.ggml.pre': 'gpt-2' } };
const metadata = metadataOf('gpt2', byteLevel(null), {}, tokenizerEntries);

/**
 * The calls, on an instance of each core.
 *
 * @param only the name of the one call that is made; the others may lack what they are called on.
 */
export async function makeCalls(only) {
  const given = (names, make) => (only === undefined || names.test(only) ? make() : undefined);
  const rw = await ropewalk.load({ simd: 'deterministic' });
  const trainers = await given(/^Train(er|ing)\./, () => training.load());
  const x = randomArray([2, 3, 4], 1);
  const matrix = (rows, columns) => ({ type: 'float32', data: random(rows * columns, rows), shape: [rows, columns] });
  const vector = (size) => ({ data: random(size, size), shape: [size] });
  const floats = (size) => new Float32Array(size);
  const plan = rw.rope({ headDim: 4 });
  const other = rw.rope({ headDim: 4, base: 500 });
  const tensor = rw.tensor([2, 3, 4], random(24, 3));
  const small = rw.tensor([4]);
  const cache = () => rw.kvCache({ kvHeads: 2, headDim: 4, capacity: 12, rope: { plan } }).append(x, x);
  const state = () => rw.linearAttentionState({ headDim: 4, kvHeads: 2 });
  const saved = (make) => {
    const made = make();
    const bytes = made.save();
    made.dispose();
    return bytes;
  };
  const [savedCache, savedState] = [saved(cache), saved(state)];
  const attentionWeights = { query: matrix(8, 8), key: matrix(8, 8), value: matrix(8, 8), output: matrix(8, 8) };
  const weights = {
    ...{ ...attentionWeights, queryBias: vector(8), up: matrix(12, 8), down: matrix(8, 12) },
    ...{ attentionNorm: vector(8), feedForwardNorm: vector(8) },
  };
  const yarn = { type: 'yarn', factor: 4, originalLength: 16, betaFast: 32 };
  const mixed = ropewalk.mixedRope(rw, {
    frequencies: randomArray([2, 2, 2], 1),
    positions: [
      [0, 1, 2],
      [0, 0, 1],
    ],
  });
  const mask = { data: Uint8Array.of(1, 1, 0), shape: [1, 3] };
  const window = { left: 2, right: 1 };
  const sizes = {
    ...{ modelDim: 8, heads: 2, kvHeads: 2, headDim: 4, causal: true, window, sinkTokens: 1, scale: 0.5 },
    softcap: 9,
  };
  const block = { ...sizes, hiddenDim: 12, eps: 1e-5, weights, position: { encoding: 'rope', scaling: yarn } };
  const layer = rw.decoderLayer({ modelDim: 8, heads: 2, hiddenDim: 12, weights });
  const attentionLayer = rw.attentionLayer({ modelDim: 8, heads: 2, seed: 1 });
  const linear = rw.linear({ weight: matrix(3, 4) });
  const input = randomArray([3, 8], 2);
  const { config } = llama;
  const decoder = await given(/^(DecoderModel|ModelKvCache|compare|perplexity|lengthCurve|replaceEncoding)/, () =>
    models.loadModel(rw, { config, weights: llamaFile }),
  );
  const encoder = await given(/^EncoderModel/, () => models.loadModel(rw, { config: bert.config, weights: bertFile }));
  const both = await given(/^EncoderDecoderModel/, () => models.loadModel(rw, { config: t5.config, weights: t5File }));
  const safetensors = await given(/^Safetensors/, () => models.openSafetensors(rw, safetensorsBytes));
  const gguf = await given(/^Gguf/, () => models.openGguf(rw, ggufBytes));
  const { signal } = new AbortController();
  const onProgress = () => {};
  const ids = [3, 1, 4, 1];
  const layers = () => {
    const made = decoder.kvCache({ capacity: 9 });
    decoder.forward(ids, { cache: made });
    return made;
  };
  const savedLayers = decoder && saved(layers);
  const trainerOptions = {
    ...{ layers: 1, modelDim: 8, heads: 2, hiddenDim: 8, vocab: 8, context: 6, causal: true, attention: 'softmax' },
    ...{ position: { encoding: 'rope', base: 100 }, norm: 'rms', normEps: 1e-5, activation: 'gelu', seed: 1 },
    optimizer: { type: 'adamw', learningRate: 1e-2, betas: [0.9, 0.98], warmup: 1, totalSteps: 9 },
  };
  const idsOf = (data) => ({ data, shape: [2, 2] });
  const batch = { ids: idsOf([1, 2, 3, 4]), targets: idsOf([2, 3, 4, 5]), weights: Float32Array.of(1, 1, 1, 0) };
  const trainer = given(/^Trainer\./, () => trainers.trainer(trainerOptions));
  const savedTrainer = trainer?.save();
  trainer?.evaluate(batch, { logits: true }); // so that it has the memory that passes need
  trainer?.capture([1, 2, 3]);
  const characters = () => training.charactersTask('to be or not to be', { tokens: 4, seed: 1, part: [0, 0.9] });
  const kept = [
    trainers,
    plan,
    other,
    tensor,
    small,
    layer,
    attentionLayer,
    linear,
    decoder,
    encoder,
    both,
    safetensors,
    gguf,
    trainer,
  ];

  const calls = {
    load: [() => ropewalk, () => [{ simd: 'deterministic' }]],
    convertPairing: [() => ropewalk, () => [random(8, 1), { from: 'half', to: 'interleaved', headDim: 4 }]],
    permutePairing: [
      () => ropewalk,
      () => [random(32, 1), { from: 'half', to: 'interleaved', heads: 2, headDim: 4, rotaryDim: 4, headsOn: 'rows' }],
    ],
    mropePositions: [
      () => ropewalk,
      () => [[{ text: 2 }, { image: [4, 2] }, { video: [2, 2, 2], timestamps: [1, 2] }], { spatialMerge: 2 }],
    ],
    mixedRope: [
      () => ropewalk,
      () => [
        rw,
        {
          frequencies: randomArray([2, 2, 2], 1),
          positions: [
            [0, 1, 2],
            [0, 0, 1],
          ],
        },
      ],
    ],
    'MixedRope.rotate': [() => mixed, () => [x, { layout: 'BHTD', out: floats(24) }]],
    axialTable: [
      () => ropewalk,
      () => [rw, { rows: randomArray([3, 4], 1), columns: randomArray([2, 5], 2), mode: 'concatenate' }],
    ],
    copeBias: [
      () => ropewalk,
      () => [rw, x, x, { table: randomArray([3, 4], 1), causal: true, mask, window, keyLengths: [3], scale: 0.5 }],
    ],
    transformerXlAttention: [
      () => ropewalk,
      () => [
        ...[rw, x, x, x],
        {
          ...{
            table: randomArray([7, 8], 1),
            contentBias: randomArray([2, 4], 2),
            positionBias: randomArray([2, 4], 3),
          },
          ...{ causal: true, queryOffset: 0, keyLengths: [3], window, mask, scale: 0.5 },
          ...{ layout: 'BHTD', returnScores: ['raw'], out: floats(24) },
        },
      ],
    ],
    debertaAttention: [
      () => ropewalk,
      () => [
        ...[rw, x, x, x],
        {
          ...{
            keyTable: randomArray([8, 8], 1),
            queryTable: randomArray([8, 8], 2),
            maxDistance: 9,
            keyPositions: [0, 1, 5],
          },
          ...{ mask, scale: 0.5, returnScores: 'raw', out: floats(24) },
        },
      ],
    ],
    ropeFromConfig: [() => ropewalk, () => [config, { sequenceLength: 9, pairing: 'half' }]],
    ropeFromGgml: [() => ropewalk, () => [{ n_rot: 8, mode: 2, freq_base: 500, freq_factors: [1, 2, 3, 4] }]],
    ropeFromMlx: [() => ropewalk, () => [{ dims: 8, traditional: true, freqs: [1, 2, 3, 4] }]],
    'Ropewalk.info': [() => rw, () => []],
    'Ropewalk.memory': [() => rw, () => []],
    'Ropewalk.resetPeak': [() => rw, () => []],
    'Ropewalk.tensor': [() => rw, () => [[2, 3], random(6, 1)]],
    'Ropewalk.rope': [
      () => rw,
      () => [{ headDim: 8, rotaryDim: 8, base: 500, scaling: yarn, xpos: { scaleBase: 256 } }],
    ],
    'Ropewalk.rope, sections': [() => rw, () => [{ headDim: 8, axes: { layout: 'sections', sections: [2, 2] } }]],
    'Ropewalk.rope, custom': [
      () => rw,
      () => [{ headDim: 4, scaling: { type: 'custom', inverseFrequencies: [1, 0.5] } }],
    ],
    'Ropewalk.explainRope': [() => rw, () => [{ headDim: 8, scaling: yarn }, { trainingLength: 16 }]],
    'Ropewalk.detectPairing': [
      () => rw,
      () => [x, x, randomArray([2, 3, 3], 4), { positions: [0, 1, 2], scaling: yarn }],
    ],
    'Ropewalk.rotaryEmbedding': [
      () => rw,
      () => [x, { cos: randomArray([5, 2], 1), sin: randomArray([5, 2], 2), positions: [0, 1, 4], layout: 'BHTD' }],
    ],
    'Ropewalk.sinusoidal': [
      () => rw,
      () => [{ dim: 4, positions: { length: 3, offset: 1 }, base: 500, scale: 2, out: floats(12) }],
    ],
    'Ropewalk.binary': [() => rw, () => [{ bits: 4, positions: [1, 2], msbFirst: true }]],
    'Ropewalk.learned': [() => rw, () => [x, { table: randomArray([5, 4], 1), mode: 'add', positions: [0, 1, 4] }]],
    'Ropewalk.extendLearned': [() => rw, () => [randomArray([3, 4], 1), { length: 6, alpha: 0.3 }]],
    'Ropewalk.alibiSlopes': [() => rw, () => [8]],
    'Ropewalk.alibiBias': [
      () => rw,
      () => [{ heads: 2, queries: 2, keys: 3, queryOffset: 1, variant: 'bloom', out: floats(12) }],
    ],
    'Ropewalk.t5Buckets': [() => rw, () => [[1, 2], { bidirectional: true, numBuckets: 8, maxDistance: 16 }]],
    'Ropewalk.t5Bias': [
      () => rw,
      () => [{ table: randomArray([8, 2], 1), numBuckets: 8, queries: 2, keys: 3, out: floats(12) }],
    ],
    'Ropewalk.kerpleBias': [
      () => rw,
      () => [{ r1: Float32Array.of(1), r2: Float32Array.of(1), queries: 2, keys: 3, out: floats(6) }],
    ],
    'Ropewalk.sandwichBias': [() => rw, () => [{ heads: 2, dim: 4, base: 9, queries: 2, keys: 3, out: floats(12) }]],
    'Ropewalk.fireBias': [() => rw, () => [{ ...fireParameters(1), queries: 2, keys: 3, out: floats(6) }]],
    'Ropewalk.relativeRows': [() => rw, () => [{ queries: 2, keys: 3, maxDistance: 4, sign: 'query-minus-key' }]],
    'Ropewalk.attention': [
      () => rw,
      () => [
        ...[x, x, x],
        {
          ...{ causal: true, window, sinkTokens: 1, mask, bias: randomArray([3, 3], 1), sinks: vector(2), scale: 0.5 },
          ...{ queryOffset: [2], keyPositions: [0, 1, 2], keyLengths: [3] },
          ...{ returnScores: ['raw', 'probabilities'], scoreHeads: [1] },
          position: { encoding: 'rope', plan, queries: [0, 1, 2], keys: [0, 1, 2] },
        },
      ],
    ],
    'Ropewalk.attention, tensor': [() => rw, () => [tensor, tensor, tensor, { out: floats(24) }]],
    'Ropewalk.kvCache': [
      () => rw,
      () => [
        {
          ...{ batch: 1, kvHeads: 2, headDim: 4, capacity: 9 },
          ...{ window: { size: 4, sinkTokens: 1 }, rope: { plan, keys: 'rotated' } },
        },
      ],
    ],
    'Ropewalk.restoreKvCache': [() => rw, () => [savedCache.slice(0), { plan: [plan, other] }]],
    'Ropewalk.layerNorm': [() => rw, () => [x, { weight: vector(4), bias: vector(4), eps: 1e-5, out: floats(24) }]],
    'Ropewalk.rmsNorm': [() => rw, () => [x, { weight: vector(4), eps: 1e-5, unitOffset: true, out: floats(24) }]],
    'Ropewalk.gelu': [() => rw, () => [x, { approximate: 'tanh', out: floats(24) }]],
    'Ropewalk.silu': [() => rw, () => [x, { out: floats(24) }]],
    'Ropewalk.softmax': [() => rw, () => [tensor, {}]],
    'Ropewalk.embed': [() => rw, () => [randomArray([5, 4], 1), [0, 4], { shape: [2, 1], scale: 2, out: floats(8) }]],
    'Ropewalk.linearAttention': [
      () => rw,
      () => [
        ...[x, x, x],
        {
          ...{ causal: true, mask, normalize: true, out: floats(24) },
          position: { encoding: 'rope', plan, form: 'both', queries: [0, 1, 2] },
        },
      ],
    ],
    'Ropewalk.linearAttentionState': [
      () => rw,
      () => [
        {
          ...{ headDim: 4, kvHeads: 2, normalize: false, outputNorm: { eps: 1e-5 } },
          position: { encoding: 'rope', plan, offset: 2 },
        },
      ],
    ],
    'Ropewalk.recurrentAttention': [
      () => rw,
      () => [
        ...[x, x, x],
        { updateRule: 'gated_delta', decay: randomArray([2, 3], 1), beta: randomArray([2, 3], 2), scale: 1 },
      ],
    ],
    'Ropewalk.linear': [
      () => rw,
      () => [{ weight: matrix(3, 4), bias: vector(3), storage: 'int8', activation: 'gelu' }],
    ],
    'Ropewalk.attentionLayer': [
      () => rw,
      () => [
        {
          ...{ ...sizes, weights: attentionWeights },
          position: { encoding: 'relative_key', table: randomArray([9, 4], 1) },
        },
      ],
    ],
    'Ropewalk.attentionLayer, seeded': [
      () => rw,
      () => [{ modelDim: 8, heads: 2, seed: 3, position: { encoding: 'sinusoidal', base: 500 } }],
    ],
    'Ropewalk.encoderLayer': [() => rw, () => [block]],
    'Ropewalk.decoderLayer': [() => rw, () => [block]],
    'Analysis.shiftMatrix': [() => rw.analysis, () => [{ dim: 4, base: 500, k: 2, layout: 'concatenated' }]],
    'Analysis.dotCurve': [() => rw.analysis, () => [{ dim: 4, base: 500, distances: [0, 1] }]],
    'Analysis.decayCurve': [() => rw.analysis, () => [{ dim: 4, base: 500, distances: [0, 1] }]],
    'Analysis.decayBound': [() => rw.analysis, () => [{ dim: 4, q: random(4, 1), k: random(4, 2), distances: [0, 1] }]],
    'Analysis.pairwise': [() => rw.analysis, () => [randomArray([3, 4], 1), 'cosine']],
    'Analysis.firstDuplicate': [() => rw.analysis, () => [randomArray([3, 4], 1)]],
    'Tensor.data': [() => tensor, () => [floats(24)]],
    'Tensor.set': [() => tensor, () => [random(24, 3)]],
    'Tensor.view': [() => tensor, () => []],
    'Tensor.dispose': [() => rw.tensor([2, 3]), () => []],
    'RopePlan.rotate': [() => plan, () => [x, { positions: [0, 1, 5], layout: 'BHTD', out: floats(24) }]],
    'RopePlan.rotate, tensor': [() => plan, () => [rw.tensor([2, 3, 4], x.data), { offset: 3 }]],
    'RopePlan.unrotate': [() => plan, () => [x.data, { offset: 3, shape: [6, 4] }]],
    'RopePlan.rotateBoth': [() => plan, () => [x, x, { positions: [0, 1, 5], out: [floats(24), floats(24)] }]],
    'RopePlan.rerotate': [() => plan, () => [x, { from: [0, 1, 2], to: [4, 5, 6], plan: other }]],
    'RopePlan.tables': [() => plan, () => [{ length: 3, offset: 2 }]],
    'RopePlan.dispose': [() => rw.rope({ headDim: 512 }), () => []],
    'KvCache.positions': [cache, () => []],
    'KvCache.keys': [cache, () => []],
    'KvCache.values': [cache, () => []],
    'KvCache.append': [cache, () => [x, x, { positions: [5, 6, 9], layout: 'BHTD' }]],
    'KvCache.attend': [
      cache,
      () => [x, { mask, window, returnScores: ['raw'], scoreHeads: [0], queryOffset: 0, out: floats(24) }],
    ],
    'KvCache.truncate': [cache, () => [2]],
    'KvCache.drop': [cache, () => [1, 1]],
    'KvCache.shift': [cache, () => [4, { first: 1, count: 2 }]],
    'KvCache.switchTo': [() => rw.kvCache({ kvHeads: 2, headDim: 4, rope: { plan } }), () => [other]],
    'KvCache.reset': [cache, () => []],
    'KvCache.copyPrefix': [cache, () => [2]],
    'KvCache.copyPrefix, all': [cache, () => []],
    'KvCache.merge': [cache, () => [cache(), { first: 1, count: 2, at: 9 }]],
    'KvCache.save': [cache, () => []],
    'KvCache.dispose': [cache, () => []],
    'LinearAttentionState.append': [
      state,
      () => [x, x, x, { mask: { data: [true, true, false], shape: [3] }, returnDenominators: true }],
    ],
    'LinearAttentionState.reset': [state, () => []],
    'LinearAttentionState.clone': [state, () => []],
    'LinearAttentionState.save': [state, () => []],
    'LinearAttentionState.restore': [state, () => [savedState.slice()]],
    'LinearAttentionState.dispose': [state, () => []],
    'Linear.apply': [() => linear, () => [x, { out: floats(18) }]],
    'Linear.dispose': [() => rw.linear({ weight: matrix(3, 4) }), () => []],
    'AttentionLayer.forward': [() => attentionLayer, () => [input, { offset: 2, returnScores: 'probabilities' }]],
    'AttentionLayer.kvCache': [() => attentionLayer, () => [{ batch: 1, capacity: 9 }]],
    'AttentionLayer.dispose': [() => rw.attentionLayer({ modelDim: 8, heads: 2 }), () => []],
    'TransformerLayer.forward': [
      () => layer,
      () => [input, { positions: [0, 1, 2], mask, capture: ['q', 'raw'], captureHeads: [1], out: floats(24) }],
    ],
    'TransformerLayer.kvCache': [() => layer, () => [{ batch: 1, capacity: 9, window: { size: 4 } }]],
    'TransformerLayer.dispose': [() => rw.decoderLayer(block), () => []],
    sample: [() => models, () => [random(4, 1), { temperature: 0.5, topK: 2, previous: [0, 1], seed: 3, index: 2 }]],
    firstJson: [() => models, () => ['a {"b": 1}']],
    readModelConfig: [() => models, () => [config, { sequenceLength: 9 }]],
    tokenizerFromGguf: [() => models, () => [{ metadata, file: 'x.gguf' }]],
    cached: [() => models, () => ['https://example.org/x', { folder: '/nowhere' }]],
    storedFiles: [() => models, () => [{ folder: '/nowhere' }]],
    loadModel: [
      () => models,
      () => [rw, { config, weights: llamaFile, storage: 'int8', angles: 'float32', signal, onProgress }],
    ],
    openSafetensors: [() => models, () => [rw, safetensorsBytes, { signal, onProgress }]],
    openGguf: [() => models, () => [rw, ggufBytes, { signal, onProgress }]],
    compare: [
      () => models,
      () => [
        ...[decoder, ids, { logits: { data: [1], shape: [1] } }],
        { tolerance: 1e-3, layout: 'BHTD', names: (name) => name, pass: { positions: [0, 1, 2, 3] } },
      ],
    ],
    perplexity: [() => models, () => [decoder, ids, { length: 3, stride: 1, signal, onProgress }]],
    lengthCurve: [
      () => models,
      () => [decoder, ids, { ntk: { type: 'ntk', factor: 2 } }, { length: 4, points: 2, signal, onProgress }],
    ],
    replaceEncoding: [
      () => models,
      () => [decoder, { encoding: 'shaw' }, { maxLength: 8, maxDistance: 3, seed: 1, deviation: 0.1 }],
    ],
    ...Object.fromEntries(
      Object.entries({ Safetensors: safetensors, Gguf: gguf }).flatMap(([kind, file]) => [
        [`${kind}.has`, [() => file, () => ['w']]],
        [`${kind}.info`, [() => file, () => ['w']]],
        [`${kind}.tensor`, [() => file, () => ['w', { as: 'float32', signal }]]],
        [`${kind}.readInto`, [() => file, () => ['w', small, { offset: 1, start: 0, end: 8 }]]],
        [`${kind}.stream`, [() => file, () => ['w', () => {}, { start: 4, end: 8, onProgress }]]],
      ]),
    ),
    'Safetensors.dispose': [() => models.openSafetensors(rw, safetensorsBytes), () => []],
    'Gguf.dispose': [() => models.openGguf(rw, ggufBytes), () => []],
    'DecoderModel.forward': [
      () => decoder,
      () => [
        ids,
        {
          ...{ positions: [0, 1, 2, 3], attentionMask: [1, 1, 1, 1], capture: ['q'], captureLayers: [0] },
          ...{ captureHeads: [0], logits: 'all' },
        },
      ],
    ],
    'DecoderModel.forwardAsync': [
      () => decoder,
      () => [ids, { offset: 2, capture: ['q'], hiddenStates: true, onProgress }],
    ],
    'DecoderModel.generate': [
      () => decoder,
      () => [ids, { maxTokens: 2, stop: [40], previous: [1], seed: 1, logprobs: true, chunk: 2, topK: 3 }],
    ],
    'DecoderModel.kvCache': [() => decoder, () => [{ batch: 1, capacity: 9, chunk: 3, keys: 'unrotated' }]],
    'DecoderModel.restoreKvCache': [() => decoder, () => [savedLayers.slice()]],
    'DecoderModel.withRope': [() => decoder, () => [{ base: 500, scaling: yarn }]],
    'DecoderModel.dispose': [() => models.loadModel(rw, { config, weights: llamaFile }), () => []],
    'EncoderModel.forward': [
      () => encoder,
      () => [ids, { tokenTypes: [0, 0, 1, 1], attentionMask: [1, 1, 1, 0], pooled: true, capture: ['raw'] }],
    ],
    'EncoderModel.forwardAsync': [() => encoder, () => [ids, { tokenTypes: [0, 0, 1, 1], signal }]],
    'EncoderModel.embedText': [() => encoder, () => [ids, { pooling: 'mean', normalize: true }]],
    'EncoderModel.dispose': [() => models.loadModel(rw, { config: bert.config, weights: bertFile }), () => []],
    'EncoderDecoderModel.encode': [() => both, () => [ids, { attentionMask: [1, 1, 1, 0], capture: ['raw'] }]],
    'EncoderDecoderModel.forward': [
      () => both,
      () => [ids, [0, 3], { attentionMask: [1, 1, 1, 0], logits: 'all', crossProbabilities: true }],
    ],
    'EncoderDecoderModel.forwardAsync': [() => both, () => [ids, [0, 3], { signal, onProgress }]],
    'EncoderDecoderModel.generate': [
      () => both,
      () => [ids, { maxTokens: 2, stop: [40], previous: [1], seed: 1, logprobs: true, targetIds: [0, 3], topK: 3 }],
    ],
    'EncoderDecoderModel.dispose': [() => models.loadModel(rw, { config: t5.config, weights: t5File }), () => []],
    'ModelKvCache.truncate': [layers, () => [2]],
    'ModelKvCache.reset': [layers, () => []],
    'ModelKvCache.save': [layers, () => []],
    'ModelKvCache.dispose': [layers, () => []],
    charactersTask: [() => training, () => ['to be or not to be', { vocab: 12, tokens: 4, seed: 1, part: [0, 0.9] }]],
    ...Object.fromEntries(
      Object.entries({
        copyTask: { vocab: 6, tokens: 4, seed: 1, stream: 0, offset: 1 },
        fetchByContentTask: { tokens: 7, seed: 1, keys: 6, values: 4 },
        fetchByPositionTask: { tokens: 6, vocab: 12, seed: 1, places: 3 },
        inductionTask: { vocab: 12, tokens: 12, seed: 1, period: [3, 6] },
        reverseTask: { vocab: 6, tokens: 7, seed: 1 },
        skipLanguageTask: { vocab: 2, tokens: 64, seed: 1 },
        sortTask: { vocab: 6, tokens: 7, seed: 1 },
      }).map(([name, options]) => [name, [() => training, () => [options]]]),
    ),
    'Task.batch': [() => training.copyTask({ vocab: 6, tokens: 4 }), () => [2]],
    'CharactersTask.batch': [characters, () => [2]],
    'CharactersTask.encode': [characters, () => ['to be']],
    'CharactersTask.decode': [characters, () => [[0, 1]]],
    'Training.info': [() => trainers, () => []],
    'Training.memory': [() => trainers, () => []],
    'Training.resetPeak': [() => trainers, () => []],
    'Training.trainer': [() => trainers, () => [trainerOptions]],
    'Training.trainer, linear': [
      () => trainers,
      () => [{ ...trainerOptions, attention: { linear: 'relu', ropeForm: 'both' }, optimizer: { type: 'sgd' } }],
    ],
    'Trainer.step': [() => trainers.trainer(trainerOptions), () => [batch]],
    'Trainer.evaluate': [
      () => trainer,
      () => [batch, { position: { scaling: { type: 'linear', factor: 2 } }, logits: true }],
    ],
    'Trainer.capture': [() => trainer, () => [[1, 2, 3]]],
    'Trainer.parameters': [() => trainer, () => []],
    'Trainer.gradients': [() => trainer, () => []],
    'Trainer.setParameters': [() => trainers.trainer(trainerOptions), () => [{ embedding: randomArray([8, 8], 5) }]],
    'Trainer.exportModel': [
      () => trainers.trainer({ ...trainerOptions, position: { encoding: 'sinusoidal' } }),
      () => [{ maxPositions: 9 }],
    ],
    'Trainer.save': [() => trainer, () => []],
    'Trainer.restore': [() => trainer, () => [savedTrainer.slice()]],
    'Trainer.dispose': [() => trainers.trainer(trainerOptions), () => []],
  };
  return { rw, trainers, calls, kept };
}

/** The name of the method of a call. */
export const methodOf = (name) => name.split(',')[0].split('.').at(-1);

/** Disposes of handles among what a call gave or was given, but not of `kept`. */
export function disposeOf(value, kept) {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || kept.includes(value)) return;
  if (typeof value.dispose === 'function') value.dispose();
  else if (isPlain(value) || Array.isArray(value)) for (const each of Object.values(value)) disposeOf(each, kept);
}

const latin1 = new TextDecoder('latin1'); // a character for each byte

const hasData = (value) => value.constructor.name === 'Tensor' && !value.disposed;

/** The numbers of a result as text, bit by bit. */
export function bitsOf(value) {
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    return `${value.constructor.name} ${latin1.decode(new Uint8Array(buffer, byteOffset, byteLength))}`;
  }
  if (value instanceof ArrayBuffer) return bitsOf(new Uint8Array(value));
  if (typeof value !== 'object' || value === null) return String(value);
  if (hasData(value)) return bitsOf(value.data());
  if (!isPlain(value) && !Array.isArray(value)) return value.constructor.name;
  return `{${Object.entries(value).map(([name, each]) => `${name}:${bitsOf(each)}`)}}`;
}

async function settled(given) {
  const value = await given;
  if (typeof value?.next !== 'function') return value;
  const all = [];
  for await (const each of value) all.push(each);
  return all;
}

/**
 * Makes a call by `run(call)`, with `change(target, arguments)` before, and frees what it leaves behind. Gives { bits } of its
 * result or { error }.
 */
export async function attempt({ calls, kept }, name, run = (call) => call(), change = (_target, given) => given) {
  const [on, args] = calls[name];
  const target = await on();
  const own = args();
  const given = change(target, own);
  let result;
  try {
    result = await settled(run(() => target[methodOf(name)](...given)));
    return { bits: name.endsWith('.memory') ? undefined : bitsOf(result) }; // the peak is of all calls before
  } catch (error) {
    return { error };
  } finally {
    for (const each of [result === target ? undefined : result, own, target]) disposeOf(each, kept);
  }
}

/** Bytes and objects of both instances. */
export const memoryOf = ({ rw, trainers }) =>
  [rw, trainers]
    .flatMap((each) => each?.memory() ?? [])
    .flatMap(({ usedBytes, liveObjects }) => [usedBytes, liveObjects]);

/** Whether it holds more than before. Less is no fault: the collector frees what earlier calls left, whenever it likes. */
export const hasGrown = (all, before) => memoryOf(all).some((count, i) => count > before[i]);
