// Every position encoding of attention except rope, as its additions to scores and values for one set of inputs.
import { random, randomArray } from './arrays.mjs';
import { attention } from './attention-reference.mjs';
import { bucket, clip, slopes } from './bias-reference.mjs';

export const [B, H, G, Tq, Tk, D, Dv] = [2, 6, 2, 3, 5, 8, 6];
export const q = randomArray([B, H, Tq, D], 1);
export const k = randomArray([B, G, Tk, D], 2);
export const v = randomArray([B, G, Tk, Dv], 3);
const maskShape = [B, 1, Tq, Tk];
export const mask = { data: Uint8Array.from(random(B * Tq * Tk, 4), (x) => (x > -0.4 ? 1 : 0)), shape: maskShape };
export const keeps = (b, _h, i, j) => mask.data[(b * Tq + i) * Tk + j] !== 0;

// The products of each (b, h, i, j) that the relative terms are sums of.
export const queryAt = (b, h, i) => q.data.subarray(((b * H + h) * Tq + i) * D).subarray(0, D);
export const keyAt = (b, h, j) => k.data.subarray(((b * G + Math.floor(h / (H / G))) * Tk + j) * D).subarray(0, D);
const rowOf = (table, r) => table.data.subarray(r * table.shape[1], (r + 1) * table.shape[1]);
export const sum = (length, f) => Array.from({ length }, (_, d) => f(d)).reduce((a, b) => a + b, 0);
export const dot = (a, b) => sum(a.length, (d) => a[d] * b[d]);

const limit = 30;
export const table = randomArray([2 * limit + 1, D], 5);
export const narrow = [randomArray([5, D], 6), randomArray([5, Dv], 7)];
export const buckets = { numBuckets: 8, maxDistance: 12 };
export const t5Table = randomArray([8, H], 8);
const distances = (offset) => (i, j) => i + offset - j;
const bertRow = (offset, i, j) => rowOf(table, distances(offset)(i, j) + limit);
const shawRow = (of, offset) => (i, j) => rowOf(of, clip(-distances(offset)(i, j), 2));

// What each adds to the raw scores (`raw`, scaled), to them before the softmax (`bias`), and to the values.
export const encodings = {
  none: { position: { encoding: 'none' }, fixed: true, expected: () => ({}) },
  alibi: {
    position: { encoding: 'alibi' },
    expected: (offset) => ({ bias: (_b, h, i, j) => -slopes(H)[h] * Math.abs(i + offset - j) }),
  },
  t5: {
    position: { encoding: 't5', table: t5Table, ...buckets, bidirectional: true },
    scale: 1,
    expected: (offset) => ({ bias: (_b, h, i, j) => t5Table.data[bucket(j - i - offset, buckets) * H + h] }),
  },
  't5 of a decoder': {
    position: { encoding: 't5', table: t5Table, ...buckets, bidirectional: false },
    scale: 1,
    expected: (offset) => ({
      bias: (_b, h, i, j) => t5Table.data[bucket(j - i - offset, { ...buckets, bidirectional: false }) * H + h],
    }),
  },
  'shaw for keys': {
    position: { encoding: 'shaw', keys: narrow[0] },
    expected: (offset) => ({ raw: (b, h, i, j) => dot(queryAt(b, h, i), shawRow(narrow[0], offset)(i, j)) }),
  },
  'shaw for keys and values': {
    position: { encoding: 'shaw', keys: narrow[0], values: narrow[1] },
    expected: (offset) => ({
      raw: (b, h, i, j) => dot(queryAt(b, h, i), shawRow(narrow[0], offset)(i, j)),
      value: shawRow(narrow[1], offset),
    }),
  },
  relative_key: {
    position: { encoding: 'relative_key', table },
    expected: (offset) => ({ raw: (b, h, i, j) => dot(queryAt(b, h, i), bertRow(offset, i, j)) }),
  },
  relative_key_query: {
    position: { encoding: 'relative_key_query', table },
    expected: (offset) => ({
      raw: (b, h, i, j) => sum(D, (d) => (queryAt(b, h, i)[d] + keyAt(b, h, j)[d]) * bertRow(offset, i, j)[d]),
    }),
  },
  m3: {
    position: { encoding: 'm3', table },
    expected: (offset) => ({
      raw: (b, h, i, j) => sum(D, (d) => queryAt(b, h, i)[d] * keyAt(b, h, j)[d] * (bertRow(offset, i, j)[d] - 1)),
    }),
  },
};

/** { out, scores } with these additions; options are those of the plain reference. */
export function reference({ scale = 1 / Math.sqrt(D), raw = () => 0, bias = () => 0, value }, options) {
  const added = (b, h, i, j) => scale * raw(b, h, i, j) + bias(b, h, i, j);
  const result = attention(q, k, v, { ...options, scale, bias: added });
  if (value) {
    result.scores.forEach((weight, n) => {
      const row = Math.floor(n / Tk);
      value(row % Tq, n % Tk).forEach((x, d) => {
        result.out[row * Dv + d] += weight * x;
      });
    });
  }
  return result;
}
