// Naive linear attention and its recurrences in float64, one weight after the other.
import { frequencies, rotate } from './rope-reference.mjs';

const maps = {
  elu1: (x) => (x > 0 ? x + 1 : Math.exp(x)),
  relu: (x) => Math.max(x, 0),
  exp: Math.exp,
};
const rowOf = (data, r, dim) => data.subarray(r * dim, (r + 1) * dim);

// phi(x), or unit vectors where there is no map.
function featuresOf({ data, shape }, featureMap) {
  const dim = shape.at(-1);
  if (featureMap) return Float64Array.from(data, maps[featureMap]);
  const out = Float64Array.from(data);
  for (let r = 0; r < data.length / dim; ++r) {
    const row = rowOf(out, r, dim);
    const length = Math.max(Math.hypot(...row), 1e-12);
    row.forEach((x, d) => {
      row[d] = x / length;
    });
  }
  return out;
}

/**
 * q [B, H, Tq, D], k [B, G, Tk, D], v [B, G, Tk, Dv] -> { out, bound, denominators }: doubles, a bound on the error of
 * float32, and [B, H, Tq]. `rope` is { form, base, pairing, queries, keys } with the first positions; `keeps(b, j)`.
 */
export function linearAttention(
  q,
  k,
  v,
  { featureMap = 'elu1', cosine = false, rope, causal = false, normalize = true, keeps = () => true } = {},
) {
  const [batch, heads, queries, dim] = q.shape;
  const [, groups, keys, valueDim] = v.shape;
  const plain = [q, k].map((x) => featuresOf(x, cosine ? undefined : featureMap));
  const turned = plain.map((data, i) => {
    if (!rope) return data;
    const x = i === 0 ? q : k;
    const first = i === 0 ? rope.queries : rope.keys;
    const positions = Array.from({ length: batch }, () => Array.from({ length: x.shape[2] }, (_, t) => first + t));
    const options = { frequencies: frequencies(dim, rope.base), positions, pairing: rope.pairing };
    return rotate({ data, shape: x.shape }, options).data;
  });
  const below = rope?.form === 'numerator' ? plain : turned;
  const one = cosine ? 1 : 0;
  const weight = ([a, b], row, keyRow) => {
    let [sum, work] = [one, one];
    for (let d = 0; d < dim; ++d) {
      const term = a[row * dim + d] * b[keyRow * dim + d];
      sum += term;
      work += Math.abs(term);
    }
    return { sum, work };
  };
  const size = batch * heads * queries;
  const out = new Float64Array(size * valueDim);
  const bound = new Float64Array(size * valueDim);
  const denominators = new Float64Array(size);
  // A feature has 8 roundings, the sums of a weight D terms and those of a block 64, each made twice.
  const roundings = 2 * (dim + 80) * 2 ** -24;
  for (let row = 0; row < size; ++row) {
    const i = row % queries;
    const h = Math.floor(row / queries) % heads;
    const b = Math.floor(row / queries / heads);
    const sums = new Float64Array(valueDim);
    const works = new Float64Array(valueDim);
    const denominator = { sum: 0, work: 0 };
    for (let j = 0; j < keys; ++j) {
      if ((causal && j > i + keys - queries) || !keeps(b, j)) continue;
      const keyRow = (b * groups + Math.floor(h / (heads / groups))) * keys + j;
      const above = weight(turned, row, keyRow);
      const under = weight(below, row, keyRow);
      denominator.sum += under.sum;
      denominator.work += under.work;
      rowOf(v.data, keyRow, valueDim).forEach((value, d) => {
        sums[d] += above.sum * value;
        works[d] += above.work * Math.abs(value);
      });
    }
    denominators[row] = denominator.sum;
    const by = normalize ? denominator.sum : 1;
    sums.forEach((sum, d) => {
      const result = by === 0 ? 0 : sum / by;
      const spread = normalize ? (denominator.work / Math.abs(by)) * Math.abs(result) : 0;
      out[row * valueDim + d] = result;
      bound[row * valueDim + d] = by === 0 ? 0 : roundings * (works[d] / Math.abs(by) + spread);
    });
  }
  return { out, bound, denominators };
}

/**
 * The recurrence of ONNX LinearAttention. decay(b, g, t, d) and beta(b, g, t) are functions, or undefined if the rule
 * does not use them. Gives { out, state } as doubles.
 */
export function recurrence(q, k, v, { scale, decay, beta, past }) {
  const [batch, heads, tokens, dim] = q.shape;
  const [, groups, , valueDim] = v.shape;
  const state = past ? Float64Array.from(past) : new Float64Array(batch * groups * dim * valueDim);
  const out = new Float64Array(batch * heads * tokens * valueDim);
  for (let bg = 0; bg < batch * groups; ++bg) {
    const [b, g] = [Math.floor(bg / groups), bg % groups];
    const S = rowOf(state, bg, dim * valueDim);
    for (let t = 0; t < tokens; ++t) {
      const key = rowOf(k.data, bg * tokens + t, dim);
      if (decay) for (let i = 0; i < S.length; ++i) S[i] *= Math.exp(decay(b, g, t, Math.floor(i / valueDim)));
      for (let m = 0; m < valueDim; ++m) {
        let u = v.data[(bg * tokens + t) * valueDim + m];
        if (beta) u = beta(b, g, t) * (u - key.reduce((sum, x, d) => sum + x * S[d * valueDim + m], 0));
        for (let d = 0; d < dim; ++d) S[d * valueDim + m] += key[d] * u;
      }
      for (let r = 0; r < heads / groups; ++r) {
        const row = (b * heads + g * (heads / groups) + r) * tokens + t;
        const query = rowOf(q.data, row, dim);
        for (let m = 0; m < valueDim; ++m) {
          out[row * valueDim + m] = scale * query.reduce((sum, x, d) => sum + x * S[d * valueDim + m], 0);
        }
      }
    }
  }
  return { out, state };
}
