// What the figures compute, as their programs show it.
// @ts-nocheck
import { wordVector } from '../../programs/word-vector.js';
/** @import { DenominatorReport, FeatureMap, NdArray, Ropewalk } from 'ropewalk' */

/**
 * Random vectors with a name: [tokens, dim].
 * @type {(name: string, tokens: number, dim: number) => NdArray}
 */
export const randomRows = (name, tokens, dim) => {
  const data = new Float32Array(tokens * dim);
  for (let t = 0; t < tokens; ++t) data.set(wordVector(`${name} ${t}`, dim), t * dim);
  return { data, shape: [tokens, dim] };
};

/** @type {(size: number) => NdArray} */
export const unitRows = (size) => ({
  // With these values each result is a row of weights.
  data: Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0)),
  shape: [size, size],
});

export const aimKeys = 64;

/**
 * Weights by distance, the query's own place first, of a query that is built to match a key so many positions back.
 * @type {(rw: Ropewalk, dim: number, back: number) => Record<'softmax' | 'cosine' | 'features', Float32Array>}
 */
export const aim = (rw, dim, back) => {
  const plan = rw.rope({ headDim: dim, pairing: 'interleaved' });
  const position = { encoding: 'rope', plan };
  const key = Float32Array.from(wordVector('key', dim));
  const k = { data: Float32Array.from({ length: aimKeys * dim }, (_, i) => key[i % dim]), shape: [aimKeys, dim] };
  const q = { data: plan.rotate(key, { positions: [-back] }), shape: [1, dim] };
  const v = unitRows(aimKeys);
  const softmax = rw.attention(q, k, v, { position }).out.data.reverse();
  const cosine = rw.linearAttention(q, k, v, { position, similarity: 'cosine' }).out.data.reverse();
  const features = rw.linearAttention(q, k, v, { position }).out.data.reverse();
  plan.dispose();
  return { softmax, cosine, features };
};

export const costLengths = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

/**
 * Multiplications of (Q K') V and of Q (K' V).
 * @type {(tokens: number, dim: number) => { square: number, state: number }}
 */
export const cost = (tokens, dim) => ({ square: 2 * tokens * tokens * dim, state: 2 * tokens * dim * dim });

/**
 * The largest difference between both orders: weights written out and multiplied with the values, and sums first.
 * @type {(rw: Ropewalk, tokens: number, dim: number) => number}
 */
export const orderDifference = (rw, tokens, dim) => {
  const [q, k, v] = ['query', 'key', 'value'].map((name) => randomRows(name, tokens, dim));
  const weights = rw.linearAttention(q, k, unitRows(tokens)).out.data;
  const { data } = rw.linearAttention(q, k, v).out;
  let largest = 0;
  for (const [at, value] of data.entries()) {
    const [row, column] = [Math.floor(at / dim), at % dim];
    let sum = 0;
    for (let j = 0; j < tokens; ++j) sum += weights[row * tokens + j] * v.data[j * dim + column];
    largest = Math.max(largest, Math.abs(sum - value));
  }
  return largest;
};

export const formTokens = 24;

/**
 * Weights, [24, 24] with a query's own row, and what they were divided by.
 * @type {(rw: Ropewalk, input: {
 *   form: 'none' | 'numerator' | 'both' | 'cosine', map: FeatureMap, dim: number, seed: number
 * }) => { weights: Float32Array, denominators: Float32Array, report: DenominatorReport }}
 */
export const formNumbers = (rw, { form, map, dim, seed }) => {
  const plan = rw.rope({ headDim: dim, pairing: 'interleaved' });
  const forms = {
    none: { featureMap: map },
    numerator: { featureMap: map, position: { encoding: 'rope', plan, form } },
    both: { featureMap: map, position: { encoding: 'rope', plan, form } },
    cosine: { similarity: 'cosine', position: { encoding: 'rope', plan } },
  };
  const [q, k] = [`query ${seed}`, `key ${seed}`].map((name) => randomRows(name, formTokens, dim));
  const options = { ...forms[form], causal: true, returnDenominators: true };
  const { out, denominators, denominator } = rw.linearAttention(q, k, unitRows(formTokens), options);
  plan.dispose();
  // The report: how many denominators are negative or 0, and the least distance from 0.
  return { weights: out.data, denominators: denominators.data, report: denominator };
};

export const memorySteps = 16;

/**
 * Bytes of a cache for each sixteenth of the tokens, from one of them on, and of a state.
 * @type {(rw: Ropewalk, dim: number, tokens: number) => { cache: number[], state: number }}
 */
export const memory = (rw, dim, tokens) => {
  const bytesOf = (made) => {
    const { bytes } = made;
    made.dispose();
    return bytes;
  };
  const cache = Array.from({ length: memorySteps }, (_, i) => {
    const capacity = ((i + 1) * tokens) / memorySteps;
    return bytesOf(rw.kvCache({ headDim: dim, kvHeads: 1, capacity, growing: false }));
  });
  return { cache, state: bytesOf(rw.linearAttentionState({ headDim: dim })) };
};

export const piecedTokens = 256;

/**
 * For each token the largest difference between a sequence taken in pieces and taken at once.
 * @type {(rw: Ropewalk, dim: number, piece: number) => Float64Array}
 */
export const pieceDifferences = (rw, dim, piece) => {
  const plan = rw.rope({ headDim: dim, pairing: 'interleaved' });
  const position = { encoding: 'rope', plan };
  const [q, k, v] = ['query', 'key', 'value'].map((name) => randomRows(name, piecedTokens, dim));
  const whole = rw.linearAttention(q, k, v, { causal: true, position }).out.data;
  const state = rw.linearAttentionState({ headDim: dim, position });
  const largest = new Float64Array(piecedTokens);
  for (let first = 0; first < piecedTokens; first += piece) {
    const end = Math.min(first + piece, piecedTokens);
    const cut = ({ data }) => ({ data: data.subarray(first * dim, end * dim), shape: [end - first, dim] });
    const { data } = state.append(cut(q), cut(k), cut(v)).out;
    for (const [i, value] of data.entries()) {
      const token = first + Math.floor(i / dim);
      largest[token] = Math.max(largest[token], Math.abs(value - whole[first * dim + i]));
    }
  }
  for (const each of [state, plan]) each.dispose();
  return largest;
};
