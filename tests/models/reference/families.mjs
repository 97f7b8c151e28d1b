// What sets the decoders apart: numbers that their classes of Hugging Face take from a config.json, and where the
// weights of a layer stand in the file.
import { ropeOf } from './rope.mjs';
import { slice } from './weights.mjs';

const headDimOf = (c) => c.head_dim ?? c.hidden_size / c.num_attention_heads;
const kvHeadsOf = (c) => c.num_key_value_heads ?? c.num_attention_heads;

// Both spellings: rope_parameters of all layers or of each type, or rope_theta beside rope_scaling.
function ropeParameters(c, type) {
  const now = c.rope_parameters;
  if (now !== undefined) return now[type] ?? now;
  return { rope_theta: c.rope_theta, ...c.rope_scaling };
}

/** Rotary encoding of a layer; `fraction` of each head is turned, the first coordinates. */
function rope(c, tokens, { type, parameters = ropeParameters(c, type), fraction = 1 } = {}) {
  const [maxPositions, originalPositions] = [c.max_position_embeddings, c.original_max_position_embeddings];
  const dim = Math.floor(headDimOf(c) * fraction);
  return { ...ropeOf(dim, parameters, { tokens, maxPositions, originalPositions }), pairing: 'half' };
}

const llama = {
  /** What the class has where the file says nothing. */
  defaults: { rope_theta: 10000, tie_word_embeddings: false },
  norm: (c) => ({ kind: 'rms', eps: c.rms_norm_eps, plusOne: false }),
  activation: (c) => c.hidden_act,
  embedScale: () => 1,
  scale: (c) => 1 / Math.sqrt(headDimOf(c)),
  /** How many tokens a query sees, itself counted, or undefined for all before it. */
  window: () => undefined,
  rope: (c, _, tokens) => rope(c, tokens),
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

const withHeadNorms = (weights) => (w, at, c) => ({
  ...weights(w, at, c),
  queryNorm: w.norm(`${at}self_attn.q_norm`),
  keyNorm: w.norm(`${at}self_attn.k_norm`),
});

// Norms before and after both parts; the name post_attention_layernorm then means what it says.
const sandwich = (w, at, c) => ({
  ...llama.weights(w, at, c),
  attentionAfterNorm: w.norm(`${at}post_attention_layernorm`),
  feedForwardNorm: w.norm(`${at}pre_feedforward_layernorm`),
  feedForwardAfterNorm: w.norm(`${at}post_feedforward_layernorm`),
});

const qwenWindow = (c, i) => (c.use_sliding_window && i >= c.max_window_layers ? c.sliding_window : undefined);

const gemma = {
  ...llama,
  defaults: { ...llama.defaults, tie_word_embeddings: true },
  norm: (c) => ({ kind: 'rms', eps: c.rms_norm_eps, plusOne: true }),
  activation: (c) => c.hidden_activation ?? c.hidden_act,
  embedScale: (c) => Math.sqrt(c.hidden_size),
};

const gemma2 = {
  ...gemma,
  scale: (c) => 1 / Math.sqrt(c.query_pre_attn_scalar),
  window: (c, i) => (i % 2 === 0 ? c.sliding_window : undefined),
  weights: sandwich,
};

// Every sixth layer sees everything, by slow and stretched frequencies; the others have a window and a base of their own.
const gemma3Type = (c, i) =>
  c.layer_types?.[i] ?? ((i + 1) % c.sliding_window_pattern === 0 ? 'full_attention' : 'sliding_attention');

const gemma3 = {
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
  window: (c, i) => (gemma3Type(c, i) === 'sliding_attention' ? c.sliding_window : undefined),
  rope(c, i, tokens) {
    const type = gemma3Type(c, i);
    if (type === 'sliding_attention' && c.rope_parameters === undefined) {
      return rope(c, tokens, { parameters: { rope_theta: c.rope_local_base_freq } });
    }
    return rope(c, tokens, { type });
  },
  weights: withHeadNorms(sandwich),
};

// A 1 in no_rope_layers means that the layer has RoPE. A window, if in use, is for those that have none.
const smollm3Turns = (c, i) => (c.no_rope_layers?.[i] ?? (i + 1) % c.no_rope_layer_interval) !== 0;

// Queries, keys and values in one matrix, one after the other; so the gate and what it lets through.
function phi3Weights(w, at, c) {
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

// One matrix too, but head by head: query, key and value rows of head 0, then those of head 1.
function neoxWeights(w, at, c) {
  const headDim = headDimOf(c);
  const { weight, bias } = w.linear(`${at}attention.query_key_value`);
  const rowsOf = (which) =>
    Array.from({ length: c.num_attention_heads * headDim }, (_, o) => {
      const [head, d] = [Math.floor(o / headDim), o % headDim];
      return (3 * head + which) * headDim + d;
    });
  const part = (which) => ({
    weight: rowsOf(which).map((r) => weight[r]),
    bias: Float64Array.from(rowsOf(which), (r) => bias[r]),
  });
  return {
    attentionNorm: w.norm(`${at}input_layernorm`),
    query: part(0),
    key: part(1),
    value: part(2),
    output: w.linear(`${at}attention.dense`),
    feedForwardNorm: w.norm(`${at}post_attention_layernorm`),
    up: w.linear(`${at}mlp.dense_h_to_4h`),
    down: w.linear(`${at}mlp.dense_4h_to_h`),
  };
}

const neox = {
  ...llama,
  norm: (c) => ({ kind: 'layer', eps: c.layer_norm_eps }),
  rope: (c, _, tokens) => rope(c, tokens, { parameters: { rope_theta: c.rotary_emb_base }, fraction: c.rotary_pct }),
  parallel: (c) => c.use_parallel_residual,
  names: {
    base: 'gpt_neox.',
    embed: 'gpt_neox.embed_in.weight',
    finalNorm: 'gpt_neox.final_layer_norm',
    head: 'embed_out',
  },
  weights: neoxWeights,
};

/** By model_type. */
export const families = {
  llama,
  mistral: { ...llama, window: (c) => c.sliding_window ?? undefined },
  qwen2: { ...llama, window: qwenWindow },
  qwen3: { ...llama, window: qwenWindow, weights: withHeadNorms(llama.weights) },
  gemma,
  gemma2,
  gemma3_text: gemma3,
  phi3: {
    ...llama,
    window: (c) => c.sliding_window ?? undefined,
    rope: (c, _, tokens) => rope(c, tokens, { fraction: c.partial_rotary_factor ?? 1 }),
    weights: phi3Weights,
  },
  smollm3: {
    ...llama,
    defaults: { ...llama.defaults, no_rope_layer_interval: 4, tie_word_embeddings: true },
    window: (c, i) => (c.use_sliding_window && !smollm3Turns(c, i) ? c.sliding_window : undefined),
    rope: (c, i, tokens) => (smollm3Turns(c, i) ? rope(c, tokens) : undefined),
  },
  gpt_neox: neox,
};

export { headDimOf, kvHeadsOf };
