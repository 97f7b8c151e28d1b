// Queries, keys and values of linear attention: how their shapes have to fit, and which keys are left out.

import { type KeepMaskInput, keepMask } from '../attention/mask.js';
import type { LinearAttentionCall } from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type HeadShape, headShape, type Layout } from '../runtime/layout.js';
import { type Operand, operand } from '../runtime/tensor.js';

/** Checked queries, keys and values. @internal */
export interface LinearOperands {
  readonly q: Operand;
  readonly k: Operand;
  readonly v: Operand;
  readonly queries: HeadShape;
  readonly keys: HeadShape;
  readonly values: HeadShape;
  readonly tokensFirst: boolean;
  readonly outShape: readonly number[];
  /** Throws where it is wrong, with what was given by this name. */
  refuseIf(wrong: boolean, name: 'q' | 'k' | 'v', problem: string): void;
}

/** @internal */
export function linearOperands(
  heap: Heap,
  where: string,
  inputs: { readonly q: unknown; readonly k: unknown; readonly v: unknown },
  layout: Layout,
): LinearOperands {
  const given = { q: check.read(inputs.q), k: check.read(inputs.k), v: check.read(inputs.v) };
  const q = operand(heap, where, 'q', given.q);
  const k = operand(heap, where, 'k', given.k);
  const v = operand(heap, where, 'v', given.v);
  const queries = headShape(where, 'q', q.shape, layout);
  const keys = headShape(where, 'k', k.shape, layout);
  const values = headShape(where, 'v', v.shape, layout);
  const refuseIf = (wrong: boolean, name: 'q' | 'k' | 'v', problem: string) => {
    if (wrong) throw new ArgumentRangeError(where, name, given[name], problem);
  };
  refuseIf(queries.dim === 0, 'q', 'has heads of size 0; expected at least 1');
  refuseIf(keys.dim !== queries.dim, 'k', `has head size ${keys.dim}, q has ${queries.dim}`);
  refuseIf(values.dim === 0, 'v', 'has heads of size 0; expected at least 1');
  refuseIf(keys.batch !== queries.batch, 'k', `has batch size ${keys.batch}, q has ${queries.batch}`);
  refuseIf(values.batch !== queries.batch, 'v', `has batch size ${values.batch}, q has ${queries.batch}`);
  refuseIf(values.tokens !== keys.tokens, 'v', `has ${values.tokens} tokens, k has ${keys.tokens}`);
  refuseIf(values.heads !== keys.heads, 'v', `has ${values.heads} heads, k has ${keys.heads}`);
  const divides = keys.heads > 0 && queries.heads % keys.heads === 0;
  refuseIf(!divides, 'k', `has ${keys.heads} heads, which do not divide q's ${queries.heads}`);
  // One head reads the same in both orders; then a tensor may have an axis fewer than the others.
  const shapes = [queries, keys, values];
  const order = shapes.find(({ heads }) => heads > 1)?.tokensFirst ?? queries.tokensFirst;
  for (const [i, name] of (['q', 'k', 'v'] as const).entries()) {
    const { heads, tokensFirst } = shapes[i] as HeadShape;
    refuseIf(heads > 1 && tokensFirst !== order, name, 'has another number of axes than the others');
  }
  const outShape = [...q.shape.slice(0, -1), values.dim];
  return { q, k, v, queries, keys, values, tokensFirst: order, outShape, refuseIf };
}

/**
 * Checks a mask of keys, [Tk], [B, Tk] or [B, 1, 1, Tk], now; the result copies it into memory of the call.
 * @internal
 */
export function keyMask(
  heap: Heap,
  where: string,
  value: KeepMaskInput | undefined,
  { batch, tokens }: HeadShape,
): (scratch: Scratch) => Pick<LinearAttentionCall, 'keep' | 'keepBatchStride' | 'keepKeyStride'> {
  let mask: unknown = value;
  if (typeof value === 'object' && value !== null && ('shape' in value || 'dims' in value)) {
    const shape = check.shape(where, 'mask.shape', 'shape' in value ? value.shape : value.dims);
    const [keys = 0, rows = 1] = [...shape].reverse();
    const isFlat = shape.length === 1 || shape.length === 2;
    if (isFlat && ((keys !== tokens && keys !== 1) || (rows !== batch && rows !== 1))) {
      throw wrongShape(where, 'mask', value, shape, `[Tk] or [B, Tk], here [${batch}, ${tokens}]`);
    }
    if (isFlat) mask = { data: value.data, shape: [rows, 1, 1, keys] };
  }
  const keep = keepMask(heap, where, mask, [batch, 1, 1, tokens]);
  return (scratch) => {
    const masked = keep(scratch);
    return { keep: masked?.data, keepBatchStride: masked?.batchStride, keepKeyStride: masked?.keyStride };
  };
}
