// Gemma 3: norms of queries and keys in place of softcaps, and a base for each type of layer.

import type { Family } from '../description/family.js';
import { gemma, readGemma } from './gemma.js';
import { pattern, sandwich } from './gemma2.js';

export const gemma3: Family = {
  ...gemma,
  stem: 'Gemma3',
  images: true,
  rope: { pairing: 'half', headDim: 256, base: 1e6, localBase: 1e4 },
  read: (reading) =>
    readGemma(reading, {
      sizes: { heads: 8, kvHeads: 4, vocabSize: 262208 },
      sliding: () => pattern(reading.fields, 6),
      ...sandwich(reading.fields, undefined, undefined),
      queryKeyNorm: true,
    }),
};
