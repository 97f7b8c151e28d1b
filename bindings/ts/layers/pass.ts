// One pass through a layer: checks the caller's arguments, and makes the core's call of them.

import { type KeepMaskInput, keepMask } from '../attention/mask.js';
import { showsHidden } from '../attention/position.js';
import { putVisibility, type Visibility, visibilityOf } from '../attention/visibility.js';
import { LayerCall } from '../calls.js';
import type { KvCache as CoreKvCache } from '../core.mjs';
import { type EncodingInfo, type EncodingName, encodings } from '../encodings/encodings.js';
import type { KvCache } from '../kv-cache/kv-cache.js';
import type { RopePlan } from '../rope/rope.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Named, type Out, type OutOption, outputs } from '../runtime/outputs.js';
import { type CheckedPositions, checkedPositions, type PositionOptions } from '../runtime/positions.js';
import { scoreStages } from '../runtime/score-stages.js';
import { type NdArray, type Operand, operand, type Tensor, type TensorInput } from '../runtime/tensor.js';
import { cachePositions, checkLayerCache, type PassCache } from './cache.js';
import {
  type Capture,
  type CaptureName,
  captureCall,
  captureShapes,
  checkCapture,
  type LayerResult,
} from './capture.js';
import type { LayerDims, LayerScores } from './options.js';
import { attentionShapes, type CheckedPosition } from './position.js';

/** Options of one pass through a layer. Causal order and windows follow the order of tokens, whatever `positions` lists. */
export interface ForwardOptions<C extends readonly CaptureName[] = readonly CaptureName[], O extends Out = undefined>
  extends PositionOptions,
    OutOption<O> {
  /**
   * A KV cache with the tokens before x. The pass appends those of x, after the last one or at `offset` or `positions` [T],
   * shared by all batch entries (neither with a `rebased` window); they attend to all Tk tokens of the cache. A call that
   * throws leaves it as it was. Default none.
   */
  cache?: KvCache;
  /** Which keys each query may attend to; broadcasts to [B, H, T, Tk]. A padding mask of a batch is [B, 1, 1, Tk]. */
  mask?: KeepMaskInput;
  /** Intermediates to return, as `captured`. They change no bit of `out`. Default none. */
  capture?: C;
  /** Heads whose scores are captured, in this order. Default all. */
  captureHeads?: readonly number[];
}

/** @internal */
export const forwardFields = ['offset', 'positions', 'cache', 'mask', 'capture', 'captureHeads', 'out'] as const;

/** What a pass has to know of its layer. @internal */
export interface PassLayer {
  readonly heap: Heap;
  readonly where: string;
  readonly dims: LayerDims;
  readonly scores: LayerScores;
  readonly position: CheckedPosition;
  /** The address of the sinks' logits, or 0. */
  readonly sinks: number;
  readonly captures: readonly CaptureName[];
  /** Refuses a layer that was disposed. */
  alive(): void;
  /** Changes x on its way in, if need be: gives its address. */
  enter?(x: Operand, shape: { batch: number; tokens: number; at: CheckedPositions }, scratch: Scratch): number;
  /** Runs a call whose fields lie there. */
  run(fields: number, rope: RopePlan['plan'] | null, cache: CoreKvCache | null): number;
}

function tokensOf(where: string, x: TensorInput, input: Operand, modelDim: number) {
  const rank = input.shape.length;
  if ((rank !== 2 && rank !== 3) || input.shape.at(-1) !== modelDim) {
    throw wrongShape(where, 'x', x, input.shape, `[T, ${modelDim}] or [B, T, ${modelDim}]`);
  }
  return { batch: input.shape.at(-3) ?? 1, tokens: input.shape.at(-2) ?? 1 };
}

function checkPositions(
  layer: PassLayer,
  options: PositionOptions,
  cache: PassCache | undefined,
  batch: number,
  tokens: number,
): CheckedPositions {
  const { encoding, rope } = layer.position;
  const known: EncodingInfo | undefined = encodings[encoding as EncodingName]; // there is none for `none`
  if (options.positions !== undefined && (known?.family === 'bias' || known?.family === 'relative')) {
    const problem = `are for rotary and absolute encodings; this layer has ${encoding}`;
    throw new ArgumentRangeError(layer.where, 'positions', options.positions, problem);
  }
  rope?.usableIn(layer.heap, layer.where, "the layer's plan");
  const axes = rope?.axes ?? 1;
  if (cache !== undefined) return cachePositions(layer.where, cache, options, batch, tokens);
  return checkedPositions(layer.where, options, batch, tokens, axes);
}

const scored: readonly CaptureName[] = scoreStages;

/**
 * Refuses scores over a cache that has a window: keys that leave it as tokens come in are not counted before.
 * @internal
 */
export function checkWindowedCapture(where: string, capture: readonly CaptureName[]): void {
  const scores = capture.find((name) => scored.includes(name));
  if (scores === undefined) return;
  const problem = `has ${scores}, which is not given with a cache that has a window`;
  throw new ArgumentRangeError(where, 'capture', capture, problem);
}

function checkWindowed(where: string, options: ForwardOptions<readonly CaptureName[], Out>, capture: Capture): void {
  checkWindowedCapture(where, capture.names);
  if (options.mask === undefined) return;
  throw new ArgumentRangeError(where, 'mask', options.mask, 'is not for a cache that has a window');
}

// What queries see, and how far keys may be from them.
function visibilityOfPass(
  { where, dims, scores }: PassLayer,
  cache: PassCache | undefined,
  batch: number,
  tokens: number,
  at: CheckedPositions,
): Visibility {
  const queries = { batch, heads: dims.heads, tokens, dim: dims.headDim, tokensFirst: true };
  if (cache === undefined) return visibilityOf(where, scores.visibility, { queryOffset: 0 }, queries, queries);
  const { core, form } = cache;
  const { length } = core;
  const first = at.values?.[0] ?? at.offset;
  const positionOf = (key: number) => (key < length ? core.positionAt(key) : first + key - length);
  const keys = { ...queries, heads: dims.kvHeads, tokens: length + tokens };
  const visibility = visibilityOf(where, scores.visibility, { queryOffset: first }, queries, keys, positionOf);
  // Where the window moves keys up as others leave, they come nearer within the pass.
  const { distances } = visibility;
  return form.rebased ? { ...visibility, distanceRanges: () => (distances ? [distances] : []) } : visibility;
}

/** @internal */
export function pass(
  layer: PassLayer,
  x: TensorInput,
  options: ForwardOptions<readonly CaptureName[], Out>,
  changes = layer.heap.changes,
): LayerResult<Tensor | NdArray, [], Tensor | NdArray<Float32Array>> & {
  readonly captured?: { readonly [N in CaptureName]?: Tensor | NdArray };
} {
  const { heap, where, dims, scores, position } = layer;
  const input = operand(heap, where, 'x', x);
  layer.alive();
  if (options.cache !== undefined) heap.unchanged(where, 'cache', changes);
  const { batch, tokens } = tokensOf(where, x, input, dims.modelDim);
  const cache = checkLayerCache(heap, where, options.cache, layer, batch);
  const before = cache?.core.length ?? 0;
  const keys = before + tokens;
  const at = checkPositions(layer, options, cache, batch, tokens);
  const keep = keepMask(heap, where, options.mask, [batch, dims.heads, tokens, keys]);
  const capture: Capture = checkCapture(where, options.capture, options.captureHeads, layer.captures, dims.heads);
  if (cache?.windowed) checkWindowed(where, options, capture);
  const visibility = visibilityOfPass(layer, cache, batch, tokens, at);
  const asked: Named<CaptureName, readonly number[]> = {
    out: input.shape,
    ...captureShapes(capture, { x: input.shape, batch, tokens, keys, ...dims }),
  };
  const shapes = {
    ...attentionShapes(dims, batch, tokens, keys, visibility),
    showsHidden: showsHidden(Object.keys(asked)),
  };
  const results = outputs<CaptureName>(heap, where, input.tensor !== undefined, asked, options.out, (to, scratch) => {
    const call: LayerCall = {
      out: to.out,
      x: layer.enter?.(input, { batch, tokens, at }, scratch) ?? input.addressToOverwrite(scratch),
      batch,
      tokens,
      positions: at.put(heap, scratch),
      turnValues: scores.turnValues,
      visibility: putVisibility(heap, visibility, scratch),
      options: {
        scale: scores.scale,
        softcap: scores.softcap,
        keep: keep(scratch),
        sinks: layer.sinks,
        ...position.part(shapes, scratch),
      },
      capture: captureCall(capture, to, capture.slots === undefined ? 0 : heap.put(scratch, capture.slots)),
    };
    const fields = heap.putCall(scratch, LayerCall, call);
    if (cache !== undefined) heap.changes += 1;
    heap.run(where, () => layer.run(fields, position.rope?.plan ?? null, cache?.core ?? null));
  });
  const { out, ...captured } = results;
  return options.capture === undefined ? { out } : { out, captured };
}
