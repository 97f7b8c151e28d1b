// Beam search: of all beginnings of a target the likeliest few go on, side by side, and the best of those that ended is
// given. The rules are those of Hugging Face's generate().
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import { EventLoop } from '../runtime/event-loop.js';
import type { NdArray } from '../runtime/tensor.js';
import { logProbability } from '../sampling/sampling.js';
import type { ModelKvCache } from './cache.js';
import { checkWork, type GeneratedToken, type GenerateOptions, type Stepper, type Work } from './generate.js';
import type { Ids, IdsInput } from './ids.js';

const where = 'model.generate';

/** Options of a search with beams. */
export interface BeamOptions {
  /** How many, from 1 to 64. */
  count: number;
  /** Length penalty p: a target's score is its log probability divided by length^p. Default 1. */
  lengthPenalty?: number;
}

/** A beginning, with the sum of its logarithms of probabilities. */
interface Beam {
  readonly tokens: readonly number[];
  readonly sum: number;
}

/** A token behind the beam `row`. */
interface Candidate {
  readonly row: number;
  readonly token: number;
  readonly sum: number;
}

const impossible = Number.NEGATIVE_INFINITY;

// The likeliest, best first; of equal ones, those of earlier beams and lower ids.
function likeliest(
  { model, sampling }: Work,
  logits: Float32Array,
  beams: readonly Beam[],
  count: number,
): Candidate[] {
  const best: Candidate[] = [];
  const { vocabSize } = model.config;
  for (const [row, { sum }] of beams.entries()) {
    if (sum === impossible) continue;
    const own = logits.slice(row * vocabSize, (row + 1) * vocabSize);
    const shift = sum + logProbability(own, 0) - (own[0] as number);
    if (!Number.isFinite(shift)) {
      throw new ArgumentRangeError(where, 'logits', own, 'are not finite');
    }
    for (const [id, number] of sampling.bias) own[id] = (own[id] as number) + number;
    for (let token = 0; token < vocabSize; ++token) {
      const total = (own[token] as number) + shift;
      if (!(total > (best[count - 1]?.sum ?? impossible))) continue;
      let at = Math.min(best.length, count - 1);
      for (; at > 0 && (best[at - 1] as Candidate).sum < total; --at) best[at] = best[at - 1] as Candidate;
      best[at] = { row, token, sum: total };
    }
  }
  return best;
}

const rowsOf = ({ data, shape }: NdArray, from: readonly number[]): NdArray => {
  const size = data.length / from.length;
  const moved = new Float32Array(data.length);
  for (const [row, other] of from.entries()) moved.set(data.subarray(other * size, (other + 1) * size), row * size);
  return { data: moved, shape };
};

// Row r becomes what row from[r] was.
function reorder(cache: ModelKvCache, from: readonly number[]): void {
  if (from.every((row, i) => row === i)) return;
  for (const layer of cache.layers) {
    const [keys, values] = [rowsOf(layer.keys(), from), rowsOf(layer.values(), from)];
    layer.reset().append(keys, values);
  }
}

// The tokens of the best target behind `start`.
async function search(
  work: Work,
  cache: ModelKvCache,
  lengthPenalty: number,
  run: (rows: readonly (readonly number[])[]) => Promise<Float32Array>,
): Promise<readonly number[]> {
  const { ids, maxTokens, stop } = work;
  const count = cache.batch;
  const ended: Beam[] = []; // the best first; sums are over a power of the length
  const end = (tokens: readonly number[], sum: number, length: number) => {
    const score = sum / length ** lengthPenalty;
    const at = ended.findIndex((other) => other.sum < score);
    ended.splice(at < 0 ? ended.length : at, 0, { tokens, sum: score });
    ended.length = Math.min(ended.length, count);
  };
  let beams: readonly Beam[] = [{ tokens: [], sum: 0 }];
  let inputs: readonly (readonly number[])[] = Array(count).fill(Array.from(ids.values));
  for (let length = 1; length <= maxTokens; ++length) {
    const found = likeliest(work, await run(inputs), beams, Math.max(2, 1 + stop.size) * count);
    const next: Candidate[] = [];
    for (const [rank, { row, token, sum }] of found.entries()) {
      if (next.length === count) break;
      if (!stop.has(token)) next.push({ row, token, sum });
      else if (rank < count) end((beams[row] as Beam).tokens, sum, length);
    }
    // No beam that goes on can come to be better than those that ended.
    const best = (found[0]?.sum ?? impossible) / length ** lengthPenalty;
    if (ended.length === count && (ended[count - 1] as Beam).sum >= best) break;
    const living = next.length;
    if (living === 0) break;
    // Rows that no token continues go on beside the others and never win.
    while (next.length < count) next.push({ row: 0, token: 0, sum: impossible });
    beams = next.map(({ row, token, sum }) => ({ tokens: [...(beams[row] as Beam).tokens, token], sum }));
    if (length === maxTokens) {
      for (const { tokens, sum } of beams.slice(0, living)) end(tokens, sum, length);
    } else {
      const from = next.map(({ row }) => row);
      reorder(cache, from);
    }
    inputs = next.map(({ token }) => [token]);
  }
  return ended[0]?.tokens ?? [];
}

const fields = ['maxTokens', 'stop', 'storage', 'signal', 'logitBias'] as const;

/** A search that is checked, and has not begun. @internal */
export interface Searching {
  /** Each beam is a row that sees the same source: a pass and its hidden numbers [S, M] or [1, S, M], so many times. */
  rows<P extends { readonly source: Ids }>(pass: P, hidden: NdArray): [pass: P, hidden: NdArray];
  /** Of the best target. */
  readonly tokens: AsyncGenerator<GeneratedToken, void, undefined>;
}

/** Checks the options of a search. @internal */
export function searching(
  model: Stepper,
  target: IdsInput,
  given: GenerateOptions,
  beams: number | BeamOptions,
): Searching {
  check.keys(where, 'options', given, fields);
  const work = checkWork(model, target, given);
  if (work.ids.batch > 1) {
    throw new ArgumentRangeError(where, 'beams', beams, `are for ids of one row; these have ${work.ids.batch}`);
  }
  const asked = typeof beams === 'number' ? { count: beams } : beams;
  const { count, lengthPenalty = 1 } = check.options(where, 'beams', asked, ['count', 'lengthPenalty']);
  check.integer(where, typeof beams === 'number' ? 'beams' : 'beams.count', count, 1, 64);
  check.finite(where, 'beams.lengthPenalty', lengthPenalty);
  return {
    rows(pass, { data, shape }) {
      const all = new Float32Array(data.length * count);
      for (let at = 0; at < all.length; at += data.length) all.set(data, at);
      return [
        { ...pass, source: { ...pass.source, batch: count } },
        { data: all, shape },
      ];
    },
    tokens: tokensOf(work, count, lengthPenalty),
  };
}

async function* tokensOf(
  work: Work,
  count: number,
  lengthPenalty: number,
): AsyncGenerator<GeneratedToken, void, undefined> {
  const { model, ids, signal, storage } = work;
  const loop = new EventLoop();
  const cache = model.kvCache({ batch: count, storage });
  try {
    const run = async (rows: readonly (readonly number[])[]) => {
      await loop.pause();
      signal?.throwIfAborted();
      const data = rows.flat();
      return model.pass(where, { data, shape: [count, data.length / count] }, { cache }).logits?.data as Float32Array;
    };
    const tokens = await search(work, cache, lengthPenalty, run);
    for (const [i, token] of tokens.entries()) yield { token, row: 0, position: ids.tokens + i };
  } finally {
    cache.dispose();
  }
}
