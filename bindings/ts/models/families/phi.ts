// Phi 1, 1.5 and 2: attention and feed-forward part side by side after one layer norm, biases everywhere, a part of each
// head rotates.

import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { DenseFeedForward } from '../description/description.js';
import type { Family } from '../description/family.js';
import { flag, readActivation, readEps } from '../description/fields.js';

const spelling: DecoderSpelling = {
  prefixes: ['model.', ''],
  tokens: 'embed_tokens.weight',
  finalNorm: 'final_layernorm',
  head: ['lm_head.weight'],
  layer(names, { modelDim, heads, kvHeads, headDim, queryKeyNorm }, { hiddenDim }: DenseFeedForward) {
    const map = (name: string, count: number) => names.linear(`self_attn.${name}`, count * headDim, modelDim);
    return {
      maps: {
        query: map('q_proj', heads),
        key: map('k_proj', kvHeads),
        value: map('v_proj', kvHeads),
        output: names.linear('self_attn.dense', modelDim, heads * headDim),
        attentionNorm: names.norm('input_layernorm', modelDim, true),
        ...(queryKeyNorm && {
          queryNorm: names.norm('self_attn.q_layernorm', headDim, true),
          keyNorm: names.norm('self_attn.k_layernorm', headDim, true),
        }),
      },
      feedForward: {
        kind: 'dense',
        up: names.linear('mlp.fc1', hiddenDim, modelDim),
        down: names.linear('mlp.fc2', modelDim, hiddenDim),
      },
    };
  },
};

export const phi: Family = {
  stem: 'Phi',
  rope: { pairing: 'half', rotaryFraction: 0.5 },
  read(reading) {
    const { fields } = reading;
    return readDecoder(reading, {
      sizes: { vocabSize: 51200 },
      feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
      queryKeyNorm: flag(fields, 'qk_layernorm', false),
      norms: 'parallel',
      norm: 'layer',
      eps: readEps(fields, 'layer_norm_eps', 1e-5),
      activation: readActivation(fields, 'geluTanh'),
      biases: { attention: true, attentionOutput: true, feedForward: true, head: true },
    });
  },
  tensors: decoderTensors(spelling),
};
