// The numbers of the rotation figure: one pair of a query's and a key's coordinates, turned by a RopePlan. Knows
// nothing of the DOM.
import type { RopePlan, Ropewalk } from 'ropewalk';
import { literal } from './literal';

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

/** For each of the first positions, where the arrow (1, 0) of each pair of a small head then points. */
export function directions(core: Ropewalk, positions: number): Vector[][] {
  const plan = core.rope({ headDim: 24 });
  try {
    const { cos, sin } = plan.tables({ length: positions });
    const row = (p: number): Vector[] =>
      Array.from(plan.inverseFrequencies, (_, i) => {
        const at = p * plan.inverseFrequencies.length + i;
        return [cos[at] ?? 1, sin[at] ?? 0];
      });
    return Array.from({ length: positions }, (_, p) => row(p));
  } finally {
    plan.dispose();
  }
}

/** A program that computes the same score. */
export function rotationCode(pair: number, q: Arrow, k: Arrow, m: number, n: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope(${literal(planOptions)});

// Two tokens, the query and the key; only pair ${pair} of each is not zero.
const tokens = new Float32Array(2 * ${headDim});
tokens.set(${literal(vectorOf(q))}, ${2 * pair});
tokens.set(${literal(vectorOf(k))}, ${headDim} + ${2 * pair});

const turned = plan.rotate(tokens, { positions: [${m}, ${n}] });
const q = { data: turned.subarray(0, ${headDim}), shape: [1, ${headDim}] };
const k = { data: turned.subarray(${headDim}), shape: [1, ${headDim}] };
const score = rw.attention(q, k, k, { scale: 1, returnScores: 'raw' }).scores.data[0];
`;
}
