// Command R7B, after modeling_cohere2.py: layers with a window and RoPE, and every fourth with neither.
import { reference as cohere, command, tensors } from './cohere.mjs';

export { tensors };

export const modelType = 'cohere2';

// The fields of CohereForAI/c4ai-command-r7b-12-2024's config.json.
const r7b = (fields) =>
  command('cohere2', 'Cohere2ForCausalLM', {
    cache_implementation: 'hybrid',
    head_dim: 10,
    layer_switch: 4,
    num_hidden_layers: 4,
    order_of_interleaved_layers: 'local_attn_first',
    position_embedding_type: 'rope_gptj',
    rope_scaling: null,
    rope_theta: 50000,
    rotary_pct: 1,
    sliding_window: 5,
    sliding_window_pattern: 4,
    use_embedding_sharing: true,
    use_gated_activation: true,
    use_parallel_block: true,
    use_parallel_embedding: true,
    use_qk_norm: false,
    ...fields,
  });

const [slides, full] = ['sliding_attention', 'full_attention'];

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  cohere2: ['BF16', r7b({})],
  'cohere2-types': [
    'F32',
    r7b({
      layer_types: [slides, full, slides],
      num_hidden_layers: 3,
      num_key_value_heads: 1,
      rope_theta: undefined,
      sliding_window_pattern: undefined,
    }),
  ],
};

const isFull = (c, i) =>
  c.layer_types === undefined ? (i + 1) % c.sliding_window_pattern === 0 : c.layer_types[i] === full;

export const reference = {
  ...cohere,
  defaults: { ...cohere.defaults, rope_theta: 10000 },
  window: (c, i) => (isFull(c, i) ? undefined : c.sliding_window),
  rope: (c, i, tokens) => (isFull(c, i) ? undefined : cohere.rope(c, i, tokens)),
};
