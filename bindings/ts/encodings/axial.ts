// Learned positions of a grid, in two tables (Kitaev et al., arXiv:2001.04451; vision transformers).
import * as check from '../runtime/check.js';
import { wrongShape } from '../runtime/errors.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import { matrix, type NdArray, numbersOf, type TensorInput } from '../runtime/tensor.js';

/** Options of axialTable. */
export interface AxialTableOptions {
  /** `[R, dim]`: a vector for each row of the grid. */
  rows: TensorInput;
  /** `[C, dim]`: a vector for each column. With mode `concatenate` its dim may be another. */
  columns: TensorInput;
  /** `add` (the default): row + column, as in Pix2Struct; `concatenate`: [row, column], as in Reformer. */
  mode?: 'add' | 'concatenate';
}

/**
 * The table of learned positions that a grid's two tables stand for: [R * C, dim], for `rw.learned`. The position of the cell
 * in row r and column c is r C + c.
 *
 * @throws ArgumentRangeError where the tables are no matrices, or have other widths and are to be added.
 *
 * @example
 * const table = axialTable(rw, { rows: { data: rows, shape: [24, 64] }, columns: { data: columns, shape: [32, 64] } });
 * const { data } = rw.learned({ data: patches, shape: [24 * 32, 64] }, { table });
 */
export function axialTable(rw: Instance, options: AxialTableOptions): NdArray {
  const where = 'axialTable';
  const heap = heapOf(where, rw);
  const given = check.options(where, 'options', options, ['rows', 'columns', 'mode']);
  const concatenates = check.choice(where, 'mode', given.mode ?? 'add', { add: false, concatenate: true });
  const byRow = matrix(heap, where, 'rows', given.rows, '[R, dim]');
  const axes = concatenates ? '[C, dim]' : `[C, ${byRow.columns}]`;
  const byColumn = matrix(heap, where, 'columns', given.columns, axes);
  if (!concatenates && byColumn.columns !== byRow.columns) {
    throw wrongShape(where, 'columns', given.columns, byColumn.input.shape, axes);
  }
  const width = byRow.columns + (concatenates ? byColumn.columns : 0);
  const shape = check.shape(where, 'the shape of the table', [byRow.rows * byColumn.rows, width]);
  const [rows, columns] = [byRow, byColumn].map(({ input }) => numbersOf(heap, where, input)) as [
    Float32Array,
    Float32Array,
  ];
  const data = new Float32Array(check.sizeOf(shape));
  for (let at = 0; at < data.length; ++at) {
    const [position, d] = [Math.floor(at / width), at % width];
    const ofColumn = (position % byColumn.rows) * byColumn.columns + d;
    const row = rows[Math.floor(position / byColumn.rows) * byRow.columns + d] ?? 0;
    if (!concatenates) data[at] = row + (columns[ofColumn] ?? 0);
    else data[at] = d < byRow.columns ? row : (columns[ofColumn - byRow.columns] ?? 0);
  }
  return { data, shape };
}
