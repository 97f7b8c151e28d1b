// Gemma 3: norms of queries and keys in place of softcaps, and a base for each type of layer. EmbeddingGemma is an encoder
// of this type, with half of the window on each side.

import type { Family } from '../description/family.js';
import { flag } from '../description/fields.js';
import { gemma, readGemma } from './gemma.js';
import { pattern, sandwich } from './gemma2.js';

export const gemma3: Family = {
  ...gemma,
  stem: 'Gemma3',
  images: true,
  rope: { pairing: 'half', headDim: 256, base: 1e6, localBase: 1e4 },
  read({ fields, ...reading }) {
    const isEncoder = flag(fields, 'use_bidirectional_attention', false);
    const { window, slides } = pattern(fields, 6);
    return readGemma(
      { fields, ...reading },
      {
        kind: isEncoder ? 'encoder' : 'decoder',
        sizes: { heads: 8, kvHeads: 4, vocabSize: 262208 },
        sliding: () => ({ window: isEncoder && window ? (window >> 1) + 1 : window, slides }),
        ...sandwich(fields, undefined, undefined),
        queryKeyNorm: true,
      },
    );
  },
};
