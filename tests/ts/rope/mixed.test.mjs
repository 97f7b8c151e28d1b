// RoPE-Mixed against the formula in float64: pair p of head h turns by x theta_x[h, p] + y theta_y[h, p].
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load, mixedRope } from 'ropewalk';
import { assertClose, assertSameBits, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { notAChoice, notAShape, notFloats, notOptions, required, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

// x [B, H, T, D] turned, as doubles.
function reference(x, frequencies, positions, pairing) {
  const [, heads, tokens, dim] = x.shape;
  const [axes, , pairs] = frequencies.shape;
  const turned = Float64Array.from(x.data);
  for (let row = 0; row < x.data.length / dim; ++row) {
    const [h, t] = [Math.floor(row / tokens) % heads, row % tokens];
    for (let p = 0; p < pairs; ++p) {
      let angle = 0;
      for (let axis = 0; axis < axes; ++axis) {
        angle += positions[axis][t] * frequencies.data[(axis * heads + h) * pairs + p];
      }
      const first = row * dim + (pairing === 'half' ? p : 2 * p);
      const second = first + (pairing === 'half' ? pairs : 1);
      const [a, b] = [x.data[first], x.data[second]];
      turned[first] = a * Math.cos(angle) - b * Math.sin(angle);
      turned[second] = a * Math.sin(angle) + b * Math.cos(angle);
    }
  }
  return turned;
}

// Columns and rows of a grid, row by row.
const gridOf = (rows, columns) => [
  Array.from({ length: rows * columns }, (_, i) => i % columns),
  Array.from({ length: rows * columns }, (_, i) => Math.floor(i / columns)),
];

// Two products of numbers up to 1, with cos and sin rounded once.
const tolerance = 3 / 2 ** 24;

await onEachBuild((rw) => {
  describe('a rotation is that of the formula', () => {
    for (const [batch, heads, dim, positions] of [
      [1, 1, 2, gridOf(1, 1)],
      [2, 3, 8, gridOf(2, 3)],
      [1, 12, 64, gridOf(14, 14)],
      [2, 2, 6, [Int32Array.of(0, -3, 1000), [5, 7, -20]]],
      [1, 2, 4, [[1, 2, 3], [4, 5, 6], BigInt64Array.of(7n, 8n, 9n)]],
      [2, 2, 4, gridOf(0, 3)],
    ]) {
      const tokens = positions[0].length;
      for (const pairing of ['interleaved', 'half']) {
        test(`${batch} x ${heads} heads of ${dim}, ${tokens} tokens, ${positions.length} axes, ${pairing}`, () => {
          const x = randomArray([batch, heads, tokens, dim], 1);
          const frequencies = randomArray([positions.length, heads, dim / 2], 2);
          const rope = mixedRope(rw, { frequencies, positions, pairing });
          const want = reference(
            x,
            frequencies,
            positions.map((list) => Array.from(list, Number)),
            pairing,
          );
          assertClose(rope.rotate(x).data, want, tolerance);
        });
      }
    }
  });

  const [batch, heads, tokens, dim] = [2, 3, 6, 8];
  const x = randomArray([batch, heads, tokens, dim], 3);
  const frequencies = randomArray([2, heads, 4], 4);
  const positions = gridOf(2, 3);
  const rope = mixedRope(rw, { frequencies, positions });

  test('what it tells of itself', () => {
    assert.deepEqual([rope.heads, rope.tokens, rope.pairing], [3, 6, 'interleaved']);
    assert.equal(mixedRope(rw, { frequencies, positions, pairing: 'half' }).pairing, 'half');
  });

  test('one axis and the same frequencies in all heads are a plan', () => {
    const data = Float32Array.of(1, 0.5, 0.25);
    const one = { data: Float32Array.from([...data, ...data]), shape: [1, 2, 3] };
    const plan = rw.rope({
      headDim: 6,
      pairing: 'interleaved',
      scaling: { type: 'custom', inverseFrequencies: [...data] },
    });
    const y = randomArray([2, 5, 6], 1);
    const got = mixedRope(rw, { frequencies: one, positions: { length: 5, offset: 3 } }).rotate(y);
    assertClose(got.data, plan.rotate(y, { offset: 3 }).data, tolerance);
    plan.dispose();
  });

  test('its sizes cannot be changed', () => {
    assert.throws(() => {
      rope.tokens = 4000;
    }, TypeError);
  });

  test('scores depend on how far apart two patches are along both axes', () => {
    const [q, k] = [randomArray([1, 1, 8], 5), randomArray([1, 1, 8], 6)];
    const own = randomArray([2, 1, 4], 7);
    const turnedAt = (y, column, row) => {
      return mixedRope(rw, { frequencies: own, positions: [[column], [row]] }).rotate(y).data;
    };
    const score = (a, b) => turnedAt(q, ...a).reduce((sum, value, d) => sum + value * turnedAt(k, ...b)[d], 0);
    assertClose([score([5, 9], [3, 1])], [score([2, 8], [0, 0])], 8 * tolerance);
    assert.ok(Math.abs(score([5, 9], [3, 1]) - score([3, 1], [5, 9])) > 1e-2);
  });

  test('layouts, flat arrays, tensors and out have the same bits; what is not turned stays', () => {
    const { data: wanted } = rope.rotate(x);
    const swapped = swapHeadsAndTokens(x.data, x.shape);
    const tokensFirst = rope.rotate({ data: swapped, shape: [batch, tokens, heads, dim] }, { layout: 'BTHD' });
    assertSameBits(swapHeadsAndTokens(tokensFirst.data, [batch, tokens, heads, dim]), wanted);
    const out = new Float32Array(wanted.length);
    assert.equal(rope.rotate(x.data, { shape: x.shape, out }), out);
    assertSameBits(out, wanted);
    const tensor = rw.tensor(x.shape, x.data);
    assert.equal(rope.rotate(tensor), tensor);
    assertSameBits(tensor.data(), wanted);
    tensor.dispose();

    const wide = randomArray([heads, tokens, 11], 8);
    const { data } = rope.rotate(wide);
    for (let row = 0; row < heads * tokens; ++row) {
      assertSameBits(data.subarray(row * 11 + 8, row * 11 + 11), wide.data.subarray(row * 11 + 8, row * 11 + 11));
    }
  });
});

const rw = await load();
const frequencies = randomArray([2, 3, 4], 4);
const positions = gridOf(2, 3);
const rope = mixedRope(rw, { frequencies, positions });
const x = randomArray([3, 6, 8], 1);

testAllRefusals(rw, 'mixedRope', {
  rw: [
    required([wrongType(null, 'null'), wrongType({}, 'an object')]),
    (value) => mixedRope(value, { frequencies, positions }),
  ],
  options: [required(notOptions), (options) => mixedRope(rw, options)],
  frequencies: [
    required(notFloats(24)),
    (data) => mixedRope(rw, { frequencies: { data, shape: [2, 3, 4] }, positions }),
  ],
  'frequencies.shape': [
    notAShape,
    (shape) => mixedRope(rw, { frequencies: { data: frequencies.data, shape }, positions }),
  ],
  positions: [
    required([wrongType(null, 'null'), wrongType('text', '"text"'), wrongType([1, 2], '[1, 2]')]),
    (value) => mixedRope(rw, { frequencies, positions: value }),
  ],
  pairing: [notAChoice, (pairing) => mixedRope(rw, { frequencies, positions, pairing })],
});
testUnknownOptions(rw, 'mixedRope', ['base', 'constructor'], (more) => {
  return mixedRope(rw, { frequencies, positions, ...more });
});
testMisfits(rw, 'mixedRope', {
  'frequencies of two axes': [
    RangeError,
    ['frequencies has shape [6, 4]', '[axes, H, pairs]'],
    () => mixedRope(rw, { frequencies: randomArray([6, 4], 1), positions }),
  ],
  'no pairs': [
    RangeError,
    'frequencies has shape [2, 3, 0]',
    () => mixedRope(rw, { frequencies: randomArray([2, 3, 0], 1), positions }),
  ],
  'positions of one axis more': [
    RangeError,
    'positions has 3 lists',
    () => mixedRope(rw, { frequencies, positions: [...positions, [0]] }),
  ],
  'lists of other lengths': [
    RangeError,
    'positions[1] has 2 entries',
    () =>
      mixedRope(rw, {
        frequencies,
        positions: [
          [1, 2, 3],
          [1, 2],
        ],
      }),
  ],
  'a position between two': [
    RangeError,
    'positions[0][1] is 0.5',
    () =>
      mixedRope(rw, {
        frequencies,
        positions: [
          [1, 0.5],
          [1, 2],
        ],
      }),
  ],
});
testAllRefusals(rw, 'mixedRope.rotate', {
  x: [
    required([wrongType(null, 'null'), wrongType(1, '1'), wrongType({}, 'an object')]),
    (value) => rope.rotate(value),
  ],
  options: [notOptions, (options) => rope.rotate(x, options)],
  layout: [notAChoice, (layout) => rope.rotate(x, { layout })],
  out: [notFloats(x.data.length), (out) => rope.rotate(x, { out })],
});
testUnknownOptions(rw, 'mixedRope.rotate', ['positions', 'offset'], (more) => rope.rotate(x, more));
testMisfits(rw, 'mixedRope.rotate', {
  'other heads': [RangeError, ['x has 2 heads', '3 heads'], () => rope.rotate(randomArray([2, 6, 8], 1))],
  'other tokens': [RangeError, ['5 tokens', '6 tokens'], () => rope.rotate(randomArray([3, 5, 8], 1))],
  'heads that are too small': [RangeError, 'head size 7', () => rope.rotate(randomArray([3, 6, 7], 1))],
  'an array without a shape': [RangeError, 'shape', () => rope.rotate(x.data)],
});
