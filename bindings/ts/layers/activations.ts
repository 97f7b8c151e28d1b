// GELU, SiLU, and softmax over the last axis.
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import type { Heap } from '../runtime/heap.js';
import { type Out, type OutOption, output } from '../runtime/outputs.js';
import { type NdArray, operand, type Tensor, type TensorInput } from '../runtime/tensor.js';
import { rowsOf } from './norms.js';

/** Options of `rw.gelu`. */
export interface GeluOptions<O extends Out = undefined> extends OutOption<O> {
  /**
   * `none` (the default): x Φ(x), `"gelu"` of a config.json; `tanh`: the approximation, `"gelu_new"` or
   * `"gelu_pytorch_tanh"`. They differ by up to 5e-4: take the one that the model was trained with.
   */
  approximate?: 'none' | 'tanh';
}

/** The function between the matrices of a feed-forward part: `gelu` is x Φ(x), `geluTanh` its approximation. */
export type LayerActivation = 'gelu' | 'geluTanh' | 'silu' | 'relu' | 'tanh';

/** @internal */
export const activations: check.Choices<LayerActivation, typeof enums.Activation> = enums.Activation;
const gelus = { none: activations.gelu, tanh: activations.geluTanh };

function activate(heap: Heap, where: string, x: TensorInput, activation: number, out: Out): Tensor | NdArray {
  const input = operand(heap, where, 'x', x);
  return output(heap, where, input.tensor !== undefined, input.shape, out, (to, take) => {
    const xAt = input.placeOver(take);
    heap.call((c) => c.activate(activation, to, xAt, input.size));
  });
}

/** @internal */
export function gelu(heap: Heap, x: TensorInput, options: GeluOptions<Out>): Tensor | NdArray {
  const { approximate = 'none', out } = check.options<GeluOptions<Out>>('gelu', 'options', options, [
    'approximate',
    'out',
  ]);
  return activate(heap, 'gelu', x, check.choice('gelu', 'approximate', approximate, gelus), out);
}

/** @internal */
export function silu(heap: Heap, x: TensorInput, options: OutOption<Out>): Tensor | NdArray {
  const { out } = check.options<OutOption<Out>>('silu', 'options', options, ['out']);
  return activate(heap, 'silu', x, activations.silu, out);
}

/** @internal */
export function softmax(heap: Heap, x: TensorInput, options: OutOption<Out>): Tensor | NdArray {
  const where = 'softmax';
  const { out } = check.options<OutOption<Out>>(where, 'options', options, ['out']);
  const { input, rows, width } = rowsOf(heap, where, x);
  return output(heap, where, input.tensor !== undefined, input.shape, out, (to, take) => {
    const xAt = input.placeOver(take);
    heap.call((c) => c.softmaxRows(to, xAt, rows, width));
  });
}
