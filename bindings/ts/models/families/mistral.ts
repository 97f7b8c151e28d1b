// Mistral: LLaMA with a sliding window.

import type { Fields } from '../../checkpoints/fields.js';
import { readDecoder } from '../description/decoders.js';
import type { Family } from '../description/family.js';
import { readWindow, type Sliding } from '../description/fields.js';
import { llama } from './llama.js';

/** By default every layer slides if there is a window. @internal */
export function everyLayer(fields: Fields, fallback: number | undefined): Sliding {
  const window = readWindow(fields, fallback);
  return { window, slides: () => window !== undefined };
}

export const mistral: Family = {
  ...llama,
  stem: 'Mistral',
  read: (reading) => readDecoder(reading, { sliding: () => everyLayer(reading.fields, 4096) }),
};
