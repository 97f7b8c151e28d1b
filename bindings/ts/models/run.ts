// A run through all layers of a model, which keeps what lies between them in wasm memory and gives back what was asked
// for by layer. It can be interrupted between two layers; what is in one piece takes all steps at once.

import type { KvCache } from '../kv-cache/kv-cache.js';
import { type Capture, type CaptureName, checkCapture } from '../layers/capture.js';
import { type ForwardOptions, type PassLayer, pass } from '../layers/pass.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { EventLoop } from '../runtime/event-loop.js';
import type { NdArray, Tensor } from '../runtime/tensor.js';

/** What can be seen of a pass. */
export interface InspectOptions<C extends readonly CaptureName[] = readonly CaptureName[]> {
  /** Intermediates of the layers to give back; see `CaptureName`. */
  capture?: C;
  /** Of which layers, counted from 0. Default all. */
  captureLayers?: readonly number[];
  /** Whose scores are captured, in this order. Default those of all heads. */
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

/** Checked InspectOptions. @internal */
export interface Inspection {
  readonly capture: readonly CaptureName[] | undefined;
  readonly heads: readonly number[] | undefined;
  readonly layers: ReadonlySet<number>;
  readonly hiddenStates: boolean;
  /** Whether anything is asked for that has to come of one pass over all tokens. */
  readonly whole: boolean;
}

/** @internal */
export function checkInspect(where: string, options: InspectOptions, layers: readonly PassLayer[]): Inspection {
  const { capture, captureLayers, captureHeads, hiddenStates = false } = options;
  check.boolean(where, 'hiddenStates', hiddenStates);
  if (captureLayers !== undefined && !Array.isArray(captureLayers)) {
    throw new ArgumentTypeError(where, 'captureLayers', captureLayers, 'an array of layers');
  }
  const chosen = (captureLayers ?? layers.map((_, i) => i)).map((layer, i) =>
    check.integer(where, `captureLayers[${i}]`, layer, 0, layers.length - 1),
  );
  let checked: Capture | undefined;
  for (const layer of layers.slice(0, 1)) {
    checked = checkCapture(where, capture, captureHeads, layer.captures, layer.dims.heads);
  }
  for (const [name, value] of [
    ['captureLayers', captureLayers],
    ['captureHeads', captureHeads],
  ] as const) {
    if (value !== undefined && capture === undefined) {
      throw new ArgumentRangeError(where, name, value, 'is for capture, which is not given');
    }
  }
  const names = capture === undefined ? undefined : (checked?.names ?? []);
  return {
    capture: names,
    heads: captureHeads === undefined ? undefined : [...captureHeads],
    layers: new Set(chosen),
    hiddenStates,
    whole: hiddenStates || names !== undefined,
  };
}

/** What a run leaves. @internal */
export interface Run {
  /** Of the last layer; the caller's to dispose of. */
  readonly x: Tensor;
  readonly captured: CapturedLayer[];
  readonly hiddenStates: NdArray[];
}

function taken(tensor: Tensor, batched: boolean): NdArray {
  const shape = batched ? [...tensor.shape] : tensor.shape.slice(1);
  return { data: tensor.data(), shape };
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

/** @internal */
export const passFields = ['signal', 'onProgress'] as const;

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

/** Takes x, which it disposes of. @internal */
export function* run(
  layers: readonly PassLayer[],
  first: Tensor,
  inspection: Inspection,
  batched: boolean,
  options: ForwardOptions,
  caches: readonly KvCache[] | undefined,
): Steps<Run> {
  const captured: CapturedLayer[] = [];
  const hiddenStates: NdArray[] = [];
  let x = first;
  let complete = false;
  try {
    for (const [i, layer] of layers.entries()) {
      if (inspection.hiddenStates) hiddenStates.push(taken(x, batched));
      const wanted = inspection.capture !== undefined && inspection.layers.has(i);
      const result = pass(layer, x, {
        ...options,
        ...(wanted && { capture: inspection.capture as readonly CaptureName[] }),
        ...(wanted && inspection.heads !== undefined && { captureHeads: inspection.heads }),
        ...(caches !== undefined && { cache: caches[i] as KvCache }),
      });
      x.dispose();
      x = result.out as Tensor;
      if (result.captured !== undefined) captured.push(capturedOf(i, result.captured, batched));
      yield { loaded: i + 1, total: layers.length };
    }
    complete = true;
    return { x, captured, hiddenStates };
  } finally {
    if (!complete) x.dispose();
  }
}

// Results of a [B, T, ...] pass; where ids had no batch axis, neither have these: scores [H, T, Tk], q [T, H, D].
function capturedOf(layer: number, tensors: Readonly<Record<string, unknown>>, batched: boolean): CapturedLayer {
  const entries = Object.entries(tensors) as [string, Tensor][];
  try {
    return {
      layer,
      ...Object.fromEntries(entries.map(([name, each]) => [name, taken(each, batched)])),
    } as CapturedLayer;
  } finally {
    for (const [, each] of entries) each.dispose();
  }
}
