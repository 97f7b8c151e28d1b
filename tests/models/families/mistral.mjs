// Mistral: LLaMA with a sliding window.
import { decoder } from '../tiny/configs.mjs';
import { reference as llama } from './llama.mjs';

export { tensors } from './llama.mjs';

export const modelType = 'mistral';

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  mistral: ['BF16', decoder('mistral', 'MistralForCausalLM', { head_dim: 10, sliding_window: 6 })],
};

export const reference = { ...llama, window: (c) => c.sliding_window ?? undefined };
