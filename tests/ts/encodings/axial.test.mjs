// Tables of learned positions of a grid, from one of its rows and one of its columns, and refused arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axialTable, load } from 'ropewalk';
import { assertSameBits, randomArray } from '../support/arrays.mjs';
import { notAChoice, notAShape, notFloats, notOptions, required, wrongType } from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load();

const at = ({ data, shape: [, dim] }, row, d) => data[row * dim + d];

for (const [height, width, rowDim, columnDim] of [
  [1, 1, 1, 1],
  [3, 5, 4, 4],
  [5, 1, 2, 7],
  [1, 6, 3, 1],
  [0, 4, 3, 3],
  [4, 3, 0, 2],
]) {
  const [rows, columns] = [randomArray([height, rowDim], 1), randomArray([width, columnDim], 2)];
  const cells = Array.from({ length: height * width }, (_, p) => [Math.floor(p / width), p % width]);

  test(`${height} x ${width} positions, concatenated from ${rowDim} and ${columnDim} coordinates`, () => {
    const table = axialTable(rw, { rows, columns, mode: 'concatenate' });
    assert.deepEqual(table.shape, [height * width, rowDim + columnDim]);
    const want = cells.flatMap(([r, c]) => [
      ...Array.from({ length: rowDim }, (_, d) => at(rows, r, d)),
      ...Array.from({ length: columnDim }, (_, d) => at(columns, c, d)),
    ]);
    assertSameBits(table.data, want);
  });

  if (rowDim !== columnDim) continue;
  test(`${height} x ${width} positions of ${rowDim} coordinates, added`, () => {
    const table = axialTable(rw, { rows, columns });
    assert.deepEqual(table.shape, [height * width, rowDim]);
    const want = cells.flatMap(([r, c]) =>
      Array.from({ length: rowDim }, (_, d) => Math.fround(at(rows, r, d) + at(columns, c, d))),
    );
    assertSameBits(table.data, want);
  });
}

const [rows, columns] = [randomArray([3, 4], 1), randomArray([5, 4], 2)];

test('it is a table for rw.learned, which adds first the vector of the row and then that of the column', () => {
  const x = randomArray([15, 4], 3);
  const { data } = rw.learned(x, { table: axialTable(rw, { rows, columns }) });
  const want = x.data.map((value, i) => {
    const [row, d] = [Math.floor(i / 4), i % 4];
    return value + Math.fround(at(rows, Math.floor(row / 5), d) + at(columns, row % 5, d));
  });
  assertSameBits(data, want);
});

test('tensors are taken, too', () => {
  const tensors = [rows, columns].map(({ data, shape }) => rw.tensor(shape, data));
  const [got, want] = [
    { rows: tensors[0], columns: tensors[1] },
    { rows, columns },
  ].map((o) => axialTable(rw, o));
  assertSameBits(got.data, want.data);
  for (const tensor of tensors) tensor.dispose();
});

testAllRefusals(rw, 'axialTable', {
  rw: [
    required([wrongType(null, 'null'), wrongType({}, 'an object')]),
    (value) => axialTable(value, { rows, columns }),
  ],
  options: [required(notOptions), (options) => axialTable(rw, options)],
  rows: [required(notFloats(12)), (data) => axialTable(rw, { rows: { data, shape: [3, 4] }, columns })],
  'rows.shape': [notAShape, (shape) => axialTable(rw, { rows: { data: rows.data, shape }, columns })],
  columns: [required(notFloats(20)), (data) => axialTable(rw, { rows, columns: { data, shape: [5, 4] } })],
  mode: [notAChoice, (mode) => axialTable(rw, { rows, columns, mode })],
});
testUnknownOptions(rw, 'axialTable', ['table', 'constructor'], (more) => axialTable(rw, { rows, columns, ...more }));
testMisfits(rw, 'axialTable', {
  'rows of three axes': [
    RangeError,
    ['rows has shape [1, 3, 4]', '[R, dim]'],
    () => axialTable(rw, { rows: { data: rows.data, shape: [1, 3, 4] }, columns }),
  ],
  'columns of another width to be added': [
    RangeError,
    ['columns has shape [5, 3]', '[C, 4]'],
    () => axialTable(rw, { rows, columns: randomArray([5, 3], 1) }),
  ],
  'a grid of more numbers than fit': [
    RangeError,
    'the shape of the table',
    () => {
      const long = { data: new Float32Array(2 ** 16), shape: [2 ** 16, 1] };
      return axialTable(rw, { rows: long, columns: long });
    },
  ],
});
