// Chooses the next token from logits. The filters run in the order of Hugging Face's generate(): bias, repetition
// penalty, temperature, top-k, top-p, min-p, typical-p. One random number then chooses.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { bufferOf, lengthOf } from '../runtime/typed-arrays.js';
import { expOfNegative } from './exp.js';
import { keepShare, keepTypical, orderOf, orderOfTopK } from './filters.js';
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
  /**
   * Keeps the tokens whose information, -ln p, is nearest to the entropy of what the other filters leave, until their
   * probabilities sum to at least typicalP (arXiv 2202.00666). Default 1, which keeps all.
   */
  typicalP?: number;
  /**
   * Numbers added to logits before all filters, by token id: `{ 50256: -Infinity }` or [id, number] pairs, such as a
   * Map. -Infinity bans a token. Default: none.
   */
  logitBias?: LogitBias;
  /** Divides positive logits of tokens that have occurred, and multiplies negative ones. Default 1. */
  repetitionPenalty?: number;
}

/** Numbers by token id. */
export type LogitBias = Readonly<Record<number, number>> | Iterable<readonly [number, number]>;

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
  readonly typicalP: number;
  readonly repetitionPenalty: number;
  readonly bias: readonly (readonly [number, number])[];
}

/** @internal */
export const samplingFields = [
  'temperature',
  'topK',
  'topP',
  'minP',
  'typicalP',
  'logitBias',
  'repetitionPenalty',
] as const;

function fraction(where: string, name: string, value: unknown): number {
  const number = check.finite(where, name, value);
  if (number >= 0 && number <= 1) return number;
  throw new ArgumentRangeError(where, name, value, `is ${number}; expected a number from 0 to 1`);
}

// [id, number] pairs, each id once.
function biasOf(where: string, value: unknown, vocabSize: number): Sampling['bias'] {
  if (value === undefined) return [];
  const refusal = (given = value) =>
    new ArgumentTypeError(where, 'logitBias', given, 'numbers by token id, or [id, number] pairs');
  const isIterable = typeof value === 'object' && value !== null && Symbol.iterator in value;
  if (ArrayBuffer.isView(value) || !(isIterable || check.isPlain(value))) throw refusal();
  const idOf = (key: string) => (/^(?:0|[1-9]\d*)$/.test(key) ? Number(key) : key);
  let pairs: unknown[];
  try {
    pairs = isIterable
      ? [...(value as Iterable<unknown>)]
      : Object.entries(value).map(([key, bias]) => [idOf(key), bias]);
  } catch {
    throw refusal(); // a bare prototype of a list
  }
  const found = new Map<number, number>();
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) throw refusal(pair);
    const [key, bias] = pair;
    const id = check.integer(where, 'logitBias', key, 0);
    if (id >= vocabSize) {
      throw new ArgumentRangeError(where, 'logitBias', value, `has token ${id}; expected ids below ${vocabSize}`);
    }
    if (bias !== Number.NEGATIVE_INFINITY) check.finite(where, `logitBias[${id}]`, bias);
    if (found.has(id)) throw new ArgumentRangeError(where, 'logitBias', value, `has token ${id} twice`);
    found.set(id, bias as number);
  }
  return [...found];
}

/** @internal */
export function checkSampling(where: string, options: SamplingOptions, vocabSize: number): Sampling {
  const { temperature = 1, topK = Number.MAX_SAFE_INTEGER, topP = 1, minP = 0, typicalP = 1 } = options;
  const { repetitionPenalty = 1, logitBias } = options;
  if (check.finite(where, 'temperature', temperature) < 0) {
    const problem = `is ${temperature}; expected 0, which is greedy, or more`;
    throw new ArgumentRangeError(where, 'temperature', temperature, problem);
  }
  return {
    temperature,
    topK: check.integer(where, 'topK', topK, 1),
    topP: fraction(where, 'topP', topP),
    minP: fraction(where, 'minP', minP),
    typicalP: fraction(where, 'typicalP', typicalP),
    bias: biasOf(where, logitBias, vocabSize),
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

/** A copy of the logits with the bias added. */
function biased(where: string, logits: Float32Array, bias: Sampling['bias']): Float32Array {
  const changed = logits.slice();
  for (const [id, number] of bias) {
    const logit = logits[id] as number;
    changed[id] = logit + number;
    if (number !== Number.NEGATIVE_INFINITY && Number.isFinite(logit) && !Number.isFinite(changed[id])) {
      const problem = `is ${number}, which takes logits[${id}], ${logit}, beyond float32`;
      throw new ArgumentRangeError(where, `logitBias[${id}]`, number, problem);
    }
  }
  return changed;
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
  throw new ArgumentRangeError(where, 'logits', logits, 'are all -Infinity, bias included, which leaves no token');
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
  const { temperature, topK, topP, minP, typicalP, repetitionPenalty, bias } = sampling;
  const shifted = bias.length === 0 ? given : biased(where, given, bias);
  const logits = repetitionPenalty === 1 ? shifted : penalize(where, shifted, previous, repetitionPenalty);
  const best = largest(where, logits);
  if (temperature === 0) return best;
  const max = logits[best] as number;
  const bits = new Uint32Array(bufferOf(logits), logits.byteOffset, logits.length);
  const least = orderOfTopK(bits, topK);
  const scaled = (id: number) => ((logits[id] as number) - max) / temperature;
  const weights = new Float64Array(logits.length);
  for (let id = 0; id < weights.length; ++id) {
    if (least > 0 && orderOf(bits[id] as number) < least) continue;
    weights[id] = expOfNegative(scaled(id));
  }
  if (topP < 1) keepShare((id) => orderOf(bits[id] as number), weights, topP);
  if (minP > 0) {
    for (let id = 0; id < weights.length; ++id) if ((weights[id] as number) < minP) weights[id] = 0;
  }
  if (typicalP < 1) keepTypical(scaled, weights, typicalP);
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
 * Chooses a token. The filters are applied in the order of Hugging Face's `generate()`: logitBias, repetitionPenalty,
 * temperature, topK, topP, minP, typicalP. The remaining probabilities are normalized; the chosen token is the first, in
 * the order of ids, at which their running sum exceeds the random number. Sums are in float64, without functions whose
 * rounding depends on the engine, so the same logits, options and seed give the same token everywhere.
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
  const size = lengthOf(check.float32(where, 'logits', logits));
  if (size === 0) throw new ArgumentRangeError(where, 'logits', logits, 'has 0 numbers; expected some');
  const sampling = checkSampling(where, given, size);
  check.float32(where, 'logits', logits, size); // iterating logitBias may have run code of the caller's
  const random = source(where, given);
  const previous = check.positions(where, 'previous', given.previous ?? []);
  previous.forEach((id, i) => {
    check.integer(where, `previous[${i}]`, id, 0, size - 1);
  });
  return chooseToken(where, logits, sampling, previous, random);
}
