// The numbers of the rotation figure: one pair of a query's and a key's coordinates, turned by a RopePlan. Knows
// nothing of the DOM.
import type { RopePlan, Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';
import { program } from '../../programs/program';
import { headDim, rotation } from './programs';
import { shown } from './programs.js?shown';

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

export function rotationOf(
  core: Ropewalk,
  plan: RopePlan,
  pair: number,
  [q, m]: readonly [Arrow, number],
  [k, n]: readonly [Arrow, number],
): Rotation {
  const [query, key] = [vectorOf(q), vectorOf(k)];
  const made = rotation(core, plan, pair, query, key, m, n);
  const frequency = plan.inverseFrequencies[pair] ?? 0;
  const wavelength = plan.wavelengths[pair] ?? Number.POSITIVE_INFINITY;
  return { query, key, turnedQuery: made.query, turnedKey: made.key, score: made.score, frequency, wavelength };
}

/** A program that computes the same score, and the score at every distance up to reach. */
export function rotationCode(pair: number, q: Arrow, k: Arrow, m: number, n: number, reach: number): string {
  return program(
    shown,
    `const plan = rw.rope(${literal(planOptions)});
const [pair, q, k] = [${pair}, ${literal(vectorOf(q))}, ${literal(vectorOf(k))}];
const { score } = rotation(rw, plan, pair, q, k, ${m}, ${n});
const result = scoresByDistance(rw, plan, pair, q, k, ${reach});   // at distances ${-reach} to ${reach}`,
  );
}
