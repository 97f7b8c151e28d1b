// Decoders: one whole sequence at once. Runs with a cache must give the same. What a family has otherwise than LLaMA is in
// its file: `reference` in families/*.mjs.

import { families } from '../families.mjs';
import { attend } from './attention.mjs';
import { headDimOf, kvHeadsOf } from './config.mjs';
import { activate, add, layerNorm, linear, rmsNorm, softmax, times } from './parts.mjs';
import { rotate } from './rope.mjs';
import { Weights } from './weights.mjs';

const norm = (f, x, weight, options) =>
  options.kind === 'rms' ? rmsNorm(f, x, weight, options) : layerNorm(f, x, weight, options.eps);

// The norm of each head by itself, or of as many numbers as it has weights; a list has the norm of every head.
function headNorm(f, x, weight, options) {
  if (weight === undefined) return x;
  const list = Array.isArray(weight) ? weight : [weight];
  const size = list[0].weight.length;
  return x.map((each) => {
    const parts = Array.from({ length: each.length / size }, (_, h) => each.subarray(h * size, (h + 1) * size));
    return Float64Array.from(parts.flatMap((part, h) => [...norm(f, [part], list[h % list.length], options)[0]]));
  });
}

function attention(f, x, { config, family, index, weights, keep, positions }) {
  const headDim = headDimOf(config);
  const normOf = family.norm(config);
  const [plainQ, plainK] = [linear(f, x, weights.query), linear(f, x, weights.key)];
  const normedQ = (a) => headNorm(f, a, weights.queryNorm, normOf);
  const normedK = (a) => headNorm(f, a, weights.keyNorm, normOf);
  const [q, k] = [normedQ(plainQ), normedK(plainK)];
  const v = linear(f, x, weights.value);
  const rope = family.rope(config, index, Math.max(...positions) + 1);
  const turned = (a) => (rope === undefined ? a : rotate(f, a, { ...rope, positions, headDim }));
  const [qRotated, kRotated] = family.normsTurned
    ? [normedQ(turned(plainQ)), normedK(turned(plainK))]
    : [turned(q), turned(k)];
  const seesBoth = family.seesBoth?.(config);
  const window = family.window(config, index) ?? Number.POSITIVE_INFINITY;
  // Of windows that are chunks, a query sees the keys of its own.
  const chunk = family.chunk?.(config, index) ?? Number.POSITIVE_INFINITY;
  const factor = (t) => f(family.temperature?.(config, index, t) ?? 1);
  const attended = attend(
    f,
    { q: qRotated.map((each, t) => each.map((value) => f(value * factor(t)))), k: kRotated, v },
    {
      heads: config.num_attention_heads,
      kvHeads: kvHeadsOf(config),
      headDim,
      scale: family.scale(config),
      softcap: config.attn_logit_softcapping,
      bias: family.bias?.(config),
      keeps: (i, j) =>
        keep[j] && (j <= i || seesBoth) && Math.abs(i - j) < window && Math.floor(i / chunk) === Math.floor(j / chunk),
    },
  );
  const attentionOut = linear(f, attended.context, weights.output);
  return { q, k, v, qRotated, kRotated, vRotated: v, ...attended, attentionOut };
}

// The chosen experts of each token, each with its share of the router's softmax.
function experts(f, x, { router, experts, chosen, normalized }, activation) {
  const shares = linear(f, x, router).map((logits) => softmax(f, logits));
  return x.map((row, t) => {
    const order = [...shares[t].keys()].sort((a, b) => shares[t][b] - shares[t][a]).slice(0, chosen);
    const sum = normalized ? order.reduce((total, e) => f(total + shares[t][e]), 0) : 1;
    return order.reduce((total, e) => {
      const [made] = feedForward(f, [row], experts[e], activation);
      return total.map((value, i) => f(value + f(f(shares[t][e] / sum) * made[i])));
    }, new Float64Array(row.length));
  });
}

// The chosen experts read the token times the sigmoid of their logit, the shared one the token.
function sigmoidExperts(f, x, { router, experts, shared, chosen }, activation) {
  const logits = linear(f, x, router);
  const common = feedForward(f, x, shared, activation);
  return x.map((row, t) => {
    const order = [...logits[t].keys()].sort((a, b) => logits[t][b] - logits[t][a]).slice(0, chosen);
    return order.reduce((total, e) => {
      const share = f(1 / f(1 + f(Math.exp(-logits[t][e]))));
      const [made] = feedForward(f, times(f, [row], share), experts[e], activation);
      return total.map((value, i) => f(value + made[i]));
    }, common[t]);
  });
}

function feedForward(f, x, weights, activation) {
  if (weights.shared !== undefined) return sigmoidExperts(f, x, weights, activation);
  if (weights.experts !== undefined) return experts(f, x, weights, activation);
  const up = linear(f, x, weights.up);
  if (weights.gate === undefined) return linear(f, activate(f, activation, up), weights.down);
  const gate = activate(f, activation, linear(f, x, weights.gate));
  const gated = gate.map((each, t) => each.map((value, i) => f(value * up[t][i])));
  return linear(f, gated, weights.down);
}

function layer(f, x, options) {
  const { config, family, weights } = options;
  const normOf = family.norm(config);
  const maybe = (a, weight) => (weight === undefined ? a : norm(f, a, weight, normOf));
  const added = (a, b) => add(f, a, times(f, b, f(family.residual?.(config) ?? 1)));
  if (family.post?.(config)) {
    const made = attention(f, x, options);
    const hidden = norm(f, added(x, made.attentionOut), weights.attentionNorm, normOf);
    const mlp = feedForward(f, hidden, weights, family.activation(config));
    return { ...made, normed: x, hidden, mlp, out: norm(f, added(hidden, mlp), weights.feedForwardNorm, normOf) };
  }
  const normed = maybe(x, weights.attentionNorm);
  const made = attention(f, normed, options);
  const hidden = added(x, maybe(made.attentionOut, weights.attentionAfterNorm));
  const parallel = family.parallel?.(config);
  // With one norm for both parts, both read the same.
  const read = parallel && !weights.feedForwardNorm ? normed : maybe(parallel ? x : hidden, weights.feedForwardNorm);
  const mlp = feedForward(f, read, weights, family.activation(config));
  return { ...made, normed, hidden, mlp, out: added(hidden, maybe(mlp, weights.feedForwardAfterNorm)) };
}

/** See reference.mjs. */
export function decoder(f, model, { ids, keep, positions }) {
  // Of a model that sees images too, the part that reads text.
  const text = model.config.text_config;
  const all = new Weights(model.tensors, text === undefined ? '' : 'language_model.');
  const { reference: family } = families[(text ?? model.config).model_type];
  const stated = text ?? model.config;
  const config = { ...family.defaults, ...stated, ...family.fields?.(stated) };
  const names = typeof family.names === 'function' ? family.names(all) : family.names;
  const words = all.matrix(names.embed);
  // The scale is a number of the type that the vectors are stored in.
  const scale = all.asStored(names.embed, family.embedScale(config));
  let embeddings = times(
    f,
    ids.map((id) => words[id]),
    scale,
  );
  if (names.projectIn !== undefined && all.has(`${names.projectIn}.weight`)) {
    embeddings = linear(f, embeddings, all.linear(names.projectIn));
  }
  if (names.positions !== undefined) {
    const places = all.matrix(names.positions);
    const first = family.firstPosition ?? 0;
    embeddings = embeddings.map((each, t) => each.map((value, i) => f(value + places[first + positions[t]][i])));
  }
  if (names.embedNorm !== undefined) embeddings = norm(f, embeddings, all.norm(names.embedNorm), family.norm(config));
  const layers = [];
  let x = embeddings;
  for (let index = 0; index < config.num_hidden_layers; ++index) {
    const weights = family.weights(all, `${names.layers ?? `${names.base}layers.`}${index}.`, config);
    const made = layer(f, x, { config, family, index, weights, keep, positions });
    layers.push(made);
    x = made.out;
  }
  const hidden = family.post?.(config) ? x : norm(f, x, all.norm(names.finalNorm), family.norm(config));
  if (family.seesBoth?.(config)) return { embeddings, layers, hidden };
  const head = config.tie_word_embeddings ? { weight: words } : all.linear(names.head);
  const logitScale = f(family.logitScale?.(config) ?? 1);
  const cap = config.final_logit_softcapping ?? undefined;
  const projects = names.projectOut !== undefined && all.has(`${names.projectOut}.weight`);
  const read = projects ? linear(f, hidden, all.linear(names.projectOut)) : hidden;
  const logits = times(f, linear(f, read, head), logitScale).map((each) =>
    cap === undefined ? each : each.map((value) => f(cap * f(Math.tanh(f(value / cap))))),
  );
  return { embeddings, layers, hidden, pooled: undefined, logits };
}
