// Command R and Command R7B: attention and feed-forward part side by side after one layer norm without a bias, interleaved
// pairs, scaled logits; of Command R+, norms of queries and keys with weights for each head. Of the second, three of four
// layers have a window; the fourth has no positions.

import * as check from '../../runtime/check.js';
import { type DecoderOptions, readDecoder } from '../description/decoders.js';
import type { ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family, Reading } from '../description/family.js';
import { flag, readBiases, readEps } from '../description/fields.js';
import { pattern } from './gemma2.js';
import { llama } from './llama.js';

// Fields of Cohere's own files, which no code reads.
const usual = {
  use_gated_activation: true,
  use_parallel_block: true,
  use_parallel_embedding: true,
  use_embedding_sharing: true,
  position_embedding_type: 'rope_gptj',
  rotary_pct: 1,
};

function readCohere(reading: Reading, own: DecoderOptions): ModelDescription {
  const { fields } = reading;
  expectOnly(fields, usual);
  return readDecoder(reading, {
    sizes: { vocabSize: 256000 },
    norms: 'parallel',
    norm: 'layer',
    eps: readEps(fields, 'layer_norm_eps', 1e-5),
    biases: { ...readBiases(fields), feedForward: false, norms: false },
    logitScale: fields.optional('logit_scale', check.positiveFloat32) ?? 0.0625,
    tied: true,
    ...own,
  });
}

export const cohere: Family = {
  ...llama,
  stem: 'Cohere',
  rope: { pairing: 'interleaved', base: 5e5 },
  read: (reading) => readCohere(reading, { queryKeyNorm: flag(reading.fields, 'use_qk_norm', false) && 'own weights' }),
};

export const cohere2: Family = {
  ...cohere,
  stem: 'Cohere2',
  rope: { pairing: 'interleaved', withoutRope: 'full_attention' },
  read(reading) {
    expectOnly(reading.fields, { use_qk_norm: false });
    return readCohere(reading, { sliding: () => pattern(reading.fields, 4) });
  },
};
