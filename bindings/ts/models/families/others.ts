// What the classes of models that cannot be loaded make of RoPE, from configuration_*.py and modeling_*.py of Transformers
// 5 (the newest where versions differ), for model types that it lacks from the code beside their checkpoints. Together
// with `rope` of the families it is all that the package knows of classes: bindings/package.mjs copies both for
// checkpoints/models.ts. To add a model type, without `_text`, add its name to the row that is like it, or a row.
//
// Where a row gives nothing else, the base is 10000 and whole heads of hidden_size / num_attention_heads rotate. Files of
// models with images or sound name the type of their text model, so only few of these stand here.

import type { ModelRope } from '../../checkpoints/models.js';

const llama3 = (factor: number) => ({
  ...{ rope_type: 'llama3', factor, low_freq_factor: 1, high_freq_factor: 4 },
  original_max_position_embeddings: 8192,
});

const interleaved: readonly (readonly [names: string, rope: Omit<ModelRope, 'pairing'>])[] = [
  ['glm4v glm46v glm_ocr', {}],
  ['cohere2_vision aya_vision', { withoutRope: 'full_attention' }],
  ['cohere2_moe', { headDim: 128, withoutRope: 'full_attention' }],
  ['codegen', { rotaryDim: 64 }],
  ['chatglm', { rotaryFraction: 0.5 }],
  ['glm glm4', { headDim: 128, rotaryFraction: 0.5 }],
  ['ernie4_5', { headDim: 128, base: 5e5 }],
  ['ernie4_5_moe', { base: 5e5 }],
  ['ernie4_5_vl ernie4_5_vl_moe', { unlike: 'whose three axes share the pairs in an order of their own' }],
  ['helium', { headDim: 128, base: 1e5 }],
  ['moonshine', { rotaryFraction: 0.9 }],
  ['moonshine_streaming', { parameters: { partial_rotary_factor: 0.8 } }],
  // Multi-head latent attention.
  ['deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 kimi_k25 kimi_vl', { ropeHeadDim: 64 }],
  ['axk1 glm4_moe_lite glm_moe_dsa mistral4 youtu', { ropeHeadDim: 64 }],
  ['axk2', { ropeHeadDim: 32 }],
  ['longcat_flash', { ropeHeadDim: 64, base: 1e7 }],
  ['deepseek_v4', { headDim: 512 }],
];

const half: readonly (readonly [names: string, rope: Omit<ModelRope, 'pairing'>])[] = [
  ['arcee aria chameleon cohere_compass dbrx deepseek deepseek_ocr2 diffllama doge dots1 dream eurobert', {}],
  ['exaone falcon falcon_h1 glm_image gpt_neox_japanese granite_swa granitemoe granitemoe_swa', {}],
  ['granitemoehybrid granitemoeshared hunyuan_v1_dense hunyuan_v1_moe hunyuan_vl hyperclovax internlm', {}],
  ['internlm2 internlm3 jais2 kyutai_speech_to_text llada mimo minicpm ministral mistral3 moshi olmo', {}],
  ['olmo_hybrid olmoe orion phi-msft qwen qwen2_moe starcoder2 voxtral_realtime xverse', {}],
  ['zamba2 RefinedWeb RefinedWebModel Yi', {}],
  ['baichuan', { alibiFrom: 5120 }],
  ['esm', { positionType: 'absolute' }],
  ['jamba kimi_linear nemotron_h zamba', { positionType: 'nope' }],
  ['bamba glm4_moe glm4v_moe nemotron recurrent_gemma', { rotaryFraction: 0.5 }],
  ['stablelm_epoch', { rotaryFraction: 0.25 }],
  ['fuyu persimmon', { rotaryFraction: 0.5, base: 25000 }],
  ['bitnet csm csm_depth_decoder_model evolla flex_olmo mllama', { base: 5e5 }],
  ['emu3 lfm2 lfm2_moe minimax phimoe', { base: 1e6 }],
  ['jina_embeddings_v3', { base: 2e4 }],
  ['dia_decoder dia_encoder hrm jetmoe ministral3 seed_oss step3p5', { headDim: 128 }],
  ['qwen3_omni_moe_talker_code_predictor', { headDim: 128 }],
  ['muse_glimmer_assistant paddleocr_vl', { headDim: 128, base: 5e5 }],
  ['solar_open', { headDim: 128, base: 1e6 }],
  ['cwm', { headDim: 128, base: 1e6, parameters: llama3(16) }],
  [
    'higgs_audio_v2',
    {
      ...{ headDim: 128, base: 5e5 },
      parameters: {
        ...{ rope_type: 'llama3', factor: 32, low_freq_factor: 0.125, high_freq_factor: 0.5 },
        original_max_position_embeddings: 1024,
      },
    },
  ],
  ['cosmos3_edge', { headDim: 128, base: 1e8 }],
  ['hy_v3', { headDim: 128, base: 11158840 }],
  ['mimo_v2_flash', { headDim: 192 }],
  ['minimax_m2', { headDim: 128, base: 5e6 }],
  ['minimax_m3_vl', { headDim: 128, base: 5e6, rotaryDim: 64 }],
  ['openai_privacy_filter', { headDim: 64, base: 1.5e5 }],
  ['t5gemma t5_gemma_module vaultgemma', { headDim: 256 }],
  ['minicpm3', { ropeHeadDim: 32 }],
  ['phi4_multimodal', { originalLength: 4096 }],
  ['nanochat', { reversed: true }],
  ['exaone4 exaone4_5 exaone_moe', { withoutRope: 'full_attention' }],
  ['afmoe muse_glimmer', { headDim: 128, withoutRope: 'full_attention' }],
  ['apertus', { base: 1.2e7, parameters: llama3(8) }],
  [
    'gpt_oss',
    {
      ...{ headDim: 64, base: 1.5e5 },
      parameters: {
        ...{ rope_type: 'yarn', factor: 32, beta_fast: 32, beta_slow: 1, truncate: false },
        original_max_position_embeddings: 4096,
      },
    },
  ],
  // Positions with three axes.
  ['qwen2_5_omni qwen2_5_omni_talker qwen2_5_vl qwen2_vl', { base: 1e6 }],
  ['qwen3_next', { headDim: 256, rotaryFraction: 0.25 }],
  ['qwen3_5 qwen3_5_moe', { headDim: 256, rotaryFraction: 0.25, interleavedAxes: true }],
  ['qwen3_omni_moe qwen3_omni_moe_talker', { base: 1e6, interleavedAxes: true }],
  ['qwen3_vl', { headDim: 128, base: 5e5, interleavedAxes: true }],
  ['qwen3_vl_moe', { base: 5e5, interleavedAxes: true }],
  // A base for each type of layer.
  ['gemma3n t5gemma2 t5gemma2_decoder t5gemma2_encoder', { headDim: 256, base: 1e6, localBase: 1e4 }],
  ['modernbert-decoder', { base: 1.6e5, localBase: 1e4 }],
  [
    'diffusion_gemma gemma4 gemma4_unified',
    {
      ...{ headDim: 256, globalHeadDim: 512 },
      parameters: {
        sliding_attention: { rope_type: 'default', rope_theta: 1e4 },
        full_attention: { rope_type: 'proportional', rope_theta: 1e6, partial_rotary_factor: 0.25 },
      },
    },
  ],
  [
    'mellum',
    {
      headDim: 128,
      parameters: { sliding_attention: { rope_theta: 1e4 }, full_attention: { rope_theta: 5e5 } },
    },
  ],
  [
    'laguna',
    {
      headDim: 128,
      parameters: {
        sliding_attention: { rope_theta: 1e4, partial_rotary_factor: 1 },
        full_attention: { rope_theta: 5e5, partial_rotary_factor: 0.5 },
      },
    },
  ],
  [
    'zaya',
    {
      headDim: 128,
      parameters: {
        hybrid: { rope_theta: 5e6, partial_rotary_factor: 0.5 },
        hybrid_sliding: { rope_theta: 1e4, partial_rotary_factor: 0.5 },
      },
    },
  ],
];

/** Each row: model types, separated by spaces, and what they have in common. @internal */
export const others: readonly (readonly [names: string, rope: ModelRope])[] = [
  ...interleaved.map(([names, rope]) => [names, { pairing: 'interleaved', ...rope }] as const),
  ...half.map(([names, rope]) => [names, { pairing: 'half', ...rope }] as const),
];
