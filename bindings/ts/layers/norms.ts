// Layer norm and root mean square norm over the last axis.
import { RowNormCall } from '../calls.js';
import * as check from '../runtime/check.js';
import { wrongShape } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import { type Operand, operand, plain, type TensorInput } from '../runtime/tensor.js';

/** Options of `rw.layerNorm`. */
export interface LayerNormOptions<O extends Out = undefined> extends OutOption<O> {
  /** [n], n the last axis of x. Default ones. */
  weight?: Float32Array | TensorInput;
  /** [n]. Default zeros. */
  bias?: Float32Array | TensorInput;
  /**
   * Added to the variance; above 0. Default 1e-5, as in PyTorch and ONNX; BERT and RoFormer were trained with 1e-12
   * (`layer_norm_eps` of their config.json).
   */
  eps?: number;
}

/** Options of `rw.rmsNorm`. */
export interface RmsNormOptions<O extends Out = undefined> extends OutOption<O> {
  /** [n], n the last axis of x. Default ones, whatever `unitOffset` says. */
  weight?: Float32Array | TensorInput;
  /** Added to the mean square; above 0. Default 1e-6, as in Hugging Face's Llama; see `rms_norm_eps` of the config.json. */
  eps?: number;
  /** The factor is 1 + weight, as Gemma's checkpoints have it. Default false. */
  unitOffset?: boolean;
}

/**
 * x, how many rows its last axis makes, and that axis.
 * @internal
 */
export function rowsOf(heap: Heap, where: string, x: TensorInput): { input: Operand; rows: number; width: number } {
  const input = operand(heap, where, 'x', x);
  const width = input.shape.at(-1);
  if (width === undefined) throw wrongShape(where, 'x', x, input.shape, 'at least one axis');
  return { input, rows: width === 0 ? 0 : input.size / width, width };
}

// [n] numbers, or none.
function vector(
  heap: Heap,
  where: string,
  name: string,
  value: Float32Array | TensorInput | undefined,
  width: number,
): Operand | undefined {
  if (value === undefined) return undefined;
  if (check.isTypedArray(value, 'Float32Array')) return plain(heap, where, name, value, [width]);
  const given = operand(heap, where, name, value);
  if (given.shape.length === 1 && given.shape[0] === width) return given;
  throw wrongShape(where, name, value, given.shape, `[${width}], the last axis of x`);
}

/** @internal */
export function layerNorm<X extends TensorInput, O extends Out>(
  heap: Heap,
  x: X,
  options: LayerNormOptions<O>,
): ResultOf<X, O> {
  const where = 'layerNorm';
  const given = check.options(where, 'options', options, ['weight', 'bias', 'eps', 'out']);
  const { input, rows, width } = rowsOf(heap, where, x);
  const weight = vector(heap, where, 'weight', given.weight, width);
  const bias = vector(heap, where, 'bias', given.bias, width);
  const eps = check.positive(where, 'eps', given.eps ?? 1e-5);
  return output<X, O>(heap, where, input.tensor !== undefined, input.shape, given.out, (to, scratch) => {
    const norm = {
      out: to,
      x: input.addressToOverwrite(scratch),
      rows,
      size: width,
      weight: weight?.address(scratch),
      bias: bias?.address(scratch),
      eps,
    };
    const fields = heap.putCall(scratch, RowNormCall, norm);
    heap.call((c) => c.layerNorm(fields));
  });
}

/** @internal */
export function rmsNorm<X extends TensorInput, O extends Out>(
  heap: Heap,
  x: X,
  options: RmsNormOptions<O>,
): ResultOf<X, O> {
  const where = 'rmsNorm';
  const given = check.options(where, 'options', options, ['weight', 'eps', 'unitOffset', 'out']);
  const { input, rows, width } = rowsOf(heap, where, x);
  const weight = vector(heap, where, 'weight', given.weight, width);
  const eps = check.positive(where, 'eps', given.eps ?? 1e-6);
  const unitOffset = check.boolean(where, 'unitOffset', given.unitOffset ?? false);
  return output<X, O>(heap, where, input.tensor !== undefined, input.shape, given.out, (to, scratch) => {
    const [at, weightAt] = [input.addressToOverwrite(scratch), weight?.address(scratch)];
    const norm = { out: to, x: at, rows, size: width, weight: weightAt, eps, unitOffset };
    const fields = heap.putCall(scratch, RowNormCall, norm);
    heap.call((c) => c.rmsNorm(fields));
  });
}
