// The description of a model, read from its config.json.
import type { RelativeSign } from '../../encodings/relative.js';
import type { T5Options } from '../../encodings/t5.js';
import type { LayerActivation } from '../../layers/activations.js';
import type { NormPlacement } from '../../layers/transformer-layer.js';
import type { RopeOptions } from '../../rope/options.js';

/** down(act(up x)) */
export interface DenseFeedForward {
  /** One map before the activation. */
  readonly kind: 'dense';
  /** N, `intermediate_size`. */
  readonly hiddenDim: number;
}

/** down(act(gate x) * up x) */
export interface GatedFeedForward {
  /** Two maps before the product. */
  readonly kind: 'gated';
  /** N, `intermediate_size`. */
  readonly hiddenDim: number;
}

/** The sum of the gated parts that a router chooses for a token, each multiplied by its number of the router's softmax. */
export interface ExpertsFeedForward {
  /** Many gated parts. */
  readonly kind: 'experts';
  /** N of each. */
  readonly hiddenDim: number;
  /** How many there are. */
  readonly experts: number;
  /** How many a token takes. */
  readonly chosen: number;
  /** Whether the factors of a token's experts are divided by their sum. */
  readonly normalized: boolean;
  /** Whether the sigmoid of the router's logits multiplies what an expert reads, in place of the softmax (Llama 4). */
  readonly sigmoid?: boolean;
  /** Whether there is one more of the same size, which every token takes as it is (Llama 4). */
  readonly shared?: boolean;
}

/** The feed-forward part of a layer. For a new member, the compiler reports every place to extend. */
export type ModelFeedForward = DenseFeedForward | GatedFeedForward | ExpertsFeedForward;

/** The settings of one layer. */
export interface ModelLayerConfig {
  /** Number of positions visible to a query, including its own; of an encoder, on each side. Absent if all are. */
  readonly window?: number;
  /**
   * Whether the window starts anew at each multiple of its size, counted from the first token of a row, which may be
   * padding (Llama 4); absent: it moves with the query.
   */
  readonly chunked?: boolean;
  /** Multiplies the query of token p of a row by 1 + scale ln(1 + floor((p + 1) / step)) (Llama 4); absent: none. */
  readonly temperature?: {
    /** `floor_scale`. */
    readonly step: number;
    /** `attn_scale`. */
    readonly scale: number;
  };
  /** Its rotary encoding, or null. */
  readonly rope: RopeOptions | null;
  /** Its feed-forward part. */
  readonly feedForward: ModelFeedForward;
}

/** Which maps have biases. */
export interface ModelBiases {
  /** Of queries, keys and values. */
  readonly attention: boolean;
  /** Of attention's output projection. */
  readonly attentionOutput: boolean;
  /** Of every map of the feed-forward part. */
  readonly feedForward: boolean;
  /** Of the head's matrix; absent: none. Those of masked language models follow from their class. */
  readonly head?: boolean;
  /** Of layer norms; absent: all have one. */
  readonly norms?: boolean;
}

/** DeBERTa's vectors of distances, which all layers have in common. */
export interface DisentangledDistances {
  /** There are 2 span of them, `position_buckets` or the largest distance. */
  readonly span: number;
  /** `max_relative_positions`, up to which distances share vectors; absent: each has its own. */
  readonly maxDistance?: number;
  /** Whether queries meet them, by the map of keys (`c2p`). */
  readonly asKeys: boolean;
  /** Whether keys meet them, by the map of queries (`p2c`). */
  readonly asQueries: boolean;
  /** Whether they are normalized (`norm_rel_ebd`). */
  readonly normed: boolean;
}

/** A model, without the names of its tensors. */
export interface ModelDescription {
  /**
   * An encoder attends to tokens on both sides, a decoder only to earlier ones. An `encoder-decoder` is an encoder, which this
   * describes, and a decoder that attends to what the encoder gives too.
   */
  readonly kind: 'encoder' | 'decoder' | 'encoder-decoder';
  /** M, `hidden_size`. */
  readonly modelDim: number;
  /** Width of the token vectors: M, RoFormer's `embedding_size` or OPT's `word_embed_proj_dim`. */
  readonly embeddingDim: number;
  /** H, query heads, `num_attention_heads`. */
  readonly heads: number;
  /** G, key/value heads, `num_key_value_heads`; H in models without the field. */
  readonly kvHeads: number;
  /** D, size of a head. */
  readonly headDim: number;
  /** V, number of token ids, `vocab_size`. */
  readonly vocabSize: number;
  /** In the order of computation. */
  readonly layers: readonly ModelLayerConfig[];
  /**
   * The position encoding: rotary in the layers that have one, biases of scores by distance, one of BERT's, DeBERTa's, or
   * XLNet's.
   */
  readonly position:
    | 'rope'
    | 'alibi'
    | 't5'
    | 'absolute'
    | 'relative_key'
    | 'relative_key_query'
    | 'disentangled'
    | 'transformer-xl';
  /** The sign of the distances of relative positions; absent: `query-minus-key`, as in Hugging Face. */
  readonly relativeSign?: RelativeSign;
  /** T5's buckets of distances. */
  readonly buckets?: Readonly<Required<Pick<T5Options, 'numBuckets' | 'maxDistance'>>>;
  /** DeBERTa's vectors of distances. */
  readonly disentangled?: DisentangledDistances;
  /** The distance from which on all are one (`clamp_len` of XLNet); absent: none. */
  readonly clampedDistance?: number;
  /** Number of positions in tables, those of distances too; absent if no table limits them. */
  readonly maxPositions?: number;
  /** Rows of the table of positions before that of the first token (OPT, RoBERTa); absent: none. */
  readonly firstPosition?: number;
  /** m of ALiBi's slopes, from 2^(-m / H) to 2^-m for H heads that are a power of 2; absent: 8. */
  readonly alibiMax?: number;
  /** Number of token types; 0 if there is no table of them. XLNet, which only compares them, has those of its tokenizer. */
  readonly tokenTypes: number;
  /** The order of norms and residual sums. */
  readonly norms: NormPlacement;
  /** Layer norm or root mean square norm. */
  readonly norm: 'layer' | 'rms';
  /** Added to the variance or mean square of a norm, `layer_norm_eps` or `rms_norm_eps`. */
  readonly eps: number;
  /** Whether norms multiply by 1 + weight. */
  readonly unitOffset: boolean;
  /**
   * Whether queries and keys are normalized: each head, with the same weights or its own, or all heads of a token
   * together.
   */
  readonly queryKeyNorm: boolean | 'own weights' | 'all heads';
  /** Of the feed-forward part. */
  readonly activation: LayerActivation;
  /** Which maps have biases. */
  readonly biases: ModelBiases;
  /** Multiplies q . k. */
  readonly scale: number;
  /** c in c tanh(score / c); absent: no softcap. */
  readonly softcap?: number;
  /** The same for logits. */
  readonly logitSoftcap?: number;
  /** Multiplies logits, before a softcap; absent: 1. */
  readonly logitScale?: number;
  /** Multiplies what attention and the feed-forward part give, before it is added; absent: 1. */
  readonly residualScale?: number;
  /** Multiplies token vectors; absent: 1. */
  readonly embeddingScale?: number;
  /** Whether token vectors are multiplied by sqrt(M), rounded to their type in the file (Gemma). */
  readonly scaledEmbeddings: boolean;
  /** Whether the rotary encoding also rotates values (`rotary_value`). */
  readonly turnValues: boolean;
  /** Whether the head's matrix is the table of token vectors. */
  readonly tiedEmbeddings: boolean;
  /** Whether the class in `architectures` gives logits; undefined without one. */
  readonly givesLogits: boolean | undefined;
  /** The decoder of an `encoder-decoder`. */
  readonly decoder?: ModelDescription;
  /** The first token of what that decoder writes, `decoder_start_token_id`. */
  readonly startToken?: number;
}
