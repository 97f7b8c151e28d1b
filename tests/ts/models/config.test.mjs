// readModelConfig(): every architecture, the defaults of its class, and every refusal.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ropeFromConfig } from 'ropewalk';
import { readModelConfig } from 'ropewalk/models';
import { tinyModel, variants } from '../../models/tiny/models.mjs';

const sizes = {
  ...{ hidden_size: 24, intermediate_size: 36, num_hidden_layers: 4, num_attention_heads: 4, vocab_size: 41 },
};
const decoder = (model_type, fields = {}) => ({ model_type, ...sizes, ...fields });
const both = (architecture) => ({ architectures: [architecture], is_encoder_decoder: true });
const marianDecoder = { decoder_attention_heads: 2, decoder_ffn_dim: 50, decoder_layers: 2 };
const bert = (fields = {}) => decoder('bert', { max_position_embeddings: 32, ...fields });
const nomicSettings = {
  ...{ activation_function: 'swiglu', qkv_proj_bias: false, mlp_fc1_bias: false, mlp_fc2_bias: false },
  rotary_emb_fraction: 1,
};
const debertaSettings = {
  ...{ relative_attention: true, position_biased_input: false, share_att_key: true, pos_att_type: 'p2c|c2p' },
};
const deberta = (fields = {}) => decoder('deberta-v2', { ...debertaSettings, ...fields });
const nomic = (fields = {}) => decoder('nomic_bert', { ...nomicSettings, ...fields });
const llama4 = (fields) => decoder('llama4_text', { num_key_value_heads: 4, ...fields });
const windows = (config) => readModelConfig(config).layers.map(({ window }) => window ?? 0);
const bases = (config) => readModelConfig(config).layers.map(({ rope }) => rope?.base ?? 0);

// What every field of a description is for a config with nothing but sizes: the classes' own defaults.
const body = {
  ...{ kind: 'decoder', modelDim: 24, embeddingDim: 24, heads: 4, kvHeads: 4, headDim: 6 },
  ...{ vocabSize: 41, position: 'rope', tokenTypes: 0, norms: 'pre', norm: 'rms', eps: 1e-6, unitOffset: false },
  ...{ queryKeyNorm: false, activation: 'silu', scale: 1 / Math.sqrt(6), scaledEmbeddings: false },
  biases: { attention: false, attentionOutput: false, feedForward: false },
  ...{ turnValues: false, tiedEmbeddings: false, givesLogits: undefined, ignored: [] },
};
const encoderBody = {
  ...{ ...body, kind: 'encoder', norms: 'post', norm: 'layer', eps: 1e-12, activation: 'gelu' },
  biases: { attention: true, attentionOutput: true, feedForward: true },
  ...{ tokenTypes: 2, tiedEmbeddings: true },
};
const gemmaBody = {
  ...{ ...body, headDim: 256, unitOffset: true, activation: 'geluTanh', scaledEmbeddings: true, tiedEmbeddings: true },
  scale: 1 / 16,
};
const every = (layer) => [layer, layer, layer, layer];
const gated = { feedForward: { kind: 'gated', hiddenDim: 36 } };
const dense = { feedForward: { kind: 'dense', hiddenDim: 36 } };
const half = (base, headDim = 6, more = {}) => ({ rope: { headDim, base, pairing: 'half', ...more }, ...gated });
const slid = (layer, window) => ({ window, ...layer });

const biased = { attention: true, attentionOutput: true, feedForward: true };
const unplaced = { rope: null, ...dense };
const later = {
  bloom: {
    ...{ ...body, norm: 'layer', eps: 1e-5, activation: 'geluTanh', biases: biased, tiedEmbeddings: true },
    ...{ position: 'alibi', maxPositions: 2048 },
    layers: every({ rope: null, feedForward: { kind: 'dense', hiddenDim: 96 } }),
  },
  cohere: {
    ...{ ...body, norms: 'parallel', norm: 'layer', eps: 1e-5, tiedEmbeddings: true, logitScale: 0.0625 },
    biases: { ...body.biases, norms: false },
    layers: every({ rope: { headDim: 6, base: 5e5, pairing: 'interleaved' }, ...gated }),
  },
  cohere2: {
    ...{ ...body, norms: 'parallel', norm: 'layer', eps: 1e-5, tiedEmbeddings: true, logitScale: 0.0625 },
    biases: { ...body.biases, norms: false },
    layers: [4096, 4096, 4096, 0].map((window) => {
      const rope = { headDim: 6, base: 1e4, pairing: 'interleaved' };
      return window === 0 ? { rope: null, ...gated } : { window, rope, ...gated };
    }),
  },
  gpt2: {
    ...{ ...body, norm: 'layer', eps: 1e-5, activation: 'geluTanh', biases: biased, tiedEmbeddings: true },
    ...{ position: 'absolute', maxPositions: 1024, layers: every(unplaced) },
  },
  gptj: {
    ...{ ...body, norms: 'parallel', norm: 'layer', eps: 1e-5, activation: 'geluTanh' },
    ...{ headDim: 64, modelDim: 256, embeddingDim: 256, scale: 1 / 8 },
    biases: { attention: false, attentionOutput: false, feedForward: true, head: true },
    layers: every({ rope: { headDim: 64, base: 1e4, pairing: 'interleaved' }, ...dense }),
  },
  granite: {
    ...{ ...body, scale: 1, embeddingScale: 1, residualScale: 1, logitScale: 1 },
    layers: every(half(10000)),
  },
  llama4_text: {
    ...{ ...body, headDim: 128, scale: 1 / Math.sqrt(128), eps: 1e-5, queryKeyNorm: true },
    layers: [8192, 8192, 8192, 0].map((window) => {
      const feedForward = {
        ...{ kind: 'experts', hiddenDim: 36, experts: 16, chosen: 1, normalized: false },
        ...{ sigmoid: true, shared: true },
      };
      const rope = { headDim: 128, base: 5e5, pairing: 'interleaved' };
      if (window === 0) return { rope: null, temperature: { step: 8192, scale: 0.1 }, feedForward };
      return { window, chunked: true, rope, feedForward };
    }),
  },
  mixtral: {
    ...{ ...body, eps: 1e-5 },
    layers: every({
      rope: { headDim: 6, base: 1e6, pairing: 'half' },
      feedForward: { kind: 'experts', hiddenDim: 36, experts: 8, chosen: 2, normalized: true },
    }),
  },
  qwen3_moe: {
    ...{ ...body, queryKeyNorm: true },
    layers: every({
      rope: { headDim: 6, base: 1e4, pairing: 'half' },
      feedForward: { kind: 'experts', hiddenDim: 768, experts: 128, chosen: 8, normalized: false },
    }),
  },
  modernbert: {
    ...{ ...body, kind: 'encoder', norm: 'layer', eps: 1e-5, activation: 'gelu', tiedEmbeddings: true },
    biases: { ...body.biases, norms: false, head: true },
    layers: [half(1.6e5), slid(half(1e4), 65), slid(half(1e4), 65), half(1.6e5)],
  },
  t5: {
    ...{
      ...body,
      kind: 'encoder',
      headDim: 64,
      scale: 1,
      activation: 'relu',
      tiedEmbeddings: true,
      givesLogits: false,
    },
    ...{ position: 't5', maxPositions: 512, buckets: { numBuckets: 32, maxDistance: 128 } },
    layers: every(unplaced),
  },
  marian: {
    ...{ ...body, kind: 'encoder', norms: 'post', norm: 'layer', eps: 1e-5, activation: 'gelu', tiedEmbeddings: true },
    ...{ position: 'absolute', maxPositions: 1024, biases: { ...biased, head: true } },
    layers: every(unplaced),
  },
  mpt: {
    ...{ ...body, norm: 'layer', eps: 1e-5, activation: 'gelu', tiedEmbeddings: true },
    ...{ position: 'alibi', maxPositions: 2048, alibiMax: 8, biases: { ...body.biases, norms: false } },
    layers: every(unplaced),
  },
  olmo2: {
    ...{ ...body, norms: 'sandwich', eps: 1e-5, queryKeyNorm: 'all heads' },
    layers: every(half(10000)),
  },
  olmo3: {
    ...{ ...body, norms: 'sandwich', eps: 1e-5, queryKeyNorm: 'all heads' },
    layers: [4096, 4096, 4096, 0].map((window) => (window ? slid(half(5e5), window) : half(5e5))),
  },
  opt: {
    ...{ ...body, norm: 'layer', eps: 1e-5, activation: 'relu', biases: biased, tiedEmbeddings: true },
    ...{ position: 'absolute', maxPositions: 2048, firstPosition: 2, layers: every(unplaced) },
  },
  phi: {
    ...{ ...body, norms: 'parallel', norm: 'layer', eps: 1e-5, activation: 'geluTanh' },
    ...{ headDim: 16, modelDim: 64, embeddingDim: 64, scale: 1 / 4 },
    biases: { ...biased, head: true },
    layers: every({ ...half(10000, 16, { rotaryDim: 8 }), ...dense }),
  },
  'xlm-roberta': {
    ...{ ...encoderBody, position: 'absolute', maxPositions: 510, firstPosition: 2 },
    layers: every(unplaced),
  },
  stablelm: {
    ...{ ...body, norm: 'layer', eps: 1e-5 },
    ...{ headDim: 16, modelDim: 64, embeddingDim: 64, scale: 1 / 4 },
    layers: every(half(10000, 16, { rotaryDim: 4 })),
  },
};
for (const name of ['roberta', 'camembert']) later[name] = later['xlm-roberta'];

const defaults = {
  llama: { ...body, layers: every(half(10000)) },
  mistral: { ...body, layers: every(slid(half(10000), 4096)) },
  qwen2: {
    ...{ ...body, layers: every(half(10000)) },
    biases: { attention: true, attentionOutput: false, feedForward: false },
  },
  qwen3: { ...body, headDim: 128, scale: 1 / Math.sqrt(128), queryKeyNorm: true, layers: every(half(10000, 128)) },
  phi3: { ...body, eps: 1e-5, layers: every(half(10000)) },
  smollm3: {
    ...{ ...body, kvHeads: 4, tiedEmbeddings: true },
    layers: [half(2e6), half(2e6), half(2e6), { rope: null, ...gated }],
  },
  gemma: { ...gemmaBody, layers: every(half(10000, 256)) },
  gemma2: {
    ...{ ...gemmaBody, norms: 'sandwich', softcap: 50, logitSoftcap: 30 },
    layers: [4096, 0, 4096, 0].map((window) => (window ? slid(half(10000, 256), window) : half(10000, 256))),
  },
  gemma3_text: {
    ...{ ...gemmaBody, norms: 'sandwich', queryKeyNorm: true, kvHeads: 4 },
    layers: every(slid(half(10000, 256), 4096)),
  },
  gpt_neox: {
    ...{ ...body, norms: 'parallel', norm: 'layer', eps: 1e-5, activation: 'gelu' },
    ...{ headDim: 16, modelDim: 64, embeddingDim: 64, scale: 1 / 4 },
    biases: { attention: true, attentionOutput: true, feedForward: true },
    layers: every({ ...half(10000, 16, { rotaryDim: 4 }), ...dense }),
  },
  ...later,
  bert: { ...encoderBody, position: 'absolute', maxPositions: 512, layers: every({ rope: null, ...dense }) },
  'deberta-v2': {
    ...{ ...encoderBody, eps: 1e-7, tokenTypes: 0, scale: 1 / Math.sqrt(18), position: 'disentangled' },
    disentangled: { span: 512, asKeys: true, asQueries: true, normed: false },
    layers: every(unplaced),
  },
  xlnet: {
    ...{ ...encoderBody, tokenTypes: 5, position: 'transformer-xl', maxPositions: 512 },
    biases: { attention: false, attentionOutput: false, feedForward: true },
    layers: every(unplaced),
  },
  nomic_bert: {
    ...{ ...encoderBody, eps: 1e-5, activation: 'silu' },
    biases: { attention: false, attentionOutput: false, feedForward: false },
    layers: every(half(1000)),
  },
  roformer: {
    ...encoderBody,
    layers: every({ rope: { headDim: 6, base: 10000, pairing: 'interleaved' }, ...dense }),
  },
};

describe('readModelConfig knows what a class means where the file says only sizes', () => {
  for (const [modelType, expected] of Object.entries(defaults)) {
    test(modelType, () => {
      const wide = { hidden_size: 64 };
      const more = {
        ...{ gpt_neox: wide, phi: wide, stablelm: wide, gptj: { hidden_size: 256 }, nomic_bert: nomicSettings },
        opt: { ffn_dim: 36, intermediate_size: undefined },
        'deberta-v2': debertaSettings,
        ...{ mixtral: { num_key_value_heads: 4 }, qwen3_moe: { num_key_value_heads: 4 } },
        llama4_text: { num_key_value_heads: 4 },
      };
      const { architecture, ...found } = readModelConfig(decoder(modelType, more[modelType]));
      assert.equal(architecture, modelType.replace('_text', ''));
      assert.deepEqual(found, expected);
    });
  }
});

test('readModelConfig reads the window of each layer', () => {
  const types = ['sliding_attention', 'full_attention', 'full_attention', 'sliding_attention'];
  const table = [
    [decoder('mistral', { sliding_window: null }), [0, 0, 0, 0]],
    [decoder('mistral', { sliding_window: 7 }), [7, 7, 7, 7]],
    [decoder('mistral', { sliding_window: 7, layer_types: types }), [7, 0, 0, 7]],
    [decoder('qwen2', { sliding_window: 7, max_window_layers: 2 }), [0, 0, 0, 0]],
    [decoder('qwen2', { sliding_window: 7, max_window_layers: 2, use_sliding_window: true }), [0, 0, 7, 7]],
    [decoder('qwen2', { use_sliding_window: true }), [0, 0, 0, 0]], // from layer 28 on
    [decoder('qwen3', { use_sliding_window: true, max_window_layers: 3 }), [0, 0, 0, 4096]],
    [decoder('phi3', { sliding_window: 2047 }), [2047, 2047, 2047, 2047]],
    [decoder('gemma2', { sliding_window: 9 }), [9, 0, 9, 0]],
    [decoder('modernbert', { local_attention: 10, global_attn_every_n_layers: 2 }), [0, 6, 0, 6]],
    [decoder('modernbert', { local_attention: 9, layer_types: types }), [5, 0, 0, 5]],
    [decoder('gemma3_text', { sliding_window: 9, sliding_window_pattern: 2 }), [9, 0, 9, 0]],
    [
      decoder('gemma3_text', { sliding_window: 8, sliding_window_pattern: 2, use_bidirectional_attention: true }),
      [5, 0, 5, 0],
    ],
    [decoder('gemma3_text', { sliding_window: 9, _sliding_window_pattern: 3 }), [9, 9, 0, 9]],
    [decoder('smollm3', { use_sliding_window: true, sliding_window: 9 }), [0, 0, 0, 9]],
    [decoder('smollm3', { sliding_window: 9 }), [0, 0, 0, 0]],
    [llama4({ attention_chunk_size: 9 }), [9, 9, 9, 0]],
    [llama4({ attention_chunk_size: null }), [0, 0, 0, 0]],
    [llama4({ no_rope_layers: [0, 1, 0, 1], attention_chunk_size: 9 }), [0, 9, 0, 9]],
    [llama4({ no_rope_layers: [], attention_chunk_size: 9 }), [9, 9, 9, 0]],
    [llama4({ layer_types: Array(4).fill('full_attention') }), [0, 0, 0, 0]],
  ];
  for (const [config, expected] of table) assert.deepEqual(windows(config), expected, JSON.stringify(config));
});

test('readModelConfig reads the rotary encoding of each layer', () => {
  const gemma3 = (fields) => decoder('gemma3_text', { sliding_window_pattern: 2, ...fields });
  assert.deepEqual(bases(gemma3()), [1e4, 1e6, 1e4, 1e6]);
  assert.deepEqual(bases(gemma3({ rope_local_base_freq: 5e3, rope_theta: 7e5 })), [5e3, 7e5, 5e3, 7e5]);
  const nested = {
    sliding_attention: { rope_type: 'default', rope_theta: 3e3 },
    full_attention: { rope_type: 'linear', factor: 8, rope_theta: 2e6 },
  };
  const layers = readModelConfig(gemma3({ rope_parameters: nested })).layers.map(({ rope }) => rope);
  assert.deepEqual(layers[0], { headDim: 256, base: 3e3, pairing: 'half' });
  assert.deepEqual(layers[1], { headDim: 256, base: 2e6, pairing: 'half', scaling: { type: 'linear', factor: 8 } });
  // Of rope_scaling the layers with a window know nothing.
  const scaled = readModelConfig(gemma3({ rope_scaling: { rope_type: 'linear', factor: 8 } })).layers;
  assert.equal(scaled[0].rope.scaling, undefined);
  assert.deepEqual(scaled[1].rope.scaling, { type: 'linear', factor: 8 });
  assert.deepEqual(bases(decoder('smollm3', { no_rope_layers: [0, 1, 1, 0, 1], rope_theta: 5 })), [0, 5, 5, 0]);
  assert.deepEqual(bases(decoder('smollm3', { no_rope_layer_interval: 2, rope_theta: 5 })), [5, 0, 5, 0]);
  const chunks = ['chunked_attention', 'full_attention', 'chunked_attention', 'full_attention'];
  assert.deepEqual(bases(llama4({ no_rope_layers: [1, 1, 0, 0], layer_types: chunks })), [5e5, 5e5, 0, 0]);
});

test('readModelConfig reads the experts of Qwen 3 by either name', () => {
  const experts = (config) => readModelConfig(decoder('qwen3_moe', config)).layers[0].feedForward.experts;
  assert.deepEqual([experts({ num_experts: 16 }), experts({ num_local_experts: 16 })], [16, 16]);
  const apart = { num_experts: 16, num_local_experts: 8 };
  assert.throws(() => experts(apart), /num_local_experts is 8, but num_experts is 16; they must agree/);
});

test('readModelConfig reads which layers of Llama 4 have experts, and which a temperature', () => {
  const kinds = (fields) =>
    readModelConfig(llama4({ intermediate_size_mlp: 50, ...fields })).layers.map(({ feedForward }) =>
      feedForward.kind === 'experts' ? 0 : feedForward.hiddenDim,
    );
  assert.deepEqual(kinds({ interleave_moe_layer_step: 2 }), [50, 0, 50, 0]);
  assert.deepEqual(kinds({ interleave_moe_layer_step: 2, moe_layers: [0, 3] }), [0, 50, 50, 0]);
  assert.deepEqual(kinds({ moe_layers: [] }), [50, 50, 50, 50]);
  assert.deepEqual(kinds({ interleave_moe_layer_step: 0, num_local_experts: 0 }), [50, 50, 50, 50]);
  const temperatures = (fields) => readModelConfig(llama4(fields)).layers.map(({ temperature }) => temperature);
  const tuned = { step: 5, scale: 2 };
  assert.deepEqual(temperatures({ floor_scale: 5, attn_scale: 2 }), [undefined, undefined, undefined, tuned]);
  for (const attn_temperature_tuning of [false, 0]) {
    assert.deepEqual(temperatures({ attn_temperature_tuning }), Array(4).fill(undefined));
  }
  assert.equal(temperatures({ attn_temperature_tuning: 4 })[3].scale, 0.1);
  const llama3 = decoder('llama', {
    ...{ rope_theta: 5e5, max_position_embeddings: 131072 },
    rope_scaling: {
      ...{ rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
      original_max_position_embeddings: 8192,
    },
  });
  assert.deepEqual(readModelConfig(llama3).layers[3].rope, ropeFromConfig(llama3));
});

test('ropeFromConfig, which has no models, gives the rotary encoding of every model', () => {
  for (const name of variants) {
    const { config } = tinyModel(name);
    for (const { rope, window, chunked } of readModelConfig(config).layers.filter((layer) => layer.rope !== null)) {
      const layerType = window === undefined ? 'full_attention' : chunked ? 'chunked_attention' : 'sliding_attention';
      assert.deepEqual(ropeFromConfig(config, { layerType }), rope, name);
    }
  }
});

test('readModelConfig reads how far distances of XLNet reach', () => {
  const xlnet = (fields, options) => readModelConfig(decoder('xlnet', fields), options);
  assert.equal(xlnet({ clamp_len: -1 }).clampedDistance, undefined);
  assert.equal(xlnet({ clamp_len: 9 }).clampedDistance, 9);
  assert.equal(xlnet({}, { sequenceLength: 700 }).maxPositions, 700);
});

test('readModelConfig tells LongRoPE which length is in use', () => {
  const factors = (x) => [x, x, x];
  const config = decoder('phi3', {
    ...{ original_max_position_embeddings: 16, max_position_embeddings: 64 },
    rope_scaling: { type: 'longrope', short_factor: factors(1), long_factor: factors(3) },
  });
  assert.equal(readModelConfig(config).layers[0].rope.scaling.sequenceLength, undefined);
  assert.equal(readModelConfig(config, { sequenceLength: 40 }).layers[0].rope.scaling.sequenceLength, 40);
});

test('readModelConfig reads what a file says against the defaults of its class', () => {
  const table = [
    [
      decoder('llama', { attention_bias: true, mlp_bias: true }),
      (c) => c.biases,
      { attention: true, attentionOutput: true, feedForward: true },
    ],
    [
      decoder('llama', { num_key_value_heads: 2, head_dim: 8 }),
      (c) => [c.kvHeads, c.headDim, c.scale],
      [2, 8, 1 / Math.sqrt(8)],
    ],
    [decoder('llama', { tie_word_embeddings: true }), (c) => c.tiedEmbeddings, true],
    [decoder('gemma', { tie_word_embeddings: false }), (c) => c.tiedEmbeddings, false],
    [decoder('llama', { hidden_act: 'gelu_new' }), (c) => c.activation, 'geluTanh'],
    [decoder('gemma', { hidden_act: 'gelu' }), (c) => c.activation, 'geluTanh'],
    [decoder('gemma', { hidden_act: 'gelu', hidden_activation: 'gelu' }), (c) => c.activation, 'gelu'],
    [decoder('gemma', { hidden_act: 'silu' }), (c) => c.activation, 'silu'],
    [
      decoder('gemma2', { attn_logit_softcapping: null, final_logit_softcapping: 5 }),
      (c) => [c.softcap, c.logitSoftcap],
      [undefined, 5],
    ],
    [decoder('gemma2', { query_pre_attn_scalar: 144 }), (c) => c.scale, 1 / 12],
    // As google/gemma-2-9b has it.
    [
      decoder('gemma2', { sliding_window: 64, sliding_window_size: 64 }),
      (c) => [c.layers[0].window, c.ignored],
      [64, []],
    ],
    [
      decoder('gpt_neox', { rotary_pct: 1, use_parallel_residual: false }),
      (c) => [c.norms, c.layers[0].rope.rotaryDim],
      ['pre', undefined],
    ],
    [
      decoder('gpt_neox', { rotary_pct: 1, attention_bias: false }),
      (c) => c.biases,
      { attention: false, attentionOutput: false, feedForward: true },
    ],
    [decoder('phi3', { head_dim: 8, partial_rotary_factor: 0.5 }), (c) => c.layers[0].rope.rotaryDim, 4],
    [
      bert({ position_embedding_type: 'relative_key_query' }),
      (c) => [c.position, c.maxPositions],
      ['relative_key_query', 32],
    ],
    [
      decoder('roformer', { rotary_value: true, embedding_size: 12 }),
      (c) => [c.turnValues, c.embeddingDim],
      [true, 12],
    ],
    [decoder('gemma3_text', { use_bidirectional_attention: true }), (c) => c.kind, 'encoder'],
    [decoder('qwen2', { is_causal: false }), (c) => [c.kind, c.ignored], ['encoder', []]],
    [decoder('qwen2', { is_causal: true }), (c) => [c.kind, c.ignored], ['decoder', []]],
    [decoder('modernbert', { is_causal: false }), (c) => c.kind, 'encoder'],
    [
      decoder('modernbert', {
        ...{ architectures: ['ModernBertModel'], classifier_activation: 'gelu', hidden_activation: 'silu' },
      }),
      (c) => [c.activation, c.ignored],
      ['silu', ['classifier_activation']],
    ],
    // As transformers 5 writes it.
    [
      decoder('nomic_bert', { hidden_act: 'silu', layer_norm_eps: 1e-12, rope_parameters: { rope_theta: 1000 } }),
      (c) => [c.activation, c.eps, c.layers[0].rope.base, c.ignored],
      ['silu', 1e-12, 1000, []],
    ],
    // As the first files of T5 have it.
    [decoder('t5', both('T5WithLMHeadModel')), (c) => c.kind, 'encoder-decoder'],
    [
      decoder('umt5', { dense_act_fn: 'silu', feed_forward_proj: 'gated-silu', is_gated_act: true }),
      (c) => [c.activation, c.layers[0].feedForward.kind],
      ['silu', 'gated'],
    ],
    [
      decoder('mt5', { architectures: ['MT5EncoderModel'], feed_forward_proj: 'gated-gelu' }),
      (c) => [c.activation, c.layers[0].feedForward.kind],
      ['geluTanh', 'gated'],
    ],
    [
      decoder('t5', { ...both('T5ForConditionalGeneration'), num_decoder_layers: 2, decoder_start_token_id: 7 }),
      (c) => [c.kind, c.startToken, c.layers.length, c.decoder.kind, c.decoder.layers.length, c.decoder.logitScale],
      ['encoder-decoder', 7, 4, 'decoder', 2, 24 ** -0.5],
    ],
    [
      decoder('t5', { ...both('T5ForConditionalGeneration'), pad_token_id: 3, tie_word_embeddings: false }),
      (c) => [c.startToken, c.decoder.layers.length, c.decoder.tiedEmbeddings, c.decoder.logitScale],
      [3, 4, false, undefined],
    ],
    [
      decoder('marian', { ...both('MarianMTModel'), ...marianDecoder, pad_token_id: 40, scale_embedding: true }),
      (c) => [
        c.kind,
        c.startToken,
        c.embeddingScale,
        c.decoder.heads,
        c.decoder.layers.map((l) => l.feedForward.hiddenDim),
      ],
      ['encoder-decoder', 40, Math.sqrt(24), 2, [50, 50]],
    ],
    [decoder('marian', { ...both('MarianMTModel'), ...marianDecoder, vocab_size: 58101 }), (c) => c.startToken, 58100],
    [
      decoder('umt5', both('UMT5ForConditionalGeneration')),
      (c) => [c.vocabSize, c.activation, c.decoder.logitScale],
      [41, 'geluTanh', 24 ** -0.5],
    ],
    [decoder('mt5', both('MT5ForConditionalGeneration')), (c) => c.decoder.logitScale, undefined],
    [
      decoder('marian', { ...both('MarianModel'), ...marianDecoder }),
      (c) => [c.kind, c.decoder],
      ['encoder', undefined],
    ],
    [
      // As microsoft/deberta-v3-base has it.
      deberta({ max_relative_positions: -1, norm_rel_ebd: 'layer_norm', position_buckets: 256, type_vocab_size: 0 }),
      (c) => c.disentangled,
      { span: 256, maxDistance: 512, asKeys: true, asQueries: true, normed: true },
    ],
    [
      deberta({ attention_head_size: 8, max_relative_positions: 40, pos_att_type: ['c2p'], type_vocab_size: 3 }),
      (c) => [c.headDim, c.scale, c.tokenTypes, c.disentangled.span, c.disentangled.asQueries],
      [8, 1 / 4, 3, 40, false],
    ],
    [decoder('phi', { hidden_size: 64, qk_layernorm: true }), (c) => c.queryKeyNorm, true],
    [decoder('stablelm', { hidden_size: 64, qk_layernorm: true }), (c) => c.queryKeyNorm, 'own weights'],
    [decoder('cohere', { use_qk_norm: true }), (c) => c.queryKeyNorm, 'own weights'],
    [decoder('opt', { ffn_dim: 36, word_embed_proj_dim: 12 }), (c) => c.embeddingDim, 12],
    [bert({ architectures: ['BertForMaskedLM'] }), (c) => c.givesLogits, true],
    [bert({ architectures: ['BertModel'] }), (c) => c.givesLogits, false],
    [decoder('llama', { torch_dtype: 'bfloat16', use_cache: true }), (c) => c.ignored, ['torch_dtype', 'use_cache']],
    // Switched off, these mean nothing.
    [
      decoder('llama', { sliding_window: null, num_experts: 0, layer_scale: false, quantization_config: null }),
      (c) => c.heads,
      4,
    ],
  ];
  for (const [config, part, expected] of table) {
    assert.deepEqual(part(readModelConfig(config)), expected, JSON.stringify(config));
  }
});

test('readModelConfig reads the text of a Gemma 3 with images', () => {
  const text = decoder('gemma3_text', { sliding_window: 9 });
  const outer = { architectures: ['Gemma3ForConditionalGeneration'], model_type: 'gemma3', vision_config: { a: 1 } };
  const found = readModelConfig({ ...outer, text_config: text });
  assert.deepEqual({ ...found, givesLogits: undefined }, readModelConfig(text));
  assert.equal(found.givesLogits, true);
  assert.equal(readModelConfig({ ...outer, tie_word_embeddings: false, text_config: text }).tiedEmbeddings, false);
  // As google/gemma-3-4b-it has it, with most of its sizes left out.
  const { num_attention_heads: _, vocab_size: __, ...short } = text;
  const { heads, kvHeads, vocabSize } = readModelConfig({ ...outer, text_config: short });
  assert.deepEqual([heads, kvHeads, vocabSize], [8, 4, 262208]);
});

// what: [config, the words that its error must have]; the first is the name of the field.
const llama = (fields) => decoder('llama', fields);
const refused = {
  'no object': [[], ['config', 'an object']],
  'no model_type': [sizes, ['model_type', 'undefined']],
  'an unknown model_type': [
    decoder('mamba'),
    ['model_type', 'is "mamba", which is not supported; expected one of "gemma", ', '"llama"'],
  ],
  'a model_type without a letter': [decoder(''), ['is "", which is not supported; expected one of "gemma", ']],
  'one that is like others': [
    decoder('qwen2_moe'),
    ['is "qwen2_moe", which is not supported; near it: "qwen2", "qwen3", "qwen3_moe"; expected one of "gemma", '],
  ],
  'one that has another in its name': [
    decoder('distilbert'),
    ['is "distilbert", which is not supported; near it: "bert"; expected'],
  ],
  'more experts of a token than there are': [
    decoder('mixtral', { num_attention_heads: 4, num_key_value_heads: 2, num_experts_per_tok: 9 }),
    ['num_experts_per_tok', '9', '8'],
  ],
  'layers without experts that are no list': [decoder('qwen3_moe', { mlp_only_layers: 3 }), ['mlp_only_layers', '3']],
  'a class of its own': [
    llama({ architectures: ['LlamaBidirectionalModel'] }),
    ['architectures', '"LlamaBidirectionalModel"'],
  ],
  'a class of another type': [
    llama({ architectures: ['MistralForCausalLM'] }),
    ['architectures', '"MistralForCausalLM"'],
  ],
  'architectures that are no list': [llama({ architectures: 'LlamaModel' }), ['architectures', '"LlamaModel"']],
  'quantized weights': [llama({ quantization_config: { bits: 4 } }), ['quantization_config', 'quantized']],
  experts: [llama({ num_local_experts: 8 }), ['num_local_experts', '8']],
  'a window that LLaMA does not have': [llama({ sliding_window: 64 }), ['sliding_window', '64']],
  'a multiplier': [llama({ residual_multiplier: 0.5 }), ['residual_multiplier', '0.5']],
  'a norm of queries that LLaMA does not have': [llama({ use_qk_norm: true }), ['use_qk_norm', 'true']],
  'an unknown activation': [llama({ hidden_act: 'mish' }), ['hidden_act', '"mish"', '"silu"']],
  'an activation that is no text': [llama({ hidden_act: 3 }), ['hidden_act', '3']],
  'an unknown kind of scaling': [llama({ rope_scaling: { rope_type: 'magic', factor: 2 } }), ['rope_type', '"magic"']],
  'a missing size': [{ ...llama(), hidden_size: null }, ['hidden_size', 'undefined']],
  'a size that is no integer': [llama({ num_hidden_layers: 1.5 }), ['num_hidden_layers', '1.5']],
  'no layers': [llama({ num_hidden_layers: 0 }), ['num_hidden_layers', '0']],
  'more layers than any model': [llama({ num_hidden_layers: 2 ** 24 }), ['num_hidden_layers', '16777216', '4096']],
  'heads that do not divide': [llama({ num_attention_heads: 5 }), ['hidden_size', '24', 'num_attention_heads']],
  'kv heads that do not divide': [llama({ num_key_value_heads: 3 }), ['num_key_value_heads', '3']],
  'an eps of 0': [llama({ rms_norm_eps: 0 }), ['rms_norm_eps', '0']],
  'a flag that is no flag': [llama({ tie_word_embeddings: 'yes' }), ['tie_word_embeddings', '"yes"']],
  'an unknown type of layer': [
    decoder('qwen3', { layer_types: ['linear_attention', 1, 1, 1] }),
    ['layer_types[0]', '"linear_attention"'],
  ],
  'types of other layers': [decoder('qwen3', { layer_types: ['full_attention'] }), ['layer_types', '1 entries', '4']],
  'types that are no list': [decoder('qwen3', { layer_types: 'full_attention' }), ['layer_types', '"full_attention"']],
  'layers that slide without a window': [
    decoder('qwen3', { layer_types: Array(4).fill('sliding_attention') }),
    ['sliding_window', 'undefined'],
  ],
  'a window of 0': [decoder('mistral', { sliding_window: 0 }), ['sliding_window', '0']],
  'layers of Llama 4 that slide': [
    llama4({ layer_types: Array(4).fill('sliding_attention') }),
    ['layer_types[0]', '"sliding_attention"', '"chunked_attention"'],
  ],
  'chunks of no size': [
    llama4({ layer_types: Array(4).fill('chunked_attention'), attention_chunk_size: null }),
    ['attention_chunk_size', 'a size'],
  ],
  'more experts of a token than Llama 4 has': [
    llama4({ num_experts_per_tok: 17 }),
    ['num_experts_per_tok', '17', '16'],
  ],
  'experts of which a token takes none': [llama4({ num_experts_per_tok: 0 }), ['num_experts_per_tok', '0', '16']],
  'layers with experts that are no list': [llama4({ moe_layers: 3 }), ['moe_layers', '3']],
  'layers with experts that are no layers': [llama4({ moe_layers: [1, -1] }), ['moe_layers[1]', '-1']],
  'a norm of queries behind a rotation that scales': [
    llama4({ rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 64 } }),
    ['use_qk_norm', 'scales'],
  ],
  'an XLNet that sees one side': [decoder('xlnet', { attn_type: 'uni' }), ['attn_type', '"uni"', '"bi"']],
  'an XLNet that reads both ways': [decoder('xlnet', { bi_data: true }), ['bi_data', 'true', 'false']],
  'heads of XLNet of another size': [decoder('xlnet', { d_head: 8 }), ['d_head', '8', '6']],
  'a clamp that is no distance': [decoder('xlnet', { clamp_len: -2 }), ['clamp_len', '-2']],
  'too few no_rope_layers': [decoder('smollm3', { no_rope_layers: [1] }), ['no_rope_layers', '1 entries']],
  'no_rope_layers that are no flags': [
    decoder('smollm3', { no_rope_layers: [1, 2, 1, 1] }),
    ['no_rope_layers[1]', '2'],
  ],
  'no_rope_layers that are no list': [decoder('smollm3', { no_rope_layers: 4 }), ['no_rope_layers', '4']],
  'grouped heads of GPT-NeoX': [
    decoder('gpt_neox', { rotary_pct: 1, num_key_value_heads: 2 }),
    ['num_key_value_heads', '2'],
  ],
  'a Gemma 3 that sees both sides of images alone': [
    decoder('gemma3_text', { use_bidirectional_attention: 'vision' }),
    ['use_bidirectional_attention', '"vision"'],
  ],
  'a window to both sides of a decoder': [decoder('mistral', { is_causal: false }), ['is_causal', 'false', 'window']],
  'ALiBi to both sides of a decoder': [decoder('bloom', { is_causal: false }), ['is_causal', 'false', 'ALiBi']],
  'an is_causal that is no flag': [decoder('qwen2', { is_causal: 0 }), ['is_causal', '0']],
  'a Gemma 2 that sees both sides': [
    decoder('gemma2', { use_bidirectional_attention: true }),
    ['use_bidirectional_attention', 'true'],
  ],
  'text beside images of another model': [{ model_type: 'llava', text_config: llama() }, ['text_config']],
  'a BERT that decodes': [bert({ is_decoder: true }), ['is_decoder', 'true']],
  'a BERT with cross-attention': [bert({ add_cross_attention: true }), ['add_cross_attention', 'true']],
  'an unknown kind of positions': [
    bert({ position_embedding_type: 'rotary' }),
    ['position_embedding_type', '"rotary"', '"relative_key"'],
  ],
  'a RoFormer with relative positions': [
    decoder('roformer', { position_embedding_type: 'relative_key' }),
    ['position_embedding_type', '"relative_key"'],
  ],
  'a DeBERTa without relative positions': [deberta({ relative_attention: null }), ['relative_attention', 'true']],
  'a DeBERTa with positions of tokens': [deberta({ position_biased_input: true }), ['position_biased_input', 'false']],
  'maps of their own for distances': [deberta({ share_att_key: false }), ['share_att_key', 'false', 'true']],
  'a convolution of DeBERTa': [deberta({ conv_kernel_size: 3 }), ['conv_kernel_size', '3', '0']],
  'distances that nothing meets': [deberta({ pos_att_type: [] }), ['pos_att_type', '"c2p"']],
  'distances that meet one another': [deberta({ pos_att_type: 'p2p' }), ['pos_att_type', '"p2p"', '"c2p|p2c"']],
  'an odd number of rows of DeBERTa': [deberta({ position_buckets: 7 }), ['position_buckets', '7', 'even', '1020']],
  'more buckets than distances': [
    deberta({ position_buckets: 40, max_relative_positions: 21 }),
    ['position_buckets', '40', '38'],
  ],
  'another norm of distances': [deberta({ norm_rel_ebd: 'rms_norm' }), ['norm_rel_ebd', '"rms_norm"', '"layer_norm"']],
  'an encoder and decoder': [bert({ is_encoder_decoder: true }), ['is_encoder_decoder', 'true']],
  'a Nomic BERT that says no activation': [
    nomic({ activation_function: null }),
    ['activation_function', 'undefined', '"swiglu"'],
  ],
  'another activation of transformers 5': [
    { ...nomic({ hidden_act: 'gelu' }), activation_function: undefined },
    ['hidden_act', '"gelu"', '"silu"'],
  ],
  'another gate': [nomic({ activation_function: 'geglu' }), ['activation_function', '"geglu"', '"swiglu"']],
  'a Nomic BERT with biases': [nomic({ qkv_proj_bias: true }), ['qkv_proj_bias', 'true', 'false']],
  'norms before the parts': [nomic({ prenorm: true }), ['prenorm', 'true', 'false']],
  'half of each head that turns': [nomic({ rotary_emb_fraction: 0.5 }), ['rotary_emb_fraction', '0.5', '1']],
  'interleaved pairs': [nomic({ rotary_emb_interleaved: true }), ['rotary_emb_interleaved', 'true']],
  'a scaling of its own': [nomic({ rotary_scaling_factor: 2 }), ['rotary_scaling_factor', '2']],
  'a scale of xPos': [nomic({ rotary_emb_scale_base: 512 }), ['rotary_emb_scale_base', '512']],
  'experts of Nomic': [nomic({ num_experts: 8 }), ['num_experts', '8']],
  'sizes under two names that differ': [nomic({ n_embd: 48 }), ['hidden_size', '24', 'n_embd', '48']],
  'grouped heads of Nomic': [nomic({ num_heads_kv: 2 }), ['num_heads_kv', '2', '4']],
  'heads of Nomic that do not divide': [
    { ...nomic({ n_embd: 24, n_head: 5 }), hidden_size: null, num_attention_heads: null },
    ['n_embd', '24', '5'],
  ],
  'more layers than any Nomic': [nomic({ num_hidden_layers: 2 ** 13 }), ['num_hidden_layers', '8192', '4096']],
  'a window of ModernBERT that is none': [decoder('modernbert', { local_attention: 0 }), ['local_attention', '0']],
  'every 0th layer': [decoder('modernbert', { global_attn_every_n_layers: 0 }), ['global_attn_every_n_layers', '0']],
  'a head with another activation': [
    decoder('modernbert', { classifier_activation: 'silu' }),
    ['classifier_activation', '"silu"', '"gelu"'],
  ],
  'a head with the activation of its class': [
    decoder('modernbert', { architectures: ['ModernBertForMaskedLM'], hidden_activation: 'silu' }),
    ['classifier_activation', 'undefined', '"silu"'],
  ],
  'a scaling of ModernBERT': [
    decoder('modernbert', { rope_scaling: { rope_type: 'linear', factor: 2 } }),
    ['rope_scaling', 'null'],
  ],
  'grouped heads of ModernBERT': [decoder('modernbert', { num_key_value_heads: 2 }), ['num_key_value_heads', '2', '4']],
  'heads of ModernBERT that are no parts of its width': [
    decoder('modernbert', { head_dim: 8 }),
    ['head_dim', '8', 'expected 6'],
  ],
  'a ModernBERT that decodes': [
    decoder('modernbert', { architectures: ['ModernBertDecoderForCausalLM'] }),
    ['architectures', '"ModernBertDecoderForCausalLM"'],
  ],
  'a feed-forward part that T5 does not have': [
    decoder('t5', { feed_forward_proj: 'gated-relu' }),
    ['feed_forward_proj', '"gated-relu"', '"gated-gelu"'],
  ],
  'a gate of T5 that one field has': [decoder('t5', { is_gated_act: true }), ['is_gated_act', 'true', 'false']],
  'another activation of T5': [
    decoder('t5', { feed_forward_proj: 'gated-gelu', dense_act_fn: 'gelu' }),
    ['dense_act_fn', '"gelu"', '"gelu_new"'],
  ],
  'the decoder of T5': [decoder('t5', { is_decoder: true }), ['is_decoder', 'true']],
  'no start token of Marian, and a small vocabulary': [
    decoder('marian', { ...both('MarianMTModel'), ...marianDecoder }),
    ['decoder_start_token_id', 'undefined'],
  ],
  'a start token outside the vocabulary': [
    decoder('t5', { ...both('T5ForConditionalGeneration'), decoder_start_token_id: 41 }),
    ['decoder_start_token_id', '41', '40'],
  ],
  'buckets of a decoder that reach no further': [
    decoder('t5', { ...both('T5ForConditionalGeneration'), relative_attention_max_distance: 16 }),
    ['relative_attention_max_distance', '16', '32 / 2'],
  ],
  'positions of Marian that are learned': [
    decoder('marian', { static_position_embeddings: false }),
    ['static_position_embeddings', 'false', 'true'],
  ],
  'norms of Marian before the parts': [decoder('marian', { normalize_before: true }), ['normalize_before', 'true']],
  'two vocabularies': [decoder('marian', { decoder_vocab_size: 50 }), ['decoder_vocab_size', '50', '41']],
  'heads of a decoder that do not divide': [
    decoder('marian', { ...both('MarianMTModel'), decoder_attention_heads: 5 }),
    ['decoder_attention_heads', '5', '24'],
  ],
  'an odd number of buckets': [
    decoder('t5', { relative_attention_num_buckets: 31 }),
    ['relative_attention_num_buckets', '31', 'even'],
  ],
  'buckets that reach no further': [
    decoder('t5', { relative_attention_max_distance: 8 }),
    ['relative_attention_max_distance', '8', '32 / 4'],
  ],
  'sizes of GPT-2 under two names that differ': [
    decoder('gpt2', { n_embd: 48 }),
    ['hidden_size', '24', 'n_embd', '48'],
  ],
  'heads of GPT-2 that do not divide': [
    { ...decoder('gpt2', { n_embd: 24, n_head: 5 }), hidden_size: null, num_attention_heads: null },
    ['n_embd', '24', 'n_head', '5'],
  ],
  'scores by the layer': [
    decoder('gpt2', { scale_attn_by_inverse_layer_idx: true }),
    ['scale_attn_by_inverse_layer_idx', 'true', 'false'],
  ],
  'token vectors of no width': [decoder('opt', { word_embed_proj_dim: 0 }), ['word_embed_proj_dim', '0']],
  'an OPT without its last norm': [
    decoder('opt', { _remove_final_layer_norm: true }),
    ['_remove_final_layer_norm', 'true'],
  ],
  'a table that the padding fills': [
    decoder('roberta', { max_position_embeddings: 4, pad_token_id: 3 }),
    ['max_position_embeddings', '4'],
  ],
  'relative positions of RoBERTa': [
    decoder('roberta', { position_embedding_type: 'relative_key' }),
    ['position_embedding_type', '"relative_key"', '"absolute"'],
  ],
  'norms of queries of Phi that are no flag': [decoder('phi', { qk_layernorm: 1 }), ['qk_layernorm', '1']],
  'norms of queries of StableLM that are no flag': [
    decoder('stablelm', { qk_layernorm: 'per head' }),
    ['qk_layernorm', '"per head"'],
  ],
  'norms of queries of Command R7B': [decoder('cohere2', { use_qk_norm: true }), ['use_qk_norm', 'true', 'false']],
  'a residual from behind the norm': [
    decoder('bloom', { apply_residual_connection_post_layernorm: true }),
    ['apply_residual_connection_post_layernorm', 'true'],
  ],
  'an MPT without ALiBi': [decoder('mpt', { attn_config: { alibi: false } }), ['attn_config.alibi', 'false']],
  'clipped queries': [decoder('mpt', { attn_config: { clip_qkv: 6 } }), ['attn_config.clip_qkv', '6']],
  'an MPT with biases': [decoder('mpt', { no_bias: false }), ['no_bias', 'false']],
  'logits that are scaled by name': [decoder('mpt', { logit_scale: 'inv_sqrt_d_model' }), ['logit_scale']],
  'another norm of MPT': [decoder('mpt', { norm_type: 'rmsnorm' }), ['norm_type', '"rmsnorm"']],
  'a factor of 0': [decoder('granite', { logits_scaling: 0 }), ['logits_scaling', '0']],
  'a Jina BERT without a gate': [
    bert({ position_embedding_type: 'alibi', feed_forward_type: 'original' }),
    ['feed_forward_type', '"original"', '"geglu"'],
  ],
  'pruned heads': [bert({ pruned_heads: { 0: [1] } }), ['pruned_heads']],
  'the yarn of a Phi-3, which is none': [
    decoder('phi3', {
      ...{ original_max_position_embeddings: 16, max_position_embeddings: 64 },
      rope_scaling: { type: 'yarn', short_factor: [1, 1, 1], long_factor: [3, 3, 3] },
    }),
    ['rope_scaling', '"yarn"', '"longrope"'],
  ],
  'positions with several axes': [
    decoder('qwen2', { rope_scaling: { type: 'mrope', mrope_section: [1, 1, 1] } }),
    ['mrope_section', 'several axes'],
  ],
};

describe('readModelConfig refuses', () => {
  for (const [what, [config, words]] of Object.entries(refused)) {
    test(what, () => {
      assert.throws(
        () => readModelConfig(config),
        (error) => {
          assert.ok(['ArgumentTypeError', 'ArgumentRangeError'].includes(error.name), String(error.stack));
          for (const word of words) assert.ok(error.message.includes(word), `${error.message} has no ${word}`);
          return true;
        },
      );
    });
  }

  test('options that it does not have, and lengths that are none', () => {
    assert.throws(() => readModelConfig(llama(), { length: 3 }), /length is not an option/);
    assert.throws(() => readModelConfig(llama(), { sequenceLength: 0 }), /sequenceLength is 0/);
  });
});
