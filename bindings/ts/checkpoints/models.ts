// Facts of Hugging Face's model classes that a config.json may omit: the pairing, default values, layers without RoPE.
// Keys are values of model_type, without `_text`. bindings/package.mjs copies the defaults from models/families/.
import { modelRopes } from '../model-ropes.js';
import type { Pairing } from '../rope/options.js';

// An own entry of a table: a model_type may be any text, such as 'toString'.
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The key of a model type in the tables here. */
export function modelName(modelType: string): string {
  return modelType.replace(/_text$/, '');
}

/** The pairing of a model, or undefined if unknown. */
export function pairingOf(modelType: string): Pairing | undefined {
  return own<ModelRope>(modelRopes, modelType)?.pairing;
}

/** Fields that give the pairing of any model: true means interleaved. */
export const interleaveFields = ['rope_interleave', 'rope_interleaved', 'rotary_emb_interleaved'] as const;

/** The pairing of a model type, and the defaults of its class for fields that a file lacks. */
export interface ModelRope {
  readonly pairing: Pairing;
  readonly headDim?: number;
  /** headDim of full attention layers. */
  readonly globalHeadDim?: number;
  /** qk_rope_head_dim */
  readonly ropeHeadDim?: number;
  readonly rotaryFraction?: number;
  readonly rotaryDim?: number;
  readonly base?: number;
  /** Base of sliding attention layers. */
  readonly localBase?: number;
  /** Sliding attention layers share the base but have no scaling. */
  readonly slidingUnscaled?: true;
  /** The whole rope_parameters, for files without rope_scaling. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** original_max_position_embeddings */
  readonly originalLength?: number;
  /** position_embedding_type */
  readonly positionType?: string;
}

export type ClassDefaults = Partial<ModelRope>;

export function defaultsOf(model: string): ClassDefaults {
  return own<ModelRope>(modelRopes, model) ?? {};
}

// Models whose layers of one type have no RoPE, if the model has a sliding window.
const layersWithoutRope: Readonly<Record<string, string>> = {
  cohere2: 'full_attention',
  exaone4: 'full_attention',
};

/** The type of layer that has no RoPE in a model with a sliding window, if there is one. */
export function layerWithoutRope(model: string): string | undefined {
  return own(layersWithoutRope, model);
}

/** The hidden size from which a model has ALiBi: Baichuan 7B has RoPE, Baichuan 13B does not. */
export function alibiFrom(model: string): number {
  return model === 'baichuan' ? 5120 : Number.POSITIVE_INFINITY;
}

/** Models that interleave the axes of M-RoPE although the file may not say so. */
export const interleavedSections: readonly string[] = [
  ...['qwen3_vl', 'qwen3_vl_moe', 'qwen3_omni_moe', 'qwen3_5', 'qwen3_5_moe'],
];

// Models whose RoPE the options of rope() cannot describe, and why.
const unlike: Readonly<Record<string, string>> = {
  chatglm: 'which turns half of each head by rules of its own code',
  ernie4_5_vl: 'whose three axes share the pairs in an order of their own',
  ernie4_5_vl_moe: 'whose three axes share the pairs in an order of their own',
};

/** Why the options of rope() cannot describe a model's RoPE, if so. */
export function unlikeOurs(model: string): string | undefined {
  return own(unlike, model);
}
