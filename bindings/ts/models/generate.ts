// Generates tokens: reads the prompt in chunks, then chooses a token, runs it, and chooses the next.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, StateError } from '../runtime/errors.js';
import { EventLoop } from '../runtime/event-loop.js';
import type { Heap } from '../runtime/heap.js';
import type { NdArray } from '../runtime/tensor.js';
import { readKeys, readOptions } from '../safetensors/file.js';
import { randomAt } from '../sampling/random.js';
import {
  checkSampling,
  checkSeed,
  chooseToken,
  logProbability,
  type Sampling,
  type SamplingOptions,
  samplingFields,
} from '../sampling/sampling.js';
import { checkModelCache, largestChunk, type ModelCacheOptions, type ModelKvCache } from './cache.js';
import { checkWithin, type Ids, type IdsInput, readIds } from './ids.js';
import { checkLength, longer } from './positions.js';

/** Progress of reading a prompt, in tokens. */
export interface GenerateProgress {
  /** Tokens read so far. */
  readonly loaded: number;
  /** Tokens of the prompt. */
  readonly total: number;
}

/** Options of `model.generate`. */
export interface GenerateOptions extends SamplingOptions {
  /** Maximum number of tokens. Default 256, or less if the cache or the frequencies allow only fewer. */
  maxTokens?: number;
  /** Ends before one of these tokens, such as `eos_token_id` of a config.json. Default: none. */
  stop?: number | readonly number[];
  /**
   * An integer from 0 to 2^53 - 1. The token at position p is chosen by number p of its sequence, so that an
   * interrupted text continues with the same tokens. Default: a random seed.
   */
  seed?: number;
  /** Whether to return each token's `logprob`. Default false. */
  logprobs?: boolean;
  /** Ids that have occurred before those of this call, for repetitionPenalty. Default: none. */
  previous?: check.IntegersInput;
  /** Holds the earlier tokens; ids are then only the new ones. Afterwards it holds all tokens. */
  cache?: ModelKvCache;
  /** Number of prompt tokens read at once; other work runs in between. Does not change the tokens. Default 64. */
  chunk?: number;
  /** Ends the work with the signal's reason. */
  signal?: AbortSignal;
  /** Called after every piece of the prompt. An error that it throws ends the work. */
  onProgress?: (progress: GenerateProgress) => void;
}

/** A generated token. */
export interface GeneratedToken {
  /** Its id, from 0 to vocabSize - 1. */
  readonly token: number;
  /** The number of tokens before it. */
  readonly position: number;
  /** With `logprobs`: the natural logarithm of its probability before any filter, at temperature 1. */
  readonly logprob?: number;
}

const where = 'model.generate';
const own = ['maxTokens', 'stop', 'seed', 'logprobs', 'previous', 'cache', 'chunk'] as const;
const defaultTokens = 256;
const defaultPiece = 64;

/** The part of a decoder that is needed here. */
interface Stepper {
  readonly heap: Heap;
  readonly config: { readonly vocabSize: number };
  readonly hasLogits: boolean;
  readonly maxLength: number;
  readonly disposed: boolean;
  kvCache(options: ModelCacheOptions): ModelKvCache;
  pass(
    where: string,
    ids: IdsInput,
    options: { cache: ModelKvCache; chunk?: number; logits?: 'last' | 'none' },
  ): { readonly logits?: NdArray };
}

/** Checked arguments. */
interface Work {
  readonly model: Stepper;
  readonly ids: Float64Array;
  readonly sampling: Sampling;
  readonly maxTokens: number;
  readonly stop: ReadonlySet<number>;
  readonly seed: number;
  readonly logprobs: boolean;
  /** Ids for repetitionPenalty. */
  readonly seen: number[];
  readonly cache: ModelKvCache | undefined;
  readonly chunk: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: GenerateProgress) => void) | undefined;
}

function idList(name: string, value: unknown, vocabSize: number): Float64Array {
  const ids = check.positions(where, name, value);
  checkWithin(where, name, ids, vocabSize, 'the vocabulary');
  return ids;
}

function checkTokens(value: unknown, model: Stepper, cache: ModelKvCache | undefined, ids: Ids): number {
  const end = (cache?.length ?? 0) + ids.tokens;
  const room = (cache?.capacity ?? 2 ** 30) - end;
  if (room < 0) {
    const problem = `has ${ids.tokens} tokens; the cache has room for ${room + ids.tokens} more`;
    throw new ArgumentRangeError(where, 'ids', ids.tokens, problem);
  }
  checkLength(where, model, 'ids', ids.values, end);
  // The last token is run only for a caller's cache.
  const most = model.maxLength - end + (cache === undefined ? 1 : 0);
  if (value === undefined) return Math.min(defaultTokens, room, most);
  const tokens = check.integer(where, 'maxTokens', value, 0);
  if (tokens > room) {
    const problem = `is ${tokens}; behind ids the cache has room for ${room} tokens`;
    throw new ArgumentRangeError(where, 'maxTokens', value, problem);
  }
  if (tokens > most) {
    const problem = `is ${tokens}; behind ids the frequencies are for ${most} tokens, ${longer}`;
    throw new ArgumentRangeError(where, 'maxTokens', value, problem);
  }
  return tokens;
}

function checkWork(model: Stepper, input: unknown, options: GenerateOptions): Work {
  const given = check.options(where, 'options', options, [...samplingFields, ...own, ...readKeys]);
  const { vocabSize } = model.config;
  const ids = readIds(where, input, vocabSize);
  if (ids.batch !== 1) {
    throw new ArgumentRangeError(where, 'ids', input, `have ${ids.batch} rows; tokens are generated for one text`);
  }
  if (!model.hasLogits) {
    throw new ArgumentRangeError(where, 'ids', input, 'lead to no token: the checkpoint has no head that gives logits');
  }
  const { signal, onProgress } = readOptions(where, given as object);
  const cache = checkModelCache(where, model.heap, given.cache);
  if (cache !== undefined && cache.batch !== 1) {
    throw new ArgumentRangeError(where, 'cache', cache, `has batch ${cache.batch}; tokens are generated for one text`);
  }
  const stops = typeof given.stop === 'number' ? [given.stop] : (given.stop ?? []);
  const seed = given.seed === undefined ? Math.floor(Math.random() * 2 ** 53) : checkSeed(where, given.seed);
  const largest = largestChunk(cache);
  return {
    model,
    ids: ids.values,
    sampling: checkSampling(where, given),
    maxTokens: checkTokens(given.maxTokens, model, cache, ids),
    stop: new Set(idList('stop', stops, vocabSize)),
    seed,
    logprobs: check.boolean(where, 'logprobs', given.logprobs ?? false),
    seen: [...idList('previous', given.previous ?? [], vocabSize), ...ids.values],
    cache,
    chunk: check.integer(where, 'chunk', given.chunk ?? Math.min(defaultPiece, largest), 1, largest),
    signal,
    onProgress: onProgress as Work['onProgress'],
  };
}

// Caches into which a prompt is being read. That takes many turns of the event loop; two prompts would mix.
const reading = new WeakSet<ModelKvCache>();

// Reads the prompt; gives the logits after it, or undefined if no token is wanted.
async function readPrompt(work: Work, cache: ModelKvCache, loop: EventLoop): Promise<Float32Array | undefined> {
  const { model, ids, chunk, maxTokens, signal, onProgress } = work;
  if (reading.has(cache)) throw new StateError(`${where}: another generate is reading its ids into this cache`);
  const before = cache.length;
  reading.add(cache);
  try {
    for (let first = 0; ; first += chunk) {
      signal?.throwIfAborted();
      unchanged(cache, before + first);
      const end = Math.min(ids.length, first + chunk);
      const last = end === ids.length;
      const wanted = last && maxTokens > 0 ? 'last' : 'none';
      const { logits } = model.pass(where, ids.subarray(first, end), { cache, chunk, logits: wanted });
      onProgress?.({ loaded: end, total: ids.length });
      await loop.pause();
      if (last) return logits?.data;
    }
  } catch (error) {
    if (!cache.disposed) cache.retreat(before);
    throw error;
  } finally {
    reading.delete(cache);
  }
}

function unchanged(cache: ModelKvCache, length: number): void {
  if (cache.length === length) return;
  throw new StateError(`${where}: the cache has ${cache.length} tokens; ${length} were read, so others changed it`);
}

async function* tokensOf(
  work: Work,
  cache: ModelKvCache,
  loop: EventLoop,
): AsyncGenerator<GeneratedToken, void, undefined> {
  const { model, sampling, seed, stop, seen, signal } = work;
  let logits = await readPrompt(work, cache, loop);
  let position = cache.length;
  let given: number | undefined; // the latest token, which is not in the cache yet
  try {
    for (let count = 0; count < work.maxTokens; ++count) {
      signal?.throwIfAborted();
      if (given !== undefined) {
        unchanged(cache, position);
        logits = model.pass(where, [given], { cache }).logits?.data;
        given = undefined;
        position += 1;
      }
      await loop.pause();
      signal?.throwIfAborted();
      const from = logits as Float32Array;
      const index = position;
      const token = chooseToken(where, from, sampling, seen, () => randomAt(seed, index));
      if (stop.has(token)) return;
      seen.push(token);
      given = token;
      yield { token, position, ...(work.logprobs && { logprob: logProbability(from, token) }) };
    }
  } finally {
    // A caller's cache gets the last token too, so that the next call needs only new ones.
    const kept = cache === work.cache && !cache.disposed && !model.disposed && cache.length === position;
    if (given !== undefined && kept) model.pass(where, [given], { cache, logits: 'none' });
  }
}

/** @internal */
export function generate(
  model: Stepper,
  ids: IdsInput,
  options: GenerateOptions,
): AsyncGenerator<GeneratedToken, void, undefined> {
  const work = checkWork(model, ids, options);
  return (async function* () {
    const cache = work.cache ?? model.kvCache({ chunk: work.chunk });
    try {
      yield* tokensOf(work, cache, new EventLoop());
    } finally {
      if (cache !== work.cache) cache.dispose();
    }
  })();
}
