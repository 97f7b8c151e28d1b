// LLaMA 2 and 3.
import { headDimOf, kvHeadsOf, ropeOfConfig } from '../reference/config.mjs';
import { decoder } from '../tiny/configs.mjs';
import { dense, matrix, scale, sharper } from '../tiny/shapes.mjs';

export const modelType = 'llama';

const llama = (fields) =>
  decoder('llama', 'LlamaForCausalLM', {
    attention_bias: false,
    mlp_bias: false,
    pretraining_tp: 1,
    rope_scaling: null,
    ...fields,
  });

const llama3Scaling = {
  factor: 8,
  high_freq_factor: 4,
  low_freq_factor: 1,
  original_max_position_embeddings: 32,
  rope_type: 'llama3',
};

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  llama2: [
    'F16',
    llama({
      attention_bias: undefined,
      max_position_embeddings: 48,
      mlp_bias: undefined,
      num_key_value_heads: 6,
      rope_theta: undefined,
    }),
  ],
  llama3: ['BF16', llama({ rope_scaling: llama3Scaling, rope_theta: 500000, tie_word_embeddings: true })],
  'llama-biases': [
    'F32',
    llama({
      attention_bias: true,
      head_dim: 8,
      mlp_bias: true,
      rope_parameters: { ...llama3Scaling, rope_theta: 500000 },
      rope_scaling: undefined,
      rope_theta: undefined,
    }),
  ],
  'llama-linear': ['F32', llama({ num_key_value_heads: undefined, rope_scaling: { type: 'linear', factor: 4 } })],
  // Falcon 3 and SmolLM2 are of this class too.
  falcon3: ['BF16', llama({ head_dim: 16, num_attention_heads: 3, num_key_value_heads: 1, rope_theta: 1000042 })],
  'llama-dynamic': ['F32', llama({ max_position_embeddings: 16, rope_scaling: { type: 'dynamic', factor: 3 } })],
};

const some = (name, outputs, inputs, biased, factor) =>
  biased ? dense(name, outputs, inputs, factor) : [matrix(name, outputs, inputs, factor)];

/** The settings of tensors that a family may change. */
export const parts = {
  /** Mean of the norms' weights. */
  normMean: 1,
  /** Standard deviation of the token vectors. */
  tokens: () => 1,
  headNorms: false,
  sandwich: false,
  projections(c, at, biased = c.attention_bias) {
    const [heads, kvHeads] = [c.num_attention_heads, kvHeadsOf(c)].map((count) => count * headDimOf(c));
    return [
      ...some(`${at}q_proj`, heads, c.hidden_size, biased, sharper),
      ...some(`${at}k_proj`, kvHeads, c.hidden_size, biased, sharper),
      ...some(`${at}v_proj`, kvHeads, c.hidden_size, biased),
    ];
  },
  feedForward: (c, at) => [
    ...some(`${at}gate_proj`, c.intermediate_size, c.hidden_size, c.mlp_bias),
    ...some(`${at}up_proj`, c.intermediate_size, c.hidden_size, c.mlp_bias),
    ...some(`${at}down_proj`, c.hidden_size, c.intermediate_size, c.mlp_bias),
  ],
};

/** The tensors of LLaMA with a family's changes. */
export const tensorsWith = (own) => (c) => {
  const { normMean, tokens, headNorms, sandwich, projections, feedForward } = { ...parts, ...own };
  const width = c.hidden_size;
  const headDim = headDimOf(c);
  const norm = (name, length) => scale(`${name}.weight`, length, normMean);
  const layer = (i) => {
    const at = `model.layers.${i}.`;
    return [
      norm(`${at}input_layernorm`, width),
      ...projections(c, `${at}self_attn.`),
      ...some(`${at}self_attn.o_proj`, width, c.num_attention_heads * headDim, c.attention_bias),
      ...(headNorms ? [norm(`${at}self_attn.q_norm`, headDim), norm(`${at}self_attn.k_norm`, headDim)] : []),
      norm(`${at}post_attention_layernorm`, width),
      ...(sandwich ? [norm(`${at}pre_feedforward_layernorm`, width)] : []),
      ...(sandwich ? [norm(`${at}post_feedforward_layernorm`, width)] : []),
      ...feedForward(c, `${at}mlp.`),
    ];
  };
  return [
    ['model.embed_tokens.weight', [c.vocab_size, width], tokens(c)],
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    norm('model.norm', width),
    ...((c.tie_word_embeddings ?? true) ? [] : [matrix('lm_head', c.vocab_size, width, 2)]),
  ];
};

export const tensors = tensorsWith({});

export const reference = {
  /** Defaults of the class. */
  defaults: { rope_theta: 10000, tie_word_embeddings: false },
  norm: (c) => ({ kind: 'rms', eps: c.rms_norm_eps, plusOne: false }),
  activation: (c) => c.hidden_act,
  embedScale: () => 1,
  scale: (c) => 1 / Math.sqrt(headDimOf(c)),
  /** Number of tokens visible to a query, including itself; undefined for all earlier ones. */
  window: () => undefined,
  rope: (c, _, tokens) => ropeOfConfig(c, tokens),
  names: {
    base: 'model.',
    embed: 'model.embed_tokens.weight',
    finalNorm: 'model.norm',
    head: 'lm_head',
  },
  weights(w, at) {
    return {
      attentionNorm: w.norm(`${at}input_layernorm`),
      query: w.linear(`${at}self_attn.q_proj`),
      key: w.linear(`${at}self_attn.k_proj`),
      value: w.linear(`${at}self_attn.v_proj`),
      output: w.linear(`${at}self_attn.o_proj`),
      feedForwardNorm: w.norm(`${at}post_attention_layernorm`),
      gate: w.linear(`${at}mlp.gate_proj`),
      up: w.linear(`${at}mlp.up_proj`),
      down: w.linear(`${at}mlp.down_proj`),
    };
  },
};

/** Adds the norms of queries and keys to a family's weights. */
export const withHeadNorms = (weights) => (w, at, c) => ({
  ...weights(w, at, c),
  queryNorm: w.norm(`${at}self_attn.q_norm`),
  keyNorm: w.norm(`${at}self_attn.k_norm`),
});
