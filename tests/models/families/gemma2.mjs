// Gemma 2: norms before and after both parts, softcaps, a window in every second layer.
import { gemma, reference as gemma1, parts } from './gemma.mjs';
import { reference as llama, tensorsWith } from './llama.mjs';

export const modelType = 'gemma2';

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  gemma2: [
    'F32',
    gemma('gemma2', 'Gemma2ForCausalLM', {
      attn_logit_softcapping: 3,
      cache_implementation: 'hybrid',
      final_logit_softcapping: 5,
      num_hidden_layers: 3,
      num_key_value_heads: 2,
      query_pre_attn_scalar: 9,
      sliding_window: 5,
    }),
  ],
};

export const tensors = tensorsWith({ ...parts, sandwich: true });

// Norms before and after both parts; the name post_attention_layernorm then means what it says.
const weights = (w, at, c) => ({
  ...llama.weights(w, at, c),
  attentionAfterNorm: w.norm(`${at}post_attention_layernorm`),
  feedForwardNorm: w.norm(`${at}pre_feedforward_layernorm`),
  feedForwardAfterNorm: w.norm(`${at}post_feedforward_layernorm`),
});

export const reference = {
  ...gemma1,
  scale: (c) => 1 / Math.sqrt(c.query_pre_attn_scalar),
  window: (c, i) => (i % 2 === 0 ? c.sliding_window : undefined),
  weights,
};
