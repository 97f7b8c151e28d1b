// embed(): rows of a table by id.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, OutOfMemoryError, StateError } from 'ropewalk';
import { assertSameBits, randomArray } from '../support/arrays.mjs';
import {
  notAShape,
  notFinite,
  notFloats,
  notOptions,
  notPositions,
  outOfRange,
  required,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rowsOf = ({ data, shape: [, dim] }, ids) => ids.flatMap((id) => [...data.subarray(id * dim, (id + 1) * dim)]);

await onEachBuild((rw) => {
  test('embed gives the rows of its ids, whatever list they come as', () => {
    for (const dim of [1, 3, 4, 17, 64]) {
      const table = randomArray([9, dim], dim);
      const ids = [8, 0, 3, 3, 1];
      for (const list of [ids, Int32Array.from(ids), Float64Array.from(ids), BigInt64Array.from(ids, BigInt)]) {
        const got = rw.embed(table, list);
        assert.deepEqual(got.shape, [5, dim]);
        assertSameBits(got.data, rowsOf(table, ids));
      }
    }
  });

  test('embed gives the ids their shape, and scales', () => {
    const table = randomArray([9, 4], 1);
    const ids = [1, 2, 3, 4, 5, 6];
    for (const [shape, want] of [
      [[6], [6, 4]],
      [
        [2, 3],
        [2, 3, 4],
      ],
      [
        [1, 6, 1],
        [1, 6, 1, 4],
      ],
    ]) {
      assert.deepEqual(rw.embed(table, ids, { shape }).shape, want);
    }
    assert.deepEqual(rw.embed(table, [7], { shape: [] }).shape, [4]);
    const scaled = rw.embed(table, ids, { scale: 45.25 }).data;
    assertSameBits(
      scaled,
      rowsOf(table, ids).map((v) => Math.fround(v * 45.25)),
    );
  });

  test('a table that is a tensor gives a tensor and stays as it was', () => {
    const { data, shape } = randomArray([9, 4], 1);
    const table = rw.tensor(shape, data);
    const got = rw.embed(table, [8, 0], { shape: [1, 2] });
    assert.deepEqual(got.shape, [1, 2, 4]);
    assertSameBits(got.data(), rowsOf({ data, shape }, [8, 0]));
    assertSameBits(table.data(), data);
    table.dispose();
    got.dispose();
  });

  test('no ids give nothing, even from an empty table', () => {
    for (const rows of [0, 3]) {
      const got = rw.embed(randomArray([rows, 4]), []);
      assert.deepEqual(got, { data: new Float32Array(0), shape: [0, 4] });
    }
    assert.deepEqual(rw.embed(randomArray([3, 0]), [2]).shape, [1, 0]);
  });
});

const rw = await load({ simd: 'deterministic' });
const table = randomArray([5, 4], 1);
const other = await load({ simd: 'deterministic' });
const foreign = other.tensor([5, 4]);
const disposed = rw.tensor([5, 4]);
disposed.dispose();

testAllRefusals(rw, 'embed', {
  options: [notOptions, (options) => rw.embed(table, [0], options)],
  table: [required(notFloats(20)), (data) => rw.embed({ data, shape: [5, 4] }, [0])],
  'table.shape': [notAShape, (shape) => rw.embed({ data: table.data, shape }, [0])],
  ids: [
    [...required(notPositions(3)), ...[-1, 5, 2 ** 53 - 1].map((id) => outOfRange([0, 1, id], String(id)))],
    (ids) => rw.embed(table, ids),
  ],
  shape: [notAShape, (shape) => rw.embed(table, [0, 1], { shape })],
  scale: [[...notFinite, outOfRange(1e39)], (scale) => rw.embed(table, [0], { scale })],
});
testUnknownOptions(rw, 'embed', ['nonsense', 'ids', 'constructor'], (options) => rw.embed(table, [0], options));
testMisfits(rw, 'embed', {
  'an id that the table does not have': [RangeError, ['ids[1]', '5', '5 rows'], () => rw.embed(table, [4, 5])],
  'a shape of more ids': [RangeError, ['shape', '[2, 2]', '3'], () => rw.embed(table, [0, 1, 2], { shape: [2, 2] })],
  'a table of one axis': [RangeError, ['table', '[20]'], () => rw.embed(randomArray([20]), [0])],
  'a table of three axes': [RangeError, ['table', '[1, 5, 4]'], () => rw.embed(randomArray([1, 5, 4]), [0])],
  'a table of another instance': [StateError, ['table', 'instance'], () => rw.embed(foreign, [0])],
  'more rows than the heap has room for': [
    OutOfMemoryError,
    'embed',
    () => rw.embed(randomArray([1, 2 ** 17]), new Int32Array(2 ** 14)),
  ],
  'a disposed table': [StateError, ['table', 'disposed'], () => rw.embed(disposed, [0])],
});
