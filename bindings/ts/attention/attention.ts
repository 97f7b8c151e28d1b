// Scaled dot-product attention.

import { AttentionCall, type ScoresCall } from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, checkStatus, describe, wrongShape } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type HeadShape, headShape, type Layout } from '../runtime/layout.js';
import { type Named, type Out, type OutOption, outputs, type ResultOf } from '../runtime/outputs.js';
import { forStages, type ScoreStage, scoreStages } from '../runtime/score-stages.js';
import { type NdArray, type Operand, operand, type Tensor, type TensorInput } from '../runtime/tensor.js';
import { biasMask, type KeepMaskInput, keepMask } from './mask.js';
import { type AttentionPosition, type AttentionShapes, applyPosition, showsHidden } from './position.js';
import { boundsOf, putVisibility, type Visibility, type VisibilityOptions, visibilityOf } from './visibility.js';

/** Options of `rw.attention`. Names and order of steps are those of ONNX Attention (opset 25). */
export interface AttentionOptions<S extends ScoreRequest = ScoreRequest, O extends Out = undefined>
  extends VisibilityOptions,
    OutOption<O> {
  /** Multiplies q . k. Default 1 / sqrt(D). */
  scale?: number;
  /** c tanh(score / c), before biases and masks; above 0. Default none. */
  softcap?: number;
  /** Which keys each query may attend to. Default all. */
  mask?: KeepMaskInput;
  /** Added to the scaled scores; broadcasts to [B, H, Tq, Tk]. -Infinity hides a key. Default none. */
  bias?: TensorInput;
  /** `[H]`: one more logit in every row, which takes part in the softmax and has no value (gpt-oss). Default none. */
  sinks?: TensorInput;
  /** Default `BHTD`, for all of q, k, v and the result. */
  layout?: Layout;
  /** H, for q [B, Tq, H * D], k [B, Tk, G * D] and v [B, Tk, G * Dv], the results of projections. In place of `layout`. */
  heads?: number;
  /** G, with `heads`. Default `heads`. */
  kvHeads?: number;
  /** The position encoding. Default none. */
  position?: AttentionPosition;
  /** Scores to return: those of one stage, or of a list of stages. Default `none`. */
  returnScores?: S;
  /** Heads whose scores are returned, in this order. Default all. */
  scoreHeads?: readonly number[];
}

/** Scores to return. */
export type ScoreRequest = 'none' | ScoreStage | readonly ScoreStage[];

/** The result of `rw.attention`: of the inputs' kind, tensors or plain arrays; `out` of the kind of the option. */
export type AttentionResult<
  T extends Tensor | NdArray<Float32Array>,
  S extends ScoreRequest = 'none',
  R extends Tensor | NdArray<Float32Array> = T,
> = {
  /** The queries' shape with the values' head size. */
  readonly out: R;
} & ([S] extends ['none'] ? unknown : 'none' extends S ? Partial<Scored<T, S>> : Scored<T, S>);

/** The scores that were asked for. */
export interface Scored<T, S extends ScoreRequest> {
  /**
   * [B, H, Tq, Tk], or with `scoreHeads` as many heads; by name for a list of stages. A query that may attend to nothing
   * has probabilities of 0.
   */
  readonly scores: S extends readonly ScoreStage[]
    ? { readonly [N in S[number]]: T }
    : S extends ScoreStage
      ? T
      : never;
}

const stages = /* @__PURE__ */ forStages((stage) => scoreStages.indexOf(stage));

const scoreFields = ['scale', 'softcap', 'mask', 'bias', 'sinks', 'position', 'returnScores', 'scoreHeads'] as const;
const visibilityFields = ['causal', 'queryOffset', 'keyLengths', 'window', 'sinkTokens'] as const;

/** @internal */
export const attendFields = [...scoreFields, ...visibilityFields, 'layout', 'heads', 'out'] as const;

/** @internal */
export function requested(where: string, value: ScoreRequest | undefined): readonly ScoreStage[] {
  if (value === undefined || value === 'none') return [];
  if (typeof value === 'string' || !Array.isArray(value)) {
    check.choice(where, 'returnScores', value, { none: 0, ...stages });
    return [value as ScoreStage];
  }
  for (const [i, stage] of value.entries()) check.choice(where, `returnScores[${i}]`, stage, stages);
  return [...new Set(value as readonly ScoreStage[])];
}

/**
 * Where the scores of each head go, as the core takes it; undefined: all heads in order.
 * @internal
 */
export function scoreSlots(where: string, name: string, value: readonly number[] | undefined, heads: number) {
  if (value === undefined) return undefined;
  const chosen = check.positions(where, name, value);
  const slots = new Int32Array(heads).fill(-1);
  chosen.forEach((head, slot) => {
    check.integer(where, `${name}[${slot}]`, head, 0, heads - 1);
    if (slots[head] !== -1) throw new ArgumentRangeError(where, `${name}[${slot}]`, head, `is ${head} once more`);
    slots[head] = slot;
  });
  return { slots: new Uint8Array(slots.buffer), count: chosen.length };
}

/** Checked queries, keys and values; no k and v: those of a cache. @internal */
export interface AttentionInputs {
  readonly q: Operand;
  readonly k?: Operand;
  readonly v?: Operand;
  readonly qs: HeadShape;
  readonly ks: HeadShape;
  readonly vs: HeadShape;
  readonly tokensFirst: boolean;
  readonly outShape: readonly number[];
}

/**
 * [B, T, heads * D] as [B, T, heads, D].
 * @internal
 */
export function splitHeads(where: string, name: string, shape: readonly number[], heads: number): readonly number[] {
  const width = shape.at(-1) ?? 0;
  if (shape.length < 2 || shape.length > 3 || width % heads !== 0) {
    throw wrongShape(where, name, shape, shape, `[B, T, heads * D] with ${heads} heads`);
  }
  return [...shape.slice(0, -1), heads, width / heads];
}

interface HeadCounts {
  readonly layout?: Layout;
  readonly heads?: number;
  readonly kvHeads?: number;
}

// How to read the shapes of a call: heads of packed ones, or a layout.
function shapesOf(where: string, options: HeadCounts) {
  const { heads, kvHeads, layout } = options;
  if (heads === undefined) {
    if (kvHeads !== undefined) {
      const problem = `is ${describe(kvHeads)} without heads; shapes tell how many there are`;
      throw new ArgumentRangeError(where, 'kvHeads', kvHeads, problem);
    }
    const read = (name: string, shape: readonly number[]) => headShape(where, name, shape, layout ?? 'BHTD');
    return { packed: false, read };
  }
  const count = check.integer(where, 'heads', heads, 1, 2 ** 16);
  const kvCount = check.integer(where, 'kvHeads', kvHeads ?? count, 1, count);
  if (layout !== undefined) {
    const problem = `is ${describe(layout)} beside heads, which have an order of their own`;
    throw new ArgumentRangeError(where, 'layout', layout, problem);
  }
  const read = (name: string, shape: readonly number[]) =>
    headShape(where, name, splitHeads(where, name, shape, name === 'q' ? count : kvCount), 'BTHD');
  return { packed: true, read };
}

// The queries' shape with the values' head size.
function outShapeOf(q: Operand, qs: HeadShape, valueDim: number, packed: boolean): readonly number[] {
  return [...q.shape.slice(0, -1), packed ? qs.heads * valueDim : valueDim];
}

/** @internal */
export function inputsOf(
  heap: Heap,
  where: string,
  [qInput, kInput, vInput]: readonly TensorInput[],
  options: HeadCounts,
) {
  const q = operand(heap, where, 'q', qInput);
  const k = operand(heap, where, 'k', kInput);
  const v = operand(heap, where, 'v', vInput);
  const mismatch = (name: string, value: unknown, what: string): never => {
    throw new ArgumentRangeError(where, name, value, what);
  };
  const { packed, read } = shapesOf(where, options);
  const qs = read('q', q.shape);
  const ks = read('k', k.shape);
  const vs = read('v', v.shape);
  if (qs.dim === 0) mismatch('q', qInput, 'has heads of size 0; expected at least 1');
  if (ks.dim !== qs.dim) mismatch('k', kInput, `has head size ${ks.dim}, q has ${qs.dim}`);
  if (ks.batch !== qs.batch) mismatch('k', kInput, `has batch size ${ks.batch}, q has ${qs.batch}`);
  if (vs.batch !== qs.batch) mismatch('v', vInput, `has batch size ${vs.batch}, q has ${qs.batch}`);
  if (vs.tokens !== ks.tokens) mismatch('v', vInput, `has ${vs.tokens} tokens, k has ${ks.tokens}`);
  if (vs.heads !== ks.heads) mismatch('v', vInput, `has ${vs.heads} heads, k has ${ks.heads}`);
  if (ks.heads === 0 || qs.heads % ks.heads !== 0)
    mismatch('k', kInput, `has ${ks.heads} heads, which do not divide q's ${qs.heads}`);
  if (qs.tokensFirst !== ks.tokensFirst && ks.heads > 1) mismatch('k', kInput, 'has another number of axes than q');
  const tokensFirst = qs.tokensFirst || ks.tokensFirst;
  return { q, k, v, qs, ks, vs, tokensFirst, outShape: outShapeOf(q, qs, vs.dim, packed) };
}

/**
 * Queries over keys and values of a cache, which have these shapes.
 * @internal
 */
export function queriesOver(
  heap: Heap,
  where: string,
  qInput: TensorInput,
  ks: HeadShape,
  vs: HeadShape,
  options: { readonly layout?: Layout; readonly heads?: number },
): AttentionInputs {
  const q = operand(heap, where, 'q', qInput);
  const { packed, read } = shapesOf(where, options);
  const qs = read('q', q.shape);
  const mismatch = (what: string): never => {
    throw new ArgumentRangeError(where, 'q', qInput, what);
  };
  if (qs.dim !== ks.dim) mismatch(`has head size ${qs.dim}, the cache has ${ks.dim}`);
  if (qs.batch !== ks.batch) mismatch(`has batch size ${qs.batch}, the cache has ${ks.batch}`);
  if (qs.heads % ks.heads !== 0) mismatch(`has ${qs.heads} heads, no multiple of the cache's ${ks.heads}`);
  return { q, qs, ks, vs, tokensFirst: qs.tokensFirst, outShape: outShapeOf(q, qs, vs.dim, packed) };
}

function sinksOf(heap: Heap, where: string, value: TensorInput | undefined, heads: number): Operand | undefined {
  if (value === undefined) return undefined;
  const sinks = operand(heap, where, 'sinks', value);
  if (sinks.shape.length === 1 && sinks.size === heads) return sinks;
  throw wrongShape(where, 'sinks', value, sinks.shape, `one logit for each of ${heads} heads`);
}

/** @internal */
export function attention<X extends TensorInput, S extends ScoreRequest, O extends Out>(
  heap: Heap,
  qInput: X,
  kInput: TensorInput,
  vInput: TensorInput,
  options: AttentionOptions<S, O>,
): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
  const where = 'attention';
  const given = check.options(where, 'options', options, [...attendFields, 'keyPositions', 'kvHeads']);
  const inputs = inputsOf(heap, where, [check.read(qInput), check.read(kInput), check.read(vInput)], given);
  const visibility = visibilityOf(where, boundsOf(where, given), given, inputs.qs, inputs.ks);
  return attend<X, S, O>(heap, where, inputs, given, visibility, (fields) =>
    heap.call((core) => core.attention(fields)),
  );
}

/**
 * Checks the options that do not depend on where keys come from, and hands the whole call to `run`, which answers the
 * core's status.
 * @internal
 */
export function attend<X extends TensorInput, S extends ScoreRequest, O extends Out>(
  heap: Heap,
  where: string,
  inputs: AttentionInputs,
  options: AttentionOptions<S, O>,
  visibility: Visibility,
  run: (fields: number) => number,
): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
  const { q, k, v, qs, ks, vs } = inputs;
  const scoreShape = [qs.batch, qs.heads, qs.tokens, ks.tokens] as const;
  const keep = keepMask(heap, where, options.mask, scoreShape);
  const bias = biasMask(heap, where, options.bias, scoreShape);
  const sinks = sinksOf(heap, where, options.sinks, qs.heads);
  const scale = check.float32Number(where, 'scale', options.scale ?? 1 / Math.sqrt(qs.dim));
  const softcap = options.softcap === undefined ? 0 : check.positiveFloat32(where, 'softcap', options.softcap);
  const wanted = requested(where, options.returnScores);
  const shapes: AttentionShapes = { q: qs, k: ks, valueDim: vs.dim, visibility, showsHidden: showsHidden(wanted) };
  const position = applyPosition(heap, where, options.position, shapes);

  const slots = scoreSlots(where, 'scoreHeads', options.scoreHeads, qs.heads);
  const givenShape = [qs.batch, slots?.count ?? qs.heads, qs.tokens, ks.tokens];
  const parts = wanted.includes('content') || wanted.includes('position');

  const work = (at: Named<ScoreStage, number>, scratch: Scratch): void => {
    const qAt = position.rotate ? q.copy(scratch) : q.address(scratch);
    const kAt = position.rotate ? k?.copy(scratch) : k?.address(scratch);
    position.rotate?.(qAt, kAt ?? 0, scratch);
    const scores: ScoresCall = {
      ...at,
      ...(position.rotate && parts && { plainQ: q.address(scratch), plainK: k?.address(scratch) }),
      slots: slots && heap.put(scratch, slots.slots),
      slotCount: slots?.count,
    };
    const call: AttentionCall = {
      out: at.out,
      q: qAt,
      k: kAt,
      v: v?.address(scratch),
      batch: qs.batch,
      heads: qs.heads,
      kvHeads: ks.heads,
      queries: qs.tokens,
      keys: ks.tokens,
      headDim: qs.dim,
      valueDim: vs.dim,
      tokensFirst: inputs.tokensFirst,
      visibility: putVisibility(heap, visibility, scratch),
      options: {
        scale,
        softcap,
        keep: keep(scratch),
        bias: bias(scratch),
        sinks: sinks?.address(scratch),
        ...position.part(scratch),
      },
      scores,
    };
    checkStatus(run(heap.putCall(scratch, AttentionCall, call)), where);
  };
  const asked: { readonly [S in ScoreStage]?: readonly number[] } = Object.fromEntries(
    wanted.map((stage) => [stage, givenShape]),
  );
  const shapesOut = { out: inputs.outShape, ...asked };
  const results = outputs(heap, where, q.tensor !== undefined, shapesOut, options.out, work);
  return resultOf<X, S, O>(options.returnScores, wanted, results);
}

/**
 * The result with its scores as they were asked for.
 * @internal
 */
export function resultOf<X extends TensorInput, S extends ScoreRequest, O extends Out>(
  request: ScoreRequest | undefined,
  [only]: readonly ScoreStage[],
  { out, ...scores }: Named<ScoreStage, Tensor | NdArray, Tensor | NdArray<Float32Array>>,
): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
  const isList = Array.isArray(request);
  const given = only === undefined && !isList ? {} : { scores: isList ? scores : scores[only as ScoreStage] };
  return { out, ...given } as AttentionResult<ResultOf<X>, S, ResultOf<X, O>>;
}
