// T5 and FLAN-T5, after modeling_t5.py: root mean square norms before the parts, no scale of scores, and a bias of scores by
// buckets of distances, which the first layer has and all add, or in UMT5 every layer has. The decoder's attention to the
// source has none.
import { attend } from '../reference/attention.mjs';
import { activate, add, linear, rmsNorm, times } from '../reference/parts.mjs';
import { Weights } from '../reference/weights.mjs';
import { sizes } from '../tiny/configs.mjs';
import { matrix, scale } from '../tiny/shapes.mjs';

export const modelType = 't5';

/** The fields of google/flan-t5-small's config.json. */
export const t5 = (architecture, fields) => ({
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
    t5('T5EncoderModel', {
      ...{ dense_act_fn: 'gelu_new', feed_forward_proj: 'gated-gelu', is_gated_act: true },
    }),
    { decoder: true },
  ],
};

/** The same of models with a decoder. */
export const pairs = {
  't5-both': [
    'BF16',
    t5('T5ForConditionalGeneration', {
      ...{ feed_forward_proj: 'relu', num_decoder_layers: undefined, tie_word_embeddings: undefined },
    }),
    { decoder: true },
  ],
  'flan-t5-both': [
    'F32',
    t5('T5ForConditionalGeneration', {
      ...{ dense_act_fn: 'gelu_new', feed_forward_proj: 'gated-gelu', is_gated_act: true, num_decoder_layers: 3 },
    }),
    { decoder: true },
  ],
  'ul2-both': [
    'F32',
    t5('T5ForConditionalGeneration', {
      ...{ dense_act_fn: 'silu', feed_forward_proj: 'gated-silu', is_gated_act: true, num_decoder_layers: 2 },
    }),
    { decoder: true },
  ],
};

const activations = { relu: 'relu', 'gated-gelu': 'gelu_new', 'gated-silu': 'silu' };
const isGated = (c) => c.feed_forward_proj.startsWith('gated-');

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
    ...attention(`${at}layer.0.SelfAttention`, i === tableLayer(c, i)),
    scale(`${at}layer.0.layer_norm.weight`, width),
    ...(parts === 3 ? attention(`${at}layer.1.EncDecAttention`, false) : []),
    ...(parts === 3 ? [scale(`${at}layer.1.layer_norm.weight`, width)] : []),
    ...(isGated(c) ? ['wi_0', 'wi_1'] : ['wi']).map((name) =>
      matrix(`${at}layer.${parts - 1}.DenseReluDense.${name}`, wide, width),
    ),
    matrix(`${at}layer.${parts - 1}.DenseReluDense.wo`, width, wide),
    scale(`${at}layer.${parts - 1}.layer_norm.weight`, width),
  ];
  return [
    ['shared.weight', [c.vocab_size, width], 1],
    ...Array.from({ length: c.num_layers }, (_, i) => layer(`encoder.block.${i}.`, i, 2)).flat(),
    scale('encoder.final_layer_norm.weight', width),
    ...(decoder
      ? Array.from({ length: c.num_decoder_layers ?? c.num_layers }, (_, i) =>
          layer(`decoder.block.${i}.`, i, 3),
        ).flat()
      : []),
    ...(decoder ? [scale('decoder.final_layer_norm.weight', width)] : []),
    ...(decoder && c.tie_word_embeddings === false ? [matrix('lm_head', c.vocab_size, width)] : []),
  ];
}

// The layer whose table layer i has.
const tableLayer = (c, i) => (c.model_type === 'umt5' ? i : 0);

// One half of the buckets counts near distances one by one, the other far ones by their logarithm.
function bucketOf(far, count, most) {
  const exact = count / 2;
  const beyond = exact + Math.floor((Math.log(far / exact) / Math.log(most / exact)) * (count - exact));
  return far < exact ? far : Math.min(beyond, count - 1);
}

// The bias of head h for query i and key j in a layer. An encoder has half of the buckets for keys after the query; to a decoder these are
// at distance 0.
function biasOf(weights, stack, c, layer) {
  const at = `${stack}block.${tableLayer(c, layer)}.`;
  const table = weights.matrix(`${at}layer.0.SelfAttention.relative_attention_bias.weight`);
  const [count, most] = [c.relative_attention_num_buckets, c.relative_attention_max_distance];
  if (stack === 'decoder.') return (h, i, j) => table[bucketOf(Math.max(i - j, 0), count, most)][h];
  return (h, i, j) => table[(j > i ? count / 2 : 0) + bucketOf(Math.abs(j - i), count / 2, most)][h];
}

// Attention of x to `over`, which is x or the encoder's output.
function attentionOf(f, x, over, c, weights, at, { bias, keeps }) {
  const map = (name, from) => linear(f, from, weights.linear(`${at}.${name}`));
  const [q, k, v] = [map('q', x), map('k', over), map('v', over)];
  const sizes = { heads: c.num_heads, kvHeads: c.num_heads, headDim: c.d_kv, scale: 1 };
  const attended = attend(f, { q, k, v }, { ...sizes, bias, keeps });
  return { q, k, v, ...attended, attentionOut: map('o', attended.context) };
}

const normOf = (f, x, c, weights, name) => rmsNorm(f, x, weights.norm(name), { eps: c.layer_norm_epsilon });

function feedForwardOf(f, x, c, weights, at) {
  const map = (name, from) => linear(f, from, weights.linear(`${at}DenseReluDense.${name}`));
  const gated = isGated(c);
  const first = activate(f, activations[c.feed_forward_proj], map(gated ? 'wi_0' : 'wi', x));
  const second = gated ? map('wi_1', x) : undefined;
  return map('wo', gated ? first.map((row, t) => row.map((value, i) => f(value * second[t][i]))) : first);
}

function layerOf(f, x, c, weights, at, options) {
  const normed = normOf(f, x, c, weights, `${at}layer.0.layer_norm`);
  const attended = attentionOf(f, normed, normed, c, weights, `${at}layer.0.SelfAttention`, options);
  const hidden = add(f, x, attended.attentionOut);
  const mlp = feedForwardOf(f, normOf(f, hidden, c, weights, `${at}layer.1.layer_norm`), c, weights, `${at}layer.1.`);
  const { q, k, v } = attended;
  const turned = { qRotated: q, kRotated: k, vRotated: v };
  return { normed, ...turned, ...attended, hidden, mlp, out: add(f, hidden, mlp) };
}

/** See reference/reference.mjs. */
export function encoder(f, { config: c, tensors: stored }, { ids, keep }) {
  const weights = new Weights(stored);
  const words = weights.matrix('shared.weight');
  const embeddings = ids.map((id) => words[id]);
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < c.num_layers; ++i) {
    const bias = biasOf(weights, 'encoder.', c, i);
    layers.push(layerOf(f, x, c, weights, `encoder.block.${i}.`, { bias, keeps: (_, j) => keep[j] }));
    x = layers[i].out;
  }
  return { embeddings, layers, hidden: normOf(f, x, c, weights, 'encoder.final_layer_norm') };
}

/** Source ids and which of them count, and target ids -> { hidden [S][M], cross [layers][H][T][S], logits [T][V] }. */
export function encoderDecoder(f, model, { ids, keep, targetIds }) {
  const { config: c, tensors: stored } = model;
  const weights = new Weights(stored);
  const { hidden } = encoder(f, model, { ids, keep });
  const words = weights.matrix('shared.weight');
  const cross = [];
  let x = targetIds.map((id) => words[id]);
  for (let i = 0; i < (c.num_decoder_layers ?? c.num_layers); ++i) {
    const at = `decoder.block.${i}.`;
    const normed = normOf(f, x, c, weights, `${at}layer.0.layer_norm`);
    const own = { bias: biasOf(weights, 'decoder.', c, i), keeps: (t, j) => j <= t };
    x = add(f, x, attentionOf(f, normed, normed, c, weights, `${at}layer.0.SelfAttention`, own).attentionOut);
    const query = normOf(f, x, c, weights, `${at}layer.1.layer_norm`);
    const source = { keeps: (_, j) => keep[j] };
    const seen = attentionOf(f, query, hidden, c, weights, `${at}layer.1.EncDecAttention`, source);
    cross.push(seen.probabilities);
    x = add(f, x, seen.attentionOut);
    const read = normOf(f, x, c, weights, `${at}layer.2.layer_norm`);
    x = add(f, x, feedForwardOf(f, read, c, weights, `${at}layer.2.`));
  }
  const last = normOf(f, x, c, weights, 'decoder.final_layer_norm');
  const isTied = c.tie_word_embeddings ?? true;
  const scaled = isTied ? times(f, last, f(c.d_model ** -0.5)) : last;
  return { hidden, cross, logits: linear(f, scaled, { weight: isTied ? words : weights.matrix('lm_head.weight') }) };
}
