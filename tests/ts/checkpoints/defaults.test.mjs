// The defaults of Hugging Face's model classes for a config.json with sizes only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, ropeFromConfig } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });

// Heads of 96, which is no class's default.
const sizes = { hidden_size: 3072, num_attention_heads: 32 };
const plain = { headDim: 96, base: 10000 };
const half = { headDim: 96, rotaryDim: 48, base: 10000 };
const wide = { headDim: 128, base: 10000 };
const latent = { headDim: 64, base: 10000 };
const quarter = { headDim: 256, rotaryDim: 64, base: 10000 };
const gemma = {
  full_attention: { headDim: 256, base: 1000000 },
  sliding_attention: { headDim: 256, base: 10000 },
};

// Options without the pairing; where layers of two types differ, of each.
const filledIn = {
  interleaved: {
    ...{ roformer: plain, cohere2: plain, glm4v: plain, glm_ocr: plain },
    cohere2_moe: { headDim: 128, base: 10000 },
    chatglm: half,
    moonshine_streaming: { headDim: 96, rotaryDim: 76, base: 10000 },
    ...{ axk1: latent, glm4_moe_lite: latent, glm_moe_dsa: latent, kimi_k2: latent, mistral4: latent, youtu: latent },
    axk2: { headDim: 32, base: 10000 },
    deepseek_v4: { headDim: 512, base: 10000 },
    gptj: { headDim: 96, rotaryDim: 64, base: 10000 },
    codegen: { headDim: 96, rotaryDim: 64, base: 10000 },
    cohere: { headDim: 96, base: 500000 },
    glm: { headDim: 128, rotaryDim: 64, base: 10000 },
    glm4: { headDim: 128, rotaryDim: 64, base: 10000 },
    helium: { headDim: 128, base: 100000 },
    moonshine: { headDim: 96, rotaryDim: 86, base: 10000 },
    ernie4_5: { headDim: 128, base: 500000 },
    ernie4_5_moe: { headDim: 96, base: 500000 },
    llama4: { headDim: 128, base: 500000 },
    longcat_flash: { headDim: 64, base: 10000000 },
    ...{ deepseek_v2: latent, deepseek_v3: latent, deepseek_v32: latent },
  },
  half: {
    ...{ llama: plain, mistral: plain, ministral: plain, arcee: plain, qwen2: plain, qwen2_moe: plain },
    ...{ qwen3_moe: plain, phi3: plain, gpt_neox_japanese: plain, falcon: plain, starcoder2: plain, olmo: plain },
    ...{ olmo2: plain, olmoe: plain, granite: plain, granitemoe: plain, exaone4: plain, exaone4_5: plain },
    ...{ hunyuan_v1_dense: plain, hunyuan_v1_moe: plain, exaone_moe: plain, olmo_hybrid: plain, zamba2: plain },
    nomic_bert: { headDim: 96, base: 1000 },
    jina_embeddings_v3: { headDim: 96, base: 20000 },
    ...{ afmoe: wide, ministral3: wide, step3p5: wide },
    hy_v3: { headDim: 128, base: 11158840 },
    minicpm3: { headDim: 32, base: 10000 },
    minimax_m2: { headDim: 128, base: 5000000 },
    minimax_m3_vl: { headDim: 128, rotaryDim: 64, base: 5000000 },
    fuyu: { headDim: 96, rotaryDim: 48, base: 25000 },
    ...{ bamba: half, phi: half, nemotron: half, glm4_moe: half, glm4v_moe: half, recurrent_gemma: half },
    persimmon: { headDim: 96, rotaryDim: 48, base: 25000 },
    gpt_neox: { headDim: 96, rotaryDim: 24, base: 10000 },
    stablelm: { headDim: 96, rotaryDim: 24, base: 10000 },
    phimoe: { headDim: 96, base: 1000000 },
    mixtral: { headDim: 96, base: 1000000 },
    minimax: { headDim: 96, base: 1000000 },
    lfm2: { headDim: 96, base: 1000000 },
    bitnet: { headDim: 96, base: 500000 },
    olmo3: { headDim: 96, base: 500000 },
    seed_oss: { headDim: 128, base: 10000 },
    smollm3: { headDim: 96, base: 2000000 },
    apertus: {
      ...{ headDim: 96, base: 12000000 },
      scaling: { type: 'llama3', factor: 8, originalLength: 8192, lowFreqFactor: 1, highFreqFactor: 4 },
    },
    gpt_oss: {
      ...{ headDim: 64, base: 150000 },
      scaling: { type: 'yarn', factor: 32, originalLength: 4096, betaFast: 32, betaSlow: 1, truncate: false },
    },
    qwen2_vl: { headDim: 96, base: 1000000 },
    qwen2_5_vl: { headDim: 96, base: 1000000 },
    qwen2_5_omni: { headDim: 96, base: 1000000 },
    qwen3: { headDim: 128, base: 10000 },
    qwen3_vl: { headDim: 128, base: 500000 },
    qwen3_vl_moe: { headDim: 96, base: 500000 },
    qwen3_omni_moe: { headDim: 96, base: 1000000 },
    ...{ qwen3_next: quarter, qwen3_5: quarter, qwen3_5_moe: quarter },
    gemma: { headDim: 256, base: 10000 },
    gemma2: { headDim: 256, base: 10000 },
    ...{ gemma3: gemma, gemma3n: gemma },
    gemma4: {
      full_attention: { headDim: 512, base: 1000000, scaling: { type: 'proportional', rotaryFraction: 0.25 } },
      sliding_attention: { headDim: 256, base: 10000 },
    },
    mellum: {
      full_attention: { headDim: 128, base: 500000 },
      sliding_attention: { headDim: 128, base: 10000 },
    },
    higgs_audio_v2: {
      ...{ headDim: 128, base: 500000 },
      scaling: { type: 'llama3', factor: 32, originalLength: 1024, lowFreqFactor: 0.125, highFreqFactor: 0.5 },
    },
    laguna: {
      full_attention: { headDim: 128, rotaryDim: 64, base: 500000 },
      sliding_attention: { headDim: 128, base: 10000 },
    },
    zaya: {
      hybrid: { headDim: 128, rotaryDim: 64, base: 5000000 },
      hybrid_sliding: { headDim: 128, rotaryDim: 64, base: 10000 },
    },
    modernbert: {
      full_attention: { headDim: 96, base: 160000 },
      sliding_attention: { headDim: 96, base: 10000 },
    },
  },
};

// A file that says all of it.
const stated = {
  ...{ head_dim: 160, global_head_dim: 160, partial_rotary_factor: 0.2, rope_theta: 12345 },
  rope_scaling: { rope_type: 'linear', factor: 2 },
};
const statedOptions = { headDim: 160, rotaryDim: 32, base: 12345, scaling: { type: 'linear', factor: 2 } };
const latentTypes = ['axk2', 'longcat_flash', 'minicpm3'];

for (const [pairing, types] of Object.entries(filledIn)) {
  for (const [model_type, expected] of Object.entries(types)) {
    const config = { model_type, ...sizes };
    const layers = 'headDim' in expected ? [[undefined, expected]] : Object.entries(expected);
    for (const [layerType, options] of layers) {
      const what = layerType === undefined ? model_type : `${layerType} of ${model_type}`;
      const asked = layerType && { layerType };
      test(`ropeFromConfig fills in what the class of ${what} has`, () => {
        assert.deepEqual(ropeFromConfig(config, asked), { ...options, pairing });
        const { sources } = rw.explainRope(config, asked);
        assert.deepEqual(Object.values(sources), ['class', 'class', 'class', layerType ? sources.layers : 'class']);
      });
      test(`fields of the file win over the class of ${what}`, () => {
        const { rope_theta, rope_scaling, partial_rotary_factor, ...heads } = stated;
        const parameters = { ...rope_scaling, rope_theta, partial_rotary_factor };
        const rope = layerType === undefined ? stated : { ...heads, rope_parameters: { [layerType]: parameters } };
        const given = { ...config, ...rope, position_embedding_type: 'rotary' };
        // Without a type, layers of OLMo 3 differ in their scaling.
        const scaled = asked ?? (model_type === 'olmo3' ? { layerType: 'full_attention' } : {});
        if (expected !== latent && !latentTypes.includes(model_type)) {
          assert.deepEqual(ropeFromConfig(given, scaled), { ...statedOptions, pairing });
          return;
        }
        const apart = { ...given, qk_rope_head_dim: 32, partial_rotary_factor: 1 };
        const { rotaryDim, ...whole } = statedOptions;
        assert.deepEqual(ropeFromConfig(apart, scaled), { ...whole, headDim: rotaryDim, pairing });
      });
    }
    if (layers.length > 1) {
      test(`layers of ${model_type} have no RoPE in common`, () => {
        assert.throws(() => ropeFromConfig(config), { name: 'ArgumentTypeError', message: /layerType/ });
      });
    }
  }
}

test('a base of the file stands beside the scaling of the class, and a scaling of the file beside its base', () => {
  for (const model_type of ['apertus', 'gpt_oss']) {
    const { base, scaling } = filledIn.half[model_type];
    const of = (fields) => ropeFromConfig({ model_type, ...sizes, ...fields });
    assert.deepEqual([of({ rope_theta: 777 }).base, of({ rope_theta: 777 }).scaling], [777, scaling]);
    assert.equal(of({ original_max_position_embeddings: 2048 }).scaling.originalLength, 2048);
    for (const field of ['rope_scaling', 'rope_parameters']) {
      const { base: kept, scaling: given } = of({ [field]: { rope_type: 'default' } });
      assert.deepEqual([kept, given], [base, undefined], `${model_type}, ${field}`);
      assert.deepEqual(of({ [field]: null }).scaling, scaling, 'null is not given');
    }
  }
});

test('the class fills in the base of one type of layer where the file has that of the other', () => {
  const bases = (config) =>
    ['full_attention', 'sliding_attention'].map(
      (layerType) => ropeFromConfig({ ...sizes, ...config }, { layerType }).base,
    );
  assert.deepEqual(bases({ model_type: 'modernbert', global_rope_theta: 777 }), [777, 10000]);
  assert.deepEqual(bases({ model_type: 'modernbert', local_rope_theta: 777 }), [160000, 777]);
  assert.deepEqual(bases({ model_type: 'gemma3n', rope_theta: 777 }), [777, 10000]);
  assert.deepEqual(bases({ model_type: 'gemma3n', rope_local_base_freq: 777 }), [1000000, 777]);
  const rope_parameters = { full_attention: { rope_type: 'default' }, sliding_attention: { rope_type: 'default' } };
  assert.deepEqual(bases({ model_type: 'gemma3n_text', rope_parameters }), [1000000, 10000]);
});

test('Phi-3 was trained on 4096 positions unless the file says otherwise', () => {
  const lists = { short_factor: Array(48).fill(1), long_factor: Array(48).fill(2) };
  const phi3 = { model_type: 'phi3', ...sizes, max_position_embeddings: 131072 };
  const config = { ...phi3, rope_scaling: { type: 'longrope', ...lists } };
  assert.equal(ropeFromConfig(config).scaling.originalLength, 4096);
  assert.ok(!rw.explainRope(config).warnings.some(({ code }) => code === 'original-length-missing'));
  assert.equal(ropeFromConfig({ ...config, original_max_position_embeddings: 8192 }).scaling.originalLength, 8192);
});

test('ESM has RoPE only where the file says so', () => {
  const esm = { model_type: 'esm', ...sizes };
  assert.equal(ropeFromConfig(esm), null);
  assert.deepEqual(ropeFromConfig({ ...esm, position_embedding_type: 'rotary' }), { ...plain, pairing: 'half' });
});

test('families without RoPE give null, also where their files do not speak of positions', () => {
  const files = {
    gpt2: { n_embd: 768, n_head: 12, n_positions: 1024 },
    bloom: { hidden_size: 1024, n_head: 16 },
    t5: { d_model: 512, num_heads: 8, relative_attention_num_buckets: 32 },
    mpt: { d_model: 4096, n_heads: 32, attn_config: { alibi: true, rope: false } },
    bert: { ...sizes, position_embedding_type: 'relative_key' },
    ...{ 'deberta-v2': sizes, 'xlm-roberta': sizes, camembert: sizes, marian: sizes, mt5: sizes, opt: sizes },
    ...{ roberta: sizes, umt5: sizes, xlnet: sizes },
  };
  for (const [model_type, fields] of Object.entries(files)) {
    assert.equal(ropeFromConfig({ model_type, ...fields }), null, model_type);
    assert.equal(rw.explainRope({ model_type, ...fields }), null, model_type);
  }
  const turned = ropeFromConfig({ ...files.mpt, model_type: 'mpt', attn_config: { rope: true, rope_theta: 500000 } });
  assert.deepEqual(turned, { headDim: 128, base: 500000, pairing: 'half' });
  const { sources } = rw.explainRope({ ...files.bert, model_type: 'bert', position_embedding_type: 'rotary' });
  assert.equal(sources.pairing, 'assumed');
});

test('layers of some types have no RoPE, whatever the file says of it', () => {
  const of = (model_type, layerType, fields) =>
    ropeFromConfig({ model_type, ...sizes, rope_theta: 777, ...fields }, { layerType })?.base;
  for (const model_type of ['cohere2', 'cohere2_moe', 'exaone4', 'exaone4_5_text', 'exaone_moe', 'afmoe', 'llama4']) {
    assert.equal(of(model_type, 'full_attention'), undefined, model_type);
    assert.equal(of(model_type, 'sliding_attention'), 777, model_type);
  }
  assert.equal(of('exaone4', 'full_attention', { sliding_window: null }), 777, 'a model without a window');
  assert.equal(of('llama', 'full_attention'), 777);
  for (const layerType of ['linear_attention', 'conv', 'mamba', 'recurrent']) {
    assert.equal(of('qwen3_next', layerType), undefined, layerType);
  }
});

test('models without RoPE give null although the file has fields of it', () => {
  for (const model_type of ['jamba', 'kimi_linear', 'nemotron_h', 'zamba']) {
    assert.equal(ropeFromConfig({ model_type, ...sizes, position_embedding_type: null }), null, model_type);
  }
  const zamba2 = { model_type: 'zamba2', ...sizes };
  assert.equal(ropeFromConfig({ ...zamba2, use_mem_rope: false }), null);
  assert.deepEqual(ropeFromConfig({ ...zamba2, use_mem_rope: true }), { ...plain, pairing: 'half' });
  // As in the files of its checkpoints.
  const heads = { attention_head_dim: 2 * plain.headDim, kv_channels: plain.headDim };
  const { headDim } = ropeFromConfig({ ...zamba2, ...heads, use_mem_rope: true });
  assert.equal(headDim, 2 * plain.headDim);
});

test('pairs of nanochat turn by the negated angle', () => {
  const nanochat = { model_type: 'nanochat', hidden_size: 8, num_attention_heads: 2, rope_theta: 100 };
  const scaling = { type: 'custom', inverseFrequencies: [-1, -0.1] };
  assert.deepEqual(ropeFromConfig(nanochat), { headDim: 4, base: 100, pairing: 'half', scaling });
  const { pairs, warnings } = rw.explainRope(nanochat, { trainingLength: 100 });
  assert.deepEqual(
    pairs.map(({ inverseFrequency, wavelength }) => [inverseFrequency, wavelength > 0]),
    [
      [-1, true],
      [-0.1, true],
    ],
  );
  assert.ok(warnings.some(({ code }) => code === 'turns-backwards'));
  const rope_scaling = { rope_type: 'linear', factor: 2 };
  assert.throws(() => ropeFromConfig({ ...nanochat, rope_scaling }), {
    name: 'ArgumentRangeError',
    message: /rope_scaling\.rope_type is "linear", for pairs that turn backwards; expected "default"/,
  });
});

test('a class that is not known is told from one that is', () => {
  const sourcesOf = (config, asked) => rw.explainRope({ ...sizes, ...config }, asked).sources;
  const nothing = { pairing: 'assumed', base: 'assumed', rotaryDim: 'assumed', layers: 'assumed' };
  assert.deepEqual(sourcesOf({ model_type: 'new_thing', rope_scaling: { rope_type: 'default' } }), nothing);
  assert.deepEqual(sourcesOf({ rope_theta: 7 }), { ...nothing, base: 'file' });
  const told = { rope_theta: 7, rope_interleave: true, partial_rotary_factor: 0.5 };
  const file = { pairing: 'file', base: 'file', rotaryDim: 'file' };
  assert.deepEqual(sourcesOf({ model_type: 'new_thing', ...told }), { ...file, layers: 'assumed' });
  assert.deepEqual(sourcesOf({ model_type: 'llama', ...told }), { ...file, layers: 'class' });
  assert.equal(sourcesOf({ model_type: 'llama' }, { pairing: 'interleaved' }).pairing, 'option');
  const rope_parameters = { full_attention: { rope_theta: 7 } };
  assert.equal(sourcesOf({ model_type: 'new_thing', rope_parameters }, { layerType: 'full_attention' }).layers, 'file');
  assert.equal(rw.explainRope({ headDim: 8 }).sources, undefined);
});

test('a qk_rope_head_dim of 0 is no latent attention: heads turn whole, in halves', () => {
  // As DeepSeek-OCR and DeepSeek-VL2 tiny have it, whose attention is LLaMA's.
  const language_config = { hidden_size: 1280, num_attention_heads: 10, qk_rope_head_dim: 0, use_mla: false };
  const whole = { headDim: 128, base: 10000, pairing: 'half' };
  for (const model_type of ['deepseek_vl_v2', 'deepseek_v2']) {
    assert.deepEqual(ropeFromConfig({ model_type, language_config }), whole, model_type);
    assert.equal(rw.explainRope({ model_type, language_config }).sources.pairing, 'assumed');
  }
});

test('latent attention of a class that is not known is assumed to pair neighbours', () => {
  const unknown = { model_type: 'new_thing', qk_rope_head_dim: 64, rope_theta: 10000 };
  assert.deepEqual(ropeFromConfig(unknown), { ...latent, pairing: 'interleaved' });
  const { warnings } = rw.explainRope(unknown);
  const { message } = warnings.find(({ code }) => code === 'pairing-unknown');
  assert.match(message, /'interleaved' is assumed/);
});
