// GPT-NeoX, with parallel or sequential attention and feed-forward parts.
import { headDimOf, ropeOfConfig } from '../reference/config.mjs';
import { sizes, training } from '../tiny/configs.mjs';
import { dense, layerNorm, matrix, sharper } from '../tiny/shapes.mjs';
import { reference as llama } from './llama.mjs';

export const modelType = 'gpt_neox';

const neox = (fields) => ({
  architectures: ['GPTNeoXForCausalLM'],
  bos_token_id: 0,
  eos_token_id: 0,
  hidden_act: 'gelu',
  layer_norm_eps: 1e-5,
  max_position_embeddings: 64,
  model_type: 'gpt_neox',
  ...sizes,
  hidden_size: 48,
  num_attention_heads: 3,
  rotary_emb_base: 10000,
  rotary_pct: 0.25,
  tie_word_embeddings: false,
  use_parallel_residual: true,
  ...training,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  'gpt-neox': ['F16', neox({}), { buffers: true }],
  'gpt-neox-sequential': ['F32', neox({ hidden_act: 'gelu_new', rotary_pct: 0.5, use_parallel_residual: false })],
};

export function tensors(c) {
  const [width, wide] = [c.hidden_size, c.intermediate_size];
  const layer = (i) => {
    const at = `gpt_neox.layers.${i}.`;
    return [
      ...layerNorm(`${at}input_layernorm`, width),
      ...layerNorm(`${at}post_attention_layernorm`, width),
      ...dense(`${at}attention.query_key_value`, 3 * width, width, sharper),
      ...dense(`${at}attention.dense`, width, width),
      ...dense(`${at}mlp.dense_h_to_4h`, wide, width),
      ...dense(`${at}mlp.dense_4h_to_h`, width, wide),
    ];
  };
  return [
    ['gpt_neox.embed_in.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...layerNorm('gpt_neox.final_layer_norm', width),
    matrix('embed_out', c.vocab_size, width, 2),
  ];
}

/** Query, key and value of one matrix, head by head: query, key and value rows of head 0, then those of head 1. */
export function headRows({ weight, bias }, c) {
  const headDim = headDimOf(c);
  const rowsOf = (which) =>
    Array.from({ length: c.num_attention_heads * headDim }, (_, o) => {
      const [head, d] = [Math.floor(o / headDim), o % headDim];
      return (3 * head + which) * headDim + d;
    });
  const part = (which) => ({
    weight: rowsOf(which).map((r) => weight[r]),
    bias: Float64Array.from(rowsOf(which), (r) => bias[r]),
  });
  return { query: part(0), key: part(1), value: part(2) };
}

const weights = (w, at, c) => ({
  attentionNorm: w.norm(`${at}input_layernorm`),
  ...headRows(w.linear(`${at}attention.query_key_value`), c),
  output: w.linear(`${at}attention.dense`),
  feedForwardNorm: w.norm(`${at}post_attention_layernorm`),
  up: w.linear(`${at}mlp.dense_h_to_4h`),
  down: w.linear(`${at}mlp.dense_4h_to_h`),
});

export const reference = {
  ...llama,
  norm: (c) => ({ kind: 'layer', eps: c.layer_norm_eps }),
  rope: (c, _, tokens) =>
    ropeOfConfig(c, tokens, { parameters: { rope_theta: c.rotary_emb_base }, fraction: c.rotary_pct }),
  parallel: (c) => c.use_parallel_residual,
  names: {
    base: 'gpt_neox.',
    embed: 'gpt_neox.embed_in.weight',
    finalNorm: 'gpt_neox.final_layer_norm',
    head: 'embed_out',
  },
  weights,
};
