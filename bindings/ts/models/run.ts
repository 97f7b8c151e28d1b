// Runs all layers of a model. Hidden states stay in wasm memory; only requested results are copied out. A run can be
// interrupted between two layers, or run all at once.

import type { LayerStack } from '../core.mjs';
import type { KvCache } from '../kv-cache/kv-cache.js';
import { type CaptureName, captureCall, captureShapes, checkCapture } from '../layers/capture.js';
import { checkWindowedCapture } from '../layers/pass.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { EventLoop } from '../runtime/event-loop.js';
import type { Heap } from '../runtime/heap.js';
import type { NdArray } from '../runtime/tensor.js';
import { type ModelLayer, runLayers, type StackPass } from './stack.js';

/** Options for the intermediates that a pass returns. */
export interface InspectOptions<C extends readonly CaptureName[] = readonly CaptureName[]> {
  /** The intermediates of layers to return; see `CaptureName`. Default: none. */
  capture?: C;
  /** The layers whose intermediates are captured, counted from 0. Default: all. */
  captureLayers?: readonly number[];
  /** The query heads whose scores are captured, in this order. Default: all. */
  captureHeads?: readonly number[];
  /** Whether to return the input of every layer and the output of the last norm. Default false. */
  hiddenStates?: boolean;
}

/** @internal */
export const inspectFields = ['capture', 'captureLayers', 'captureHeads', 'hiddenStates'] as const;

/** The captured intermediates of one layer. */
export type CapturedLayer<C extends readonly CaptureName[] = readonly CaptureName[]> = {
  /** Counted from 0. */
  readonly layer: number;
} & { readonly [N in C[number]]: NdArray };

/** The intermediates of a pass. For ids [T] they have no batch axis. */
export interface Inspected<C extends readonly CaptureName[] = readonly CaptureName[]> {
  /** With `hiddenStates`: the input [B, T, M] of each layer, then the output of the last norm. */
  readonly hiddenStates?: readonly NdArray[];
  /** With `capture`: one entry for each requested layer, in ascending order. */
  readonly captured?: readonly CapturedLayer<C>[];
}

/** Checked InspectOptions. @internal */
export interface Inspection {
  readonly capture: readonly CaptureName[] | undefined;
  readonly heads: readonly number[] | undefined;
  readonly layers: ReadonlySet<number>;
  readonly hiddenStates: boolean;
  /** Whether any of it requires one pass over all tokens. */
  readonly whole: boolean;
}

const nothing: Inspection = {
  capture: undefined,
  heads: undefined,
  layers: new Set(),
  hiddenStates: false,
  whole: false,
};

/** @internal */
export function checkInspect(where: string, options: InspectOptions, layers: readonly ModelLayer[]): Inspection {
  const { capture, captureLayers, captureHeads, hiddenStates = false } = options;
  check.boolean(where, 'hiddenStates', hiddenStates);
  if (captureLayers !== undefined && !Array.isArray(captureLayers)) {
    throw new ArgumentTypeError(where, 'captureLayers', captureLayers, 'an array of layers');
  }
  for (const [name, value] of Object.entries({ captureLayers, captureHeads })) {
    if (value !== undefined && capture === undefined) {
      throw new ArgumentRangeError(where, name, value, 'is for capture, which is not given');
    }
  }
  if (capture === undefined) return hiddenStates ? { ...nothing, hiddenStates, whole: true } : nothing;
  const chosen = (captureLayers ?? layers.map((_, i) => i)).map((layer, i) =>
    check.integer(where, `captureLayers[${i}]`, layer, 0, layers.length - 1),
  );
  const [first] = layers;
  const names = first && checkCapture(where, capture, captureHeads, first.captures, first.dims.heads).names;
  return {
    capture: names ?? [],
    heads: captureHeads && [...captureHeads],
    layers: new Set(chosen),
    hiddenStates,
    whole: true,
  };
}

/** Progress of a pass, in layers. */
export interface PassProgress {
  /** Layers that have run. */
  readonly loaded: number;
  /** Layers of the pass. */
  readonly total: number;
}

/** Options of a pass that lets other work run between two layers. */
export interface PassOptions {
  /** Ends the pass with the signal's reason. */
  signal?: AbortSignal;
  /** Called after every layer. An error that it throws ends the pass. */
  onProgress?: (progress: PassProgress) => void;
}

/** A pass that can be interrupted; yields its progress. @internal */
export type Steps<T> = Generator<PassProgress | undefined, T, undefined>;

/** Runs all steps at once. @internal */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Runs the steps with other work in between; ends the generator in any case, so that it frees its memory. @internal */
export async function inTurns<T>(steps: Steps<T>, { signal, onProgress }: PassOptions, alive: () => void): Promise<T> {
  const loop = new EventLoop();
  try {
    for (;;) {
      signal?.throwIfAborted();
      alive(); // other work has run in between
      const { done, value } = steps.next();
      if (done) return value;
      if (value !== undefined) onProgress?.(value);
      await loop.pause();
    }
  } finally {
    steps.return(undefined as T);
  }
}

/** The requested intermediates of a run, by layer. @internal */
export interface Seen {
  readonly captured: CapturedLayer[];
  readonly hiddenStates: NdArray[];
}

/** A run through all layers. @internal */
export interface Run {
  readonly heap: Heap;
  readonly where: string;
  readonly layers: readonly ModelLayer[];
  readonly stack: LayerStack;
  readonly pass: StackPass;
  /** The caches in `pass`, by layer. */
  readonly caches: readonly KvCache[] | undefined;
  readonly inspection: Inspection;
  /** Whether ids have a batch axis; without it, results have none either: scores [H, T, Tk], q [T, H, D]. */
  readonly batched: boolean;
  /** Whether other work runs between two layers. */
  readonly inTurns: boolean;
}

/** Runs the layers over x: all at once, or one by one for intermediates or other work. @internal */
export function* run(given: Run): Steps<Seen> {
  const { heap, where, layers, stack, pass, inspection } = given;
  const seen: Seen = { captured: [], hiddenStates: [] };
  const total = layers.length;
  const atOnce = inspection.whole || given.inTurns ? 1 : total;
  if (given.caches !== undefined && inspection.capture !== undefined) {
    for (const i of inspection.layers) {
      if (given.caches[i]?.windowed) checkWindowedCapture(where, inspection.capture);
    }
  }
  for (let i = 0; i < total; i += atOnce) {
    if (inspection.hiddenStates) seen.hiddenStates.push(entering(given));
    if (inspection.capture !== undefined && inspection.layers.has(i)) seen.captured.push(capturing(given, i));
    else runLayers(heap, where, stack, pass, i, i + atOnce);
    yield { loaded: i + atOnce, total };
  }
  return seen;
}

const without = (axes: readonly number[], batched: boolean) => (batched ? [...axes] : axes.slice(1));

// A copy of x, the input of the next layer.
function entering({ heap, layers, pass, batched }: Run): NdArray {
  const shape = [pass.batch, pass.tokens, layers[0]?.dims.modelDim ?? 0];
  return { data: heap.readFloats(pass.x, check.sizeOf(shape)), shape: without(shape, batched) };
}

// Runs a layer and returns its requested intermediates.
function capturing({ heap, where, layers, stack, pass, caches, inspection, batched }: Run, i: number): CapturedLayer {
  const { dims, captures } = layers[i] as ModelLayer;
  const { batch, tokens } = pass;
  const capture = checkCapture(where, inspection.capture, inspection.heads, captures, dims.heads);
  const x = [batch, tokens, dims.modelDim];
  const shapes = captureShapes(capture, { x, batch, tokens, keys: tokens + (caches?.[i]?.length ?? 0), ...dims });
  return heap.scope(where, (scratch) => {
    const slots = capture.slots === undefined ? 0 : heap.put(scratch, capture.slots);
    const results = Object.entries(shapes).map(([name, shape]) => {
      const size = check.sizeOf(shape);
      return { name, shape, size, at: scratch(size * 4) };
    });
    const at = Object.fromEntries(results.map((each) => [each.name, each.at]));
    runLayers(heap, where, stack, pass, i, i + 1, captureCall(capture, at, slots));
    return {
      layer: i,
      ...Object.fromEntries(
        results.map((each) => [
          each.name,
          { data: heap.readFloats(each.at, each.size), shape: without(each.shape, batched) },
        ]),
      ),
    } as CapturedLayer;
  });
}
