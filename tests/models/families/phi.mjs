// Phi 1, 1.5 and 2, after modeling_phi.py: one layer norm for both parts, biases everywhere, also in the head.
import { headDimOf, kvHeadsOf, ropeOfConfig } from '../reference/config.mjs';
import { decoder } from '../tiny/configs.mjs';
import { dense, layerNorm, sharper } from '../tiny/shapes.mjs';
import { reference as llama } from './llama.mjs';

export const modelType = 'phi';

// The fields of microsoft/phi-2's config.json.
const phi = (fields) =>
  decoder('phi', 'PhiForCausalLM', {
    attention_dropout: 0,
    embd_pdrop: 0,
    hidden_act: 'gelu_new',
    layer_norm_eps: 1e-5,
    num_attention_heads: 3,
    num_key_value_heads: 3,
    partial_rotary_factor: 0.67,
    qk_layernorm: false,
    resid_pdrop: 0.1,
    rms_norm_eps: undefined,
    rope_scaling: null,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  phi: ['F16', phi({})],
  'phi-normed': ['BF16', phi({ num_key_value_heads: 1, qk_layernorm: true })],
  'phi-grouped': ['F32', phi({ hidden_act: 'gelu', num_key_value_heads: 1 })],
};

export function tensors(c) {
  const [width, wide, headDim] = [c.hidden_size, c.intermediate_size, headDimOf(c)];
  const layer = (i) => {
    const at = `model.layers.${i}.`;
    return [
      ...layerNorm(`${at}input_layernorm`, width),
      ...dense(`${at}self_attn.q_proj`, width, width, sharper),
      ...dense(`${at}self_attn.k_proj`, kvHeadsOf(c) * headDim, width, sharper),
      ...dense(`${at}self_attn.v_proj`, kvHeadsOf(c) * headDim, width),
      ...(c.qk_layernorm ? ['q', 'k'].flatMap((part) => layerNorm(`${at}self_attn.${part}_layernorm`, headDim)) : []),
      ...dense(`${at}self_attn.dense`, width, width),
      ...dense(`${at}mlp.fc1`, wide, width),
      ...dense(`${at}mlp.fc2`, width, wide),
    ];
  };
  return [
    ['model.embed_tokens.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...layerNorm('model.final_layernorm', width),
    ...dense('lm_head', c.vocab_size, width, 2),
  ];
}

export const reference = {
  ...llama,
  norm: (c) => ({ kind: 'layer', eps: c.layer_norm_eps }),
  rope: (c, _, tokens) => ropeOfConfig(c, tokens, { fraction: c.partial_rotary_factor }),
  parallel: () => true,
  names: { ...llama.names, finalNorm: 'model.final_layernorm' },
  weights: (w, at, c) => ({
    attentionNorm: w.norm(`${at}input_layernorm`),
    query: w.linear(`${at}self_attn.q_proj`),
    key: w.linear(`${at}self_attn.k_proj`),
    value: w.linear(`${at}self_attn.v_proj`),
    output: w.linear(`${at}self_attn.dense`),
    ...(c.qk_layernorm && {
      queryNorm: w.norm(`${at}self_attn.q_layernorm`),
      keyNorm: w.norm(`${at}self_attn.k_layernorm`),
    }),
    up: w.linear(`${at}mlp.fc1`),
    down: w.linear(`${at}mlp.fc2`),
  }),
};
