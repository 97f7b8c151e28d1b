// BLOOM: ALiBi, a norm of token vectors, queries, keys and values head by head in one matrix.

import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { DenseFeedForward } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { readEps, sizeOf } from '../description/fields.js';
import { alibiBiases } from './distance-biases.js';
import { byHead } from './gpt-neox.js';

const spelling: DecoderSpelling = {
  prefixes: ['transformer.', ''],
  tokens: 'word_embeddings.weight',
  embeddingNorm: 'word_embeddings_layernorm',
  layers: 'h.',
  finalNorm: 'ln_f',
  head: ['lm_head.weight'],
  layer(names, model, { hiddenDim }: DenseFeedForward) {
    const { modelDim } = model;
    return {
      maps: {
        ...byHead(names, model, 'self_attention.query_key_value'),
        output: names.linear('self_attention.dense', modelDim, modelDim),
        attentionNorm: names.norm('input_layernorm', modelDim, true),
        feedForwardNorm: names.norm('post_attention_layernorm', modelDim, true),
      },
      feedForward: {
        kind: 'dense',
        up: names.linear('mlp.dense_h_to_4h', hiddenDim, modelDim),
        down: names.linear('mlp.dense_4h_to_h', modelDim, hiddenDim),
      },
    };
  },
};

export const bloom: Family = {
  stem: 'Bloom',
  biases: alibiBiases,
  read(reading) {
    const { fields, sequenceLength } = reading;
    // offset_alibi is of the code that trained it.
    fields.use('offset_alibi');
    expectOnly(fields, { apply_residual_connection_post_layernorm: false });
    const trained = sizeOf(fields, 'seq_length', 2048);
    const names = {
      hidden_size: fields.has('n_embed') ? 'n_embed' : 'n_embd',
      num_attention_heads: 'n_head',
      num_hidden_layers: 'n_layer',
      intermediate_size: 'n_inner',
    };
    return readDecoder(reading, {
      sizes: { vocabSize: 250880, hiddenDim: (modelDim) => 4 * modelDim, names },
      feedForward: ({ modelDim }) => ({ kind: 'dense', hiddenDim: 4 * modelDim }),
      position: 'alibi',
      maxPositions: sequenceLength ?? trained,
      norm: 'layer',
      eps: readEps(fields, 'layer_norm_epsilon', 1e-5),
      activation: 'geluTanh',
      biases: { attention: true, attentionOutput: true, feedForward: true },
      tied: true,
    });
  },
  tensors: decoderTensors(spelling),
};
