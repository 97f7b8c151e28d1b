// MPT, after modeling_mpt.py: ALiBi, no biases at all, queries, keys and values one after the other in one matrix.
import { alibi, slopesOf } from '../reference/config.mjs';
import { slice } from '../reference/weights.mjs';
import { sizes } from '../tiny/configs.mjs';
import { matrix, scale, sharper } from '../tiny/shapes.mjs';
import { reference as llama } from './llama.mjs';

export const modelType = 'mpt';

// The fields of mosaicml/mpt-7b's config.json.
const mpt = (fields, attention) => ({
  architectures: ['MPTForCausalLM'],
  attn_config: {
    alibi: true,
    alibi_bias_max: 8,
    attn_impl: 'torch',
    attn_pdrop: 0,
    attn_type: 'multihead_attention',
    attn_uses_sequence_id: false,
    clip_qkv: null,
    prefix_lm: false,
    qk_ln: false,
    softmax_scale: null,
    ...attention,
  },
  d_model: sizes.hidden_size,
  emb_pdrop: 0,
  embedding_fraction: 1,
  expansion_ratio: 2,
  init_device: 'cpu',
  learned_pos_emb: true,
  logit_scale: null,
  max_seq_len: 40,
  model_type: 'mpt',
  n_heads: 4,
  n_layers: sizes.num_hidden_layers,
  no_bias: true,
  norm_type: 'low_precision_layernorm',
  resid_pdrop: 0,
  tokenizer_name: 'EleutherAI/gpt-neox-20b',
  use_cache: false,
  verbose: 0,
  vocab_size: sizes.vocab_size,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  mpt: ['BF16', mpt({})],
  // As mpt-7b-storywriter, with a number of heads that is no power of 2.
  'mpt-6': [
    'F32',
    mpt(
      { architectures: ['MptForCausalLM'], expansion_ratio: undefined, n_heads: 6 },
      { alibi_bias_max: 16, softmax_scale: 0.3 },
    ),
  ],
};

export function tensors(c) {
  const width = c.d_model;
  const wide = (c.expansion_ratio ?? 4) * width;
  const layer = (i) => {
    const at = `transformer.blocks.${i}.`;
    return [
      scale(`${at}norm_1.weight`, width),
      matrix(`${at}attn.Wqkv`, 3 * width, width, sharper),
      matrix(`${at}attn.out_proj`, width, width),
      scale(`${at}norm_2.weight`, width),
      matrix(`${at}ffn.up_proj`, wide, width),
      matrix(`${at}ffn.down_proj`, width, wide),
    ];
  };
  return [
    ['transformer.wte.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.n_layers }, (_, i) => layer(i)).flat(),
    scale('transformer.norm_f.weight', width),
  ];
}

export const reference = {
  ...llama,
  fields: (c) => ({
    hidden_size: c.d_model,
    num_attention_heads: c.n_heads,
    num_hidden_layers: c.n_layers,
    tie_word_embeddings: true,
  }),
  norm: () => ({ kind: 'layer', eps: 1e-5 }),
  activation: () => 'gelu',
  scale: (c) => c.attn_config.softmax_scale ?? 1 / Math.sqrt(c.d_model / c.n_heads),
  rope: () => undefined,
  bias: (c) => alibi(slopesOf(c.n_heads, c.attn_config.alibi_bias_max)),
  names: { embed: 'transformer.wte.weight', layers: 'transformer.blocks.', finalNorm: 'transformer.norm_f' },
  weights(w, at, c) {
    const qkv = w.linear(`${at}attn.Wqkv`);
    const part = (i) => slice(qkv, i * c.d_model, (i + 1) * c.d_model);
    return {
      attentionNorm: w.norm(`${at}norm_1`),
      query: part(0),
      key: part(1),
      value: part(2),
      output: w.linear(`${at}attn.out_proj`),
      feedForwardNorm: w.norm(`${at}norm_2`),
      up: w.linear(`${at}ffn.up_proj`),
      down: w.linear(`${at}ffn.down_proj`),
    };
  },
};
