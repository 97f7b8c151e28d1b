// Intermediates that a layer gives back by name.
import { scoreSlots } from '../attention/attention.js';
import type { CaptureCall } from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentTypeError } from '../runtime/errors.js';
import { forStages, type ScoreStage } from '../runtime/score-stages.js';
import type { NdArray, Tensor } from '../runtime/tensor.js';

/**
 * Intermediates of attention. `q` [B, T, H, D], `k` [B, T, G, D] and `v` [B, T, G, Dv] after bias and norm,
 * before a rotary encoding; `qRotated`, `kRotated`, `vRotated` after it; scores by stage as in
 * `rw.attention`, [B, H, T, Tk]; `context` [B, T, H, Dv], the heads' results before the output projection.
 */
export type AttentionCaptureName = ('q' | 'k' | 'v' | 'qRotated' | 'kRotated' | 'vRotated' | 'context') | ScoreStage;

/**
 * Intermediates of a whole layer: those of attention, and four of x's shape. `normed` is the input of attention,
 * `attentionOut` its result, `hidden` the h of NormPlacement (parallel layers have none), `mlp` the result of the feed-forward
 * part. `attentionOut` and `mlp` are taken before norms after them and residualScale.
 */
export type CaptureName = AttentionCaptureName | 'normed' | 'attentionOut' | 'hidden' | 'mlp';

/** The result of a layer: of the inputs' kind, tensors or plain arrays; `out` of the kind of the option. */
export type LayerResult<
  T extends Tensor | NdArray<Float32Array>,
  C extends readonly CaptureName[] = [],
  R extends Tensor | NdArray<Float32Array> = T,
> = {
  /** x's shape. */
  readonly out: R;
} & (C extends readonly []
  ? unknown
  : {
      /** What was asked for, by name; see CaptureName for the shapes. */
      readonly captured: { readonly [N in C[number]]: T };
    });

/** Sizes of one pass. @internal */
export interface PassShape {
  readonly x: readonly number[];
  readonly batch: number;
  readonly tokens: number;
  readonly keys: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
}

type ShapeOf = (s: PassShape, scoreHeads: number) => readonly number[];

const queries: ShapeOf = (s) => [s.batch, s.tokens, s.heads, s.headDim];
const keys: ShapeOf = (s) => [s.batch, s.tokens, s.kvHeads, s.headDim];
const values: ShapeOf = (s) => [s.batch, s.tokens, s.kvHeads, s.valueDim];
const context: ShapeOf = (s) => [s.batch, s.tokens, s.heads, s.valueDim];
const scores: ShapeOf = (s, scoreHeads) => [s.batch, scoreHeads, s.tokens, s.keys];
const rows: ShapeOf = (s) => s.x;

const ofAttention: Readonly<Record<AttentionCaptureName, ShapeOf>> = {
  q: queries,
  k: keys,
  v: values,
  qRotated: queries,
  kRotated: keys,
  vRotated: values,
  context,
  .../* @__PURE__ */ forStages(() => scores),
};
const shapes: Readonly<Record<CaptureName, ShapeOf>> = {
  ...ofAttention,
  normed: rows,
  attentionOut: rows,
  hidden: rows,
  mlp: rows,
};

/** @internal */
export const attentionCaptures = /* @__PURE__ */ Object.keys(ofAttention) as readonly CaptureName[];
/** @internal */
export const allCaptures = /* @__PURE__ */ Object.keys(shapes) as readonly CaptureName[];

/** A checked request. @internal */
export interface Capture {
  readonly names: readonly CaptureName[];
  /** Whose scores, as the core takes it; undefined: those of all heads. */
  readonly slots: Uint8Array | undefined;
  readonly scoreHeads: number;
}

/** @internal */
export function checkCapture(
  where: string,
  value: unknown,
  captureHeads: readonly number[] | undefined,
  known: readonly CaptureName[],
  heads: number,
): Capture {
  if (value !== undefined && !Array.isArray(value)) {
    throw new ArgumentTypeError(where, 'capture', value, 'an array of names');
  }
  const choices = Object.fromEntries(known.map((name, i) => [name, i]));
  const names = [...((value ?? []) as readonly CaptureName[])];
  for (const [i, name] of names.entries()) check.choice(where, `capture[${i}]`, name, choices);
  const slots = scoreSlots(where, 'captureHeads', captureHeads, heads);
  return { names: [...new Set(names)], slots: slots?.slots, scoreHeads: slots?.count ?? heads };
}

/** @internal */
export function captureShapes(capture: Capture, shape: PassShape): Partial<Record<CaptureName, readonly number[]>> {
  return Object.fromEntries(capture.names.map((name) => [name, shapes[name](shape, capture.scoreHeads)]));
}

/**
 * What the core takes: where each result goes.
 * @internal
 */
export function captureCall(
  capture: Capture,
  at: { readonly [N in CaptureName]?: number },
  slots: number,
): CaptureCall {
  return { ...at, scores: { ...at, slots, slotCount: capture.scoreHeads } };
}
