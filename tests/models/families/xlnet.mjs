// XLNet, after modeling_xlnet.py: its content stream without memory or permutation. Scores have products with vectors of
// distances and of token types, each with a bias of the query of its own.
import { attend } from '../reference/attention.mjs';
import { activate, add, dot, layerNorm, linear } from '../reference/parts.mjs';
import { Weights } from '../reference/weights.mjs';
import { training } from '../tiny/configs.mjs';
import { dense, layerNorm as normShapes, sharper } from '../tiny/shapes.mjs';

export const modelType = 'xlnet';

// The fields of xlnet/xlnet-base-cased's config.json.
const xlnet = (architecture, fields) => ({
  architectures: [architecture],
  ...{ attn_type: 'bi', bi_data: false, bos_token_id: 1, clamp_len: -1, d_head: 12, d_inner: 52, d_model: 36 },
  ...{ dropout: 0.1, end_n_top: 5, eos_token_id: 2, ff_activation: 'gelu', layer_norm_eps: 1e-12, mem_len: null },
  ...{ model_type: 'xlnet', n_head: 3, n_layer: 2, pad_token_id: 5, reuse_len: null, same_length: false },
  ...{ start_n_top: 5, summary_activation: 'tanh', summary_last_dropout: 0.1, summary_type: 'last' },
  ...{ summary_use_proj: true, untie_r: true, vocab_size: 97 },
  ...training,
  attention_dropout: undefined,
  ...fields,
});

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = {
  xlnet: ['F32', xlnet('XLNetLMHeadModel', {})],
  'xlnet-bare': ['F16', xlnet('XLNetModel', { ff_activation: 'relu' }), { bare: true }],
  'xlnet-clamped': ['BF16', xlnet('XLNetLMHeadModel', { clamp_len: 3, tie_word_embeddings: false }), { head: true }],
};

export function tensors(c, { bare, head }) {
  const base = bare ? '' : 'transformer.';
  const [width, heads, wide] = [c.d_model, c.n_head, c.d_inner];
  const shape = [width, heads, width / heads];
  const layer = (at) => [
    ...['q', 'k', 'v', 'o', 'r'].map((name) => [
      `${at}rel_attn.${name}`,
      shape,
      (name === 'q' || name === 'k' ? sharper : 1) / Math.sqrt(width),
    ]),
    ...['r', 's', 'w'].map((name) => [`${at}rel_attn.r_${name}_bias`, shape.slice(1), 0.5]),
    [`${at}rel_attn.seg_embed`, [2, ...shape.slice(1)], 0.5],
    ...normShapes(`${at}rel_attn.layer_norm`, width),
    ...normShapes(`${at}ff.layer_norm`, width),
    ...dense(`${at}ff.layer_1`, wide, width),
    ...dense(`${at}ff.layer_2`, width, wide),
  ];
  return [
    [`${base}word_embedding.weight`, [c.vocab_size, width], 1],
    [`${base}mask_emb`, [1, 1, width], 1],
    ...Array.from({ length: c.n_layer }, (_, i) => layer(`${base}layer.${i}.`)).flat(),
    ...(head ? [['lm_loss.weight', [c.vocab_size, width], 2 / Math.sqrt(width)]] : []),
    ...(bare ? [] : [['lm_loss.bias', [c.vocab_size], 0.3]]),
  ];
}

// The map of a tensor [inputs, H, D].
function turned(weights, name, outputs) {
  const numbers = weights.vector(name);
  const inputs = numbers.length / outputs;
  return {
    weight: Array.from({ length: outputs }, (_, o) =>
      Float64Array.from({ length: inputs }, (_, i) => numbers[i * outputs + o]),
    ),
  };
}

// Of one position: the sine of every frequency, then the cosine of every one.
function sinusoid(position, size) {
  const angles = Array.from({ length: size / 2 }, (_, i) => position * 10000 ** ((-2 * i) / size));
  return Float64Array.from([...angles.map(Math.sin), ...angles.map(Math.cos)]);
}

function layerOf(f, x, c, weights, at, { keep, types }) {
  const [width, heads] = [c.d_model, c.n_head];
  const size = width / heads;
  const name = (end) => `${at}rel_attn.${end}`;
  const [plain, k, v] = ['q', 'k', 'v'].map((end) => linear(f, x, turned(weights, name(end), width)));
  const [ofKeys, ofDistances, ofTypes] = ['w', 'r', 's'].map((end) => weights.vector(name(`r_${end}_bias`)));
  const kinds = weights.vector(name('seg_embed'));
  const clamp = (distance) => (c.clamp_len > 0 ? Math.max(-c.clamp_len, Math.min(c.clamp_len, distance)) : distance);
  const reach = x.length - 1;
  const places = Array.from({ length: 2 * reach + 1 }, (_, n) => sinusoid(clamp(n - reach), width));
  const far = linear(f, places, turned(weights, name('r'), width));
  const part = (numbers, h) => numbers.subarray(h * size, (h + 1) * size);
  const plus = (query, bias) => query.map((value, d) => f(value + bias[d]));
  const scale = 1 / Math.sqrt(size);
  // The package has the part of distances that the query has no part in as a bias behind the scale.
  const rest = (h, i, j) =>
    f(
      scale *
        dot(
          f,
          plus(
            part(ofDistances, h),
            part(ofKeys, h).map((value) => -value),
          ),
          part(far[i - j + reach], h),
        ),
    );
  const q = plain.map((each) => plus(each, ofKeys));
  const attended = attend(
    f,
    { q, k, v },
    {
      ...{ heads, kvHeads: heads, headDim: size, scale, keeps: (_, j) => keep[j], bias: rest },
      terms(h, i, j, query) {
        const kind = kinds.subarray(types[i] === types[j] ? 0 : width);
        return [
          dot(f, query, part(far[i - j + reach], h)),
          dot(f, plus(part(plain[i], h), part(ofTypes, h)), part(kind, h)),
        ];
      },
    },
  );
  const rows = weights.vector(name('o'));
  const output = { weight: Array.from({ length: width }, (_, o) => rows.subarray(o * width, (o + 1) * width)) };
  const normed = (a, end) => layerNorm(f, a, weights.norm(`${at}${end}.layer_norm`), c.layer_norm_eps);
  const attentionOut = linear(f, attended.context, output);
  const hidden = normed(add(f, attentionOut, x), 'rel_attn');
  const wide = activate(f, c.ff_activation, linear(f, hidden, weights.linear(`${at}ff.layer_1`)));
  const mlp = linear(f, wide, weights.linear(`${at}ff.layer_2`));
  const out = normed(add(f, mlp, hidden), 'ff');
  return { q, k, v, qRotated: q, kRotated: k, vRotated: v, ...attended, attentionOut, hidden, mlp, out };
}

/** See reference/reference.mjs. */
export function encoder(f, { config: c, tensors: stored }, { ids, keep, types }) {
  const weights = new Weights(stored);
  const base = weights.has('transformer.word_embedding.weight') ? 'transformer.' : '';
  const words = weights.matrix(`${base}word_embedding.weight`);
  const embeddings = ids.map((id) => words[id]);
  const layers = [];
  let x = embeddings;
  for (let i = 0; i < c.n_layer; ++i) {
    layers.push(layerOf(f, x, c, weights, `${base}layer.${i}.`, { keep, types }));
    x = layers[i].out;
  }
  if (!weights.has('lm_loss.bias')) return { embeddings, layers, hidden: x };
  const weight = weights.has('lm_loss.weight') ? weights.matrix('lm_loss.weight') : words;
  return { embeddings, layers, hidden: x, logits: linear(f, x, { weight, bias: weights.vector('lm_loss.bias') }) };
}
