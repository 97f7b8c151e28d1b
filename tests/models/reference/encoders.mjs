// BERT with each of its position types, and RoFormer: one whole sequence at once.
import { attend } from './attention.mjs';
import { alibi, slopesOf } from './config.mjs';
import { activate, add, layerNorm, linear } from './parts.mjs';
import { ropeOf, rotate } from './rope.mjs';
import { Weights } from './weights.mjs';

// Tokens, types and, where the model learned them, absolute positions; a norm; RoFormer's wider projection.
function embed(f, config, weights, base, { ids, types, positions }) {
  const words = weights.matrix(`${base}embeddings.word_embeddings.weight`);
  const kinds = weights.matrix(`${base}embeddings.token_type_embeddings.weight`);
  let x = ids.map((id, t) => words[id].map((value, i) => f(value + kinds[types[t]][i])));
  if (isAbsolute(config)) {
    const places = weights.matrix(`${base}embeddings.position_embeddings.weight`);
    x = x.map((each, t) => each.map((value, i) => f(value + places[positions[t]][i])));
  }
  x = layerNorm(f, x, weights.norm(`${base}embeddings.LayerNorm`), config.layer_norm_eps);
  const project = `${base}embeddings_project`;
  return weights.has(`${project}.weight`) ? linear(f, x, weights.linear(project)) : x;
}

const isAbsolute = (config) =>
  config.model_type === 'bert' && (config.position_embedding_type ?? 'absolute') === 'absolute';

// BERT counts distances from query minus key; the row of distance 0 is the middle one. `keyMinusQuery` is the other way.
function distancesOf(config, weights, at, { positions, keyMinusQuery }) {
  const type = config.position_embedding_type ?? 'absolute';
  if (config.model_type !== 'bert' || !type.startsWith('relative')) return undefined;
  const table = weights.matrix(`${at}attention.self.distance_embedding.weight`);
  const middle = config.max_position_embeddings - 1;
  const sign = keyMinusQuery ? -1 : 1;
  const rowOf = (i, j) => middle + sign * (positions[i] - positions[j]);
  return { table, rowOf, keys: type === 'relative_key_query' };
}

function dense(f, x, config, weights, at) {
  const wide = activate(f, config.hidden_act, linear(f, x, weights.linear(`${at}intermediate.dense`)));
  return linear(f, wide, weights.linear(`${at}output.dense`));
}

// Jina BERT's activations of the first half, which multiplies the second.
const gates = { geglu: 'gelu', reglu: 'relu' };

function gated(f, x, gate, { intermediate_size: size }, weights, at) {
  const wide = linear(f, x, weights.linear(`${at}mlp.gated_layers`));
  const first = activate(
    f,
    gate,
    wide.map((each) => each.subarray(0, size)),
  );
  const product = first.map((each, t) => each.map((value, i) => f(value * wide[t][size + i])));
  return linear(f, product, weights.linear(`${at}mlp.wo`));
}

/** One layer whose weights' names begin with `at`. */
export function encoderLayer(f, x, config, weights, at, { keep, positions, keyMinusQuery }) {
  const heads = config.num_attention_heads;
  const headDim = config.hidden_size / heads;
  const project = (name) => linear(f, x, weights.linear(`${at}attention.self.${name}`));
  const [q, k, v] = [project('query'), project('key'), project('value')];
  let [qRotated, kRotated, vRotated] = [q, k, v];
  if (config.model_type === 'roformer') {
    const turn = { ...ropeOf(headDim, { rope_theta: 10000 }), pairing: 'interleaved', positions, headDim };
    qRotated = rotate(f, q, turn);
    kRotated = rotate(f, k, turn);
    if (config.rotary_value) vRotated = rotate(f, v, turn);
  }
  const attended = attend(
    f,
    { q: qRotated, k: kRotated, v: vRotated },
    {
      heads,
      kvHeads: heads,
      headDim,
      scale: 1 / Math.sqrt(headDim),
      keeps: (_, j) => keep[j],
      bias: config.position_embedding_type === 'alibi' ? alibi(slopesOf(heads)) : undefined,
      distances: distancesOf(config, weights, at, { positions, keyMinusQuery }),
    },
  );
  const normed = (a, name) => layerNorm(f, a, weights.norm(`${at}${name}.LayerNorm`), config.layer_norm_eps);
  const attentionOut = linear(f, attended.context, weights.linear(`${at}attention.output.dense`));
  const hidden = normed(add(f, attentionOut, x), 'attention.output');
  const gate = gates[config.feed_forward_type];
  const mlp = gate === undefined ? dense(f, hidden, config, weights, at) : gated(f, hidden, gate, config, weights, at);
  const out =
    gate === undefined
      ? normed(add(f, mlp, hidden), 'output')
      : layerNorm(f, add(f, mlp, hidden), weights.norm(`${at}mlp.layernorm`), config.layer_norm_eps);
  return { q, k, v, qRotated, kRotated, vRotated, ...attended, attentionOut, hidden, mlp, out };
}

function head(f, x, config, weights, base) {
  const transformed = activate(f, config.hidden_act, linear(f, x, weights.linear('cls.predictions.transform.dense')));
  const norm = weights.norm('cls.predictions.transform.LayerNorm');
  const normed = layerNorm(f, transformed, norm, config.layer_norm_eps);
  const weight = weights.matrix(`${base}embeddings.word_embeddings.weight`);
  return linear(f, normed, { weight, bias: weights.vector('cls.predictions.bias') });
}

// Only BERT has a pooler: the first token's state, through a linear map and tanh.
function pool(f, x, pooler) {
  return linear(f, x.slice(0, 1), pooler)[0].map((value) => f(Math.tanh(value)));
}

/** See reference.mjs. */
export function encoder(f, { config, tensors }, { ids, keep, types, positions, keyMinusQuery }) {
  const weights = new Weights(tensors);
  const prefix = `${config.model_type}.`;
  const base = weights.has(`${prefix}embeddings.word_embeddings.weight`) ? prefix : '';
  const embeddings = embed(f, config, weights, base, { ids, types, positions });
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < config.num_hidden_layers; ++i) {
    const made = encoderLayer(f, x, config, weights, `${base}encoder.layer.${i}.`, { keep, positions, keyMinusQuery });
    layers.push(made);
    x = made.out;
  }
  const pooler = `${base}pooler.dense`;
  return {
    embeddings,
    layers,
    hidden: x,
    pooled: weights.has(`${pooler}.weight`) ? pool(f, x, weights.linear(pooler)) : undefined,
    logits: weights.has('cls.predictions.bias') ? head(f, x, config, weights, base) : undefined,
  };
}
