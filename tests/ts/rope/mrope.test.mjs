// Positions of M-RoPE: the ids of Hugging Face's tests, both rules of advance, and refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, mropePositions } from 'ropewalk';
import { notAChoice, notAnInteger, notOptions, notPositive, outOfRange, wrongType } from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const twelve = (n) => Array(12).fill(n);
const rows = (start) => [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3].map((n) => start + n);
const columns = (start) => [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2].map((n) => start + n);
const text = { text: 1 };

// tests/models/{qwen2_vl,qwen2_5_vl,qwen3_vl}/test_modeling_*.py::test_vision_position_ids, spatial_merge_size 1
const published = {
  'an image of 4 x 3 between texts': [
    [text, { image: [4, 3] }, text],
    [0, ...twelve(1), 5],
    [0, ...rows(1), 5],
    [0, ...columns(1), 5],
  ],
  'a video of 2 x 4 x 3 in Qwen2-VL': [
    [text, { video: [2, 4, 3] }, text],
    [0, ...twelve(1), ...twelve(2), 5],
    [0, ...rows(1), ...rows(1), 5],
    [0, ...columns(1), ...columns(1), 5],
  ],
  'the same in Qwen2.5-VL with 3 seconds per grid': [
    [text, { video: [2, 4, 3], temporalStep: 3 }, text],
    [0, ...twelve(1), ...twelve(4), 5],
    [0, ...rows(1), ...rows(1), 5],
    [0, ...columns(1), ...columns(1), 5],
  ],
  'the same in Qwen3-VL, each frame after a text token': [
    [{ video: [2, 4, 3], timestamps: 1 }, text],
    [0, ...twelve(1), 5, ...twelve(6), 10],
    [0, ...rows(1), 5, ...rows(6), 10],
    [0, ...columns(1), 5, ...columns(6), 10],
  ],
};

for (const [what, [segments, ...expected]] of Object.entries(published)) {
  test(`mropePositions gives the published ids of ${what}`, () => {
    for (const advance of ['max', 'grid']) {
      const { positions, length, ropeDelta, next } = mropePositions(segments, { advance });
      assert.deepEqual(
        positions.map((list) => [...list]),
        expected,
        advance,
      );
      assert.equal(length, expected[0].length);
      assert.equal(next, expected[0].at(-1) + 1);
      assert.equal(ropeDelta, next - length);
    }
  });
}

test('text alone counts all axes alike, however it is cut', () => {
  const expected = [0, 1, 2, 3, 4];
  for (const segments of [[{ text: 5 }], [{ text: 2 }, { text: 0 }, { text: 3 }]]) {
    const { positions, ropeDelta, next } = mropePositions(segments);
    for (const list of positions) assert.deepEqual([...list], expected);
    assert.deepEqual({ ropeDelta, next }, { ropeDelta: 0, next: 5 });
  }
  const { positions, ...rest } = mropePositions([]);
  assert.deepEqual(rest, { length: 0, ropeDelta: 0, next: 0 });
  assert.equal(positions[2].length, 0);
});

test('the two rules of advance differ where a video has more steps than rows and columns', () => {
  const segments = [{ text: 2 }, { video: [9, 2, 3] }, { text: 2 }];
  const last = (advance) => mropePositions(segments, { advance }).positions.map((list) => [...list.slice(-2)]);
  assert.deepEqual(last('max'), Array(3).fill([11, 12]));
  assert.deepEqual(last('grid'), Array(3).fill([5, 6]));
  // What comes after the sequence is one after the largest position, by either rule.
  assert.equal(mropePositions(segments, { advance: 'max' }).next, 13);
  assert.equal(mropePositions(segments, { advance: 'grid' }).next, 11);
  assert.equal(mropePositions(segments, { advance: 'grid' }).ropeDelta, 11 - 58);
});

test('spatialMerge counts rows and columns of a grid in merged units', () => {
  const merged = mropePositions([text, { image: [8, 6] }, { video: [2, 4, 4], temporalStep: 1.5 }], {
    spatialMerge: 2,
  });
  const given = mropePositions([text, { image: [4, 3] }, { video: [2, 2, 2], temporalStep: 1.5 }]);
  assert.deepEqual(merged, given);
});

test('time steps that are no integers are rounded down from the start of the video', () => {
  const { positions } = mropePositions([{ video: [5, 1, 1], temporalStep: 0.7 }]);
  assert.deepEqual([...positions[0]], [0, 0, 1, 2, 2]);
});

test('timestamps may be of a length for each frame', () => {
  const video = mropePositions([{ video: [2, 2, 2], timestamps: [3, 2] }]);
  assert.deepEqual(video, mropePositions([{ text: 3 }, { image: [2, 2] }, { text: 2 }, { image: [2, 2] }]));
});

test('positions of mropePositions are those of a plan with three axes', () => {
  const { positions, length } = mropePositions([text, { image: [2, 3] }, text]);
  const plan = rw.rope({ headDim: 12, axes: { layout: 'sections', sections: [2, 2, 2] } });
  const { cos } = plan.tables(positions);
  const w = plan.inverseFrequencies;
  for (let token = 0; token < length; ++token) {
    for (let pair = 0; pair < 6; ++pair) {
      const want = Math.cos(positions[Math.floor(pair / 2)][token] * w[pair]);
      assert.ok(Math.abs(cos[token * 6 + pair] - want) <= 3.1e-8);
    }
  }
  plan.dispose();
});

const of = (...segments) => mropePositions(segments);
const count = [wrongType(undefined, 'undefined'), ...notAnInteger({ min: 0, max: 2 ** 30 })];
const notNull = ({ value }) => value !== null;
testAllRefusals(rw, 'mropePositions', {
  segments: [
    [wrongType(undefined, 'undefined'), wrongType(null, 'null'), wrongType({}, 'an object'), wrongType('a', '"a"')],
    (segments) => mropePositions(segments),
  ],
  'segments[1]': [notOptions, (segment) => of(text, segment)],
  'segments[1].text': [count.filter(notNull), (n) => of(text, { text: n })],
  'segments[0].image': [
    [wrongType(7, '7'), wrongType('23', '"23"'), outOfRange([2], '1 entries'), outOfRange([1, 2, 3], '3 entries')],
    (image) => of({ image }),
  ],
  'segments[0].image[1]': [notAnInteger({ min: 1, max: 2 ** 30 }), (n) => of({ image: [1, n] })],
  'segments[0].video[0]': [notAnInteger({ min: 1, max: 2 ** 30 }), (n) => of({ video: [n, 1, 1] })],
  'segments[0].temporalStep': [notPositive.filter(notNull), (temporalStep) => of({ video: [2, 1, 1], temporalStep })],
  'segments[0].timestamps[1]': [
    notAnInteger({ min: 0, max: 2 ** 30 }),
    (n) => of({ video: [2, 1, 1], timestamps: [0, n] }),
  ],
  options: [notOptions, (options) => mropePositions([], options)],
  advance: [notAChoice, (advance) => mropePositions([], { advance })],
  spatialMerge: [notAnInteger({ min: 1, max: 2 ** 15 }), (spatialMerge) => mropePositions([], { spatialMerge })],
});
testUnknownOptions(rw, 'mropePositions', ['merge', 'constructor'], (more) => mropePositions([], more));
testMisfits(rw, 'mropePositions', {
  'a segment of no kind': [TypeError, 'segments[0]', () => of({})],
  'a segment of two kinds': [TypeError, 'segments[0]', () => of({ text: 1, image: [1, 1] })],
  'a segment with a field that nobody knows': [RangeError, 'audio', () => of({ audio: 3 })],
  'a time step of an image': [RangeError, 'temporalStep', () => of({ image: [1, 1], temporalStep: 2 })],
  'a time step together with timestamps': [
    RangeError,
    ['segments[0].temporalStep', 'timestamps'],
    () => of({ video: [1, 1, 1], temporalStep: 2, timestamps: 1 }),
  ],
  'timestamps that are not one for each frame': [
    RangeError,
    ['segments[0].timestamps', '3 entries', '2 frames'],
    () => of({ video: [2, 1, 1], timestamps: [1, 1, 1] }),
  ],
  'a grid that does not merge': [
    RangeError,
    ['segments[0].image', '[4, 3]', 'spatialMerge, 2'],
    () => mropePositions([{ image: [4, 3] }], { spatialMerge: 2 }),
  ],
  'more than 2^30 tokens': [RangeError, ['segments', '2^30'], () => of({ image: [2 ** 16, 2 ** 15] })],
  'a position beyond 2^31 - 1': [
    RangeError,
    ['segments', '2147483648'],
    () => of({ video: [2, 1, 1], temporalStep: 2 ** 31 }),
  ],
});
