// Gemma 2: norms on both sides of each part, softcaps, a window in every second layer.

import { agreed, type Fields } from '../../checkpoints/fields.js';
import * as check from '../../runtime/check.js';

import type { ModelDescription } from '../description/description.js';
import type { Family } from '../description/family.js';
import { readWindow, type Sliding, size, unlessNull } from '../description/fields.js';
import { gemma, readGemma } from './gemma.js';

/** The part that Gemma 3 shares, with the class's softcaps where the file does not set null. @internal */
export function sandwich(
  fields: Fields,
  attention: number | undefined,
  logits: number | undefined,
): Partial<ModelDescription> {
  const cap = unlessNull(fields, 'attn_logit_softcapping', check.positive, attention);
  const last = unlessNull(fields, 'final_logit_softcapping', check.positive, logits);
  return {
    norms: 'sandwich',
    scale: 1 / Math.sqrt(fields.optional('query_pre_attn_scalar', check.positive) ?? 256),
    ...(cap !== undefined && { softcap: cap }),
    ...(last !== undefined && { logitSoftcap: last }),
  };
}

/** Every nth layer has full attention, the others slide. @internal */
export function pattern(fields: Fields, fallback: number): Sliding {
  const every = agreed(fields.at('sliding_window_pattern', '_sliding_window_pattern'), size)?.value ?? fallback;
  return { window: readWindow(fields, 4096), slides: (layer) => (layer + 1) % every !== 0 };
}

export const gemma2: Family = {
  ...gemma,
  stem: 'Gemma2',
  read(reading) {
    const { fields } = reading;
    fields.use('sliding_window_size'); // of the files of 9 and 27 billion weights, which no class reads
    return readGemma(reading, { sliding: () => pattern(fields, 2), ...sandwich(fields, 50, 30) });
  },
};
