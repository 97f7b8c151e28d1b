// GPT-J: attention and feed-forward part side by side after one norm, interleaved pairs of the first 64 coordinates.

import { type DecoderSpelling, readDecoder } from '../description/decoders.js';
import type { DenseFeedForward } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { readActivation, readEps } from '../description/fields.js';
import { gptNames, maskedTensors } from './gpt2.js';

const spelling: DecoderSpelling = {
  prefixes: ['transformer.', ''],
  tokens: 'wte.weight',
  layers: 'h.',
  finalNorm: 'ln_f',
  head: ['lm_head.weight'],
  layer(names, { modelDim }, { hiddenDim }: DenseFeedForward) {
    const map = (name: string) => names.linear(`attn.${name}`, modelDim, modelDim, false);
    return {
      maps: {
        query: map('q_proj'),
        key: map('k_proj'),
        value: map('v_proj'),
        output: map('out_proj'),
        attentionNorm: names.norm('ln_1', modelDim, true),
      },
      feedForward: {
        kind: 'dense',
        up: names.linear('mlp.fc_in', hiddenDim, modelDim),
        down: names.linear('mlp.fc_out', modelDim, hiddenDim),
      },
    };
  },
};

export const gptj: Family = {
  stem: 'GPTJ',
  rope: { pairing: 'interleaved', rotaryDim: 64 },
  read(reading) {
    const { fields } = reading;
    expectOnly(fields, { scale_attn_weights: true, rotary: true });
    return readDecoder(reading, {
      sizes: { vocabSize: 50400, hiddenDim: (modelDim) => 4 * modelDim, names: gptNames },
      feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
      norms: 'parallel',
      norm: 'layer',
      eps: readEps(fields, 'layer_norm_epsilon', 1e-5),
      activation: readActivation(fields, 'geluTanh', 'activation_function'),
      biases: { attention: false, attentionOutput: false, feedForward: true, head: true },
    });
  },
  tensors: maskedTensors(spelling),
};
