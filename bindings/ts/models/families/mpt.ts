// MPT: ALiBi, norms and maps without biases, one matrix for queries, keys and values.

import { text } from '../../checkpoints/fields.js';
import * as check from '../../runtime/check.js';
import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { DenseFeedForward } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { readEps, sizeOf } from '../description/fields.js';
import { alibiBiases } from './distance-biases.js';

const spelling: DecoderSpelling = {
  prefixes: ['transformer.', ''],
  tokens: 'wte.weight',
  layers: 'blocks.',
  finalNorm: 'norm_f',
  head: ['lm_head.weight'],
  layer(names, { modelDim }, { hiddenDim }: DenseFeedForward) {
    const [query, key, value] = names.joined('attn.Wqkv', [modelDim, modelDim, modelDim], modelDim);
    return {
      maps: {
        ...{ query, key, value },
        output: names.linear('attn.out_proj', modelDim, modelDim, false),
        attentionNorm: names.norm('norm_1', modelDim, false),
        feedForwardNorm: names.norm('norm_2', modelDim, false),
      },
      feedForward: {
        kind: 'dense',
        up: names.linear('ffn.up_proj', hiddenDim, modelDim, false),
        down: names.linear('ffn.down_proj', modelDim, hiddenDim, false),
      },
    };
  },
};

// Settings of attention that change the computation, with the only value that is computed.
const attention = {
  attn_type: 'multihead_attention',
  alibi: true,
  clip_qkv: null,
  prefix_lm: false,
  qk_gn: false,
  qk_ln: false,
  rope: false,
  sliding_window_size: -1,
};

export const mpt: Family = {
  stem: 'Mpt',
  otherStem: 'MPT',
  biases: alibiBiases,
  read(reading) {
    const { fields, sequenceLength } = reading;
    expectOnly(fields, { no_bias: true, logit_scale: null, embedding_fraction: 1 });
    if (fields.optional('norm_type', text)?.includes('rms')) throw fields.misfit('norm_type', '; expected layer norms');
    const inner = fields.inner('attn_config');
    expectOnly(inner, attention);
    const scale = inner.optional('softmax_scale', check.positiveFloat32);
    const expansion = sizeOf(fields, 'expansion_ratio', 4);
    const trained = sizeOf(fields, 'max_seq_len', 2048);
    return readDecoder(reading, {
      sizes: {
        vocabSize: 50368,
        hiddenDim: (modelDim) => expansion * modelDim,
        names: { hidden_size: 'd_model', num_attention_heads: 'n_heads', num_hidden_layers: 'n_layers' },
      },
      feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
      position: 'alibi',
      maxPositions: sequenceLength ?? trained,
      alibiMax: inner.optional('alibi_bias_max', check.positiveFloat32) ?? 8,
      norm: 'layer',
      eps: readEps(fields, 'layer_norm_epsilon', 1e-5),
      activation: 'gelu',
      biases: { attention: false, attentionOutput: false, feedForward: false, norms: false },
      ...(scale !== undefined && { scale }),
      tied: true,
    });
  },
  tensors: decoderTensors(spelling),
};
