// Checks token ids, token types and masks in the forms that tokenizers give: arrays, arrays of arrays, typed arrays,
// and objects with data and dims.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { lengthOf } from '../runtime/typed-arrays.js';

/** Token ids: [T], or [B, T] as rows or as an object with data and shape (or dims). */
export type IdsInput =
  | check.IntegersInput
  | readonly check.IntegersInput[]
  | {
      /** The ids, row major. */
      readonly data: check.IntegersInput;
      /** [T] or [B, T]. */
      readonly shape: readonly number[];
    }
  | {
      /** The ids, row major. */
      readonly data: check.IntegersInput;
      /** [T] or [B, T]. */
      readonly dims: readonly number[];
    };

/** Checked ids. @internal */
export interface Ids {
  readonly values: Float64Array;
  readonly batch: number;
  readonly tokens: number;
  /** [T] or [B, T], as given. */
  readonly shape: readonly number[];
}

function isList(value: unknown): value is check.IntegersInput {
  return Array.isArray(value) || ArrayBuffer.isView(value);
}

function lists(where: string, name: string, source: unknown): { values: Float64Array; shape: readonly number[] } {
  const value = check.read(source);
  if (Array.isArray(value) && value.some(isList)) {
    const rows = value.map((row, b) => check.positions(where, `${name}[${b}]`, row));
    const tokens = rows[0]?.length ?? 0;
    const values = new Float64Array(rows.length * tokens);
    rows.forEach((row, b) => {
      if (row.length !== tokens) {
        const problem = `has ${row.length} entries, the first row ${tokens}; pad them where attentionMask is an option`;
        throw new ArgumentRangeError(where, `${name}[${b}]`, value[b], problem);
      }
      values.set(row, b * tokens);
    });
    return { values, shape: [rows.length, tokens] };
  }
  if (isList(value)) {
    const values = check.positions(where, name, value);
    return { values, shape: [values.length] };
  }
  if (typeof value !== 'object' || value === null || !('data' in value)) {
    throw new ArgumentTypeError(
      where,
      name,
      value,
      'an array of integers, rows of them, or an object with data and shape',
    );
  }
  const given = value as { data: unknown; shape?: unknown; dims?: unknown };
  const shape = check.shape(where, `${name}.shape`, given.shape ?? given.dims);
  const values = check.positions(where, `${name}.data`, given.data);
  if ((shape.length !== 1 && shape.length !== 2) || check.sizeOf(shape) !== lengthOf(values)) {
    const problem = `has ${values.length} entries and shape [${shape.join(', ')}]; expected [T] or [B, T]`;
    throw new ArgumentRangeError(where, name, value, problem);
  }
  return { values, shape };
}

/** Checks ids: at least one, all below `vocabSize`. @internal */
export function readIds(where: string, value: unknown, vocabSize: number, name = 'ids'): Ids {
  const { values, shape } = lists(where, name, value);
  if (values.length === 0) throw new ArgumentRangeError(where, name, value, 'is empty; expected at least one token');
  checkWithin(where, name, values, vocabSize, 'the vocabulary');
  return { values, shape, batch: shape.length === 2 ? (shape[0] as number) : 1, tokens: shape.at(-1) as number };
}

/** @internal */
export function checkWithin(where: string, name: string, values: Float64Array, rows: number, table: string): void {
  const outside = values.findIndex((id) => id < 0 || id >= rows);
  if (outside < 0) return;
  const problem = `is ${values[outside]}; ${table} has ${rows} entries, counted from 0`;
  throw new ArgumentRangeError(where, `${name}[${outside}]`, values[outside], problem);
}

/** Checks integers in the shape of the ids: token types or a mask. @internal */
export function likeIds(where: string, name: string, value: unknown, ids: Ids): Float64Array {
  const { values, shape } = lists(where, name, value);
  if (check.sizeOf(shape) === ids.values.length && shape.at(-1) === ids.tokens) return values;
  const problem = `has shape [${shape.join(', ')}]; expected that of ids, [${ids.shape.join(', ')}]`;
  throw new ArgumentRangeError(where, name, value, problem);
}

/** Positions [T] or [B * T] as one for each id. @internal */
export function perToken(positions: Float64Array, { values, tokens }: Ids): Float64Array {
  if (positions.length === values.length) return positions;
  return Float64Array.from(values, (_, i) => positions[i % tokens] as number);
}

/** A mask of 1 for tokens and 0 for padding, in the shape [B, 1, 1, T] for layers. @internal */
export function paddingMask(where: string, value: unknown, ids: Ids) {
  const values = likeIds(where, 'attentionMask', value, ids);
  const odd = values.findIndex((each) => each !== 0 && each !== 1);
  if (odd >= 0) {
    const problem = `is ${values[odd]}; expected 1 for a token and 0 for padding`;
    throw new ArgumentRangeError(where, `attentionMask[${odd}]`, values[odd], problem);
  }
  return { data: Uint8Array.from(values), shape: [ids.batch, 1, 1, ids.tokens] };
}

/** Tokens first ... end - 1 of every row. @internal */
export function slice(ids: Ids, first: number, end: number): Ids {
  const { batch, tokens, values } = ids;
  if (first === 0 && end === tokens) return ids;
  const count = end - first;
  const part = new Float64Array(batch * count);
  for (let b = 0; b < batch; ++b) part.set(values.subarray(b * tokens + first, b * tokens + end), b * count);
  return { values: part, batch, tokens: count, shape: [batch, count] };
}
