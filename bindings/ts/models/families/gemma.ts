// Gemma: norms that multiply by 1 + weight, scaled token vectors, wide heads.

import { type Fields, text } from '../../checkpoints/fields.js';
import type { LayerActivation } from '../../layers/activations.js';
import { type DecoderOptions, readDecoder } from '../description/decoders.js';
import type { ModelDescription } from '../description/description.js';
import type { Family, Reading } from '../description/family.js';
import { readActivation, readBiases } from '../description/fields.js';
import { llama } from './llama.js';

// `gelu` in hidden_act of older files means its approximation by tanh, which hidden_activation states.
function gemmaActivation(fields: Fields): LayerActivation {
  const stated = readActivation(fields, 'geluTanh', 'hidden_activation');
  const older = fields.optional('hidden_act', text);
  if (fields.has('hidden_activation') || older === undefined || older === 'gelu') return stated;
  return readActivation(fields, stated);
}

/** The part that Gemma 2 and 3 share. @internal */
export function readGemma(reading: Reading, own: DecoderOptions): ModelDescription {
  const { fields } = reading;
  return readDecoder(reading, {
    tied: true,
    unitOffset: true,
    scaledEmbeddings: true,
    activation: gemmaActivation(fields),
    biases: { ...readBiases(fields), feedForward: false },
    ...own,
  });
}

export const gemma: Family = {
  ...llama,
  stem: 'Gemma',
  rope: { pairing: 'half', headDim: 256 },
  read: (reading) => readGemma(reading, {}),
};
