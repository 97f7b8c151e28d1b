// Learned absolute positions (Gehring et al., arXiv:1705.03122).
import { ExtendLearnedCall, LearnedCall } from '../calls.js';
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { checkedPositions, type PositionOptions } from '../runtime/positions.js';
import { matrix, type NdArray, operand, type TensorInput } from '../runtime/tensor.js';

/** Options of `rw.learned`. */
export interface LearnedOptions extends PositionOptions {
  /** `[positions, dim]`: one row for each position; dim is the last axis of x, unless rows are concatenated. */
  table: TensorInput;
  /** `add` (the default): x + row; `multiply`: x * row; `concatenate`: [x, row]. */
  mode?: 'add' | 'multiply' | 'concatenate';
}

const tableAxes = '[positions, dim]';
const learnedModes: check.Choices<NonNullable<LearnedOptions['mode']>, typeof enums.LearnedMode> = enums.LearnedMode;

/** @internal */
export function learned(heap: Heap, x: TensorInput, options: LearnedOptions): NdArray {
  const where = 'learned';
  const given = check.options(where, 'options', options, ['table', 'mode', 'offset', 'positions']);
  const input = operand(heap, where, 'x', x);
  const { input: table, rows: tableRows, columns: dim } = matrix(heap, where, 'table', given.table, tableAxes);
  const mode = check.choice(where, 'mode', given.mode ?? 'add', learnedModes);
  if (input.shape.length < 1 || input.shape.length > 3) {
    throw wrongShape(where, 'x', x, input.shape, '[T, dim] or [B, T, dim]');
  }
  const xDim = input.shape.at(-1) ?? 0;
  if (mode !== learnedModes.concatenate && xDim !== dim) {
    throw new ArgumentRangeError(where, 'x', x, `has width ${xDim}, the table ${dim}`);
  }
  const tokens = input.shape.at(-2) ?? 1;
  const batch = input.shape.at(-3) ?? 1;
  const at = checkedPositions(where, given, batch, tokens);
  const rowAt = (row: number) => (at.values ? at.values[at.perBatch ? row : row % tokens] : at.offset + (row % tokens));
  const positions = Float64Array.from({ length: batch * tokens }, (_, row) => rowAt(row) ?? 0);
  const outside = positions.findIndex((p) => p < 0 || p >= tableRows);
  if (outside >= 0) {
    const problem = `is ${positions[outside]}; the table has positions from 0 to ${tableRows - 1}`;
    throw new ArgumentRangeError(where, `positions[${outside}]`, positions[outside], problem);
  }
  const width = mode === learnedModes.concatenate ? xDim + dim : xDim;
  const data = heap.floatsOf(where, positions.length * width, (out, scratch) => {
    const call = {
      out,
      x: input.address(scratch),
      xDim,
      table: { data: table.address(scratch), positions: tableRows, dim },
      mode,
      positions: heap.put(scratch, positions),
      rows: positions.length,
    };
    const fields = heap.putCall(scratch, LearnedCall, call);
    heap.run(where, (c) => c.learnedPositions(fields));
  });
  return { data, shape: [...input.shape.slice(0, -1), width] };
}

/** Options of `rw.extendLearned`. */
export interface ExtendLearnedOptions {
  /** Rows of the extended table, at most the square of the old one's. */
  length: number;
  /** Weight of the coarse position, between 0 and 1 and not 1/2. Default 0.4. */
  alpha?: number;
}

/** @internal */
export function extendLearned(heap: Heap, tableInput: TensorInput, options: ExtendLearnedOptions): NdArray {
  const where = 'extendLearned';
  const given = check.options(where, 'options', options, ['length', 'alpha']);
  const { input: table, rows, columns: dim } = matrix(heap, where, 'table', tableInput, tableAxes);
  if (rows === 0) throw wrongShape(where, 'table', tableInput, table.shape, tableAxes);
  const length = check.integer(where, 'length', given.length, 0, rows * rows);
  const alpha = check.finite(where, 'alpha', given.alpha ?? 0.4);
  if (alpha <= 0 || alpha >= 1 || alpha === 0.5) {
    throw new ArgumentRangeError(where, 'alpha', alpha, `is ${alpha}; expected a number between 0 and 1, not 1/2`);
  }
  const data = heap.floatsOf(where, length * dim, (out, scratch) => {
    const from = { data: table.address(scratch), positions: rows, dim };
    const fields = heap.putCall(scratch, ExtendLearnedCall, { out, table: from, alpha, rows: length });
    heap.run(where, (c) => c.extendLearned(fields));
  });
  return { data, shape: [length, dim] };
}
