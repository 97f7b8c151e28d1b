// T5's buckets and bias against exact logarithms and the published breakpoints.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, OutOfMemoryError, StateError } from 'ropewalk';
import { assertSameBits, randomArray } from '../support/arrays.mjs';
import {
  notABoolean,
  notAnInteger,
  notAShape,
  notFloats,
  notOptions,
  notPositions,
  required,
} from '../support/bad-values.mjs';
import { bucket, grid } from '../support/bias-reference.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const last = 2 ** 53 - 1;
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

// Distance: the first with this bucket.
const encoder = { 8: 8, 12: 9, 16: 10, 23: 11, 32: 12, 46: 13, 64: 14, 91: 15 };
const decoder = {
  ...{ 16: 16, 19: 17, 21: 18, 24: 19, 27: 20, 31: 21, 35: 22, 40: 23 },
  ...{ 46: 24, 52: 25, 59: 26, 67: 27, 77: 28, 87: 29, 99: 30, 113: 31 },
};

const sizes = [
  {},
  { bidirectional: false },
  { numBuckets: 4, maxDistance: 2 },
  { numBuckets: 4, maxDistance: 64 },
  { bidirectional: false, numBuckets: 2, maxDistance: 2 },
  { bidirectional: false, numBuckets: 3, maxDistance: 9 },
  { bidirectional: false, numBuckets: 7, maxDistance: 4 },
  { bidirectional: false, numBuckets: 7, maxDistance: 81 },
  { numBuckets: 6, maxDistance: 27 },
  { numBuckets: 14, maxDistance: 243 },
  { numBuckets: 64, maxDistance: 128 },
  { numBuckets: 64, maxDistance: 1024 },
  { numBuckets: 32, maxDistance: 9 },
  { bidirectional: false, numBuckets: 40, maxDistance: 5120 },
];

await onEachBuild((rw) => {
  test('the breakpoints of 32 buckets are the published ones', () => {
    for (const [options, breakpoints] of [
      [{}, encoder],
      [{ bidirectional: false }, decoder],
    ]) {
      for (const [distance, want] of Object.entries(breakpoints)) {
        const got = rw.t5Buckets([-distance, 1 - distance], options);
        assert.deepEqual([...got], [want, want - 1], `at a distance of ${distance}`);
      }
    }
    assert.deepEqual([...rw.t5Buckets(range(-7, 0))], [7, 6, 5, 4, 3, 2, 1, 0]);
    assert.deepEqual([...rw.t5Buckets([-1, 0, 1, 200])], [1, 0, 17, 31]);
  });

  for (const options of sizes) {
    test(`every distance to 1500 has its bucket for ${JSON.stringify(options)}`, () => {
      const relative = range(-1500, 1500);
      const got = rw.t5Buckets(relative, options);
      assert.equal(got.constructor, Int32Array);
      assert.deepEqual(
        [...got],
        relative.map((r) => bucket(r, options)),
      );
    });
  }

  test('whole powers of far distances start their buckets exactly', () => {
    // 2 exact, 30 steps up to 2 * 2^30: a step for each power of two.
    const options = { bidirectional: false, numBuckets: 5, maxDistance: 2 ** 31 };
    for (const distance of [2, 2 ** 11, 2 ** 21, 2 ** 31, 2581, 1664511]) {
      const relative = [-distance + 1, -distance, -distance - 1];
      assert.deepEqual(
        [...rw.t5Buckets(relative, options)],
        relative.map((r) => bucket(r, options)),
      );
    }
  });

  test('the farthest distances share the last bucket of their side', () => {
    assert.deepEqual([...rw.t5Buckets([-last, last, -(2 ** 31), 2 ** 32])], [15, 31, 15, 31]);
    assert.deepEqual([...rw.t5Buckets([-last, last], { bidirectional: false })], [31, 0]);
  });

  test('buckets never fall with the distance, and a decoder sees no distance after the query', () => {
    for (const options of sizes) {
      const before = rw.t5Buckets(
        range(0, 400).map((d) => -d),
        options,
      );
      assert.ok(
        before.every((b, i) => i === 0 || (b >= before[i - 1] && b <= before[i - 1] + (options.numBuckets ?? 32))),
      );
    }
    assert.deepEqual(new Set(rw.t5Buckets(range(0, 300), { bidirectional: false })), new Set([0]));
  });

  test('distances may come in any list of integers, and stay unchanged', () => {
    const relative = [-9, 0, 40, -128];
    const want = [...rw.t5Buckets(relative)];
    for (const list of [Int32Array.from(relative), Float64Array.from(relative), BigInt64Array.from(relative, BigInt)]) {
      const copy = list.slice();
      assert.deepEqual([...rw.t5Buckets(list)], want);
      assert.deepEqual(list, copy);
    }
    assert.equal(rw.t5Buckets([]).length, 0);
  });

  test('the bias of each head, query and key is its entry of the table', () => {
    for (const options of [{}, { bidirectional: false }, { numBuckets: 6, maxDistance: 5 }]) {
      const table = randomArray([options.numBuckets ?? 32, 3], 4);
      for (const [queries, keys] of [
        [1, 1],
        [4, 9],
        [9, 4],
        [1, 150],
      ]) {
        for (const queryOffset of [undefined, 0, 5, -3, 140, last, -last]) {
          const offset = queryOffset ?? keys - queries;
          const want = grid(3, queries, keys, (h, i, j) => table.data[bucket(j - i - offset, options) * 3 + h]);
          const at = queryOffset === undefined ? {} : { queryOffset };
          const got = rw.t5Bias({ table, queries, keys, ...options, ...at });
          assert.deepEqual(got.shape, [3, queries, keys]);
          assertSameBits(got.data, want);
        }
      }
    }
  });

  test('a tensor as table gives the same bits, and either form stays unchanged', () => {
    const table = randomArray([32, 5], 5);
    const before = table.data.slice();
    const tensor = rw.tensor(table.shape, table.data);
    const want = rw.t5Bias({ table, queries: 6, keys: 8 }).data;
    assertSameBits(rw.t5Bias({ table: tensor, queries: 6, keys: 8 }).data, want);
    assertSameBits(rw.t5Bias({ table: { data: table.data, dims: [32, 5] }, queries: 6, keys: 8 }).data, want);
    assertSameBits(tensor.data(), before);
    assertSameBits(table.data, before);
    tensor.dispose();
  });

  test('a bias of no queries, no keys or no heads is empty', () => {
    const table = randomArray([32, 2]);
    assert.deepEqual(rw.t5Bias({ table, queries: 0, keys: 3 }).shape, [2, 0, 3]);
    assert.equal(rw.t5Bias({ table, queries: 3, keys: 0 }).data.length, 0);
    const noHeads = { data: new Float32Array(0), shape: [32, 0] };
    assert.deepEqual(rw.t5Bias({ table: noHeads, queries: 2, keys: 3 }), {
      data: new Float32Array(0),
      shape: [0, 2, 3],
    });
  });
});

const rw = await load({ simd: 'deterministic' });
const table = randomArray([32, 2], 6);
const count = required(notAnInteger({ min: 0, max: 2 ** 24 }));
const buckets = (options) => rw.t5Buckets([1], options);
const bias = (more) => rw.t5Bias({ table, queries: 2, keys: 2, ...more });
for (const [where, call] of Object.entries({ t5Buckets: buckets, t5Bias: bias })) {
  testAllRefusals(rw, where, {
    bidirectional: [notABoolean, (bidirectional) => call({ bidirectional })],
    numBuckets: [notAnInteger({ min: 4, max: 2 ** 16 }), (numBuckets) => call({ numBuckets })],
    maxDistance: [notAnInteger({ min: 9, max: 2 ** 31 }), (maxDistance) => call({ maxDistance })],
  });
  testUnknownOptions(rw, where, ['nonsense', 'num_buckets', 'constructor'], call);
  testMisfits(rw, where, {
    'an odd number of buckets for two directions': [RangeError, ['numBuckets', '33'], () => call({ numBuckets: 33 })],
    'one bucket': [RangeError, ['numBuckets', '1'], () => call({ bidirectional: false, numBuckets: 1 })],
    'a largest distance within the exact buckets': [
      RangeError,
      ['maxDistance', '16'],
      () => call({ bidirectional: false, maxDistance: 16 }),
    ],
  });
}
testAllRefusals(rw, 't5Buckets', {
  relativePositions: [required(notPositions(3)), (relative) => rw.t5Buckets(relative)],
  options: [notOptions, buckets],
});
testAllRefusals(rw, 't5Bias', {
  options: [required(notOptions), (options) => rw.t5Bias(options)],
  queries: [count, (queries) => bias({ queries })],
  keys: [count, (keys) => bias({ keys })],
  queryOffset: [notAnInteger({ min: -last, max: last }), (queryOffset) => bias({ queryOffset })],
  table: [required(notFloats(64)), (data) => bias({ table: { data, shape: [32, 2] } })],
  'table.shape': [notAShape, (shape) => bias({ table: { data: table.data, shape } })],
});

const other = await load({ simd: 'deterministic' });
const foreign = other.tensor([32, 2]);
const disposed = rw.tensor([32, 2]);
disposed.dispose();
testMisfits(rw, 't5Bias', {
  'a table of too few buckets': [RangeError, ['table', '[16, 2]', '32'], () => bias({ table: randomArray([16, 2]) })],
  'a table turned round': [RangeError, ['table', '[2, 32]'], () => bias({ table: randomArray([2, 32]) })],
  'a table of one axis': [RangeError, ['table', '[32]'], () => bias({ table: randomArray([32]) })],
  'a table of three axes': [RangeError, ['table', '[32, 2, 1]'], () => bias({ table: randomArray([32, 2, 1]) })],
  'no table': [TypeError, ['table', 'undefined'], () => bias({ table: undefined })],
  'a table of another instance': [StateError, ['table', 'instance'], () => bias({ table: foreign })],
  'a disposed table': [StateError, ['table', 'disposed'], () => bias({ table: disposed })],
  'what the heap has no room for': [OutOfMemoryError, 't5Bias', () => bias({ queries: 2 ** 24, keys: 2 ** 24 })],
});
