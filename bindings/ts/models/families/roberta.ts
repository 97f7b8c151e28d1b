// RoBERTa, XLM-RoBERTa and CamemBERT: BERT with the first position in row padding_idx + 1 of its table, and a head of its
// own names.

import type { WeightFile } from '../../sources/tensor-file.js';
import type { ModelDescription } from '../description/description.js';
import { expectOnly } from '../description/expected.js';
import type { Family, Reading } from '../description/family.js';
import { integerFrom, sizeOf } from '../description/fields.js';
import type { ModelSlots, Names } from '../description/slots.js';
import { encoderTensors, readEncoder } from './bert.js';

function maskedHead(names: Names, model: ModelDescription, file: WeightFile): ModelSlots['head'] {
  const { modelDim, vocabSize } = model;
  const at = 'lm_head.';
  if (model.givesLogits !== true && !file.has(`${at}dense.weight`)) return undefined;
  return names.outside([at], (_, plain) => {
    const biasNames = [`${at}bias`, `${at}decoder.bias`];
    return {
      transform: plain.linear(`${at}dense`, modelDim, modelDim),
      norm: plain.norm(`${at}layer_norm`, modelDim, true),
      bias: plain.vector(biasNames.find((name) => file.has(name)) ?? `${at}bias`, vocabSize),
      weight: model.tiedEmbeddings ? undefined : plain.matrix(`${at}decoder.weight`, vocabSize, modelDim),
    };
  });
}

function read(reading: Reading): ModelDescription {
  const { fields } = reading;
  // The head has this activation in any case.
  expectOnly(fields, { position_embedding_type: 'absolute', hidden_act: 'gelu' });
  const rows = sizeOf(fields, 'max_position_embeddings', 512);
  const padding = fields.optional('pad_token_id', integerFrom(0)) ?? 1;
  const firstPosition = padding + 1;
  if (rows <= firstPosition) {
    throw fields.misfit('max_position_embeddings', `; expected more than pad_token_id + 1, ${firstPosition}`);
  }
  return { ...readEncoder(reading), maxPositions: rows - firstPosition, firstPosition };
}

// All have the names of RoBERTa.
export const roberta: Family = { stem: 'Roberta', read, tensors: encoderTensors('roberta.', { headOf: maskedHead }) };
export const xlmRoberta: Family = { ...roberta, stem: 'XLMRoberta' };
export const camembert: Family = { ...roberta, stem: 'Camembert' };
