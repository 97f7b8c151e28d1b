// OLMo 2 and 3: norms after each part and none before, one norm over the queries of all heads and one over the keys.
// OLMo 3 has a window in three of four layers, which no scaling of the rotary encoding reaches.

import { type DecoderOptions, type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { GatedFeedForward, ModelDescription } from '../description/description.js';
import type { Family, Reading } from '../description/family.js';
import { readBiases, readEps, readWindow } from '../description/fields.js';
import type { LayerMaps, Names } from '../description/slots.js';
import { llamaFeedForward, llamaMaps, llamaSpelling } from './llama.js';

function norms(names: Names, { modelDim }: ModelDescription): LayerMaps {
  return {
    attentionAfterNorm: names.norm('post_attention_layernorm', modelDim, false),
    feedForwardAfterNorm: names.norm('post_feedforward_layernorm', modelDim, false),
  };
}

const spelling: DecoderSpelling = {
  ...llamaSpelling,
  layer(names, model, feedForward: GatedFeedForward) {
    return { maps: llamaMaps(names, model, norms), feedForward: llamaFeedForward(names, model, feedForward) };
  },
};

function readOlmo(reading: Reading, own: DecoderOptions): ModelDescription {
  const { fields } = reading;
  return readDecoder(reading, {
    sizes: { vocabSize: 50304 },
    norms: 'sandwich',
    eps: readEps(fields, 'rms_norm_eps', 1e-5),
    biases: { ...readBiases(fields), feedForward: false },
    queryKeyNorm: 'all heads',
    ...own,
  });
}

export const olmo2: Family = {
  stem: 'Olmo2',
  rope: { pairing: 'half' },
  read: (reading) => readOlmo(reading, {}),
  tensors: decoderTensors(spelling),
};

export const olmo3: Family = {
  ...olmo2,
  stem: 'Olmo3',
  rope: { pairing: 'half', base: 5e5, slidingUnscaled: true },
  read: (reading) =>
    readOlmo(reading, {
      sliding: () => ({ window: readWindow(reading.fields, 4096), slides: (layer) => (layer + 1) % 4 !== 0 }),
    }),
};
