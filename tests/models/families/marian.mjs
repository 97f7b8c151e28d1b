// Marian, after modeling_marian.py: post-norm layers with biases, token vectors times sqrt(M), sinusoids with all sines before
// all cosines, and a bias of the logits, whose matrix is the table of token vectors.
import { attend } from '../reference/attention.mjs';
import { activate, add, layerNorm, linear } from '../reference/parts.mjs';
import { Weights } from '../reference/weights.mjs';
import { sizes } from '../tiny/configs.mjs';
import { dense, layerNorm as normShapes, sharper } from '../tiny/shapes.mjs';

export const modelType = 'marian';

// The fields of Helsinki-NLP/opus-mt-en-de's config.json.
const marian = (architecture, fields) => ({
  activation_dropout: 0,
  activation_function: 'swish',
  add_bias_logits: false,
  add_final_layer_norm: false,
  architectures: [architecture],
  attention_dropout: 0,
  bad_words_ids: [[96]],
  bos_token_id: 0,
  d_model: sizes.hidden_size,
  decoder_attention_heads: 4,
  decoder_ffn_dim: 44,
  decoder_layerdrop: 0,
  decoder_layers: 3,
  decoder_start_token_id: 96,
  dropout: 0.1,
  encoder_attention_heads: 3,
  encoder_ffn_dim: sizes.intermediate_size,
  encoder_layerdrop: 0,
  encoder_layers: 2,
  eos_token_id: 0,
  forced_eos_token_id: 0,
  init_std: 0.02,
  is_encoder_decoder: true,
  max_length: 40,
  max_position_embeddings: 40,
  model_type: 'marian',
  normalize_before: false,
  normalize_embedding: false,
  num_beams: 6,
  num_hidden_layers: 2,
  pad_token_id: 96,
  scale_embedding: true,
  static_position_embeddings: true,
  vocab_size: sizes.vocab_size,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = { 'marian-encoder': ['F32', marian('MarianModel', { activation_function: 'relu' })] };

/** The same of models with a decoder. */
export const pairs = {
  marian: ['F32', marian('MarianMTModel'), { decoder: true }],
  'marian-even': [
    'F16',
    marian('MarianMTModel', {
      decoder_attention_heads: undefined,
      scale_embedding: false,
      share_encoder_decoder_embeddings: true,
    }),
    { decoder: true },
  ],
};

export function tensors(c, { decoder }) {
  const width = c.d_model;
  const attention = (at) => [
    ...dense(`${at}.q_proj`, width, width, sharper),
    ...dense(`${at}.k_proj`, width, width, sharper),
    ...dense(`${at}.v_proj`, width, width),
    ...dense(`${at}.out_proj`, width, width),
  ];
  const layer = (at, wide, isLast) => [
    ...attention(`${at}self_attn`),
    ...normShapes(`${at}self_attn_layer_norm`, width),
    ...(isLast ? [...attention(`${at}encoder_attn`), ...normShapes(`${at}encoder_attn_layer_norm`, width)] : []),
    ...dense(`${at}fc1`, wide, width),
    ...dense(`${at}fc2`, width, wide),
    ...normShapes(`${at}final_layer_norm`, width),
  ];
  const layers = (count, of) => Array.from({ length: count }, (_, i) => of(i)).flat();
  return [
    ['model.shared.weight', [c.vocab_size, width], c.scale_embedding ? 1 / Math.sqrt(width) : 1],
    ...layers(c.encoder_layers, (i) => layer(`model.encoder.layers.${i}.`, c.encoder_ffn_dim, false)),
    ...(decoder ? layers(c.decoder_layers, (i) => layer(`model.decoder.layers.${i}.`, c.decoder_ffn_dim, true)) : []),
    ...(decoder ? [['final_logits_bias', [1, c.vocab_size], 0.5]] : []),
  ];
}

// Row p has sin(p / 10000^(2i / M)) for all i, then the cosines.
function positionsOf(width, positions) {
  return positions.map((p) =>
    Float64Array.from({ length: width }, (_, i) => {
      const angle = p / 10000 ** ((2 * (i % (width / 2))) / width);
      return Math.fround(i < width / 2 ? Math.sin(angle) : Math.cos(angle));
    }),
  );
}

function embeddingsOf(f, weights, c, ids, positions) {
  const words = weights.matrix('model.shared.weight');
  const factor = c.scale_embedding ? f(Math.sqrt(c.d_model)) : 1;
  const scaled = ids.map((id) => words[id].map((value) => f(value * factor)));
  return add(f, scaled, positionsOf(c.d_model, positions));
}

// Attention of x to `over`, which is x or the encoder's output.
function attentionOf(f, x, over, heads, weights, at, keeps) {
  const map = (name, from) => linear(f, from, weights.linear(`${at}.${name}_proj`));
  const [q, k, v] = [map('q', x), map('k', over), map('v', over)];
  const headDim = x[0].length / heads;
  const attended = attend(f, { q, k, v }, { heads, kvHeads: heads, headDim, scale: headDim ** -0.5, keeps });
  return { q, k, v, ...attended, attentionOut: map('out', attended.context) };
}

const normOf = (f, x, weights, name) => layerNorm(f, x, weights.norm(name), 1e-5);

function feedForwardOf(f, x, c, weights, at) {
  const name = c.activation_function === 'swish' ? 'silu' : c.activation_function;
  return linear(f, activate(f, name, linear(f, x, weights.linear(`${at}fc1`))), weights.linear(`${at}fc2`));
}

/** See reference/reference.mjs. */
export function encoder(f, { config: c, tensors: stored }, { ids, keep, positions = ids.map((_, t) => t) }) {
  const weights = new Weights(stored);
  const embeddings = embeddingsOf(f, weights, c, ids, positions);
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < c.encoder_layers; ++i) {
    const at = `model.encoder.layers.${i}.`;
    const attended = attentionOf(f, x, x, c.encoder_attention_heads, weights, `${at}self_attn`, (_, j) => keep[j]);
    const hidden = normOf(f, add(f, x, attended.attentionOut), weights, `${at}self_attn_layer_norm`);
    const mlp = feedForwardOf(f, hidden, c, weights, at);
    const { q, k, v } = attended;
    x = normOf(f, add(f, hidden, mlp), weights, `${at}final_layer_norm`);
    layers.push({ qRotated: q, kRotated: k, vRotated: v, ...attended, hidden, mlp, out: x });
  }
  return { embeddings, layers, hidden: x };
}

/** Source ids and which of them count, and target ids -> { hidden [S][M], cross [layers][H][T][S], logits [T][V] }. */
export function encoderDecoder(f, model, { ids, keep, targetIds }) {
  const { config: c, tensors: stored } = model;
  const weights = new Weights(stored);
  const { hidden } = encoder(f, model, { ids, keep });
  const heads = c.decoder_attention_heads ?? c.encoder_attention_heads;
  const cross = [];
  let x = embeddingsOf(f, weights, c, targetIds, [...targetIds.keys()]);
  for (let i = 0; i < c.decoder_layers; ++i) {
    const at = `model.decoder.layers.${i}.`;
    const own = attentionOf(f, x, x, heads, weights, `${at}self_attn`, (t, j) => j <= t);
    x = normOf(f, add(f, x, own.attentionOut), weights, `${at}self_attn_layer_norm`);
    const seen = attentionOf(f, x, hidden, heads, weights, `${at}encoder_attn`, (_, j) => keep[j]);
    cross.push(seen.probabilities);
    x = normOf(f, add(f, x, seen.attentionOut), weights, `${at}encoder_attn_layer_norm`);
    x = normOf(f, add(f, x, feedForwardOf(f, x, c, weights, at)), weights, `${at}final_layer_norm`);
  }
  const bias = weights.vector('final_logits_bias');
  return { hidden, cross, logits: linear(f, x, { weight: weights.matrix('model.shared.weight'), bias }) };
}
