// Granite, after modeling_granite.py: LLaMA with factors.
import { decoder } from '../tiny/configs.mjs';
import { reference as llama } from './llama.mjs';

export { tensors } from './llama.mjs';

export const modelType = 'granite';

// The fields of ibm-granite/granite-3.1-2b-instruct's config.json.
const granite = (fields) =>
  decoder('granite', 'GraniteForCausalLM', {
    attention_bias: false,
    attention_multiplier: 0.25,
    embedding_multiplier: 12,
    logits_scaling: 8,
    mlp_bias: false,
    residual_multiplier: 0.22,
    rope_scaling: null,
    tie_word_embeddings: true,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  granite: ['BF16', granite({})],
  'granite-plain': [
    'F32',
    granite({
      attention_bias: true,
      attention_multiplier: undefined,
      embedding_multiplier: undefined,
      logits_scaling: undefined,
      num_key_value_heads: 6,
      residual_multiplier: undefined,
      tie_word_embeddings: false,
    }),
  ],
};

// GraniteConfig: every factor is 1, that of scores too.
export const reference = {
  ...llama,
  embedScale: (c) => c.embedding_multiplier ?? 1,
  scale: (c) => c.attention_multiplier ?? 1,
  residual: (c) => c.residual_multiplier ?? 1,
  logitScale: (c) => 1 / (c.logits_scaling ?? 1),
};
