// Nomic BERT: a rotary encoding and a gated feed-forward part, after modeling_hf_nomic_bert.py.
import { attend } from '../reference/attention.mjs';
import { activate, add, linear, layerNorm as norm } from '../reference/parts.mjs';
import { ropeOf, rotate } from '../reference/rope.mjs';
import { slice, Weights } from '../reference/weights.mjs';
import { sizes } from '../tiny/configs.mjs';
import { layerNorm, matrix, sharper } from '../tiny/shapes.mjs';

export const modelType = 'nomic_bert';

// The fields of nomic-embed-text-v1.5's config.json.
const nomic = (architecture, fields) => ({
  activation_function: 'swiglu',
  architectures: [architecture],
  attn_pdrop: 0,
  causal: false,
  dense_seq_output: true,
  embd_pdrop: 0,
  fused_bias_fc: true,
  fused_dropout_add_ln: true,
  initializer_range: 0.02,
  layer_norm_epsilon: 1e-12,
  max_trained_positions: 64,
  mlp_fc1_bias: false,
  mlp_fc2_bias: false,
  model_type: 'nomic_bert',
  n_embd: sizes.hidden_size,
  n_head: 3,
  n_inner: sizes.intermediate_size,
  n_layer: sizes.num_hidden_layers,
  n_positions: 256,
  pad_vocab_size_multiple: 1,
  parallel_block: false,
  parallel_block_tied_norm: false,
  prenorm: false,
  qkv_proj_bias: false,
  reorder_and_upcast_attn: false,
  resid_pdrop: 0,
  rotary_emb_base: 1000,
  rotary_emb_fraction: 1,
  rotary_emb_interleaved: false,
  rotary_emb_scale_base: null,
  rotary_scaling_factor: null,
  scale_attn_by_inverse_layer_idx: false,
  scale_attn_weights: true,
  summary_type: 'cls_index',
  type_vocab_size: 2,
  use_cache: true,
  use_flash_attn: true,
  use_rms_norm: false,
  use_xentropy: true,
  vocab_size: sizes.vocab_size,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  'nomic-bert': [
    'F32',
    nomic('NomicBertModel', {
      max_position_embeddings: 64,
      rope_parameters: { rope_theta: 1000, rope_type: 'default' },
    }),
  ],
  'nomic-bert-masked': ['BF16', nomic('NomicBertForPreTraining', {}), { head: true }],
};

export function tensors(c, { head }) {
  const [width, wide] = [c.n_embd, c.n_inner];
  const base = head ? 'bert.' : '';
  const layer = (i) => {
    const at = `${base}encoder.layers.${i}.`;
    return [
      matrix(`${at}attn.Wqkv`, 3 * width, width, sharper),
      matrix(`${at}attn.out_proj`, width, width),
      ...layerNorm(`${at}norm1`, width),
      matrix(`${at}mlp.fc11`, wide, width),
      matrix(`${at}mlp.fc12`, wide, width),
      matrix(`${at}mlp.fc2`, width, wide),
      ...layerNorm(`${at}norm2`, width),
    ];
  };
  const transform = 'cls.predictions.transform.';
  return [
    [`${base}embeddings.word_embeddings.weight`, [c.vocab_size, width], 1],
    [`${base}embeddings.token_type_embeddings.weight`, [c.type_vocab_size, width], 0.7],
    ...layerNorm(`${base}emb_ln`, width),
    ...Array.from({ length: c.n_layer }, (_, i) => layer(i)).flat(),
    ...(head ? [matrix(`${transform}dense`, width, width), ...layerNorm(`${transform}layer_norm`, width)] : []),
  ];
}

// Norms after the sums; y * silu(gate), where y is of fc11 and the gate of fc12.
function layerOf(f, x, c, weights, at, { keep, positions }) {
  const headDim = c.n_embd / c.n_head;
  const eps = c.layer_norm_epsilon;
  const qkv = weights.linear(`${at}attn.Wqkv`);
  const [q, k, v] = [0, 1, 2].map((i) => linear(f, x, slice(qkv, i * c.n_embd, (i + 1) * c.n_embd)));
  const turn = { ...ropeOf(headDim, { rope_theta: c.rotary_emb_base }), pairing: 'half', positions, headDim };
  const [qRotated, kRotated] = [rotate(f, q, turn), rotate(f, k, turn)];
  const attended = attend(
    f,
    { q: qRotated, k: kRotated, v },
    { heads: c.n_head, kvHeads: c.n_head, headDim, scale: 1 / Math.sqrt(headDim), keeps: (_, j) => keep[j] },
  );
  const attentionOut = linear(f, attended.context, weights.linear(`${at}attn.out_proj`));
  const hidden = norm(f, add(f, attentionOut, x), weights.norm(`${at}norm1`), eps);
  const gate = activate(f, 'silu', linear(f, hidden, weights.linear(`${at}mlp.fc12`)));
  const wide = linear(f, hidden, weights.linear(`${at}mlp.fc11`)).map((y, t) =>
    y.map((value, i) => f(value * gate[t][i])),
  );
  const mlp = linear(f, wide, weights.linear(`${at}mlp.fc2`));
  const out = norm(f, add(f, mlp, hidden), weights.norm(`${at}norm2`), eps);
  return { q, k, v, qRotated, kRotated, vRotated: v, ...attended, attentionOut, hidden, mlp, out };
}

/** See reference/reference.mjs. */
export function encoder(f, { config: c, tensors: stored }, { ids, keep, types, positions }) {
  const weights = new Weights(stored);
  const base = weights.has('bert.emb_ln.weight') ? 'bert.' : '';
  const words = weights.matrix(`${base}embeddings.word_embeddings.weight`);
  const kinds = weights.matrix(`${base}embeddings.token_type_embeddings.weight`);
  const sums = ids.map((id, t) => words[id].map((value, i) => f(value + kinds[types[t]][i])));
  const embeddings = norm(f, sums, weights.norm(`${base}emb_ln`), c.layer_norm_epsilon);
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < c.n_layer; ++i) {
    layers.push(layerOf(f, x, c, weights, `${base}encoder.layers.${i}.`, { keep, positions }));
    x = layers[i].out;
  }
  const transform = 'cls.predictions.transform.';
  if (!weights.has(`${transform}dense.weight`)) return { embeddings, layers, hidden: x };
  const dense = activate(f, 'silu', linear(f, x, weights.linear(`${transform}dense`)));
  const normed = norm(f, dense, weights.norm(`${transform}layer_norm`), c.layer_norm_epsilon);
  return { embeddings, layers, hidden: x, logits: linear(f, normed, { weight: words }) };
}
