// What Hugging Face's model classes know that a config.json need not say: how a model pairs coordinates, what its
// class fills in, which of its layers have no RoPE. Keys are values of model_type, without `_text`. Of models that are
// loaded, their families say it, in models/families/; bindings/package.mjs takes it from there.
import { familyRopes } from '../family-ropes.js';
import type { Pairing } from '../rope/options.js';

// Of models that are not loaded.
const paired: Readonly<Record<Pairing, readonly string[]>> = {
  interleaved: [
    ...['gptj', 'codegen', 'cohere', 'cohere2', 'glm', 'glm4', 'glm4v', 'glm_ocr', 'helium', 'moonshine'],
    ...['ernie4_5', 'ernie4_5_moe', 'llama4', 'longcat_flash'],
    ...['deepseek_v2', 'deepseek_v3', 'deepseek_v32', 'kimi_k2'],
  ],
  half: [
    ...['mistral3', 'ministral', 'mixtral', 'arcee', 'apertus', 'bitnet', 'seed_oss', 'internlm2', 'baichuan', 'lfm2'],
    ...['qwen2_moe', 'qwen2_vl', 'qwen2_5_vl', 'qwen2_5_omni', 'qwen3_moe', 'qwen3_next', 'minimax', 'deepseek'],
    ...['qwen3_vl', 'qwen3_vl_moe', 'qwen3_omni_moe', 'qwen3_5', 'qwen3_5_moe', 'hunyuan_v1_dense', 'hunyuan_v1_moe'],
    ...['gemma3n', 'gemma4', 'recurrent_gemma', 'modernbert', 'nomic_bert', 'esm', 'starcoder2', 'nemotron', 'dbrx'],
    ...['phi', 'phimoe', 'gpt_neox_japanese', 'gpt_oss', 'falcon', 'stablelm', 'persimmon', 'glm4_moe', 'glm4v_moe'],
    ...['olmo', 'olmo2', 'olmo3', 'olmoe', 'granite', 'granitemoe', 'exaone4'],
  ],
};

// An entry of a table, whatever the key: a model_type may be any text.
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The model type that the tables here know. */
export function modelName(modelType: string): string {
  return modelType.replace(/_text$/, '');
}

/** How a model pairs, or undefined where this package does not know it. */
export function pairingOf(modelType: string): Pairing | undefined {
  const family = own<FamilyRope>(familyRopes, modelType);
  if (family !== undefined) return family.pairing;
  const known = (pairing: Pairing) => paired[pairing].includes(modelType);
  if (known('interleaved')) return 'interleaved';
  return known('half') ? 'half' : undefined;
}

/** Fields that say it themselves, whatever the model: true means interleaved. */
export const interleaveFields = ['rope_interleave', 'rope_interleaved', 'rotary_emb_interleaved'] as const;

/** What a class fills in where the file says nothing. */
export interface ClassDefaults {
  readonly headDim?: number;
  /** Of full attention layers. */
  readonly globalHeadDim?: number;
  /** qk_rope_head_dim */
  readonly ropeHeadDim?: number;
  readonly rotaryFraction?: number;
  readonly rotaryDim?: number;
  readonly base?: number;
  /** Of sliding attention layers. */
  readonly localBase?: number;
  /** Sliding attention layers have the base of all layers, but not their scaling. */
  readonly slidingUnscaled?: true;
  /** The whole rope_parameters, where there is no rope_scaling either. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** original_max_position_embeddings */
  readonly originalLength?: number;
  /** position_embedding_type */
  readonly positionType?: string;
}

/** What the family of a loaded model says. */
export interface FamilyRope extends ClassDefaults {
  readonly pairing: Pairing;
}

// Of models that are not loaded, from configuration_*.py of Transformers, the newest where versions differ. What no entry
// says is base 10000 and heads of hidden_size / num_attention_heads that turn whole.
const classDefaults: Readonly<Record<string, ClassDefaults>> = {
  gptj: { rotaryDim: 64 },
  codegen: { rotaryDim: 64 },
  phi: { rotaryFraction: 0.5 },
  phimoe: { base: 1e6 },
  persimmon: { rotaryFraction: 0.5, base: 25000 },
  nemotron: { rotaryFraction: 0.5 },
  stablelm: { rotaryFraction: 0.25 },
  esm: { positionType: 'absolute' },
  cohere: { base: 5e5 },
  helium: { headDim: 128, base: 1e5 },
  glm: { headDim: 128, rotaryFraction: 0.5 },
  glm4: { headDim: 128, rotaryFraction: 0.5 },
  glm4_moe: { rotaryFraction: 0.5 },
  glm4v_moe: { rotaryFraction: 0.5 },
  moonshine: { rotaryFraction: 0.9 },
  ernie4_5: { headDim: 128, base: 5e5 },
  ernie4_5_moe: { base: 5e5 },
  llama4: { headDim: 128, base: 5e5 },
  deepseek_v2: { ropeHeadDim: 64 },
  deepseek_v3: { ropeHeadDim: 64 },
  deepseek_v32: { ropeHeadDim: 64 },
  longcat_flash: { ropeHeadDim: 64, base: 1e7 },
  mixtral: { base: 1e6 },
  minimax: { base: 1e6 },
  lfm2: { base: 1e6 },
  bitnet: { base: 5e5 },
  olmo3: { base: 5e5, slidingUnscaled: true },
  seed_oss: { headDim: 128 },
  apertus: {
    base: 1.2e7,
    parameters: {
      ...{ rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
      original_max_position_embeddings: 8192,
    },
  },
  gpt_oss: {
    headDim: 64,
    base: 1.5e5,
    parameters: {
      ...{ rope_type: 'yarn', factor: 32, beta_fast: 32, beta_slow: 1, truncate: false },
      original_max_position_embeddings: 4096,
    },
  },
  qwen2_vl: { base: 1e6 },
  qwen2_5_vl: { base: 1e6 },
  qwen2_5_omni: { base: 1e6 },
  qwen3_next: { headDim: 256, rotaryFraction: 0.25 },
  qwen3_vl: { headDim: 128, base: 5e5 },
  qwen3_vl_moe: { base: 5e5 },
  qwen3_omni_moe: { base: 1e6 },
  qwen3_5: { headDim: 256, rotaryFraction: 0.25 },
  qwen3_5_moe: { headDim: 256, rotaryFraction: 0.25 },
  gemma3n: { headDim: 256, base: 1e6, localBase: 1e4 },
  gemma4: {
    ...{ headDim: 256, globalHeadDim: 512 },
    parameters: {
      sliding_attention: { rope_type: 'default', rope_theta: 1e4 },
      full_attention: { rope_type: 'proportional', rope_theta: 1e6, partial_rotary_factor: 0.25 },
    },
  },
  recurrent_gemma: { rotaryFraction: 0.5 },
  modernbert: { base: 1.6e5, localBase: 1e4 },
};

export function defaultsOf(model: string): ClassDefaults {
  return own<FamilyRope>(familyRopes, model) ?? own(classDefaults, model) ?? {};
}

// Models whose layers of one type have no RoPE, as long as they have a sliding window at all.
const layersWithoutRope: Readonly<Record<string, string>> = {
  cohere2: 'full_attention',
  exaone4: 'full_attention',
};

/** The type of layer that has no RoPE in a model with a sliding window, if there is one. */
export function layerWithoutRope(model: string): string | undefined {
  return own(layersWithoutRope, model);
}

/** The hidden size from which on models of one name have ALiBi, if there is one: Baichuan has RoPE with 7B, not with 13B. */
export function alibiFrom(model: string): number {
  return model === 'baichuan' ? 5120 : Number.POSITIVE_INFINITY;
}

/** Models that interleave the axes of their M-RoPE whether or not the file says so. */
export const interleavedSections: readonly string[] = [
  ...['qwen3_vl', 'qwen3_vl_moe', 'qwen3_omni_moe', 'qwen3_5', 'qwen3_5_moe'],
];

// Models whose RoPE no options of ours describe, and why.
const unlike: Readonly<Record<string, string>> = {
  chatglm: 'which turns half of each head by rules of its own code',
  ernie4_5_vl: 'whose three axes share the pairs in an order of their own',
  ernie4_5_vl_moe: 'whose three axes share the pairs in an order of their own',
};

/** Why no options of ours describe a model's RoPE, where that is so. */
export function unlikeOurs(model: string): string | undefined {
  return own(unlike, model);
}
