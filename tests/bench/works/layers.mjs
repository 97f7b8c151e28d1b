// Whole layers: attention with its projections, one decoding step against cached keys, an encoder layer.
// RoPE uses half pairing and positions from 0. Weights are uniform with standard deviation 1 / sqrt(inputs).
import { random } from '../random.mjs';
import { attend, gelu, layerNorm, linear, sample, spread, turned } from '../reference.mjs';

const weight = (outputs, inputs, seed) => random(outputs * inputs, seed).map((v) => v * Math.sqrt(3 / inputs));

function projections(dim) {
  return {
    query: weight(dim, dim, 2),
    key: weight(dim, dim, 3),
    value: weight(dim, dim, 4),
    output: weight(dim, dim, 5),
  };
}

const rowsOf = (x, width) => Array.from({ length: x.length / width }, (_, r) => x.subarray(r * width, (r + 1) * width));
const headsOf = (row, heads) => rowsOf(row, row.length / heads);

// The rows of all heads, each turned.
const turnHeads = (row, heads, position) =>
  headsOf(row, heads).map((head) => (position === undefined ? head : turned(head, position, 'half')));

/** Gives the attention output of a token over `rows`; keys and values are computed once for all tokens. */
function attentionOf(rows, weights, { heads, causal, rope }) {
  const project = (name, x) => linear(x, weights[name], weights[`${name}Bias`]);
  const place = (t) => (rope ? t : undefined);
  const keys = rows.map((x, t) => turnHeads(project('key', x), heads, place(t)));
  const values = rows.map((x) => headsOf(project('value', x), heads));
  return (at) => {
    const seen = causal ? at + 1 : rows.length;
    const parts = turnHeads(project('query', rows[at]), heads, place(at)).map((query, h) =>
      attend(
        query,
        keys.slice(0, seen).map((key) => key[h]),
        values.slice(0, seen).map((value) => value[h]),
      ),
    );
    return project('output', Float64Array.from(parts.flatMap((part) => Array.from(part))));
  };
}

// All numbers of some tokens.
function sampleTokens(tokens, width, count, rowAt) {
  const wanted = new Map(spread(tokens, count).map((t) => [t, rowAt(t)]));
  const places = [...wanted.keys()].flatMap((t) => Array.from({ length: width }, (_, d) => t * width + d));
  return sample(places, (index) => wanted.get(Math.floor(index / width))[index % width]);
}

const attentionFlops = (tokens, dim, causal) => 8 * tokens * dim * dim + (4 * tokens * tokens * dim) / (causal ? 2 : 1);

export function attentionLayer(modelDim, heads, tokens, causal) {
  const kind = causal ? 'causal' : 'full';
  return {
    id: `layer ${modelDim} ${tokens} ${kind}`,
    title: `attention layer with RoPE, d ${modelDim}, ${heads} heads, T ${tokens}, ${kind}`,
    operation: 'attentionLayer',
    sizes: { modelDim, heads, tokens, causal },
    flops: attentionFlops(tokens, modelDim, causal),
    inputs: () => ({ x: random(tokens * modelDim, 1), weights: projections(modelDim) }),
    reference({ x, weights }) {
      const out = attentionOf(rowsOf(x, modelDim), weights, { heads, causal, rope: true });
      return sampleTokens(tokens, modelDim, 3, out);
    },
  };
}

export function decodeStep(modelDim, heads, past) {
  return {
    id: `decode ${modelDim} ${past}`,
    title: `decode step with RoPE, d ${modelDim}, ${heads} heads, ${past} cached keys`,
    operation: 'decode',
    sizes: { modelDim, heads, past },
    flops: 8 * modelDim * modelDim + 4 * past * modelDim,
    bytes: 4 * (4 * modelDim * modelDim + 2 * past * modelDim),
    // Keys (turned already) and values [heads, past, headDim].
    inputs: () => ({
      x: random(modelDim, 1),
      weights: projections(modelDim),
      keys: random(past * modelDim, 6),
      values: random(past * modelDim, 7),
    }),
    reference({ x, weights, keys, values }) {
      const headDim = modelDim / heads;
      const project = (name, input) => linear(input, weights[name]);
      const [query, key] = ['query', 'key'].map((name) => turnHeads(project(name, x), heads, past));
      const value = headsOf(project('value', x), heads);
      const parts = query.map((q, h) => {
        const rows = (cached, last) => [...rowsOf(cached, headDim).slice(h * past, (h + 1) * past), last[h]];
        return attend(q, rows(keys, key), rows(values, value));
      });
      const out = project('output', Float64Array.from(parts.flatMap((part) => Array.from(part))));
      return sample(spread(modelDim, modelDim), (index) => out[index]);
    },
  };
}

function encoderWeights(dim, ffn) {
  const names = ['query', 'key', 'value', 'output'];
  const biases = Object.fromEntries(names.map((name, i) => [`${name}Bias`, random(dim, 20 + i)]));
  const scale = (seed) => random(dim, seed).map((v) => 1 + v / 4);
  return {
    ...projections(dim),
    ...biases,
    up: weight(ffn, dim, 8),
    upBias: random(ffn, 9),
    down: weight(dim, ffn, 10),
    downBias: random(dim, 11),
    attentionNorm: { scale: scale(12), shift: random(dim, 13) },
    outputNorm: { scale: scale(14), shift: random(dim, 15) },
  };
}

/** An encoder layer with post-norm and exact GELU, as in BERT and RoFormer; RoFormer rotates queries and keys. */
function encoderLayer(kind, modelDim, heads, ffn, tokens) {
  const rope = kind === 'roformer';
  return {
    id: `encoder ${kind} ${tokens}`,
    title: `${rope ? 'RoFormer' : 'BERT'}-base layer, T ${tokens}, FFN ${ffn}`,
    operation: 'encoderLayer',
    sizes: { modelDim, heads, ffn, tokens, rope, epsilon: 1e-12 },
    flops: attentionFlops(tokens, modelDim, false) + 4 * tokens * modelDim * ffn,
    inputs: () => ({ x: random(tokens * modelDim, 1), weights: encoderWeights(modelDim, ffn) }),
    reference({ x, weights: w }) {
      const rows = rowsOf(x, modelDim);
      const attended = attentionOf(rows, w, { heads, causal: false, rope });
      const sum = (a, b) => Float64Array.from(a, (v, i) => v + b[i]);
      const norm = (row, { scale, shift }) => layerNorm(row, scale, shift, 1e-12);
      return sampleTokens(tokens, modelDim, 5, (t) => {
        const middle = norm(sum(attended(t), rows[t]), w.attentionNorm);
        const hidden = linear(middle, w.up, w.upBias).map(gelu);
        return norm(sum(linear(hidden, w.down, w.downBias), middle), w.outputNorm);
      });
    },
  };
}

export const works = [
  ...[false, true].flatMap((causal) => [128, 512, 2048].map((tokens) => attentionLayer(512, 8, tokens, causal))),
  decodeStep(512, 8, 1024),
  encoderLayer('roformer', 768, 12, 3072, 128),
  encoderLayer('bert', 768, 12, 3072, 128),
];
