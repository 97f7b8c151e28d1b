// OPT, after modeling_opt.py: the position of the first token is row 2 of the table.
import { decoder } from '../tiny/configs.mjs';
import { dense, layerNorm, matrix, sharper } from '../tiny/shapes.mjs';
import { reference as llama } from './llama.mjs';

export const modelType = 'opt';

// The fields of facebook/opt-125m's config.json.
const opt = (fields) => ({
  ...decoder('opt', 'OPTForCausalLM', {
    hidden_act: undefined,
    intermediate_size: undefined,
    num_key_value_heads: undefined,
    rms_norm_eps: undefined,
    rope_theta: undefined,
    tie_word_embeddings: undefined,
  }),
  _remove_final_layer_norm: false,
  activation_dropout: 0,
  activation_function: 'relu',
  do_layer_norm_before: true,
  dropout: 0.1,
  ffn_dim: 52,
  init_std: 0.02,
  layerdrop: 0,
  max_position_embeddings: 40,
  pad_token_id: 1,
  prefix: '</s>',
  word_embed_proj_dim: 36,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  opt: ['F16', opt({})],
  // The fields of facebook/opt-350m's.
  'opt-projected': ['BF16', opt({ do_layer_norm_before: false, word_embed_proj_dim: 20 })],
  'opt-post-norm': [
    'F32',
    opt({ activation_function: 'gelu', do_layer_norm_before: false, enable_bias: false, tie_word_embeddings: false }),
  ],
};

export function tensors(c) {
  const [width, wide, narrow] = [c.hidden_size, c.ffn_dim, c.word_embed_proj_dim];
  const map = (...given) => (c.enable_bias === false ? [matrix(...given)] : dense(...given));
  const layer = (i) => {
    const at = `model.decoder.layers.${i}.`;
    return [
      ...map(`${at}self_attn.k_proj`, width, width, sharper),
      ...map(`${at}self_attn.v_proj`, width, width),
      ...map(`${at}self_attn.q_proj`, width, width, sharper),
      ...map(`${at}self_attn.out_proj`, width, width),
      ...layerNorm(`${at}self_attn_layer_norm`, width),
      ...map(`${at}fc1`, wide, width),
      ...map(`${at}fc2`, width, wide),
      ...layerNorm(`${at}final_layer_norm`, width),
    ];
  };
  return [
    ['model.decoder.embed_tokens.weight', [c.vocab_size, narrow], 1],
    ...(narrow === width
      ? []
      : [matrix('model.decoder.project_in', width, narrow), matrix('model.decoder.project_out', narrow, width)]),
    ['model.decoder.embed_positions.weight', [c.max_position_embeddings + 2, width], 0.7],
    ...(c.do_layer_norm_before ? layerNorm('model.decoder.final_layer_norm', width) : []),
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...(c.tie_word_embeddings === false ? [matrix('lm_head', c.vocab_size, width, 2)] : []),
  ];
}

export const reference = {
  ...llama,
  defaults: { tie_word_embeddings: true },
  norm: () => ({ kind: 'layer', eps: 1e-5 }),
  activation: (c) => c.activation_function,
  rope: () => undefined,
  post: (c) => !c.do_layer_norm_before,
  firstPosition: 2,
  names: {
    embed: 'model.decoder.embed_tokens.weight',
    positions: 'model.decoder.embed_positions.weight',
    layers: 'model.decoder.layers.',
    finalNorm: 'model.decoder.final_layer_norm',
    projectIn: 'model.decoder.project_in',
    projectOut: 'model.decoder.project_out',
    head: 'lm_head',
  },
  weights: (w, at) => ({
    attentionNorm: w.norm(`${at}self_attn_layer_norm`),
    query: w.linear(`${at}self_attn.q_proj`),
    key: w.linear(`${at}self_attn.k_proj`),
    value: w.linear(`${at}self_attn.v_proj`),
    output: w.linear(`${at}self_attn.out_proj`),
    feedForwardNorm: w.norm(`${at}final_layer_norm`),
    up: w.linear(`${at}fc1`),
    down: w.linear(`${at}fc2`),
  }),
};
