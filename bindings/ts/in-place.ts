// Calls that turn heads where they lie: a tensor in its own memory, a plain array as a copy that becomes the result.
import * as check from './check.js';
import { ArgumentRangeError, checkStatus } from './errors.js';
import type { Heap } from './heap.js';
import { type HeadShape, headShape, type Layout } from './layout.js';
import { type NdArray, type Operand, operand, plain, type Tensor } from './tensor.js';
import { lengthOf } from './typed-arrays.js';

/** How x of a call lies in memory, and where a result goes. */
export interface HeadOptions {
  /** The shape of a plain Float32Array; by default it is [T, headDim]. */
  shape?: readonly number[];
  /** Default `BHTD`. */
  layout?: Layout;
  /** Plain arrays only: where to write the result, `x` itself included. Default a new array. */
  out?: Float32Array;
}

type Take = (bytes: number) => number;

/**
 * Checks x, prepares a call with its shape, and runs it on the address of its numbers. `headDim` is the head size that x
 * must have; undefined takes any.
 * @internal
 */
export function inPlace(
  heap: Heap,
  where: string,
  x: unknown,
  options: HeadOptions,
  headDim: number | undefined,
  prepare: (shape: HeadShape, take: Take) => (pointer: number) => number,
): Tensor | Float32Array | NdArray {
  const input = heads(heap, where, x, options.shape, headDim);
  const shape = headShape(where, 'x', input.shape, options.layout ?? 'BHTD');
  if (headDim !== undefined && shape.dim !== headDim) {
    const problem = `has shape [${input.shape.join(', ')}]; its last axis must be headDim, ${headDim}`;
    throw new ArgumentRangeError(where, 'x', x, problem);
  }
  if (options.out !== undefined) {
    if (input.tensor !== undefined) {
      throw new ArgumentRangeError(where, 'out', options.out, 'is for plain arrays; a tensor is turned in place');
    }
    check.float32(where, 'out', options.out, input.size);
  }
  return heap.scope(where, (take) => {
    const run = prepare(shape, take);
    const pointer = input.place(take);
    checkStatus(run(pointer), where);
    if (input.tensor !== undefined) return input.tensor;
    const data = heap.readFloats(pointer, input.size, options.out);
    return check.isTypedArray(x, 'Float32Array') ? data : { data, shape: input.shape };
  });
}

function heads(
  heap: Heap,
  where: string,
  x: unknown,
  shape: readonly number[] | undefined,
  headDim: number | undefined,
): Operand {
  if (!check.isTypedArray(x, 'Float32Array')) {
    if (shape === undefined) return operand(heap, where, 'x', x);
    throw new ArgumentRangeError(where, 'shape', shape, 'is for a Float32Array; x has a shape of its own');
  }
  if (shape !== undefined) return plain(heap, where, 'x', x, check.shape(where, 'shape', shape));
  if (headDim === undefined)
    throw new ArgumentRangeError(where, 'shape', shape, 'is missing; a Float32Array needs one');
  const size = lengthOf(x);
  if (size % headDim !== 0) {
    const problem = `has ${size} numbers, which is no multiple of headDim, ${headDim}`;
    throw new ArgumentRangeError(where, 'x', x, problem);
  }
  return plain(heap, where, 'x', x, [size / headDim, headDim]);
}
