// The encoder of T5 and FLAN-T5, after modeling_t5.py: root mean square norms before the parts, no scale of scores, and a bias
// of scores by buckets of distances, which the first layer has and all add.
import { attend } from '../reference/attention.mjs';
import { activate, add, linear, rmsNorm } from '../reference/parts.mjs';
import { Weights } from '../reference/weights.mjs';
import { sizes } from '../tiny/configs.mjs';
import { matrix, scale } from '../tiny/shapes.mjs';

export const modelType = 't5';

// The fields of google/flan-t5-small's config.json.
const t5 = (architecture, fields) => ({
  architectures: [architecture],
  classifier_dropout: 0,
  d_ff: sizes.intermediate_size,
  d_kv: 14,
  d_model: sizes.hidden_size,
  decoder_start_token_id: 0,
  dropout_rate: 0.1,
  eos_token_id: 1,
  initializer_factor: 1,
  is_encoder_decoder: true,
  layer_norm_epsilon: 1e-6,
  model_type: 't5',
  n_positions: 40,
  num_decoder_layers: 1,
  num_heads: 3,
  num_layers: 2,
  output_past: true,
  pad_token_id: 0,
  relative_attention_max_distance: 12,
  relative_attention_num_buckets: 8,
  tie_word_embeddings: false,
  use_cache: true,
  vocab_size: sizes.vocab_size,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  t5: [
    'BF16',
    t5('T5EncoderModel', {
      ...{ feed_forward_proj: 'relu', is_encoder_decoder: undefined, num_decoder_layers: undefined },
    }),
  ],
  'flan-t5': [
    'F32',
    t5('T5ForConditionalGeneration', {
      ...{ dense_act_fn: 'gelu_new', feed_forward_proj: 'gated-gelu', is_gated_act: true },
    }),
    { decoder: true },
  ],
};

export function tensors(c, { decoder }) {
  const [width, wide, rows] = [c.d_model, c.d_ff, c.num_heads * c.d_kv];
  const attention = (at, first) => [
    // Nothing scales scores.
    matrix(`${at}.q`, rows, width, 1.6 / Math.sqrt(c.d_kv)),
    matrix(`${at}.k`, rows, width),
    matrix(`${at}.v`, rows, width),
    matrix(`${at}.o`, width, rows),
    ...(first ? [[`${at}.relative_attention_bias.weight`, [c.relative_attention_num_buckets, c.num_heads], 1]] : []),
  ];
  const layer = (at, i, parts) => [
    ...attention(`${at}layer.0.SelfAttention`, i === 0),
    scale(`${at}layer.0.layer_norm.weight`, width),
    ...(parts === 3 ? attention(`${at}layer.1.EncDecAttention`, false) : []),
    ...(parts === 3 ? [scale(`${at}layer.1.layer_norm.weight`, width)] : []),
    ...(c.feed_forward_proj === 'gated-gelu' ? ['wi_0', 'wi_1'] : ['wi']).map((name) =>
      matrix(`${at}layer.${parts - 1}.DenseReluDense.${name}`, wide, width),
    ),
    matrix(`${at}layer.${parts - 1}.DenseReluDense.wo`, width, wide),
    scale(`${at}layer.${parts - 1}.layer_norm.weight`, width),
  ];
  return [
    ['shared.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.num_layers }, (_, i) => layer(`encoder.block.${i}.`, i, 2)).flat(),
    scale('encoder.final_layer_norm.weight', width),
    ...(decoder ? [...layer('decoder.block.0.', 0, 3), scale('decoder.final_layer_norm.weight', width)] : []),
    ...(decoder ? [matrix('lm_head', c.vocab_size, width)] : []),
  ];
}

// Half of the buckets for keys after the query. Of each half, one half counts near distances one by one, the other far
// ones by their logarithm.
function bucketOf(distance, count, most) {
  const half = count / 2;
  const exact = half / 2;
  const far = Math.abs(distance);
  const beyond = exact + Math.floor((Math.log(far / exact) / Math.log(most / exact)) * (half - exact));
  return (distance > 0 ? half : 0) + (far < exact ? far : Math.min(beyond, half - 1));
}

function layerOf(f, x, c, weights, table, at, { keep }) {
  const eps = c.layer_norm_epsilon;
  const normed = rmsNorm(f, x, weights.norm(`${at}layer.0.layer_norm`), { eps });
  const [q, k, v] = ['q', 'k', 'v'].map((name) =>
    linear(f, normed, weights.linear(`${at}layer.0.SelfAttention.${name}`)),
  );
  const [count, most] = [c.relative_attention_num_buckets, c.relative_attention_max_distance];
  const attended = attend(
    f,
    { q, k, v },
    {
      ...{ heads: c.num_heads, kvHeads: c.num_heads, headDim: c.d_kv, scale: 1 },
      bias: (h, i, j) => table[bucketOf(j - i, count, most)][h],
      keeps: (_, j) => keep[j],
    },
  );
  const attentionOut = linear(f, attended.context, weights.linear(`${at}layer.0.SelfAttention.o`));
  const hidden = add(f, x, attentionOut);
  const read = rmsNorm(f, hidden, weights.norm(`${at}layer.1.layer_norm`), { eps });
  const map = (name, from) => linear(f, from, weights.linear(`${at}layer.1.DenseReluDense.${name}`));
  const gated = c.feed_forward_proj === 'gated-gelu';
  const first = activate(f, gated ? 'gelu_new' : 'relu', map(gated ? 'wi_0' : 'wi', read));
  const second = gated ? map('wi_1', read) : undefined;
  const wide = gated ? first.map((row, t) => row.map((value, i) => f(value * second[t][i]))) : first;
  const mlp = map('wo', wide);
  const turned = { qRotated: q, kRotated: k, vRotated: v };
  return { normed, q, k, v, ...turned, ...attended, attentionOut, hidden, mlp, out: add(f, hidden, mlp) };
}

/** See reference/reference.mjs. */
export function encoder(f, { config: c, tensors: stored }, { ids, keep }) {
  const weights = new Weights(stored);
  const words = weights.matrix('shared.weight');
  const table = weights.matrix('encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight');
  const embeddings = ids.map((id) => words[id]);
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < c.num_layers; ++i) {
    layers.push(layerOf(f, x, c, weights, table, `encoder.block.${i}.`, { keep }));
    x = layers[i].out;
  }
  const hidden = rmsNorm(f, x, weights.norm('encoder.final_layer_norm'), { eps: c.layer_norm_epsilon });
  return { embeddings, layers, hidden };
}
