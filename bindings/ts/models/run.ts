// Runs all layers of a model. Hidden states stay in wasm memory; only what was asked for is copied out. A run can be
// interrupted between two layers, or take all steps at once.

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

/** Options for the intermediates that a pass gives back. */
export interface InspectOptions<C extends readonly CaptureName[] = readonly CaptureName[]> {
  /** Intermediates of the layers to give back; see `CaptureName`. */
  capture?: C;
  /** Of which layers, counted from 0. Default all. */
  captureLayers?: readonly number[];
  /** The query heads whose scores are captured, in this order. Default all. */
  captureHeads?: readonly number[];
  /** Gives back what enters every layer, and what the last norm gives: one more than there are layers. Default no. */
  hiddenStates?: boolean;
}

/** @internal */
export const inspectFields = ['capture', 'captureLayers', 'captureHeads', 'hiddenStates'] as const;

/** What one layer computed on its way. */
export type CapturedLayer<C extends readonly CaptureName[] = readonly CaptureName[]> = {
  readonly layer: number;
} & { readonly [N in C[number]]: NdArray };

/** The intermediates of a pass. For ids [T] no result has a batch axis. */
export interface Inspected<C extends readonly CaptureName[] = readonly CaptureName[]> {
  /** With `hiddenStates`: [B, T, M] that enters each layer, and last what the last norm gives. */
  readonly hiddenStates?: readonly NdArray[];
  /** With `capture`: for each layer asked for, in ascending order. */
  readonly captured?: readonly CapturedLayer<C>[];
}

/** Checked InspectOptions. @internal */
export interface Inspection {
  readonly capture: readonly CaptureName[] | undefined;
  readonly heads: readonly number[] | undefined;
  readonly layers: ReadonlySet<number>;
  readonly hiddenStates: boolean;
  /** Whether anything is asked for that has to come of one pass over all tokens. */
  readonly whole: boolean;
}

// Nothing is to be seen.
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

/** How far a pass has come, in layers. */
export interface PassProgress {
  readonly loaded: number;
  readonly total: number;
}

/** Options of a pass that lets others run between two layers. */
export interface PassOptions {
  /** Ends the pass with the signal's reason. */
  signal?: AbortSignal;
  /** Called after every layer. What it throws ends the pass. */
  onProgress?: (progress: PassProgress) => void;
}

/** A pass that can be interrupted, with what is to be told of it. @internal */
export type Steps<T> = Generator<PassProgress | undefined, T, undefined>;

/** All steps at once. @internal */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Step after step, and others in between; what the steps hold is freed whatever happens. @internal */
export async function inTurns<T>(steps: Steps<T>, { signal, onProgress }: PassOptions, alive: () => void): Promise<T> {
  const loop = new EventLoop();
  try {
    for (;;) {
      signal?.throwIfAborted();
      alive(); // others have run in between
      const { done, value } = steps.next();
      if (done) return value;
      if (value !== undefined) onProgress?.(value);
      await loop.pause();
    }
  } finally {
    steps.return(undefined as T);
  }
}

/** What was to be seen of a run, by layer. @internal */
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
  /** Those of the pass. */
  readonly caches: readonly KvCache[] | undefined;
  readonly inspection: Inspection;
  /** Whether ids had a batch axis: where they had none, neither have results, scores [H, T, Tk], q [T, H, D]. */
  readonly batched: boolean;
  /** Whether others run between two layers. */
  readonly inTurns: boolean;
}

/** Runs the layers over x: all at once, or one by one where someone looks or runs in between. @internal */
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

// x as it is.
function entering({ heap, layers, pass, batched }: Run): NdArray {
  const shape = [pass.batch, pass.tokens, layers[0]?.dims.modelDim ?? 0];
  return { data: heap.readFloats(pass.x, check.sizeOf(shape)), shape: without(shape, batched) };
}

// Runs a layer, and gives what was asked for of it.
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
