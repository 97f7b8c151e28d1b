// OLMo 2, after modeling_olmo2.py: norms after both parts, none before; norms of queries and keys over all heads.
import { headDimOf, kvHeadsOf } from '../reference/config.mjs';
import { decoder } from '../tiny/configs.mjs';
import { matrix, scale, sharper } from '../tiny/shapes.mjs';
import { reference as llama } from './llama.mjs';

export const modelType = 'olmo2';

/** A config.json of OLMo 2 or 3, with the fields of allenai/OLMo-2-1124-7B's. */
export const olmo = (type, architecture, fields) =>
  decoder(type, architecture, {
    attention_bias: false,
    num_key_value_heads: 6,
    pad_token_id: 1,
    rms_norm_eps: 1e-6,
    rope_scaling: null,
    rope_theta: 500000,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  olmo2: ['F32', olmo('olmo2', 'Olmo2ForCausalLM', {})],
  'olmo2-grouped': ['BF16', olmo('olmo2', 'Olmo2ForCausalLM', { num_key_value_heads: 2, rope_theta: undefined })],
};

export function tensors(c) {
  const [width, wide, headDim] = [c.hidden_size, c.intermediate_size, headDimOf(c)];
  const [queries, keys] = [c.num_attention_heads * headDim, kvHeadsOf(c) * headDim];
  const layer = (i) => {
    const at = `model.layers.${i}.`;
    return [
      matrix(`${at}self_attn.q_proj`, queries, width, sharper),
      matrix(`${at}self_attn.k_proj`, keys, width, sharper),
      matrix(`${at}self_attn.v_proj`, keys, width),
      matrix(`${at}self_attn.o_proj`, width, queries),
      scale(`${at}self_attn.q_norm.weight`, queries),
      scale(`${at}self_attn.k_norm.weight`, keys),
      scale(`${at}post_attention_layernorm.weight`, width),
      matrix(`${at}mlp.gate_proj`, wide, width),
      matrix(`${at}mlp.up_proj`, wide, width),
      matrix(`${at}mlp.down_proj`, width, wide),
      scale(`${at}post_feedforward_layernorm.weight`, width),
    ];
  };
  return [
    ['model.embed_tokens.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    scale('model.norm.weight', width),
    matrix('lm_head', c.vocab_size, width, 2),
  ];
}

export const reference = {
  ...llama,
  weights: (w, at) => ({
    query: w.linear(`${at}self_attn.q_proj`),
    key: w.linear(`${at}self_attn.k_proj`),
    value: w.linear(`${at}self_attn.v_proj`),
    queryNorm: w.norm(`${at}self_attn.q_norm`),
    keyNorm: w.norm(`${at}self_attn.k_norm`),
    output: w.linear(`${at}self_attn.o_proj`),
    attentionAfterNorm: w.norm(`${at}post_attention_layernorm`),
    gate: w.linear(`${at}mlp.gate_proj`),
    up: w.linear(`${at}mlp.up_proj`),
    down: w.linear(`${at}mlp.down_proj`),
    feedForwardAfterNorm: w.norm(`${at}post_feedforward_layernorm`),
  }),
};
