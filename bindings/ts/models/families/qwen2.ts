// Qwen 2 and 2.5: LLaMA with biases of queries, keys and values, and a sliding window in later layers.

import type { Fields } from '../../checkpoints/fields.js';
import { readDecoder } from '../description/decoders.js';
import type { Family } from '../description/family.js';
import { flag, integerFrom, readWindow, type Sliding } from '../description/fields.js';
import { llama } from './llama.js';

/** With use_sliding_window, all layers slide except the first max_window_layers. @internal */
export function qwenWindow(fields: Fields): Sliding {
  const uses = flag(fields, 'use_sliding_window', false);
  const stated = readWindow(fields, 4096);
  const first = fields.optional('max_window_layers', integerFrom(0)) ?? 28;
  const window = uses ? stated : undefined;
  return { window, slides: (layer) => window !== undefined && layer >= first };
}

export const qwen2: Family = {
  ...llama,
  stem: 'Qwen2',
  read: (reading) =>
    readDecoder(reading, {
      sliding: () => qwenWindow(reading.fields),
      biases: { attention: true, attentionOutput: false, feedForward: false },
    }),
};
