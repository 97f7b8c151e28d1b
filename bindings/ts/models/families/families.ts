// The supported model types, without `_text`: families, which can be loaded, and others, for which only the rotary
// encoding is known. To add one, add an entry; bindings/package.mjs copies all encodings for checkpoints/models.ts.

import type { ModelRope } from '../../checkpoints/models.js';
import { bert } from './bert.js';
import { gemma } from './gemma.js';
import { gemma2 } from './gemma2.js';
import { gemma3 } from './gemma3.js';
import { gptNeox } from './gpt-neox.js';
import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { nomicBert } from './nomic-bert.js';
import { phi3 } from './phi3.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';
import { roformer } from './roformer.js';
import { ropewalk } from './ropewalk.js';
import { smollm3 } from './smollm3.js';

export const families = {
  bert,
  gemma,
  gemma2,
  gemma3,
  gpt_neox: gptNeox,
  llama,
  mistral,
  nomic_bert: nomicBert,
  phi3,
  qwen2,
  qwen3,
  roformer,
  ropewalk,
  smollm3,
};

const interleaved: ModelRope = { pairing: 'interleaved' };
const half: ModelRope = { pairing: 'half' };

/**
 * RoPE defaults of other models, from configuration_*.py of Transformers (the newest where versions differ). Where an
 * entry gives nothing else, the base is 10000 and whole heads of hidden_size / num_attention_heads rotate. @internal
 */
export const others: Readonly<Record<string, ModelRope>> = {
  apertus: {
    pairing: 'half',
    base: 1.2e7,
    parameters: {
      rope_type: 'llama3',
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    },
  },
  arcee: half,
  baichuan: half,
  bitnet: { pairing: 'half', base: 5e5 },
  codegen: { pairing: 'interleaved', rotaryDim: 64 },
  cohere: { pairing: 'interleaved', base: 5e5 },
  cohere2: interleaved,
  dbrx: half,
  deepseek: half,
  deepseek_v2: { pairing: 'interleaved', ropeHeadDim: 64 },
  deepseek_v3: { pairing: 'interleaved', ropeHeadDim: 64 },
  deepseek_v32: { pairing: 'interleaved', ropeHeadDim: 64 },
  ernie4_5: { pairing: 'interleaved', headDim: 128, base: 5e5 },
  ernie4_5_moe: { pairing: 'interleaved', base: 5e5 },
  esm: { pairing: 'half', positionType: 'absolute' },
  exaone4: half,
  falcon: half,
  gemma3n: { pairing: 'half', headDim: 256, base: 1e6, localBase: 1e4 },
  gemma4: {
    pairing: 'half',
    headDim: 256,
    globalHeadDim: 512,
    parameters: {
      sliding_attention: { rope_type: 'default', rope_theta: 1e4 },
      full_attention: { rope_type: 'proportional', rope_theta: 1e6, partial_rotary_factor: 0.25 },
    },
  },
  glm: { pairing: 'interleaved', headDim: 128, rotaryFraction: 0.5 },
  glm4: { pairing: 'interleaved', headDim: 128, rotaryFraction: 0.5 },
  glm4_moe: { pairing: 'half', rotaryFraction: 0.5 },
  glm4v: interleaved,
  glm4v_moe: { pairing: 'half', rotaryFraction: 0.5 },
  glm_ocr: interleaved,
  gpt_neox_japanese: half,
  gpt_oss: {
    pairing: 'half',
    headDim: 64,
    base: 1.5e5,
    parameters: {
      rope_type: 'yarn',
      factor: 32,
      beta_fast: 32,
      beta_slow: 1,
      truncate: false,
      original_max_position_embeddings: 4096,
    },
  },
  gptj: { pairing: 'interleaved', rotaryDim: 64 },
  granite: half,
  granitemoe: half,
  helium: { pairing: 'interleaved', headDim: 128, base: 1e5 },
  hunyuan_v1_dense: half,
  hunyuan_v1_moe: half,
  internlm2: half,
  kimi_k2: interleaved,
  lfm2: { pairing: 'half', base: 1e6 },
  llama4: { pairing: 'interleaved', headDim: 128, base: 5e5 },
  longcat_flash: { pairing: 'interleaved', ropeHeadDim: 64, base: 1e7 },
  minimax: { pairing: 'half', base: 1e6 },
  ministral: half,
  mistral3: half,
  mixtral: { pairing: 'half', base: 1e6 },
  modernbert: { pairing: 'half', base: 1.6e5, localBase: 1e4 },
  moonshine: { pairing: 'interleaved', rotaryFraction: 0.9 },
  nemotron: { pairing: 'half', rotaryFraction: 0.5 },
  olmo: half,
  olmo2: half,
  olmo3: { pairing: 'half', base: 5e5, slidingUnscaled: true },
  olmoe: half,
  persimmon: { pairing: 'half', rotaryFraction: 0.5, base: 25000 },
  phi: { pairing: 'half', rotaryFraction: 0.5 },
  phimoe: { pairing: 'half', base: 1e6 },
  qwen2_5_omni: { pairing: 'half', base: 1e6 },
  qwen2_5_vl: { pairing: 'half', base: 1e6 },
  qwen2_moe: half,
  qwen2_vl: { pairing: 'half', base: 1e6 },
  qwen3_5: { pairing: 'half', headDim: 256, rotaryFraction: 0.25 },
  qwen3_5_moe: { pairing: 'half', headDim: 256, rotaryFraction: 0.25 },
  qwen3_moe: half,
  qwen3_next: { pairing: 'half', headDim: 256, rotaryFraction: 0.25 },
  qwen3_omni_moe: { pairing: 'half', base: 1e6 },
  qwen3_vl: { pairing: 'half', headDim: 128, base: 5e5 },
  qwen3_vl_moe: { pairing: 'half', base: 5e5 },
  recurrent_gemma: { pairing: 'half', rotaryFraction: 0.5 },
  seed_oss: { pairing: 'half', headDim: 128 },
  stablelm: { pairing: 'half', rotaryFraction: 0.25 },
  starcoder2: half,
};
