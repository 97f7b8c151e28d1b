// What the figures compute, as their programs show it.
// @ts-nocheck
/** @import { RopePlan, Ropewalk } from 'ropewalk' */
import { wordVector } from '../../programs/word-vector.js';

export const headDim = 64;

/**
 * A vector, in the place of one pair, turned as a token at each position.
 * @type {(plan: RopePlan, pair: number, vector: readonly number[], positions: readonly number[]) => [number, number][]}
 */
export const turnedAt = (plan, pair, vector, positions) => {
  const tokens = new Float32Array(positions.length * headDim);
  const at = positions.map((_, t) => t * headDim + 2 * pair);
  for (const i of at) tokens.set(vector, i);
  plan.rotate(tokens, { positions, out: tokens });
  return at.map((i) => [tokens[i], tokens[i + 1]]);
};

/**
 * The score of each query with the key, as far as this pair goes: attention's own, before scale and softmax.
 * @type {(rw: Ropewalk, queries: readonly (readonly number[])[], key: readonly number[]) => number[]}
 */
export const scoresOf = (rw, queries, key) => {
  const asked = { data: Float32Array.from(queries.flat()), shape: [queries.length, 2] };
  const one = { data: Float32Array.from(key), shape: [1, 2] };
  return Array.from(rw.attention(asked, one, one, { scale: 1, returnScores: 'raw' }).scores.data);
};

/**
 * A query turned as at position m and a key as at n, and their score.
 * @type {(rw: Ropewalk, plan: RopePlan, pair: number, q: readonly number[], k: readonly number[], m: number, n: number)
 *   => { query: [number, number], key: [number, number], score: number }}
 */
export const rotation = (rw, plan, pair, q, k, m, n) => {
  const [query] = turnedAt(plan, pair, q, [m]);
  const [key] = turnedAt(plan, pair, k, [n]);
  const [score] = scoresOf(rw, [query], key);
  return { query, key, score };
};

/**
 * The score at each distance m - n from -reach to reach, with the key at position 0.
 * @type {(rw: Ropewalk, plan: RopePlan, pair: number, q: readonly number[], k: readonly number[], reach: number)
 *   => number[]}
 */
export const scoresByDistance = (rw, plan, pair, q, k, reach) => {
  const distances = Array.from({ length: 2 * reach + 1 }, (_, i) => i - reach);
  const [key] = turnedAt(plan, pair, k, [0]);
  return scoresOf(rw, turnedAt(plan, pair, q, distances), key);
};

/**
 * For each pair, where the hands of a query at m and a key at n point, and the turn between them, by m - n.
 * @type {(rw: Ropewalk, m: number, n: number) =>
 *   Record<'query' | 'key' | 'between', [x: number, y: number][]> & { wavelengths: Float64Array }}
 */
export const pairClocks = (rw, m, n) => {
  const plan = rw.rope({ headDim: 32 });
  const { cos, sin } = plan.tables([m, n, m - n]);
  const { wavelengths } = plan;
  plan.dispose();
  const pairs = wavelengths.length;
  const hands = (row) => Array.from(wavelengths, (_, i) => [cos[row * pairs + i], sin[row * pairs + i]]);
  return { query: hands(0), key: hands(1), between: hands(2), wavelengths };
};

/**
 * The arrow u of length 1 at the angle of position m; another number z, and u times z; the conjugate of z, and u times it.
 * @type {(rw: Ropewalk, m: number) => { angle: number, numbers: [number, number][] }}
 */
export const products = (rw, m) => {
  const plan = rw.rope({ headDim, pairing: 'interleaved' });
  const pair = 4;
  const [one, z, conjugate] = [
    [1, 0],
    [0.7, 0.3],
    [0.7, -0.3],
  ];
  const timesUnit = (vector) => turnedAt(plan, pair, vector, [m])[0];
  const numbers = [timesUnit(one), z, timesUnit(z), conjugate, timesUnit(conjugate)];
  const angle = m * plan.inverseFrequencies[pair];
  plan.dispose();
  return { angle, numbers };
};

/**
 * A query at m and a key at n as complex numbers, before and after they are turned, and the product of the query with the
 * conjugate of the key.
 * @type {(rw: Ropewalk, m: number, n: number) => { frequency: number } &
 *   Record<'query' | 'key' | 'product' | 'turnedQuery' | 'turnedKey' | 'turnedProduct', readonly number[]>}
 */
export const derivation = (rw, m, n) => {
  const plan = rw.rope({ headDim, pairing: 'interleaved' });
  const pair = 4;
  const [query, key] = [
    [0.3, 0.95],
    [0.75, 0.2],
  ];
  const [turnedQuery] = turnedAt(plan, pair, query, [m]);
  const [turnedKey] = turnedAt(plan, pair, key, [n]);
  const frequency = plan.inverseFrequencies[pair];
  plan.dispose();
  const timesConjugate = ([a, b], [c, d]) => [a * c + b * d, b * c - a * d];
  const product = timesConjugate(query, key);
  const turnedProduct = timesConjugate(turnedQuery, turnedKey);
  return { frequency, query, key, product, turnedQuery, turnedKey, turnedProduct };
};

export const layoutHead = 8;

/**
 * Where coordinate i of a head with interleaved pairs goes in one with halves.
 * @type {(i: number) => number}
 */
export const toHalves = (i) => (i % 2) * (layoutHead / 2) + Math.floor(i / 2);

/**
 * The same numbers in both layouts, turned; and in the first, turned as if they lay in the second.
 * @type {(rw: Ropewalk, position: number) => Record<'interleaved' | 'half' | 'mixed', Float32Array>}
 */
export const layouts = (rw, position) => {
  const x = Float32Array.from({ length: layoutHead }, (_, i) => i + 1);
  const xInHalves = new Float32Array(layoutHead);
  for (const [i, value] of x.entries()) xInHalves[toHalves(i)] = value;
  const turn = (pairing, numbers) => {
    const plan = rw.rope({ headDim: layoutHead, pairing });
    const after = plan.rotate(numbers, { offset: position });
    plan.dispose();
    return after;
  };
  return {
    interleaved: turn('interleaved', x),
    half: turn('half', xInHalves),
    mixed: turn('half', x), // the wrong pairing for x
  };
};

/**
 * RoPE by hand: every number of a head of four.
 * @type {(rw: Ropewalk, position: number) =>
 *   Record<'q' | 'angles' | 'cos' | 'partner' | 'sin' | 'turned', number[]> & { frequencies: Float64Array }}
 */
export const worked = (rw, position) => {
  const plan = rw.rope({ headDim: 4, pairing: 'interleaved' });
  const q = [1, 2, 3, 4];
  const frequencies = plan.inverseFrequencies;
  const angles = [0, 0, 1, 1].map((pair) => position * frequencies[pair]);
  const { cos, sin } = plan.tables([position], 'coordinates');
  const partner = [-q[1], q[0], -q[3], q[2]];
  const rotated = plan.rotate(Float32Array.from(q), { offset: position });
  plan.dispose();
  const [cosines, sines, turned] = [cos, sin, rotated].map((numbers) => Array.from(numbers));
  return { q, angles, cos: cosines, partner, sin: sines, turned, frequencies };
};

export const waysHead = 8;

/**
 * The numbers 1 to 8, turned in three ways: by the matrix, in the efficient form, and pair by pair; and by the package.
 * @type {(rw: Ropewalk, pairing: 'interleaved' | 'half', position: number) =>
 *   Record<'x' | 'cos' | 'sin' | 'partner' | 'matrix' | 'product' | 'efficient' | 'loop' | 'rotated', number[]> &
 *   { pairs: [number, number][] }}
 */
export const threeWays = (rw, pairing, position) => {
  const D = waysHead;
  const [all, half] = [D, D / 2].map((count) => Array.from({ length: count }, (_, i) => i));
  const x = all.map((i) => i + 1);
  const plan = rw.rope({ headDim: D, base: 100, pairing });
  const { cos, sin } = plan.tables([position], 'coordinates');
  const rotated = plan.rotate(Float32Array.from(x), { offset: position });
  // The columns of the matrix are what becomes of the unit vectors.
  const units = Float32Array.from({ length: D * D }, (_, i) => (i % (D + 1) === 0 ? 1 : 0));
  const columns = plan.rotate(units, { positions: all.map(() => position) });
  plan.dispose();
  const matrix = all.flatMap((row) => all.map((column) => columns[column * D + row]));
  const product = all.map((row) => all.reduce((sum, column) => sum + matrix[row * D + column] * x[column], 0));
  const pairs = half.map((i) => (pairing === 'half' ? [i, i + D / 2] : [2 * i, 2 * i + 1]));
  const [partner, loop] = [[], []];
  for (const [a, b] of pairs) [partner[a], partner[b]] = [-x[b], x[a]];
  const efficient = all.map((i) => x[i] * cos[i] + partner[i] * sin[i]);
  for (const [a, b] of pairs) {
    loop[a] = x[a] * cos[a] - x[b] * sin[a];
    loop[b] = x[a] * sin[a] + x[b] * cos[a];
  }
  const [cosines, sines, turned] = [cos, sin, rotated].map((numbers) => Array.from(numbers));
  return { x, cos: cosines, sin: sines, partner, pairs, matrix, product, efficient, loop, rotated: turned };
};

export const longestWalk = 200;

/**
 * Scores with both words moved on by 0 .. longestWalk, as they should be and as the broken code has them: tables that are
 * made for pairs (i, i + D/2), read at every second entry as if for pairs (2i, 2i + 1).
 * @type {(rw: Ropewalk, distance: number) => Record<'right' | 'wrong', Float32Array>}
 */
export const brokenScores = (rw, distance) => {
  const [D, steps] = [8, longestWalk + 1];
  const plain = rw.rope({ headDim: D, pairing: 'interleaved' });
  const w = plain.inverseFrequencies;
  // What the broken code turns by: each coordinate of a pair by another frequency.
  const [first, second] = [0, 1].map((from) => {
    const inverseFrequencies = [0, 1, 2, 3].map((i) => w[(2 * i + from) % 4]);
    return rw.rope({ headDim: D, pairing: 'interleaved', scaling: { type: 'custom', inverseFrequencies } });
  });
  const turnRight = (x, offset) => plain.rotate(x, { offset });
  const turnWrong = (x, offset) => {
    const [a, b] = [first.rotate(x, { offset }), second.rotate(x, { offset })];
    return a.map((value, i) => (i % 2 === 0 ? value : b[i]));
  };
  const scores = (turn) => {
    const repeated = (x) => Float32Array.from({ length: steps * D }, (_, i) => x[i % D]);
    // Each step as a batch entry of its own.
    const shape = [steps, 1, 1, D];
    const q = { data: turn(repeated([1, 2, 3, 4, 5, 6, 7, 8]), distance), shape };
    const k = { data: turn(repeated([8, 7, 6, 5, 4, 3, 2, 1]), 0), shape };
    return rw.attention(q, k, k, { scale: 1, returnScores: 'raw' }).scores.data;
  };
  const made = { right: scores(turnRight), wrong: scores(turnWrong) };
  for (const plan of [plain, first, second]) plan.dispose();
  return made;
};

export const summedPairs = 3;

/**
 * What each pair of a small head adds to a score, at each distance from -reach to reach, and the sum of all pairs.
 * @type {(rw: Ropewalk, seed: number, reach: number) => Float32Array[]}
 */
export const pairSums = (rw, seed, reach) => {
  const dim = 2 * summedPairs;
  const plan = rw.rope({ headDim: dim, base: 100, pairing: 'interleaved' });
  const [query, key] = ['query', 'key'].map((name) => Float32Array.from(wordVector(`${name} ${seed}`, dim)));
  const positions = Array.from({ length: 2 * reach + 1 }, (_, i) => i - reach);
  const tokens = Float32Array.from({ length: positions.length * dim }, (_, i) => query[i % dim]);
  const turned = plan.rotate(tokens, { positions });
  plan.dispose();
  const products = turned.map((value, i) => value * key[i % dim]);
  const sum = (from, to) =>
    Float32Array.from(positions, (_, row) => {
      return products.subarray(row * dim + from, row * dim + to).reduce((a, b) => a + b, 0);
    });
  return [...Array.from({ length: summedPairs }, (_, pair) => sum(2 * pair, 2 * pair + 2)), sum(0, dim)];
};
