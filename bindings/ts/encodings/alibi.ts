// ALiBi, attention with linear biases (Press et al., arXiv:2108.12409).

import * as calls from '../calls.js';
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import type { NdArray } from '../runtime/tensor.js';
import type { OwnDoubles } from '../runtime/typed-arrays.js';
import { type BiasShape, biasShape, shapeFields } from './bias-shape.js';

/**
 * The forms of ALiBi in use: `symmetric` -slope |i - j|; `bloom` slope * j; `mpt` slope * (j - (keys - 1)); `falcon` as
 * bloom with the slope rounded to bfloat16. For the keys up to a query, the first three differ by a constant per query,
 * which the softmax cancels.
 */
export type AlibiVariant = 'symmetric' | 'bloom' | 'mpt' | 'falcon';

/** @internal */
export const alibiVariants: check.Choices<AlibiVariant, typeof enums.AlibiVariant> = enums.AlibiVariant;

/** Options of `rw.alibiBias`. */
export interface AlibiOptions<O extends Out = undefined> extends BiasShape, OutOption<O> {
  /** H, from 1 to 65536, a power of two or not. */
  heads: number;
  /** Default `symmetric`. */
  variant?: AlibiVariant;
}

/** @internal */
export function alibiSlopes(heap: Heap, heads: number): OwnDoubles {
  const where = 'alibiSlopes';
  const count = check.integer(where, 'heads', heads, 1, 2 ** 16);
  return heap.doublesOf(where, count, (out) => heap.run(where, (c) => c.alibiSlopes(count, out)));
}

/**
 * Writes the bias to `out`.
 * @internal
 */
export function writeAlibi(heap: Heap, where: string, bias: calls.AlibiOptions, out: number, scratch: Scratch): void {
  const options = heap.putCall(scratch, calls.AlibiOptions, bias);
  heap.run(where, (c) => c.alibiBias(options, out));
}

/** @internal */
export function alibiBias<O extends Out>(heap: Heap, options: AlibiOptions<O>): ResultOf<NdArray, O> {
  const where = 'alibiBias';
  const given = check.options(where, 'options', options, ['heads', ...shapeFields, 'variant', 'out']);
  const heads = check.integer(where, 'heads', given.heads, 1, 2 ** 16);
  const shape = biasShape(where, given);
  const variant = check.choice(where, 'variant', given.variant ?? 'symmetric', alibiVariants);
  return output<NdArray, O>(heap, where, false, [heads, shape.queries, shape.keys], given.out, (to, scratch) =>
    writeAlibi(heap, where, { heads, ...shape, variant }, to, scratch),
  );
}
