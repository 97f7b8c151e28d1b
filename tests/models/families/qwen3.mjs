// Qwen 3: norms of queries and keys.
import { decoder } from '../tiny/configs.mjs';
import { tensorsWith, withHeadNorms } from './llama.mjs';
import { reference as qwen2 } from './qwen2.mjs';

export const modelType = 'qwen3';

const qwen3 = (fields) =>
  decoder('qwen3', 'Qwen3ForCausalLM', {
    attention_bias: false,
    head_dim: 10,
    max_window_layers: 2,
    rms_norm_eps: 1e-6,
    rope_scaling: null,
    rope_theta: 1000000,
    sliding_window: null,
    tie_word_embeddings: true,
    use_sliding_window: false,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  qwen3: ['BF16', qwen3({})],
  'qwen3-yarn': [
    'F32',
    qwen3({ rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 }, head_dim: 16 }),
  ],
};

export const tensors = tensorsWith({ headNorms: true });

export const reference = { ...qwen2, weights: withHeadNorms(qwen2.weights) };
