// GELU, SiLU, and softmax over the last axis.
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import type { Heap } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import { operand, type TensorInput } from '../runtime/tensor.js';
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

function activate<X extends TensorInput, O extends Out>(
  heap: Heap,
  where: string,
  x: X,
  activation: number,
  out: O | undefined,
): ResultOf<X, O> {
  const input = operand(heap, where, 'x', x);
  return output<X, O>(heap, where, input.tensor !== undefined, input.shape, out, (to, scratch) => {
    const xAt = input.addressToOverwrite(scratch);
    heap.call((c) => c.activate(activation, to, xAt, input.size));
  });
}

/** @internal */
export function gelu<X extends TensorInput, O extends Out>(heap: Heap, x: X, options: GeluOptions<O>): ResultOf<X, O> {
  const { approximate = 'none', out } = check.options('gelu', 'options', options, ['approximate', 'out']);
  return activate(heap, 'gelu', x, check.choice('gelu', 'approximate', approximate, gelus), out);
}

/** @internal */
export function silu<X extends TensorInput, O extends Out>(heap: Heap, x: X, options: OutOption<O>): ResultOf<X, O> {
  const { out } = check.options('silu', 'options', options, ['out']);
  return activate(heap, 'silu', x, activations.silu, out);
}

/** @internal */
export function softmax<X extends TensorInput, O extends Out>(heap: Heap, x: X, options: OutOption<O>): ResultOf<X, O> {
  const where = 'softmax';
  const { out } = check.options(where, 'options', options, ['out']);
  const { input, rows, width } = rowsOf(heap, where, x);
  return output<X, O>(heap, where, input.tensor !== undefined, input.shape, out, (to, scratch) => {
    const xAt = input.addressToOverwrite(scratch);
    heap.call((c) => c.softmaxRows(to, xAt, rows, width));
  });
}
