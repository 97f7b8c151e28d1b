// The same mathematics in float64, only at sampled indices: the reference for the error that is printed with each time.

/** Gives { indices, values }: the indices of a result that are checked, and the exact values there. */
export function sample(indices, valueAt) {
  return { indices, values: indices.map(valueAt) };
}

/** Evenly spaced integers from 0 to n - 1, including both. */
export function spread(n, count) {
  const step = (n - 1) / Math.max(1, Math.min(count, n) - 1);
  return Array.from({ length: Math.min(count, n) }, (_, i) => Math.round(i * step));
}

/** Largest difference on the sample divided by the largest magnitude; NaN if a number is NaN or missing. */
export function errorOf(result, { indices, values }) {
  const largest = values.reduce((max, v) => Math.max(max, Math.abs(v)), 0);
  return (
    indices.reduce((max, index, i) => {
      const difference = Math.abs(result[index] - values[i]);
      return difference <= max ? max : difference;
    }, 0) / largest
  );
}

/** Frequency of pair j of a head of `dim` coordinates. */
export const frequency = (j, dim, base = 10000) => base ** ((-2 * j) / dim);

/** The two coordinates of pair j. */
export const pairOf = {
  half: (j, dim) => [j, j + dim / 2],
  interleaved: (j) => [2 * j, 2 * j + 1],
};

/** One row rotated at a position. */
export function turned(row, position, pairing) {
  const result = Float64Array.from(row);
  for (let j = 0; j < row.length / 2; ++j) {
    const [a, b] = pairOf[pairing](j, row.length);
    const angle = position * frequency(j, row.length);
    result[a] = row[a] * Math.cos(angle) - row[b] * Math.sin(angle);
    result[b] = row[a] * Math.sin(angle) + row[b] * Math.cos(angle);
  }
  return result;
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += a[i] * b[i];
  return sum;
}

/** x [inputs] times weight [outputs, inputs], plus bias. */
export function linear(x, weight, bias) {
  const inputs = x.length;
  return Float64Array.from(
    { length: weight.length / inputs },
    (_, o) => dot(x, weight.subarray(o * inputs, (o + 1) * inputs)) + (bias?.[o] ?? 0),
  );
}

export function softmax(row) {
  const max = row.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const powers = Float64Array.from(row, (s) => Math.exp(s - max));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

/** Attention of one query to keys and values, arrays of rows. */
export function attend(query, keys, values) {
  const weights = softmax(Float64Array.from(keys, (key) => dot(query, key) / Math.sqrt(query.length)));
  return Float64Array.from(values[0], (_, d) => values.reduce((sum, value, j) => sum + weights[j] * value[d], 0));
}

export function layerNorm(row, scale, shift, epsilon) {
  const mean = row.reduce((a, b) => a + b, 0) / row.length;
  const variance = row.reduce((sum, v) => sum + (v - mean) ** 2, 0) / row.length;
  return Float64Array.from(row, (v, i) => ((v - mean) / Math.sqrt(variance + epsilon)) * scale[i] + shift[i]);
}

/** The exact GELU, x Phi(x), with erf from its series (|x| small) or its continued fraction. */
export const gelu = (x) => (x / 2) * (1 + erf(x / Math.SQRT2));

function erf(x) {
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  if (size < 2.5) {
    let term = size;
    let sum = size;
    for (let n = 1; Math.abs(term) > 1e-18; ++n) {
      term *= (-size * size) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 60; n >= 1; --n) fraction = n / 2 / (size + fraction);
  return Math.sign(x) * (1 - Math.exp(-size * size) / (Math.sqrt(Math.PI) * (size + fraction)));
}
