// T5 and mT5: norms before the parts, nothing scales scores, and all layers add what the first has learned for buckets of
// distances; UMT5, where each has its own. The decoder is read of a class that gives logits.

import { oneOf } from '../../checkpoints/fields.js';
import type { WeightFile } from '../../sources/tensor-file.js';
import { readDecoder } from '../description/decoders.js';
import type { DenseFeedForward, GatedFeedForward, ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family, Reading } from '../description/family.js';
import { flag, readEps, sizeOf } from '../description/fields.js';
import {
  type CrossLayerSlots,
  type DecoderSlots,
  type FeedForwardSlots,
  type LayerSlots,
  Names,
} from '../description/slots.js';
import { readStartToken } from '../description/start-token.js';
import { bucketBiases } from './distance-biases.js';

const head = 'lm_head.weight';

// T5 1.0; T5 1.1, mT5 and FLAN, whose "gelu" is its approximation by tanh; UL2. With the class's name of the activation.
const parts = {
  relu: ['dense', 'relu', 'relu'],
  'gated-gelu': ['gated', 'geluTanh', 'gelu_new'],
  'gated-silu': ['gated', 'silu', 'silu'],
} as const;

function feedForwardSlots(
  names: Names,
  modelDim: number,
  { kind, hiddenDim }: DenseFeedForward | GatedFeedForward,
): FeedForwardSlots {
  const wide = (name: string) => names.linear(name, hiddenDim, modelDim, false);
  const down = names.linear('wo', modelDim, hiddenDim, false);
  return kind === 'dense' ? { kind, up: wide('wi'), down } : { kind, gate: wide('wi_0'), up: wide('wi_1'), down };
}

function attentionSlots(names: Names, { modelDim, heads, headDim }: ModelDescription) {
  const map = (name: string) => names.linear(name, heads * headDim, modelDim, false);
  const output = names.linear('o', modelDim, heads * headDim, false);
  return { query: map('q'), key: map('k'), value: map('v'), output };
}

// The parts of a layer are numbered; a decoder's has one between.
function layerSlots(names: Names, model: ModelDescription, i: number, hasTable: boolean): LayerSlots {
  const { kind, modelDim, heads, buckets, layers } = model;
  const [attention, rest] = [names.within('layer.0.'), names.within(`layer.${kind === 'decoder' ? 2 : 1}.`)];
  const table = 'SelfAttention.relative_attention_bias.weight';
  return {
    maps: {
      ...attentionSlots(attention.within('SelfAttention.'), model),
      attentionNorm: attention.norm('layer_norm', modelDim, false),
      feedForwardNorm: rest.norm('layer_norm', modelDim, false),
    },
    feedForward: feedForwardSlots(
      rest.within('DenseReluDense.'),
      modelDim,
      layers[i]?.feedForward as DenseFeedForward | GatedFeedForward,
    ),
    ...(hasTable && buckets && { distances: attention.table(table, buckets.numBuckets, heads) }),
  };
}

function crossSlots(names: Names, model: ModelDescription, i: number, hasTable: boolean): CrossLayerSlots {
  const middle = names.within('layer.1.');
  return {
    ...layerSlots(names, model, i, hasTable),
    cross: {
      ...attentionSlots(middle.within('EncDecAttention.'), model),
      norm: middle.norm('layer_norm', model.modelDim, false),
    },
  };
}

function decoderSlots(
  file: WeightFile,
  destinations: Names['destinations'],
  model: ModelDescription,
  ownTables: boolean,
): DecoderSlots {
  const { modelDim, vocabSize, layers, tiedEmbeddings, logitScale } = model;
  // T5 1.0 may have its embeddings a second time, as a head; transformers 5 says of all that they are tied, also of
  // UMT5, which has tables of its own.
  const isTied = tiedEmbeddings && ((logitScale !== undefined && !ownTables) || !file.names.includes(head));
  const names = new Names(file, ['decoder.'], '', destinations);
  return {
    layers: layers.map((_, i) => crossSlots(names.within(`block.${i}.`), model, i, ownTables || i === 0)),
    finalNorm: names.norm('final_layer_norm', modelDim, false),
    head: isTied ? {} : { weight: names.outside([head], (name, plain) => plain.matrix(name, vocabSize, modelDim)) },
  };
}

// What a config.json leaves out.
interface Defaults {
  readonly feedForward: keyof typeof parts;
  readonly vocabSize: number;
  /** Whether logits of tied embeddings are scaled. */
  readonly scales: boolean;
}

function readT5(reading: Reading, defaults: Defaults): ModelDescription {
  const { fields, sequenceLength, givesLogits } = reading;
  const stated = fields.optional('feed_forward_proj', oneOf<(typeof parts)[keyof typeof parts]>(parts));
  const [kind, activation, dense_act_fn] = stated ?? parts[defaults.feedForward];
  // Newer files repeat what it means.
  expectOnly(fields, { is_gated_act: kind === 'gated', dense_act_fn, is_decoder: false });
  const numBuckets = sizeOf(fields, 'relative_attention_num_buckets', 32);
  const maxDistance = sizeOf(fields, 'relative_attention_max_distance', 128);
  if (numBuckets < 4 || numBuckets % 2 !== 0) {
    throw fields.misfit('relative_attention_num_buckets', '; expected an even number of at least 4');
  }
  const part = givesLogits ? 2 : 4; // of a decoder's buckets, which are for one direction, half are for single distances
  if (maxDistance <= numBuckets / part) {
    throw fields.misfit('relative_attention_max_distance', `; expected more than ${numBuckets} / ${part}`);
  }
  const trained = sizeOf(fields, 'n_positions', 512);
  const names = {
    ...{ hidden_size: 'd_model', num_attention_heads: 'num_heads' },
    ...{ num_hidden_layers: 'num_layers', intermediate_size: 'd_ff' },
  } as const;
  const encoder = readDecoder(
    { ...reading, headDim: sizeOf(fields, 'd_kv', 64) },
    {
      kind: 'encoder',
      sizes: { vocabSize: defaults.vocabSize, names },
      feedForward: ({ hiddenDim }) => ({ kind, hiddenDim }),
      position: 't5',
      buckets: { numBuckets, maxDistance },
      maxPositions: sequenceLength ?? trained,
      eps: readEps(fields, 'layer_norm_epsilon', 1e-6),
      activation,
      scale: 1,
      tiedEmbeddings: true,
      givesLogits: false,
    },
  );
  if (!givesLogits) return encoder;
  const count = sizeOf(fields, 'num_decoder_layers', encoder.layers.length);
  const tiedEmbeddings = flag(fields, 'tie_word_embeddings', true);
  const { kind: _, layers, ...both } = { ...encoder, tiedEmbeddings, givesLogits };
  const decoder: ModelDescription = {
    ...{ ...both, kind: 'decoder', layers: Array(count).fill(layers[0]) },
    ...(defaults.scales &&
      flag(fields, 'scale_decoder_outputs', tiedEmbeddings) && { logitScale: encoder.modelDim ** -0.5 }),
  };
  return { ...both, kind: 'encoder-decoder', layers, decoder, startToken: readStartToken(fields, encoder.vocabSize) };
}

const tensors =
  (ownTables: boolean): Family['tensors'] =>
  (model, file) => {
    const { modelDim, vocabSize, decoder } = model;
    const names = new Names(file, ['encoder.'], '');
    const embeddings = ['shared.weight', 'encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'];
    const slots = {
      tokens: names.outside(embeddings, (name, plain) => plain.matrix(name, vocabSize, modelDim)),
      layers: model.layers.map((_, i) => layerSlots(names.within(`block.${i}.`), model, i, ownTables || i === 0)),
      finalNorm: names.norm('final_layer_norm', modelDim, false),
      ...(decoder && { decoder: decoderSlots(file, names.destinations, decoder, ownTables) }),
    };
    // Old files have a table that decoders do not use.
    const unused = decoder
      ? ['EncDecAttention.relative_attention_bias.weight', head]
      : file.names.filter((name) => /^(decoder|lm_head)\./.test(name));
    return { names, slots, spare: [...embeddings, ...unused] };
  };

export const t5: Family = {
  stem: 'T5',
  hasBoth: true,
  biases: bucketBiases,
  read: (reading) => readT5(reading, { feedForward: 'relu', vocabSize: 32128, scales: true }),
  tensors: tensors(false),
};

const later = { feedForward: 'gated-gelu', vocabSize: 250112 } as const;

// Its class scales no logits, whatever a file of transformers 5 says of tied embeddings.
export const mt5: Family = { ...t5, stem: 'MT5', read: (reading) => readT5(reading, { ...later, scales: false }) };

export const umt5: Family = {
  ...t5,
  stem: 'UMT5',
  read: (reading) => readT5(reading, { ...later, scales: true }),
  tensors: tensors(true),
};
