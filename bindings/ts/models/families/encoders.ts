// The encoders: BERT with its three ways to tell positions, and RoFormer.

import { type Fields, text } from '../../checkpoints/fields.js';
import * as check from '../../runtime/check.js';
import { ArgumentRangeError, describe } from '../../runtime/errors.js';
import type { ModelDescription, Reading } from '../description/description.js';
import { flag, readActivation, readEps, readRope, readSizes, size, sizeOf } from '../description/fields.js';

const biases = { attention: true, attentionOutput: true, feedForward: true };

// A BERT with learned positions.
function encoder({ fields }: Reading): ModelDescription {
  if (flag(fields, 'is_decoder', false)) throw fields.misfit('is_decoder', '; expected an encoder');
  const sizes = readSizes(fields);
  if (sizes.kvHeads !== sizes.heads) {
    throw fields.misfit('num_key_value_heads', `; expected num_attention_heads, ${sizes.heads}`);
  }
  const { count, hiddenDim, ...dims } = sizes;
  return {
    ...dims,
    kind: 'encoder',
    embeddingDim: sizes.modelDim,
    layers: Array.from({ length: count }, () => ({ rope: null, feedForward: { kind: 'dense', hiddenDim } })),
    position: 'absolute',
    tokenTypes: fields.optional('type_vocab_size', (where, name, value) => check.integer(where, name, value, 1)) ?? 2,
    norms: 'post',
    norm: 'layer',
    eps: readEps(fields, 'layer_norm_eps', 1e-12),
    unitOffset: false,
    queryKeyNorm: false,
    activation: readActivation(fields, 'gelu'),
    biases,
    scale: 1 / Math.sqrt(sizes.headDim),
    scaledEmbeddings: false,
    turnValues: false,
    tiedEmbeddings: flag(fields, 'tie_word_embeddings', true),
  };
}

const positions = { absolute: 0, relative_key: 1, relative_key_query: 2 } as const;

function positionOf(fields: Fields): keyof typeof positions {
  const value = fields.optional('position_embedding_type', text) ?? 'absolute';
  if (Object.hasOwn(positions, value)) return value as keyof typeof positions;
  const problem = `is ${describe(value)}; expected one of ${Object.keys(positions).map(describe).join(', ')}`;
  throw new ArgumentRangeError(fields.where, fields.name('position_embedding_type'), value, problem);
}

/** @internal */
export function readBert(reading: Reading): ModelDescription {
  return {
    ...encoder(reading),
    position: positionOf(reading.fields),
    maxPositions: sizeOf(reading.fields, 'max_position_embeddings', 512),
  };
}

/** @internal */
export function readRoformer(reading: Reading): ModelDescription {
  const { fields } = reading;
  const body = encoder(reading);
  const type = fields.optional('position_embedding_type', text);
  if (type !== undefined && type !== 'absolute' && type !== 'rotary') {
    throw fields.misfit('position_embedding_type', '; expected a rotary encoding, which RoFormer has always');
  }
  const rope = readRope(reading, 'full_attention', body.headDim);
  return {
    ...body,
    embeddingDim: fields.optional('embedding_size', size) ?? body.modelDim,
    layers: body.layers.map((layer) => ({ ...layer, rope })),
    position: 'rope',
    turnValues: flag(fields, 'rotary_value', false),
  };
}
