// GPT-2, after modeling_gpt2.py: learned positions; matrices of layers as Conv1D has them, [inputs, outputs].
import { sizes, training } from '../tiny/configs.mjs';
import { bias, layerNorm, sharper } from '../tiny/shapes.mjs';
import { reference as llama } from './llama.mjs';

export const modelType = 'gpt2';

// The fields of openai-community/gpt2's config.json.
const gpt2 = (fields) => ({
  activation_function: 'gelu_new',
  architectures: ['GPT2LMHeadModel'],
  attn_pdrop: 0.1,
  bos_token_id: 0,
  embd_pdrop: 0.1,
  eos_token_id: 0,
  layer_norm_epsilon: 1e-5,
  model_type: 'gpt2',
  n_ctx: 48,
  n_embd: sizes.hidden_size,
  n_head: 3,
  n_layer: sizes.num_hidden_layers,
  n_positions: 48,
  reorder_and_upcast_attn: false,
  resid_pdrop: 0.1,
  scale_attn_by_inverse_layer_idx: false,
  scale_attn_weights: true,
  summary_type: 'cls_index',
  task_specific_params: { 'text-generation': { do_sample: true, max_length: 50 } },
  vocab_size: sizes.vocab_size,
  ...training,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  gpt2: ['F32', gpt2({}), { masks: true }],
  'gpt2-wide': [
    'BF16',
    gpt2({ activation_function: 'relu', architectures: ['GPT2Model'], n_inner: 52, tie_word_embeddings: true }),
    { bare: true },
  ],
};

const turned = (name, outputs, inputs, factor = 1) => [
  [`${name}.weight`, [inputs, outputs], factor / Math.sqrt(inputs)],
  bias(name, outputs),
];

export function tensors(c, { bare, masks }) {
  const [width, wide] = [c.n_embd, c.n_inner ?? 4 * c.n_embd];
  const base = bare ? '' : 'transformer.';
  const layer = (i) => {
    const at = `${base}h.${i}.`;
    return [
      ...layerNorm(`${at}ln_1`, width),
      ...(masks ? [[`${at}attn.bias`, [1, 1, c.n_positions, c.n_positions], 1]] : []),
      ...turned(`${at}attn.c_attn`, 3 * width, width, sharper),
      ...turned(`${at}attn.c_proj`, width, width),
      ...layerNorm(`${at}ln_2`, width),
      ...turned(`${at}mlp.c_fc`, wide, width),
      ...turned(`${at}mlp.c_proj`, width, wide),
    ];
  };
  return [
    [`${base}wte.weight`, [c.vocab_size, width], 1],
    [`${base}wpe.weight`, [c.n_positions, width], 0.7],
    ...Array.from({ length: c.n_layer }, (_, i) => layer(i)).flat(),
    ...layerNorm(`${base}ln_f`, width),
  ];
}

// Conv1D: x w + b.
function conv1d(w, name) {
  const { weight, bias } = w.linear(name);
  return { weight: Array.from(weight[0], (_, o) => Float64Array.from(weight, (row) => row[o])), bias };
}

export const reference = {
  ...llama,
  /** Its own names of sizes, as Hugging Face's attribute_map. */
  fields: (c) => ({
    hidden_size: c.n_embd,
    num_attention_heads: c.n_head,
    num_hidden_layers: c.n_layer,
    tie_word_embeddings: c.tie_word_embeddings ?? true,
  }),
  norm: (c) => ({ kind: 'layer', eps: c.layer_norm_epsilon }),
  activation: (c) => c.activation_function,
  rope: () => undefined,
  names: (w) => {
    const base = w.has('wte.weight') ? '' : 'transformer.';
    return {
      embed: `${base}wte.weight`,
      positions: `${base}wpe.weight`,
      layers: `${base}h.`,
      finalNorm: `${base}ln_f`,
    };
  },
  weights(w, at, c) {
    const { weight, bias } = conv1d(w, `${at}attn.c_attn`);
    const part = (i) => ({
      weight: weight.slice(i * c.n_embd, (i + 1) * c.n_embd),
      bias: bias.slice(i * c.n_embd, (i + 1) * c.n_embd),
    });
    return {
      attentionNorm: w.norm(`${at}ln_1`),
      query: part(0),
      key: part(1),
      value: part(2),
      output: conv1d(w, `${at}attn.c_proj`),
      feedForwardNorm: w.norm(`${at}ln_2`),
      up: conv1d(w, `${at}mlp.c_fc`),
      down: conv1d(w, `${at}mlp.c_proj`),
    };
  },
};
