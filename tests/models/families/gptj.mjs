// GPT-J, after modeling_gptj.py: one norm for both parts, which are side by side; neighbours are pairs; a head with a bias.
import { ropeOfConfig } from '../reference/config.mjs';
import { sizes, training } from '../tiny/configs.mjs';
import { dense, layerNorm, matrix, sharper } from '../tiny/shapes.mjs';
import { reference as gpt2 } from './gpt2.mjs';

export const modelType = 'gptj';

// The fields of EleutherAI/gpt-j-6b's config.json.
const gptj = (fields) => ({
  activation_function: 'gelu_new',
  architectures: ['GPTJForCausalLM'],
  attn_pdrop: 0,
  bos_token_id: 0,
  embd_pdrop: 0,
  eos_token_id: 0,
  gradient_checkpointing: false,
  layer_norm_epsilon: 1e-5,
  model_type: 'gptj',
  n_embd: sizes.hidden_size,
  n_head: 3,
  n_inner: null,
  n_layer: sizes.num_hidden_layers,
  n_positions: 64,
  resid_pdrop: 0,
  rotary: true,
  rotary_dim: 8,
  scale_attn_weights: true,
  summary_type: 'cls_index',
  tie_word_embeddings: false,
  vocab_size: sizes.vocab_size,
  ...training,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = { gptj: ['F16', gptj({}), {}] };

export function tensors(c) {
  const [width, wide] = [c.n_embd, 4 * c.n_embd];
  const layer = (i) => {
    const at = `transformer.h.${i}.`;
    return [
      ...layerNorm(`${at}ln_1`, width),
      matrix(`${at}attn.k_proj`, width, width, sharper),
      matrix(`${at}attn.v_proj`, width, width),
      matrix(`${at}attn.q_proj`, width, width, sharper),
      matrix(`${at}attn.out_proj`, width, width),
      ...dense(`${at}mlp.fc_in`, wide, width),
      ...dense(`${at}mlp.fc_out`, width, wide),
    ];
  };
  return [
    ['transformer.wte.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.n_layer }, (_, i) => layer(i)).flat(),
    ...layerNorm('transformer.ln_f', width),
    ...dense('lm_head', c.vocab_size, width, 2),
  ];
}

export const reference = {
  ...gpt2,
  rope: (c, _, tokens) =>
    ropeOfConfig(c, tokens, {
      parameters: { rope_theta: 10000 },
      fraction: (c.rotary_dim * c.n_head) / c.n_embd,
      pairing: 'interleaved',
    }),
  parallel: () => true,
  names: { embed: 'transformer.wte.weight', layers: 'transformer.h.', finalNorm: 'transformer.ln_f', head: 'lm_head' },
  weights: (w, at) => ({
    attentionNorm: w.norm(`${at}ln_1`),
    query: w.linear(`${at}attn.q_proj`),
    key: w.linear(`${at}attn.k_proj`),
    value: w.linear(`${at}attn.v_proj`),
    output: w.linear(`${at}attn.out_proj`),
    up: w.linear(`${at}mlp.fc_in`),
    down: w.linear(`${at}mlp.fc_out`),
  }),
};
