// Positions of tokens: consecutive ones from an offset on, or a list.
import type { PositionsCall } from '../calls.js';
import * as check from './check.js';
import { ArgumentRangeError, ArgumentTypeError } from './errors.js';
import type { Heap, Scratch } from './heap.js';

/** Positions of a call's tokens. Give one of the two; without both the offset is 0. */
export interface PositionOptions {
  /** Position of the first token, an integer in ±(2^53 - 1); the others follow one by one. Default 0. */
  offset?: number;
  /**
   * Position of every token, integers in ±(2^53 - 1) in any order: [T], or [B, T] flat for each batch entry. A plan
   * with several axes takes an array with one such list for each axis.
   */
  positions?: PositionsInput;
}

/** One list of positions, or one for each axis of the plan. */
export type PositionsInput = check.IntegersInput | readonly check.IntegersInput[];

/** Checked positions. @internal */
export interface CheckedPositions {
  readonly values: Float64Array | undefined;
  readonly offset: number;
  readonly perBatch: boolean;
  /** What the core takes; the values are copied to memory that `scratch` gives. */
  put(heap: Heap, scratch: Scratch): PositionsCall;
}

function consecutive(where: string, name: string, value: unknown, tokens: number): CheckedPositions {
  const offset = check.position(where, name, value);
  if (!Number.isSafeInteger(offset + Math.max(tokens - 1, 0))) {
    const problem = `is ${offset}; with ${tokens} tokens the last position passes 2^53 - 1`;
    throw new ArgumentRangeError(where, name, offset, problem);
  }
  const call = { values: 0, count: 0, perBatch: false, offset };
  return { ...call, values: undefined, put: () => call };
}

function isList(value: unknown): boolean {
  return Array.isArray(value) || ArrayBuffer.isView(value);
}

// One list for each axis, made into one array [axes, entries].
function perAxis(where: string, name: string, value: unknown, axes: number): Float64Array {
  if (axes === 1 && !(Array.isArray(value) && isList(value[0]))) return check.positions(where, name, value);
  if (!Array.isArray(value) || !value.every(isList)) {
    throw new ArgumentTypeError(where, name, value, `an array of ${axes} lists, one for each axis`);
  }
  if (value.length !== axes) {
    throw new ArgumentRangeError(where, name, value, `has ${value.length} lists, the plan has ${axes} axes`);
  }
  const lists = value.map((list, axis) => check.positions(where, `${name}[${axis}]`, list));
  const length = lists[0]?.length ?? 0;
  const all = new Float64Array(axes * length);
  lists.forEach((list, axis) => {
    if (list.length !== length) {
      throw new ArgumentRangeError(
        where,
        `${name}[${axis}]`,
        list,
        `has ${list.length} entries, ${name}[0] has ${length}`,
      );
    }
    all.set(list, axis * length);
  });
  return all;
}

/** Checks positions that are listed. @internal */
export function listed(
  where: string,
  name: string,
  value: unknown,
  batch: number,
  tokens: number,
  axes: number,
): CheckedPositions {
  const values = perAxis(where, name, value, axes);
  const count = values.length / axes;
  if (count !== tokens && count !== batch * tokens) {
    const batched = batch > 1 ? `, or ${batch * tokens} for each batch entry` : '';
    throw new ArgumentRangeError(where, name, value, `has ${count} entries, x has ${tokens} tokens${batched}`);
  }
  const call = { count: values.length, perBatch: count !== tokens, offset: 0 };
  return { ...call, values, put: (heap, scratch) => ({ ...call, values: heap.put(scratch, values) }) };
}

/** @internal */
export function checkedPositions(
  where: string,
  options: PositionOptions,
  batch: number,
  tokens: number,
  axes = 1,
): CheckedPositions {
  if (options.positions === undefined) return consecutive(where, 'offset', options.offset ?? 0, tokens);
  if (options.offset !== undefined) {
    throw new ArgumentRangeError(where, 'offset', options.offset, 'and positions exclude each other; give one of them');
  }
  return listed(where, 'positions', options.positions, batch, tokens, axes);
}

/**
 * An offset or a list under one name.
 * @internal
 */
export function checkedPositionsOf(
  where: string,
  name: string,
  value: unknown,
  batch: number,
  tokens: number,
  axes: number,
): CheckedPositions {
  if (typeof value === 'number') return consecutive(where, name, value, tokens);
  return listed(where, name, value, batch, tokens, axes);
}

/** Consecutive positions. */
export interface RowsRange {
  /** Number of positions. */
  readonly length: number;
  /** The first one, an integer in ±(2^53 - 1). Default 0. */
  readonly offset?: number;
}

/** Positions of a table's rows: a list (or one for each axis), or `length` positions from `offset` (default 0) on. */
export type RowsInput = PositionsInput | RowsRange;

/**
 * [axes, rows], for a table with `width` numbers in a row.
 * @internal
 */
export function rows(where: string, value: unknown, width: number, axes = 1): Float64Array {
  if (isList(value)) return perAxis(where, 'positions', value, axes);
  if (typeof value !== 'object' || value === null) {
    throw new ArgumentTypeError(where, 'positions', value, 'an array of integers, or { length }');
  }
  const range = check.options(where, 'positions', value as RowsRange, ['length', 'offset']);
  // Before a list is made that the table has no room for.
  const length = check.integer(where, 'positions.length', range.length, 0, Math.floor(2 ** 30 / Math.max(width, axes)));
  const { offset } = consecutive(where, 'positions.offset', range.offset ?? 0, length);
  return Float64Array.from({ length: axes * length }, (_, i) => offset + (i % length));
}
