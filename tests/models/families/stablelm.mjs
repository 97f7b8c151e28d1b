// StableLM, after modeling_stablelm.py: LLaMA with layer norms and a quarter of each head that rotates.
import { kvHeadsOf, ropeOfConfig } from '../reference/config.mjs';
import { decoder } from '../tiny/configs.mjs';
import { dense, layerNorm, matrix, scale, sharper } from '../tiny/shapes.mjs';
import { reference as llama } from './llama.mjs';

export const modelType = 'stablelm';

// The fields of stabilityai/stablelm-2-1_6b's config.json.
const stablelm = (fields) =>
  decoder('stablelm', 'StableLmForCausalLM', {
    hidden_dropout: 0,
    hidden_size: 48,
    layer_norm_eps: 1e-5,
    num_attention_heads: 3,
    num_key_value_heads: 3,
    partial_rotary_factor: 0.25,
    qk_layernorm: false,
    rms_norm_eps: undefined,
    use_parallel_residual: false,
    use_qkv_bias: true,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  stablelm: ['F16', stablelm({})],
  // The fields of stabilityai/stablelm-2-12b's.
  'stablelm-normed': ['BF16', stablelm({ num_key_value_heads: 1, qk_layernorm: true, use_parallel_residual: true })],
  'stablelm-parallel': [
    'F32',
    stablelm({ num_key_value_heads: 1, use_parallel_residual: true, use_qkv_bias: undefined, rope_theta: 50000 }),
  ],
};

export function tensors(c) {
  const [width, wide] = [c.hidden_size, c.intermediate_size];
  const keys = (kvHeadsOf(c) * width) / c.num_attention_heads;
  const map = (...given) => (c.use_qkv_bias ? dense(...given) : [matrix(...given)]);
  const headNorms = (name, count) =>
    Array.from({ length: c.qk_layernorm ? count : 0 }, (_, h) =>
      scale(`${name}.norms.${h}.weight`, width / c.num_attention_heads),
    );
  const layer = (i) => {
    const at = `model.layers.${i}.`;
    return [
      ...layerNorm(`${at}input_layernorm`, width),
      ...map(`${at}self_attn.q_proj`, width, width, sharper),
      ...map(`${at}self_attn.k_proj`, keys, width, sharper),
      ...map(`${at}self_attn.v_proj`, keys, width),
      ...headNorms(`${at}self_attn.q_layernorm`, c.num_attention_heads),
      ...headNorms(`${at}self_attn.k_layernorm`, kvHeadsOf(c)),
      matrix(`${at}self_attn.o_proj`, width, width),
      ...(c.use_parallel_residual ? [] : layerNorm(`${at}post_attention_layernorm`, width)),
      matrix(`${at}mlp.gate_proj`, wide, width),
      matrix(`${at}mlp.up_proj`, wide, width),
      matrix(`${at}mlp.down_proj`, width, wide),
    ];
  };
  return [
    ['model.embed_tokens.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...layerNorm('model.norm', width),
    matrix('lm_head', c.vocab_size, width, 2),
  ];
}

// Each head has a norm of its own.
const normsOf = (w, name, count) => Array.from({ length: count }, (_, h) => w.norm(`${name}.norms.${h}`));

export const reference = {
  ...llama,
  norm: (c) => ({ kind: 'layer', eps: c.layer_norm_eps }),
  rope: (c, _, tokens) => ropeOfConfig(c, tokens, { fraction: c.partial_rotary_factor }),
  parallel: (c) => c.use_parallel_residual,
  weights: (w, at, c) => ({
    attentionNorm: w.norm(`${at}input_layernorm`),
    query: w.linear(`${at}self_attn.q_proj`),
    key: w.linear(`${at}self_attn.k_proj`),
    value: w.linear(`${at}self_attn.v_proj`),
    ...(c.qk_layernorm && {
      queryNorm: normsOf(w, `${at}self_attn.q_layernorm`, c.num_attention_heads),
      keyNorm: normsOf(w, `${at}self_attn.k_layernorm`, kvHeadsOf(c)),
    }),
    output: w.linear(`${at}self_attn.o_proj`),
    ...(w.has(`${at}post_attention_layernorm.weight`) && {
      feedForwardNorm: w.norm(`${at}post_attention_layernorm`),
    }),
    gate: w.linear(`${at}mlp.gate_proj`),
    up: w.linear(`${at}mlp.up_proj`),
    down: w.linear(`${at}mlp.down_proj`),
  }),
};
