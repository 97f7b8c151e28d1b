// KERPLE: learned kernels of the distance (Chi et al., arXiv:2205.09921).

import * as calls from '../calls.js';
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import type { NdArray } from '../runtime/tensor.js';
import { type BiasShape, biasShape, shapeFields } from './bias-shape.js';

/** `logarithmic`: -r1 ln(1 + r2 |i - j|); `power`: -r1 |i - j|^r2. */
export type KerpleKind = 'logarithmic' | 'power';

/** Parameters of KERPLE, learned for each head. */
export interface KerpleNumbers {
  /** [heads], above 0. */
  r1: Float32Array;
  /** [heads], above 0; at most 2 for `power`. */
  r2: Float32Array;
  /** Default `logarithmic`. */
  kind?: KerpleKind;
}

/** Options of `rw.kerpleBias`. */
export interface KerpleOptions<O extends Out = undefined> extends KerpleNumbers, BiasShape, OutOption<O> {}

const kinds: check.Choices<KerpleKind, typeof enums.KerpleKind> = enums.KerpleKind;

/** @internal */
export const kerpleFields = ['r1', 'r2', 'kind'] as const;

/** @internal */
export function checkKerple(where: string, given: KerpleNumbers, prefix = '') {
  const kind: number = check.choice(where, `${prefix}kind`, given.kind ?? 'logarithmic', kinds);
  // Copies: the caller's may change before they are used.
  const r1 = new Float32Array(check.float32(where, `${prefix}r1`, given.r1));
  const r2 = new Float32Array(check.float32(where, `${prefix}r2`, given.r2, r1.length));
  for (const [name, numbers] of Object.entries({ r1, r2 })) {
    const most = name === 'r2' && kind === kinds.power ? 2 : Number.MAX_VALUE;
    const bad = numbers.findIndex((value) => !(value > 0 && value <= most));
    if (bad >= 0) {
      const range = most === 2 ? 'a number above 0 and at most 2' : 'a number above 0';
      const problem = `is ${numbers[bad]}; expected ${range}`;
      throw new ArgumentRangeError(where, `${prefix}${name}[${bad}]`, numbers[bad], problem);
    }
  }
  return { kind, r1, r2 };
}

/**
 * Writes the bias to `out`.
 * @internal
 */
export function writeKerple(
  heap: Heap,
  where: string,
  numbers: { kind: number; r1: Float32Array; r2: Float32Array },
  shape: Required<BiasShape>,
  out: number,
  scratch: Scratch,
): void {
  const call = { kind: numbers.kind, heads: numbers.r1.length, ...shape };
  const options = heap.putCall(scratch, calls.KerpleOptions, call);
  const [r1, r2] = [heap.put(scratch, numbers.r1), heap.put(scratch, numbers.r2)];
  heap.run(where, (core) => core.kerpleBias(options, r1, r2, out));
}

/** @internal */
export function kerpleBias<O extends Out>(heap: Heap, options: KerpleOptions<O>): ResultOf<NdArray, O> {
  const where = 'kerpleBias';
  const given = check.options(where, 'options', options, [...kerpleFields, ...shapeFields, 'out']);
  const numbers = checkKerple(where, given);
  const shape = biasShape(where, given);
  const dims = [numbers.r1.length, shape.queries, shape.keys];
  return output<NdArray, O>(heap, where, false, dims, given.out, (to, scratch) =>
    writeKerple(heap, where, numbers, shape, to, scratch),
  );
}
