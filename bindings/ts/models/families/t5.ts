// The encoder of T5 and mT5: norms before the parts, nothing scales scores, and all layers add what the first has learned
// for buckets of distances. Decoders are not read.

import { text } from '../../checkpoints/fields.js';
import type { LayerActivation } from '../../layers/activations.js';
import { readDecoder } from '../description/decoders.js';
import type { DenseFeedForward, GatedFeedForward, ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { readEps, sizeOf } from '../description/fields.js';
import { type FeedForwardSlots, type LayerSlots, Names } from '../description/slots.js';
import { bucketBiases } from './distance-biases.js';

// T5 1.0; T5 1.1, mT5 and FLAN, whose "gelu" is its approximation by tanh.
const parts: Readonly<Record<string, readonly [kind: 'dense' | 'gated', activation: LayerActivation]>> = {
  relu: ['dense', 'relu'],
  'gated-gelu': ['gated', 'geluTanh'],
};

function feedForwardSlots(
  names: Names,
  modelDim: number,
  { kind, hiddenDim }: DenseFeedForward | GatedFeedForward,
): FeedForwardSlots {
  const wide = (name: string) => names.linear(name, hiddenDim, modelDim, false);
  const down = names.linear('wo', modelDim, hiddenDim, false);
  return kind === 'dense' ? { kind, up: wide('wi'), down } : { kind, gate: wide('wi_0'), up: wide('wi_1'), down };
}

function layerSlots(
  names: Names,
  { modelDim, heads, headDim, buckets }: ModelDescription,
  feedForward: DenseFeedForward | GatedFeedForward,
  isFirst: boolean,
): LayerSlots {
  const [attention, rest] = [names.within('layer.0.'), names.within('layer.1.')];
  const map = (name: string) => attention.linear(`SelfAttention.${name}`, heads * headDim, modelDim, false);
  const table = 'SelfAttention.relative_attention_bias.weight';
  return {
    maps: {
      query: map('q'),
      key: map('k'),
      value: map('v'),
      output: attention.linear('SelfAttention.o', modelDim, heads * headDim, false),
      attentionNorm: attention.norm('layer_norm', modelDim, false),
      feedForwardNorm: rest.norm('layer_norm', modelDim, false),
    },
    feedForward: feedForwardSlots(rest.within('DenseReluDense.'), modelDim, feedForward),
    ...(isFirst && buckets && { distances: attention.table(table, buckets.numBuckets, heads) }),
  };
}

export const t5: Family = {
  stem: 'T5',
  encoderOnly: true,
  biases: bucketBiases,
  read(reading) {
    const { fields, sequenceLength } = reading;
    const stated = fields.optional('feed_forward_proj', text) ?? 'relu';
    const [kind, activation] = (Object.hasOwn(parts, stated) && parts[stated]) || [];
    if (kind === undefined || activation === undefined) {
      throw fields.misfit('feed_forward_proj', '; expected "relu" or "gated-gelu"');
    }
    // Newer files repeat what it means.
    expectOnly(fields, {
      is_gated_act: kind === 'gated',
      dense_act_fn: kind === 'gated' ? 'gelu_new' : 'relu',
      is_decoder: false,
    });
    const numBuckets = sizeOf(fields, 'relative_attention_num_buckets', 32);
    const maxDistance = sizeOf(fields, 'relative_attention_max_distance', 128);
    if (numBuckets < 4 || numBuckets % 2 !== 0) {
      throw fields.misfit('relative_attention_num_buckets', '; expected an even number of at least 4');
    }
    if (maxDistance <= numBuckets / 4) {
      throw fields.misfit('relative_attention_max_distance', `; expected more than ${numBuckets} / 4`);
    }
    const trained = sizeOf(fields, 'n_positions', 512);
    const names = {
      ...{ hidden_size: 'd_model', num_attention_heads: 'num_heads' },
      ...{ num_hidden_layers: 'num_layers', intermediate_size: 'd_ff' },
    } as const;
    return readDecoder(
      { ...reading, headDim: sizeOf(fields, 'd_kv', 64) },
      {
        kind: 'encoder',
        sizes: { vocabSize: 32128, names },
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
  },
  tensors(model, file) {
    const { modelDim, vocabSize } = model;
    const names = new Names(file, ['encoder.'], '');
    const embeddings = ['shared.weight', 'encoder.embed_tokens.weight'];
    const slots = {
      tokens: names.outside(embeddings, (name, plain) => plain.matrix(name, vocabSize, modelDim)),
      layers: model.layers.map(({ feedForward }, i) =>
        layerSlots(names.within(`block.${i}.`), model, feedForward as DenseFeedForward, i === 0),
      ),
      finalNorm: names.norm('final_layer_norm', modelDim, false),
    };
    const decoder = file.names.filter((name) => /^(decoder|lm_head)\./.test(name));
    return { names, slots, spare: [...embeddings, ...decoder] };
  },
};

export const mt5: Family = { ...t5, stem: 'MT5' };
