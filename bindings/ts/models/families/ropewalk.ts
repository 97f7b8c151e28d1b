// Models that `ropewalk/training` exports: pre-norm decoders without biases, with RoPE, a table of positions or neither.

import { oneOf } from '../../checkpoints/fields.js';
import { type DecoderSpelling, decoderTensors, readDecoder } from '../description/decoders.js';
import type { DenseFeedForward } from '../description/description.js';
import type { Family } from '../description/family.js';
import { sizeOf } from '../description/fields.js';
import { llamaMaps, llamaSpelling } from './llama.js';

const spelling: DecoderSpelling = {
  ...llamaSpelling,
  positions: 'embed_positions.weight',
  layer(names, model, { hiddenDim }: DenseFeedForward) {
    return {
      maps: llamaMaps(names, model),
      feedForward: {
        kind: 'dense',
        up: names.linear('mlp.up_proj', hiddenDim, model.modelDim, false),
        down: names.linear('mlp.down_proj', model.modelDim, hiddenDim, false),
      },
    };
  },
};

const positions = { rope: 'rope', absolute: 'absolute', none: 'none' } as const;

export const ropewalk: Family = {
  stem: 'Ropewalk',
  rope: { pairing: 'half' },
  read(reading) {
    const { fields } = reading;
    const type = fields.optional('position_embedding_type', oneOf(positions)) ?? 'rope';
    return readDecoder(reading, {
      feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
      hasRope: () => () => type === 'rope',
      ...(type === 'absolute' && { position: type, maxPositions: sizeOf(fields, 'max_position_embeddings') }),
    });
  },
  tensors: decoderTensors(spelling),
};
