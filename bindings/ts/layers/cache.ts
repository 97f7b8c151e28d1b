// KV caches of a layer: which caches fit it, and the positions of a pass's tokens in one.

import { anotherPlan, createKvCache, KvCache } from '../kv-cache/kv-cache.js';
import { type CacheRope, type KvCacheOptions, type OpenCache, positionsOf } from '../kv-cache/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type CheckedPositions, checkedPositions, type PositionOptions } from '../runtime/positions.js';
import type { LayerDims, LayerScores } from './options.js';
import type { CheckedPosition } from './position.js';

/** Options of a layer's `kvCache`; sizes and plan are the layer's. */
export interface LayerCacheOptions
  extends Pick<KvCacheOptions, 'batch' | 'capacity' | 'growing' | 'storage' | 'window'> {
  /** How keys of a rotary encoding are kept; see `CacheRope`. Default `rotated`. */
  keys?: NonNullable<CacheRope['keys']>;
}

/** @internal */
export function layerCache(
  heap: Heap,
  where: string,
  { kvHeads, headDim, valueDim }: LayerDims,
  { rope: plan }: CheckedPosition,
  options: LayerCacheOptions,
): KvCache {
  const known = ['batch', 'capacity', 'growing', 'storage', 'window', 'keys'] as const;
  const { keys, ...rest } = check.options(where, 'options', options, known);
  if (plan === undefined && keys !== undefined) {
    throw new ArgumentRangeError(where, 'keys', keys, 'is for layers with a rotary encoding');
  }
  const rope = plan && { rope: { plan, ...(keys !== undefined && { keys }) } };
  return createKvCache(heap, { ...rest, kvHeads, headDim, valueDim, ...rope }, where);
}

/** A cache as a pass uses it. @internal */
export interface PassCache extends OpenCache {
  /** Whether keys leave it, so that nobody knows how many there will be. */
  readonly windowed: boolean;
}

/** @internal */
export function checkLayerCache(
  heap: Heap,
  where: string,
  value: unknown,
  layer: { readonly dims: LayerDims; readonly scores: LayerScores; readonly position: CheckedPosition },
  batch: number,
): PassCache | undefined {
  if (value === undefined) return undefined;
  if (!(value instanceof KvCache)) throw new ArgumentTypeError(where, 'cache', value, 'a KvCache');
  value.usableIn(heap, where, 'cache');
  const refuse = (problem: string): never => {
    throw new ArgumentRangeError(where, 'cache', value, problem);
  };
  const open = value.use(where);
  const expected = { batch, ...layer.dims };
  for (const size of ['batch', 'kvHeads', 'headDim', 'valueDim'] as const) {
    if (value[size] !== expected[size]) refuse(`has ${size} ${value[size]}; expected ${expected[size]}`);
  }
  if (open.plan !== layer.position.rope) refuse(anotherPlan);
  if (layer.scores.turnValues) refuse('is not for layers with turnValues');
  const size = open.form.windowSize;
  const { left } = layer.scores.visibility;
  if (size > 0 && left >= 0 && size !== left + 1) {
    refuse(`has a window of ${size} positions, the layer one of ${left + 1}`);
  }
  return { ...open, windowed: size > 0 };
}

/**
 * Where the tokens of a pass stand in its cache: by default behind the last one.
 * @internal
 */
export function cachePositions(
  where: string,
  cache: PassCache,
  options: PositionOptions,
  batch: number,
  tokens: number,
): CheckedPositions {
  const { core, axes } = cache;
  const { offset, positions } = options;
  const follows = offset === undefined && positions === undefined;
  if (axes > 1 && positions === undefined) {
    const problem = `are missing; tokens of ${axes} axes need them where they go into a cache`;
    throw new ArgumentRangeError(where, 'positions', undefined, problem);
  }
  const at = checkedPositions(where, follows ? { offset: core.nextPosition } : options, batch, tokens, axes);
  if (at.perBatch) {
    const problem = `has ${batch * tokens} entries; a cache takes one position per token, ${tokens}`;
    throw new ArgumentRangeError(where, 'positions', positions, problem);
  }
  const list = positionsOf(where, cache, options, tokens);
  const gap = axes > 1 ? -1 : (list ?? []).findIndex((position, i) => position !== (list?.[0] ?? 0) + i);
  if (gap >= 0) {
    const problem = `is ${list?.[gap]}; tokens of one pass follow one another`;
    throw new ArgumentRangeError(where, `positions[${gap}]`, list?.[gap], problem);
  }
  const room = core.room((axes === 1 ? list?.[0] : undefined) ?? core.nextPosition);
  if (tokens <= room) return at;
  const problem = `has room for ${room} more tokens, its capacity is ${core.capacity}; x has ${tokens}`;
  throw new ArgumentRangeError(where, 'cache', core.capacity, problem);
}
