// Chooses the next token from logits. The filters run in the order of Hugging Face's generate(): repetition penalty,
// temperature, top-k, top-p, min-p. One random number then chooses.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { bufferOf, lengthOf } from '../runtime/typed-arrays.js';
import { expOfNegative } from './exp.js';
import { randomAt } from './random.js';

/** Filters for the choice of the next token. */
export interface SamplingOptions {
  /** Divides the logits. Default 1; 0 is greedy: the largest logit, the lowest id among equal ones, nothing random. */
  temperature?: number;
  /** Keeps the k largest logits, and those equal to the k-th. Default: all. */
  topK?: number;
  /**
   * Keeps the nucleus: the likeliest tokens, lower ids first among equal ones, until their probabilities, normalized
   * after topK, sum to at least topP. At least one stays. Default 1, which keeps all.
   */
  topP?: number;
  /** Keeps tokens at least minP times as likely as the likeliest. Default 0. */
  minP?: number;
  /** Divides positive logits of tokens that have occurred, and multiplies negative ones. Default 1. */
  repetitionPenalty?: number;
}

/** Options of sample(). */
export interface SampleOptions extends SamplingOptions {
  /** Ids that have occurred, for repetitionPenalty; each counts once. Default: none. */
  previous?: check.IntegersInput;
  /**
   * An integer from 0 to 2^53 - 1 that makes the choice reproducible on every engine. The random number is the upper 53
   * bits, as a fraction of 1, of number `index` in the SplitMix64 sequence of this seed.
   */
  seed?: number;
  /** Index in the seed's sequence, counted from 0. Default 0. */
  index?: number;
  /** Gives numbers in [0, 1), in place of a seed. Default Math.random. */
  random?: () => number;
}

/** Checked SamplingOptions. @internal */
export interface Sampling {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
}

/** @internal */
export const samplingFields = ['temperature', 'topK', 'topP', 'minP', 'repetitionPenalty'] as const;

function fraction(where: string, name: string, value: unknown): number {
  const number = check.finite(where, name, value);
  if (number >= 0 && number <= 1) return number;
  throw new ArgumentRangeError(where, name, value, `is ${number}; expected a number from 0 to 1`);
}

/** @internal */
export function checkSampling(where: string, options: SamplingOptions): Sampling {
  const { temperature = 1, topK = Number.MAX_SAFE_INTEGER, topP = 1, minP = 0, repetitionPenalty = 1 } = options;
  if (check.finite(where, 'temperature', temperature) < 0) {
    const problem = `is ${temperature}; expected 0, which is greedy, or more`;
    throw new ArgumentRangeError(where, 'temperature', temperature, problem);
  }
  return {
    temperature,
    topK: check.integer(where, 'topK', topK, 1),
    topP: fraction(where, 'topP', topP),
    minP: fraction(where, 'minP', minP),
    repetitionPenalty: check.positive(where, 'repetitionPenalty', repetitionPenalty),
  };
}

/** @internal */
export function checkSeed(where: string, seed: unknown): number {
  return check.integer(where, 'seed', seed, 0);
}

// The source of the number in [0, 1). Called only if there is something to choose.
function source(where: string, { seed, index, random }: SampleOptions): () => number {
  if (index !== undefined) check.integer(where, 'index', index, 0);
  if (seed !== undefined) {
    const from = checkSeed(where, seed);
    if (random !== undefined) throw new ArgumentRangeError(where, 'random', random, 'is given beside a seed');
    return () => randomAt(from, index ?? 0);
  }
  if (index !== undefined) throw new ArgumentRangeError(where, 'index', index, `is ${index}, but there is no seed`);
  if (random === undefined) return Math.random;
  if (typeof random !== 'function') throw new ArgumentTypeError(where, 'random', random, 'a function');
  return () => {
    const number: unknown = random();
    if (typeof number === 'number' && number >= 0 && number < 1) return number;
    throw new ArgumentRangeError(where, 'random', number, `gave ${number}; expected a number from 0 to below 1`);
  };
}

/** A copy of the logits with the repetition penalty applied. */
function penalize(where: string, logits: Float32Array, previous: Iterable<number>, penalty: number): Float32Array {
  const changed = logits.slice();
  for (const id of new Set(previous)) {
    const logit = logits[id] as number;
    changed[id] = logit > 0 ? logit / penalty : logit * penalty;
    if (Number.isFinite(logit) && !Number.isFinite(changed[id])) {
      const problem = `is ${penalty}, which takes logits[${id}], ${logit}, beyond float32`;
      throw new ArgumentRangeError(where, 'repetitionPenalty', penalty, problem);
    }
  }
  return changed;
}

// The id of the largest logit, the lowest among equal ones.
function largest(where: string, logits: Float32Array): number {
  let at = 0;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < logits.length; ++i) {
    const logit = logits[i] as number;
    if (logit > max) {
      max = logit;
      at = i;
    } else if (Number.isNaN(logit)) {
      throw new ArgumentRangeError(where, `logits[${i}]`, logit, 'is NaN');
    }
  }
  if (max === Number.POSITIVE_INFINITY) throw new ArgumentRangeError(where, `logits[${at}]`, max, 'is Infinity');
  if (max > Number.NEGATIVE_INFINITY) return at;
  throw new ArgumentRangeError(where, 'logits', logits, 'are all -Infinity, which leaves no token');
}

// Maps the bits of a float32 to an unsigned integer in the same order; -0 and 0 give the same.
function orderOf(bits: number): number {
  if (bits === 0x80000000) return bits;
  return (bits & 0x80000000 ? ~bits : bits | 0x80000000) >>> 0;
}

const buckets = 2 ** 16; // by the upper half of the order

/** The order of the k-th largest number; counts in buckets, so that only one bucket is sorted. */
function orderOfTopK(bits: Uint32Array, k: number): number {
  if (k >= bits.length) return 0;
  const counts = new Uint32Array(buckets);
  for (let i = 0; i < bits.length; ++i) {
    const bucket = orderOf(bits[i] as number) >>> 16;
    counts[bucket] = (counts[bucket] as number) + 1;
  }
  let bucket = buckets - 1;
  let above = 0;
  for (; above + (counts[bucket] as number) < k; --bucket) above += counts[bucket] as number;
  const within = new Uint32Array(counts[bucket] as number);
  let found = 0;
  for (let i = 0; i < bits.length; ++i) {
    const order = orderOf(bits[i] as number);
    if (order >>> 16 === bucket) within[found++] = order;
  }
  return within.sort()[found - (k - above)] as number;
}

/** Sets the weight of every token outside the nucleus to 0. */
function keepNucleus(bits: Uint32Array, weights: Float64Array, topP: number): void {
  const masses = new Float64Array(buckets);
  let total = 0;
  for (let i = 0; i < bits.length; ++i) {
    const weight = weights[i] as number;
    if (weight === 0) continue;
    const bucket = orderOf(bits[i] as number) >>> 16;
    masses[bucket] = (masses[bucket] as number) + weight;
    total += weight;
  }
  const wanted = topP * total;
  let bucket = buckets - 1;
  let sum = 0;
  while (bucket > 0 && (masses[bucket] === 0 || sum + (masses[bucket] as number) < wanted)) {
    sum += masses[bucket--] as number;
  }
  const within: { readonly id: number; readonly order: number }[] = [];
  for (let id = 0; id < bits.length; ++id) {
    const order = orderOf(bits[id] as number);
    if (order >>> 16 < bucket) weights[id] = 0;
    else if (order >>> 16 === bucket && weights[id] !== 0) within.push({ id, order });
  }
  within.sort((a, b) => b.order - a.order || a.id - b.id);
  let kept = 0;
  for (; kept < within.length && (kept === 0 || sum < wanted); ++kept) sum += weights[within[kept]?.id ?? 0] as number;
  for (const { id } of within.slice(kept)) weights[id] = 0;
}

// The first id at which the running sum of the weights exceeds this fraction of the total.
function choose(weights: Float64Array, fractionOfAll: number): number {
  let total = 0;
  for (let id = 0; id < weights.length; ++id) total += weights[id] as number;
  const target = fractionOfAll * total;
  let sum = 0;
  let last = 0;
  for (let id = 0; id < weights.length; ++id) {
    if (weights[id] === 0) continue;
    last = id;
    sum += weights[id] as number;
    if (sum > target) break;
  }
  return last;
}

/** Chooses the next token from unfiltered logits. @internal */
export function chooseToken(
  where: string,
  given: Float32Array,
  sampling: Sampling,
  previous: Iterable<number>,
  random: () => number,
): number {
  const { temperature, topK, topP, minP, repetitionPenalty } = sampling;
  const logits = repetitionPenalty === 1 ? given : penalize(where, given, previous, repetitionPenalty);
  const best = largest(where, logits);
  if (temperature === 0) return best;
  const max = logits[best] as number;
  const bits = new Uint32Array(bufferOf(logits), logits.byteOffset, logits.length);
  const least = orderOfTopK(bits, topK);
  const weights = new Float64Array(logits.length);
  for (let id = 0; id < weights.length; ++id) {
    if (least > 0 && orderOf(bits[id] as number) < least) continue;
    weights[id] = expOfNegative(((logits[id] as number) - max) / temperature);
  }
  if (topP < 1) keepNucleus(bits, weights, topP);
  if (minP > 0) {
    for (let id = 0; id < weights.length; ++id) if ((weights[id] as number) < minP) weights[id] = 0;
  }
  return choose(weights, random());
}

/** The natural logarithm of a token's probability: log softmax(logits)[token]. @internal */
export function logProbability(logits: Float32Array, token: number): number {
  const max = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  let sum = 0;
  for (let id = 0; id < logits.length; ++id) sum += expOfNegative((logits[id] as number) - max);
  return (logits[token] as number) - max - Math.log(sum);
}

/**
 * Chooses a token. The filters are applied in the order of Hugging Face's `generate()`: repetitionPenalty, temperature,
 * topK, topP, minP. The remaining probabilities are normalized; the chosen token is the first, in the order of ids, at
 * which their running sum exceeds the random number. Sums are in float64, without functions whose rounding depends on
 * the engine, so the same logits, options and seed give the same token everywhere.
 *
 * @param logits [V], one for each token of the vocabulary; a token with -Infinity is never chosen. Not changed.
 * @throws ArgumentRangeError where a logit is NaN or Infinity, all are -Infinity, or an option is out of range.
 *
 * @example
 * import { sample } from 'ropewalk/models';
 * const logits = Float32Array.of(1, 3, 2, -Infinity);
 * sample(logits, { temperature: 0 }); // 1
 * sample(logits, { topK: 2, seed: 7 }); // 1 or 2, the same every time
 * sample(logits, { topP: 0.9, seed: 7, index: 1 }); // with the seed's next number
 */
export function sample(logits: Float32Array, options: SampleOptions = {}): number {
  const where = 'sample';
  const known = [...samplingFields, 'previous', 'seed', 'index', 'random'] as const;
  const given = check.options(where, 'options', options, known);
  const sampling = checkSampling(where, given);
  const random = source(where, given);
  const previous = check.positions(where, 'previous', given.previous ?? []);
  const floats = check.float32(where, 'logits', logits);
  if (lengthOf(floats) === 0) throw new ArgumentRangeError(where, 'logits', logits, 'has 0 numbers; expected some');
  previous.forEach((id, i) => {
    check.integer(where, `previous[${i}]`, id, 0, lengthOf(floats) - 1);
  });
  return chooseToken(where, floats, sampling, previous, random);
}
