// The layers of a model in the core: each is registered once, then every pass runs its tokens through them.
import { putVisibility, visibilityOf } from '../attention/visibility.js';
import { CaptureCall, type KeepMask, StackCall, StackLayerCall } from '../calls.js';
import type { LayerCaches, LayerStack, TransformerBlock } from '../core.mjs';
import { Status } from '../enums.js';
import type { CaptureName } from '../layers/capture.js';
import type { LayerDims, LayerScores } from '../layers/options.js';
import { attentionShapes, type CheckedPosition } from '../layers/position.js';
import { ArgumentRangeError, checkStatus } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import type { CheckedPositions } from '../runtime/positions.js';
import type { ModelLayerConfig } from './description/description.js';

/** What a cache has to fit. @internal */
export interface CachedLayer {
  readonly dims: LayerDims;
  readonly scores: LayerScores;
  readonly position: CheckedPosition;
}

/** A layer of a model, with its position encoding. @internal */
export interface ModelLayer extends CachedLayer {
  readonly block: TransformerBlock;
  /** Address of the logits of attention sinks, or 0. */
  readonly sinks: number;
  readonly captures: readonly CaptureName[];
  readonly chunked: boolean | undefined;
  readonly temperature: ModelLayerConfig['temperature'];
}

/** The tokens of a pass. @internal */
export interface StackPass {
  /** Address of x [B, T, M], which every layer changes in place. */
  readonly x: number;
  readonly batch: number;
  readonly tokens: number;
  /** Positions for passes without caches; with caches, tokens follow those of the caches. */
  readonly at: CheckedPositions;
  keep(scratch: Scratch): KeepMask | undefined;
  /** [B * T], of an XLNet. */
  readonly types?: Float64Array | undefined;
  readonly caches: LayerCaches | null;
}

/** No mask, and positions that follow those of a cache. @internal */
export const behindCache: Pick<StackPass, 'at' | 'keep'> = {
  at: {
    values: undefined,
    offset: 0,
    perBatch: false,
    put: () => ({ values: 0, count: 0, perBatch: false, offset: 0 }),
  },
  keep: () => undefined,
};

/** Registers the layers. Their blocks and plans must outlive the stack, which the caller destroys. @internal */
export function makeStack(heap: Heap, where: string, layers: readonly ModelLayer[]): LayerStack {
  const stack = heap.construct(where, (core) => new core.LayerStack());
  try {
    heap.run(where, () => stack.create(layers.length));
    for (const [i, layer] of layers.entries()) setLayer(heap, where, stack, i, layer);
    return stack;
  } catch (error) {
    heap.destroy(stack);
    throw error;
  }
}

// Stores no addresses of scratch memory: the tables of models' encodings are in the heap already.
function setLayer(heap: Heap, where: string, stack: LayerStack, i: number, layer: ModelLayer): void {
  const { block, dims, scores, position, sinks, chunked, temperature } = layer;
  heap.scope(where, (scratch) => {
    const one = { tokensFirst: true, batch: 1, heads: dims.heads, tokens: 1, dim: dims.headDim };
    const visibility = visibilityOf(where, scores.visibility, { queryOffset: 0 }, one, one);
    const call = {
      turnValues: scores.turnValues,
      chunked,
      temperatureStep: temperature?.step,
      temperatureScale: temperature?.scale,
      ...position.segments,
      visibility: putVisibility(heap, visibility, scratch),
      options: {
        scale: scores.scale,
        softcap: scores.softcap,
        sinks,
        ...position.part(attentionShapes(dims, 1, 1, 1, visibility), scratch),
      },
    };
    const fields = heap.putCall(scratch, StackLayerCall, call);
    heap.call(() => stack.setLayer(i, block, position.rope?.plan ?? null, fields));
  });
}

/** Runs layers first ... end - 1; `capture` applies to the last. @internal */
export function runLayers(
  heap: Heap,
  where: string,
  stack: LayerStack,
  pass: StackPass,
  first: number,
  end: number,
  capture?: CaptureCall,
): void {
  const { x, batch, tokens, at, keep, types, caches } = pass;
  heap.scope(where, (scratch) => {
    const call = {
      x,
      batch,
      tokens,
      first,
      end,
      positions: at.put(heap, scratch),
      keep: keep(scratch),
      types: types && heap.put(scratch, types),
      capture: capture === undefined ? 0 : heap.putCall(scratch, CaptureCall, capture),
    };
    const fields = heap.putCall(scratch, StackCall, call);
    const status = heap.call(() => stack.forward(fields, caches));
    if (caches !== null) checkRoom(where, status, tokens);
    checkStatus(status, where);
  });
}

// A cache whose layers were moved may have less room than its capacity.
function checkRoom(where: string, status: number, tokens: number): void {
  const problem =
    status === Status.full
      ? `has no room for ${tokens} more tokens where its layers stand`
      : status === Status.positionOutOfRange
        ? `stands where ${tokens} more tokens pass position 2^53 - 1, or the reach of xPos`
        : undefined;
  if (problem !== undefined) throw new ArgumentRangeError(where, 'cache', undefined, problem);
}
