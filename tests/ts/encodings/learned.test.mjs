// Learned absolute positions: merged with tokens, and extended beyond their table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, OutOfMemoryError, StateError } from 'ropewalk';
import { assertClose, assertSameBits, randomArray } from '../support/arrays.mjs';
import {
  notAChoice,
  notAnInteger,
  notAShape,
  notFinite,
  notFloats,
  notOfLength,
  notOptions,
  notPositions,
  outOfRange,
  required,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const last = 2 ** 53 - 1;
const row = ({ data, shape }, r) => [...data.subarray(r * shape.at(-1), (r + 1) * shape.at(-1))];

// One float32 operation each: nothing to be inexact about.
const merges = {
  add: (x, p) => x.map((value, d) => Math.fround(value + p[d])),
  multiply: (x, p) => x.map((value, d) => Math.fround(value * p[d])),
  concatenate: (x, p) => [...x, ...p],
};

const merged = (mode, x, table, positions) => positions.flatMap((p, r) => merges[mode](row(x, r), row(table, p)));

await onEachBuild((rw) => {
  for (const mode of Object.keys(merges)) {
    test(`${mode} merges each token with the row of its position`, () => {
      for (const dim of [1, 3, 4, 17, 64]) {
        const table = randomArray([9, dim], dim);
        const x = randomArray([2, 4, mode === 'concatenate' ? dim + 2 : dim], 1);
        const width = mode === 'concatenate' ? 2 * dim + 2 : dim;
        const cases = [
          [{}, [0, 1, 2, 3, 0, 1, 2, 3]],
          [{ offset: 5 }, [5, 6, 7, 8, 5, 6, 7, 8]],
          [{ positions: [8, 0, 8, 3] }, [8, 0, 8, 3, 8, 0, 8, 3]],
          [{ positions: Int32Array.of(8, 0, 8, 3, 1, 1, 2, 7) }, [8, 0, 8, 3, 1, 1, 2, 7]],
        ];
        for (const [options, positions] of cases) {
          const got = rw.learned(x, { table, mode, ...options });
          assert.deepEqual(got.shape, [2, 4, width]);
          assertSameBits(got.data, merged(mode, x, table, positions));
        }
      }
    });
  }

  test('the defaults are add, from position 0', () => {
    const [x, table] = [randomArray([3, 4], 1), randomArray([5, 4], 2)];
    assertSameBits(rw.learned(x, { table }).data, rw.learned(x, { table, mode: 'add', offset: 0 }).data);
  });

  test('tokens may come as [dim], [T, dim] or [B, T, dim]', () => {
    const [x, table] = [randomArray([4], 1), randomArray([5, 4], 2)];
    const want = rw.learned({ data: x.data, shape: [1, 1, 4] }, { table, offset: 2 }).data;
    for (const shape of [[4], [1, 4]]) {
      const got = rw.learned({ data: x.data, shape }, { table, offset: 2 });
      assert.deepEqual(got.shape, shape);
      assertSameBits(got.data, want);
    }
    assert.deepEqual(rw.learned(x, { table, mode: 'concatenate' }).shape, [8]);
  });

  test('tensors in any place give the same bits, and nothing given is changed', () => {
    const [x, table] = [randomArray([2, 3, 5], 1), randomArray([4, 5], 2)];
    const tensors = [rw.tensor(x.shape, x.data), rw.tensor(table.shape, table.data)];
    for (const mode of Object.keys(merges)) {
      const want = merged(mode, x, table, [0, 1, 2, 0, 1, 2]);
      for (const tokens of [x, tensors[0]]) {
        for (const rows of [table, tensors[1]]) assertSameBits(rw.learned(tokens, { table: rows, mode }).data, want);
      }
    }
    const want = rw.extendLearned(table, { length: 16 }).data;
    assertSameBits(rw.extendLearned(tensors[1], { length: 16 }).data, want);
    assertSameBits(rw.extendLearned({ data: table.data, dims: table.shape }, { length: 16 }).data, want);
    [x, table].forEach(({ shape, data }, i) => {
      assertSameBits(data, randomArray(shape, i + 1).data);
      assertSameBits(tensors[i].data(), data);
      tensors[i].dispose();
    });
  });

  test('no tokens give nothing, even from an empty table', () => {
    for (const shape of [
      [0, 4],
      [0, 3, 4],
      [2, 0, 4],
    ]) {
      const x = { data: new Float32Array(0), shape };
      for (const rows of [0, 3]) {
        assert.deepEqual(rw.learned(x, { table: randomArray([rows, 4]) }), { data: new Float32Array(0), shape });
      }
    }
    const noWidth = { data: new Float32Array(0), shape: [3, 0] };
    assertSameBits(
      rw.learned(noWidth, { table: randomArray([3, 2], 1), mode: 'concatenate' }).data,
      randomArray([3, 2], 1).data,
    );
  });

  test('an extended table mixes coarse and fine positions', () => {
    for (const [n, dim] of [
      [1, 3],
      [2, 1],
      [3, 5],
      [8, 16],
      [13, 7],
    ]) {
      const table = randomArray([n, dim], n);
      for (const alpha of [undefined, 0.4, 0.1, 0.49, 0.51, 0.9]) {
        const a = alpha ?? 0.4;
        const u = (r, d) => (table.data[r * dim + d] - a * table.data[d]) / (1 - a);
        const want = Array.from({ length: n * n * dim }, (_, i) => {
          const [p, d] = [Math.floor(i / dim), i % dim];
          return a * u(Math.floor(p / n), d) + (1 - a) * u(p % n, d);
        });
        const got = rw.extendLearned(table, { length: n * n, ...(alpha !== undefined && { alpha }) });
        assert.deepEqual(got.shape, [n * n, dim]);
        // One rounding to float32, and doubles that cancel.
        const bound = want.map((value) => 2 ** -24 * Math.abs(value) + 2 ** -48);
        assertClose(got.data, want, bound);
        assertSameBits(got.data.subarray(0, n * dim), table.data);
      }
    }
  });

  test('a shorter extension is the start of a longer one', () => {
    const table = randomArray([4, 6], 3);
    const longest = rw.extendLearned(table, { length: 16 }).data;
    for (let length = 0; length < 16; ++length) {
      const got = rw.extendLearned(table, { length });
      assert.deepEqual(got.shape, [length, 6]);
      assertSameBits(got.data, longest.subarray(0, 6 * length));
    }
    assert.deepEqual(rw.extendLearned(randomArray([4, 0]), { length: 9 }).shape, [9, 0]);
  });

  test('rows of an extended table all differ', () => {
    const { data, shape } = rw.extendLearned(randomArray([16, 8], 9), { length: 256 });
    assert.equal(rw.analysis.firstDuplicate({ data, shape }), undefined);
  });
});

const rw = await load({ simd: 'deterministic' });
const [x, table] = [randomArray([2, 3, 4], 1), randomArray([5, 4], 2)];
const learned = (more) => rw.learned(x, { table, ...more });
const extend = (more) => rw.extendLearned(table, { length: 8, ...more });
const other = await load({ simd: 'deterministic' });
const foreign = other.tensor([5, 4]);
const disposed = rw.tensor([5, 4]);
disposed.dispose();

testAllRefusals(rw, 'learned', {
  options: [required(notOptions), (options) => rw.learned(x, options)],
  x: [required(notFloats(24)), (data) => rw.learned({ data, shape: x.shape }, { table })],
  'x.shape': [notAShape, (shape) => rw.learned({ data: x.data, shape }, { table })],
  table: [required(notFloats(20)), (data) => learned({ table: { data, shape: [5, 4] } })],
  'table.shape': [notAShape, (shape) => learned({ table: { data: table.data, shape } })],
  mode: [notAChoice, (mode) => learned({ mode })],
  offset: [notAnInteger({ min: -last, max: last }), (offset) => learned({ offset })],
  positions: [
    [
      ...[...notPositions(3), ...notOfLength(Int32Array, 3), ...notOfLength(Array, 6), outOfRange([], '0')],
      ...[-1, 5, last, -last].map((p) => outOfRange([0, 1, p], String(p))),
    ],
    (positions) => learned({ positions }),
  ],
});
testUnknownOptions(rw, 'learned', ['nonsense', 'position', 'constructor'], learned);
testMisfits(rw, 'learned', {
  'a token beyond the table': [RangeError, ['positions[2]', '5', 'from 0 to 4'], () => learned({ offset: 3 })],
  'an offset below 0': [RangeError, ['-1', 'from 0 to 4'], () => learned({ offset: -1 })],
  'any token with an empty table': [RangeError, 'positions[0]', () => learned({ table: randomArray([0, 4]) })],
  'an offset together with positions': [
    RangeError,
    ['offset', 'positions'],
    () => learned({ offset: 1, positions: [0, 1, 2] }),
  ],
  'a table of another width': [RangeError, ['x', '4', '3'], () => learned({ table: randomArray([5, 3]) })],
  'a table of one axis': [RangeError, ['table', '[20]'], () => learned({ table: randomArray([20]) })],
  'a table of three axes': [RangeError, ['table', '[1, 5, 4]'], () => learned({ table: randomArray([1, 5, 4]) })],
  'tokens without axes': [RangeError, ['x', '[]'], () => rw.learned(randomArray([]), { table })],
  'tokens with four axes': [RangeError, ['x', '[1, 2, 3, 4]'], () => rw.learned(randomArray([1, 2, 3, 4]), { table })],
  'a table of another instance': [StateError, ['table', 'instance'], () => learned({ table: foreign })],
  'a disposed table': [StateError, ['table', 'disposed'], () => learned({ table: disposed })],
  'tokens of another instance': [StateError, ['x', 'instance'], () => rw.learned(foreign, { table })],
  'disposed tokens': [StateError, ['x', 'disposed'], () => rw.learned(disposed, { table })],
});

testAllRefusals(rw, 'extendLearned', {
  options: [required(notOptions), (options) => rw.extendLearned(table, options)],
  table: [required(notFloats(20)), (data) => rw.extendLearned({ data, shape: [5, 4] }, { length: 8 })],
  'table.shape': [notAShape, (shape) => rw.extendLearned({ data: table.data, shape }, { length: 8 })],
  length: [required(notAnInteger({ min: 0, max: 25 })), (length) => extend({ length })],
  alpha: [[...notFinite, ...[0, 1, 0.5, -0.4, 1.5].map((a) => outOfRange(a))], (alpha) => extend({ alpha })],
});
testUnknownOptions(rw, 'extendLearned', ['nonsense', 'rows', 'constructor'], extend);
testMisfits(rw, 'extendLearned', {
  'a table without rows': [RangeError, ['table', '[0, 4]'], () => rw.extendLearned(randomArray([0, 4]), { length: 0 })],
  'a table of one axis': [RangeError, ['table', '[4]'], () => rw.extendLearned(randomArray([4]), { length: 4 })],
  'a table of another instance': [StateError, ['table', 'instance'], () => rw.extendLearned(foreign, { length: 8 })],
  'a disposed table': [StateError, ['table', 'disposed'], () => rw.extendLearned(disposed, { length: 8 })],
  'what the heap has no room for': [
    OutOfMemoryError,
    'extendLearned',
    () => rw.extendLearned(randomArray([70000, 1]), { length: 70000 ** 2 }),
  ],
});
