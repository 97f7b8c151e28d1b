// FIRE: a learned function of the distance as a share of how far the query can look back (Li et al., arXiv:2310.04418).

import * as calls from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import { matrix, type NdArray, operand, type TensorInput } from '../runtime/tensor.js';
import { type BiasShape, biasShape, shapeFields } from './bias-shape.js';

/**
 * Parameters of FIRE: head h adds outBias_h + sum_w outWeights_hw relu(hiddenWeights_w t + hiddenBias_w), where
 * t = ln(1 + c |i - j|) / ln(1 + c max(threshold, i)) is from 0 to 1 for keys up to the query.
 */
export interface FireParameters {
  /** Above 0; the paper starts it at 0.1. */
  c: number;
  /** L, above 0: queries at positions before it are normalized as one at it. The paper starts it at 512. */
  threshold: number;
  /** [W], one for each number of the hidden layer, which all heads share; the paper has 32. */
  hiddenWeights: TensorInput;
  /** [W]. */
  hiddenBias: TensorInput;
  /** [H, W]. */
  outWeights: TensorInput;
  /** [H]. */
  outBias: TensorInput;
}

/** Options of `rw.fireBias`. */
export interface FireOptions<O extends Out = undefined> extends FireParameters, BiasShape, OutOption<O> {}

/** @internal */
export const fireFields = {
  c: true,
  threshold: true,
  hiddenWeights: true,
  hiddenBias: true,
  outWeights: true,
  outBias: true,
} as const;

/**
 * Checked parameters: their addresses, and `write`, which writes psi of the distances.
 * @internal
 */
export function checkFire(heap: Heap, where: string, given: FireParameters, prefix = '') {
  const c = check.positiveFloat32(where, `${prefix}c`, given.c);
  const threshold = check.positiveFloat32(where, `${prefix}threshold`, given.threshold);
  if (Math.log1p(c * threshold) < 2 ** -125) {
    const problem = `is ${threshold}, where ln(1 + c threshold) is too close to 0 to divide by`;
    throw new ArgumentRangeError(where, `${prefix}threshold`, threshold, problem);
  }
  const axes = '[H, W]';
  const name = `${prefix}outWeights`;
  const { input: outWeights, rows: heads, columns: width } = matrix(heap, where, name, given.outWeights, axes);
  const list = (field: 'hiddenWeights' | 'hiddenBias' | 'outBias', size: number) => {
    const input = operand(heap, where, prefix + field, given[field]);
    if (input.shape.length === 1 && input.size === size) return input;
    throw wrongShape(where, prefix + field, given[field], input.shape, `[${size}], as outWeights are ${axes}`);
  };
  const [hiddenWeights, hiddenBias] = [list('hiddenWeights', width), list('hiddenBias', width)];
  const outBias = list('outBias', heads);
  const terms = (scratch: Scratch): calls.FireTerms => ({
    c,
    threshold,
    width,
    hiddenWeights: hiddenWeights.address(scratch),
    hiddenBias: hiddenBias.address(scratch),
    outWeights: outWeights.address(scratch),
    outBias: outBias.address(scratch),
  });
  const put = (shape: Required<BiasShape>, scratch: Scratch) =>
    heap.putCall(scratch, calls.FireOptions, { terms: terms(scratch), heads, ...shape });
  return {
    heads,
    terms,
    put,
    write(shape: Required<BiasShape>, out: number, scratch: Scratch): void {
      const options = put(shape, scratch);
      heap.run(where, (core) => core.fireDistances(options, out));
    },
  };
}

/** @internal */
export function fireBias<O extends Out>(heap: Heap, options: FireOptions<O>): ResultOf<NdArray, O> {
  const where = 'fireBias';
  const fields = Object.keys(fireFields) as (keyof FireParameters)[];
  const given = check.options(where, 'options', options, [...fields, ...shapeFields, 'out']);
  const { heads, put } = checkFire(heap, where, given);
  const shape = biasShape(where, given);
  return output<NdArray, O>(heap, where, false, [heads, shape.queries, shape.keys], given.out, (to, scratch) => {
    const call = put(shape, scratch);
    heap.run(where, (core) => core.fireBias(call, to));
  });
}
