// DeBERTa v2 and v3, after modeling_deberta_v2.py: BERT's layers, in which a query meets the vectors of distances as keys,
// by the map of keys, and a key meets them as queries.
import { attend } from '../reference/attention.mjs';
import { activate, add, dot, layerNorm, linear } from '../reference/parts.mjs';
import { Weights } from '../reference/weights.mjs';
import { encoder as encoderConfig } from '../tiny/configs.mjs';
import { dense, layerNorm as normShapes, sharper } from '../tiny/shapes.mjs';

export const modelType = 'deberta-v2';

// The fields of microsoft/deberta-v3-base's config.json.
const deberta = (architecture, fields) =>
  encoderConfig('deberta-v2', architecture, {
    ...{ layer_norm_eps: 1e-7, max_relative_positions: -1, norm_rel_ebd: 'layer_norm', pos_att_type: 'p2c|c2p' },
    ...{ position_biased_input: false, position_buckets: 8, relative_attention: true, share_att_key: true },
    ...{ pooler_dropout: 0, pooler_hidden_act: 'gelu', pooler_hidden_size: 36, type_vocab_size: 0 },
    ...{ vocab_size: 97, max_position_embeddings: 12 },
    ...fields,
  });

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  'deberta-v3': ['F32', deberta('DebertaV2ForMaskedLM', {})],
  'deberta-v3-bare': ['F16', deberta('DebertaV2Model', { attention_head_size: 10 }), { bare: true, own: true }],
  'deberta-v3-types': [
    'BF16',
    deberta('DebertaV2ForMaskedLM', { legacy: false, max_relative_positions: 9, type_vocab_size: 2 }),
    { own: true },
  ],
  'deberta-v2-keys': [
    'F32',
    deberta('DebertaV2ForMaskedLM', { norm_rel_ebd: 'none', pos_att_type: ['c2p'], position_buckets: -1 }),
  ],
  'deberta-v2-queries': [
    'F32',
    deberta('DebertaV2ForMaskedLM', { max_relative_positions: 20, pos_att_type: 'p2c', position_buckets: 32 }),
  ],
};

const reachOf = (c) => (c.max_relative_positions > 0 ? c.max_relative_positions : c.max_position_embeddings);
const spanOf = (c) => (c.position_buckets > 0 ? c.position_buckets : reachOf(c));
const headDimOf = (c) => c.attention_head_size ?? c.hidden_size / c.num_attention_heads;

export function tensors(c, { bare, own }) {
  const base = bare ? '' : 'deberta.';
  const [width, wide, rows] = [c.hidden_size, c.intermediate_size, c.num_attention_heads * headDimOf(c)];
  const layer = (at) => [
    ...dense(`${at}attention.self.query_proj`, rows, width, sharper),
    ...dense(`${at}attention.self.key_proj`, rows, width, sharper),
    ...dense(`${at}attention.self.value_proj`, rows, width),
    ...dense(`${at}attention.output.dense`, width, rows),
    ...normShapes(`${at}attention.output.LayerNorm`, width),
    ...dense(`${at}intermediate.dense`, wide, width),
    ...dense(`${at}output.dense`, width, wide),
    ...normShapes(`${at}output.LayerNorm`, width),
  ];
  const head = own
    ? [
        ['lm_predictions.lm_head.bias', [c.vocab_size], 0.3],
        ...dense('lm_predictions.lm_head.dense', width, width),
        ...normShapes('lm_predictions.lm_head.LayerNorm', width),
        // What the discriminator of v3 was trained with, which nothing reads.
        ...dense('mask_predictions.classifier', 1, width),
      ]
    : [
        ['cls.predictions.bias', [c.vocab_size], 0.3],
        ...dense('cls.predictions.transform.dense', width, width),
        ...normShapes('cls.predictions.transform.LayerNorm', width),
      ];
  return [
    [`${base}embeddings.word_embeddings.weight`, [c.vocab_size, width], 1],
    ...(c.type_vocab_size > 0 ? [[`${base}embeddings.token_type_embeddings.weight`, [2, width], 0.7]] : []),
    ...normShapes(`${base}embeddings.LayerNorm`, width),
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(`${base}encoder.layer.${i}.`)).flat(),
    [`${base}encoder.rel_embeddings.weight`, [2 * spanOf(c), width], 1],
    ...(c.norm_rel_ebd === 'layer_norm' ? normShapes(`${base}encoder.LayerNorm`, width) : []),
    ...head,
  ];
}

// Itself up to the middle, then by its logarithm.
function bucketOf(relative, size, most) {
  const middle = Math.floor(size / 2);
  const far = relative < middle && relative > -middle ? middle - 1 : Math.abs(relative);
  const logarithmic = Math.ceil((Math.log(far / middle) / Math.log((most - 1) / middle)) * (middle - 1)) + middle;
  return far <= middle ? relative : logarithmic * Math.sign(relative);
}

// What the scores of a layer get beside q . k: the products of query i with row i - j of the keys' table, of key j with row
// -(j - i) of the queries'.
function termsOf(f, c, vectors, maps) {
  const [span, size] = [spanOf(c), headDimOf(c)];
  const relative = (distance) =>
    c.position_buckets > 0 ? bucketOf(distance, c.position_buckets, reachOf(c)) : distance;
  const row = (place) => Math.min(Math.max(place + span, 0), 2 * span - 1);
  const [asKeys, asQueries] = ['c2p', 'p2c'].map((name) => c.pos_att_type.includes(name));
  const [keys, queries] = [linear(f, vectors, maps.key), linear(f, vectors, maps.query)];
  const part = (table, place, h) => table[row(place)].subarray(h * size, (h + 1) * size);
  return (h, i, j, query, key) => [
    ...(asKeys ? [dot(f, query, part(keys, relative(i - j), h))] : []),
    ...(asQueries ? [dot(f, key, part(queries, -relative(j - i), h))] : []),
  ];
}

function layerOf(f, x, c, weights, at, { keep, vectors, scale }) {
  const maps = Object.fromEntries(
    ['query', 'key', 'value'].map((name) => [name, weights.linear(`${at}attention.self.${name}_proj`)]),
  );
  const [q, k, v] = [maps.query, maps.key, maps.value].map((map) => linear(f, x, map));
  const heads = c.num_attention_heads;
  const attended = attend(
    f,
    { q, k, v },
    {
      ...{ heads, kvHeads: heads, headDim: headDimOf(c), scale, keeps: (_, j) => keep[j] },
      terms: termsOf(f, c, vectors, maps),
    },
  );
  const normed = (a, name) => layerNorm(f, a, weights.norm(`${at}${name}.LayerNorm`), c.layer_norm_eps);
  const attentionOut = linear(f, attended.context, weights.linear(`${at}attention.output.dense`));
  const hidden = normed(add(f, attentionOut, x), 'attention.output');
  const wide = activate(f, c.hidden_act, linear(f, hidden, weights.linear(`${at}intermediate.dense`)));
  const mlp = linear(f, wide, weights.linear(`${at}output.dense`));
  const out = normed(add(f, mlp, hidden), 'output');
  return { q, k, v, qRotated: q, kRotated: k, vRotated: v, ...attended, attentionOut, hidden, mlp, out };
}

function headOf(f, x, c, weights, words) {
  const at = weights.has('cls.predictions.bias') ? 'cls.predictions.' : 'lm_predictions.lm_head.';
  const inner = at.startsWith('cls') ? `${at}transform.` : at;
  const wide = activate(f, c.hidden_act, linear(f, x, weights.linear(`${inner}dense`)));
  const normed = layerNorm(f, wide, weights.norm(`${inner}LayerNorm`), c.layer_norm_eps);
  return linear(f, normed, { weight: words, bias: weights.vector(`${at}bias`) });
}

/** See reference/reference.mjs. */
export function encoder(f, { config: c, tensors: stored }, { ids, keep, types }) {
  const weights = new Weights(stored);
  const base = weights.has('deberta.encoder.rel_embeddings.weight') ? 'deberta.' : '';
  const words = weights.matrix(`${base}embeddings.word_embeddings.weight`);
  const kinds = c.type_vocab_size > 0 && weights.matrix(`${base}embeddings.token_type_embeddings.weight`);
  const summed = ids.map((id, t) => words[id].map((value, i) => (kinds ? f(value + kinds[types[t]][i]) : value)));
  const embeddings = layerNorm(f, summed, weights.norm(`${base}embeddings.LayerNorm`), c.layer_norm_eps);
  const learned = weights.matrix(`${base}encoder.rel_embeddings.weight`);
  const vectors =
    c.norm_rel_ebd === 'layer_norm'
      ? layerNorm(f, learned, weights.norm(`${base}encoder.LayerNorm`), c.layer_norm_eps)
      : learned;
  const products = 1 + ['c2p', 'p2c'].filter((name) => c.pos_att_type.includes(name)).length;
  const scale = 1 / Math.sqrt(headDimOf(c) * products);
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < c.num_hidden_layers; ++i) {
    layers.push(layerOf(f, x, c, weights, `${base}encoder.layer.${i}.`, { keep, vectors, scale }));
    x = layers[i].out;
  }
  return { embeddings, layers, hidden: x, logits: headOf(f, x, c, weights, words) };
}
