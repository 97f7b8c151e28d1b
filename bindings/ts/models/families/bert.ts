// BERT with its three position encodings, and the parts that RoFormer shares.

import { oneOf } from '../../checkpoints/fields.js';
import type { WeightFile } from '../../sources/tensor-file.js';
import type { DenseFeedForward, ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Checkpoint, Family, LayerSpelling, Reading } from '../description/family.js';
import {
  flag,
  integerFrom,
  readActivation,
  readEps,
  readSizes,
  type SizeDefaults,
  sizeOf,
} from '../description/fields.js';
import { type ModelSlots, Names } from '../description/slots.js';

const biases = { attention: true, attentionOutput: true, feedForward: true };

/** A BERT with learned positions; a class without token types has 0 of them where a file is silent. @internal */
export function readEncoder(reading: Reading, types: 0 | 2 = 2, defaults: SizeDefaults = {}): ModelDescription {
  const { fields, givesLogits } = reading;
  const sizes = readSizes(reading, defaults);
  expectOnly(fields, { is_decoder: false, num_key_value_heads: sizes.heads });
  const { count, hiddenDim, ...dims } = sizes;
  return {
    ...dims,
    kind: 'encoder',
    embeddingDim: sizes.modelDim,
    layers: Array.from({ length: count }, () => ({ rope: null, feedForward: { kind: 'dense', hiddenDim } })),
    position: 'absolute',
    tokenTypes: fields.optional('type_vocab_size', integerFrom(types / 2)) ?? types,
    norms: 'post',
    norm: 'layer',
    eps: readEps(fields, 'layer_norm_eps', 1e-12),
    unitOffset: false,
    queryKeyNorm: false,
    activation: readActivation(fields, 'gelu'),
    biases,
    scale: 1 / Math.sqrt(sizes.headDim),
    scaledEmbeddings: false,
    turnValues: false,
    tiedEmbeddings: flag(fields, 'tie_word_embeddings', true),
    givesLogits,
  };
}

const positions = {
  absolute: 'absolute',
  relative_key: 'relative_key',
  relative_key_query: 'relative_key_query',
} as const;

/** The maps of attention, whose names may end otherwise, and the norm after them. @internal */
export function bertAttention(names: Names, { modelDim, heads, headDim }: ModelDescription, end = '') {
  const rows = heads * headDim;
  return {
    query: names.linear(`attention.self.query${end}`, rows, modelDim),
    key: names.linear(`attention.self.key${end}`, rows, modelDim),
    value: names.linear(`attention.self.value${end}`, rows, modelDim),
    output: names.linear('attention.output.dense', modelDim, rows),
    attentionNorm: names.norm('attention.output.LayerNorm', modelDim, true),
  };
}

/** The usual layer, and one whose maps have other names. @internal */
export const bertLayer = (end = ''): LayerSpelling => ({
  layer(names, model, { hiddenDim }: DenseFeedForward) {
    const { modelDim, headDim, position, maxPositions = 1 } = model;
    return {
      maps: { ...bertAttention(names, model, end), feedForwardNorm: names.norm('output.LayerNorm', modelDim, true) },
      feedForward: {
        kind: 'dense',
        up: names.linear('intermediate.dense', hiddenDim, modelDim),
        down: names.linear('output.dense', modelDim, hiddenDim),
      },
      ...(position.startsWith('relative') && {
        distances: names.table('attention.self.distance_embedding.weight', 2 * maxPositions - 1, headDim),
      }),
    };
  },
});

/** The head of a masked language model: dense, activation, norm, and the token vectors with a bias. @internal */
export function maskedHead(names: Names, model: ModelDescription, file: WeightFile): ModelSlots['head'] {
  const { modelDim, embeddingDim, vocabSize } = model;
  const at = 'cls.predictions.';
  if (model.givesLogits !== true && !file.has(`${at}transform.dense.weight`)) return undefined;
  return names.outside([at], (_, plain) => {
    const transform = plain.linear(`${at}transform.dense`, embeddingDim, modelDim);
    const norm = plain.norm(`${at}transform.LayerNorm`, embeddingDim, true);
    const biasNames = [`${at}bias`, `${at}decoder.bias`];
    const bias = plain.vector(biasNames.find((name) => file.has(name)) ?? `${at}bias`, vocabSize);
    const weight = model.tiedEmbeddings ? undefined : plain.matrix(`${at}decoder.weight`, vocabSize, embeddingDim);
    return { transform, norm, bias, weight };
  });
}

/** With the names of BERT, unless a family has a head or layers of others. @internal */
export function encoderTensors(prefix: string, { headOf = maskedHead, layers = bertLayer() } = {}) {
  return (model: ModelDescription, file: WeightFile): Checkpoint => {
    const { modelDim, embeddingDim, vocabSize, tokenTypes, maxPositions = 0, firstPosition } = model;
    const names = new Names(file, [prefix, ''], 'embeddings.word_embeddings.weight');
    const table = (name: string, rows: number, before = 0) =>
      names.matrix(`embeddings.${name}.weight`, rows, embeddingDim, before);
    const head = headOf(names, model, file);
    const slots: ModelSlots = {
      tokens: table('word_embeddings', vocabSize),
      positions: model.position === 'absolute' ? table('position_embeddings', maxPositions, firstPosition) : undefined,
      tokenTypes: tokenTypes > 0 ? table('token_type_embeddings', tokenTypes) : undefined,
      embeddingNorm: names.norm('embeddings.LayerNorm', embeddingDim, true),
      projection: embeddingDim === modelDim ? undefined : names.linear('embeddings_project', modelDim, embeddingDim),
      layers: model.layers.map(({ feedForward }, i) =>
        layers.layer(names.within(`encoder.layer.${i}.`), model, feedForward),
      ),
      pooler:
        names.has('pooler.dense.weight') || names.has('pooler.dense.bias')
          ? names.linear('pooler.dense', modelDim, modelDim)
          : undefined,
      head,
    };
    // Checkpoints with relative positions may also contain the table of absolute ones, which is not used.
    const hasSpare = model.position.startsWith('relative');
    return { names, slots, ...(hasSpare && { spare: ['embeddings.position_embeddings.weight'] }) };
  };
}

export const bert: Family = {
  stem: 'Bert',
  read: (reading) => ({
    ...readEncoder(reading),
    position: reading.fields.optional('position_embedding_type', oneOf(positions)) ?? 'absolute',
    maxPositions: sizeOf(reading.fields, 'max_position_embeddings', 512),
  }),
  tensors: encoderTensors('bert.'),
};
