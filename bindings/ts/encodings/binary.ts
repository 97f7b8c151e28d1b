// Binary position code.
import * as calls from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type RowsInput, rows } from '../runtime/positions.js';
import type { OwnFloats } from '../runtime/typed-arrays.js';

/** Options of `rw.binary`. */
export interface BinaryOptions {
  /** Bits of a code word, 1 to 53; positions are from 0 to 2^bits - 1. */
  bits: number;
  /** A list of positions, or `{ length, offset }` for consecutive ones. */
  positions: RowsInput;
  /** The highest bit first. Default false: the lowest. */
  msbFirst?: boolean;
  /** `bits` (the default): 0 and 1; `signs`: -1 and 1. */
  values?: 'bits' | 'signs';
}

/** @internal */
export function binary(heap: Heap, options: BinaryOptions): OwnFloats {
  const where = 'binary';
  const given = check.options(where, 'options', options, ['bits', 'positions', 'msbFirst', 'values']);
  const core = {
    bits: check.integer(where, 'bits', given.bits, 1, 53),
    msbFirst: check.boolean(where, 'msbFirst', given.msbFirst ?? false),
    sign: check.choice(where, 'values', given.values ?? 'bits', { bits: 0, signs: 1 }) === 1,
  };
  const at = rows(where, given.positions, core.bits);
  const outside = at.findIndex((p) => p < 0 || p >= 2 ** core.bits);
  if (outside >= 0) {
    const problem = `is ${at[outside]}; ${core.bits} bits hold positions from 0 to ${2 ** core.bits - 1}`;
    throw new ArgumentRangeError(where, `positions[${outside}]`, at[outside], problem);
  }
  return heap.floatsOf(where, at.length * core.bits, (out, scratch) => {
    const [code, positions] = [heap.putCall(scratch, calls.BinaryOptions, core), heap.put(scratch, at)];
    heap.run(where, (c) => c.binaryCode(code, positions, at.length, out));
  });
}
