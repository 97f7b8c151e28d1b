// Embedding lookup: rows of a table by number.
import { EmbedCall } from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type Out, type OutOption, output, type ResultOf } from '../runtime/outputs.js';
import { matrix, type TensorInput } from '../runtime/tensor.js';

/** Options of `rw.embed`. */
export interface EmbedOptions<O extends Out = undefined> extends OutOption<O> {
  /** Shape of the ids, such as [B, T]. Default one axis, [ids]. */
  shape?: readonly number[];
  /** Multiplies every number. Default 1; Gemma takes sqrt(M), rounded to bfloat16 where the checkpoint is. */
  scale?: number;
}

/** @internal */
export function embed<X extends TensorInput, O extends Out>(
  heap: Heap,
  tableInput: X,
  idsInput: check.IntegersInput,
  options: EmbedOptions<O>,
): ResultOf<X, O> {
  const where = 'embed';
  const given = check.options(where, 'options', options, ['shape', 'scale', 'out']);
  const [tableRead, idsRead] = [check.read(tableInput), check.read(idsInput)];
  const { input: table, rows, columns: dim } = matrix(heap, where, 'table', tableRead, '[ids, dim]');
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
  return output<X, O>(heap, where, table.tensor !== undefined, [...shape, dim], given.out, (to, scratch) => {
    const [tableAt, idsAt] = [table.address(scratch), heap.put(scratch, ids)];
    const lookup = { out: to, table: tableAt, tableRows: rows, dim, ids: idsAt, count: ids.length, scale };
    const fields = heap.putCall(scratch, EmbedCall, lookup);
    heap.run(where, (c) => c.embed(fields));
  });
}
