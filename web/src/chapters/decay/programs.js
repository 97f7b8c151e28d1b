// What the figures compute, as their programs show it.
// @ts-nocheck
import { wordVector } from '../../programs/word-vector.js';
/** @import { RopePlan, Ropewalk } from 'ropewalk' */

/**
 * Distances from 0 to `reach`, 257 of them where there are more.
 * @type {(reach: number) => number[]}
 */
export const distancesTo = (reach) => {
  const step = Math.max(1, reach / 256);
  return Array.from({ length: reach / step + 1 }, (_, i) => i * step);
};

/**
 * Mean of cos(m w_i) over the pairs: the score of equal vectors with equally long pairs, divided by D/2. And Su's curve,
 * divided by its value at distance 0.
 * @type {(rw: Ropewalk, dim: number, base: number, reach: number) => Record<'cosines' | 'shape', Float64Array>}
 */
export const decayCurves = (rw, dim, base, reach) => {
  const distances = distancesTo(reach);
  const sums = rw.analysis.dotCurve({ dim, base, distances });
  const shape = rw.analysis.decayCurve({ dim, base, distances });
  return { cosines: sums.map((sum) => sum / (dim / 2)), shape: shape.map((value) => value / shape[0]) };
};

/**
 * The score of one query at each distance from one key, as attention has it before scale and softmax.
 * @type {(rw: Ropewalk, plan: RopePlan, q: Float32Array, k: Float32Array, distances: number[], queries?: Float32Array) =>
 *   Float32Array}
 */
export const scoresAt = (rw, plan, q, k, distances, queries = new Float32Array(distances.length * q.length)) => {
  const D = q.length;
  for (let row = 0; row < distances.length; ++row) queries.set(q, row * D);
  plan.rotate(queries, { positions: distances, out: queries });
  const key = { data: k, shape: [1, D] };
  const many = { data: queries, shape: [distances.length, D] };
  return rw.attention(many, key, key, { scale: 1, returnScores: 'raw' }).scores.data;
};

/**
 * One query and key, made from a number: the size of their score at each distance, and Su's bound on it.
 * @type {(rw: Ropewalk, dim: number, base: number, seed: number, reach: number) =>
 *   { sizes: Float32Array, bound: Float64Array }}
 */
export const boundedScores = (rw, dim, base, seed, reach) => {
  const [q, k] = ['query', 'key'].map((name) => Float32Array.from(wordVector(`${name} ${seed}`, dim)));
  const distances = distancesTo(reach);
  const plan = rw.rope({ headDim: dim, base, pairing: 'interleaved' });
  const sizes = scoresAt(rw, plan, q, k, distances).map(Math.abs);
  plan.dispose();
  return { sizes, bound: rw.analysis.decayBound({ dim, base, q, k, distances }) };
};

/**
 * Scores of many random queries and keys, divided by D: their mean and standard deviation at each distance.
 * @type {(rw: Ropewalk, input: { dim: number, base: number, pairs: number, reach: number },
 *   tell?: (share: number) => void) => Record<'mean' | 'spread', Float64Array>}
 */
export const randomScores = (rw, { dim, base, pairs, reach }, tell = () => undefined) => {
  const distances = distancesTo(reach);
  const [sum, squares] = [new Float64Array(distances.length), new Float64Array(distances.length)];
  const plan = rw.rope({ headDim: dim, base, pairing: 'interleaved' });
  const queries = new Float32Array(distances.length * dim);
  for (let pair = 0; pair < pairs; ++pair) {
    const [q, k] = ['query', 'key'].map((name) => Float32Array.from(wordVector(`${name} ${pair}`, dim)));
    for (const [i, score] of scoresAt(rw, plan, q, k, distances, queries).entries()) {
      sum[i] += score / dim;
      squares[i] += (score / dim) ** 2;
    }
    if (pair % 16 === 0) tell(pair / pairs);
  }
  plan.dispose();
  const mean = sum.map((value) => value / pairs);
  return { mean, spread: squares.map((value, i) => Math.sqrt(value / pairs - mean[i] ** 2)) };
};
