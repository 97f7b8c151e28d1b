// embed(): rows of a table by id.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, OutOfMemoryError, StateError } from 'ropewalk';
import { assertSameBits, randomArray } from '../support/arrays.mjs';
import {
  notAChoice,
  notAShape,
  notFinite,
  notFloats,
  notOptions,
  notPositions,
  outOfRange,
  required,
  wrongType,
} from '../support/bad-values.mjs';
import { blockSizes, randomBlocks, weightsOfBlocks } from '../support/blocks.mjs';
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

  for (const [type, [size, bytes]] of Object.entries(blockSizes)) {
    test(`a table of ${type} gives the weights of its blocks`, () => {
      const [rows, dim] = [7, 3 * size];
      const data = randomBlocks(type, rows * dim, 5);
      assert.equal(data.length, rows * 3 * bytes);
      const weights = { data: weightsOfBlocks(type, data), shape: [rows, dim] };
      const ids = [6, 0, 2, 2];
      const got = rw.embed({ type, data, shape: [rows, dim] }, ids, { shape: [2, 2] });
      assert.deepEqual(got.shape, [2, 2, dim]);
      assertSameBits(got.data, rowsOf(weights, ids));
      const out = rw.tensor([4, dim]);
      assert.equal(rw.embed({ type, data, shape: [rows, dim] }, ids, { out, scale: 2 }), out);
      assertSameBits(
        out.data(),
        rowsOf(weights, ids).map((x) => x * 2),
      );
      out.dispose();
    });
  }

  test('a table of float16 or bfloat16 is widened', () => {
    // 1, -2, 2^-14, 65504; 1, -2, 2^-126, 3.375.
    const float16 = { type: 'float16', data: Uint16Array.of(0x3c00, 0xc000, 0x0400, 0x7bff), shape: [2, 2] };
    const bfloat16 = { type: 'bfloat16', data: Uint16Array.of(0x3f80, 0xc000, 0x0080, 0x4058), shape: [2, 2] };
    assert.deepEqual([...rw.embed(float16, [1, 0]).data], [2 ** -14, 65504, 1, -2]);
    assert.deepEqual([...rw.embed(bfloat16, [1, 0]).data], [2 ** -126, 3.375, 1, -2]);
    assert.deepEqual(
      [...rw.embed({ ...bfloat16, shape: undefined, dims: [1, 4] }, [0]).data],
      [1, -2, 2 ** -126, 3.375],
    );
  });

  test('no ids give nothing, even from an empty table', () => {
    for (const rows of [0, 3]) {
      const got = rw.embed(randomArray([rows, 4]), []);
      assert.deepEqual(got, { data: new Float32Array(0), shape: [0, 4] });
    }
    assert.deepEqual(rw.embed(randomArray([3, 0]), [2]).shape, [1, 0]);
    const blocks = { type: 'q8_0', data: new Uint8Array(34), shape: [1, 32] };
    assert.deepEqual(rw.embed(blocks, []), { data: new Float32Array(0), shape: [0, 32] });
  });
});

const rw = await load({ simd: 'deterministic' });
const stored = { type: 'q8_0', data: new Uint8Array(34), shape: [1, 32] };
const table = randomArray([5, 4], 1);
const other = await load({ simd: 'deterministic' });
const foreign = other.tensor([5, 4]);
const disposed = rw.tensor([5, 4]);
disposed.dispose();

testAllRefusals(rw, 'embed', {
  options: [notOptions, (options) => rw.embed(table, [0], options)],
  table: [required(notFloats(20)), (data) => rw.embed({ data, shape: [5, 4] }, [0])],
  'table.type': [[...notAChoice, outOfRange('q4_2', 'q4_0')], (type) => rw.embed({ ...stored, type }, [0])],
  'table.data': [[wrongType(new Uint16Array(34), 'Uint16Array(34)')], (data) => rw.embed({ ...stored, data }, [0])],
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
  'rows that are no whole blocks': [
    RangeError,
    ['table', 'q8_0', '32'],
    () => rw.embed({ ...stored, shape: [2, 16] }, [0]),
  ],
  'fewer blocks than the shape has': [
    RangeError,
    ['table', '34', '68'],
    () => rw.embed({ ...stored, shape: [2, 32] }, [0]),
  ],
  'blocks of one axis': [RangeError, ['table', '[32]'], () => rw.embed({ ...stored, shape: [32] }, [0])],
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
