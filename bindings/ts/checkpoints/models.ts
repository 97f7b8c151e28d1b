// What Hugging Face's model classes know that a config.json need not say: how a model pairs coordinates, what its
// class fills in, which of its layers have no RoPE. Keys are values of model_type, without `_text`; what classes fill in
// stands in models/families/, and bindings/package.mjs takes it from there.
import { modelRopes } from '../model-ropes.js';
import type { Pairing } from '../rope/options.js';

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
  return own<ModelRope>(modelRopes, modelType)?.pairing;
}

/** Fields that say it themselves, whatever the model: true means interleaved. */
export const interleaveFields = ['rope_interleave', 'rope_interleaved', 'rotary_emb_interleaved'] as const;

/** What is known of a model type: how it pairs, and what its class fills in where the file says nothing. */
export interface ModelRope {
  readonly pairing: Pairing;
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

/** What a class fills in. */
export type ClassDefaults = Partial<ModelRope>;

export function defaultsOf(model: string): ClassDefaults {
  return own<ModelRope>(modelRopes, model) ?? {};
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
