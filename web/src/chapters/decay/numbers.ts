// The numbers of the decay figures. Know nothing of the DOM.
import type { RopePlan, Ropewalk } from 'ropewalk';
import { wordVector } from '../../programs/word-vector';
import { program as wordSource } from '../../programs/word-vector.js?shown';

export interface Head {
  readonly dim: number;
  readonly base: number;
}

/** Distances from 0 to `reach`, 257 of them where there are more. */
export function distancesTo(reach: number): number[] {
  const step = Math.max(1, reach / 256);
  return Array.from({ length: reach / step + 1 }, (_, i) => i * step);
}

export interface DecayCurves {
  /** Mean of cos(m w_i) over the pairs: the score of equal vectors with equally long pairs, divided by D/2. */
  readonly cosines: Float64Array;
  /** Su's curve, divided by its value at distance 0. */
  readonly shape: Float64Array;
}

export function decayCurves(core: Ropewalk, head: Head, distances: readonly number[]): DecayCurves {
  const shape = core.analysis.decayCurve({ ...head, distances });
  const first = shape[0] ?? 1;
  return {
    cosines: core.analysis.dotCurve({ ...head, distances }).map((value) => value / (head.dim / 2)),
    shape: shape.map((value) => value / first),
  };
}

const distancesCode = (reach: number): string => {
  const step = Math.max(1, reach / 256);
  return `Array.from({ length: ${reach / step + 1} }, (_, i) => ${step === 1 ? 'i' : `${step} * i`})`;
};

export function decayCurvesCode({ dim, base }: Head, reach: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const head = { dim: ${dim}, base: ${base} };
const distances = ${distancesCode(reach)};

const cosines = rw.analysis.dotCurve({ ...head, distances });   // sums of ${dim / 2} cosines
const shape = rw.analysis.decayCurve({ ...head, distances });
const result = distances.flatMap((_, i) => [cosines[i] / ${dim / 2}, shape[i] / shape[0]]);
`;
}

// The score of one query at each distance from one key, as attention has it before scale and softmax.
function scoresAt(core: Ropewalk, plan: RopePlan, q: Float32Array, k: Float32Array, distances: readonly number[]) {
  const dim = plan.headDim;
  const queries = new Float32Array(distances.length * dim);
  for (let row = 0; row < distances.length; ++row) queries.set(q, row * dim);
  plan.rotate(queries, { positions: distances, out: queries });
  const key = { data: k, shape: [1, dim] };
  const many = { data: queries, shape: [distances.length, dim] };
  const { scores } = core.attention(many, key, key, { scale: 1, returnScores: 'raw' });
  return scores?.data ?? new Float32Array();
}

// Runs work with a plan of the head, which is gone when it ends.
function withPlan<T>(core: Ropewalk, { dim, base }: Head, work: (plan: RopePlan) => T): T {
  const plan = core.rope({ headDim: dim, base, pairing: 'interleaved' });
  try {
    return work(plan);
  } finally {
    plan.dispose();
  }
}

export interface Bounded {
  readonly scores: Float32Array;
  readonly bound: Float64Array;
}

/** One query and key, made from a number: scores at each distance and Su's bound on their size. */
export function boundedScores(core: Ropewalk, head: Head, seed: number, distances: readonly number[]): Bounded {
  const q = Float32Array.from(wordVector(`query ${seed}`, head.dim));
  const k = Float32Array.from(wordVector(`key ${seed}`, head.dim));
  return {
    scores: withPlan(core, head, (plan) => scoresAt(core, plan, q, k, distances)),
    bound: core.analysis.decayBound({ ...head, q, k, distances }),
  };
}

const scoresCode = `const scoresAt = (q, k) => {
  const queries = Float32Array.from({ length: distances.length * D }, (_, i) => q[i % D]);
  plan.rotate(queries, { positions: distances, out: queries });
  const key = { data: k, shape: [1, D] };
  const many = { data: queries, shape: [distances.length, D] };
  return rw.attention(many, key, key, { scale: 1, returnScores: 'raw' }).scores.data;
};`;

export function boundedScoresCode({ dim, base }: Head, seed: number, reach: number): string {
  return `import { load } from 'ropewalk';

${wordSource}

const rw = await load({ simd: 'deterministic' });
const [D, base] = [${dim}, ${base}];
const plan = rw.rope({ headDim: D, base, pairing: 'interleaved' });
const distances = ${distancesCode(reach)};
${scoresCode}

const q = Float32Array.from(wordVector('query ${seed}', D));
const k = Float32Array.from(wordVector('key ${seed}', D));
const scores = scoresAt(q, k);
const bound = rw.analysis.decayBound({ dim: D, base, q, k, distances });
const result = distances.flatMap((_, i) => [Math.abs(scores[i]), bound[i]]);
`;
}

export interface RandomScores {
  readonly mean: Float64Array;
  /** Standard deviation. */
  readonly spread: Float64Array;
}

export interface RandomInput extends Head {
  readonly pairs: number;
  readonly reach: number;
}

/** Scores of many random queries and keys, divided by D: their mean and spread at each distance. */
export function randomScores(core: Ropewalk, input: RandomInput, tell: (share: number) => void): RandomScores {
  const distances = distancesTo(input.reach);
  const [sum, squares] = [new Float64Array(distances.length), new Float64Array(distances.length)];
  withPlan(core, input, (plan) => {
    for (let pair = 0; pair < input.pairs; ++pair) {
      const q = Float32Array.from(wordVector(`query ${pair}`, input.dim));
      const k = Float32Array.from(wordVector(`key ${pair}`, input.dim));
      for (const [i, score] of scoresAt(core, plan, q, k, distances).entries()) {
        sum[i] = (sum[i] ?? 0) + score / input.dim;
        squares[i] = (squares[i] ?? 0) + (score / input.dim) ** 2;
      }
      if (pair % 16 === 0) tell(pair / input.pairs);
    }
  });
  const mean = sum.map((value) => value / input.pairs);
  return { mean, spread: squares.map((value, i) => Math.sqrt(value / input.pairs - (mean[i] ?? 0) ** 2)) };
}

export function randomScoresCode({ dim, base, pairs, reach }: RandomInput): string {
  return `import { load } from 'ropewalk';

${wordSource}

const rw = await load({ simd: 'deterministic' });
const [D, base, pairs] = [${dim}, ${base}, ${pairs}];
const plan = rw.rope({ headDim: D, base, pairing: 'interleaved' });
const distances = ${distancesCode(reach)};
${scoresCode}

const sum = new Float64Array(distances.length);
const squares = new Float64Array(distances.length);
for (let pair = 0; pair < pairs; ++pair) {
  const vector = (name) => Float32Array.from(wordVector(\`\${name} \${pair}\`, D));
  for (const [i, score] of scoresAt(vector('query'), vector('key')).entries()) {
    sum[i] += score / D;
    squares[i] += (score / D) ** 2;
  }
}
const result = distances.flatMap((_, i) => {
  const mean = sum[i] / pairs;
  return [mean, Math.sqrt(squares[i] / pairs - mean ** 2)];
});
`;
}
