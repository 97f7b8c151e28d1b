// Embedding lookup: rows of a table by number.
import { EmbedCall } from '../calls.js';
import { WeightType } from '../enums.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import { type ArrayLikeInput, matrix, type Tensor, type TensorInput } from '../runtime/tensor.js';
import { type StoredWeight, type Weight, weight } from './weights.js';

/** Options of `rw.embed`. */
export interface EmbedOptions<O extends Out = undefined> extends OutOption<O> {
  /** Shape of the ids, such as [B, T]. Default one axis, [ids]. */
  shape?: readonly number[];
  /** Multiplies every number. Default 1; Gemma takes sqrt(M), rounded to bfloat16 where the checkpoint is. */
  scale?: number;
}

/** What `rw.embed` answers: a tensor for a table that is one, unless `out` says otherwise. */
export type EmbedResult<X, O extends Out> = ResultOf<X extends Tensor ? X : ArrayLikeInput, O>;

const axes = '[ids, dim]';

// A table whose type is not float32; undefined for any other.
function storedTable(heap: Heap, where: string, value: unknown): Weight | undefined {
  if (!check.isPlain(value)) return undefined;
  const { type, shape, dims } = value as { type?: unknown; shape?: unknown; dims?: unknown };
  if (type === undefined || type === 'float32') return undefined;
  const sizes = check.shape(where, 'table.shape', shape ?? dims);
  const [rows = 0, dim = 0] = sizes;
  if (sizes.length !== 2) throw wrongShape(where, 'table', value, sizes, axes);
  return weight(heap, where, 'table', value, [rows, dim], sizes);
}

/** @internal */
export function embed<X extends TensorInput | StoredWeight, O extends Out>(
  heap: Heap,
  tableInput: X,
  idsInput: check.IntegersInput,
  options: EmbedOptions<O>,
): EmbedResult<X, O> {
  const where = 'embed';
  const given = check.options(where, 'options', options, ['shape', 'scale', 'out']);
  const [tableRead, idsRead] = [check.read(tableInput), check.read(idsInput)];
  const stored = storedTable(heap, where, tableRead);
  const table = stored ?? matrix(heap, where, 'table', tableRead, axes);
  const { rows, columns: dim } = table;
  const ids = check.positions(where, 'ids', idsRead);
  const outside = ids.findIndex((id) => id < 0 || id >= rows);
  if (outside >= 0) {
    const problem = `is ${ids[outside]}; the table has ${rows} rows, counted from 0`;
    throw new ArgumentRangeError(where, `ids[${outside}]`, ids[outside], problem);
  }
  const shape = given.shape === undefined ? [ids.length] : check.shape(where, 'shape', given.shape);
  if (check.sizeOf(shape) !== ids.length) {
    const problem = `[${shape.join(', ')}] holds ${check.sizeOf(shape)} ids; there are ${ids.length}`;
    throw new ArgumentRangeError(where, 'shape', given.shape, problem);
  }
  const scale = check.float32Number(where, 'scale', given.scale ?? 1);
  const asTensor = 'input' in table && table.input.tensor !== undefined;
  const result = output(heap, where, asTensor, [...shape, dim], given.out, (to, scratch) => {
    const call = { out: to, dim, count: ids.length, scale };
    const lookup =
      'input' in table
        ? { ...call, type: WeightType.float32, table: table.input.address(scratch), tableRows: rows, ids }
        : { ...call, ...rowsOf(table, ids, scratch) };
    const fields = heap.putCall(scratch, EmbedCall, { ...lookup, ids: heap.put(scratch, lookup.ids) });
    heap.run(where, (c) => c.embed(fields));
  });
  return result as EmbedResult<X, O>;
}

// The rows that are asked for, in a table of their own.
function rowsOf(table: Weight, ids: ArrayLike<number>, scratch: Scratch) {
  const at = scratch(ids.length * table.rowBytes);
  const own = Float64Array.from(ids, (id, i) => {
    table.at(at + i * table.rowBytes, id, 1);
    return i;
  });
  return { type: table.type, table: at, tableRows: ids.length, ids: own };
}
