// SmolLM3: LLaMA with layers that have no rotary encoding.

import type { Fields } from '../../checkpoints/fields.js';
import { readDecoder } from '../description/decoders.js';
import type { Family } from '../description/family.js';
import { flag, integers, readBiases, readWindow, type Sizes, sizeOf } from '../description/fields.js';
import { llama } from './llama.js';

/**
 * no_rope_layers has 1 for a layer with rotary encoding and 0 for one without; otherwise every nth layer is without.
 * @internal
 */
export function ropeLayers(fields: Fields, { count }: Sizes): (layer: number) => boolean {
  const interval = sizeOf(fields, 'no_rope_layer_interval', 4);
  const list = fields.optional('no_rope_layers', integers('0 and 1', 1));
  if (!list?.length) return (layer) => (layer + 1) % interval !== 0;
  if (list.length >= count) return (layer) => list[layer] === 1;
  throw fields.misfit('no_rope_layers', `, with ${list.length} entries; num_hidden_layers is ${count}`);
}

export const smollm3: Family = {
  ...llama,
  stem: 'SmolLM3',
  rope: { pairing: 'half', base: 2e6 },
  read(reading) {
    const { fields } = reading;
    return readDecoder(reading, {
      sizes: { heads: 16, kvHeads: 4 },
      tied: true,
      hasRope: (sizes) => ropeLayers(fields, sizes),
      sliding(sizes) {
        const hasRope = ropeLayers(fields, sizes);
        const stated = readWindow(fields, undefined);
        const window = flag(fields, 'use_sliding_window', false) ? stated : undefined;
        return { window, slides: (layer) => window !== undefined && !hasRope(layer) };
      },
      biases: readBiases(fields),
    });
  },
};
