// Linear attention in one call.

import type { KeepMaskInput } from '../attention/mask.js';
import * as calls from '../calls.js';
import type { RopePlan as CoreRopePlan } from '../core.mjs';
import type { RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import type { HeadShape, Layout } from '../runtime/layout.js';
import { type Named, type Out, type OutOption, outputs, type ResultOf } from '../runtime/outputs.js';
import { type CheckedPositions, checkedPositionsOf, type PositionsInput } from '../runtime/positions.js';
import type { NdArray, Tensor, TensorInput } from '../runtime/tensor.js';
import { type CheckedForm, checkForm, checkPosition, formFields, type LinearForm, type RopeForm } from './form.js';
import { keyMask, type LinearOperands, linearOperands } from './shapes.js';

/** The position encodings of `rw.linearAttention`. */
export type LinearPosition =
  | {
      /** The result does not depend on positions. */
      encoding: 'none';
    }
  | {
      /** Features of queries and keys are rotated. */
      encoding: 'rope';
      /** Rotates heads of size D. */
      plan: RopePlan;
      /** Default `numerator`; for cosine similarity `both`, the only one. */
      form?: RopeForm;
      /** Positions of the queries: the first one, or a list. Default: those of the last keys, one for each query. */
      queries?: number | PositionsInput;
      /** Positions of the keys: the first one, or a list. Default 0, 1, 2, ... */
      keys?: number | PositionsInput;
    };

/** Options of `rw.linearAttention`. */
export interface LinearAttentionOptions<O extends Out = undefined> extends LinearForm, OutOption<O> {
  /** The position encoding. Default none. */
  position?: LinearPosition;
  /** Query i sees the keys up to i + Tk - Tq; Tk is at least Tq. Default false. */
  causal?: boolean;
  /** Which keys enter the sums: [Tk] or [B, Tk], 1 or true keeps. Hidden keys and their values are not read. Default all. */
  mask?: KeepMaskInput;
  /** Default `BHTD`, for all of q, k, v and the result. */
  layout?: Layout;
  /** Whether to return the denominators. Default false. */
  returnDenominators?: boolean;
}

/** Statistics of the denominators, the sums of weights, over all B H Tq rows. */
export interface DenominatorReport {
  /** The least |denominator|, 0 included; Infinity where there are no rows. Near 0 a row is mostly rounding error. */
  readonly minimum: number;
  /** Rows with a denominator below 0: it has changed its sign. */
  readonly negative: number;
  /** Rows with a denominator of exactly 0, which are given as zeros. */
  readonly zero: number;
  /** Rows with an infinite denominator (exp overflowed), which are given as zeros, or with NaN, which stay NaN. */
  readonly nonFinite: number;
}

/** The result of linear attention: of the inputs' kind, tensors or plain arrays; `out` of the kind of the option. */
export interface LinearAttentionResult<
  T extends Tensor | NdArray<Float32Array>,
  R extends Tensor | NdArray<Float32Array> = T,
> {
  /** The queries' shape with the values' head size. */
  readonly out: R;
  /** Unless `normalize` is false. */
  readonly denominator?: DenominatorReport;
  /** [B, H, Tq], if `returnDenominators` asked for them. With form `both` they hold the plan's attentionFactor, squared. */
  readonly denominators?: T;
}

/** A call with everything checked. @internal */
export interface LinearCall {
  readonly operands: LinearOperands;
  readonly form: CheckedForm;
  readonly causal: boolean;
  readonly mask: KeepMaskInput | undefined;
  readonly positions: { readonly queries: CheckedPositions; readonly keys: CheckedPositions };
  readonly returnDenominators: boolean;
  readonly out: Out;
}

/** @internal */
export function checkReturn(where: string, value: unknown, normalize: boolean): boolean {
  const wanted = check.boolean(where, 'returnDenominators', value ?? false);
  if (wanted && !normalize) {
    const problem = 'is true; without normalize there are no denominators';
    throw new ArgumentRangeError(where, 'returnDenominators', wanted, problem);
  }
  return wanted;
}

/**
 * Runs a checked call; `run` hands its fields to the core.
 * @internal
 */
export function runLinear<X extends TensorInput, O extends Out>(
  heap: Heap,
  where: string,
  { operands, form, causal, mask, positions, returnDenominators, out }: LinearCall,
  run: (fields: number, plan: CoreRopePlan | null, scratch: Scratch) => number,
): LinearAttentionResult<ResultOf<X>, ResultOf<X, O>> {
  const { q, k, v, queries, keys, values, tokensFirst, outShape } = operands;
  const keep = keyMask(heap, where, mask, keys);
  const rows = returnDenominators && { denominators: [queries.batch, queries.heads, queries.tokens] };
  let denominator: DenominatorReport | undefined;
  const shapes: Named<'denominators', readonly number[]> = { out: outShape, ...rows };
  const result = outputs(heap, where, q.tensor !== undefined, shapes, out, (at, scratch) => {
    const report = scratch(calls.DenominatorReport.doubles * 8);
    const call = {
      out: at.out,
      denominators: at.denominators,
      report,
      q: q.address(scratch),
      k: k.address(scratch),
      v: v.address(scratch),
      batch: queries.batch,
      heads: queries.heads,
      kvHeads: keys.heads,
      queries: queries.tokens,
      keys: keys.tokens,
      headDim: queries.dim,
      valueDim: values.dim,
      tokensFirst,
      causal,
      queryPositions: positions.queries.put(heap, scratch),
      keyPositions: positions.keys.put(heap, scratch),
      ...keep(scratch),
      ...form.norm(scratch),
    };
    const fields = heap.putCall(scratch, calls.LinearAttentionCall, call);
    heap.run(where, () => run(fields, form.plan?.plan ?? null, scratch));
    if (form.core.normalize) denominator = heap.readResult(calls.DenominatorReport, report);
  });
  return { ...result, ...(denominator && { denominator }) } as LinearAttentionResult<ResultOf<X>, ResultOf<X, O>>;
}

function positionsFor(where: string, position: LinearPosition | undefined, q: HeadShape, k: HeadShape) {
  const rope = position?.encoding === 'rope' ? position : undefined;
  const axes = rope?.plan.axes ?? 1;
  const keys = checkedPositionsOf(where, 'position.keys', rope?.keys ?? 0, k.batch, k.tokens, axes);
  // Query i is at key i + first. Lists of several axes are one here.
  const first = k.tokens - q.tokens;
  const given = rope?.queries;
  const at = given ?? keys.values?.filter((_, i) => first >= 0 && i % k.tokens >= first) ?? keys.offset + first;
  const lists = given === undefined ? 1 : axes;
  const queries = checkedPositionsOf(where, 'position.queries', at, q.batch, (q.tokens * axes) / lists, lists);
  return { queries, keys };
}

/** @internal */
export function linearAttention<X extends TensorInput, O extends Out>(
  heap: Heap,
  qInput: X,
  kInput: TensorInput,
  vInput: TensorInput,
  options: LinearAttentionOptions<O>,
): LinearAttentionResult<ResultOf<X>, ResultOf<X, O>> {
  const where = 'linearAttention';
  const known = [...formFields, 'position', 'causal', 'mask', 'layout', 'returnDenominators', 'out'] as const;
  const given = check.options(where, 'options', options, known);
  const operands = linearOperands(heap, where, { q: qInput, k: kInput, v: vInput }, given.layout ?? 'BHTD');
  const { queries, keys, values, refuseIf } = operands;
  const causal = check.boolean(where, 'causal', given.causal ?? false);
  const problem = `has ${queries.tokens} tokens, k has ${keys.tokens}; causal attention takes a key for each query`;
  refuseIf(causal && queries.tokens > keys.tokens, 'q', problem);
  checkPosition(where, given.position, ['encoding', 'plan', 'form', 'queries', 'keys']);
  const form = checkForm(heap, where, given, given.position, { headDim: queries.dim, valueDim: values.dim });
  const call = {
    operands,
    form,
    causal,
    mask: given.mask,
    positions: positionsFor(where, given.position, queries, keys),
    returnDenominators: checkReturn(where, given.returnDenominators, form.core.normalize),
    out: given.out,
  };
  return runLinear<X, O>(heap, where, call, (fields, plan, scratch) =>
    heap.core.linearAttention(heap.putCall(scratch, calls.LinearAttentionOptions, form.core), fields, plan),
  );
}
