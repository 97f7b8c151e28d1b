// Gemma 3, for text and with images: norms of queries and keys, and a base for each type of layer.
import { ropeOfConfig } from '../reference/config.mjs';
import { gemma, parts } from './gemma.mjs';
import { reference as gemma2 } from './gemma2.mjs';
import { tensorsWith, withHeadNorms } from './llama.mjs';

export const modelType = 'gemma3_text';

const gemma3 = (fields) => {
  const config = gemma('gemma3_text', 'Gemma3ForCausalLM', {
    attn_logit_softcapping: null,
    final_logit_softcapping: null,
    num_hidden_layers: 7,
    query_pre_attn_scalar: 18,
    sliding_window: 5,
    ...fields,
  });
  const { hidden_act: _, ...rest } = config;
  return rest;
};

// The model that sees images too; its text_config has little more than its sizes.
function gemma3Images() {
  const {
    head_dim,
    hidden_size,
    intermediate_size,
    num_attention_heads,
    num_hidden_layers,
    num_key_value_heads,
    ...rest
  } = gemma3({ rope_scaling: { factor: 8, rope_type: 'linear' } });
  const { rope_scaling, sliding_window, vocab_size, eos_token_id } = rest;
  const sized = {
    head_dim,
    hidden_size,
    intermediate_size,
    num_attention_heads,
    num_hidden_layers,
    num_key_value_heads,
  };
  return {
    architectures: ['Gemma3ForConditionalGeneration'],
    boi_token_index: 90,
    eoi_token_index: 91,
    eos_token_id: [eos_token_id, 93],
    image_token_index: 92,
    initializer_range: 0.02,
    mm_tokens_per_image: 4,
    model_type: 'gemma3',
    text_config: { ...sized, model_type: 'gemma3_text', rope_scaling, sliding_window, vocab_size },
    transformers_version: '4.50.0',
    vision_config: { hidden_size: 8, image_size: 16, model_type: 'siglip_vision_model', patch_size: 8 },
  };
}

const sliding = Array(5).fill('sliding_attention');

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  gemma3: [
    'BF16',
    gemma3({
      rope_local_base_freq: 100,
      rope_scaling: { factor: 8, rope_type: 'linear' },
      rope_theta: 1000000,
      sliding_window_pattern: 6,
    }),
  ],
  'gemma3-types': [
    'F32',
    gemma3({
      layer_types: [...sliding, 'full_attention', 'sliding_attention'],
      rope_parameters: {
        full_attention: { rope_type: 'linear', factor: 8, rope_theta: 1000000 },
        sliding_attention: { rope_type: 'default', rope_theta: 100 },
      },
      rope_theta: undefined,
    }),
  ],
  embeddinggemma: [
    'BF16',
    gemma3({
      architectures: ['Gemma3TextModel'],
      layer_types: [...sliding, 'full_attention', 'sliding_attention'],
      rope_local_base_freq: 100,
      rope_scaling: null,
      rope_theta: 1000000,
      sliding_window: 8,
      use_bidirectional_attention: true,
    }),
  ],
  'gemma3-images': ['BF16', gemma3Images(), { images: true }],
};

// EmbeddingGemma: tokens see both sides, in layers that slide half of the window on each.
const seesBoth = (c) => c.use_bidirectional_attention === true;

export const tensors = tensorsWith({ ...parts, sandwich: true, headNorms: true });

// Every sixth layer sees everything, by slow and stretched frequencies; the others have a window and a base of their own.
const gemma3Type = (c, i) =>
  c.layer_types?.[i] ?? ((i + 1) % c.sliding_window_pattern === 0 ? 'full_attention' : 'sliding_attention');

export const reference = {
  ...gemma2,
  defaults: {
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: 256,
    rms_norm_eps: 1e-6,
    rope_local_base_freq: 10000,
    rope_theta: 1000000,
    sliding_window_pattern: 6,
    tie_word_embeddings: true,
  },
  seesBoth,
  window(c, i) {
    if (gemma3Type(c, i) === 'full_attention') return undefined;
    return seesBoth(c) ? Math.floor(c.sliding_window / 2) + 1 : c.sliding_window;
  },
  rope(c, i, tokens) {
    const type = gemma3Type(c, i);
    if (type === 'sliding_attention' && c.rope_parameters === undefined) {
      return ropeOfConfig(c, tokens, { parameters: { rope_theta: c.rope_local_base_freq } });
    }
    return ropeOfConfig(c, tokens, { type });
  },
  weights: withHeadNorms(gemma2.weights),
};
