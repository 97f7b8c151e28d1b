// What the two orders of one product cost, and that they give the same. Know nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { randomRows, randomRowsCode, unitRows, unitRowsCode, wordVectorSource } from './inputs';

export const costLengths = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
/** So many of the tokens, the first ones, are computed in both orders. */
export const checkedOf = (tokens: number): number => Math.min(tokens, 64);

export interface Cost {
  /** Multiplications of (Q K') V. */
  readonly square: number;
  /** Multiplications of Q (K' V). */
  readonly state: number;
}

export function cost(tokens: number, dim: number): Cost {
  return { square: 2 * tokens * tokens * dim, state: 2 * tokens * dim * dim };
}

/** The largest difference between both orders: weights written out and multiplied with the values, and sums first. */
export function orderDifference(core: Ropewalk, tokens: number, dim: number): number {
  const [q, k, v] = ['query', 'key', 'value'].map((name) => randomRows(name, tokens, dim));
  if (!q || !k || !v) return Number.NaN;
  const weights = core.linearAttention(q, k, unitRows(tokens)).out.data;
  const result = core.linearAttention(q, k, v).out.data;
  let largest = 0;
  for (const [at, value] of result.entries()) {
    const [row, column] = [Math.floor(at / dim), at % dim];
    let sum = 0;
    for (let j = 0; j < tokens; ++j) {
      sum += (weights[row * tokens + j] ?? 0) * (v.data[j * dim + column] ?? 0);
    }
    largest = Math.max(largest, Math.abs(sum - value));
  }
  return largest;
}

export function costCode(tokens: number, dim: number): string {
  return `import { load } from 'ropewalk';

${wordVectorSource}
${randomRowsCode}
${unitRowsCode}

const rw = await load({ simd: 'deterministic' });
const [T, D] = [${tokens}, ${dim}];
const [q, k, v] = ['query', 'key', 'value'].map((name) => rows(name, T, D));
const weights = rw.linearAttention(q, k, unitRows(T)).out.data;
const { data } = rw.linearAttention(q, k, v).out;

let largest = 0;
for (const [at, value] of data.entries()) {
  const [row, column] = [Math.floor(at / D), at % D];
  let sum = 0;
  for (let j = 0; j < T; ++j) sum += weights[row * T + j] * v.data[j * D + column];
  largest = Math.max(largest, Math.abs(sum - value));
}
const lengths = [${costLengths.join(', ')}];
const result = [...lengths.flatMap((T) => [2 * T * T * D, 2 * T * D * D]), largest];
`;
}
