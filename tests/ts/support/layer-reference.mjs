// A transformer layer in float64, one batch entry at a time, with seeded weights.
import { random } from './arrays.mjs';
import { attention, linear } from './attention-reference.mjs';
import { frequencies, rotate } from './rope-reference.mjs';

/** Shapes of the matrices of a layer, by name. */
export function matrixShapes({
  modelDim,
  heads,
  kvHeads = heads,
  headDim = modelDim / heads,
  valueDim = headDim,
  hiddenDim,
}) {
  return {
    query: [heads * headDim, modelDim],
    key: [kvHeads * headDim, modelDim],
    value: [kvHeads * valueDim, modelDim],
    output: [modelDim, heads * valueDim],
    gate: [hiddenDim, modelDim],
    up: [hiddenDim, modelDim],
    down: [modelDim, hiddenDim],
  };
}

/** Float32Arrays for the named weights: about 1 / sqrt(inputs) for matrices, near 1 for norms, small for biases. */
export function layerWeights(size, { norms = [], biases = [], without = [] } = {}) {
  const weights = {};
  let seed = 300;
  for (const [name, [rows, inputs]] of Object.entries(matrixShapes(size))) {
    if (without.includes(name)) continue;
    weights[name] = random(rows * inputs, ++seed).map((w) => w * Math.sqrt(3 / inputs));
    if (biases.includes(name)) weights[`${name}Bias`] = random(rows, ++seed).map((w) => w / 2);
  }
  for (const [name, length] of norms) {
    weights[name] = random(length, ++seed).map((w) => 1 + w / 3);
    if (biases.includes(name)) weights[`${name}Bias`] = random(length, ++seed).map((w) => w / 3);
  }
  return weights;
}

const map = (a, f) => Float64Array.from(a, f);
const sum = (a, b) => map(a, (value, i) => value + b[i]);

function norm(x, weights, name, { kind, eps, unitOffset = false }) {
  const weight = weights[name];
  if (weight === undefined) return x;
  const n = weight.length;
  const out = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += n) {
    const values = x.subarray(row, row + n);
    const mean = kind === 'layer' ? values.reduce((a, b) => a + b, 0) / n : 0;
    const spread = values.reduce((a, b) => a + (b - mean) ** 2, 0) / n + eps;
    for (let i = 0; i < n; ++i) {
      const factor = weight[i] + (unitOffset ? 1 : 0);
      out[row + i] = ((values[i] - mean) / Math.sqrt(spread)) * factor + (weights[`${name}Bias`]?.[i] ?? 0);
    }
  }
  return out;
}

// The error function by its series; 60 terms are exact to double below 4, where the tests stay.
function erf(x) {
  let term = x;
  let total = x;
  for (let n = 1; n < 60; ++n) {
    term *= (-x * x) / n;
    total += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * total;
}

const activations = {
  gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  geluTanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
  relu: (x) => Math.max(0, x),
  tanh: Math.tanh,
};

// [T, H, D] to [1, H, T, D], and back.
function byHead(data, heads, dim) {
  const tokens = data.length / heads / dim;
  const out = new Float64Array(data.length);
  for (let i = 0; i < data.length; ++i) {
    const [t, h, d] = [Math.floor(i / dim / heads), Math.floor(i / dim) % heads, i % dim];
    out[(h * tokens + t) * dim + d] = data[i];
  }
  return { data: out, shape: [1, heads, tokens, dim] };
}
const byToken = (data, heads, dim) => byHead(data, data.length / heads / dim, dim).data;

/** { out, scores } of a layer for x [T, M]; `rope` is { pairing, offset } or undefined. */
export function layerReference(x, size, weights, options) {
  const { modelDim, heads, kvHeads = heads, headDim = modelDim / heads, valueDim = headDim } = size;
  const { norms, kind, eps, unitOffset, activation, causal, keeps, rope, turnValues, scale, residual = 1 } = options;
  const normal = { kind, eps, unitOffset };
  let scores;
  const project = (a, name, inputs) => linear(a, weights[name], weights[`${name}Bias`], inputs);
  const tokens = x.length / modelDim;
  const turn = (a, on) => {
    if (rope === undefined || !on) return a;
    const positions = [Array.from({ length: tokens }, (_, t) => (rope.offset ?? 0) + t)];
    const base = rope.base ?? 10000;
    return {
      ...a,
      data: rotate(a, { frequencies: frequencies(headDim, base), positions, pairing: rope.pairing }).data,
    };
  };
  const attended = (a) => {
    const q = norm(project(a, 'query', modelDim), weights, 'queryNorm', normal);
    const k = norm(project(a, 'key', modelDim), weights, 'keyNorm', normal);
    const v = project(a, 'value', modelDim);
    const result = attention(
      turn(byHead(q, heads, headDim), true),
      turn(byHead(k, kvHeads, headDim), true),
      turn(byHead(v, kvHeads, valueDim), turnValues === true),
      { scale, causalOffset: causal ? 0 : undefined, keeps },
    );
    scores = result.scores;
    return project(byToken(result.out, heads, valueDim), 'output', heads * valueDim);
  };
  const fed = (a) => {
    const up = project(a, 'up', modelDim);
    const act = activations[activation];
    const gate = weights.gate && project(a, 'gate', modelDim);
    const hidden = gate ? map(up, (value, i) => act(gate[i]) * value) : map(up, act);
    return project(hidden, 'down', size.hiddenDim);
  };
  const n1 = (a) => norm(a, weights, 'attentionNorm', normal);
  const n2 = (a) => norm(a, weights, 'feedForwardNorm', normal);
  const added = (a, part) =>
    sum(
      a,
      map(part, (value) => residual * value),
    );
  const start = Float64Array.from(x);
  if (norms === 'post') {
    const h = n1(added(start, attended(start)));
    return { out: n2(added(h, fed(h))), scores };
  }
  if (norms === 'parallel') {
    const first = n1(start);
    const out = added(added(start, attended(first)), fed(weights.feedForwardNorm ? n2(start) : first));
    return { out, scores };
  }
  const h = added(start, norm(attended(n1(start)), weights, 'attentionAfterNorm', normal));
  return { out: added(h, norm(fed(n2(h)), weights, 'feedForwardAfterNorm', normal)), scores };
}
