// Sandwich: products of sinusoidal vectors as a bias (Chi et al., arXiv:2212.10356).

import * as calls from '../calls.js';
import * as check from '../runtime/check.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import type { NdArray } from '../runtime/tensor.js';
import { type BiasShape, biasShape, shapeFields } from './bias-shape.js';

/** The sinusoidal vectors of Sandwich. */
export interface SandwichVectors {
  /** Their size, even. Default 128, the paper's for heads of any size. */
  dim?: number;
  /** Above 0, not 1. Default 10000. */
  base?: number;
}

/** Options of `rw.sandwichBias`. */
export interface SandwichOptions<O extends Out = undefined> extends SandwichVectors, BiasShape, OutOption<O> {
  /** H, from 1 to 65536, a power of two or not. */
  heads: number;
}

/** @internal */
export function checkSandwich(where: string, { dim, base }: SandwichVectors, prefix = ''): Required<SandwichVectors> {
  return {
    dim: check.even(where, `${prefix}dim`, dim ?? 128, 2 ** 16),
    base: check.base(where, `${prefix}base`, base ?? 10000),
  };
}

/**
 * Writes the bias to `out`.
 * @internal
 */
export function writeSandwich(
  heap: Heap,
  where: string,
  bias: calls.SandwichOptions,
  out: number,
  scratch: Scratch,
): void {
  const options = heap.putCall(scratch, calls.SandwichOptions, bias);
  heap.run(where, (core) => core.sandwichBias(options, out));
}

/** @internal */
export function sandwichBias<O extends Out>(heap: Heap, options: SandwichOptions<O>): ResultOf<NdArray, O> {
  const where = 'sandwichBias';
  const given = check.options(where, 'options', options, ['heads', 'dim', 'base', ...shapeFields, 'out']);
  const heads = check.integer(where, 'heads', given.heads, 1, 2 ** 16);
  const vectors = checkSandwich(where, given);
  const shape = biasShape(where, given);
  return output<NdArray, O>(heap, where, false, [heads, shape.queries, shape.keys], given.out, (to, scratch) =>
    writeSandwich(heap, where, { heads, ...vectors, ...shape }, to, scratch),
  );
}
