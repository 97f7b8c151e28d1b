// Carefully written plain JavaScript: typed arrays, tables made beforehand, no allocation in loops. `op` and `io` are
// the same, since all data is in JavaScript arrays.
import { frequency } from '../reference.mjs';

function tablesOf(headDim, tokens, offset) {
  const pairs = headDim / 2;
  const [cos, sin] = [new Float32Array(tokens * pairs), new Float32Array(tokens * pairs)];
  for (let t = 0; t < tokens; ++t) {
    for (let j = 0; j < pairs; ++j) {
      const angle = (offset + t) * frequency(j, headDim);
      cos[t * pairs + j] = Math.cos(angle);
      sin[t * pairs + j] = Math.sin(angle);
    }
  }
  return { cos, sin };
}

// Pair j lies at j * step and `apart` further on.
function rotate(out, x, { cos, sin }, tokens, headDim, step, apart) {
  const pairs = headDim / 2;
  for (let row = 0; row < x.length / headDim; ++row) {
    const start = row * headDim;
    const table = (row % tokens) * pairs;
    for (let j = 0; j < pairs; ++j) {
      const at = start + j * step;
      const c = cos[table + j];
      const s = sin[table + j];
      const a = x[at];
      const b = x[at + apart];
      out[at] = a * c - b * s;
      out[at + apart] = a * s + b * c;
    }
  }
}

function sameBothWays(run, resultOf) {
  const result = () => {
    run();
    return resultOf();
  };
  return { op: run, io: run, result };
}

function rope({ pairing, tokens, headDim, offset }, { q, k }) {
  const tables = tablesOf(headDim, tokens, offset);
  const [step, apart] = pairing === 'half' ? [1, headDim / 2] : [2, 1];
  const out = new Float32Array(q.length + k.length);
  const [outQ, outK] = [out.subarray(0, q.length), out.subarray(q.length)];
  return sameBothWays(
    () => {
      rotate(outQ, q, tables, tokens, headDim, step, apart);
      rotate(outK, k, tables, tokens, headDim, step, apart);
    },
    () => out,
  );
}

function sinusoid({ rows, dim }) {
  const frequencies = Float64Array.from({ length: dim / 2 }, (_, j) => frequency(j, dim));
  const run = () => {
    const out = new Float32Array(rows * dim);
    for (let p = 0; p < rows; ++p) {
      for (let j = 0; j < dim / 2; ++j) {
        const angle = p * frequencies[j];
        out[p * dim + 2 * j] = Math.sin(angle);
        out[p * dim + 2 * j + 1] = Math.cos(angle);
      }
    }
    return out;
  };
  return { op: run, io: run, result: run };
}

// out [rows, outputs] = x weight^T + bias; four outputs at a time share the loads of x.
function multiply(out, x, weight, rows, inputs, outputs, bias) {
  for (let r = 0; r < rows; ++r) {
    const from = r * inputs;
    let o = 0;
    for (; o + 4 <= outputs; o += 4) {
      const w0 = o * inputs;
      const w1 = w0 + inputs;
      const w2 = w1 + inputs;
      const w3 = w2 + inputs;
      let s0 = 0;
      let s1 = 0;
      let s2 = 0;
      let s3 = 0;
      for (let i = 0; i < inputs; ++i) {
        const v = x[from + i];
        s0 += v * weight[w0 + i];
        s1 += v * weight[w1 + i];
        s2 += v * weight[w2 + i];
        s3 += v * weight[w3 + i];
      }
      const at = r * outputs + o;
      out[at] = s0 + (bias ? bias[o] : 0);
      out[at + 1] = s1 + (bias ? bias[o + 1] : 0);
      out[at + 2] = s2 + (bias ? bias[o + 2] : 0);
      out[at + 3] = s3 + (bias ? bias[o + 3] : 0);
    }
    for (; o < outputs; ++o) {
      let sum = bias ? bias[o] : 0;
      for (let i = 0; i < inputs; ++i) sum += x[from + i] * weight[o * inputs + i];
      out[r * outputs + o] = sum;
    }
  }
}

function linear({ rows, inputs, outputs }, { x, weight }) {
  const out = new Float32Array(rows * outputs);
  return sameBothWays(
    () => multiply(out, x, weight, rows, inputs, outputs),
    () => out,
  );
}

// x[from .. from + n) to its softmax at out.
function softmaxRow(out, x, from, n) {
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < n; ++i) max = Math.max(max, x[from + i]);
  let sum = 0;
  for (let i = 0; i < n; ++i) {
    const power = Math.exp(x[from + i] - max);
    out[from + i] = power;
    sum += power;
  }
  for (let i = 0; i < n; ++i) out[from + i] /= sum;
}

function softmax({ rows, columns }, { x }) {
  const out = new Float32Array(x.length);
  return sameBothWays(
    () => {
      for (let r = 0; r < rows; ++r) softmaxRow(out, x, r * columns, columns);
    },
    () => out,
  );
}

// Query row at qAt against `seen` key and value rows that lie `stride` apart; adds nothing outside out[outAt ..+ dim).
function attendRow(out, outAt, q, qAt, k, v, first, stride, seen, dim, scores) {
  const scale = 1 / Math.sqrt(dim);
  for (let j = 0; j < seen; ++j) {
    const key = first + j * stride;
    let sum = 0;
    for (let d = 0; d < dim; ++d) sum += q[qAt + d] * k[key + d];
    scores[j] = sum * scale;
  }
  softmaxRow(scores, scores, 0, seen);
  for (let d = 0; d < dim; ++d) out[outAt + d] = 0;
  for (let j = 0; j < seen; ++j) {
    const value = first + j * stride;
    const weight = scores[j];
    for (let d = 0; d < dim; ++d) out[outAt + d] += weight * v[value + d];
  }
}

function attention({ heads, tokens, headDim, causal }, { q, k, v }) {
  const out = new Float32Array(q.length);
  const scores = new Float32Array(tokens);
  return sameBothWays(
    () => {
      for (let h = 0; h < heads; ++h) {
        const first = h * tokens * headDim;
        for (let t = 0; t < tokens; ++t) {
          const at = first + t * headDim;
          attendRow(out, at, q, at, k, v, first, headDim, causal ? t + 1 : tokens, headDim, scores);
        }
      }
    },
    () => out,
  );
}

// Attention of a layer, on [T, H * D] as the projections leave it.
function selfAttention({ modelDim, heads, tokens, causal, rope: turns }, weights) {
  const headDim = modelDim / heads;
  const made = () => new Float32Array(tokens * modelDim);
  const [q, k, v, mixed, out] = [made(), made(), made(), made(), made()];
  const scores = new Float32Array(tokens);
  const tables = tablesOf(headDim, tokens, 0);
  // A "row" of rotate() is one head; each token has `heads` of them.
  const perHead = { cos: repeated(tables.cos, headDim / 2, heads), sin: repeated(tables.sin, headDim / 2, heads) };
  const project = (to, from, name) =>
    multiply(to, from, weights[name], tokens, modelDim, modelDim, weights[`${name}Bias`]);
  return (x) => {
    project(q, x, 'query');
    project(k, x, 'key');
    project(v, x, 'value');
    if (turns) for (const side of [q, k]) rotate(side, side, perHead, tokens * heads, headDim, 1, headDim / 2);
    for (let t = 0; t < tokens; ++t) {
      for (let h = 0; h < heads; ++h) {
        const at = t * modelDim + h * headDim;
        attendRow(mixed, at, q, at, k, v, h * headDim, modelDim, causal ? t + 1 : tokens, headDim, scores);
      }
    }
    project(out, mixed, 'output');
    return out;
  };
}

function repeated(table, width, times) {
  const out = new Float32Array(table.length * times);
  for (let i = 0; i < table.length / width; ++i) {
    for (let n = 0; n < times; ++n) out.set(table.subarray(i * width, (i + 1) * width), (i * times + n) * width);
  }
  return out;
}

function attentionLayer(sizes, { x, weights }) {
  const run = selfAttention({ ...sizes, rope: true }, weights);
  return { op: () => run(x), io: () => run(x), result: () => run(x) };
}

function decode({ modelDim, heads, past }, { x, weights, keys, values }) {
  const headDim = modelDim / heads;
  // Room for one more key in every head, as a cache has it.
  const cache = (from) => {
    const room = new Float32Array((past + 1) * modelDim);
    const size = past * headDim;
    for (let h = 0; h < heads; ++h) room.set(from.subarray(h * size, (h + 1) * size), h * (size + headDim));
    return room;
  };
  const [k, v] = [cache(keys), cache(values)];
  const row = () => new Float32Array(modelDim);
  const [query, key, value, mixed, out] = [row(), row(), row(), row(), row()];
  const scores = new Float32Array(past + 1);
  const tables = tablesOf(headDim, 1, past);
  const run = () => {
    multiply(query, x, weights.query, 1, modelDim, modelDim);
    multiply(key, x, weights.key, 1, modelDim, modelDim);
    multiply(value, x, weights.value, 1, modelDim, modelDim);
    rotate(query, query, tables, 1, headDim, 1, headDim / 2);
    rotate(key, key, tables, 1, headDim, 1, headDim / 2);
    for (let h = 0; h < heads; ++h) {
      const first = h * (past + 1) * headDim;
      const at = h * headDim;
      k.set(key.subarray(at, at + headDim), first + past * headDim);
      v.set(value.subarray(at, at + headDim), first + past * headDim);
      attendRow(mixed, at, query, at, k, v, first, headDim, past + 1, headDim, scores);
    }
    multiply(out, mixed, weights.output, 1, modelDim, modelDim);
  };
  return sameBothWays(run, () => out);
}

function addNorm(out, x, added, { scale, shift }, epsilon) {
  const width = scale.length;
  for (let from = 0; from < x.length; from += width) {
    let mean = 0;
    for (let i = from; i < from + width; ++i) mean += x[i] + added[i];
    mean /= width;
    let variance = 0;
    for (let i = from; i < from + width; ++i) variance += (x[i] + added[i] - mean) ** 2;
    const factor = 1 / Math.sqrt(variance / width + epsilon);
    for (let i = 0; i < width; ++i)
      out[from + i] = (x[from + i] + added[from + i] - mean) * factor * scale[i] + shift[i];
  }
}

// Abramowitz and Stegun 7.1.26: within 1.5e-7, which is what one writes in JavaScript, where there is no erf.
function gelu(x) {
  const z = Math.abs(x) * Math.SQRT1_2;
  const t = 1 / (1 + 0.3275911 * z);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = 1 - series * Math.exp(-z * z);
  return (x / 2) * (1 + Math.sign(x) * erf);
}

function encoderLayer({ modelDim, heads, ffn, tokens, rope: turns, epsilon }, { x, weights }) {
  const attend = selfAttention({ modelDim, heads, tokens, causal: false, rope: turns }, weights);
  const hidden = new Float32Array(tokens * ffn);
  const [middle, down, out] = Array.from({ length: 3 }, () => new Float32Array(tokens * modelDim));
  const run = () => {
    addNorm(middle, x, attend(x), weights.attentionNorm, epsilon);
    multiply(hidden, middle, weights.up, tokens, modelDim, ffn, weights.upBias);
    for (let i = 0; i < hidden.length; ++i) hidden[i] = gelu(hidden[i]);
    multiply(down, hidden, weights.down, tokens, ffn, modelDim, weights.downBias);
    addNorm(out, middle, down, weights.outputNorm, epsilon);
  };
  return sameBothWays(run, () => out);
}

export const contenders = [
  {
    id: 'js',
    title: 'plain JavaScript',
    open: async () => ({
      operations: { rope, sinusoid, linear, softmax, attention, attentionLayer, decode, encoderLayer },
    }),
  },
];
