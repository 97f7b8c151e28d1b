// Granite 3: LLaMA with factors of token vectors, residual sums, scores and logits.

import * as check from '../../runtime/check.js';
import { readDecoder } from '../description/decoders.js';
import type { Family } from '../description/family.js';
import { readBiases } from '../description/fields.js';
import { llama } from './llama.js';

export const granite: Family = {
  ...llama,
  stem: 'Granite',
  read(reading) {
    const { fields } = reading;
    const factor = (field: string) => fields.optional(field, check.positiveFloat32) ?? 1;
    return readDecoder(reading, {
      biases: readBiases(fields),
      scale: factor('attention_multiplier'),
      embeddingScale: factor('embedding_multiplier'),
      residualScale: factor('residual_multiplier'),
      logitScale: 1 / factor('logits_scaling'),
    });
  },
};
