// What the figures compute, as their programs show it.
// @ts-nocheck
/** @import { NdArray, Ropewalk } from 'ropewalk' */
import { wordVector } from '../../programs/word-vector.js';

export const heads = 8;
export const shawDistance = 4;

/**
 * A number for each of T5's buckets, as training might leave them.
 * @type {() => NdArray}
 */
export const t5Table = () => {
  // It is not trained.
  const data = Float32Array.from({ length: 32 }, (_, bucket) => Math.round(100 * Math.sin(0.7 * bucket + 1)) / 100);
  return { data, shape: [32, 1] };
};

/**
 * Rows of Shaw's table, T5's buckets and the numbers that it adds for them, and ALiBi's bias for one head, each
 * [length, length].
 * @type {(rw: Ropewalk, length: number, head: number, decoder: boolean) =>
 *   { shaw: Int32Array, buckets: Int32Array, t5: Float32Array, alibi: Float32Array }}
 */
export const biases = (rw, length, head, decoder) => {
  const shape = { queries: length, keys: length };
  const distances = Array.from({ length: length ** 2 }, (_, i) => (i % length) - Math.floor(i / length));
  const shaw = rw.relativeRows({ ...shape, maxDistance: shawDistance });
  // In a decoder keys after the query do not count, so T5 spends no buckets on them.
  const bidirectional = !decoder;
  const buckets = rw.t5Buckets(distances, { bidirectional });
  const t5 = rw.t5Bias({ table: t5Table(), ...shape, bidirectional }).data;
  const alibi = rw.alibiBias({ heads, ...shape });
  return { shaw, buckets, t5, alibi: alibi.data.subarray(head * length ** 2, (head + 1) * length ** 2) };
};

export const tableDim = 8;
export const learnedLength = 16;

/** @type {() => NdArray} */
export const learnedTable = () => {
  // It is not trained.
  const entry = (row, column) => Math.round(100 * Math.sin(1.7 * row + 2.9 * column + 0.31 * row * column)) / 100;
  const place = (i) => [Math.floor(i / tableDim), i % tableDim];
  const data = Float32Array.from({ length: learnedLength * tableDim }, (_, i) => entry(...place(i)));
  return { data, shape: [learnedLength, tableDim] };
};

/**
 * Rows of the learned table: its own, or extended to `length` in two levels (Su 2020).
 * @type {(rw: Ropewalk, length: number) => Float32Array}
 */
export const learnedRows = (rw, length) => {
  const own = learnedTable();
  return length > learnedLength ? rw.extendLearned(own, { length }).data : own.data;
};

export const termWords = 12;
export const termDim = 8;

/**
 * The terms of the scores of random words, each [termWords, termWords], and the scores: with Shaw and M4 their sum, by the
 * package, with M3 the only term.
 * @type {(rw: Ropewalk, method: 'shaw' | 'm4' | 'm3', seed: number) => Float32Array[]}
 */
export const terms = (rw, method, seed) => {
  const rows = (name, count) => {
    const data = Array.from({ length: count }, (_, i) => Array.from(wordVector(`${name} ${seed} ${i}`, termDim)));
    return { data: Float32Array.from(data.flat()), shape: [count, termDim] };
  };
  const [q, k, table] = [rows('query', termWords), rows('key', termWords), rows('distance', 2 * termWords - 1)];
  const bert = { table, sign: 'key-minus-query' };
  const encodings = {
    shaw: { encoding: 'relative_key', ...bert },
    m4: { encoding: 'relative_key_query', ...bert },
    m3: { encoding: 'm3', ...bert },
  };
  const scores = (keys, position) => rw.attention(q, keys, keys, { position, returnScores: 'raw' }).scores.data;
  const none = scores(k);
  const all = scores(k, encodings[method]);
  if (method === 'm3') return [all];
  const ofQuery = scores(k, encodings.shaw).map((value, i) => value - none[i]);
  const ofKey = all.map((value, i) => value - none[i] - ofQuery[i]);
  return method === 'shaw' ? [none, ofQuery, all] : [none, ofQuery, ofKey, all];
};

export const headSizes = { word: 4, head: 2 };

/**
 * What one head makes of words: their vectors; the matrices; query, key and value of each word; then for one of the words
 * its product with each key, the weights, each value times its weight, and the sum of these.
 * @type {(rw: Ropewalk, words: readonly string[], at: number) =>
 *   Record<'x' | 'matrices' | 'q' | 'k' | 'v' | 'parts', number[][]> & Record<'scores' | 'weights' | 'out', number[]>}
 */
export const oneHead = (rw, words, at) => {
  const { word: size, head: D } = headSizes;
  const T = words.length;
  const data = Float32Array.from(words.flatMap((word) => wordVector(word, size)));
  // They are not trained.
  const weights = ['query', 'key', 'value'].map((name) => Float32Array.from(wordVector(`${name} matrix`, D * size)));
  const [q, k, v] = weights.map((weight) => {
    const layer = rw.linear({ weight: { data: weight, shape: [D, size] } });
    const made = layer.apply({ data, shape: [T, size] });
    layer.dispose();
    return made;
  });
  const { out, scores } = rw.attention(q, k, v, { returnScores: ['raw', 'probabilities'] });
  const rows = (numbers, columns) =>
    Array.from({ length: numbers.length / columns }, (_, i) =>
      Array.from(numbers.subarray(i * columns, (i + 1) * columns)),
    );
  const [raw, probabilities] = [scores.raw, scores.probabilities].map(({ data }) => rows(data, T)[at]);
  const values = rows(v.data, D);
  return {
    x: rows(data, size),
    matrices: weights.flatMap((weight) => rows(weight, size)),
    q: rows(q.data, D),
    k: rows(k.data, D),
    v: values,
    scores: raw,
    weights: probabilities,
    parts: values.map((value, j) => value.map((number) => number * probabilities[j])),
    out: rows(out.data, D)[at],
  };
};
