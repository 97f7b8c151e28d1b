// Sinusoidal position encoding.
import * as check from './check.js';
import { ArgumentRangeError, checkStatus } from './errors.js';
import type { Heap } from './heap.js';
import { type RowsInput, rows } from './positions.js';

/**
 * The three tables that the field calls sinusoidal. `interleaved`: sin, cos, sin, cos, ... (the paper);
 * `concatenated`: all sines, then all cosines (Hugging Face RoFormer, Marian); `tensor2tensor`: as concatenated
 * with frequencies base^(-i / (dim/2 - 1)) (M2M100, FSMT). Sums of one are no sums of another: check your model.
 */
export type SinusoidLayout = 'interleaved' | 'concatenated' | 'tensor2tensor';

/** What a sinusoidal table is made from. */
export interface SinusoidalOptions {
  /** Width of a row. May be odd: then there is one more sine (tensor2tensor: a zero at the end). */
  dim: number;
  /** A list of integers in ±(2^53 - 1), or `{ length, offset }` for consecutive ones. */
  positions: RowsInput;
  /** Default 10000. */
  base?: number;
  /** Default `interleaved`. */
  layout?: SinusoidLayout;
  /** Multiplies every entry. Default 1. */
  scale?: number;
}

const sinusoidLayouts: Readonly<Record<SinusoidLayout, number>> = { interleaved: 0, concatenated: 1, tensor2tensor: 2 };

/** @internal */
export const tableOptions = ['dim', 'base', 'layout', 'scale'] as const;

/** @internal */
export function sinusoidal(heap: Heap, options: SinusoidalOptions): Float32Array {
  const where = 'sinusoidal';
  const given = check.options<SinusoidalOptions>(where, 'options', options, [...tableOptions, 'positions']);
  const layout = check.choice(where, 'layout', given.layout ?? 'interleaved', sinusoidLayouts);
  const dim = check.integer(where, 'dim', given.dim, 1, 2 ** 20);
  if (given.layout === 'tensor2tensor' && dim < 4) {
    throw new ArgumentRangeError(
      where,
      'dim',
      dim,
      `is ${dim}; layout 'tensor2tensor' divides by dim/2 - 1 and needs at least 4`,
    );
  }
  const core = {
    dim,
    layout,
    base: check.positive(where, 'base', given.base ?? 10000),
    scale: check.float32Number(where, 'scale', given.scale ?? 1),
  };
  const at = rows(where, given.positions, dim);
  return heap.scope(where, (take) => {
    const pointer = take(at.byteLength);
    const out = take(at.length * dim * 4);
    heap.write(pointer, at);
    checkStatus(
      heap.call((c) => c.sinusoidal(core, pointer, at.length, out)),
      where,
    );
    return heap.readFloats(out, at.length * dim);
  });
}
