// RoPE options from Hugging Face's config.json of every version.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, ropeFromConfig } from 'ropewalk';
import { notAChoice, notAnInteger, notOptions, required } from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });

function frequenciesOf(options) {
  const plan = rw.rope(options);
  try {
    return { w: plan.inverseFrequencies, factor: plan.attentionFactor };
  } finally {
    plan.dispose();
  }
}

const ones = (n) => Array(n).fill(1);
const llama3 = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };
const yarn = { factor: 4, original_max_position_embeddings: 32768 };

// What the files of well-known models say, and what it means.
const models = {
  'Llama 1, which names no base': [
    { model_type: 'llama', hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 2048 },
    { headDim: 128, base: 10000, pairing: 'half' },
  ],
  'Llama 3.1': [
    {
      ...{ model_type: 'llama', hidden_size: 4096, num_attention_heads: 32, max_position_embeddings: 131072 },
      ...{ rope_theta: 500000, rope_scaling: { rope_type: 'llama3', ...llama3 } },
    },
    {
      ...{ headDim: 128, base: 500000, pairing: 'half' },
      scaling: { type: 'llama3', factor: 8, originalLength: 8192, lowFreqFactor: 1, highFreqFactor: 4 },
    },
  ],
  'Qwen2 with YaRN': [
    { model_type: 'qwen2', hidden_size: 3584, num_attention_heads: 28, rope_scaling: { type: 'yarn', ...yarn } },
    { headDim: 128, base: 10000, pairing: 'half', scaling: { type: 'yarn', factor: 4, originalLength: 32768 } },
  ],
  'GPT-NeoX': [
    {
      ...{ model_type: 'gpt_neox', hidden_size: 6144, num_attention_heads: 64, rotary_pct: 0.25 },
      ...{ rotary_emb_base: 10000, max_position_embeddings: 2048 },
    },
    { headDim: 96, rotaryDim: 24, base: 10000, pairing: 'half' },
  ],
  'GPT-J': [
    { model_type: 'gptj', n_embd: 4096, n_head: 16, n_positions: 2048, rotary_dim: 64 },
    { headDim: 256, rotaryDim: 64, base: 10000, pairing: 'interleaved' },
  ],
  RoFormer: [
    { model_type: 'roformer', hidden_size: 768, num_attention_heads: 12, embedding_size: 768, rotary_value: false },
    { headDim: 64, base: 10000, pairing: 'interleaved' },
  ],
  'Phi-2, with 0.4 of 80 coordinates': [
    {
      ...{ model_type: 'phi', hidden_size: 2560, num_attention_heads: 32, rope_theta: 10000 },
      ...{ partial_rotary_factor: 0.4, rope_scaling: null },
    },
    { headDim: 80, rotaryDim: 32, base: 10000, pairing: 'half' },
  ],
  'Moonshine, with 32.4 of 36 coordinates': [
    { model_type: 'moonshine', hidden_size: 288, encoder_num_attention_heads: 8, rope_theta: 10000 },
    { headDim: 36, rotaryDim: 32, base: 10000, pairing: 'interleaved' },
  ],
  'Phi-3 with the original length at the top': [
    {
      ...{ model_type: 'phi3', hidden_size: 8, num_attention_heads: 2, max_position_embeddings: 131072 },
      ...{ original_max_position_embeddings: 4096, rope_theta: 10000 },
      rope_scaling: { type: 'su', short_factor: [1, 1.5], long_factor: [2, 64] },
    },
    {
      ...{ headDim: 4, base: 10000, pairing: 'half' },
      scaling: {
        ...{ type: 'longrope', shortFactors: [1, 1.5], longFactors: [2, 64] },
        ...{ originalLength: 4096, maxLength: 131072 },
      },
    },
  ],
  'DeepSeek-V3': [
    {
      ...{ model_type: 'deepseek_v3', hidden_size: 7168, num_attention_heads: 128, qk_rope_head_dim: 64 },
      ...{ max_position_embeddings: 163840, rope_theta: 10000 },
      rope_scaling: {
        ...{ type: 'yarn', factor: 40, beta_fast: 32, beta_slow: 1, mscale: 1, mscale_all_dim: 1 },
        original_max_position_embeddings: 4096,
      },
    },
    {
      ...{ headDim: 64, base: 10000, pairing: 'interleaved' },
      scaling: {
        ...{ type: 'yarn', factor: 40, originalLength: 4096, betaFast: 32, betaSlow: 1 },
        ...{ mscale: 1, mscaleAllDim: 1 },
      },
    },
  ],
  'gpt-oss': [
    {
      ...{ model_type: 'gpt_oss', hidden_size: 2880, num_attention_heads: 64, head_dim: 64, rope_theta: 150000 },
      rope_scaling: { rope_type: 'yarn', ...yarn, original_max_position_embeddings: 4096, truncate: false },
    },
    {
      ...{ headDim: 64, base: 150000, pairing: 'half' },
      scaling: { type: 'yarn', factor: 4, originalLength: 4096, truncate: false },
    },
  ],
  'Qwen2-VL, whose type is mrope': [
    {
      ...{ model_type: 'qwen2_vl', hidden_size: 3584, num_attention_heads: 28, rope_theta: 1000000 },
      rope_scaling: { type: 'mrope', mrope_section: [16, 24, 24] },
    },
    { headDim: 128, base: 1000000, pairing: 'half', axes: { layout: 'sections', sections: [16, 24, 24] } },
  ],
  'Qwen3-VL, in its text_config': [
    {
      model_type: 'qwen3_vl',
      text_config: {
        ...{ model_type: 'qwen3_vl_text', hidden_size: 2560, num_attention_heads: 32, head_dim: 128 },
        rope_theta: 5000000,
        rope_scaling: { mrope_interleaved: true, mrope_section: [24, 20, 20], rope_type: 'default' },
      },
    },
    { headDim: 128, base: 5000000, pairing: 'half', axes: { layout: 'interleaved', sections: [24, 20, 20] } },
  ],
  'Qwen3.5, with a quarter of 256 coordinates': [
    {
      ...{ model_type: 'qwen3_5_text', hidden_size: 1024, num_attention_heads: 8, head_dim: 256 },
      rope_parameters: {
        ...{ rope_type: 'default', rope_theta: 1e7, partial_rotary_factor: 0.25 },
        ...{ mrope_section: [11, 11, 10], mrope_interleaved: true },
      },
    },
    {
      ...{ headDim: 256, rotaryDim: 64, base: 1e7, pairing: 'half' },
      axes: { layout: 'interleaved', sections: [11, 11, 10] },
    },
  ],
  'Hunyuan, whose alpha is a static NTK': [
    {
      ...{ model_type: 'hunyuan_v1_dense', hidden_size: 2048, num_attention_heads: 16, max_position_embeddings: 32768 },
      rope_scaling: { type: 'dynamic', alpha: 1000, factor: 1 },
    },
    { headDim: 128, base: 10000, pairing: 'half', scaling: { type: 'ntk', factor: 1000 } },
  ],
  'ChatGLM, which multiplies the base': [
    { model_type: 'chatglm', hidden_size: 4096, num_attention_heads: 32, kv_channels: 128, rope_ratio: 50 },
    { headDim: 128, rotaryDim: 64, base: 500000, pairing: 'interleaved' },
  ],
  'Llama 4, which blends nothing': [
    {
      model_type: 'llama4',
      text_config: {
        ...{ model_type: 'llama4_text', head_dim: 128, rope_theta: 500000 },
        rope_scaling: { rope_type: 'llama3', ...llama3, high_freq_factor: 1 },
      },
    },
    {
      ...{ headDim: 128, base: 500000, pairing: 'interleaved' },
      scaling: {
        ...{ type: 'llama3', factor: 8, originalLength: 8192, lowFreqFactor: 1 },
        highFreqFactor: 1 + Number.EPSILON,
      },
    },
  ],
  'Phi-3-small, whose base has a name of its own': [
    { model_type: 'phi3small', hidden_size: 4096, num_attention_heads: 32, rope_embedding_base: 1000000 },
    { headDim: 128, base: 1000000, pairing: 'half' },
  ],
  'Bamba, under the older name of its part': [
    { model_type: 'bamba', hidden_size: 4096, num_attention_heads: 32, attn_rotary_emb: 32, rope_theta: 10000 },
    { headDim: 128, rotaryDim: 32, base: 10000, pairing: 'half' },
  ],
  'InternVL, whose text model has a name of its own': [
    { model_type: 'internvl_chat', llm_config: { model_type: 'internlm2', head_dim: 128, rope_theta: 1000000 } },
    { headDim: 128, base: 1000000, pairing: 'half' },
  ],
  'Qwen2.5-Omni, whose text model stands in another': [
    {
      model_type: 'qwen2_5_omni',
      thinker_config: { model_type: 'qwen2_5_omni_thinker', text_config: { head_dim: 128, rope_theta: 1000000 } },
    },
    { headDim: 128, base: 1000000, pairing: 'half' },
  ],
  'a model that nobody knows': [
    { model_type: 'new_thing', head_dim: 64, rope_theta: 77 },
    { headDim: 64, base: 77, pairing: 'half' },
  ],
};

for (const [model, [config, options]] of Object.entries(models)) {
  test(`ropeFromConfig reads ${model}`, () => {
    const before = JSON.stringify(config);
    assert.deepEqual(ropeFromConfig(config), options);
    assert.equal(JSON.stringify(config), before, 'the configuration is not written to');
    rw.rope(options).dispose();
  });
}

test('ropeFromConfig reads the old and the new spelling alike', () => {
  for (const [kind, fields] of Object.entries({
    ...{ default: {}, linear: { factor: 2 }, dynamic: { factor: 2 }, llama3, yarn },
    ...{ proportional: { factor: 2 }, longrope: { short_factor: ones(32), long_factor: ones(32), factor: 4 } },
  })) {
    const size = { head_dim: 64, max_position_embeddings: 65536 };
    const old = ropeFromConfig({ ...size, rope_theta: 12345, rope_scaling: { type: kind, ...fields } });
    const now = ropeFromConfig({ ...size, rope_parameters: { rope_type: kind, rope_theta: 12345, ...fields } });
    assert.deepEqual(now, old);
    const both = { ...size, rope_scaling: { rope_type: kind, ...fields }, rope_parameters: { type: kind, ...fields } };
    assert.deepEqual(ropeFromConfig({ ...both, rope_theta: 12345 }), old);
  }
});

// tests/utils/test_modeling_rope_utils.py of Hugging Face: head_dim 128, base 10000, five digits printed.
const published = {
  default: [{}, { 1: 8.6596e-1, 2: 7.4989e-1, 63: 1.1548e-4 }, 1],
  dynamic: [{ factor: 10 }, { 1: 8.0931e-1, 2: 6.5498e-1, 63: 1.6265e-6 }, 1],
  yarn: [
    { factor: 10, beta_fast: 32, beta_slow: 1 },
    { 16: 1e-1, 17: 8.3479e-2, 40: 4.3007e-4, 41: 2.7384e-4, 63: 1.1548e-5 },
    0.1 * Math.log(10) + 1,
  ],
  llama3: [
    { factor: 10, low_freq_factor: 1, high_freq_factor: 4 },
    { 30: 1.3335e-2, 31: 1.073e-2, 32: 7.7785e-3, 33: 5.6009e-3, 40: 3.4539e-4, 41: 2.7384e-4 },
    1,
  ],
  proportional: [{ partial_rotary_factor: 0.25 }, { 1: 8.6596e-1, 15: 1.1548e-1, 16: 0, 63: 0 }, 1],
  longrope: [
    { factor: 10, short_factor: Array(64).fill(2), long_factor: ones(64).map((_, i) => i + 1) },
    { 0: 1 / 1, 1: 8.6596e-1 / 2, 63: 1.1548e-4 / 64 },
    Math.sqrt(1 + Math.log(10) / Math.log(2048)),
  ],
};

for (const [kind, [fields, numbers, factor]] of Object.entries(published)) {
  test(`ropeFromConfig gives the published frequencies of ${kind}`, () => {
    const original = kind === 'dynamic' || kind === 'default' || kind === 'proportional' ? {} : { ...lengths };
    const config = { ...size128, rope_parameters: { rope_type: kind, rope_theta: 10000, ...original, ...fields } };
    const got = frequenciesOf(ropeFromConfig(config, { sequenceLength: 16384 }));
    for (const [pair, want] of Object.entries(numbers)) {
      assert.ok(Math.abs(got.w[pair] - want) <= 6e-5 * want, `pair ${pair} is ${got.w[pair]}, want ${want}`);
    }
    assert.ok(Math.abs(got.factor - factor) <= 1e-15);
  });
}
const lengths = { original_max_position_embeddings: 2048 };
const size128 = { head_dim: 128, max_position_embeddings: 2048 };

test('LongRoPE holds the short list at exactly the original length', () => {
  const lists = { short_factor: [2, 2], long_factor: [3, 3] };
  const config = { head_dim: 4, max_position_embeddings: 64, rope_scaling: { type: 'longrope', ...lists, ...lengths } };
  config.rope_scaling.original_max_position_embeddings = 16;
  const first = (sequenceLength) => frequenciesOf(ropeFromConfig(config, { sequenceLength })).w[0];
  assert.deepEqual([undefined, 1, 16, 17].map(first), [1 / 2, 1 / 2, 1 / 2, 1 / 3]);
});

test('a factor that is not given is the ratio of the lengths, and one that is given wins', () => {
  const config = (rope) => ({ head_dim: 4, max_position_embeddings: 131072, rope_scaling: rope });
  const lists = { type: 'longrope', short_factor: [1, 1], long_factor: [1, 1], original_max_position_embeddings: 4096 };
  const factor = (rope) => frequenciesOf(ropeFromConfig(config(rope))).factor;
  assert.equal(factor(lists).toFixed(6), '1.190238');
  assert.equal(factor({ ...lists, factor: 4096 }), Math.SQRT2);
  assert.equal(factor({ ...lists, factor: 4, attention_factor: 1.5 }), 1.5);
  assert.equal(factor({ ...lists, short_mscale: 1.2, long_mscale: 1.3 }), 1.2);
  const stretched = { type: 'yarn', original_max_position_embeddings: 32768 };
  assert.equal(ropeFromConfig(config(stretched)).scaling.factor, 4);
  assert.equal(ropeFromConfig(config({ ...stretched, factor: 3 })).scaling.factor, 3);
  assert.equal(factor({ ...stretched, factor: 40, mscale: 0.8, mscale_all_dim: 0.8 }), 1);
  assert.equal(factor({ ...stretched, factor: 40, mscale: 1, mscale_all_dim: 1, attention_factor: 1.25 }), 1.25);
  assert.equal(factor({ ...stretched, factor: 40, mscale: 2 }).toFixed(6), '1.368888');
});

test('an original length that is not given is max_position_embeddings', () => {
  for (const rope of [
    { rope_type: 'yarn', factor: 4 },
    { rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
    { rope_type: 'longrope', factor: 4, short_factor: [1, 1], long_factor: [1, 1] },
  ]) {
    const { scaling } = ropeFromConfig({ head_dim: 4, max_position_embeddings: 999, rope_parameters: rope });
    assert.equal(scaling.originalLength, 999);
  }
});

const perLayer = {
  ...{ head_dim: 64, global_head_dim: 128, max_position_embeddings: 4096 },
  rope_parameters: {
    full_attention: { rope_type: 'proportional', partial_rotary_factor: 0.25, rope_theta: 1000000 },
    sliding_attention: { rope_type: 'default', rope_theta: 10000 },
    chunked_attention: null,
  },
};

test('each type of layer has its own RoPE, and null is none', () => {
  const of = (layerType) => ropeFromConfig(perLayer, { layerType });
  assert.deepEqual(of('full_attention'), {
    ...{ headDim: 128, base: 1000000, pairing: 'half' },
    scaling: { type: 'proportional', rotaryFraction: 0.25 },
  });
  assert.deepEqual(of('sliding_attention'), { headDim: 64, base: 10000, pairing: 'half' });
  assert.equal(of('chunked_attention'), null);
});

test('sliding layers of Gemma 3 and ModernBERT have a base of their own in the old spelling', () => {
  const of = (config) =>
    ['full_attention', 'sliding_attention'].map((layerType) => ropeFromConfig(config, { layerType }));
  const linear = { type: 'linear', factor: 8 };
  const gemma = { model_type: 'gemma3_text', rope_scaling: { rope_type: 'linear', factor: 8 } };
  const expected = [
    { headDim: 256, base: 1000000, pairing: 'half', scaling: linear },
    { headDim: 256, base: 10000, pairing: 'half' },
  ];
  assert.deepEqual(of(gemma), expected, 'with what the class fills in');
  const spelled = { head_dim: 256, rope_theta: 1000000, rope_local_base_freq: 10000 };
  assert.deepEqual(of({ ...spelled, rope_scaling: gemma.rope_scaling }), expected);
  const bert = { model_type: 'modernbert', hidden_size: 768, num_attention_heads: 12 };
  const bases = of({ ...bert, global_rope_theta: 160000, local_rope_theta: 10000 }).map(({ base }) => base);
  assert.deepEqual(bases, [160000, 10000]);
});

test('sliding layers of OLMo 3 keep the base and leave the scaling to the others', () => {
  const olmo = { model_type: 'olmo3', hidden_size: 4096, num_attention_heads: 32, rope_theta: 600000 };
  const factors = { factor: 8, attention_factor: 1.2, beta_fast: 32, beta_slow: 1 };
  const yarn = { rope_type: 'yarn', original_max_position_embeddings: 8192, ...factors };
  const plain = { headDim: 128, base: 600000, pairing: 'half' };
  const scaling = { type: 'yarn', factor: 8, originalLength: 8192, attentionFactor: 1.2, betaFast: 32, betaSlow: 1 };
  const { rope_theta, ...size } = olmo;
  for (const config of [
    { ...olmo, rope_scaling: yarn },
    { ...size, rope_parameters: { ...yarn, rope_theta } },
  ]) {
    assert.deepEqual(ropeFromConfig(config, { layerType: 'full_attention' }), { ...plain, scaling });
    assert.deepEqual(ropeFromConfig(config, { layerType: 'sliding_attention' }), plain);
    assert.throws(() => ropeFromConfig(config), { name: 'ArgumentTypeError', message: /layerType/ });
  }
  assert.deepEqual(ropeFromConfig(olmo), plain, 'without a scaling all layers are alike');
  assert.deepEqual(ropeFromConfig({ ...size, rope_parameters: { rope_type: 'default', rope_theta } }), plain);
});

test('DBRX has names of its own for sizes, and its base beside its heads', () => {
  const dbrx = { model_type: 'dbrx', d_model: 6144, n_heads: 48 };
  const attn_config = { kv_n_heads: 8, clip_qkv: 8, rope_theta: 500000 };
  assert.deepEqual(ropeFromConfig({ ...dbrx, attn_config }), { headDim: 128, base: 500000, pairing: 'half' });
  const both = { ...dbrx, attn_config, rope_parameters: { rope_type: 'default', rope_theta: 10000 } };
  assert.throws(() => ropeFromConfig(both), { name: 'ArgumentRangeError', message: /attn_config\.rope_theta.*agree/ });
  assert.throws(() => ropeFromConfig({ ...dbrx, attn_config: 8 }), {
    name: 'ArgumentTypeError',
    message: /attn_config/,
  });
});

test('a size that is no number is refused, and does not make a model one without RoPE', () => {
  const llama = { model_type: 'llama', num_attention_heads: 4 };
  for (const hidden_size of [Infinity, Symbol('s'), 8n, '64']) {
    assert.throws(() => ropeFromConfig({ ...llama, hidden_size }), { argument: 'hidden_size' });
  }
});

test('layers and models without RoPE give null', () => {
  const cohere = { model_type: 'cohere2', hidden_size: 512, num_attention_heads: 8, rope_theta: 50000 };
  const of = (layerType) => ropeFromConfig({ ...cohere, sliding_window: 4096 }, { layerType });
  assert.equal(of('full_attention'), null);
  assert.equal(of('sliding_attention').pairing, 'interleaved');
  assert.equal(ropeFromConfig({ model_type: 'falcon', hidden_size: 64, num_attention_heads: 4, alibi: true }), null);
  const baichuan = (hidden_size, num_attention_heads) => ({ model_type: 'baichuan', hidden_size, num_attention_heads });
  assert.equal(ropeFromConfig(baichuan(5120, 40)), null);
  assert.deepEqual(ropeFromConfig(baichuan(4096, 32)), { headDim: 128, base: 10000, pairing: 'half' });
  const bert = { model_type: 'bert', hidden_size: 64, num_attention_heads: 4 };
  assert.equal(ropeFromConfig({ ...bert, position_embedding_type: 'absolute' }), null);
});

test('the pairing comes from an option, then a field, then the model', () => {
  const of = (config, options) => ropeFromConfig({ head_dim: 64, rope_theta: 1e4, ...config }, options).pairing;
  const interleaved = ['gptj', 'codegen', 'cohere', 'cohere2', 'glm', 'glm4', 'ernie4_5', 'deepseek_v2', 'llama4_text'];
  for (const model_type of interleaved) assert.equal(of({ model_type, rotary_dim: 64 }), 'interleaved', model_type);
  for (const model_type of ['llama', 'glm4_moe', 'gpt_neox', 'deepseek']) assert.equal(of({ model_type }), 'half');
  assert.equal(of({ model_type: 'deepseek_v3', rope_interleave: false }), 'half');
  assert.equal(of({ model_type: 'llama', rope_interleave: true }), 'interleaved');
  assert.equal(of({ model_type: 'gptj', rotary_dim: 64 }, { pairing: 'half' }), 'half');
});

const size = { head_dim: 64 };
const from = (config, options) => () => ropeFromConfig(config, options);
const scaled = (rope_scaling, more) => from({ ...size, rope_scaling, ...more });
const longrope = { type: 'longrope', short_factor: ones(32), long_factor: ones(32) };
testMisfits(rw, 'ropeFromConfig', {
  'a configuration without the size of a head': [TypeError, 'head_dim', from({ rope_theta: 1e4 })],
  'a hidden size without the number of heads': [TypeError, 'num_attention_heads', from({ hidden_size: 64 })],
  'a hidden size that heads do not divide': [
    RangeError,
    ['hidden_size is 65', 'num_attention_heads, 4'],
    from({ hidden_size: 65, num_attention_heads: 4 }),
  ],
  'head sizes by layer number': [
    RangeError,
    'per_layer_config',
    from({ ...size, per_layer_config: { 5: { head_dim: 128 } } }),
  ],
  'a scaling of an unknown kind': [RangeError, ['rope_scaling.type', '"ntk"'], scaled({ type: 'ntk', factor: 2 })],
  'a kind that an object inherits': [RangeError, '"toString"', scaled({ type: 'toString' })],
  'a kind that is no string': [TypeError, 'rope_scaling.rope_type', scaled({ rope_type: 1 })],
  'a rope_scaling without a kind': [TypeError, 'rope_scaling.rope_type', scaled({ factor: 2 })],
  'a rope_scaling that is no object': [TypeError, ['rope_scaling', '"linear"'], scaled('linear')],
  'a linear scaling without a factor': [TypeError, 'rope_scaling.factor', scaled({ type: 'linear' })],
  'a factor of text': [TypeError, ['rope_scaling.factor', '"2"'], scaled({ type: 'linear', factor: '2' })],
  'a factor of zero': [RangeError, ['rope_scaling.factor', '0'], scaled({ type: 'linear', factor: 0 })],
  'a dynamic scaling without a length': [TypeError, 'max_position_embeddings', scaled({ type: 'dynamic', factor: 2 })],
  'a dynamic scaling of a single pair': [
    RangeError,
    ['head_dim is 2', 'dynamic'],
    from({ head_dim: 2, max_position_embeddings: 8, rope_scaling: { type: 'dynamic', factor: 2 } }),
  ],
  'YaRN without any length': [
    TypeError,
    'rope_scaling.original_max_position_embeddings',
    scaled({ type: 'yarn', factor: 2 }),
  ],
  'YaRN without a factor or two lengths to make it': [
    TypeError,
    'rope_scaling.factor',
    scaled({ type: 'yarn' }, { max_position_embeddings: 4096 }),
  ],
  'a negative beta': [RangeError, ['rope_scaling.beta_fast', '-1'], scaled({ type: 'yarn', ...yarn, beta_fast: -1 })],
  'a truncate that is no flag': [TypeError, 'rope_scaling.truncate', scaled({ type: 'yarn', ...yarn, truncate: 0 })],
  'llama3 without its band': [
    TypeError,
    'rope_scaling.low_freq_factor',
    scaled({ type: 'llama3', factor: 8, original_max_position_embeddings: 8192 }),
  ],
  'llama3 whose band is empty': [
    RangeError,
    ['rope_scaling.high_freq_factor is 1', 'rope_scaling.low_freq_factor, 4'],
    scaled({ type: 'llama3', ...yarn, low_freq_factor: 4, high_freq_factor: 1 }),
  ],
  'YaRN of a base below 1': [RangeError, 'rope_theta is 0.5', scaled({ type: 'yarn', ...yarn }, { rope_theta: 0.5 })],
  'longrope of a length whose logarithm is 0': [
    RangeError,
    ['original_max_position_embeddings is 1', 'rope_scaling.attention_factor'],
    scaled({ ...longrope, factor: 4 }, { original_max_position_embeddings: 1 }),
  ],
  'longrope of such a length for want of another': [
    RangeError,
    ['max_position_embeddings is 1', 'rope_scaling.attention_factor'],
    scaled({ ...longrope, factor: 4 }, { max_position_embeddings: 1 }),
  ],
  'longrope without lists': [TypeError, 'rope_scaling.short_factor', scaled({ type: 'longrope', ...yarn })],
  'a longrope list of another length': [
    RangeError,
    ['rope_scaling.long_factor', '31 entries'],
    scaled({ type: 'longrope', ...yarn, short_factor: ones(32), long_factor: ones(31) }),
  ],
  'a longrope list with a text in it': [
    TypeError,
    'rope_scaling.short_factor[1]',
    scaled({ type: 'longrope', ...yarn, short_factor: [1, '1'], long_factor: ones(32) }),
  ],
  'longrope without anything to make a factor of': [
    TypeError,
    'rope_scaling.factor',
    scaled({ ...longrope, ...lengths }),
  ],
  'a partial factor above 1': [
    RangeError,
    ['partial_rotary_factor', '1.5'],
    from({ ...size, partial_rotary_factor: 1.5 }),
  ],
  'a partial factor that leaves an odd number': [
    RangeError,
    ['partial_rotary_factor', '89 of 128'],
    from({ head_dim: 128, partial_rotary_factor: 0.7 }),
  ],
  'a head larger than any': [RangeError, ['head_dim is 2097152', '1048576'], from({ head_dim: 2 ** 21 })],
  'a rotary_dim larger than the head': [RangeError, ['rotary_dim', '64'], from({ head_dim: 32, rotary_dim: 64 })],
  'sections that are not all pairs': [
    RangeError,
    ['rope_scaling.mrope_section', '31', '32 pairs'],
    scaled({ type: 'mrope', mrope_section: [10, 10, 11] }),
  ],
  'two sections': [RangeError, ['mrope_section', '2 entries'], scaled({ type: 'mrope', mrope_section: [16, 16] })],
  'type mrope without sections': [TypeError, 'rope_scaling.mrope_section', scaled({ type: 'mrope' })],
  'a model that is not known to rotate and says nothing of it': [
    RangeError,
    ['model_type', '"electra"'],
    from({ model_type: 'electra', hidden_size: 64, num_attention_heads: 4 }),
  ],
  'a model whose RoPE is like no other': [
    RangeError,
    ['model_type', '"ernie4_5_vl"'],
    from({ model_type: 'ernie4_5_vl', head_dim: 128, rope_theta: 500000 }),
  ],
  'positions with two axes of ChatGLM': [
    RangeError,
    'position_encoding_2d',
    from({ model_type: 'chatglm', head_dim: 128, position_encoding_2d: true }),
  ],
  'a base that is no number': [TypeError, 'rope_theta', from({ ...size, rope_theta: [1e4, 1e6] })],
  'a base of 1': [RangeError, ['rope_theta', '1'], from({ ...size, rope_theta: 1 })],
  'layers of several types without saying which': [
    TypeError,
    ['layerType', '"full_attention", "sliding_attention", "chunked_attention"'],
    from(perLayer),
  ],
  'a type of layer that is not there': [
    RangeError,
    ['layerType', '"linear_attention"', '"full_attention"'],
    from(perLayer, { layerType: 'linear_attention' }),
  ],
  'a type of layer that layer_types does not list': [
    RangeError,
    ['layerType', '"x"', '"full_attention"'],
    from({ ...size, layer_types: ['full_attention', 'full_attention'] }, { layerType: 'x' }),
  ],
  'Gemma 3 without a type of layer': [TypeError, 'layerType', from({ model_type: 'gemma3' })],
});

// Two fields that say different things of one setting.
const contradictions = {
  'type and rope_type': [{ rope_scaling: { type: 'linear', rope_type: 'yarn', ...yarn } }, ['"linear"', '"yarn"']],
  'rope_scaling and rope_parameters, in their kind': [
    { rope_scaling: { type: 'linear', factor: 4 }, rope_parameters: { rope_type: 'yarn', ...yarn } },
    ['rope_scaling.type', '"linear"', '"yarn"'],
  ],
  'rope_scaling and rope_parameters, in a field': [
    { rope_scaling: { type: 'linear', factor: 2 }, rope_parameters: { rope_type: 'linear', factor: 4 } },
    ['rope_scaling.factor is 2', 'rope_parameters.factor is 4'],
  ],
  'rope_scaling and rope_parameters, in a field that one lacks': [
    { rope_scaling: { type: 'linear', factor: 2 }, rope_parameters: { rope_type: 'linear', factor: 2, beta_fast: 32 } },
    ['rope_scaling.beta_fast', 'rope_parameters.beta_fast is 32'],
  ],
  'rope_scaling beside a rope_parameters for each type of layer': [
    { rope_scaling: { type: 'linear', factor: 2 }, rope_parameters: perLayer.rope_parameters },
    'rope_scaling',
  ],
  'two bases': [{ rope_theta: 5, rope_parameters: { rope_theta: 6 } }, ['rope_theta is 5', 'is 6']],
  'rotary_emb_base and rope_theta': [{ rope_theta: 5, rotary_emb_base: 6 }, ['rotary_emb_base is 6', 'is 5']],
  'two original lengths': [
    { original_max_position_embeddings: 4096, rope_scaling: { type: 'yarn', ...yarn } },
    ['4096', '32768'],
  ],
  'two partial factors': [
    { partial_rotary_factor: 0.5, rope_parameters: { partial_rotary_factor: 0.25 } },
    ['partial_rotary_factor', '0.25'],
  ],
  'rotary_dim and a partial factor': [{ rotary_dim: 32, rotary_pct: 0.25 }, ['rotary_dim is 32', '16']],
  'the part of latent attention and a partial factor': [
    { qk_rope_head_dim: 64, head_dim: 128, partial_rotary_factor: 0.25 },
    ['qk_rope_head_dim is 64', 'partial_rotary_factor 0.25'],
  ],
  'two sizes': [{ head_dim: null, hidden_size: 64, n_embd: 32, n_head: 2 }, ['n_embd is 32', 'hidden_size is 64']],
};
testMisfits(
  rw,
  'ropeFromConfig as contradictory',
  Object.fromEntries(
    Object.entries(contradictions).map(([what, [config, words]]) => [
      what,
      [RangeError, words, from({ ...size, ...config })],
    ]),
  ),
);

const plain = { ...size, rope_theta: 10000 };
testAllRefusals(rw, 'ropeFromConfig', {
  config: [required(notOptions.filter(({ value }) => typeof value !== 'function')), (config) => ropeFromConfig(config)],
  options: [notOptions, (options) => ropeFromConfig(plain, options)],
  pairing: [notAChoice, (pairing) => ropeFromConfig(plain, { pairing })],
  sequenceLength: [notAnInteger({ min: 0, max: 2 ** 53 - 1 }), (n) => ropeFromConfig(plain, { sequenceLength: n })],
});
testUnknownOptions(rw, 'ropeFromConfig', ['layer_type', 'base'], (more) => ropeFromConfig(plain, more));

test('a promise of a configuration, and a response that holds one, are refused as such', () => {
  for (const config of [Promise.resolve({ head_dim: 8 }), new Response('{}'), {}]) {
    const refused = {
      name: 'ArgumentTypeError',
      argument: 'config',
      message: /; expected an object, as a config.json/,
    };
    assert.throws(() => ropeFromConfig(config), refused);
  }
  assert.throws(() => ropeFromConfig(Promise.resolve()), /config is a Promise/);
});

test('Qwen 1: with use_dynamic_ntk the base grows with each doubling of the training length', () => {
  const qwen = { model_type: 'qwen', hidden_size: 5120, num_attention_heads: 40, rotary_emb_base: 10000 };
  const config = { ...qwen, seq_length: 2048, max_position_embeddings: 8192, use_dynamic_ntk: true };
  const factorAt = (sequenceLength) => ropeFromConfig(config, { sequenceLength }).scaling?.factor;
  assert.deepEqual([1, 2048, 2049, 4096, 4097, 8192, 8193].map(factorAt), [undefined, undefined, 3, 3, 7, 7, 15]);
  assert.equal(ropeFromConfig(config).scaling, undefined);
  assert.equal(rw.explainRope(config).trainingLength, 2048);
  // log2(8192 / 2048) + 1 = 3, 2^3 - 1 = 7.
  const { effectiveBase } = rw.explainRope(config, { sequenceLength: 8192 });
  assert.ok(Math.abs(effectiveBase / (10000 * 7 ** (128 / 126)) - 1) < 1e-12, `${effectiveBase}`);
  assert.equal(ropeFromConfig({ ...config, use_dynamic_ntk: false }, { sequenceLength: 8192 }).scaling, undefined);
  const { seq_length: _, ...unsure } = config;
  assert.throws(() => ropeFromConfig(unsure), { name: 'ArgumentTypeError', argument: 'seq_length' });
});

test('InternLM 1 has its base and scaling in an object of its own', () => {
  const internlm = {
    model_type: 'internlm',
    hidden_size: 4096,
    num_attention_heads: 32,
    max_position_embeddings: 2048,
  };
  const of = (rotary, sequenceLength = 8192) => ropeFromConfig({ ...internlm, rotary }, { sequenceLength });
  assert.deepEqual(of({ base: 5000, type: 'origin' }), { headDim: 128, base: 5000, pairing: 'half' });
  const scaling = { type: 'dynamic', factor: 1, maxLength: 2048, sequenceLength: 8192 };
  assert.deepEqual(of({ base: 10000, type: 'dynamic' }), { headDim: 128, base: 10000, pairing: 'half', scaling });
  assert.equal(of({ base: 10000, type: 'dynamic', scaling_factor: 2 }).scaling.factor, 2);
  assert.throws(() => of({ base: -1, type: 'origin' }), { argument: 'rotary.base' });
  assert.throws(() => of({ base: 5, type: 'other' }), { argument: 'rotary.rope_type' });
  assert.deepEqual(rw.explainRope({ ...internlm, rotary: { base: 5000, type: 'origin' } }).unusedFields, []);
});

test('what holds more than one RoPE is refused where the type of layer, or the half, is not told', () => {
  const deepseek = { model_type: 'deepseek_v4', hidden_size: 4096, num_attention_heads: 64, qk_rope_head_dim: 64 };
  const flat = { ...deepseek, rope_theta: 10000, compress_rope_theta: 160000 };
  assert.throws(() => ropeFromConfig(flat), { name: 'ArgumentRangeError', argument: 'compress_rope_theta' });
  const rope_parameters = { main: { rope_theta: 10000 }, compress: { rope_theta: 160000 } };
  assert.equal(ropeFromConfig({ ...flat, rope_parameters }, { layerType: 'compress' }).base, 160000);
  const half = { model_type: 't5gemma2_decoder', rope_parameters: { full_attention: { rope_theta: 777 } } };
  const whole = { model_type: 't5gemma2', encoder: {}, decoder: half };
  const layerType = 'full_attention';
  assert.throws(() => ropeFromConfig(whole, { layerType }), { name: 'ArgumentRangeError', argument: 'decoder' });
  assert.equal(ropeFromConfig(half, { layerType }).base, 777);
});
