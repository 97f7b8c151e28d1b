// Gemma: norms that multiply by 1 + weight, and scaled token vectors.
import { decoder } from '../tiny/configs.mjs';
import { reference as llama, tensorsWith } from './llama.mjs';

export const modelType = 'gemma';

/** A config.json of any Gemma. */
export const gemma = (modelType, architecture, fields) =>
  decoder(modelType, architecture, {
    attention_bias: false,
    head_dim: 14,
    hidden_act: 'gelu_pytorch_tanh',
    hidden_activation: 'gelu_pytorch_tanh',
    // The root of 40 is no bfloat16.
    hidden_size: 40,
    num_attention_heads: 4,
    num_key_value_heads: 1,
    pad_token_id: 0,
    rms_norm_eps: 1e-6,
    // Hugging Face does not save what is the default of all its classes.
    tie_word_embeddings: undefined,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  gemma: ['BF16', gemma('gemma', 'GemmaForCausalLM', { hidden_activation: null })],
};

/** The settings of tensors common to all Gemmas. */
export const parts = { normMean: 0, tokens: (c) => 1 / Math.sqrt(c.hidden_size) };

export const tensors = tensorsWith(parts);

export const reference = {
  ...llama,
  defaults: { ...llama.defaults, tie_word_embeddings: true },
  norm: (c) => ({ kind: 'rms', eps: c.rms_norm_eps, plusOne: true }),
  activation: (c) => c.hidden_activation ?? c.hidden_act,
  embedScale: (c) => Math.sqrt(c.hidden_size),
};
