// Mistral: LLaMA with a window.

import type { Fields } from '../../checkpoints/fields.js';
import { readDecoder, type Sliding } from '../description/decoders.js';
import type { Family } from '../description/family.js';
import { readWindow } from '../description/fields.js';
import { llama } from './llama.js';

/** Layers may be said to slide whether or not the class would make them so. @internal */
export function everyLayer(fields: Fields, fallback: number | undefined): Sliding {
  const window = readWindow(fields, fallback);
  return { window, slides: () => window !== undefined };
}

export const mistral: Family = {
  ...llama,
  stem: 'Mistral',
  read: (reading) => readDecoder(reading, { sliding: () => everyLayer(reading.fields, 4096) }),
};
