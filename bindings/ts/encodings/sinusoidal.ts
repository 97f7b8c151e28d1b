// Sinusoidal position encoding (Vaswani et al., arXiv:1706.03762).
import * as calls from '../calls.js';
import * as enums from '../enums.js';
import { type NameOf, tooFast } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Out, type OutOption, output } from '../runtime/outputs.js';
import { type RowsInput, rows } from '../runtime/positions.js';
import { type NdArray, Tensor } from '../runtime/tensor.js';
import type { OwnFloats } from '../runtime/typed-arrays.js';

/**
 * The three tables that the field calls sinusoidal. `interleaved`: sin, cos, sin, cos, ... (the paper);
 * `concatenated`: all sines, then all cosines (Hugging Face RoFormer, Marian); `tensor2tensor`: as concatenated
 * with frequencies base^(-i / (dim/2 - 1)) (M2M100, FSMT), dim at least 4. Use the one that the model was trained with.
 */
export type SinusoidLayout = 'interleaved' | 'concatenated' | 'tensor2tensor';

/** Options of `rw.sinusoidal`. */
export interface SinusoidalOptions<O extends Out = undefined> extends OutOption<O> {
  /** Width of a row. May be odd: then there is one more sine (tensor2tensor: a zero at the end). */
  dim: number;
  /** A list of integers in ±(2^53 - 1), or `{ length, offset }` for consecutive ones. */
  positions: RowsInput;
  /** Above 0. Default 10000. */
  base?: number;
  /** Default `interleaved`. */
  layout?: SinusoidLayout;
  /** Multiplies every entry. Default 1. */
  scale?: number;
}

const sinusoidLayouts: check.Choices<SinusoidLayout, typeof enums.SinusoidLayout> = enums.SinusoidLayout;

/** A checked table, but for its rows. @internal */
export type CheckedTable = calls.SinusoidalOptions;

/** @internal */
export const tableOptions = ['dim', 'base', 'layout', 'scale'] as const;

/**
 * Checks what a table is made from, but for its rows; `nameOf` gives the name of an option in errors.
 * @internal
 */
export function checkTable(
  where: string,
  given: Omit<SinusoidalOptions, 'positions' | 'out'>,
  nameOf: NameOf = String,
): CheckedTable {
  const layout = check.choice(where, nameOf('layout'), given.layout ?? 'interleaved', sinusoidLayouts);
  const dim = check.integer(where, 'dim', given.dim, 1, 2 ** 20);
  if (given.layout === 'tensor2tensor' && dim < 4) {
    const problem = `is 'tensor2tensor'; expected a dim of at least 4, not ${dim}`;
    throw new ArgumentRangeError(where, nameOf('layout'), given.layout, problem);
  }
  return {
    dim,
    layout,
    base: check.positive(where, nameOf('base'), given.base ?? 10000),
    scale: check.float32Number(where, nameOf('scale'), given.scale ?? 1),
  };
}

/**
 * Writes a row for each position to `out`.
 * @internal
 */
export function writeTable(
  heap: Heap,
  where: string,
  table: CheckedTable,
  positions: Float64Array,
  out: number,
  scratch: Scratch,
): void {
  const [options, at] = [heap.putCall(scratch, calls.SinusoidalOptions, table), heap.put(scratch, positions)];
  heap.run(where, (c) => c.sinusoidal(options, at, positions.length, out), tooFast(where));
}

/** The table as the caller gets it: in `out`, O, if given. */
export type SinusoidalTable<O extends Out> = O extends Tensor
  ? Tensor
  : O extends Float32Array
    ? NoInfer<O>
    : OwnFloats;

/** @internal */
export function sinusoidal<O extends Out>(heap: Heap, options: SinusoidalOptions<O>): SinusoidalTable<O> {
  const where = 'sinusoidal';
  const { out, ...given } = check.options(where, 'options', options, [...tableOptions, 'positions', 'out']);
  const table = checkTable(where, given);
  const at = rows(where, given.positions, table.dim);
  const result: Tensor | NdArray<Float32Array> = output(
    heap,
    where,
    false,
    [at.length, table.dim],
    out,
    (to, scratch) => writeTable(heap, where, table, at, to, scratch),
  );
  return (result instanceof Tensor ? result : result.data) as SinusoidalTable<O>;
}
