// Generates tokens: reads the prompt in chunks, then chooses a token for each row, runs them, and chooses the next.
import type { CacheStorage } from '../kv-cache/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, StateError } from '../runtime/errors.js';
import { EventLoop } from '../runtime/event-loop.js';
import type { Heap } from '../runtime/heap.js';
import type { NdArray } from '../runtime/tensor.js';
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
import { unlessAborted } from '../sources/source.js';
import { readKeys, readOptions } from '../sources/tensor-file.js';
import { checkModelCache, largestChunk, type ModelCacheOptions, type ModelKvCache } from './cache.js';
import { checkWithin, type Ids, type IdsInput, readIds, slice } from './ids.js';
import { checkLength, positionsFor } from './positions.js';

/** Progress of reading a prompt, in tokens. */
export interface GenerateProgress {
  /** Tokens read so far. */
  readonly loaded: number;
  /** Tokens of the prompt. */
  readonly total: number;
}

/** Options of `model.generate`. */
export interface GenerateOptions extends SamplingOptions {
  /** Maximum number of tokens of a row. Default 256, or less if the cache or the frequencies allow only fewer. */
  maxTokens?: number;
  /** Ends a row before one of these tokens, such as `eos_token_id` of a config.json. Default: none. */
  stop?: number | readonly number[];
  /**
   * Called for every token with those that were generated in its row so far; ends the row after that token where it
   * gives true, and not where it gives false; ArgumentTypeError for anything else, as from a function of another thread.
   * With `firstJson` it ends at a whole JSON value. Default: none.
   */
  stopAfter?: (tokens: readonly number[], row: number) => boolean | Promise<boolean>;
  /**
   * An integer from 0 to 2^53 - 1. The token at position p is chosen by number p of its sequence, so that an
   * interrupted text continues with the same tokens; row r has the seed `seed + r`, modulo 2^53. Default: a random seed.
   */
  seed?: number;
  /** Whether to return each token's `logprob`. Default false. */
  logprobs?: boolean;
  /** Ids that have occurred before those of this call, for repetitionPenalty. Default: none. */
  previous?: check.IntegersInput;
  /** Holds the earlier tokens; ids are then only the new ones. Afterwards it holds all tokens. */
  cache?: ModelKvCache;
  /** Where no `cache` is given: the format in which keys and values are stored; see `model.kvCache`. Default `float32`. */
  storage?: CacheStorage;
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
  /** The row of the ids that it continues; 0 for ids [T]. */
  readonly row: number;
  /** The number of tokens before it. */
  readonly position: number;
  /** With `logprobs`: the natural logarithm of its probability before any filter, at temperature 1. */
  readonly logprob?: number;
}

const where = 'model.generate';
const own = ['maxTokens', 'stop', 'stopAfter', 'seed', 'logprobs', 'previous', 'storage'] as const;
/** Those without a prompt that is read in pieces. @internal */
export const generateFields = [...samplingFields, ...own, ...readKeys] as const;
const defaultTokens = 256;
const defaultPiece = 64;

/** The part of a decoder that is needed here. @internal */
export interface Stepper {
  readonly heap: Heap;
  readonly config: { readonly vocabSize: number };
  readonly hasLogits: boolean;
  readonly maxLength: number;
  readonly disposed: boolean;
  kvCache(options: ModelCacheOptions): ModelKvCache;
  checkStorage(where: string, storage: unknown): void;
  pass(
    where: string,
    ids: IdsInput,
    options: { cache: ModelKvCache; chunk?: number; logits?: 'last' | 'none' },
  ): { readonly logits?: NdArray };
}

/** Checked arguments. @internal */
export interface Work {
  readonly model: Stepper;
  readonly ids: Ids;
  readonly sampling: Sampling;
  readonly maxTokens: number;
  readonly stop: ReadonlySet<number>;
  readonly stopAfter: GenerateOptions['stopAfter'];
  readonly seed: number;
  readonly logprobs: boolean;
  /** Ids for repetitionPenalty, besides those of a row. */
  readonly previous: Float64Array;
  readonly cache: ModelKvCache | undefined;
  readonly storage: CacheStorage;
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
  const problem =
    tokens > room ? `the cache has room for ${room} behind ids` : tokens > most && positionsFor(`${most} more`);
  if (problem) throw new ArgumentRangeError(where, 'maxTokens', value, `is ${tokens}; ${problem}`);
  return tokens;
}

/** @internal */
export function checkWork(model: Stepper, input: unknown, options: GenerateOptions): Work {
  const given = check.options(where, 'options', options, [...generateFields, 'cache', 'chunk']);
  const { vocabSize } = model.config;
  const ids = readIds(where, input, vocabSize);
  if (!model.hasLogits) {
    throw new ArgumentRangeError(where, 'ids', input, 'lead to no token: the checkpoint has no head');
  }
  const { signal, onProgress } = readOptions(where, given as object);
  const cache = checkModelCache(where, model.heap, given.cache);
  if (cache !== undefined && cache.batch !== ids.batch) {
    throw new ArgumentRangeError(where, 'cache', cache, `has batch ${cache.batch}; ids have ${ids.batch} rows`);
  }
  const { stopAfter, storage = 'float32' } = given;
  model.checkStorage(where, storage);
  if (cache !== undefined && given.storage !== undefined) {
    throw new ArgumentRangeError(where, 'storage', storage, 'is an option of the cache, which is given');
  }
  check.functionIfAny(where, 'stopAfter', stopAfter);
  const stops = typeof given.stop === 'number' ? [given.stop] : (given.stop ?? []);
  const seed = given.seed === undefined ? Math.floor(Math.random() * 2 ** 53) : checkSeed(where, given.seed);
  const largest = largestChunk(cache);
  return {
    model,
    ids,
    sampling: checkSampling(where, given, vocabSize),
    maxTokens: checkTokens(given.maxTokens, model, cache, ids),
    stop: new Set(idList('stop', stops, vocabSize)),
    stopAfter,
    seed,
    logprobs: check.boolean(where, 'logprobs', given.logprobs ?? false),
    previous: idList('previous', given.previous ?? [], vocabSize),
    cache,
    storage,
    chunk: check.integer(where, 'chunk', given.chunk ?? Math.min(defaultPiece, largest), 1, largest),
    signal,
    onProgress: onProgress as Work['onProgress'],
  };
}

// Caches into which a prompt is being read. That takes many turns of the event loop; two prompts would mix.
const reading = new WeakSet<ModelKvCache>();

// Reads the prompt; gives the logits [B, V] after it, or undefined if no token is wanted, and the cache's changes by then.
async function readPrompt(work: Work, cache: ModelKvCache, loop: EventLoop) {
  const { model, ids, chunk, maxTokens, signal, onProgress } = work;
  if (reading.has(cache)) throw new StateError(`${where}: another generate is reading its ids into this cache`);
  const before = cache.length;
  let { changes } = cache;
  reading.add(cache);
  try {
    for (let first = 0; ; first += chunk) {
      signal?.throwIfAborted();
      unchanged(cache, changes);
      const end = Math.min(ids.tokens, first + chunk);
      const last = end === ids.tokens;
      const wanted = last && maxTokens > 0 ? 'last' : 'none';
      const { values: data, shape } = slice(ids, first, end);
      const { logits } = model.pass(where, { data, shape }, { cache, chunk, logits: wanted });
      ({ changes } = cache);
      onProgress?.({ loaded: end, total: ids.tokens });
      if (last) return [logits?.data, changes] as const; // others have their turn before the first token
      await loop.pause();
    }
  } catch (error) {
    if (cache.changes === changes) cache.retreat(before); // else it has what others want
    throw error;
  } finally {
    reading.delete(cache);
  }
}

function unchanged(cache: ModelKvCache, changes: number): void {
  if (changes !== cache.changes) throw new StateError(`${where}: others changed its cache`);
}

// Whether the instance is neither disposed of nor lost.
function isOpen(heap: Heap): boolean {
  try {
    return heap.call(Boolean);
  } catch {
    return false;
  }
}

/** A text that is being continued. */
interface Row {
  readonly row: number;
  readonly seed: number;
  /** Ids for repetitionPenalty. */
  readonly seen: number[];
  readonly tokens: number[];
  /** The id at its end; a row that has ended goes on with it, unseen, beside the others. */
  last: number;
  ended: boolean;
}

function rowsOf({ ids, seed, previous }: Work): Row[] {
  return Array.from({ length: ids.batch }, (_, row) => {
    const own = ids.values.subarray(row * ids.tokens, (row + 1) * ids.tokens);
    const seen = [...previous, ...own];
    return {
      row,
      seed: row < 2 ** 53 - seed ? seed + row : row - (2 ** 53 - seed),
      seen,
      tokens: [],
      last: own.at(-1) as number,
      ended: false,
    };
  });
}

// Chooses the row's next token from its logits; undefined where the row ends before it.
function next(work: Work, row: Row, logits: Float32Array, position: number): GeneratedToken | undefined {
  const token = chooseToken(where, logits, work.sampling, row.seen, () => randomAt(row.seed, position));
  if (work.stop.has(token)) {
    row.ended = true;
    return undefined;
  }
  row.seen.push(token);
  row.tokens.push(token);
  row.last = token;
  return { token, row: row.row, position, ...(work.logprobs && { logprob: logProbability(logits, token) }) };
}

async function* tokensOf(
  work: Work,
  cache: ModelKvCache,
  loop: EventLoop,
): AsyncGenerator<GeneratedToken, void, undefined> {
  const { model, ids, signal, stopAfter } = work;
  const { vocabSize } = model.config;
  const rows = rowsOf(work);
  const latest = () => ({ data: rows.map(({ last }) => last), shape: [...ids.shape.slice(0, -1), 1] });
  const first = cache.length + ids.tokens;
  let [logits, changes] = await readPrompt(work, cache, loop);
  let position = first;
  let given = false; // whether tokens were given that are not in the cache yet
  const run = (options?: { logits: 'none' }) => {
    cache.evenLength = Number.POSITIVE_INFINITY; // this goes on with uneven rows
    return model.pass(where, latest(), { cache, ...options });
  };
  // After each step: others may use the cache before the next one.
  const markEven = () => {
    const even = first + Math.min(...rows.map(({ tokens }) => tokens.length));
    if (even < cache.length) cache.evenLength = even;
  };
  try {
    for (let count = 0; count < work.maxTokens && rows.some(({ ended }) => !ended); ++count) {
      signal?.throwIfAborted();
      unchanged(cache, changes);
      if (given) {
        logits = run().logits?.data;
        ({ changes } = cache);
        markEven();
        given = false;
        position += 1;
      }
      await loop.pause();
      signal?.throwIfAborted();
      const all = logits as Float32Array;
      const chosen: { readonly row: Row; readonly token: GeneratedToken }[] = [];
      for (const row of rows) {
        if (row.ended) continue;
        const token = next(work, row, all.subarray(row.row * vocabSize, (row.row + 1) * vocabSize), position);
        if (token !== undefined) chosen.push({ row, token });
      }
      // What a callback throws leaves the cache without this step, of which no token is given then.
      if (stopAfter) {
        for (const { row } of chosen) {
          const ends: unknown = await unlessAborted(stopAfter([...row.tokens], row.row), signal);
          if (typeof ends !== 'boolean') {
            const expected = 'true or false, from a function of this thread';
            throw new ArgumentTypeError(where, 'stopAfter()', ends, expected);
          }
          row.ended = ends;
        }
      }
      // A caller who leaves between two rows of a step finds both in the cache.
      given = chosen.length > 0;
      for (const { token } of chosen) yield token;
    }
  } finally {
    // A caller's cache gets the last tokens too, so that the next call needs only new ones.
    const kept =
      cache === work.cache && !cache.disposed && !model.disposed && isOpen(model.heap) && cache.changes === changes;
    try {
      if (given && kept) run({ logits: 'none' });
    } finally {
      if (kept) markEven();
    }
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
    const { chunk, storage } = work;
    const cache = work.cache ?? model.kvCache({ batch: work.ids.batch, chunk, storage });
    try {
      yield* tokensOf(work, cache, new EventLoop());
    } finally {
      if (cache !== work.cache) cache.dispose();
    }
  })();
}
