// Phi-3: fused projections, LongRoPE.
import { headDimOf, kvHeadsOf, ropeOfConfig } from '../reference/config.mjs';
import { slice } from '../reference/weights.mjs';
import { decoder } from '../tiny/configs.mjs';
import { matrix, sharper } from '../tiny/shapes.mjs';
import { reference as llama, tensorsWith } from './llama.mjs';

export const modelType = 'phi3';

const phi3 = (fields) =>
  decoder('phi3', 'Phi3ForCausalLM', {
    attention_bias: false,
    embd_pdrop: 0,
    max_position_embeddings: 64,
    num_attention_heads: 3,
    num_key_value_heads: 1,
    original_max_position_embeddings: 64,
    pad_token_id: 0,
    resid_pdrop: 0,
    rope_scaling: null,
    sliding_window: 7,
    ...fields,
  });

const longrope = {
  original_max_position_embeddings: 16,
  sliding_window: 262144,
};

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  phi3: ['BF16', phi3({})],
  'phi3-longrope': [
    'F32',
    phi3({
      ...longrope,
      max_position_embeddings: 128,
      rope_scaling: {
        long_factor: [1.1, 1.9, 3.2, 6.5, 11, 23],
        short_factor: [1, 1.05, 1.2, 1.4, 2, 2.5],
        type: 'longrope',
      },
    }),
  ],
  'phi3-partial': [
    'F16',
    phi3({
      ...longrope,
      num_attention_heads: 2,
      max_position_embeddings: 128,
      hidden_size: 48,
      partial_rotary_factor: 0.75,
      rope_scaling: {
        long_factor: [1, 1.3, 2.2, 4.5, 9, 13, 21, 30, 47],
        short_factor: [1, 1, 1.1, 1.2, 1.4, 1.7, 2, 2.5, 3],
        type: 'longrope',
      },
      tie_word_embeddings: true,
    }),
  ],
};

export const tensors = tensorsWith({
  projections: (c, at) => [
    matrix(`${at}qkv_proj`, (c.num_attention_heads + 2 * kvHeadsOf(c)) * headDimOf(c), c.hidden_size, sharper),
  ],
  feedForward: (c, at) => [
    matrix(`${at}gate_up_proj`, 2 * c.intermediate_size, c.hidden_size),
    matrix(`${at}down_proj`, c.hidden_size, c.intermediate_size),
  ],
});

// Queries, keys and values in one matrix, one after the other; so the gate and what it lets through.
function weights(w, at, c) {
  const headDim = headDimOf(c);
  const [queries, keys] = [c.num_attention_heads * headDim, kvHeadsOf(c) * headDim];
  const qkv = w.linear(`${at}self_attn.qkv_proj`);
  const gateUp = w.linear(`${at}mlp.gate_up_proj`);
  return {
    attentionNorm: w.norm(`${at}input_layernorm`),
    query: slice(qkv, 0, queries),
    key: slice(qkv, queries, queries + keys),
    value: slice(qkv, queries + keys),
    output: w.linear(`${at}self_attn.o_proj`),
    feedForwardNorm: w.norm(`${at}post_attention_layernorm`),
    gate: slice(gateUp, 0, c.intermediate_size),
    up: slice(gateUp, c.intermediate_size),
    down: w.linear(`${at}mlp.down_proj`),
  };
}

export const reference = {
  ...llama,
  window: (c) => c.sliding_window ?? undefined,
  rope: (c, _, tokens) => ropeOfConfig(c, tokens, { fraction: c.partial_rotary_factor ?? 1 }),
  weights,
};
