// The tensors of GGUF files under the names of Hugging Face's classes, and back.
import type { ModelArchitecture } from './config.js';

/** Stems of names, by those of Hugging Face; `layer` begins the names of a layer, in the file `block`. @internal */
export interface Naming {
  readonly layer: string;
  /** Default `blk.`. */
  readonly block?: string;
  readonly outer: Readonly<Record<string, string>>;
  readonly inner: Readonly<Record<string, string>>;
  /** Of a decoder behind this. */
  readonly decoder?: Naming;
}

const llama: Naming = {
  layer: 'model.layers.',
  outer: { 'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm', lm_head: 'output' },
  inner: {
    input_layernorm: 'attn_norm',
    'self_attn.q_proj': 'attn_q',
    'self_attn.k_proj': 'attn_k',
    'self_attn.v_proj': 'attn_v',
    'self_attn.q_norm': 'attn_q_norm',
    'self_attn.k_norm': 'attn_k_norm',
    'self_attn.o_proj': 'attn_output',
    post_attention_layernorm: 'ffn_norm',
    'mlp.gate_proj': 'ffn_gate',
    'mlp.up_proj': 'ffn_up',
    'mlp.down_proj': 'ffn_down',
  },
};

const withExperts = (at: string, gate: string, up: string, down: string): Naming => ({
  ...llama,
  inner: {
    ...llama.inner,
    [`${at}.gate`]: 'ffn_gate_inp',
    [`${at}.experts.${gate}`]: 'ffn_gate_exps',
    [`${at}.experts.${up}`]: 'ffn_up_exps',
    [`${at}.experts.${down}`]: 'ffn_down_exps',
  },
});

const sandwich: Naming = {
  ...llama,
  inner: {
    ...llama.inner,
    post_attention_layernorm: 'post_attention_norm',
    pre_feedforward_layernorm: 'ffn_norm',
    post_feedforward_layernorm: 'post_ffw_norm',
  },
};

const olmo2: Naming = {
  ...llama,
  inner: {
    ...llama.inner,
    post_attention_layernorm: 'post_attention_norm',
    post_feedforward_layernorm: 'post_ffw_norm',
  },
};

const stablelm: Naming = {
  ...llama,
  inner: { ...llama.inner, 'self_attn.q_layernorm': 'attn_q_norm', 'self_attn.k_layernorm': 'attn_k_norm' },
};

const phi: Naming = {
  layer: llama.layer,
  outer: { 'model.embed_tokens': 'token_embd', 'model.final_layernorm': 'output_norm', lm_head: 'output' },
  inner: {
    input_layernorm: 'attn_norm',
    'self_attn.q_proj': 'attn_q',
    'self_attn.k_proj': 'attn_k',
    'self_attn.v_proj': 'attn_v',
    'self_attn.dense': 'attn_output',
    'mlp.fc1': 'ffn_up',
    'mlp.fc2': 'ffn_down',
  },
};

const phi3: Naming = {
  ...llama,
  inner: {
    input_layernorm: 'attn_norm',
    'self_attn.qkv_proj': 'attn_qkv',
    'self_attn.o_proj': 'attn_output',
    post_attention_layernorm: 'ffn_norm',
    'mlp.gate_up_proj': 'ffn_up',
    'mlp.down_proj': 'ffn_down',
  },
};

const gptNeox: Naming = {
  layer: 'gpt_neox.layers.',
  outer: { 'gpt_neox.embed_in': 'token_embd', 'gpt_neox.final_layer_norm': 'output_norm', embed_out: 'output' },
  inner: {
    input_layernorm: 'attn_norm',
    'attention.query_key_value': 'attn_qkv',
    'attention.dense': 'attn_output',
    post_attention_layernorm: 'ffn_norm',
    'mlp.dense_h_to_4h': 'ffn_up',
    'mlp.dense_4h_to_h': 'ffn_down',
  },
};

const gpt2: Naming = {
  layer: 'transformer.h.',
  outer: {
    'transformer.wte': 'token_embd',
    'transformer.wpe': 'position_embd',
    'transformer.ln_f': 'output_norm',
    lm_head: 'output',
  },
  inner: {
    ln_1: 'attn_norm',
    'attn.c_attn': 'attn_qkv',
    'attn.c_proj': 'attn_output',
    ln_2: 'ffn_norm',
    'mlp.c_fc': 'ffn_up',
    'mlp.c_proj': 'ffn_down',
  },
};

const bloom: Naming = {
  layer: 'transformer.h.',
  outer: {
    'transformer.word_embeddings': 'token_embd',
    'transformer.word_embeddings_layernorm': 'token_embd_norm',
    'transformer.ln_f': 'output_norm',
    lm_head: 'output',
  },
  inner: {
    input_layernorm: 'attn_norm',
    'self_attention.query_key_value': 'attn_qkv',
    'self_attention.dense': 'attn_output',
    post_attention_layernorm: 'ffn_norm',
    'mlp.dense_h_to_4h': 'ffn_up',
    'mlp.dense_4h_to_h': 'ffn_down',
  },
};

const mpt: Naming = {
  layer: 'transformer.blocks.',
  outer: { 'transformer.wte': 'token_embd', 'transformer.norm_f': 'output_norm', lm_head: 'output' },
  inner: {
    norm_1: 'attn_norm',
    'attn.Wqkv': 'attn_qkv',
    'attn.out_proj': 'attn_output',
    norm_2: 'ffn_norm',
    'ffn.up_proj': 'ffn_up',
    'ffn.down_proj': 'ffn_down',
  },
};

const bert: Naming = {
  layer: 'encoder.layer.',
  outer: {
    'embeddings.word_embeddings': 'token_embd',
    'embeddings.position_embeddings': 'position_embd',
    'embeddings.token_type_embeddings': 'token_types',
    'embeddings.LayerNorm': 'token_embd_norm',
  },
  inner: {
    'attention.self.query': 'attn_q',
    'attention.self.key': 'attn_k',
    'attention.self.value': 'attn_v',
    'attention.output.dense': 'attn_output',
    'attention.output.LayerNorm': 'attn_output_norm',
    'intermediate.dense': 'ffn_up',
    'output.dense': 'ffn_down',
    'output.LayerNorm': 'layer_output_norm',
  },
};

/** Of Jina BERT v2, whose gate may be a tensor of its own. @internal */
export const jinaBert: Naming = {
  ...bert,
  inner: {
    ...bert.inner,
    'mlp.gate': 'ffn_gate',
    'mlp.gated_layers': 'ffn_up',
    'mlp.wo': 'ffn_down',
    'mlp.layernorm': 'layer_output_norm',
  },
};

const nomicBert: Naming = {
  layer: 'encoder.layers.',
  outer: {
    'embeddings.word_embeddings': 'token_embd',
    'embeddings.token_type_embeddings': 'token_types',
    emb_ln: 'token_embd_norm',
  },
  inner: {
    'attn.Wqkv': 'attn_qkv',
    'attn.out_proj': 'attn_output',
    norm1: 'attn_output_norm',
    'mlp.fc11': 'ffn_up',
    'mlp.fc12': 'ffn_gate',
    'mlp.fc2': 'ffn_down',
    norm2: 'layer_output_norm',
  },
};

const modernBert: Naming = {
  layer: 'model.layers.',
  outer: {
    'model.embeddings.tok_embeddings': 'token_embd',
    'model.embeddings.norm': 'token_embd_norm',
    'model.final_norm': 'output_norm',
  },
  inner: {
    attn_norm: 'attn_norm',
    'attn.Wqkv': 'attn_qkv',
    'attn.Wo': 'attn_output',
    mlp_norm: 'ffn_norm',
    'mlp.Wi': 'ffn_up',
    'mlp.Wo': 'ffn_down',
  },
};

const mapsOf = (part: string, own: string): Readonly<Record<string, string>> =>
  Object.fromEntries(['q', 'k', 'v', 'o'].map((map) => [`${part}.${map}`, `${own}_${map}`]));

// The feed-forward part is the last of a layer.
const t5Parts = (last: number, up: string): Naming['inner'] => ({
  'layer.0.layer_norm': 'attn_norm',
  'layer.0.SelfAttention.relative_attention_bias': 'attn_rel_b',
  ...mapsOf('layer.0.SelfAttention', 'attn'),
  [`layer.${last}.layer_norm`]: 'ffn_norm',
  [`layer.${last}.DenseReluDense.wi_0`]: 'ffn_gate',
  [`layer.${last}.DenseReluDense.${up}`]: 'ffn_up',
  [`layer.${last}.DenseReluDense.wo`]: 'ffn_down',
});

/** Of T5, with the name of the map before the activation, or beside the gate. @internal */
export const t5Naming = (up: 'wi' | 'wi_1'): Naming => ({
  layer: 'encoder.block.',
  block: 'enc.blk.',
  outer: { shared: 'token_embd', 'encoder.final_layer_norm': 'enc.output_norm', lm_head: 'output' },
  inner: t5Parts(1, up),
  decoder: {
    layer: 'decoder.block.',
    block: 'dec.blk.',
    outer: { 'decoder.final_layer_norm': 'dec.output_norm' },
    inner: {
      ...t5Parts(2, up),
      'layer.1.layer_norm': 'cross_attn_norm',
      'layer.1.EncDecAttention.relative_attention_bias': 'cross_attn_rel_b',
      ...mapsOf('layer.1.EncDecAttention', 'cross_attn'),
    },
  },
});

/** By the architecture of the model. @internal */
export const namings: Partial<Readonly<Record<ModelArchitecture, Naming>>> = {
  llama,
  qwen2: llama,
  qwen3: llama,
  mixtral: withExperts('block_sparse_moe', 'w1', 'w3', 'w2'),
  qwen3_moe: withExperts('mlp', 'gate_proj', 'up_proj', 'down_proj'),
  smollm3: llama,
  gemma: llama,
  gemma2: sandwich,
  gemma3: sandwich,
  phi,
  phi3,
  stablelm,
  olmo2,
  granite: llama,
  cohere: llama,
  cohere2: llama,
  gpt_neox: gptNeox,
  gpt2,
  bloom,
  mpt,
  bert,
  nomic_bert: nomicBert,
  modernbert: modernBert,
};

type Names = Readonly<Record<string, string>>;

function renamed(name: string, from: string, to: string, outer: Names, inner: Names): string | undefined {
  const [, stem = '', end = ''] = /^(.*)(\.[a-z]+)$/.exec(name) ?? [];
  if (!stem.startsWith(from)) return Object.hasOwn(outer, stem) ? `${outer[stem]}${end}` : undefined;
  const [, layer, rest = ''] = /^(\d+)\.(.*)$/.exec(stem.slice(from.length)) ?? [];
  return layer !== undefined && Object.hasOwn(inner, rest) ? `${to}${layer}.${inner[rest]}${end}` : undefined;
}

/** The name in a GGUF file of a tensor; undefined for a tensor that such files do not have. @internal */
export function ggufName({ layer, block = 'blk.', outer, inner, decoder }: Naming, name: string): string | undefined {
  return renamed(name, layer, block, outer, inner) ?? (decoder && ggufName(decoder, name));
}

const swapped = (names: Names): Names => Object.fromEntries(Object.entries(names).map(([key, value]) => [value, key]));

/** The opposite for names of GGUF files; one that is not known stays. @internal */
export function hubNames({ layer, block = 'blk.', outer, inner, decoder }: Naming, names: readonly string[]): string[] {
  const [ownOuter, ownInner] = [swapped(outer), swapped(inner)];
  const found = names.map((name) => renamed(name, block, layer, ownOuter, ownInner) ?? name);
  return decoder ? hubNames(decoder, found) : found;
}
