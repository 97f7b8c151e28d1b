// What a model's class knows of RoPE that its config.json may omit. The table is in models/families/: `rope` of each
// family, and others.ts; bindings/package.mjs copies it.
import { modelRopes } from '../model-ropes.js';
import type { Pairing } from '../rope/options.js';

/** The name of a model type in the table. */
export function modelName(modelType: string): string {
  return modelType.replace(/_text(_model)?$/, '');
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
  /** The type of layer that has no RoPE, unless sliding_window is null. */
  readonly withoutRope?: string;
  /** hidden_size from which the model has ALiBi in place of RoPE. */
  readonly alibiFrom?: number;
  /** Pairs turn by the negated angle. */
  readonly reversed?: true;
  /** The axes of M-RoPE are interleaved, although the file may not say so. */
  readonly interleavedAxes?: true;
  /** Why the options of rope() cannot describe it. */
  readonly unlike?: string;
}

export type ClassDefaults = Partial<ModelRope>;

/** What is known of a model type; undefined where nothing is. */
export function classOf(model: string): ClassDefaults | undefined {
  const rows = modelRopes as readonly (readonly [names: string, rope: ClassDefaults])[];
  return rows.find(([names]) => names.split(' ').includes(model))?.[1];
}
