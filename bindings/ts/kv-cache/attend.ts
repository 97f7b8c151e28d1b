// Attention of queries over the keys of a cache.
import {
  type AttentionOptions,
  type AttentionResult,
  attend,
  queriesOver,
  type ScoreRequest,
} from '../attention/attention.js';
import type { AttentionPosition } from '../attention/position.js';
import { boundsOf, visibilityOf } from '../attention/visibility.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import type { HeadShape } from '../runtime/layout.js';
import type { Out, ResultOf } from '../runtime/outputs.js';
import type { TensorInput } from '../runtime/tensor.js';
import type { OpenCache } from './options.js';

/**
 * Position encodings of attention over a cache. A rotary one is an option of the cache; tables of distances (`shaw`,
 * `relative_key`, ...) then apply to the rotated queries and keys.
 */
export type CachePosition = Exclude<
  AttentionPosition,
  {
    /** An option of the cache. */
    encoding: 'rope';
  }
>;

/**
 * Options of `attend`: those of `rw.attention`, with `causal` true by default. Queries are the last tokens unless
 * `queryOffset` gives their position. A window of the cache replaces `window` and `sinkTokens`: its `size` counts the query's
 * own position, `window.left` does not.
 */
export interface CacheAttentionOptions<S extends ScoreRequest = ScoreRequest, O extends Out = undefined>
  extends Omit<AttentionOptions<S, O>, 'keyPositions' | 'kvHeads' | 'position'> {
  /** The position encoding. Default none, beside the cache's own. */
  position?: CachePosition;
}

// Queries without an offset are the last tokens, which have to stand one after the other.
function checkEnd(where: string, { core, axes }: OpenCache, queries: number): void {
  const rows = Math.min(queries, core.length);
  if (rows > 0 && core.positionAt(core.length - 1) - core.positionAt(core.length - rows) !== rows - 1) {
    const problem = `is missing; the last ${rows} tokens do not stand one after the other`;
    throw new ArgumentRangeError(where, 'queryOffset', undefined, problem);
  }
  if (axes > 1 && queries > core.length) {
    throw new ArgumentRangeError(where, 'q', queries, `has ${queries} tokens, the cache has ${core.length}`);
  }
}

// Refuses what a cache has of its own.
function refuseForeign(
  where: string,
  { form, axes }: OpenCache,
  options: CacheAttentionOptions<ScoreRequest, Out>,
): void {
  const refuse = (name: string, value: unknown, problem: string): never => {
    throw new ArgumentRangeError(where, name, value, problem);
  };
  const { position, window, sinkTokens, queryOffset, keyLengths } = options;
  if ((position as AttentionPosition | undefined)?.encoding === 'rope') {
    refuse('position.encoding', 'rope', "is 'rope', which a cache is made with: rw.kvCache({ rope })");
  }
  if (form.windowSize > 0) {
    if (window !== undefined) refuse('window', window, 'is for a cache without a window of its own');
    if (sinkTokens !== undefined) refuse('sinkTokens', sinkTokens, 'is for a cache without a window of its own');
  }
  if (axes > 1) {
    if (queryOffset !== undefined) refuse('queryOffset', queryOffset, 'is for positions with one axis');
    if (keyLengths !== undefined) refuse('keyLengths', keyLengths, 'is for positions with one axis');
  }
}

/** Attention over what is in a cache; q and options were read. @internal */
export function attendOver<X extends TensorInput, S extends ScoreRequest, O extends Out>(
  heap: Heap,
  where: string,
  cache: OpenCache,
  q: X,
  options: CacheAttentionOptions<S, O>,
): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
  refuseForeign(where, cache, options);
  const { form } = cache;
  const { batch, kvHeads: heads, headDim, valueDim } = form;
  const keys = (dim: number): HeadShape => ({ tokensFirst: false, batch, heads, tokens: cache.core.length, dim });
  const [ks, vs] = [keys(headDim), keys(valueDim)];
  const inputs = queriesOver(heap, where, q, ks, vs, options);
  const atEnd = options.queryOffset === undefined && options.keyLengths === undefined;
  if (atEnd) checkEnd(where, cache, inputs.qs.tokens);
  const { core } = cache;
  const visibility = visibilityOf(where, boundsOf(where, options, true), options, inputs.qs, ks, (token) =>
    core.positionAt(token),
  );
  const offsets = typeof visibility.queryOffset === 'number' ? [visibility.queryOffset] : [...visibility.queryOffset];
  const missing = inputs.qs.tokens > 0 ? offsets.find((offset) => core.misses(offset)) : undefined;
  if (missing !== undefined) {
    const problem = `is ${missing}, from where the window reaches keys that have left it`;
    throw new ArgumentRangeError(where, 'queryOffset', missing, problem);
  }
  return attend<X, S, O>(heap, where, inputs, options, visibility, (fields) =>
    heap.call(() => core.attend(fields, atEnd)),
  );
}
