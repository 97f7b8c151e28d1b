// Calls that turn heads where they lie: a tensor in its own memory, a plain array as a copy that becomes the result.
import * as check from './check.js';
import { ArgumentRangeError, checkStatus } from './errors.js';
import type { Heap, Scratch } from './heap.js';
import { type HeadShape, headShape, type Layout } from './layout.js';
import { checkPlainOut } from './outputs.js';
import { type NdArray, type Operand, operand, plain, type Tensor } from './tensor.js';
import { lengthOf, type OwnFloats } from './typed-arrays.js';

/** How x of a call lies in memory, and where a result goes. */
export interface HeadOptions<O extends Float32Array | undefined = Float32Array | undefined> {
  /** The shape of a plain Float32Array; by default it is [T, headDim]. */
  shape?: readonly number[];
  /** Default `BHTD`. */
  layout?: Layout;
  /** Plain arrays only: where to write the result, `x` itself included. Default a new array. */
  out?: O;
}

/** The numbers that a call gives for a Float32Array: in `out`, O, if given, otherwise in memory of their own. */
export type FloatsOf<O extends Float32Array | undefined> = O extends Float32Array ? NoInfer<O> : OwnFloats;

/** Heads that a call turns: what was given, its shape, and where the result goes. @internal */
export interface Heads extends HeadShape {
  readonly input: Operand;
  /** Whether a Float32Array was given, and is given back. */
  readonly flat: boolean;
  readonly out: Float32Array | undefined;
}

/**
 * Checks x, and `out` for its result. `headDim` is the head size that x must have; undefined takes any.
 * @internal
 */
export function checkHeads(
  heap: Heap,
  where: string,
  names: { readonly x: string; readonly out: string },
  x: unknown,
  { shape, layout, out }: { [name in keyof HeadOptions]: HeadOptions[name] | undefined },
  headDim: number | undefined,
): Heads {
  const flat = check.isTypedArray(x, 'Float32Array');
  const input = flat ? floats(heap, where, names.x, x, shape, headDim) : ofItsShape(heap, where, names.x, x, shape);
  const sizes = headShape(where, names.x, input.shape, layout ?? 'BHTD');
  const { tokensFirst, batch, heads, tokens, dim } = sizes;
  if (headDim !== undefined && dim !== headDim) {
    const problem = `has shape [${input.shape.join(', ')}]; its last axis must be headDim, ${headDim}`;
    throw new ArgumentRangeError(where, names.x, x, problem);
  }
  if (out !== undefined) {
    if (input.tensor !== undefined) {
      throw new ArgumentRangeError(where, names.out, out, 'is for plain arrays; a tensor is turned in place');
    }
    checkPlainOut(heap, where, names.out, out, input.size);
  }
  return { input, flat, out, tokensFirst, batch, heads, tokens, dim };
}

/**
 * What the caller gets of heads that were turned at `pointer`.
 * @internal
 */
export function turned(
  heap: Heap,
  { input, flat, out }: Heads,
  pointer: number,
): Tensor | Float32Array | NdArray<Float32Array> {
  if (input.tensor !== undefined) return input.tensor;
  const data = heap.readFloats(pointer, input.size, out);
  return flat ? data : { data, shape: input.shape };
}

/**
 * Checks x, prepares a call with its shape, and runs it on the address of its numbers.
 * @internal
 */
export function inPlace(
  heap: Heap,
  where: string,
  x: unknown,
  options: HeadOptions,
  headDim: number | undefined,
  prepare: (shape: HeadShape, scratch: Scratch) => (pointer: number) => number,
): Tensor | Float32Array | NdArray<Float32Array> {
  const heads = checkHeads(heap, where, { x: 'x', out: 'out' }, x, options, headDim);
  return heap.scope(where, (scratch) => {
    const run = prepare(heads, scratch);
    const pointer = heads.input.address(scratch);
    checkStatus(run(pointer), where);
    return turned(heap, heads, pointer);
  });
}

function ofItsShape(heap: Heap, where: string, name: string, x: unknown, shape: unknown): Operand {
  if (shape === undefined) return operand(heap, where, name, x, 'a Float32Array, ');
  throw new ArgumentRangeError(where, 'shape', shape, `is for a Float32Array; ${name} has a shape of its own`);
}

function floats(
  heap: Heap,
  where: string,
  name: string,
  x: Float32Array,
  shape: unknown,
  headDim: number | undefined,
): Operand {
  if (shape !== undefined) return plain(heap, where, name, x, check.shape(where, 'shape', shape));
  if (headDim === undefined)
    throw new ArgumentRangeError(where, 'shape', shape, 'is missing; a Float32Array needs one');
  const size = lengthOf(x);
  if (size % headDim !== 0) {
    const problem = `has ${size} numbers, which is no multiple of headDim, ${headDim}`;
    throw new ArgumentRangeError(where, name, x, problem);
  }
  return plain(heap, where, name, x, [size / headDim, headDim]);
}
