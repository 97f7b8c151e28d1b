// Naive scaled dot-product attention and linear map in float64.
import { randomArray } from './arrays.mjs';

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** Row r of a row-major array with rows of `dim`. */
const rowOf = (data, r, dim) => data.subarray(r * dim, (r + 1) * dim);

/**
 * q [B, H, Tq, D], k [B, G, Tk, D], v [B, G, Tk, Dv] -> { out, scores, raw, capped, biased } as doubles. `keeps` and
 * `bias` are functions of (b, h, i, j), `sink` of h; `causalOffset` undefined means not causal. `sees(i, j, b)` is
 * false for keys hidden by windows or padding.
 */
export function attention(q, k, v, options = {}) {
  const { scale, causalOffset, keeps = () => true, bias = () => 0, sees = () => true, softcap, sink } = options;
  const [batch, heads, queries, dim] = q.shape;
  const [, groups, keys, valueDim] = v.shape;
  const out = new Float64Array(batch * heads * queries * valueDim);
  const empty = () => new Float64Array(batch * heads * queries * keys);
  const [scores, raw, capped, biased] = [empty(), empty(), empty(), empty()];
  for (let row = 0; row < batch * heads * queries; ++row) {
    const i = row % queries;
    const h = Math.floor(row / queries) % heads;
    const b = Math.floor(row / queries / heads);
    const keyRow = (j) => (b * groups + Math.floor(h / (heads / groups))) * keys + j;
    const logits = Array.from({ length: keys }, (_, j) => {
      const at = row * keys + j;
      raw[at] = dot(rowOf(q.data, row, dim), rowOf(k.data, keyRow(j), dim)) * (scale ?? 1 / Math.sqrt(dim));
      capped[at] = softcap === undefined ? raw[at] : softcap * Math.tanh(raw[at] / softcap);
      const hidden = (causalOffset !== undefined && j > i + causalOffset) || !keeps(b, h, i, j) || !sees(i, j, b);
      biased[at] = hidden ? Number.NEGATIVE_INFINITY : capped[at] + bias(b, h, i, j);
      return biased[at];
    });
    // A sink is one more logit, whose weight goes nowhere.
    const weights = softmax(sink === undefined ? logits : [...logits, sink(h)]).slice(0, keys);
    weights.forEach((weight, j) => {
      scores[row * keys + j] = weight;
      rowOf(v.data, keyRow(j), valueDim).forEach((value, d) => {
        out[row * valueDim + d] += weight * value;
      });
    });
  }
  return { out, scores, raw, capped, biased };
}

// A row in which nothing is kept is a row of zeros.
function softmax(logits) {
  const max = Math.max(...logits);
  if (max === Number.NEGATIVE_INFINITY) return logits.map(() => 0);
  const powers = logits.map((s) => Math.exp(s - max));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

/** x [rows, inputs] times weight [outputs, inputs], plus bias: [rows, outputs]. */
export function linear(x, weight, bias, inputs) {
  const outputs = weight.length / inputs;
  const result = new Float64Array((x.length / inputs) * outputs);
  for (let r = 0; r < x.length / inputs; ++r) {
    for (let o = 0; o < outputs; ++o) {
      result[r * outputs + o] = dot(rowOf(x, r, inputs), rowOf(weight, o, inputs)) + (bias?.[o] ?? 0);
    }
  }
  return result;
}

/** Queries, keys and values of random numbers. */
export const inputs = ({ batch = 1, heads = 1, groups = heads, queries, keys, dim, valueDim = dim, seed = 1 }) => [
  randomArray([batch, heads, queries, dim], seed),
  randomArray([batch, groups, keys, dim], seed + 1),
  randomArray([batch, groups, keys, valueDim], seed + 2),
];
