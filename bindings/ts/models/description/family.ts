// The interface of a family of models. Each family has one file in families/ with all that is specific to it.

import type { Fields } from '../../checkpoints/fields.js';
import type { ModelRope } from '../../checkpoints/models.js';
import type { TransformerBlock } from '../../core.mjs';
import type { LayerScores } from '../../layers/options.js';
import type { CheckedPosition, LayerHeads } from '../../layers/position.js';
import type { RopeOptions } from '../../rope/options.js';
import type { Heap } from '../../runtime/heap.js';
import type { Tensor } from '../../runtime/tensor.js';
import type { WeightFile } from '../../sources/tensor-file.js';
import type { ModelDescription, ModelFeedForward } from './description.js';
import type { LayerSlots, ModelSlots, Names } from './slots.js';

/** The type of a layer in `layer_types`. @internal */
export type LayerType = 'full_attention' | 'sliding_attention';

/** The input of a family's reader. @internal */
export interface Reading {
  /** Fields of the config.json, or of its text_config. */
  readonly fields: Fields;
  readonly givesLogits: boolean | undefined;
  /** The length in use, where the caller states one. */
  readonly sequenceLength: number | undefined;
  /** The default size of a head. */
  readonly headDim: number | undefined;
  /** Reads the rotary encoding of layers of a type, or of those that have one, for heads of a size. */
  readonly rope: (type: LayerType | undefined, headDim: number) => RopeOptions | null;
}

/** The tensors of a checkpoint, and the slots that they fill. @internal */
export interface Checkpoint {
  readonly names: Names;
  readonly slots: ModelSlots;
  /** Ends of names of further tensors that may occur and are not needed. */
  readonly spare?: readonly string[];
}

/** Names the tensors of a layer, with a feed-forward part of a kind that the family's reader gives. @internal */
export interface LayerSpelling {
  layer(names: Names, model: ModelDescription, feedForward: ModelFeedForward): LayerSlots;
}

/** Models of one model_type. */
export interface Family {
  /** The prefix of its names in `architectures`. @internal */
  readonly stem: string;
  /** That of the code which its authors publish with checkpoints. @internal */
  readonly otherStem?: string;
  /** Set for a model_type with images, whose text_config is read. @internal */
  readonly images?: true;
  /** Set for a model_type of encoder and decoder. @internal */
  readonly hasBoth?: true;
  /** What its layers add to scores by distance, where a model has that. @internal */
  readonly biases?: DistanceBiases;
  /** What its layers add to scores by vectors of distances that their maps make, where a model has that. @internal */
  readonly positions?: LayerPositions;
  /** RoPE defaults of its class; absent without RoPE. Plain data, also used by `ropeFromConfig`. @internal */
  readonly rope?: ModelRope;
  /** Reads its fields. @internal */
  readonly read: (reading: Reading) => ModelDescription;
  /** A safetensors file with matrices [outputs, inputs], or what else its class stores otherwise. @internal */
  readonly fileOf?: (file: WeightFile, model: ModelDescription) => WeightFile;
  /** Its tensors, under the names of its Hugging Face class. @internal */
  readonly tensors: (model: ModelDescription, file: WeightFile) => Checkpoint;
}

/**
 * Fills a table [H, distances] with what is added to scores, for distances of a key from its query from `first` on.
 * `learned` is the first layer's own table. @internal
 */
export type DistanceBiases = (
  heap: Heap,
  where: string,
  model: ModelDescription,
  first: number,
  table: Tensor,
  learned: Float32Array | undefined,
) => void;

/** A position encoding in place of a layer's own. @internal */
export interface OtherPosition {
  readonly make: (dims: LayerHeads, scores: LayerScores) => CheckedPosition;
  /** Maximum number of tokens. */
  readonly maxLength: number;
}

/** Makes the encodings of layers from filled slots and the layers themselves. @internal */
export type LayerPositions = (
  heap: Heap,
  where: string,
  model: ModelDescription,
  slots: ModelSlots,
  layers: readonly { readonly block: TransformerBlock }[],
) => readonly OtherPosition[];

/** By model_type, without `_text`. @internal */
export type Families = Readonly<Record<string, Family>>;
