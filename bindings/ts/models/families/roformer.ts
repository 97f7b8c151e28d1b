// RoFormer: BERT with a rotary encoding in place of learned positions.

import { text } from '../../checkpoints/fields.js';
import type { Family } from '../description/family.js';
import { flag, size } from '../description/fields.js';
import { encoderTensors, readEncoder } from './bert.js';

export const roformer: Family = {
  stem: 'RoFormer',
  rope: { pairing: 'interleaved' },
  read(reading) {
    const { fields } = reading;
    const body = readEncoder(reading);
    const type = fields.optional('position_embedding_type', text);
    if (type !== undefined && type !== 'absolute' && type !== 'rotary') {
      throw fields.misfit('position_embedding_type', '; expected a rotary encoding, which RoFormer has always');
    }
    const rope = reading.rope('full_attention', body.headDim);
    return {
      ...body,
      embeddingDim: fields.optional('embedding_size', size) ?? body.modelDim,
      layers: body.layers.map((layer) => ({ ...layer, rope })),
      position: 'rope',
      turnValues: flag(fields, 'rotary_value', false),
    };
  },
  tensors: encoderTensors('roformer.'),
};
