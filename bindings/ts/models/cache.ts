// The KV caches of all layers of a decoder as one. Layers with a sliding window keep at most their window and a chunk.

import type { LayerCaches } from '../core.mjs';
import { createKvCache, type KvCache } from '../kv-cache/kv-cache.js';
import { type CacheRope, type CacheStorage, cacheStorages } from '../kv-cache/options.js';
import { restoreKvCache } from '../kv-cache/restore.js';
import { checkLayerCache } from '../layers/cache.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, StateError } from '../runtime/errors.js';
import { destroyer, Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import { bytesOf, isDetached, type OwnBytes } from '../runtime/typed-arrays.js';
import type { CachedLayer } from './stack.js';

/** Options of a model's `kvCache`. */
export interface ModelCacheOptions {
  /** Batch size B. Default 1. */
  batch?: number;
  /** Maximum number of tokens; more are refused. Default: none, the cache grows. */
  capacity?: number;
  /**
   * Maximum number of tokens that a pass appends at once. Layers with a sliding window keep this many tokens besides
   * their window. Default 512.
   */
  chunk?: number;
  /**
   * The format in which keys and values are stored; see `rw.kvCache`. `q8_0` needs layers whose headDim is a multiple of 32.
   * Default `float32`.
   */
  storage?: CacheStorage;
  /** How keys with a rotary encoding are kept. Default `rotated`. */
  keys?: NonNullable<CacheRope['keys']>;
}

const where = 'model.kvCache';
/** @internal */
export const defaultChunk = 512;
const mostAtOnce = 2 ** 20;
const mostTokens = 2 ** 30;

/** Throws where a cache of these layers cannot have such a storage. @internal */
export function checkStorage(where: string, storage: unknown, layers: readonly Pick<CachedLayer, 'dims'>[]): void {
  check.choice(where, 'storage', storage, cacheStorages);
  for (const { dims } of layers) {
    const { headDim, valueDim } = dims;
    if (storage !== 'q8_0' || (headDim % 32 === 0 && valueDim % 32 === 0)) continue;
    const problem = `is 'q8_0', for multiples of 32; headDim is ${headDim}, valueDim ${valueDim}`;
    throw new ArgumentRangeError(where, 'storage', storage, problem);
  }
}

/** @internal */
export function createModelCache(heap: Heap, layers: readonly CachedLayer[], options: ModelCacheOptions): ModelKvCache {
  const given = check.options(where, 'options', options, ['batch', 'capacity', 'chunk', 'storage', 'keys']);
  const batch = check.integer(where, 'batch', given.batch ?? 1, 1, 2 ** 20);
  const chunk = check.integer(where, 'chunk', given.chunk ?? defaultChunk, 1, mostAtOnce);
  const capacity =
    given.capacity === undefined ? undefined : check.integer(where, 'capacity', given.capacity, 1, mostTokens);
  const { storage = 'float32', keys = 'rotated' } = given;
  checkStorage(where, storage, layers);
  check.choice(where, 'keys', keys, { rotated: 0, unrotated: 1 });
  const caches: KvCache[] = [];
  try {
    for (const { dims, scores, position } of layers) {
      const { kvHeads, headDim, valueDim } = dims;
      const { left } = scores.visibility;
      const room = left < 0 ? undefined : left + chunk;
      // With a capacity of at most window and chunk, the cache keeps all tokens and the layer applies the window.
      const slides = room !== undefined && (capacity === undefined || room < capacity);
      const own = {
        batch,
        kvHeads,
        headDim,
        valueDim,
        storage,
        ...(slides && { window: { size: left + 1 } }),
        // Without a capacity, a windowed cache grows too: a window may be as large as Phi-3's 262144.
        ...(capacity !== undefined && { capacity: slides ? room : capacity }),
        ...(position.rope && { rope: { plan: position.rope, keys } }),
      };
      const cache = createKvCache(heap, own, where);
      caches.push(cache.adopted());
    }
    return new ModelKvCache(heap, caches, { capacity, chunk });
  } catch (error) {
    for (const cache of caches) cache.dispose();
    throw error;
  }
}

// The caches in the form that a pass of the core needs.
function listOf(heap: Heap, caches: readonly KvCache[]): LayerCaches {
  const list = heap.construct(where, (core) => new core.LayerCaches());
  try {
    heap.run(where, () => list.create(caches.length));
    for (const [i, cache] of caches.entries()) list.set(i, cache.use(where).core);
    return list;
  } catch (error) {
    heap.destroy(list);
    throw error;
  }
}

/**
 * The keys and values of the tokens that a decoder has read, made by `model.kvCache()`: a KV cache for each layer.
 *
 * @example
 * using cache = model.kvCache({ capacity: 2048 });
 * model.forward(prompt, { cache, logits: 'none' });
 * const { logits } = model.forward([next], { cache });
 * cache.truncate(prompt.length);   // forget the tokens after the prompt
 */
export class ModelKvCache extends Handle {
  /** Maximum number of tokens that a pass appends at once. */
  readonly chunk: number;
  /** Maximum number of tokens; undefined if the cache grows. */
  readonly capacity: number | undefined;
  /**
   * How many tokens are those of all rows, where a generation ended some rows before others.
   * @internal
   */
  evenLength = Number.POSITIVE_INFINITY;
  /**
   * How often its tokens were changed.
   * @internal
   */
  changes = 0;
  readonly #layers: readonly KvCache[];
  readonly #list: LayerCaches;
  // The layers for which the caches were last checked.
  #fitting: readonly CachedLayer[] | undefined;
  #broken = false;

  /** @internal */
  constructor(heap: Heap, layers: readonly KvCache[], made: { capacity: number | undefined; chunk: number }) {
    const list = listOf(heap, layers);
    super(heap, destroyer(heap, list, ...layers));
    this.#layers = layers;
    this.#list = list;
    this.chunk = made.chunk;
    this.capacity = made.capacity;
  }

  /** Number of tokens read so far, including those that have left windows. */
  get length(): number {
    this.alive('modelKvCache.length');
    return this.#layers[0]?.nextPosition ?? 0;
  }

  /** Batch size B. */
  get batch(): number {
    return this.#layers[0]?.batch ?? 1;
  }

  /** Memory of all its layers, in bytes. */
  get bytes(): number {
    this.alive('modelKvCache.bytes');
    return this.#layers.reduce((sum, cache) => sum + cache.bytes, 0);
  }

  /**
   * The cache of each layer, for reading only: where one alone gets or loses its last tokens, passes are refused
   * until reset().
   */
  get layers(): readonly KvCache[] {
    this.alive('modelKvCache.layers');
    return this.#layers;
  }

  /**
   * Keeps the first `length` tokens; 0 is `reset()`.
   *
   * @throws ArgumentRangeError if keys visible to the next token have left a window; nothing is changed then.
   */
  truncate(length: number): this {
    const at = 'modelKvCache.truncate';
    this.#usable(at);
    check.integer(at, 'length', length, 0, this.length);
    const gone = this.length - length;
    if (length === 0) this.reset();
    else if (gone > 0) this.#cut(at, length, gone);
    if (length <= this.evenLength) this.evenLength = Number.POSITIVE_INFINITY;
    return this;
  }

  #cut(at: string, length: number, gone: number): void {
    if (!this.#layers.every((cache) => mayLose(cache, gone))) {
      const problem = `is ${length}; keys that the next token would see have left a window`;
      throw new ArgumentRangeError(at, 'length', length, problem);
    }
    for (const cache of this.#layers) cache.truncate(cache.length - gone);
    this.changes += 1;
  }

  /** Forgets all tokens. The memory stays. */
  reset(): this {
    this.alive('modelKvCache.reset');
    for (const cache of this.#layers) cache.reset();
    this.changes += 1;
    this.#broken = false;
    this.evenLength = Number.POSITIVE_INFINITY;
    return this;
  }

  /** The whole cache as bytes for `model.restoreKvCache()`, with a checksum for each layer. */
  save(): OwnBytes {
    this.#usable('modelKvCache.save');
    const saved = this.#layers.map((cache) => cache.save());
    const bytes = new Uint8Array(saved.reduce((sum, each) => sum + 8 + each.byteLength, headBytes));
    const view = new DataView(bytes.buffer);
    [magic, version, saved.length, this.chunk].forEach((value, i) => {
      view.setUint32(4 * i, value, true);
    });
    view.setFloat64(16, this.capacity ?? -1, true);
    view.setUint32(24, this.evenLength, true); // 0 for Infinity
    view.setUint32(checkedBytes, checksum(bytes.subarray(0, checkedBytes)), true);
    let at = headBytes;
    for (const each of saved) {
      view.setFloat64(at, each.byteLength, true);
      bytes.set(new Uint8Array(each), at + 8);
      at += 8 + each.byteLength;
    }
    return bytes;
  }

  /**
   * Runs a pass that appends tokens to every layer. If it throws, they are removed from the layers that have them.
   * @internal
   */
  change<T>(at: string, layers: readonly CachedLayer[], work: (caches: LayerCaches) => T): T {
    this.#enter(at, layers);
    const before = this.length;
    try {
      const result = work(this.#list);
      this.changes += 1;
      return result;
    } catch (error) {
      if (!this.disposed) this.retreat(before);
      throw error;
    }
  }

  #enter(at: string, layers: readonly CachedLayer[]): void {
    this.#usable(at);
    if (this.#fitting !== layers) {
      for (const [i, layer] of layers.entries()) checkLayerCache(this.heap, at, this.#layers[i], layer, this.batch);
      this.#fitting = layers;
    }
    for (const [i, { position }] of layers.entries()) this.#layers[i]?.enter(at, position.rope);
  }

  /**
   * Removes the tokens after `length` from the layers that have them. If a window has moved on, the cache is refused
   * until it is reset.
   * @internal
   */
  retreat(length: number): void {
    try {
      for (const cache of this.#layers) {
        const gone = cache.nextPosition - length;
        if (gone <= 0) continue;
        if (length === 0) cache.reset();
        else if (mayLose(cache, gone)) cache.truncate(cache.length - gone);
        else this.#broken = true;
      }
    } catch {
      this.#broken = true; // a layer's cache was disposed of, or the instance is lost
    }
  }

  #usable(at: string): void {
    this.alive(at);
    // The core reads all of them for `agree`.
    for (const [i, cache] of this.#layers.entries()) cache.use(`${at}: layer ${i} of the cache`);
    if (!this.#broken && this.#list.agree) return;
    const why = this.#broken
      ? 'a pass ended early, and keys have left a window'
      : 'a layer of the cache was changed alone';
    throw new StateError(`${at}: ${why}; reset() makes it empty`);
  }
}

/** Maximum number of tokens that a pass may append. @internal */
export function largestChunk(cache: ModelKvCache | undefined): number {
  return cache?.chunk ?? mostAtOnce;
}

/** Checks an optional cache of the caller: its type, state and heap. @internal */
export function checkModelCache(at: string, heap: Heap, cache: unknown): ModelKvCache | undefined {
  if (cache === undefined) return undefined;
  if (!(cache instanceof ModelKvCache)) {
    throw new ArgumentTypeError(at, 'cache', cache, "what this model's kvCache() gave");
  }
  cache.usableIn(heap, at, 'cache');
  if (cache.length <= cache.evenLength) return cache;
  const problem = `rows of its cache ended at different tokens; truncate(${cache.evenLength}) or reset() it first`;
  throw new StateError(`${at}: ${problem}`);
}

// Whether a cache may drop its last tokens: no key visible to the next one has left its window, and at least one key
// stays, since an empty cache treats the next token as the first.
function mayLose(cache: KvCache, tokens: number): boolean {
  return cache.length > tokens && cache.mayTruncate(cache.length - tokens);
}

const magic = 0x434d5752; // RWMC
const version = 1;
// magic, version, layers, chunk: 4 bytes each; capacity: 8; evenLength or 0, the checksum of these: 4 each.
const checkedBytes = 28;
const headBytes = 32;

// FNV-1a with 32 bits (http://www.isthe.com/chongo/tech/comp/fnv/): detects any change of a single byte.
function checksum(bytes: Uint8Array): number {
  let sum = 0x811c9dc5;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x01000193);
  return sum >>> 0;
}

/** @internal */
export function restoreModelCache(heap: Heap, layers: readonly CachedLayer[], value: unknown): ModelKvCache {
  const at = 'model.restoreKvCache';
  if (!check.isTypedArray(value, 'Uint8Array') || isDetached(value)) {
    throw new ArgumentTypeError(at, 'bytes', value, 'a Uint8Array that save() gave');
  }
  const refuse = (problem: string): never => {
    throw new ArgumentRangeError(at, 'bytes', value, problem);
  };
  const bytes = bytesOf(value).slice(); // a copy is aligned and cannot change
  const view = new DataView(bytes.buffer);
  if (bytes.length < headBytes || view.getUint32(0, true) !== magic)
    refuse('are not what save() of a model cache gave');
  if (view.getUint32(4, true) !== version) refuse(`are of version ${view.getUint32(4, true)}; expected ${version}`);
  if (view.getUint32(checkedBytes, true) !== checksum(bytes.subarray(0, checkedBytes))) refuse('are damaged');
  const count = view.getUint32(8, true);
  if (count !== layers.length) refuse(`are of ${count} layers; the model has ${layers.length}`);
  const chunk = view.getUint32(12, true);
  const capacity = view.getFloat64(16, true);
  const bounded = capacity >= 1 && capacity <= mostTokens && Number.isInteger(capacity);
  if (chunk < 1 || chunk > mostAtOnce || !(bounded || capacity === -1)) refuse('are damaged');
  const caches: KvCache[] = [];
  try {
    let from = headBytes;
    for (const { position } of layers) {
      const size = from + 8 <= bytes.length ? view.getFloat64(from, true) : -1;
      if (!(Number.isInteger(size) && size >= 0 && from + 8 + size <= bytes.length)) refuse('end too early');
      const saved = bytes.slice(from + 8, from + 8 + size);
      caches.push(restoredLayer(heap, saved, position, refuse));
      from += 8 + size;
    }
    if (from !== bytes.length) refuse('go on behind the last layer');
    checkLayers(layers, caches, refuse);
    if (bounded && caches.some((cache) => cache.nextPosition > capacity)) refuse('are damaged');
    const cache = new ModelKvCache(heap, caches, { capacity: capacity < 0 ? undefined : capacity, chunk });
    cache.evenLength = view.getUint32(24, true) || Number.POSITIVE_INFINITY;
    return cache;
  } catch (error) {
    for (const cache of caches) cache.dispose();
    throw error;
  }
}

function restoredLayer(
  heap: Heap,
  saved: Uint8Array,
  { rope }: CachedLayer['position'],
  refuse: (problem: string) => never,
): KvCache {
  try {
    return restoreKvCache(heap, saved, rope ? { plan: rope } : {}).adopted();
  } catch (error) {
    if (error instanceof ArgumentRangeError) refuse(`do not fit: ${error.message}`);
    throw error;
  }
}

function checkLayers(
  layers: readonly CachedLayer[],
  caches: readonly KvCache[],
  refuse: (problem: string) => never,
): void {
  const [first] = caches;
  for (const [i, cache] of caches.entries()) {
    const { dims, scores } = layers[i] as CachedLayer;
    for (const size of ['kvHeads', 'headDim', 'valueDim'] as const) {
      if (cache[size] !== dims[size]) refuse(`have ${size} ${cache[size]} in layer ${i}; the model has ${dims[size]}`);
    }
    const size = cache.use('model.restoreKvCache').form.windowSize;
    const { left } = scores.visibility;
    if (size > 0 && size !== left + 1) {
      refuse(`have a window of ${size} in layer ${i}; the model has ${left < 0 ? 'none' : left + 1}`);
    }
    if (cache.batch !== first?.batch || cache.nextPosition !== first.nextPosition) {
      refuse('are of layers that have read different tokens');
    }
  }
}
