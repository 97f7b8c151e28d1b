// A layer of a transformer: attention and feed-forward part, norms and residual sums. Encoders and decoders are the same
// layer with other defaults.

import { BlockOptions } from '../calls.js';
import type { BlockParts, MainModule, TransformerBlock } from '../core.mjs';
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import { destroyer, type Handle, orDisposed } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import type { Out, ResultOf } from '../runtime/outputs.js';
import { Tensor, type TensorInput } from '../runtime/tensor.js';
import { activations, type LayerActivation } from './activations.js';
import { allCaptures, type CaptureName, type LayerResult } from './capture.js';
import { Layer } from './layer.js';
import { checkWeights, type NormOptions, type WeightPlan, withParts } from './layer-weights.js';
import {
  type AttentionLayerWeights,
  checkDims,
  checkScores,
  type LayerAttentionOptions,
  type LayerDims,
  type LayerScores,
  type LayerSizeOptions,
  scoreFields,
  sizeFields,
} from './options.js';
import { type ForwardOptions, forwardFields } from './pass.js';
import { type CheckedPosition, checkPosition, type TransformerPosition } from './position.js';
import { checkKeeping, vectorAddress, type Weight, type WeightInput, weight } from './weights.js';

/**
 * The order of norms and residual sums; A is attention, F the feed-forward part.
 * - `post`: h = n1(x + A(x)), y = n2(h + F(h)). BERT, RoFormer.
 * - `pre`: h = x + A(n1(x)), y = h + F(n2(h)). LLaMA, Mistral, Qwen, Phi-3, Gemma.
 * - `sandwich`: h = x + m1(A(n1(x))), y = h + m2(F(n2(h))). Gemma 2 and 3; OLMo 2 without n1 and n2.
 * - `parallel`: y = x + A(n1(x)) + F(n2(x)), or F(n1(x)) without n2. GPT-NeoX; GPT-J.
 */
export type NormPlacement = 'post' | 'pre' | 'sandwich' | 'parallel';

/** Weights of a transformer layer: matrices [out, in] and norms, each with a bias that may be left out. Copied. */
export interface TransformerLayerWeights extends AttentionLayerWeights {
  /** [hiddenDim, modelDim]; without it the feed-forward part is down(act(up x)), with it down(act(gate x) * up x). */
  gate?: WeightInput;
  /** [hiddenDim, modelDim] */
  up: WeightInput;
  /** [modelDim, hiddenDim] */
  down: WeightInput;
  /** [hiddenDim]. Default none. */
  gateBias?: WeightInput;
  /** [hiddenDim]. Default none. */
  upBias?: WeightInput;
  /** [modelDim]. Default none. */
  downBias?: WeightInput;
  /** n1 [modelDim]; may be left out of `pre` (the first layer of ModernBERT) and `sandwich`. */
  attentionNorm?: WeightInput;
  /** n2 [modelDim]; may be left out of `sandwich` and `parallel`. */
  feedForwardNorm?: WeightInput;
  /** m1 [modelDim], of `sandwich` only. */
  attentionAfterNorm?: WeightInput;
  /** m2 [modelDim], of `sandwich` only. */
  feedForwardAfterNorm?: WeightInput;
  /** [modelDim], added by n1. Default none. */
  attentionNormBias?: WeightInput;
  /** [modelDim], added by n2. Default none. */
  feedForwardNormBias?: WeightInput;
  /** [modelDim], added by m1. Default none. */
  attentionAfterNormBias?: WeightInput;
  /** [modelDim], added by m2. Default none. */
  feedForwardAfterNormBias?: WeightInput;
  /**
   * Norm of queries before rope: [headDim] for each head (Qwen3, Gemma 3), or [heads * headDim] over all (OLMo 2), or with
   * `ownHeadNorms` for each head.
   */
  queryNorm?: WeightInput;
  /** Norm of keys before rope: [headDim], or [kvHeads * headDim]. */
  keyNorm?: WeightInput;
  /** The shape of queryNorm. Default none. */
  queryNormBias?: WeightInput;
  /** The shape of keyNorm. Default none. */
  keyNormBias?: WeightInput;
  /** `[heads]`: one more logit in every row, which takes part in the softmax and has no value (gpt-oss). */
  sinks?: WeightInput;
}

/** Options of `rw.encoderLayer` and `rw.decoderLayer`. Defaults that differ are given for encoder / decoder. */
export interface TransformerLayerOptions extends LayerSizeOptions, LayerAttentionOptions {
  /** N, width within the feed-forward part. */
  hiddenDim: number;
  /** Trained weights. */
  weights: TransformerLayerWeights;
  /** Default `post` / `pre`. */
  norms?: NormPlacement;
  /** Layer norm or root mean square norm. Default `layer` / `rms`. */
  norm?: 'layer' | 'rms';
  /** Added to the variance or mean square. Default 1e-12 / 1e-6; see `layer_norm_eps`, `rms_norm_eps` of a config.json. */
  eps?: number;
  /** Factors of the norms are 1 + weight (Gemma). Default false. */
  unitOffset?: boolean;
  /** Whether queryNorm and keyNorm have weights for each head (Cohere, StableLM). Default false. */
  ownHeadNorms?: boolean;
  /** Default `gelu` / `silu`. */
  activation?: LayerActivation;
  /** Multiplies what attention and the feed-forward part give, before it is added (Granite). Default 1. */
  residualScale?: number;
  /** Default `{ encoding: 'none' }`. `causal` is false / true by default. */
  position?: TransformerPosition;
}

const normKinds = { layer: enums.NormKind.layer, rms: enums.NormKind.rms } as const;
const placements: check.Choices<NormPlacement, typeof enums.NormPlacement> = enums.NormPlacement;

/** Experts in place of the feed-forward part of a model's layer. @internal */
export interface LayerExperts {
  readonly chosen: number;
  readonly normalize: boolean;
  readonly sigmoid: boolean | undefined;
  /** Puts the router and the maps of every expert into the parts of the layer. */
  put(parts: BlockParts): void;
}

/** What encoders and decoders differ in. @internal */
export interface LayerDefaults {
  readonly norms: NormPlacement;
  readonly norm: 'layer' | 'rms';
  readonly eps: number;
  readonly activation: LayerActivation;
  readonly causal: boolean;
}

/** @internal */
export const layerDefaults = {
  encoderLayer: { norms: 'post', norm: 'layer', eps: 1e-12, activation: 'gelu', causal: false },
  decoderLayer: { norms: 'pre', norm: 'rms', eps: 1e-6, activation: 'silu', causal: true },
} as const satisfies Record<string, LayerDefaults>;

function planOf(
  dims: LayerDims,
  hiddenDim: number,
  norms: NormPlacement,
  experts: LayerExperts | undefined,
  ownHeadNorms: boolean,
): WeightPlan<TransformerLayerWeights> {
  const { modelDim, heads, kvHeads, headDim, valueDim } = dims;
  const model = [modelDim];
  return {
    linears: {
      query: [heads * headDim, modelDim],
      key: [kvHeads * headDim, modelDim],
      value: [kvHeads * valueDim, modelDim],
      output: [modelDim, heads * valueDim],
      gate: [hiddenDim, modelDim],
      up: [hiddenDim, modelDim],
      down: [modelDim, hiddenDim],
    },
    norms: {
      attentionNorm: model,
      feedForwardNorm: model,
      ...(norms === 'sandwich' && { attentionAfterNorm: model, feedForwardAfterNorm: model }),
      queryNorm: ownHeadNorms ? [heads * headDim] : [headDim, heads * headDim],
      keyNorm: ownHeadNorms ? [kvHeads * headDim] : [headDim, kvHeads * headDim],
    },
    rowSizes: ownHeadNorms ? { queryNorm: headDim, keyNorm: headDim } : {},
    optional: [
      'gate',
      ...(experts ? (['up', 'down'] as const) : []),
      'queryNorm',
      'keyNorm',
      ...(norms === 'pre' || norms === 'sandwich' ? (['attentionNorm'] as const) : []),
      ...(norms === 'sandwich' || norms === 'parallel' ? (['feedForwardNorm'] as const) : []),
    ],
  };
}

/** @internal */
export function copyOf(heap: Heap, where: string, vector: Weight): Tensor {
  const tensor = new Tensor(heap, [vector.columns], where);
  return orDisposed([tensor], () =>
    heap.scope(where, (scratch) => {
      const from = vectorAddress(vector, scratch);
      heap.call((core) => core.widen(vector.type, from, vector.columns, tensor.pointer));
      return tensor.adopted();
    }),
  );
}

// What a layer is made of once everything is checked; `owned` is the layer's to free.
interface Made {
  readonly block: TransformerBlock;
  readonly owned: readonly Handle[];
  readonly position: CheckedPosition;
  /** The address of the sinks' logits, or 0. */
  readonly sinks: number;
}

function make(
  heap: Heap,
  where: string,
  given: TransformerLayerOptions,
  sizes: { dims: LayerDims; hiddenDim: number; norms: NormPlacement; scores: LayerScores },
  defaults: LayerDefaults,
  experts: LayerExperts | undefined,
): Made {
  const { dims, hiddenDim, norms, scores } = sizes;
  const norm: NormOptions = {
    kind: check.choice(where, 'norm', given.norm ?? defaults.norm, normKinds),
    eps: check.positive(where, 'eps', given.eps ?? defaults.eps),
    unitOffset: check.boolean(where, 'unitOffset', given.unitOffset ?? false),
  };
  const activation = check.choice(where, 'activation', given.activation ?? defaults.activation, activations);
  const residual = check.float32Number(where, 'residualScale', given.residualScale ?? 1);
  const own = check.boolean(where, 'ownHeadNorms', given.ownHeadNorms ?? false);
  const keeping = checkKeeping(where, given);
  const weights = checkWeights(heap, where, given.weights, planOf(dims, hiddenDim, norms, experts, own), ['sinks']);
  const { sinks: logits } = given.weights;
  const sinkWeights = logits === undefined ? undefined : weight(heap, where, 'weights.sinks', logits, [1, dims.heads]);
  const position = checkPosition(heap, where, given.position, dims, scores);
  const owned: Handle[] = [...position.owned];
  return orDisposed(owned, () => {
    const sinks = sinkWeights && copyOf(heap, where, sinkWeights);
    if (sinks !== undefined) owned.push(sinks);
    const { chosen, normalize, sigmoid } = experts ?? {};
    const feedForward = { activation, chosen, normalize, sigmoid };
    const options = { attention: dims, placement: placements[norms], feedForward, residual };
    const construct = (core: MainModule) => new core.TransformerBlock();
    return heap.made(where, construct, (block) => {
      withParts(heap, where, weights, keeping, norm, (parts, scratch) => {
        experts?.put(parts);
        const fields = heap.putCall(scratch, BlockOptions, options);
        heap.run(where, () => block.create(fields, parts));
      });
      return { block, owned, position, sinks: sinks?.pointer ?? 0 };
    });
  });
}

/**
 * A layer of a transformer, made by `rw.encoderLayer()` or `rw.decoderLayer()`.
 *
 * @example
 * using layer = rw.decoderLayer({
 *   modelDim: 576, heads: 9, kvHeads: 3, hiddenDim: 1536, eps: 1e-5, position: { encoding: 'rope', base: 1e5 }, weights,
 * });
 * const { out, captured } = layer.forward(x, { capture: ['probabilities', 'hidden'], captureHeads: [0, 3] });
 * // x and out [T, 576]; captured.probabilities [1, 2, T, T], captured.hidden [T, 576]
 */
export class TransformerLayer extends Layer {
  /** N, width within the feed-forward part. */
  readonly hiddenDim: number;
  /** The order of norms and residual sums. */
  readonly norms: NormPlacement;
  /** Which encoding the layer was made with. */
  readonly encoding: TransformerPosition['encoding'];
  readonly #block: TransformerBlock;

  /** @internal */
  constructor(heap: Heap, kind: keyof typeof layerDefaults, options: TransformerLayerOptions, experts?: LayerExperts) {
    const defaults: LayerDefaults = layerDefaults[kind];
    const own = [
      'hiddenDim',
      'weights',
      'norms',
      'norm',
      'eps',
      'unitOffset',
      'ownHeadNorms',
      'activation',
      'residualScale',
      'position',
    ] as const;
    const given = check.options(kind, 'options', options, [...sizeFields, ...scoreFields, ...own]);
    const dims = checkDims(kind, given);
    const hiddenDim = check.integer(kind, 'hiddenDim', given.hiddenDim, 1, 2 ** 20);
    const scores = checkScores(kind, given, dims, defaults.causal);
    const norms = given.norms ?? defaults.norms;
    check.choice(kind, 'norms', norms, placements);
    const { block, owned, position, sinks } = make(
      heap,
      kind,
      given,
      { dims, hiddenDim, norms, scores },
      defaults,
      experts,
    );
    super(heap, kind, {
      dims,
      scores,
      position,
      sinks,
      bytes: block.bytes,
      captures: norms === 'parallel' ? allCaptures.filter((name) => name !== 'hidden') : allCaptures,
      free: destroyer(heap, block, ...owned),
      run: (fields, rope, cache) => block.forward(fields, rope, cache),
    });
    this.#block = block;
    this.hiddenDim = hiddenDim;
    this.norms = norms;
    this.encoding = position.encoding as TransformerPosition['encoding'];
    Object.freeze(this);
  }

  /** For a model, which runs the block itself. @internal */
  get block(): TransformerBlock {
    return this.#block;
  }

  /**
   * One pass. `out` has x's shape; `captured` has what was asked for, by name.
   *
   * @param x [T, modelDim] or [B, T, modelDim]; it is not changed, unless as a tensor it is `out`.
   * @throws ArgumentRangeError where sizes do not fit; StateError after dispose().
   */
  forward<const C extends readonly CaptureName[] = [], X extends TensorInput = TensorInput, O extends Out = undefined>(
    x: X,
    options: ForwardOptions<C, O> = {},
  ): LayerResult<ResultOf<X>, C, ResultOf<X, O>> {
    const { changes } = this.heap;
    const result = this.pass(x, check.options(this.where, 'options', options, forwardFields), changes);
    return result as LayerResult<ResultOf<X>, C, ResultOf<X, O>>;
  }
}
