// GPT-NeoX and the LLaMA family: one whole sequence at once. Runs with a cache must give the same.

import { families } from '../families.mjs';
import { attend } from './attention.mjs';
import { headDimOf, kvHeadsOf } from './config.mjs';
import { activate, add, layerNorm, linear, rmsNorm, times } from './parts.mjs';
import { rotate } from './rope.mjs';
import { Weights } from './weights.mjs';

const norm = (f, x, weight, options) =>
  options.kind === 'rms' ? rmsNorm(f, x, weight, options) : layerNorm(f, x, weight, options.eps);

// The norm of each head by itself.
function headNorm(f, x, weight, options, headDim) {
  if (weight === undefined) return x;
  return x.map((each) => {
    const heads = Array.from({ length: each.length / headDim }, (_, h) =>
      each.subarray(h * headDim, (h + 1) * headDim),
    );
    return Float64Array.from(norm(f, heads, weight, options).flatMap((row) => [...row]));
  });
}

function attention(f, x, { config, family, index, weights, keep, positions }) {
  const headDim = headDimOf(config);
  const normOf = family.norm(config);
  const q = headNorm(f, linear(f, x, weights.query), weights.queryNorm, normOf, headDim);
  const k = headNorm(f, linear(f, x, weights.key), weights.keyNorm, normOf, headDim);
  const v = linear(f, x, weights.value);
  const rope = family.rope(config, index, Math.max(...positions) + 1);
  const turned = (a) => (rope === undefined ? a : rotate(f, a, { ...rope, positions, headDim }));
  const [qRotated, kRotated] = [turned(q), turned(k)];
  const window = family.window(config, index) ?? Number.POSITIVE_INFINITY;
  const attended = attend(
    f,
    { q: qRotated, k: kRotated, v },
    {
      heads: config.num_attention_heads,
      kvHeads: kvHeadsOf(config),
      headDim,
      scale: family.scale(config),
      softcap: config.attn_logit_softcapping,
      keeps: (i, j) => keep[j] && j <= i && i - j < window,
    },
  );
  const attentionOut = linear(f, attended.context, weights.output);
  return { q, k, v, qRotated, kRotated, vRotated: v, ...attended, attentionOut };
}

function feedForward(f, x, weights, activation) {
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
  const normed = norm(f, x, weights.attentionNorm, normOf);
  const made = attention(f, normed, options);
  const hidden = add(f, x, maybe(made.attentionOut, weights.attentionAfterNorm));
  const read = norm(f, family.parallel?.(config) ? x : hidden, weights.feedForwardNorm, normOf);
  const mlp = feedForward(f, read, weights, family.activation(config));
  return { ...made, normed, hidden, mlp, out: add(f, hidden, maybe(mlp, weights.feedForwardAfterNorm)) };
}

/** See reference.mjs. */
export function decoder(f, model, { ids, keep, positions }) {
  // Of a model that sees images too, the part that reads text.
  const text = model.config.text_config;
  const all = new Weights(model.tensors, text === undefined ? '' : 'language_model.');
  const { reference: family } = families[(text ?? model.config).model_type];
  const config = { ...family.defaults, ...(text ?? model.config) };
  const { names } = family;
  const words = all.matrix(names.embed);
  // The scale is a number of the type that the vectors are stored in.
  const scale = all.asStored(names.embed, family.embedScale(config));
  const embeddings = times(
    f,
    ids.map((id) => words[id]),
    scale,
  );
  const layers = [];
  let x = embeddings;
  for (let index = 0; index < config.num_hidden_layers; ++index) {
    const weights = family.weights(all, `${names.base}layers.${index}.`, config);
    const made = layer(f, x, { config, family, index, weights, keep, positions });
    layers.push(made);
    x = made.out;
  }
  const hidden = norm(f, x, all.norm(names.finalNorm), family.norm(config));
  const head = config.tie_word_embeddings ? { weight: words } : all.linear(names.head);
  const cap = config.final_logit_softcapping ?? undefined;
  const logits = linear(f, hidden, head).map((each) =>
    cap === undefined ? each : each.map((value) => f(cap * f(Math.tanh(f(value / cap))))),
  );
  return { embeddings, layers, hidden, pooled: undefined, logits };
}
