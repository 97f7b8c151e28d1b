// The parts of a transformer on plain rows of numbers: [T][D] is an array of T Float64Arrays.
//
// The first parameter `f` rounds the result of every single operation: `float64` keeps it, `float32` gives a program in
// float32 arithmetic, whose error is the measure for other programs. exp, tanh, erf, sine and cosine are rounded once,
// as by an accurate library.

export const float64 = (x) => x;
export const float32 = Math.fround;

const row = (length, value) => Float64Array.from({ length }, (_, i) => value(i));

export function dot(f, a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum = f(sum + f(a[i] * b[i]));
  return sum;
}

/** x [T][inputs], weight [outputs][inputs], bias [outputs] or undefined -> [T][outputs]. */
export function linear(f, x, { weight, bias }) {
  return x.map((each) => row(weight.length, (o) => f(dot(f, each, weight[o]) + (bias?.[o] ?? 0))));
}

/** The sum of two [T][D]. */
export const add = (f, a, b) => a.map((each, t) => each.map((value, i) => f(value + b[t][i])));

/** [T][D] times a number. */
export const times = (f, a, factor) => a.map((each) => each.map((value) => f(value * factor)));

/** (x - mean) / sqrt(variance + eps) * weight + bias. */
export function layerNorm(f, x, { weight, bias }, eps) {
  return x.map((each) => {
    const n = each.length;
    const mean = f(each.reduce((sum, value) => f(sum + value), 0) / n);
    const centred = each.map((value) => f(value - mean));
    const root = f(Math.sqrt(f(f(dot(f, centred, centred) / n) + eps)));
    return centred.map((value, i) => f(f(f(value / root) * weight[i]) + (bias?.[i] ?? 0)));
  });
}

/** x / sqrt(mean(x^2) + eps) * weight; with plusOne, as in Gemma, times 1 + weight. */
export function rmsNorm(f, x, { weight }, { eps, plusOne }) {
  return x.map((each) => {
    const root = f(Math.sqrt(f(f(dot(f, each, each) / each.length) + eps)));
    return each.map((value, i) => f(f(value / root) * (plusOne ? f(1 + weight[i]) : weight[i])));
  });
}

// 2 / sqrt(pi) e^(-x^2) (x + 2/3 x^3 + 4/15 x^5 + ...): no cancellation.
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); ++n) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

const geluTanh = (f, x) => {
  const cube = f(f(x * x) * x);
  const inner = f(f(Math.sqrt(2 / Math.PI)) * f(x + f(0.044715 * cube)));
  return f(f(x / 2) * f(1 + f(Math.tanh(inner))));
};

/** Activations by Hugging Face's names. */
export const activations = {
  gelu: (f, x) => f(f(x / 2) * f(1 + f(erf(f(x / Math.SQRT2))))),
  gelu_new: geluTanh,
  gelu_pytorch_tanh: geluTanh,
  silu: (f, x) => f(x / f(1 + f(Math.exp(-x)))),
  relu: (_, x) => Math.max(0, x),
};

/** An activation by name on [T][D]. */
export const activate = (f, name, x) => x.map((each) => each.map((value) => activations[name](f, value)));

/** Softmax; -Infinity marks a hidden key, and a row without visible keys gives zeros. */
export function softmax(f, logits) {
  const max = Math.max(...logits);
  if (max === Number.NEGATIVE_INFINITY) return logits.map(() => 0);
  const powers = logits.map((s) => f(Math.exp(f(s - max))));
  const sum = powers.reduce((total, p) => f(total + p), 0);
  return powers.map((p) => f(p / sum));
}
