// Qwen 2: LLaMA with biases of queries, keys and values, and a sliding window in later layers.
import { decoder } from '../tiny/configs.mjs';
import { reference as llama, parts, tensorsWith } from './llama.mjs';

export const modelType = 'qwen2';

const qwen2 = (fields) =>
  decoder('qwen2', 'Qwen2ForCausalLM', {
    max_window_layers: 2,
    rms_norm_eps: 1e-6,
    rope_theta: 1000000,
    sliding_window: 32,
    tie_word_embeddings: true,
    use_sliding_window: false,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  qwen2: ['BF16', qwen2({})],
  'qwen2-window': [
    'F32',
    qwen2({ max_window_layers: 1, num_hidden_layers: 3, sliding_window: 4, use_sliding_window: true }),
  ],
  // A model of embeddings, as Alibaba-NLP/gte-Qwen2-1.5B-instruct has it.
  'qwen2-both-sides': ['F32', qwen2({ architectures: ['Qwen2Model'], is_causal: false })],
};

export const tensors = tensorsWith({ projections: (c, at) => parts.projections(c, at, true) });

export const reference = {
  ...llama,
  seesBoth: (c) => c.is_causal === false,
  window: (c, i) => (c.use_sliding_window && i >= c.max_window_layers ? c.sliding_window : undefined),
};
