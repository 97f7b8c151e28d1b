// GELU, SiLU, and softmax over the last axis.
import * as check from './check.js';
import type { Heap } from './heap.js';
import { rowsOf } from './norms.js';
import { outputs } from './outputs.js';
import { type NdArray, operand, type Tensor, type TensorInput } from './tensor.js';

/** Options of `rw.gelu`. */
export interface GeluOptions {
  /**
   * `none` (the default): x Φ(x), `"gelu"` of a config.json; `tanh`: the approximation, `"gelu_new"` or
   * `"gelu_pytorch_tanh"`. They differ by up to 5e-4: take the one that the model was trained with.
   */
  approximate?: 'none' | 'tanh';
}

// Activation of src/kernels/activation.h, by number.
const gelus = { none: 0, tanh: 1 } as const;
const siluNumber = 2;

function activate(heap: Heap, where: string, x: TensorInput, activation: number): Tensor | NdArray {
  const input = operand(heap, where, 'x', x);
  return outputs(heap, where, input.tensor !== undefined, { out: input.shape }, ({ out }, take) => {
    const xAt = input.place(take);
    heap.call((c) => c.activate(activation, out, xAt, input.size));
  }).out;
}

/** @internal */
export function gelu(heap: Heap, x: TensorInput, options: GeluOptions): Tensor | NdArray {
  const given = check.options<GeluOptions>('gelu', 'options', options, ['approximate']);
  return activate(heap, 'gelu', x, check.choice('gelu', 'approximate', given.approximate ?? 'none', gelus));
}

/** @internal */
export function silu(heap: Heap, x: TensorInput): Tensor | NdArray {
  return activate(heap, 'silu', x, siluNumber);
}

/** @internal */
export function softmax(heap: Heap, x: TensorInput): Tensor | NdArray {
  const where = 'softmax';
  const { input, rows, width } = rowsOf(heap, where, x);
  return outputs(heap, where, input.tensor !== undefined, { out: input.shape }, ({ out }, take) => {
    heap.move(input.place(take), out, input.size * 4);
    heap.call((c) => c.softmaxRows(out, rows, width));
  }).out;
}
