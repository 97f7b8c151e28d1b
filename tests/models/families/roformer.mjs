// RoFormer: BERT with a rotary encoding.
import { encoder } from '../tiny/configs.mjs';

export { tensors } from './bert.mjs';

export const modelType = 'roformer';

const roformer = (fields) =>
  encoder('roformer', 'RoFormerForMaskedLM', { embedding_size: 36, rotary_value: false, use_cache: true, ...fields });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  roformer: ['F32', roformer({}), { table: true }],
  'roformer-value': ['F16', roformer({ embedding_size: 20, rotary_value: true })],
};
