// The numbers of the rotation figure: one pair of a query's and a key's coordinates, turned by a RopePlan. Knows
// nothing of the DOM.
import type { RopePlan, Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';

/** Coordinates of the head that the pair belongs to. */
export const headDim = 64;
export const pairs = headDim / 2;
export const planOptions = { headDim, pairing: 'interleaved' } as const;

export type Vector = readonly [x: number, y: number];

/** An arrow as the reader sets it. */
export interface Arrow {
  /** Degrees, counterclockwise from the x axis. */
  readonly angle: number;
  readonly length: number;
}

/** Its coordinates. Four digits are enough for the eye, and the program below can then show them whole. */
export function vectorOf({ angle, length }: Arrow): Vector {
  const round = (value: number): number => Math.round(value * 1e4) / 1e4;
  const radians = (angle * Math.PI) / 180;
  return [round(length * Math.cos(radians)), round(length * Math.sin(radians))];
}

/** A vector, in the place of one pair, turned as a token at each position. */
export function turned(plan: RopePlan, pair: number, vector: Vector, positions: readonly number[]): Vector[] {
  const tokens = new Float32Array(positions.length * headDim);
  const at = positions.map((_, t) => t * headDim + 2 * pair);
  for (const i of at) tokens.set(vector, i);
  plan.rotate(tokens, { positions, out: tokens });
  return at.map((i) => [tokens[i] ?? 0, tokens[i + 1] ?? 0]);
}

/** The score of each query with the key, as far as this pair goes: attention's own, before scale and softmax. */
export function scoresOf(core: Ropewalk, queries: readonly Vector[], key: Vector): number[] {
  const asked = { data: Float32Array.from(queries.flat()), shape: [queries.length, 2] };
  const one = { data: Float32Array.from(key), shape: [1, 2] };
  const { scores } = core.attention(asked, one, one, { scale: 1, returnScores: 'raw' });
  return Array.from(scores?.data ?? []);
}

export interface Rotation {
  readonly query: Vector;
  readonly key: Vector;
  readonly turnedQuery: Vector;
  readonly turnedKey: Vector;
  readonly score: number;
  /** Radians per position. */
  readonly frequency: number;
  /** Positions for one full turn. */
  readonly wavelength: number;
}

export function rotation(
  core: Ropewalk,
  plan: RopePlan,
  pair: number,
  [q, m]: readonly [Arrow, number],
  [k, n]: readonly [Arrow, number],
): Rotation {
  const query = vectorOf(q);
  const key = vectorOf(k);
  const [turnedQuery = query] = turned(plan, pair, query, [m]);
  const [turnedKey = key] = turned(plan, pair, key, [n]);
  const frequency = plan.inverseFrequencies[pair] ?? 0;
  const wavelength = plan.wavelengths[pair] ?? Number.POSITIVE_INFINITY;
  const [score = 0] = scoresOf(core, [turnedQuery], turnedKey);
  return { query, key, turnedQuery, turnedKey, score, frequency, wavelength };
}

/** The score at each distance m - n from -reach to reach, with the key at position 0. */
export function scoresByDistance(
  core: Ropewalk,
  plan: RopePlan,
  pair: number,
  q: Arrow,
  k: Arrow,
  reach: number,
): number[] {
  const distances = Array.from({ length: 2 * reach + 1 }, (_, i) => i - reach);
  const [key = vectorOf(k)] = turned(plan, pair, vectorOf(k), [0]);
  return scoresOf(core, turned(plan, pair, vectorOf(q), distances), key);
}

/** A program that computes the same score, and the score at every distance up to reach. */
export function rotationCode(pair: number, q: Arrow, k: Arrow, m: number, n: number, reach: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope(${literal(planOptions)});

// Pair ${pair} of a token, turned by its position.
function turned(vector, position) {
  const token = new Float32Array(${headDim});
  token.set(vector, ${2 * pair});
  plan.rotate(token, { offset: position, out: token });
  return { data: token.subarray(${2 * pair}, ${2 * pair + 2}), shape: [1, 2] };
}
function scoreAt(m, n) {
  const q = turned(${literal(vectorOf(q))}, m);
  const k = turned(${literal(vectorOf(k))}, n);
  return rw.attention(q, k, k, { scale: 1, returnScores: 'raw' }).scores.data[0];
}

const score = scoreAt(${m}, ${n});
const result = [];   // at every distance m - n
for (let d = ${-reach}; d <= ${reach}; ++d) result.push(scoreAt(d, 0));
`;
}
