// Which keys are visible to a query: positions of queries and keys, causal order, windows, padding.

import type { VisibilityCall } from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import type { HeadShape } from '../runtime/layout.js';

/** Positions of queries and keys, and which keys are visible to a query. */
export interface VisibilityOptions {
  /** Hides keys at later positions than the query. Default false. */
  causal?: boolean;
  /**
   * Query i has position i + queryOffset; [B] for each batch entry. Used by causal order, windows and position encodings.
   * Default: the last query is at the last key, as when decoding with cached keys; 0 aligns the first ones, as PyTorch's
   * is_causal does.
   */
  queryOffset?: number | check.IntegersInput;
  /** [Tk], strictly ascending: positions of the keys. Default 0, 1, 2, ... */
  keyPositions?: check.IntegersInput;
  /** `[B]`: number of keys; those after are padding. The default of queryOffset is then keyLengths - Tq. Default Tk. */
  keyLengths?: check.IntegersInput;
  /** Hides keys that are too far from the query. Default: none. */
  window?: {
    /**
     * How many positions before the query are visible. Its own does not count: `window.size` of a KV cache, which counts
     * it, is left + 1. Default -1: no bound.
     */
    left?: number;
    /** How many positions after the query are visible. Default -1: no bound. */
    right?: number;
  };
  /** How many of the first keys every left window keeps visible (StreamingLLM). Default 0. */
  sinkTokens?: number;
}

/** Causal order and windows, checked. @internal */
export interface Bounds {
  readonly causal: boolean;
  readonly left: number;
  readonly right: number;
  readonly sinkTokens: number;
}

/** Distances, key minus query, from first to last. @internal */
export interface Distances {
  readonly first: number;
  readonly last: number;
}

/** Checked options of visibility. @internal */
export interface Visibility extends Bounds {
  readonly keyLengths: Float64Array | undefined;
  readonly keyPositions: Float64Array | undefined;
  /** One for all, or one for each batch entry. */
  readonly queryOffset: number | Float64Array;
  /** The farthest distances, key minus query, of this call; undefined without any. */
  readonly distances: Distances | undefined;
  /**
   * The distances that occur, in ascending ranges apart from one another; near ones are one range, with those between.
   */
  distanceRanges(): readonly Distances[];
  /** The largest distance of a key that causal order, window and padding leave visible. */
  farthestSeen(): number;
}

function perBatch(where: string, name: string, value: unknown, batch: number): Float64Array {
  const list = check.positions(where, name, value);
  if (list.length === batch) return list;
  throw new ArgumentRangeError(where, name, value, `has ${list.length} entries, the batch has ${batch}`);
}

function offsetsOf(where: string, value: unknown, batch: number): Float64Array {
  if (typeof value === 'object' && value !== null) return perBatch(where, 'queryOffset', value, batch);
  throw new ArgumentTypeError(where, 'queryOffset', value, 'an integer, or an array of them');
}

function ascending(where: string, value: unknown, keys: number): Float64Array {
  const list = check.positions(where, 'keyPositions', value);
  if (list.length !== keys) {
    throw new ArgumentRangeError(where, 'keyPositions', value, `has ${list.length} entries, k has ${keys} tokens`);
  }
  const bad = list.findIndex((position, i) => i > 0 && position <= (list[i - 1] ?? 0));
  if (bad >= 0) {
    const problem = `is ${list[bad]}, after ${list[bad - 1]}; expected strictly ascending positions`;
    throw new ArgumentRangeError(where, `keyPositions[${bad}]`, list[bad], problem);
  }
  return list;
}

/**
 * Refuses queries at positions beyond ±(2^53 - 1), which doubles would round. The core itself counts in 64 bits.
 * @internal
 */
export function checkLast(where: string, queryOffset: Visibility['queryOffset'], queries: number): void {
  const offsets = typeof queryOffset === 'number' ? [queryOffset] : queryOffset;
  for (let b = 0; b < offsets.length; ++b) {
    const offset = offsets[b] ?? 0;
    if (Number.isSafeInteger(offset) && Number.isSafeInteger(offset + Math.max(queries - 1, 0))) continue;
    const problem = `is ${offset}, which puts queries beyond +-(2^53 - 1)`;
    throw new ArgumentRangeError(where, 'queryOffset', offset, problem);
  }
}

function lengthsOf(where: string, value: unknown, batch: number, keys: number): Float64Array {
  const list = perBatch(where, 'keyLengths', value, batch);
  for (const [b, length] of list.entries()) check.integer(where, `keyLengths[${b}]`, length, 0, keys);
  return list;
}

// The first key from `position` on, of keys at ascending positions.
function firstFrom(at: (key: number) => number, keys: number, position: number): number {
  let [low, high] = [0, keys];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (at(middle) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function farthestSeen(
  { causal, left, right, sinkTokens, keyLengths }: Omit<Visibility, 'farthestSeen' | 'distanceRanges'>,
  at: (key: number) => number,
  offsets: ArrayLike<number>,
  queries: number,
  keys: number,
): number {
  let farthest = 0;
  const see = (distance: number) => {
    farthest = Math.max(farthest, Math.abs(distance));
  };
  const ahead = causal ? 0 : right < 0 ? Number.POSITIVE_INFINITY : right;
  const entries = Math.max(offsets.length, keyLengths?.length ?? 1);
  for (let b = 0; b < entries; ++b) {
    for (let i = 0; i < queries; ++i) {
      const query = (offsets[offsets.length === 1 ? 0 : b] ?? 0) + i;
      const end = Math.min(keyLengths?.[b] ?? keys, firstFrom(at, keys, query + ahead + 1));
      const first = left < 0 ? 0 : Math.min(end, firstFrom(at, keys, query - left));
      if (first < end) see(query - at(first));
      if (first < end) see(at(end - 1) - query);
      if (sinkTokens > 0 && end > 0) see(query - at(0));
    }
  }
  return farthest;
}

// Gaps up to this are kept as distances that may not occur: they cost less than a range.
const smallGap = 64;

// Ascending ranges, those that meet or nearly do as one.
function joined(ranges: readonly Distances[]): Distances[] {
  const result: { first: number; last: number }[] = [];
  for (const { first, last } of ranges) {
    const before = result.at(-1);
    if (before !== undefined && first <= before.last + smallGap) before.last = Math.max(before.last, last);
    else result.push({ first, last });
  }
  return result;
}

function rangesOf(
  distances: Distances | undefined,
  at: (key: number) => number,
  offsets: ArrayLike<number>,
  queries: number,
  keys: number,
): readonly Distances[] {
  if (distances === undefined) return [];
  // Without far gaps nothing is won.
  if (distances.last - distances.first < 4 * (queries + keys + smallGap)) return [distances];
  const runs = joined(Array.from({ length: keys }, (_, key) => ({ first: at(key), last: at(key) })));
  const all = [...new Set(Array.from(offsets))].flatMap((offset) =>
    runs.map(({ first, last }) => ({ first: first - (offset + queries - 1), last: last - offset })),
  );
  return joined(all.sort((a, b) => a.first - b.first));
}

/** @internal */
export function boundsOf(
  where: string,
  { causal, window = {}, sinkTokens }: Pick<VisibilityOptions, 'causal' | 'window' | 'sinkTokens'>,
  preset = false,
): Bounds {
  const { left, right } = check.options(where, 'window', window, ['left', 'right']);
  return {
    causal: check.boolean(where, 'causal', causal ?? preset),
    left: check.integer(where, 'window.left', left ?? -1, -1),
    right: check.integer(where, 'window.right', right ?? -1, -1),
    sinkTokens: check.integer(where, 'sinkTokens', sinkTokens ?? 0, 0, 2 ** 30),
  };
}

/**
 * `positionOf` gives the position of each key, where no option does.
 * @internal
 */
export function visibilityOf(
  where: string,
  bounds: Bounds,
  options: Pick<VisibilityOptions, 'queryOffset' | 'keyPositions' | 'keyLengths'>,
  q: HeadShape,
  k: HeadShape,
  positionOf = (key: number) => key,
): Visibility {
  const keyPositions =
    options.keyPositions === undefined ? undefined : ascending(where, options.keyPositions, k.tokens);
  const keyLengths =
    options.keyLengths === undefined ? undefined : lengthsOf(where, options.keyLengths, q.batch, k.tokens);

  const at = (key: number) => (key < 0 ? -1 : (keyPositions?.[key] ?? positionOf(key)));
  const lastOf = (length: number) => at(length - 1);
  const queryOffset =
    options.queryOffset === undefined
      ? (keyLengths?.map((length) => lastOf(length) + 1 - q.tokens) ?? lastOf(k.tokens) + 1 - q.tokens)
      : typeof options.queryOffset === 'number'
        ? check.position(where, 'queryOffset', options.queryOffset)
        : offsetsOf(where, options.queryOffset, q.batch);

  const offsets = typeof queryOffset === 'number' ? Float64Array.of(queryOffset) : queryOffset;
  checkLast(where, queryOffset, 1);
  const nothing = q.batch === 0 || q.tokens === 0 || k.tokens === 0;
  const distances = nothing
    ? undefined
    : {
        first: at(0) - (offsets.reduce((a, b) => Math.max(a, b)) + q.tokens - 1),
        last: lastOf(k.tokens) - offsets.reduce((a, b) => Math.min(a, b)),
      };
  const visibility = { ...bounds, keyLengths, keyPositions, queryOffset, distances };
  return {
    ...visibility,
    distanceRanges: () => rangesOf(distances, at, offsets, q.tokens, k.tokens),
    farthestSeen: () => (nothing ? 0 : farthestSeen(visibility, at, offsets, q.tokens, k.tokens)),
  };
}

/** @internal */
export function putVisibility(heap: Heap, visibility: Visibility, scratch: Scratch): VisibilityCall {
  const { causal, left, right, sinkTokens, queryOffset, keyPositions, keyLengths } = visibility;
  return {
    causal,
    left,
    right,
    sinkTokens,
    ...(typeof queryOffset === 'number' ? { queryOffset } : { queryOffsets: heap.put(scratch, queryOffset) }),
    keyPositions: keyPositions && heap.put(scratch, keyPositions),
    keyLengths: keyLengths && heap.put(scratch, keyLengths),
  };
}
