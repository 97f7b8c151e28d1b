// Tiny models as GGUF files, converted as llama.cpp's convert_hf_to_gguf.py does it.
import { writeGguf } from '../../ts/support/gguf.mjs';
import { decode } from './numbers.mjs';

const architectures = {
  ...{ gpt_neox: 'gptneox', gemma3_text: 'gemma3', mistral: 'llama', nomic_bert: 'nomic-bert' },
  ...{ phi: 'phi2', cohere: 'command-r', olmo3: 'olmo2', modernbert: 'modern-bert' },
  ...{ mixtral: 'llama', qwen3_moe: 'qwen3moe' },
};

const decoderNames = [
  [/^model\.embed_tokens/, 'token_embd'],
  [/^model\.norm/, 'output_norm'],
  [/^lm_head/, 'output'],
  [/^model\.layers\.(\d+)\.input_layernorm/, 'blk.$1.attn_norm'],
  [/^model\.layers\.(\d+)\.self_attn\.([qkv])_proj/, 'blk.$1.attn_$2'],
  [/^model\.layers\.(\d+)\.self_attn\.([qk])_(?:layer)?norm/, 'blk.$1.attn_$2_norm'],
  [/^model\.layers\.(\d+)\.self_attn\.qkv_proj/, 'blk.$1.attn_qkv'],
  [/^model\.layers\.(\d+)\.self_attn\.o_proj/, 'blk.$1.attn_output'],
  [/^model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj/, 'blk.$1.ffn_$2'],
  [/^model\.layers\.(\d+)\.mlp\.gate_up_proj/, 'blk.$1.ffn_up'],
];
const expertNames = [
  [/^model\.layers\.(\d+)\.(?:block_sparse_moe|mlp)\.gate/, 'blk.$1.ffn_gate_inp'],
  [/^model\.layers\.(\d+)\.(?:block_sparse_moe|mlp)\.experts\.(?:w1|gate_proj)/, 'blk.$1.ffn_gate_exps'],
  [/^model\.layers\.(\d+)\.(?:block_sparse_moe|mlp)\.experts\.(?:w3|up_proj)/, 'blk.$1.ffn_up_exps'],
  [/^model\.layers\.(\d+)\.(?:block_sparse_moe|mlp)\.experts\.(?:w2|down_proj)/, 'blk.$1.ffn_down_exps'],
];
const plainNorms = [[/^model\.layers\.(\d+)\.post_attention_layernorm/, 'blk.$1.ffn_norm']];
const sandwichNorms = [
  [/^model\.layers\.(\d+)\.post_attention_layernorm/, 'blk.$1.post_attention_norm'],
  [/^model\.layers\.(\d+)\.pre_feedforward_layernorm/, 'blk.$1.ffn_norm'],
  [/^model\.layers\.(\d+)\.post_feedforward_layernorm/, 'blk.$1.post_ffw_norm'],
];
const neoxNames = [
  [/^gpt_neox\.embed_in/, 'token_embd'],
  [/^gpt_neox\.final_layer_norm/, 'output_norm'],
  [/^embed_out/, 'output'],
  [/^gpt_neox\.layers\.(\d+)\.input_layernorm/, 'blk.$1.attn_norm'],
  [/^gpt_neox\.layers\.(\d+)\.post_attention_layernorm/, 'blk.$1.ffn_norm'],
  [/^gpt_neox\.layers\.(\d+)\.attention\.query_key_value/, 'blk.$1.attn_qkv'],
  [/^gpt_neox\.layers\.(\d+)\.attention\.dense/, 'blk.$1.attn_output'],
  [/^gpt_neox\.layers\.(\d+)\.mlp\.dense_h_to_4h/, 'blk.$1.ffn_up'],
  [/^gpt_neox\.layers\.(\d+)\.mlp\.dense_4h_to_h/, 'blk.$1.ffn_down'],
];
const phiNames = [
  ...decoderNames,
  [/^model\.final_layernorm/, 'output_norm'],
  [/^model\.layers\.(\d+)\.self_attn\.dense/, 'blk.$1.attn_output'],
  [/^model\.layers\.(\d+)\.mlp\.fc1/, 'blk.$1.ffn_up'],
  [/^model\.layers\.(\d+)\.mlp\.fc2/, 'blk.$1.ffn_down'],
];
const afterNorms = [sandwichNorms[0], sandwichNorms[2]];
const gpt2Names = [
  [/^(?:transformer\.)?wte/, 'token_embd'],
  [/^(?:transformer\.)?wpe/, 'position_embd'],
  [/^(?:transformer\.)?ln_f/, 'output_norm'],
  [/^(?:transformer\.)?h\.(\d+)\.ln_1/, 'blk.$1.attn_norm'],
  [/^(?:transformer\.)?h\.(\d+)\.ln_2/, 'blk.$1.ffn_norm'],
  [/^(?:transformer\.)?h\.(\d+)\.attn\.c_attn/, 'blk.$1.attn_qkv'],
  [/^(?:transformer\.)?h\.(\d+)\.attn\.c_proj/, 'blk.$1.attn_output'],
  [/^(?:transformer\.)?h\.(\d+)\.mlp\.c_fc/, 'blk.$1.ffn_up'],
  [/^(?:transformer\.)?h\.(\d+)\.mlp\.c_proj/, 'blk.$1.ffn_down'],
];
const bloomNames = [
  [/^transformer\.word_embeddings/, 'token_embd'],
  [/^transformer\.word_embeddings_layernorm/, 'token_embd_norm'],
  [/^transformer\.ln_f/, 'output_norm'],
  [/^transformer\.h\.(\d+)\.input_layernorm/, 'blk.$1.attn_norm'],
  [/^transformer\.h\.(\d+)\.post_attention_layernorm/, 'blk.$1.ffn_norm'],
  [/^transformer\.h\.(\d+)\.self_attention\.query_key_value/, 'blk.$1.attn_qkv'],
  [/^transformer\.h\.(\d+)\.self_attention\.dense/, 'blk.$1.attn_output'],
  [/^transformer\.h\.(\d+)\.mlp\.dense_h_to_4h/, 'blk.$1.ffn_up'],
  [/^transformer\.h\.(\d+)\.mlp\.dense_4h_to_h/, 'blk.$1.ffn_down'],
];
const mptNames = [
  [/^transformer\.wte/, 'token_embd'],
  [/^transformer\.norm_f/, 'output_norm'],
  [/^transformer\.blocks\.(\d+)\.norm_1/, 'blk.$1.attn_norm'],
  [/^transformer\.blocks\.(\d+)\.norm_2/, 'blk.$1.ffn_norm'],
  [/^transformer\.blocks\.(\d+)\.attn\.Wqkv/, 'blk.$1.attn_qkv'],
  [/^transformer\.blocks\.(\d+)\.attn\.out_proj/, 'blk.$1.attn_output'],
  [/^transformer\.blocks\.(\d+)\.ffn\.up_proj/, 'blk.$1.ffn_up'],
  [/^transformer\.blocks\.(\d+)\.ffn\.down_proj/, 'blk.$1.ffn_down'],
];
const bertNames = [
  [/^(bert\.)?embeddings\.word_embeddings/, 'token_embd'],
  [/^(bert\.)?embeddings\.position_embeddings/, 'position_embd'],
  [/^(bert\.)?embeddings\.token_type_embeddings/, 'token_types'],
  [/^(bert\.)?embeddings\.LayerNorm/, 'token_embd_norm'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.attention\.self\.query/, 'blk.$1.attn_q'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.attention\.self\.key/, 'blk.$1.attn_k'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.attention\.self\.value/, 'blk.$1.attn_v'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.attention\.output\.dense/, 'blk.$1.attn_output'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.attention\.output\.LayerNorm/, 'blk.$1.attn_output_norm'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.intermediate\.dense/, 'blk.$1.ffn_up'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.output\.dense/, 'blk.$1.ffn_down'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.output\.LayerNorm/, 'blk.$1.layer_output_norm'],
];

const jinaNames = [
  ...bertNames,
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.mlp\.gated_layers_w/, 'blk.$1.ffn_gate'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.mlp\.gated_layers(?:_v)?/, 'blk.$1.ffn_up'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.mlp\.wo/, 'blk.$1.ffn_down'],
  [/^(?:bert\.)?encoder\.layer\.(\d+)\.mlp\.layernorm/, 'blk.$1.layer_output_norm'],
];

const nomicNames = [
  [/^(bert\.)?embeddings\.word_embeddings/, 'token_embd'],
  [/^(bert\.)?embeddings\.token_type_embeddings/, 'token_types'],
  [/^(bert\.)?emb_ln/, 'token_embd_norm'],
  [/^(?:bert\.)?encoder\.layers\.(\d+)\.attn\.Wqkv/, 'blk.$1.attn_qkv'],
  [/^(?:bert\.)?encoder\.layers\.(\d+)\.attn\.out_proj/, 'blk.$1.attn_output'],
  [/^(?:bert\.)?encoder\.layers\.(\d+)\.norm1/, 'blk.$1.attn_output_norm'],
  [/^(?:bert\.)?encoder\.layers\.(\d+)\.mlp\.fc11/, 'blk.$1.ffn_up'],
  [/^(?:bert\.)?encoder\.layers\.(\d+)\.mlp\.fc12/, 'blk.$1.ffn_gate'],
  [/^(?:bert\.)?encoder\.layers\.(\d+)\.mlp\.fc2/, 'blk.$1.ffn_down'],
  [/^(?:bert\.)?encoder\.layers\.(\d+)\.norm2/, 'blk.$1.layer_output_norm'],
];

const modernNames = [
  [/^(?:model\.)?embeddings\.tok_embeddings/, 'token_embd'],
  [/^(?:model\.)?embeddings\.norm/, 'token_embd_norm'],
  [/^(?:model\.)?final_norm/, 'output_norm'],
  [/^(?:model\.)?layers\.(\d+)\.attn_norm/, 'blk.$1.attn_norm'],
  [/^(?:model\.)?layers\.(\d+)\.attn\.Wqkv/, 'blk.$1.attn_qkv'],
  [/^(?:model\.)?layers\.(\d+)\.attn\.Wo/, 'blk.$1.attn_output'],
  [/^(?:model\.)?layers\.(\d+)\.mlp_norm/, 'blk.$1.ffn_norm'],
  [/^(?:model\.)?layers\.(\d+)\.mlp\.Wi/, 'blk.$1.ffn_up'],
  [/^(?:model\.)?layers\.(\d+)\.mlp\.Wo/, 'blk.$1.ffn_down'],
];

// The fields that converters look up under several names.
const usual = (config) => ({ ...config, ...usualOf[config.model_type]?.(config) });
const gptSizes = (c) => ({
  ...{ hidden_size: c.n_embd ?? c.n_embed ?? c.hidden_size, num_hidden_layers: c.n_layer },
  ...{ num_attention_heads: c.n_head ?? c.num_attention_heads, layer_norm_eps: c.layer_norm_epsilon },
  max_position_embeddings: c.n_positions ?? c.seq_length,
});
const usualOf = {
  gpt2: (c) => ({ ...gptSizes(c), intermediate_size: c.n_inner ?? 4 * c.n_embd }),
  bloom: (c) => ({ ...gptSizes(c), intermediate_size: 4 * gptSizes(c).hidden_size }),
  mpt: (c) => ({
    ...{ hidden_size: c.d_model, num_hidden_layers: c.n_layers, num_attention_heads: c.n_heads },
    ...{ layer_norm_eps: 1e-5, max_position_embeddings: c.max_seq_len },
    intermediate_size: (c.expansion_ratio ?? 4) * c.d_model,
  }),
  modernbert: (c) => ({ layer_norm_eps: c.norm_eps, sliding_window: c.local_attention }),
  nomic_bert: (c) => ({
    ...{ hidden_size: c.n_embd, intermediate_size: c.n_inner, num_hidden_layers: c.n_layer },
    ...{ num_attention_heads: c.n_head, layer_norm_eps: c.layer_norm_epsilon },
    max_position_embeddings: c.max_trained_positions,
  }),
};

function namesOf(type) {
  if (type === 'nomic_bert') return nomicNames;
  if (type === 'modernbert') return modernNames;
  if (type === 'gpt_neox') return neoxNames;
  if (type === 'bert') return jinaNames;
  const own = { gpt2: gpt2Names, bloom: bloomNames, mpt: mptNames, phi: phiNames }[type];
  if (own !== undefined) return own;
  if (/^olmo/.test(type)) return [...decoderNames, ...afterNorms];
  if (/^(mixtral|qwen3_moe)$/.test(type)) return [...decoderNames, ...plainNorms, ...expertNames];
  return [...decoderNames, ...(/^gemma[23]/.test(type) ? sandwichNorms : plainNorms)];
}

// What converters leave out.
const dropped = /pooler|^cls\.|^head\.|^decoder\.|rotary_emb|masked_bias|\.(attention|attn)\.bias$|position_ids/;

function renamed(type, name) {
  const [, stem, end] = /^(.*)(\.(?:weight|bias|gamma|beta))$/.exec(name) ?? [];
  const found = namesOf(type).find(([pattern]) => stem !== undefined && new RegExp(`${pattern.source}$`).test(stem));
  if (found === undefined) throw new Error(`${name} of ${type} has no name in GGUF`);
  return (
    stem.replace(new RegExp(`${found[0].source}$`), found[1]) + end.replace('gamma', 'weight').replace('beta', 'bias')
  );
}

const rowsOf = ({ shape: [rows], data }) => data.length / rows;
const reordered = (tensor, from) => {
  const width = rowsOf(tensor);
  const data = tensor.data.slice();
  for (let row = 0; row < tensor.shape[0]; ++row) {
    data.set(tensor.data.subarray(from(row) * width, (from(row) + 1) * width), row * width);
  }
  return { ...tensor, data };
};

// LlamaModel.permute: the halves of each head's pairs side by side.
const permuted = (tensor, headDim) =>
  reordered(tensor, (row) => {
    const [head, within] = [Math.floor(row / headDim), row % headDim];
    return head * headDim + (within % 2) * (headDim / 2) + Math.floor(within / 2);
  });

// GPTNeoXModel: queries of all heads, then keys, then values.
const ungrouped = (tensor, heads, headDim) =>
  reordered(tensor, (row) => {
    const [part, rest] = [Math.floor(row / (heads * headDim)), row % (heads * headDim)];
    return (Math.floor(rest / headDim) * 3 + part) * headDim + (rest % headDim);
  });

const transposed = (tensor) => {
  const [rows, columns] = tensor.shape;
  const data = tensor.data.slice();
  for (let i = 0; i < data.length; ++i) data[(i % columns) * rows + Math.floor(i / columns)] = tensor.data[i];
  return { ...tensor, shape: [columns, rows], data };
};

const float32 = (tensor, change = (x) => x) => ({
  ...tensor,
  dtype: 'F32',
  data: Float32Array.from(decode(tensor.dtype, tensor.data), (x) => change(Math.fround(x))),
});

function tensorOf(name, tensor, config, headDim) {
  const { model_type: type, num_attention_heads: heads } = config;
  if (/norm/.test(name) && type.startsWith('gemma')) return float32(tensor, (x) => Math.fround(x + 1));
  const isTurned =
    ['llama', 'mistral', 'mixtral', 'smollm3', 'granite'].includes(type) && /self_attn\.[qk]_proj/.test(name);
  // GPT2Model: [outputs, inputs].
  if (type === 'gpt2' && /\.(c_attn|c_proj|c_fc)\.weight$/.test(name)) return transposed(tensor);
  const ordered = isTurned
    ? permuted(tensor, headDim)
    : name.includes('query_key_value')
      ? ungrouped(tensor, heads, headDim)
      : tensor;
  return tensor.shape.length === 1 ? float32(ordered) : ordered;
}

// LlamaModel's rope_freqs: how much llama3 divides each frequency.
function llama3Factors(rope, headDim) {
  const { factor, low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: length } = rope;
  return Array.from({ length: headDim / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * rope.rope_theta ** ((2 * i) / headDim);
    if (wavelength < length / high) return 1;
    if (wavelength > length / low) return factor;
    const smooth = (length / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

// What converters put into one tensor: the norms of StableLM's heads, and the maps of all experts.
function stacked(tensors) {
  const made = {};
  for (const [name, tensor] of Object.entries(tensors)) {
    const [, stem, index, end] =
      /^(.*_layernorm)\.norms\.(\d+)(\.weight)$/.exec(name) ?? /^(.*\.experts)\.(\d+)(\..*)$/.exec(name) ?? [];
    const { data = [] } = (index > 0 && made[stem + end]) || {};
    made[stem === undefined ? name : stem + end] =
      stem === undefined
        ? tensor
        : {
            ...tensor,
            shape: [Number(index) + 1, ...tensor.shape],
            data: tensor.data.constructor.from([...data, ...tensor.data]),
          };
  }
  return made;
}

// JinaBertV2Model: the gate, which is the first half, by itself.
function halved(tensors) {
  return Object.fromEntries(
    Object.entries(tensors).flatMap(([name, tensor]) => {
      const [stem, end] = name.split('mlp.gated_layers.');
      if (end === undefined) return [[name, tensor]];
      const [shape, half] = [[tensor.shape[0] / 2, tensor.shape[1]], tensor.data.length / 2];
      return [
        [`${stem}mlp.gated_layers_w.${end}`, { ...tensor, shape, data: tensor.data.slice(0, half) }],
        [`${stem}mlp.gated_layers_v.${end}`, { ...tensor, shape, data: tensor.data.slice(half) }],
      ];
    }),
  );
}

/**
 * The GGUF file of a tiny model. `quantize(name, tensor)` may give other tensors for the matrices, and
 * `change({ metadata, tensors })` other contents.
 */
export function ggufOf({ config: stated, tensors }, quantize = (_, tensor) => tensor, change = () => ({})) {
  const config = usual(stated);
  const type = config.model_type;
  const isJina = config.position_embedding_type === 'alibi';
  const at = isJina
    ? 'jina-bert-v2'
    : config.use_bidirectional_attention
      ? 'gemma-embedding'
      : (architectures[type] ?? type);
  const heads = config.num_attention_heads;
  const headDim = config.head_dim ?? config.hidden_size / heads;
  const rope = {
    rope_theta: config.rope_theta ?? config.global_rope_theta ?? config.rotary_emb_base ?? 10000,
    ...config.rope_scaling,
    ...(config.rope_parameters?.full_attention ?? config.rope_parameters),
  };
  const kind = rope.rope_type ?? rope.type ?? 'default';
  const fraction = config.rotary_pct ?? config.partial_rotary_factor ?? 1;
  const isBert = type === 'bert';
  const metadata = {
    'general.architecture': ['str', at],
    'general.name': ['str', 'tiny'],
    [`${at}.context_length`]: ['u32', config.max_position_embeddings],
    [`${at}.embedding_length`]: ['u32', config.hidden_size],
    [`${at}.block_count`]: ['u32', config.num_hidden_layers],
    [`${at}.feed_forward_length`]: ['u32', config.intermediate_size],
    [`${at}.attention.head_count`]: ['u32', heads],
    'tokenizer.ggml.model': ['str', 'none'],
  };
  const put = (key, valueType, value) => {
    if (value !== undefined && value !== null) metadata[`${at}.${key}`] = [valueType, value];
  };
  put('attention.head_count_kv', 'u32', config.num_key_value_heads);
  put('attention.layer_norm_rms_epsilon', 'f32', config.rms_norm_eps);
  put('attention.layer_norm_epsilon', 'f32', config.layer_norm_eps);
  put('attention.causal', 'bool', isBert || /^(nomic_|modern)bert$/.test(type) ? false : undefined);
  put('pooling_type', 'u32', type === 'nomic_bert' || config.use_bidirectional_attention ? 1 : undefined);
  put('expert_count', 'u32', config.num_local_experts ?? config.num_experts);
  put('expert_used_count', 'u32', config.num_experts_per_tok);
  put('expert_feed_forward_length', 'u32', config.moe_intermediate_size);
  put('use_parallel_residual', 'bool', config.use_parallel_residual);
  put('attn_logit_softcapping', 'f32', type === 'gemma2' ? config.attn_logit_softcapping : undefined);
  put('final_logit_softcapping', 'f32', type === 'gemma2' ? config.final_logit_softcapping : undefined);
  put('attention.max_alibi_bias', 'f32', config.attn_config?.alibi_bias_max);
  put('attention.clamp_kqv', 'f32', config.attn_config?.clip_qkv);
  put('attention.scale', 'f32', config.attn_config?.softmax_scale ?? config.attention_multiplier);
  put('embedding_scale', 'f32', config.embedding_multiplier);
  put('residual_scale', 'f32', config.residual_multiplier);
  put('logit_scale', 'f32', config.logits_scaling ?? config.logit_scale);
  if (!isBert && !['gpt2', 'bloom', 'mpt'].includes(type)) {
    put('attention.key_length', 'u32', config.head_dim);
    put('attention.value_length', 'u32', config.head_dim);
    put('rope.dimension_count', 'u32', Math.floor(headDim * fraction));
    put('rope.freq_base', 'f32', rope.rope_theta);
    const slides = ['gemma2', 'gemma3_text', 'phi3', 'mistral', 'mixtral', 'cohere2', 'olmo3', 'modernbert'].includes(
      type,
    );
    put('attention.sliding_window', 'u32', slides ? config.sliding_window : undefined);
    put(
      'rope.freq_base_swa',
      'f32',
      config.rope_local_base_freq ?? config.local_rope_theta ?? config.rope_parameters?.sliding_attention?.rope_theta,
    );
  }
  put('attention.sliding_window_pattern', 'u32', config.global_attn_every_n_layers);
  if (kind === 'linear' || kind === 'yarn') {
    put('rope.scaling.type', 'str', kind);
    put('rope.scaling.factor', 'f32', rope.factor);
    put('rope.scaling.original_context_length', 'u32', rope.original_max_position_embeddings);
    put('rope.scaling.yarn_beta_fast', 'f32', rope.beta_fast);
    put('rope.scaling.yarn_beta_slow', 'f32', rope.beta_slow);
  }
  const vector = (values) => ({ dtype: 'F32', shape: [values.length], data: Float32Array.from(values) });
  const own = {};
  if (kind === 'llama3') own['rope_freqs.weight'] = vector(llama3Factors(rope, headDim));
  if (kind === 'longrope') {
    const length = config.original_max_position_embeddings;
    const scale = config.max_position_embeddings / length;
    put('rope.scaling.original_context_length', 'u32', length);
    put('rope.scaling.attn_factor', 'f32', scale > 1 ? Math.sqrt(1 + Math.log(scale) / Math.log(length)) : 1);
    own['rope_factors_long.weight'] = vector(rope.long_factor);
    own['rope_factors_short.weight'] = vector(rope.short_factor);
  }
  for (const [name, tensor] of Object.entries(stacked(halved(tensors)))) {
    if (dropped.test(name)) continue;
    if (name === 'lm_head.weight' && config.tie_word_embeddings) continue;
    const made = tensorOf(name, tensor, config, headDim);
    const gguf = renamed(type, name);
    own[gguf] = made.shape.length === 2 && !gguf.includes('norm') ? quantize(gguf, made) : made;
  }
  const contents = { metadata, tensors: own, ...change({ metadata, tensors: own }) };
  return writeGguf(contents.metadata, contents.tensors);
}
