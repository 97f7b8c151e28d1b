// Rows of relative tables: the clipped distance of every query and key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, OutOfMemoryError } from 'ropewalk';
import { notAChoice, notAnInteger, notOptions, required } from '../support/bad-values.mjs';
import { clip, grid } from '../support/bias-reference.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const last = 2 ** 53 - 1;
const signs = { 'key-minus-query': 1, 'query-minus-key': -1 };

await onEachBuild((rw) => {
  test('five tokens and a largest distance of 2 give the clipped rows of the article', () => {
    const rows = [
      [2, 3, 4, 4, 4],
      [1, 2, 3, 4, 4],
      [0, 1, 2, 3, 4],
      [0, 0, 1, 2, 3],
      [0, 0, 0, 1, 2],
    ];
    const got = rw.relativeRows({ queries: 5, keys: 5, maxDistance: 2 });
    assert.equal(got.constructor, Int32Array);
    assert.deepEqual([...got], rows.flat());
  });

  test("BERT's rows are l - r + max - 1", () => {
    const got = rw.relativeRows({ queries: 6, keys: 6, maxDistance: 7, sign: 'query-minus-key' });
    assert.deepEqual(
      [...got],
      grid(1, 6, 6, (_, l, r) => l - r + 8 - 1),
    );
  });

  for (const [sign, factor] of Object.entries(signs)) {
    test(`every row is the clipped distance (${sign})`, () => {
      for (const [queries, keys] of [
        [1, 1],
        [1, 40],
        [3, 8],
        [8, 3],
        [17, 17],
      ]) {
        for (const maxDistance of [0, 1, 5, 100, 2 ** 24]) {
          for (const queryOffset of [undefined, 0, 4, -6, 2 ** 31, last, -last]) {
            const offset = queryOffset ?? keys - queries;
            const want = grid(1, queries, keys, (_, i, j) => clip(factor * (j - i - offset), maxDistance));
            const at = queryOffset === undefined ? {} : { queryOffset };
            const got = rw.relativeRows({ queries, keys, maxDistance, sign, ...at });
            assert.deepEqual([...got], want);
          }
        }
      }
    });
  }

  test('the two signs are mirror images', () => {
    const size = { queries: 4, keys: 9, maxDistance: 3 };
    const mirrored = rw.relativeRows({ ...size, sign: 'query-minus-key' }).map((row) => 6 - row);
    assert.deepEqual(rw.relativeRows(size), mirrored);
  });

  test('a decoding step has the last row of the whole', () => {
    const whole = rw.relativeRows({ queries: 9, keys: 9, maxDistance: 4 });
    assert.deepEqual(rw.relativeRows({ queries: 1, keys: 9, maxDistance: 4 }), whole.slice(72));
  });

  test('no queries or no keys have no rows', () => {
    for (const [queries, keys] of [
      [0, 0],
      [0, 3],
      [3, 0],
    ]) {
      assert.equal(rw.relativeRows({ queries, keys, maxDistance: 2 }).length, 0);
    }
  });
});

const rw = await load({ simd: 'deterministic' });
const count = required(notAnInteger({ min: 0, max: 2 ** 24 }));
const rows = (more) => rw.relativeRows({ queries: 2, keys: 2, maxDistance: 2, ...more });
testAllRefusals(rw, 'relativeRows', {
  options: [required(notOptions), (options) => rw.relativeRows(options)],
  queries: [count, (queries) => rows({ queries })],
  keys: [count, (keys) => rows({ keys })],
  maxDistance: [count, (maxDistance) => rows({ maxDistance })],
  queryOffset: [notAnInteger({ min: -last, max: last }), (queryOffset) => rows({ queryOffset })],
  sign: [notAChoice, (sign) => rows({ sign })],
});
testUnknownOptions(rw, 'relativeRows', ['nonsense', 'offset', 'max_distance', 'constructor'], rows);
testMisfits(rw, 'relativeRows', {
  'what the heap has no room for': [OutOfMemoryError, 'relativeRows', () => rows({ queries: 2 ** 24, keys: 2 ** 24 })],
});
