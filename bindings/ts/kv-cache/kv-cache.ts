// The KV cache: keys and values of the tokens so far. Positions are integers and stay exact however often keys move; a
// key is turned by the whole difference at once.
import { type AttentionResult, attendFields, type ScoreRequest } from '../attention/attention.js';
import { KvCacheOptions as CacheFields, type CacheForm } from '../calls.js';
import type { KvCache as CoreKvCache, MainModule } from '../core.mjs';
import { CachedKeys, nameOf, WeightType } from '../enums.js';
import type { RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, checkStatus, StateError } from '../runtime/errors.js';
import { destroyer, Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import type { Out, ResultOf } from '../runtime/outputs.js';
import type { NdArray, TensorInput } from '../runtime/tensor.js';
import type { OwnDoubles } from '../runtime/typed-arrays.js';
import { attendOver, type CacheAttentionOptions } from './attend.js';
import {
  type AppendOptions,
  type CacheStorage,
  checkAppended,
  checkCache,
  formOf,
  type KvCacheOptions,
  notRebased,
  type OpenCache,
} from './options.js';

/** A range of tokens of a cache. */
export interface TokenRange {
  /** The first of them, counted from 0. Default 0. */
  first?: number;
  /** How many. Default all from there on. */
  count?: number;
}

/** Options of `merge`. */
export interface MergeOptions extends TokenRange {
  /** The new position of the first of them. Default after the last token of this cache. */
  at?: number;
}

/** @internal */
export const anotherPlan = 'turns keys by another plan than the layer; its kvCache() makes one that fits';

/**
 * Keys and values of one layer's tokens so far, made by `rw.kvCache()`. A token keeps its position when others are dropped.
 * A call that throws leaves the cache as it was.
 *
 * @example
 * using cache = rw.kvCache({ kvHeads: 2, headDim: 64, rope: { plan } });
 * cache.append(promptKeys, promptValues).attend(promptQueries);   // tokens 0 .. n - 1
 * const { out } = cache.append(k, v).attend(q);                   // the next one
 * cache.drop(4, 60).shift(-60, { first: 4 });                     // forget 60 tokens and close the gap
 */
export class KvCache extends Handle {
  /** B. */
  readonly batch: number;
  /** G. */
  readonly kvHeads: number;
  /** D. */
  readonly headDim: number;
  /** Coordinates of a value. */
  readonly valueDim: number;
  /** The format of keys and values. */
  readonly storage: CacheStorage;
  readonly #core: CoreKvCache;
  readonly #form: CacheForm;
  #plan: RopePlan | undefined;
  // Plans that turned keys, with their addresses, by which the core knows them even when they are gone.
  readonly #plans = new Map<RopePlan, number>();

  /** @internal */
  constructor(heap: Heap, core: CoreKvCache, form: CacheForm, plan: RopePlan | undefined, plans: Iterable<RopePlan>) {
    super(heap, destroyer(heap, core));
    this.batch = form.batch;
    this.kvHeads = form.kvHeads;
    this.headDim = form.headDim;
    this.valueDim = form.valueDim;
    this.storage = nameOf(WeightType, form.storage) as CacheStorage;
    this.#core = core;
    this.#form = form;
    this.#plan = plan;
    for (const each of plans) this.#plans.set(each, each.plan.address);
    Object.freeze(this);
  }

  /** Tokens in the cache. */
  get length(): number {
    return this.#living('kvCache.length').length;
  }

  /** Number of tokens that fit without new memory. It rises when a growing cache grows. */
  get capacity(): number {
    return this.#living('kvCache.capacity').capacity;
  }

  /**
   * Bytes of its memory: keys in whole panels of eight tokens, and an eighth more rows where a window fills a fixed capacity,
   * so that tokens need not move at every append.
   */
  get bytes(): number {
    return this.#living('kvCache.bytes').bytes;
  }

  /** The position of the next token: one after the last, or 0. */
  get nextPosition(): number {
    return this.#living('kvCache.nextPosition').nextPosition;
  }

  /** The position of each token, ascending, [length]; for a plan with several axes, each token's number in the sequence. */
  positions(): OwnDoubles {
    const where = 'kvCache.positions';
    const core = this.#living(where);
    return this.heap.doublesOf(where, core.length, (at) => this.heap.call(() => core.positions(at)));
  }

  /** A copy of the keys, [B, G, length, D], rotated to their positions. */
  keys(): NdArray {
    const where = 'kvCache.keys';
    const core = this.#usable(where);
    return this.#copy(where, this.headDim, (at) => checkStatus(core.keys(at), where));
  }

  /** A copy of the values, [B, G, length, valueDim]. */
  values(): NdArray {
    const where = 'kvCache.values';
    const core = this.#living(where);
    return this.#copy(where, this.valueDim, (at) => core.values(at));
  }

  /**
   * Adds tokens after the last one, any number at once. A rotary encoding rotates the keys: give them as they were projected.
   * A window drops the tokens that none of these sees.
   *
   * @param k [B, G, T, D] in the order that `layout` names
   * @param v [B, G, T, valueDim]
   * @throws ArgumentRangeError where a cache that does not grow has no room, and for positions that do not ascend.
   *
   * @example
   * cache.append(k, v);                          // where the last one left off
   * cache.append(k, v, { offset: 4096 });        // after a gap
   * cache.append(k, v, { positions: [t, h, w] }); // a plan with three axes; by default after the farthest position
   */
  append(k: TensorInput, v: TensorInput, options: AppendOptions = {}): this {
    const where = 'kvCache.append';
    const given = check.options(where, 'options', options, ['offset', 'positions', 'layout', 'kvHeads']);
    const inputs = { k: check.read(k), v: check.read(v) };
    const cache = this.#open(where);
    const tokens = checkAppended(this.heap, where, cache, inputs.k, inputs.v, given);
    return this.heap.scope(where, (scratch) => {
      const fields = tokens.address(scratch);
      return this.#change(where, () => cache.core.append(fields));
    });
  }

  /**
   * Attention of queries over all keys of the cache. A rotary encoding rotates the queries as well: give them as projected.
   *
   * @param q [B, H, Tq, D]; G divides H. By default the queries of the last Tq tokens.
   *
   * @example
   * const { out } = cache.attend(q);                                        // causal
   * const biased = cache.attend(q, { position: { encoding: 'alibi' } });    // over true positions
   */
  attend<const S extends ScoreRequest = 'none', X extends TensorInput = TensorInput, O extends Out = undefined>(
    q: X,
    options: CacheAttentionOptions<S, O> = {},
  ): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
    const where = 'kvCache.attend';
    const { changes } = this.heap;
    const given = check.options(where, 'options', options, attendFields);
    const input = check.read(q);
    const cache = this.#open(where);
    this.heap.unchanged(where, 'cache', changes);
    return attendOver(this.heap, where, cache, input, given);
  }

  /** Keeps the first `length` tokens. Refused where keys of their window have left the cache already. */
  truncate(length: number): this {
    const where = 'kvCache.truncate';
    const core = this.#living(where);
    this.#checkPrefix(where, length);
    return this.#change(where, () => core.truncate(length));
  }

  /**
   * Takes `count` tokens out, from `first` on. The others keep their positions; `shift` closes the gap. A window's sink tokens
   * are the first that are left: where one is dropped, the next token becomes one.
   */
  drop(first: number, count: number): this {
    const where = 'kvCache.drop';
    const core = this.#living(where);
    check.integer(where, 'first', first, 0, core.length);
    check.integer(where, 'count', count, 0, core.length - first);
    return this.#change(where, () => core.drop(first, count));
  }

  /**
   * Moves all tokens, or a range, by `by` positions, on every axis. Positions add up as integers: a thousand shifts by 1 are
   * one by 1000, bit for bit.
   *
   * @throws ArgumentRangeError where tokens would meet others or leave ±(2^53 - 1).
   */
  shift(by: number, range: TokenRange = {}): this {
    const where = 'kvCache.shift';
    check.position(where, 'by', by);
    const given = check.options(where, 'range', range, ['first', 'count']);
    const core = this.#usable(where);
    const { first, count } = this.#range(where, given);
    if (count === 0) return this;
    const refuse = (what: string): never => {
      throw new ArgumentRangeError(where, 'by', by, `is ${by}, which moves tokens ${what}`);
    };
    const [start, end] = [core.positionAt(first) + by, core.positionAt(first + count - 1) + by];
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) refuse('beyond +-(2^53 - 1)');
    const meets = first > 0 && start <= core.positionAt(first - 1);
    if (meets || (first + count < core.length && end >= core.positionAt(first + count))) refuse('onto others');
    return this.#change(where, () => core.shift(first, count, by));
  }

  /**
   * Changes the plan of all keys, those of the cache and later ones: LongRoPE's long factors, another length of dynamic NTK.
   * Keys are rotated anew when they are read, and until then need the plan that turned them. The plan before may have been
   * disposed of if no key was turned by it.
   *
   * @throws ArgumentRangeError where the plan turns other coordinates, or keys that are kept unrotated in another pairing:
   *   they stay as they came. Rotated ones are read in the order of the new pairing.
   */
  switchTo(plan: RopePlan): this {
    const where = 'kvCache.switchTo';
    const core = this.#readable(where);
    const own = this.#plan;
    if (own === undefined) throw new ArgumentRangeError(where, 'plan', plan, 'is for a cache made with rope');
    const before: RopePlan = own;
    before.matches(where, plan);
    if (plan.axes !== before.axes) {
      throw new ArgumentRangeError(where, 'plan', plan, `has ${plan.axes} axes; expected ${before.axes}`);
    }
    if (core.length > 0) this.#checkPairing(where, 'plan', plan, plan);
    this.#change(where, () => core.switchTo(plan.plan));
    if (before.disposed) this.#plans.delete(before);
    this.#plan = plan;
    this.#plans.set(plan, plan.plan.address);
    return this;
  }

  /** Forgets all tokens. The plan, the window and the memory stay. */
  reset(): this {
    this.#living('kvCache.reset').reset();
    this.heap.changes += 1;
    return this;
  }

  /** The first `length` tokens as a cache of their own, to branch off. Default all. */
  copyPrefix(length?: number): KvCache {
    const where = 'kvCache.copyPrefix';
    const core = this.#usable(where);
    const kept = length === undefined ? core.length : length;
    this.#checkPrefix(where, kept);
    return made(this.heap, where, this.#plan, this.#plans.keys(), (copy) => core.copyPrefix(kept, copy));
  }

  /**
   * Adds tokens of another cache of the same sizes, `keys` and `storage` after the last one. Their distances stay; their keys are
   * rotated to their new positions when they are read. With a window, keys that have left the other cache's window are
   * missing here as well.
   *
   * @example
   * cache.merge(document).merge(other, { first: 4, at: 1000 });
   */
  merge(other: KvCache, options: MergeOptions = {}): this {
    const where = 'kvCache.merge';
    if (!(other instanceof KvCache)) throw new ArgumentTypeError(where, 'other', other, 'a KvCache');
    const given = check.options(where, 'options', options, ['first', 'count', 'at']);
    const core = this.#usable(where);
    other.usableIn(this.heap, where, 'other');
    const from = other.#usable(where);
    const { first, count } = other.#range(where, given);
    this.#checkKind(where, other);
    const { at } = given;
    if (at !== undefined) {
      check.position(where, 'at', at);
      const problem = this.#form.rebased
        ? notRebased
        : core.length > 0 && at < core.nextPosition
          ? `is ${at}; expected at least ${core.nextPosition}`
          : undefined;
      if (problem !== undefined) throw new ArgumentRangeError(where, 'at', at, problem);
    }
    const room = core.room(at ?? core.nextPosition);
    if (count > room) {
      const problem = `has ${count} tokens; the cache has room for ${room} more, its capacity is ${core.capacity}`;
      throw new ArgumentRangeError(where, 'other', other, problem);
    }
    this.#change(where, () => core.merge(from, first, count, at !== undefined, at ?? 0));
    for (const [plan, address] of other.#plans) if (!plan.disposed) this.#plans.set(plan, address);
    return this;
  }

  /**
   * The whole cache as bytes, with a version and a checksum; the same on every machine. Plans are not saved: give them to
   * `rw.restoreKvCache`.
   */
  save(): ArrayBuffer {
    const where = 'kvCache.save';
    const core = this.#usable(where);
    const floats = core.savedSize() / 4;
    return this.heap.floatsOf(where, floats, (at) => this.heap.call(() => core.save(at))).buffer as ArrayBuffer;
  }

  /**
   * For a pass of a layer: the cache, and the plan in force.
   * @internal
   */
  use(where: string): OpenCache & { readonly plan: RopePlan | undefined } {
    return { ...this.#open(where), plan: this.#plan };
  }

  /**
   * For a pass of a model, which brings tokens to the caches of all layers at once: refuses a cache that cannot take them,
   * and counts the change.
   * @internal
   */
  enter(where: string, plan: RopePlan | undefined): void {
    this.#usable(where);
    if (this.#plan !== plan) throw new ArgumentRangeError(where, 'cache', this, anotherPlan);
    this.heap.changes += 1;
  }

  /** Whether keys leave it. @internal */
  get windowed(): boolean {
    return this.#form.windowSize > 0;
  }

  #change(where: string, call: () => number): this {
    checkStatus(this.heap.call(call), where);
    this.heap.changes += 1;
    return this;
  }

  #living(where: string): CoreKvCache {
    this.alive(where);
    return this.heap.call(() => this.#core);
  }

  // For calls that turn keys or ask a plan.
  #usable(where: string): CoreKvCache {
    const core = this.#readable(where);
    if (this.#plan?.disposed) {
      throw new StateError(`${where}: the plan of this cache was disposed; switchTo() gives it another one`);
    }
    return core;
  }

  #open(where: string): OpenCache {
    return { core: this.#usable(where), form: this.#form, axes: this.#plan?.axes ?? 1 };
  }

  // For calls that need only the plans that turned keys.
  #readable(where: string): CoreKvCache {
    const core = this.#living(where);
    for (const [plan, address] of this.#plans) {
      if (!plan.disposed) continue;
      if (core.holdsKeysOf(address)) {
        throw new StateError(`${where}: a plan that turned keys of this cache was disposed`);
      }
      if (plan !== this.#plan) this.#plans.delete(plan);
    }
    return core;
  }

  #copy(where: string, dim: number, write: (at: number) => void): NdArray {
    const shape = [this.batch, this.kvHeads, this.#core.length, dim];
    const data = this.heap.floatsOf(where, check.sizeOf(shape), (at) => this.heap.call(() => write(at)));
    return { data, shape };
  }

  #range(where: string, range: TokenRange): Required<TokenRange> {
    const { length } = this.#core;
    const first = check.integer(where, 'first', range.first ?? 0, 0, length);
    return { first, count: check.integer(where, 'count', range.count ?? length - first, 0, length - first) };
  }

  /**
   * Whether `truncate` takes this length.
   * @internal
   */
  mayTruncate(length: number): boolean {
    return this.#core.mayEndAt(length);
  }

  #checkPrefix(where: string, length: number): void {
    check.integer(where, 'length', length, 0, this.#core.length);
    if (!this.mayTruncate(length)) {
      const problem = `is ${length}; the window of the next token reaches keys that have left it`;
      throw new ArgumentRangeError(where, 'length', length, problem);
    }
  }

  #checkKind(where: string, other: KvCache): void {
    const refuse = (what: string): never => {
      throw new ArgumentRangeError(where, 'other', other, what);
    };
    if (other === this) refuse('is this cache; copyPrefix() makes another one');
    for (const size of ['batch', 'kvHeads', 'headDim', 'valueDim'] as const) {
      if (other[size] !== this[size]) refuse(`has ${size} ${other[size]}; expected ${this[size]}`);
    }
    if (other.#form.keys !== this.#form.keys) refuse('keeps its keys another way');
    if (other.storage !== this.storage) refuse(`stores numbers as ${other.storage}; expected ${this.storage}`);
    if (this.#plan === undefined) return;
    const plan: RopePlan = this.#plan;
    if (plan.axes > 1) refuse('has positions with several axes, which cannot follow others');
    plan.matches(where, other.#plan);
    this.#checkPairing(where, 'other', other, other.#plan);
  }

  // Keys that are kept unturned stay in the order of one pairing.
  #checkPairing(where: string, name: string, value: unknown, { pairing }: RopePlan): void {
    const own = this.#plan?.pairing;
    if (this.#form.keys !== CachedKeys.unrotated || pairing === own) return;
    const problem = `pairs as '${pairing}'; the keys, kept unrotated, are in the order of '${own}'`;
    throw new ArgumentRangeError(where, name, value, problem);
  }
}

// A cache around an object of the core that `fill` fills; nothing is left behind if it throws.
function made(
  heap: Heap,
  where: string,
  plan: RopePlan | undefined,
  plans: Iterable<RopePlan>,
  fill: (cache: CoreKvCache) => number,
): KvCache {
  const make = (core: MainModule) => new core.KvCache();
  return heap.made(where, make, (cache) => {
    heap.run(where, () => fill(cache));
    return new KvCache(heap, cache, formOf(heap, where, cache), plan, plans);
  });
}

/** @internal */
export function createKvCache(heap: Heap, options: KvCacheOptions, where = 'kvCache'): KvCache {
  const { core, plan } = checkCache(heap, where, options);
  return made(heap, where, plan, plan ? [plan] : [], (cache) =>
    heap.scope(where, (scratch) => cache.create(heap.putCall(scratch, CacheFields, core), plan?.plan ?? null)),
  );
}
