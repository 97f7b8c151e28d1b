// A model as its config.json describes it, in the terms of this package.
import type { RelativeSign } from '../../encodings/relative.js';
import type { LayerActivation } from '../../layers/activations.js';
import type { NormPlacement } from '../../layers/transformer-layer.js';
import type { RopeOptions } from '../../rope/options.js';

/** down(act(up x)) */
export interface DenseFeedForward {
  readonly kind: 'dense';
  /** N, `intermediate_size`. */
  readonly hiddenDim: number;
}

/** down(act(gate x) * up x) */
export interface GatedFeedForward {
  readonly kind: 'gated';
  /** N, `intermediate_size`. */
  readonly hiddenDim: number;
}

/** The feed-forward part of a layer. The compiler names each place that has to know of a new member. */
export type ModelFeedForward = DenseFeedForward | GatedFeedForward;

/** What one layer has of its own. */
export interface ModelLayerConfig {
  /** How many positions a query sees, its own included; absent where it sees all. */
  readonly window?: number;
  /** Its rotary encoding; null where it has none. */
  readonly rope: RopeOptions | null;
  readonly feedForward: ModelFeedForward;
}

/** Which maps have biases. */
export interface ModelBiases {
  /** Of queries, keys and values. */
  readonly attention: boolean;
  readonly attentionOutput: boolean;
  readonly feedForward: boolean;
}

/** What a family finds in a config.json. */
export interface ModelDescription {
  /** An encoder sees the tokens on both sides, a decoder those before. */
  readonly kind: 'encoder' | 'decoder';
  /** M, `hidden_size`. */
  readonly modelDim: number;
  /** Width of the token vectors; M but for RoFormer's `embedding_size`. */
  readonly embeddingDim: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly vocabSize: number;
  readonly layers: readonly ModelLayerConfig[];
  /** How positions enter: a rotary encoding in the layers that have one, or one of BERT's. */
  readonly position: 'rope' | 'absolute' | 'relative_key' | 'relative_key_query';
  /** Which way the distances of relative positions count; absent: `query-minus-key`, as Hugging Face. */
  readonly relativeSign?: RelativeSign;
  /** Positions that the tables of BERT reach; absent where no table limits them. */
  readonly maxPositions?: number;
  /** Rows of the table of token types; 0 where there is none. */
  readonly tokenTypes: number;
  readonly norms: NormPlacement;
  readonly norm: 'layer' | 'rms';
  readonly eps: number;
  /** Factors of the norms are 1 + weight. */
  readonly unitOffset: boolean;
  /** Norms of queries and keys, one for each head's coordinates. */
  readonly queryKeyNorm: boolean;
  readonly activation: LayerActivation;
  readonly biases: ModelBiases;
  /** Multiplies q . k. */
  readonly scale: number;
  /** c of c tanh(score / c); absent: none. */
  readonly softcap?: number;
  /** The same of the logits. */
  readonly logitSoftcap?: number;
  /** Token vectors are multiplied by sqrt(M), rounded to the type that the file has them in (Gemma). */
  readonly scaledEmbeddings: boolean;
  /** The rotary encoding turns values as well (`rotary_value`). */
  readonly turnValues: boolean;
  /** The logits' matrix is the table of token vectors. */
  readonly tiedEmbeddings: boolean;
  /** Whether the checkpoint is of a model that gives logits, as `architectures` says; undefined where it does not. */
  readonly givesLogits: boolean | undefined;
}
