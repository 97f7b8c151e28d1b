// Masks of attention: what may be attended to (keep), and what is added to the scores (bias). Both broadcast to
// [B, H, Tq, Tk] as NumPy does: axes are aligned at the last one, absent axes and those of size 1 repeat.

import type { BiasMask, KeepMask } from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { operand, type TensorInput } from '../runtime/tensor.js';
import { bytesOf, isDetached } from '../runtime/typed-arrays.js';

/** Which keys each query may attend to: 1 or true keeps, 0 or false hides. */
export type KeepMaskInput = {
  /** An entry for each place of the shape, row major. */
  readonly data: Uint8Array | readonly boolean[];
} & (
  | {
      /** Broadcasts to [B, H, Tq, Tk]: [Tq, Tk], [H, Tq, Tk] ... A padding mask of a batch is [B, 1, 1, Tk]. */
      readonly shape: readonly number[];
    }
  | {
      /** In place of `shape`, as onnxruntime's tensors have it. */
      readonly dims: readonly number[];
    }
);

type Scores = readonly [batch: number, heads: number, queries: number, keys: number];

function strides(
  where: string,
  name: string,
  shape: readonly number[],
  scores: Scores,
): Omit<KeepMask & BiasMask, 'data'> {
  const problem = `has shape [${shape.join(', ')}], which does not broadcast to [B, H, Tq, Tk] = [${scores.join(', ')}]`;
  if (shape.length > 4) throw new ArgumentRangeError(where, name, shape, problem);
  const result = [0, 0, 0, 0];
  let stride = 1;
  for (let axis = 1; axis <= shape.length; ++axis) {
    const size = shape.at(-axis) ?? 1;
    if (size !== 1 && size !== scores.at(-axis)) throw new ArgumentRangeError(where, name, shape, problem);
    result[4 - axis] = size === 1 ? 0 : stride;
    stride *= size;
  }
  const [batchStride = 0, headStride = 0, queryStride = 0, keyStride = 0] = result;
  return { batchStride, headStride, queryStride, keyStride };
}

/** A checked mask: copies it into memory of the call. @internal */
export type Masking<M> = (scratch: Scratch) => M | undefined;

/** @internal */
export function keepMask(heap: Heap, where: string, value: unknown, scores: Scores): Masking<KeepMask> {
  if (value === undefined) return () => undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) {
    throw new ArgumentTypeError(where, 'mask', value, 'an object with data and shape (or dims)');
  }
  const given = value as Record<string, unknown>;
  const { data } = given;
  const dims = check.shape(where, 'mask.shape', given.shape === undefined ? given.dims : given.shape);
  const isBytes = check.isTypedArray(data, 'Uint8Array');
  const isTaken = isBytes && isDetached(data);
  const isList = Array.isArray(data) && data.every((entry) => typeof entry === 'boolean');
  if (isTaken || (!isBytes && !isList)) {
    throw new ArgumentTypeError(where, 'mask.data', data, 'a Uint8Array or an array of booleans');
  }
  const bytes = isBytes ? bytesOf(data) : Uint8Array.from(data as readonly boolean[], Number);
  if (bytes.length !== check.sizeOf(dims)) {
    throw new ArgumentRangeError(
      where,
      'mask.data',
      data,
      `has ${bytes.length} entries; its shape [${dims.join(', ')}] needs ${check.sizeOf(dims)}`,
    );
  }
  const steps = strides(where, 'mask', dims, scores);
  return (scratch) => ({ data: heap.put(scratch, bytes), ...steps });
}

/** @internal */
export function biasMask(heap: Heap, where: string, value: TensorInput | undefined, scores: Scores): Masking<BiasMask> {
  if (value === undefined) return () => undefined;
  const bias = operand(heap, where, 'bias', value);
  const steps = strides(where, 'bias', bias.shape, scores);
  return (scratch) => ({ data: bias.address(scratch), ...steps });
}
