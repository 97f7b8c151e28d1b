// BLOOM, after modeling_bloom.py: ALiBi, a norm of the token vectors, one matrix head by head as in GPT-NeoX.
import { alibi, slopesOf } from '../reference/config.mjs';
import { sizes, training } from '../tiny/configs.mjs';
import { dense, layerNorm, sharper } from '../tiny/shapes.mjs';
import { reference as gptNeox, headRows } from './gpt-neox.mjs';

export const modelType = 'bloom';

// The fields of bigscience/bloom-560m's config.json.
const bloom = (fields) => ({
  apply_residual_connection_post_layernorm: false,
  architectures: ['BloomForCausalLM'],
  attention_softmax_in_fp32: true,
  bias_dropout_fusion: true,
  bos_token_id: 1,
  eos_token_id: 2,
  hidden_dropout: 0,
  layer_norm_epsilon: 1e-5,
  masked_softmax_fusion: true,
  model_type: 'bloom',
  n_embed: sizes.hidden_size,
  n_inner: null,
  n_layer: sizes.num_hidden_layers,
  num_attention_heads: 4,
  offset_alibi: 100,
  pad_token_id: 3,
  pretraining_tp: 1,
  seq_length: 40,
  skip_bias_add: true,
  skip_bias_add_qkv: false,
  unk_token_id: 0,
  vocab_size: sizes.vocab_size,
  ...training,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  bloom: ['F16', bloom({})],
  // Another number of heads than a power of 2.
  'bloom-6': ['F32', bloom({ n_embed: undefined, num_attention_heads: undefined, hidden_size: 36, n_head: 6 })],
};

const widthOf = (c) => c.n_embed ?? c.hidden_size;

export function tensors(c) {
  const width = widthOf(c);
  const layer = (i) => {
    const at = `transformer.h.${i}.`;
    return [
      ...layerNorm(`${at}input_layernorm`, width),
      ...dense(`${at}self_attention.query_key_value`, 3 * width, width, sharper),
      ...dense(`${at}self_attention.dense`, width, width),
      ...layerNorm(`${at}post_attention_layernorm`, width),
      ...dense(`${at}mlp.dense_h_to_4h`, 4 * width, width),
      ...dense(`${at}mlp.dense_4h_to_h`, width, 4 * width),
    ];
  };
  return [
    ['transformer.word_embeddings.weight', [c.vocab_size, width], 1],
    ...layerNorm('transformer.word_embeddings_layernorm', width),
    ...Array.from({ length: c.n_layer }, (_, i) => layer(i)).flat(),
    ...layerNorm('transformer.ln_f', width),
  ];
}

export const reference = {
  ...gptNeox,
  fields: (c) => ({
    hidden_size: widthOf(c),
    num_attention_heads: c.num_attention_heads ?? c.n_head,
    num_hidden_layers: c.n_layer,
    tie_word_embeddings: true,
  }),
  norm: (c) => ({ kind: 'layer', eps: c.layer_norm_epsilon }),
  // BloomGelu: x / 2 (1 + tanh(0.79788456 x (1 + 0.044715 x^2))), whose constant is sqrt(2 / pi).
  activation: () => 'gelu_new',
  rope: () => undefined,
  bias: (c) => alibi(slopesOf(c.num_attention_heads)),
  parallel: undefined,
  names: {
    embed: 'transformer.word_embeddings.weight',
    embedNorm: 'transformer.word_embeddings_layernorm',
    layers: 'transformer.h.',
    finalNorm: 'transformer.ln_f',
  },
  weights: (w, at, c) => ({
    attentionNorm: w.norm(`${at}input_layernorm`),
    ...headRows(w.linear(`${at}self_attention.query_key_value`), c),
    output: w.linear(`${at}self_attention.dense`),
    feedForwardNorm: w.norm(`${at}post_attention_layernorm`),
    up: w.linear(`${at}mlp.dense_h_to_4h`),
    down: w.linear(`${at}mlp.dense_4h_to_h`),
  }),
};
