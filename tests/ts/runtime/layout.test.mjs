// The layouts of axes: results are the same for every order and number of axes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertSameBits, randomArray, sizeOf, swapHeadsAndTokens } from '../support/arrays.mjs';
import { testMisfits } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: 6, rotaryDim: 4 });

// x in BHTD as BTHD: the axes of the shape swap as the data does.
const swapped = ({ data, shape: [b, h, t, d] }) => ({
  data: swapHeadsAndTokens(data, [b, h, t, d]),
  shape: [b, t, h, d],
});

test('rotate in BTHD is rotate in BHTD of the swapped array', () => {
  const x = randomArray([2, 3, 5, 6]);
  const got = plan.rotate(swapped(x), { layout: 'BTHD', offset: 3 });
  assert.deepEqual(got.shape, [2, 5, 3, 6]);
  assertSameBits(got.data, swapped(plan.rotate(x, { offset: 3 })).data);
  const positions = [4, 0, 9, 1, 1, 7, 6, 5, 0, 2];
  const each = plan.rotate(swapped(x), { layout: 'BTHD', positions });
  assertSameBits(each.data, swapped(plan.rotate(x, { positions })).data);
});

test('attention in BTHD is attention in BHTD of the swapped arrays', () => {
  const [q, k, v] = [randomArray([2, 4, 3, 6], 1), randomArray([2, 2, 5, 6], 2), randomArray([2, 2, 5, 7], 3)];
  const options = { causal: true, returnScores: 'probabilities' };
  const expected = rw.attention(q, k, v, options);
  const got = rw.attention(swapped(q), swapped(k), swapped(v), { ...options, layout: 'BTHD' });
  assert.deepEqual(got.out.shape, [2, 3, 4, 7]);
  assertSameBits(got.out.data, swapped(expected.out).data);
  // Scores are [B, H, Tq, Tk] in either order.
  assert.deepEqual(got.scores.shape, [2, 4, 3, 5]);
  assertSameBits(got.scores.data, expected.scores.data);
});

// The four axes with those in front left out, in each order.
const shapes = {
  BHTD: [[6], [5, 6], [3, 5, 6], [1, 3, 5, 6]],
  BTHD: [[6], [5, 6], [5, 3, 6], [1, 5, 3, 6]],
};
for (const [layout, list] of Object.entries(shapes)) {
  for (const shape of list) {
    test(`[${shape}] in ${layout} is the same with the axes in front written out`, () => {
      const { data } = randomArray(shape);
      const [heads, tokens] = shape.length > 2 ? [3, 5] : [1, shape.length === 2 ? 5 : 1];
      const full = layout === 'BHTD' ? [1, heads, tokens, 6] : [1, tokens, heads, 6];
      const got = plan.rotate({ data, shape }, { layout, offset: 2 });
      assert.deepEqual(got.shape, shape);
      assertSameBits(got.data, plan.rotate({ data, shape: full }, { layout, offset: 2 }).data);

      const x = { data, shape };
      const attended = rw.attention(x, x, x, { layout });
      assert.deepEqual(attended.out.shape, shape);
      const y = { data, shape: full };
      assertSameBits(attended.out.data, rw.attention(y, y, y, { layout }).out.data);
    });
  }
}

test('a bare Float32Array is [T, headDim] in either order', () => {
  const { data } = randomArray([5, 6]);
  const expected = plan.rotate({ data, shape: [5, 6] }).data;
  assertSameBits(plan.rotate(data), expected);
  assertSameBits(plan.rotate(data, { layout: 'BTHD' }), expected);
  assertSameBits(plan.rotate(data, { shape: [1, 1, 5, 6] }), expected);
});

for (const shape of [
  [0, 6],
  [3, 0, 6],
  [0, 3, 5, 6],
  [2, 0, 5, 6],
]) {
  test(`[${shape}] holds nothing and gives nothing`, () => {
    const empty = { data: new Float32Array(0), shape };
    assert.deepEqual(plan.rotate(empty), empty);
    assert.deepEqual(plan.rotate(empty, { layout: 'BTHD' }), empty);
  });
}

const cube = (shape) => ({ data: new Float32Array(sizeOf(shape)), shape });
testMisfits(rw, 'rotate', {
  'a shape without axes': [RangeError, ['x', '[]'], () => plan.rotate({ data: new Float32Array(1), shape: [] })],
  'a shape with five axes': [RangeError, ['x', '[1, 1, 1, 5, 6]'], () => plan.rotate(cube([1, 1, 1, 5, 6]))],
  'another last axis than headDim': [RangeError, ['x', '[6, 5]', 'headDim, 6'], () => plan.rotate(cube([6, 5]))],
  'an array that is no multiple of headDim': [RangeError, ['x', '13', '6'], () => plan.rotate(new Float32Array(13))],
});
testMisfits(rw, 'attention', {
  'a q without axes': [RangeError, ['q', '[]'], () => rw.attention(cube([]), cube([2, 3]), cube([2, 3]))],
  'a v with five axes': [RangeError, ['v'], () => rw.attention(cube([2, 3]), cube([2, 3]), cube([1, 1, 1, 2, 3]))],
});
