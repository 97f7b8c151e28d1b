// Options and appended tokens of a KV cache, checked.
import { splitHeads } from '../attention/attention.js';
import * as calls from '../calls.js';
import type { KvCache as CoreKvCache } from '../core.mjs';
import { CachedKeys, WeightType } from '../enums.js';
import { checkPlan, type RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type HeadShape, headShape, type Layout } from '../runtime/layout.js';
import { checkedPositions, type PositionOptions } from '../runtime/positions.js';
import { type Operand, operand, type TensorInput } from '../runtime/tensor.js';

/** The rotary encoding of a cache. */
export interface CacheRope {
  /** The plan. The cache does not own it: dispose of it only when the cache holds no keys that it turned. */
  plan: RopePlan;
  /**
   * `rotated`, the default: keys are turned once, as they come in. `unrotated`: they are kept as given, and turned into
   * a second buffer for reading; for caches whose positions or plans change with every token.
   */
  keys?: 'rotated' | 'unrotated';
}

/**
 * Which keys are visible to a query: a sliding window and sink tokens (StreamingLLM, arXiv:2309.17453). `rw.attention` has
 * them as `window: { left: size - 1 }` and `sinkTokens`.
 */
export interface CacheWindow {
  /** How many positions, the query's own included: one more than `left` of the `window` of `rw.attention`. */
  size: number;
  /** How many of the first keys stay besides; if one is dropped, the next takes its place. Default 0. */
  sinkTokens?: number;
  /**
   * `kept`, the default: tokens keep their positions. `rebased`: those after the sink tokens move up as others leave, so that
   * positions do not exceed the length, unless `drop` leaves gaps.
   */
  positions?: 'kept' | 'rebased';
}

/**
 * The format in which a cache stores keys and values. `float32`: as they are. `float16`: half the memory; each number is
 * rounded to nearest, by 2^-11 of its magnitude at most (below 2^-14 by 2^-25), and magnitudes from 65520 on become infinite. `q8_0`: 27 % of the
 * memory; 32 numbers along headDim or valueDim share a float16 scale, as ggml's reference quantizes them, and each is rounded
 * by 1/254 of the largest of them and 2^-11 of its own magnitude at most (3.8e-6 where the largest is below 0.0078); a block
 * with a number that is not finite, or from 8321040 (127 x 65520) on, becomes infinite or NaN.
 */
export type CacheStorage = 'float32' | 'float16' | 'q8_0';

/** Options of `rw.kvCache`. */
export interface KvCacheOptions {
  /** B. Default 1. */
  batch?: number;
  /** G, heads of keys and values. */
  kvHeads: number;
  /** D, coordinates of a key. */
  headDim: number;
  /** Coordinates of a value. Default headDim. */
  valueDim?: number;
  /**
   * Number of tokens that memory is reserved for. Without it the cache begins with none and grows. A cache with a window that
   * does not grow first drops the tokens that none of the appended ones sees: to append T at once when full it needs
   * `window.size - 1 + T + window.sinkTokens`.
   */
  capacity?: number;
  /**
   * Whether the capacity grows when it is exceeded: it doubles up to 4096 tokens, then 4096 more are reserved at a time, and
   * what was there stays where it is. Otherwise more tokens are an error. Default true without a capacity.
   */
  growing?: boolean;
  /**
   * The format of keys and values. Keys are rotated first, or with `keys: 'unrotated'` when they are read. Moved keys (`shift`, `merge`, `switchTo`, a rebased window) are read,
   * rotated, and rounded once more, always from the numbers stored first: rounding errors do not add up. `q8_0` needs headDim
   * and valueDim that are multiples of 32. Default `float32`.
   */
  storage?: CacheStorage;
  /** Default: no rotary encoding. */
  rope?: CacheRope;
  /** Default: every query sees all keys. */
  window?: CacheWindow;
}

/** Options of `append`. Positions are [T], shared by all batch entries; a `rebased` window takes neither them nor an offset. */
export interface AppendOptions extends PositionOptions {
  /** Default `BHTD`. */
  layout?: Layout;
  /** G, for k [B, T, G * D] and v [B, T, G * Dv], the results of projections. In place of `layout`. */
  kvHeads?: number;
}

const { float32, float16, q8_0 } = WeightType;
/** @internal */
export const cacheStorages = { float32, float16, q8_0 } as const;
const { rotated, unrotated } = CachedKeys;
const keptKeys = { rotated, unrotated } as const;
const windowPositions = { kept: 0, rebased: 1 } as const;
const largest = 2 ** 30;

/** @internal */
export interface CheckedCache {
  readonly core: calls.KvCacheOptions;
  readonly plan: RopePlan | undefined;
}

function ropeOf(heap: Heap, where: string, value: CacheRope | undefined, headDim: number) {
  if (value === undefined) return { plan: undefined, keys: CachedKeys.plain };
  const { plan, keys = 'rotated' } = check.options(where, 'rope', value, ['plan', 'keys']);
  const kept = check.choice(where, 'rope.keys', keys, keptKeys);
  checkPlan(heap, where, 'rope.plan', plan, headDim, 'the cache has');
  return { plan, keys: kept };
}

function windowOf(where: string, value: CacheWindow | undefined) {
  if (value === undefined) return { size: 0, sinkTokens: 0, rebased: false };
  if (typeof value === 'object' && value !== null && 'sinks' in value) {
    const problem = 'is called sinkTokens: it counts tokens, and sinks are the logits of rw.attention';
    throw new ArgumentRangeError(where, 'window.sinks', value.sinks, problem);
  }
  const known = ['size', 'sinkTokens', 'positions'] as const;
  const { size, sinkTokens = 0, positions = 'kept' } = check.options(where, 'window', value, known);
  return {
    size: check.integer(where, 'window.size', size, 1, largest),
    sinkTokens: check.integer(where, 'window.sinkTokens', sinkTokens, 0, largest),
    rebased: check.choice(where, 'window.positions', positions, windowPositions) === windowPositions.rebased,
  };
}

/** @internal */
export function checkCache(heap: Heap, where: string, options: KvCacheOptions): CheckedCache {
  const sizes = ['batch', 'kvHeads', 'headDim', 'valueDim'] as const;
  const known = [...sizes, 'capacity', 'growing', 'storage', 'rope', 'window'] as const;
  const given = check.options(where, 'options', options, known);
  const batch = check.integer(where, 'batch', given.batch ?? 1, 1, largest);
  const kvHeads = check.integer(where, 'kvHeads', given.kvHeads, 1, largest);
  const headDim = check.integer(where, 'headDim', given.headDim, 1, largest);
  const valueDim = check.integer(where, 'valueDim', given.valueDim ?? headDim, 1, largest);
  const storage = check.choice(where, 'storage', given.storage ?? 'float32', cacheStorages);
  for (const [name, dim] of Object.entries({ headDim, valueDim })) {
    if (storage !== q8_0 || dim % 32 === 0) continue;
    throw new ArgumentRangeError(where, name, dim, `is ${dim}; storage 'q8_0' needs a multiple of 32`);
  }
  const capacity = check.integer(where, 'capacity', given.capacity ?? 0, 0, largest);
  const growing = check.boolean(where, 'growing', given.growing ?? given.capacity === undefined);
  const { plan, keys } = ropeOf(heap, where, given.rope, headDim);
  const window = windowOf(where, given.window);
  if (!growing && given.capacity === undefined) {
    throw new ArgumentRangeError(where, 'capacity', undefined, 'is missing; a cache that does not grow needs one');
  }
  if (!growing && window.size + window.sinkTokens > capacity) {
    const problem = `is ${capacity}; the window and its sink tokens need ${window.size + window.sinkTokens}`;
    throw new ArgumentRangeError(where, 'capacity', capacity, problem);
  }
  if (window.size > 0 && plan !== undefined && plan.axes > 1) {
    throw new ArgumentRangeError(where, 'window', given.window, `needs a plan with one axis; this has ${plan.axes}`);
  }
  return { core: { batch, kvHeads, headDim, valueDim, capacity, growing, keys, storage, window }, plan };
}

/**
 * What a cache of the core was made with, as far as calls have to know.
 * @internal
 */
export function formOf(heap: Heap, where: string, core: CoreKvCache): calls.CacheForm {
  return heap.scope(where, (scratch) => {
    const at = scratch(calls.CacheForm.doubles * 8);
    heap.call(() => core.form(at));
    return heap.readResult(calls.CacheForm, at);
  });
}

/** A cache as calls look at it. @internal */
export interface OpenCache {
  readonly core: CoreKvCache;
  readonly form: calls.CacheForm;
  /** Of its plan; 1 where there is none. */
  readonly axes: number;
}

/** Checked keys and values to append. @internal */
export interface Appended {
  readonly tokens: number;
  /** The address of the call's fields. */
  address(scratch: Scratch): number;
}

function headsOf(
  where: string,
  name: 'k' | 'v',
  x: Operand,
  options: AppendOptions,
  expected: calls.CacheForm,
): HeadShape {
  const { kvHeads, layout = 'BHTD' } = options;
  const shape = kvHeads === undefined ? x.shape : splitHeads(where, name, x.shape, expected.kvHeads);
  const got = headShape(where, name, shape, kvHeads === undefined ? layout : 'BTHD');
  const dim = name === 'k' ? expected.headDim : expected.valueDim;
  const wrong = (what: string, is: number, wanted: number) => {
    if (is === wanted) return;
    throw new ArgumentRangeError(where, name, x.shape, `has ${what} ${is}, the cache has ${wanted}`);
  };
  wrong('head size', got.dim, dim);
  wrong('heads:', got.heads, expected.kvHeads);
  wrong('batch size', got.batch, expected.batch);
  return got;
}

/** @internal */
export const notRebased = "is not for 'rebased' positions";

/**
 * Positions of the tokens; undefined: one by one.
 * @internal
 */
export function positionsOf(where: string, cache: OpenCache, options: PositionOptions, tokens: number) {
  const { form, axes } = cache;
  if (options.offset === undefined && options.positions === undefined) return undefined;
  const name = options.positions === undefined ? 'offset' : 'positions';
  const { values, offset } = checkedPositions(where, options, 1, tokens, axes);
  if (form.rebased) {
    throw new ArgumentRangeError(where, name, options[name], notRebased);
  }
  const list = values ?? Float64Array.from({ length: axes * tokens }, (_, i) => offset + (i % tokens));
  if (axes > 1) return list;
  const { core } = cache;
  const least = core.length === 0 ? Number.NEGATIVE_INFINITY : core.nextPosition;
  list.forEach((position, i) => {
    const before = list[i - 1] ?? least - 1;
    if (position > before) return;
    const entry = name === 'offset' ? name : `${name}[${i}]`;
    throw new ArgumentRangeError(where, entry, position, `is ${position}, behind a token at ${before}; expected more`);
  });
  return list;
}

/** @internal */
export function checkAppended(
  heap: Heap,
  where: string,
  cache: OpenCache,
  kInput: TensorInput,
  vInput: TensorInput,
  options: AppendOptions,
): Appended {
  const { form: expected, axes } = cache;
  if (options.kvHeads !== undefined) {
    const kvHeads = check.integer(where, 'kvHeads', options.kvHeads, 1, largest);
    if (kvHeads !== expected.kvHeads) {
      throw new ArgumentRangeError(where, 'kvHeads', kvHeads, `is ${kvHeads}, the cache has ${expected.kvHeads}`);
    }
    if (options.layout !== undefined) {
      throw new ArgumentRangeError(where, 'layout', options.layout, 'and kvHeads exclude each other');
    }
  }
  const k = operand(heap, where, 'k', kInput);
  const v = operand(heap, where, 'v', vInput);
  const ks = headsOf(where, 'k', k, options, expected);
  const vs = headsOf(where, 'v', v, options, expected);
  const { tokens } = ks;
  if (vs.tokens !== tokens)
    throw new ArgumentRangeError(where, 'v', vInput, `has ${vs.tokens} tokens, k has ${tokens}`);
  const list = positionsOf(where, cache, options, tokens);
  const { core } = cache;
  const room = core.room((axes === 1 ? list?.[0] : undefined) ?? core.nextPosition);
  if (tokens > room) {
    const problem = `has ${tokens} tokens; the cache has room for ${room} more, its capacity is ${core.capacity}`;
    throw new ArgumentRangeError(where, 'k', kInput, problem);
  }
  return {
    tokens,
    address(scratch) {
      const at = list && heap.put(scratch, list);
      const call = {
        k: k.address(scratch),
        v: v.address(scratch),
        ...(axes === 1 ? { positions: at } : { axisPositions: at }),
        tokens,
        tokensFirst: ks.tokensFirst || vs.tokensFirst,
      };
      return heap.putCall(scratch, calls.AppendCall, call);
    },
  };
}
