// ModernBERT, after modeling_modernbert.py: norms before the parts but for the first attention, which reads the norm of the
// token vectors; act(the first half of Wi) times the second; every third layer sees everything, the others a window.
import { attend } from '../reference/attention.mjs';
import { activate, add, linear, layerNorm as norm } from '../reference/parts.mjs';
import { ropeOf, rotate } from '../reference/rope.mjs';
import { slice, Weights } from '../reference/weights.mjs';
import { sizes } from '../tiny/configs.mjs';
import { dense, layerNorm, matrix, scale, sharper } from '../tiny/shapes.mjs';

export const modelType = 'modernbert';

// The fields of answerdotai/ModernBERT-base's config.json.
const modernBert = (architecture, fields) => ({
  architectures: [architecture],
  attention_bias: false,
  attention_dropout: 0,
  classifier_activation: 'gelu',
  classifier_bias: false,
  classifier_dropout: 0,
  classifier_pooling: 'mean',
  cls_token_id: 1,
  decoder_bias: true,
  deterministic_flash_attn: false,
  embedding_dropout: 0,
  global_attn_every_n_layers: 3,
  global_rope_theta: 160000,
  gradient_checkpointing: false,
  hidden_activation: 'gelu',
  initializer_cutoff_factor: 2,
  initializer_range: 0.02,
  layer_norm_eps: 1e-3,
  local_attention: 6,
  local_rope_theta: 100,
  max_position_embeddings: 64,
  mlp_bias: false,
  mlp_dropout: 0,
  model_type: 'modernbert',
  norm_bias: false,
  norm_eps: 1e-5,
  ...{ ...sizes, num_hidden_layers: 4 },
  num_attention_heads: 3,
  pad_token_id: 0,
  position_embedding_type: 'absolute',
  sep_token_id: 2,
  sparse_pred_ignore_index: -100,
  sparse_prediction: false,
  tie_word_embeddings: true,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  modernbert: ['BF16', modernBert('ModernBertModel', {})],
  'modernbert-masked': ['F32', modernBert('ModernBertForMaskedLM', {}), { head: true }],
  'modernbert-biases': [
    'F16',
    modernBert('ModernBertForMaskedLM', {
      ...{ attention_bias: true, classifier_bias: true, mlp_bias: true, norm_bias: true, tie_word_embeddings: false },
      ...{ global_attn_every_n_layers: undefined, global_rope_theta: undefined, local_rope_theta: undefined },
      layer_types: ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'],
      rope_parameters: {
        full_attention: { rope_type: 'default', rope_theta: 160000 },
        sliding_attention: { rope_type: 'default', rope_theta: 100 },
      },
    }),
    { head: true },
  ],
};

export function tensors(c, { head }) {
  const [width, wide] = [c.hidden_size, c.intermediate_size];
  const base = head ? 'model.' : '';
  const map = (biased, ...given) => (biased ? dense(...given) : [matrix(...given)]);
  const normed = (name) => (c.norm_bias ? layerNorm(name, width) : [scale(`${name}.weight`, width)]);
  const layer = (i) => {
    const at = `${base}layers.${i}.`;
    return [
      ...(i > 0 ? normed(`${at}attn_norm`) : []),
      ...map(c.attention_bias, `${at}attn.Wqkv`, 3 * width, width, sharper),
      ...map(c.attention_bias, `${at}attn.Wo`, width, width),
      ...normed(`${at}mlp_norm`),
      ...map(c.mlp_bias, `${at}mlp.Wi`, 2 * wide, width),
      ...map(c.mlp_bias, `${at}mlp.Wo`, width, wide),
    ];
  };
  return [
    [`${base}embeddings.tok_embeddings.weight`, [c.vocab_size, width], 1],
    ...normed(`${base}embeddings.norm`),
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...normed(`${base}final_norm`),
    ...(head
      ? [
          ...map(c.classifier_bias, 'head.dense', width, width),
          ...normed('head.norm'),
          ...(c.tie_word_embeddings ? [] : [matrix('decoder', c.vocab_size, width, 2)]),
          ['decoder.bias', [c.vocab_size], 0.3],
        ]
      : []),
  ];
}

function layerOf(f, x, c, weights, i, at, { keep, positions }) {
  const [width, headDim] = [c.hidden_size, c.hidden_size / c.num_attention_heads];
  const full = c.layer_types ? c.layer_types[i] === 'full_attention' : i % c.global_attn_every_n_layers === 0;
  const normed = i === 0 ? x : norm(f, x, weights.norm(`${at}attn_norm`), c.norm_eps);
  const qkv = weights.linear(`${at}attn.Wqkv`);
  const [q, k, v] = [0, 1, 2].map((part) => linear(f, normed, slice(qkv, part * width, (part + 1) * width)));
  const old = { rope_theta: full ? c.global_rope_theta : c.local_rope_theta };
  const rope = c.rope_parameters?.[full ? 'full_attention' : 'sliding_attention'] ?? old;
  const turn = { ...ropeOf(headDim, rope), pairing: 'half', positions, headDim };
  const [qRotated, kRotated] = [rotate(f, q, turn), rotate(f, k, turn)];
  const heads = c.num_attention_heads;
  const attended = attend(
    f,
    { q: qRotated, k: kRotated, v },
    {
      ...{ heads, kvHeads: heads, headDim, scale: 1 / Math.sqrt(headDim) },
      keeps: (i, j) => keep[j] && (full || Math.abs(i - j) <= Math.floor(c.local_attention / 2)),
    },
  );
  const attentionOut = linear(f, attended.context, weights.linear(`${at}attn.Wo`));
  const hidden = add(f, x, attentionOut);
  const wide = linear(f, norm(f, hidden, weights.norm(`${at}mlp_norm`), c.norm_eps), weights.linear(`${at}mlp.Wi`));
  const half = c.intermediate_size;
  const input = activate(
    f,
    c.hidden_activation,
    wide.map((row) => row.subarray(0, half)),
  );
  const product = input.map((row, t) => row.map((value, n) => f(value * wide[t][half + n])));
  const mlp = linear(f, product, weights.linear(`${at}mlp.Wo`));
  const out = add(f, hidden, mlp);
  return { normed, q, k, v, qRotated, kRotated, vRotated: v, ...attended, attentionOut, hidden, mlp, out };
}

/** See reference/reference.mjs. */
export function encoder(f, { config: c, tensors: stored }, { ids, keep, positions }) {
  const weights = new Weights(stored);
  const base = weights.has('model.final_norm.weight') ? 'model.' : '';
  const words = weights.matrix(`${base}embeddings.tok_embeddings.weight`);
  const rows = ids.map((id) => words[id]);
  const embeddings = norm(f, rows, weights.norm(`${base}embeddings.norm`), c.norm_eps);
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < c.num_hidden_layers; ++i) {
    layers.push(layerOf(f, x, c, weights, i, `${base}layers.${i}.`, { keep, positions }));
    x = layers[i].out;
  }
  const hidden = norm(f, x, weights.norm(`${base}final_norm`), c.norm_eps);
  if (!weights.has('head.dense.weight')) return { embeddings, layers, hidden };
  const made = activate(f, c.classifier_activation, linear(f, hidden, weights.linear('head.dense')));
  const normed = norm(f, made, weights.norm('head.norm'), c.norm_eps);
  const weight = c.tie_word_embeddings ? words : weights.matrix('decoder.weight');
  return { embeddings, layers, hidden, logits: linear(f, normed, { weight, bias: weights.vector('decoder.bias') }) };
}
