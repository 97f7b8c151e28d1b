// The common part of decoders: LLaMA's description with a family's changes, and its tensors under a family's names.

import type { WeightFile } from '../../sources/tensor-file.js';
import type { ModelDescription, ModelFeedForward } from './description.js';
import type { Checkpoint, LayerSpelling, Reading } from './family.js';
import {
  flag,
  readActivation,
  readEps,
  readLayers,
  readLayerTypes,
  readSizes,
  type SizeDefaults,
  type Sizes,
  type Sliding,
} from './fields.js';
import { type ModelSlots, Names } from './slots.js';

/** A family's differences from LLaMA. @internal */
export interface DecoderOptions extends Partial<ModelDescription> {
  readonly sizes?: SizeDefaults;
  readonly sliding?: (sizes: Sizes) => Sliding;
  readonly hasRope?: (sizes: Sizes) => (layer: number) => boolean;
  readonly feedForward?: (sizes: Sizes, layer: number) => ModelFeedForward;
  /** Default of tie_word_embeddings. */
  readonly tied?: boolean;
}

/** @internal */
export function readDecoder(reading: Reading, options: DecoderOptions): ModelDescription {
  const { sizes: defaults, sliding, hasRope, feedForward, tied = false, ...part } = options;
  const { fields, givesLogits } = reading;
  const sizes = readSizes(reading, defaults);
  const own = sliding?.(sizes) ?? { window: undefined, slides: () => false };
  const types = readLayerTypes(fields, sizes.count, own);
  const layers = readLayers(reading, types, own, sizes.headDim, hasRope?.(sizes));
  const { count: _, hiddenDim, ...dims } = sizes;
  return {
    ...dims,
    kind: 'decoder',
    embeddingDim: sizes.modelDim,
    layers: layers.map((layer, i) => ({
      ...layer,
      feedForward: feedForward?.(sizes, i) ?? { kind: 'gated', hiddenDim },
    })),
    position: 'rope',
    tokenTypes: 0,
    norms: 'pre',
    norm: 'rms',
    eps: part.eps ?? readEps(fields, 'rms_norm_eps', 1e-6),
    unitOffset: false,
    queryKeyNorm: false,
    activation: part.activation ?? readActivation(fields, 'silu'),
    biases: { attention: false, attentionOutput: false, feedForward: false },
    scale: 1 / Math.sqrt(sizes.headDim),
    scaledEmbeddings: false,
    turnValues: false,
    tiedEmbeddings: flag(fields, 'tie_word_embeddings', tied),
    givesLogits,
    ...part,
  };
}

/** Names of tensors. @internal */
export interface DecoderSpelling extends LayerSpelling {
  readonly prefixes: readonly string[];
  readonly tokens: string;
  /** The norm of token vectors, where the family has one. */
  readonly embeddingNorm?: string;
  /** Begins the names of layers. Default `layers.`. */
  readonly layers?: string;
  /** Not of post-norm models. */
  readonly finalNorm: string;
  readonly head: readonly string[];
  /** Of the table of positions, where the family has one. */
  readonly positions?: string;
}

/** Whether the norms of a model have biases. @internal */
export function hasNormBias({ norm, biases }: ModelDescription): boolean {
  return norm === 'layer' && biases.norms !== false;
}

/** @internal */
export function decoderTensors(spelling: DecoderSpelling) {
  return (model: ModelDescription, file: WeightFile): Checkpoint => {
    const { kind, modelDim, embeddingDim, vocabSize, maxPositions, firstPosition, norms, biases } = model;
    const { tiedEmbeddings, givesLogits } = model;
    const names = new Names(file, spelling.prefixes, spelling.tokens);
    const normOf = (name: string) => names.norm(name, modelDim, hasNormBias(model));
    // Files with plain names are of the class without a head, whatever their config says.
    const hasHead = tiedEmbeddings
      ? kind === 'decoder' || givesLogits === true
      : spelling.head.some((name) => file.has(name)) || (givesLogits === true && !file.has(spelling.tokens));
    const head = (): ModelSlots['head'] => ({
      weight: tiedEmbeddings
        ? undefined
        : names.outside(spelling.head, (name, plain) => plain.matrix(name, vocabSize, embeddingDim)),
      bias: biases.head
        ? names.outside(
            spelling.head.map((name) => name.replace('weight', 'bias')),
            (name, plain) => plain.vector(name, vocabSize),
          )
        : undefined,
    });
    const slots: ModelSlots = {
      tokens: names.matrix(spelling.tokens, vocabSize, embeddingDim),
      positions:
        spelling.positions && maxPositions
          ? names.matrix(spelling.positions, maxPositions, modelDim, firstPosition)
          : undefined,
      embeddingNorm: spelling.embeddingNorm ? normOf(spelling.embeddingNorm) : undefined,
      layers: model.layers.map(({ feedForward }, i) =>
        spelling.layer(names.within(`${spelling.layers ?? 'layers.'}${i}.`), model, feedForward),
      ),
      finalNorm: norms === 'post' ? undefined : normOf(spelling.finalNorm),
      head: hasHead ? head() : undefined,
    };
    return { names, slots, ...(slots.head?.weight === undefined && { spare: spelling.head }) };
  };
}
