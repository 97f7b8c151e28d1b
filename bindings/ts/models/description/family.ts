// A family of models. Each has one file in families/, with everything that is its own.

import type { Fields } from '../../checkpoints/fields.js';
import type { ModelRope } from '../../checkpoints/models.js';
import type { RopeOptions } from '../../rope/options.js';
import type { Safetensors } from '../../safetensors/file.js';
import type { ModelDescription, ModelFeedForward } from './description.js';
import type { LayerSlots, ModelSlots, Names } from './slots.js';

/** The type of a layer in `layer_types`. @internal */
export type LayerType = 'full_attention' | 'sliding_attention';

/** What a reader reads. @internal */
export interface Reading {
  /** Of the config.json, or of its text_config. */
  readonly fields: Fields;
  readonly givesLogits: boolean | undefined;
  /** The size of a head where the fields do not say it. */
  readonly headDim: number | undefined;
  /** The rotary encoding that the fields give layers of a type, for heads of a size. */
  readonly rope: (type: LayerType, headDim: number) => RopeOptions | null;
}

/** A checkpoint's tensors, and where they go. @internal */
export interface Checkpoint {
  readonly names: Names;
  readonly slots: ModelSlots;
  /** Ends of names that may be there too, of tensors that nothing needs. */
  readonly spare?: readonly string[];
}

/** Names the tensors of a layer, whose feed-forward part is of a kind that the family's reader gives. @internal */
export interface LayerSpelling {
  layer(names: Names, model: ModelDescription, feedForward: ModelFeedForward): LayerSlots;
}

/** Models of one model_type. */
export interface Family {
  /** What names in `architectures` begin with. @internal */
  readonly stem: string;
  /** A model_type that sees images too; its text_config is read. @internal */
  readonly images?: true;
  /** What its class knows of RoPE; absent where it has none. Plain data, which `ropeFromConfig` goes by too. @internal */
  readonly rope?: ModelRope;
  /** What its fields mean. @internal */
  readonly read: (reading: Reading) => ModelDescription;
  /** Its tensors, under the names that its class of Hugging Face gives them. @internal */
  readonly tensors: (model: ModelDescription, file: Safetensors) => Checkpoint;
}
