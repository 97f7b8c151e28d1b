// Qwen 3: norms of queries and keys in place of Qwen 2's biases, and heads of 128.

import { readDecoder } from '../description/decoders.js';
import type { Family } from '../description/family.js';
import { readBiases } from '../description/fields.js';
import { llama } from './llama.js';
import { qwenWindow } from './qwen2.js';

export const qwen3: Family = {
  ...llama,
  stem: 'Qwen3',
  rope: { pairing: 'half', headDim: 128 },
  read: (reading) =>
    readDecoder(reading, {
      sliding: () => qwenWindow(reading.fields),
      biases: { ...readBiases(reading.fields), feedForward: false },
      queryKeyNorm: true,
    }),
};
