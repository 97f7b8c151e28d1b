// StableLM 3B and 2: LLaMA with layer norms, of which a quarter of each head rotates; in a variant attention and
// feed-forward part are side by side after one norm.

import { readDecoder } from '../description/decoders.js';
import { expectOnly } from '../description/expected.js';
import type { Family } from '../description/family.js';
import { flag, readEps } from '../description/fields.js';
import { llama } from './llama.js';

export const stablelm: Family = {
  ...llama,
  stem: 'StableLm',
  rope: { pairing: 'half', rotaryFraction: 0.25 },
  read(reading) {
    const { fields } = reading;
    expectOnly(fields, { qk_layernorm: false, rotary_scaling_factor: 1 });
    return readDecoder(reading, {
      sizes: { vocabSize: 50304 },
      norms: flag(fields, 'use_parallel_residual', false) ? 'parallel' : 'pre',
      norm: 'layer',
      eps: readEps(fields, 'layer_norm_eps', 1e-5),
      biases: { attention: flag(fields, 'use_qkv_bias', false), attentionOutput: false, feedForward: false },
    });
  },
};
