// One pass through a layer: checks what a caller hands over, and makes the core's call of it.
import {
  type Capture,
  type CaptureName,
  captureCall,
  captureShapes,
  checkCapture,
  type LayerResult,
} from './capture.js';
import type { LayerCall } from './core.mjs';
import { ArgumentRangeError, checkStatus } from './errors.js';
import type { Heap } from './heap.js';
import type { LayerDims, LayerScores } from './layer-options.js';
import { attentionShapes, type LayerPlace } from './layer-position.js';
import { type KeepMaskInput, keepMask } from './mask.js';
import { type Named, outputs } from './outputs.js';
import { type Places, type PositionOptions, places } from './positions.js';
import type { RopePlan } from './rope.js';
import { placeSight, sightOf } from './sight.js';
import { type NdArray, type Operand, operand, type Tensor, type TensorInput } from './tensor.js';

/** Options of one pass through a layer. */
export interface ForwardOptions<C extends readonly CaptureName[] = readonly CaptureName[]> extends PositionOptions {
  /** Which keys may be attended to; broadcasts to [B, H, T, T]. A padding mask of a batch is [B, 1, 1, T]. */
  mask?: KeepMaskInput;
  /** Intermediates to give back. Asking for them changes no bit of `out`. */
  capture?: C;
  /** Whose scores are captured, in this order. Default those of all heads. */
  captureHeads?: readonly number[];
}

/** @internal */
export const forwardFields = ['offset', 'positions', 'mask', 'capture', 'captureHeads'] as const;

/** What a pass has to know of its layer. @internal */
export interface PassLayer {
  readonly heap: Heap;
  readonly where: string;
  readonly dims: LayerDims;
  readonly scores: LayerScores;
  readonly place: LayerPlace;
  /** The address of the sinks' logits, or 0. */
  readonly sinks: number;
  readonly captures: readonly CaptureName[];
  /** Refuses a layer that was disposed. */
  alive(): void;
  /** Changes x on its way in, if need be: gives its address. */
  enter?(x: Operand, shape: { batch: number; tokens: number; at: Places }, take: (bytes: number) => number): number;
  run(call: LayerCall, rope: RopePlan['plan'] | null): number;
}

function tokensOf(where: string, x: TensorInput, input: Operand, modelDim: number) {
  const rank = input.shape.length;
  if ((rank !== 2 && rank !== 3) || input.shape.at(-1) !== modelDim) {
    const problem = `has shape [${input.shape.join(', ')}]; expected [T, ${modelDim}] or [B, T, ${modelDim}]`;
    throw new ArgumentRangeError(where, 'x', x, problem);
  }
  return { batch: input.shape.at(-3) ?? 1, tokens: input.shape.at(-2) ?? 1 };
}

function checkPlaces(layer: PassLayer, options: PositionOptions, batch: number, tokens: number): Places {
  const { encoding, rope } = layer.place;
  if (options.positions !== undefined && !['none', 'rope', 'sinusoidal'].includes(encoding)) {
    const problem = `are for rotary and absolute encodings; with ${encoding} tokens stand one after the other`;
    throw new ArgumentRangeError(layer.where, 'positions', options.positions, problem);
  }
  rope?.usableIn(layer.heap, layer.where, "the layer's plan");
  return places(layer.where, options, batch, tokens, rope?.axes ?? 1);
}

/** @internal */
export function pass(
  layer: PassLayer,
  x: TensorInput,
  options: ForwardOptions,
): LayerResult<Tensor | NdArray> & { readonly captured?: { readonly [N in CaptureName]?: Tensor | NdArray } } {
  const { heap, where, dims, scores, place } = layer;
  const input = operand(heap, where, 'x', x);
  const { batch, tokens } = tokensOf(where, x, input, dims.modelDim);
  const at = checkPlaces(layer, options, batch, tokens);
  const keep = keepMask(heap, where, options.mask, [batch, dims.heads, tokens, tokens]);
  const capture: Capture = checkCapture(where, options.capture, options.captureHeads, layer.captures, dims.heads);
  const heads = { batch, heads: dims.heads, tokens, dim: dims.headDim, tokensFirst: true };
  const sight = sightOf(where, { ...scores.sight, queryOffset: 0 }, heads, heads);
  const shapes = attentionShapes(dims, batch, tokens, tokens, sight);

  const asked: Named<CaptureName, readonly number[]> = {
    out: input.shape,
    ...captureShapes(capture, { x: input.shape, batch, tokens, keys: tokens, ...dims }),
  };
  const results = outputs<CaptureName>(heap, where, input.tensor !== undefined, asked, (to, take) => {
    const call: LayerCall = {
      out: to.out,
      x: layer.enter?.(input, { batch, tokens, at }, take) ?? input.place(take),
      batch,
      tokens,
      positions: at.place(heap, take),
      turnValues: scores.turnValues,
      sight: placeSight(heap, sight, take),
      options: {
        scale: scores.scale,
        softcap: scores.softcap,
        keep: keep(take),
        bias: { data: 0, batchStride: 0, headStride: 0, queryStride: 0, keyStride: 0 },
        sinks: layer.sinks,
        ...place.part(shapes, take),
      },
      capture: captureCall(capture, to, capture.slots === undefined ? 0 : heap.put(take, capture.slots)),
    };
    layer.alive(); // a getter of an argument may have disposed of it
    place.rope?.usableIn(heap, where, "the layer's plan");
    checkStatus(
      heap.call(() => layer.run(call, place.rope?.plan ?? null)),
      where,
    );
  });
  const { out, ...captured } = results;
  return options.capture === undefined ? { out } : { out, captured };
}
