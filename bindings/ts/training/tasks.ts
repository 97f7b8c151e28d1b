// Tasks that show what an encoding is worth. Each is a seeded source of batches with what is right.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { expOfNegative } from '../sampling/exp.js';
import { Random } from './random.js';
import { aimAtNext, checkTask, type Sequence, type Task, type TaskOptions, taskFields, taskOf } from './task.js';

/** Options of tasks on random ids. */
export interface RandomIdsOptions extends TaskOptions {
  /** Ids are below it. Default 16. */
  vocab?: number;
}

/** Options of `copyTask`. */
export interface CopyOptions extends RandomIdsOptions {
  /** How many places before. Default 1, the previous token. */
  offset?: number;
}

/** Options of `inductionTask`. */
export interface InductionOptions extends RandomIdsOptions {
  /** Default 32. */
  vocab?: number;
  /** Default 48. */
  tokens?: number;
  /** The shortest and the longest period; at most vocab and tokens - 2. Default [8, 24], or less. */
  period?: readonly [number, number];
}

/** Options of `fetchByPositionTask`. */
export interface FetchByPositionOptions extends RandomIdsOptions {
  /** Ids of content. Default 16. */
  vocab?: number;
  /** Largest distance that the last id may ask for. Default tokens - 1. */
  places?: number;
}

/** Options of `fetchByContentTask`. */
export interface FetchByContentOptions extends TaskOptions {
  /** At least tokens - 1: those of a sequence are distinct. Default tokens. */
  keys?: number;
  /** Default 4. */
  values?: number;
}

const randomFields = ['vocab', ...taskFields] as const;

const vocabOf = (where: string, given: RandomIdsOptions, most = 2 ** 20) =>
  check.integer(where, 'vocab', given.vocab ?? 16, 2, most);

function fillRandom({ ids }: Sequence, random: Random, vocab: number): void {
  for (let t = 0; t < ids.length; ++t) ids[t] = random.below(vocab);
}

/**
 * Random ids, each to be named `offset` places later: with offset 1 the previous token. Best loss 0; a model without
 * positions cannot tell one place from another.
 *
 * @example
 * const task = copyTask({ tokens: 8, vocab: 16 });
 * const { ids, targets } = task.batch(4);   // each [4, 8]
 */
export function copyTask(options: CopyOptions = {}): Task {
  const where = 'copyTask';
  const given = check.options(where, 'options', options, [...randomFields, 'offset']);
  const vocab = vocabOf(where, given);
  const { tokens, random } = checkTask(where, given, 2);
  const offset = check.integer(where, 'offset', given.offset ?? 1, 1, tokens - 1);
  return taskOf(where, vocab, tokens, 0, (sequence) => {
    fillRandom(sequence, random, vocab);
    sequence.targets.set(sequence.ids.subarray(0, tokens - offset), offset);
    sequence.weights.fill(1, offset);
  });
}

/**
 * Random ids, to be named in reverse order. Best loss 0, for models that are not causal. Absolute positions are what it needs.
 */
export function reverseTask(options: RandomIdsOptions = {}): Task {
  return rearranged('reverseTask', options, (ids) => ids.reverse());
}

/** Random ids, to be named in rising order. Best loss 0, for models that are not causal. */
export function sortTask(options: RandomIdsOptions = {}): Task {
  return rearranged('sortTask', options, (ids) => ids.sort());
}

function rearranged(where: string, options: RandomIdsOptions, arrange: (ids: Int32Array) => void): Task {
  const given = check.options(where, 'options', options, randomFields);
  const vocab = vocabOf(where, given);
  const { tokens, random } = checkTask(where, given, 1);
  return taskOf(where, vocab, tokens, 0, (sequence) => {
    fillRandom(sequence, random, vocab);
    sequence.targets.set(sequence.ids);
    arrange(sequence.targets);
    sequence.weights.fill(1);
  });
}

/**
 * Sequences that repeat with a random period of distinct ids: from the second period on the next id is the one that followed
 * the same id before. Best loss 0. Two layers learn it (Olsson et al., arXiv:2209.11895), one does not.
 */
export function inductionTask(options: InductionOptions = {}): Task {
  const where = 'inductionTask';
  const given = check.options(where, 'options', options, [...randomFields, 'period']);
  const vocab = vocabOf(where, { vocab: given.vocab ?? 32 });
  const { tokens, random } = checkTask(where, { ...given, tokens: given.tokens ?? 48 }, 3);
  const most = Math.min(vocab, tokens - 2);
  const { period = [Math.min(8, most), Math.min(24, most)] } = given;
  if (!Array.isArray(period) || period.length !== 2) {
    throw new ArgumentTypeError(where, 'period', period, 'two numbers of tokens, the shortest and the longest');
  }
  const shortest = check.integer(where, 'period[0]', period[0], 1, most);
  const longest = check.integer(where, 'period[1]', period[1], shortest, most);
  return taskOf(where, vocab, tokens, 0, (sequence) => {
    const length = shortest + random.below(longest - shortest + 1);
    const cycle = random.distinct(vocab, length);
    for (let t = 0; t < tokens; ++t) sequence.ids[t] = cycle[t % length] as number;
    aimAtNext(sequence, length);
  });
}

const sampled = 16384; // ids at least, of which a language's entropy is the mean

/**
 * A language in which an id depends on those two and four places before it: its logits are 2 A[x(t-2)] + 2 B[x(t-4)], with
 * normally distributed tables A and B of the seed. The first four ids are random, so bestLoss, the entropy of the others, depends
 * on `tokens`, which is from 5 to 16384; it is estimated from sequences of that length, within about 0.02. The tables have
 * vocab^2 numbers: at most 2048 ids.
 */
export function skipLanguageTask(options: RandomIdsOptions = {}): Task {
  const where = 'skipLanguageTask';
  const given = check.options(where, 'options', options, randomFields);
  const vocab = vocabOf(where, given, 2 ** 11);
  const { tokens, seed, random } = checkTask(where, given, 5);
  const ofTables = new Random(seed, 2);
  const table = () => Float64Array.from({ length: vocab * vocab }, () => 2 * ofTables.normal());
  const [near, far] = [table(), table()];
  const shares = new Float64Array(vocab);
  // The shares of each id after these, times their sum, which it gives with the entropy of the next id.
  const weigh = (second: number, fourth: number) => {
    let largest = -Infinity;
    for (let v = 0; v < vocab; ++v) {
      const logit = (near[second * vocab + v] as number) + (far[fourth * vocab + v] as number);
      shares[v] = logit;
      largest = Math.max(largest, logit);
    }
    let [sum, weighted] = [0, 0];
    for (let v = 0; v < vocab; ++v) {
      const logit = (shares[v] as number) - largest;
      const share = expOfNegative(logit);
      shares[v] = share;
      sum += share;
      weighted += share * logit;
    }
    return { sum, entropy: Math.log(sum) - weighted / sum };
  };
  const speak = (ids: Int32Array, from: Random, heed: (entropy: number) => void = () => {}) => {
    for (let t = 0; t < ids.length; ++t) {
      if (t < 4) {
        ids[t] = from.below(vocab);
        continue;
      }
      const { sum, entropy } = weigh(ids[t - 2] as number, ids[t - 4] as number);
      heed(entropy);
      let [left, v] = [from.share() * sum, 0];
      for (; v < vocab - 1 && left >= (shares[v] as number); ++v) left -= shares[v] as number;
      ids[t] = v;
    }
  };
  let [entropy, count] = [0, 0];
  const ofSamples = new Random(seed, 3);
  while (count < sampled) {
    speak(new Int32Array(tokens), ofSamples, (each) => {
      entropy += each;
      ++count;
    });
  }
  return taskOf(where, vocab, tokens, entropy / count, (sequence) => {
    speak(sequence.ids, random);
    aimAtNext(sequence, 3);
  });
}

/**
 * Fetching by position alone. The last id gives a distance n, as `vocab - 1 + n`. The target is the id n places before it.
 * Best loss 0. With `fetchByContentTask` it tells encodings apart that mix position with content, as RoPE
 * does, from those that do not, as PoPE (arXiv:2509.10534).
 */
export function fetchByPositionTask(options: FetchByPositionOptions = {}): Task {
  const where = 'fetchByPositionTask';
  const given = check.options(where, 'options', options, [...randomFields, 'places']);
  const vocab = vocabOf(where, given);
  const { tokens, random } = checkTask(where, given, 2);
  const places = check.integer(where, 'places', given.places ?? tokens - 1, 1, tokens - 1);
  return taskOf(where, vocab + places, tokens, 0, (sequence) => {
    const { ids, targets, weights } = sequence;
    fillRandom(sequence, random, vocab);
    const place = 1 + random.below(places);
    ids[tokens - 1] = vocab - 1 + place;
    targets[tokens - 1] = ids[tokens - 1 - place] as number;
    weights[tokens - 1] = 1;
  });
}

const mostKeys = 2 ** 12;

/**
 * Fetching by content alone: ids are keys with values, `key * values + value`, of distinct keys; the last id asks for a key,
 * `keys * values + key`. The target is the id with that key, at any position. Best loss 0.
 */
export function fetchByContentTask(options: FetchByContentOptions = {}): Task {
  const where = 'fetchByContentTask';
  const given = check.options(where, 'options', options, [...taskFields, 'keys', 'values']);
  const { tokens, random } = checkTask(where, given, 2);
  if (tokens - 1 > mostKeys) {
    throw new ArgumentRangeError(
      where,
      'tokens',
      tokens,
      `is ${tokens}; there are at most ${mostKeys} keys and the question`,
    );
  }
  const keys = check.integer(where, 'keys', given.keys ?? Math.min(tokens, mostKeys), tokens - 1, mostKeys);
  const values = check.integer(where, 'values', given.values ?? 4, 1, 2 ** 8);
  if (keys * values === 1) {
    throw new ArgumentRangeError(where, 'values', values, 'is 1, as keys is; there is nothing to tell apart');
  }
  return taskOf(where, keys * (values + 1), tokens, 0, ({ ids, targets, weights }) => {
    const chosen = random.distinct(keys, tokens - 1);
    for (const [t, key] of chosen.entries()) ids[t] = key * values + random.below(values);
    const asked = random.below(tokens - 1);
    ids[tokens - 1] = keys * values + (chosen[asked] as number);
    targets[tokens - 1] = ids[asked] as number;
    weights[tokens - 1] = 1;
  });
}
