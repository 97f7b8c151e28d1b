// Command R, after modeling_cohere.py: one layer norm without a bias for both parts, which are side by side; neighbours are
// pairs; scaled logits.
import { headDimOf, kvHeadsOf, ropeOfConfig } from '../reference/config.mjs';
import { decoder } from '../tiny/configs.mjs';
import { reference as llama, tensorsWith } from './llama.mjs';

export const modelType = 'cohere';

/** A config.json of either model, with the fields of CohereForAI/c4ai-command-r-v01's. */
export const command = (type, architecture, fields) =>
  decoder(type, architecture, {
    attention_bias: false,
    layer_norm_eps: 1e-5,
    logit_scale: 0.25,
    rms_norm_eps: undefined,
    tie_word_embeddings: undefined,
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  cohere: ['F16', command('cohere', 'CohereForCausalLM', { rope_theta: 8000000, use_qk_norm: false })],
  // The fields of CohereForAI/c4ai-command-r-plus's.
  'cohere-normed': ['BF16', command('cohere', 'CohereForCausalLM', { rope_theta: 75000000, use_qk_norm: true })],
  'cohere-biases': [
    'F32',
    command('cohere', 'CohereForCausalLM', {
      ...{ attention_bias: true, logit_scale: undefined, num_key_value_heads: 6, tie_word_embeddings: true },
    }),
  ],
};

// The second norm of LLaMA's layers is missing.
export const tensors = (c) => [
  ...tensorsWith({})(c).filter(([name]) => !name.includes('post_attention_layernorm')),
  ...Array.from({ length: c.use_qk_norm ? c.num_hidden_layers : 0 }, (_, i) =>
    [c.num_attention_heads, kvHeadsOf(c)].map((count, k) => [
      `model.layers.${i}.self_attn.${'qk'[k]}_norm.weight`,
      ...[[count, headDimOf(c)], 0.3, 1],
    ]),
  ).flat(),
];

// A row of weights for each head.
const normsOf = (w, name) => w.matrix(`${name}.weight`).map((weight) => ({ weight }));

export const reference = {
  ...llama,
  defaults: { tie_word_embeddings: true },
  norm: (c) => ({ kind: 'layer', eps: c.layer_norm_eps }),
  rope: (c, _, tokens) => ropeOfConfig(c, tokens, { pairing: 'interleaved' }),
  parallel: () => true,
  logitScale: (c) => c.logit_scale ?? 0.0625,
  weights: (w, at, c) => ({
    attentionNorm: w.norm(`${at}input_layernorm`),
    query: w.linear(`${at}self_attn.q_proj`),
    key: w.linear(`${at}self_attn.k_proj`),
    value: w.linear(`${at}self_attn.v_proj`),
    ...(c.use_qk_norm && {
      queryNorm: normsOf(w, `${at}self_attn.q_norm`),
      keyNorm: normsOf(w, `${at}self_attn.k_norm`),
    }),
    output: w.linear(`${at}self_attn.o_proj`),
    gate: w.linear(`${at}mlp.gate_proj`),
    up: w.linear(`${at}mlp.up_proj`),
    down: w.linear(`${at}mlp.down_proj`),
  }),
};
