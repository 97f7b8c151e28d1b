// Rotated keys moved in one step: the same as if they had been rotated at the new position from the start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testMisfits } from '../support/refusals.mjs';

const last = 2 ** 53 - 1;
const stranger = await load({ simd: 'deterministic' });

// Three turns (there, onwards, and the one compared with) of 4 roundings each, at pairs no longer than sqrt 2.
const bound = 12 * 2 ** -24 * Math.SQRT2;

const longrope = {
  type: 'longrope',
  shortFactors: Array(4).fill(2),
  longFactors: [1, 2, 3, 4],
  originalLength: 64,
  factor: 8,
};
const yarn = { type: 'yarn', factor: 8, originalLength: 64 };

// Coordinates of pair j in a block of so many pairs.
const coordinates = {
  half: (j, pairs) => [j, j + pairs],
  interleaved: (j) => [2 * j, 2 * j + 1],
};

/** x with the pairs in the places of the other pairing, as for permuted weights; one block for each axial axis. */
function reordered({ data, shape }, { headDim, rotaryDim, pairing }, to, blocks = [rotaryDim]) {
  const result = Float32Array.from(data);
  for (let row = 0; row < data.length; row += headDim) {
    let start = row;
    for (const size of blocks) {
      for (let j = 0; j < size / 2; ++j) {
        const [old, fresh] = [pairing, to].map((p) => coordinates[p](j, size / 2).map((c) => start + c));
        result[fresh[0]] = data[old[0]];
        result[fresh[1]] = data[old[1]];
      }
      start += size;
    }
  }
  return { data: result, shape };
}

const targets = {
  'another base': [{}, { base: 500_000 }],
  'another pairing': [{}, { pairing: 'interleaved' }],
  'another pairing and back': [{ pairing: 'interleaved' }, {}],
  'another pairing of a part of the head': [
    { headDim: 11, rotaryDim: 6, pairing: 'interleaved' },
    { headDim: 11, rotaryDim: 6 },
  ],
  'linear scaling': [{}, { scaling: { type: 'linear', factor: 4 } }],
  'yarn, whose factor is applied once': [{}, { scaling: yarn }],
  'plain RoPE from yarn, whose factor is removed': [{ scaling: yarn }, {}],
  'yarn of another factor': [{ scaling: yarn }, { scaling: { ...yarn, factor: 32 } }],
  'a longer length of dynamic NTK': [
    { scaling: { type: 'dynamic', factor: 2, maxLength: 64, sequenceLength: 64 } },
    { scaling: { type: 'dynamic', factor: 2, maxLength: 64, sequenceLength: 100 } },
  ],
  'the long factors of LongRoPE': [
    { scaling: { ...longrope, sequenceLength: 64 } },
    { scaling: { ...longrope, sequenceLength: 65 } },
  ],
  'three axes': [{}, { axes: { layout: 'sections', sections: [2, 1, 1] } }],
  'one axis from three': [{ axes: { layout: 'interleaved', sections: [2, 1, 1] } }, { base: 77 }],
  'angles in float32': [{}, { angles: 'float32' }],
};

await onEachBuild((rw) => {
  for (const pairing of ['half', 'interleaved']) {
    test(`rerotate is rotate at the new place (${pairing})`, () => {
      const plan = rw.rope({ headDim: 12, rotaryDim: 8, pairing });
      const x = randomArray([2, 3, 5, 12], 2);
      for (const [from, to] of [
        [0, 0],
        [100, 36],
        [0, 1_000_000],
        [-last, last - 4],
        [last - 4, 7],
      ]) {
        const keys = plan.rotate(x, { offset: from });
        const before = Float32Array.from(keys.data);
        const moved = plan.rerotate(keys, { from, to });
        assertClose(moved.data, plan.rotate(x, { offset: to }).data, bound);
        assertSameBits(keys.data, before);
      }
      plan.dispose();
    });
  }

  for (const [what, [first, second]] of Object.entries(targets)) {
    test(`rerotate moves keys to ${what}`, () => {
      const plan = rw.rope({ headDim: 8, ...first });
      const other = rw.rope({ headDim: 8, ...second });
      const x = randomArray([2, 7, plan.headDim], 3);
      const scale = Math.max(1, other.attentionFactor);
      for (const [from, to] of [
        [58, 58],
        [58, 3],
        [0, 1000],
      ]) {
        const moved = plan.rerotate(plan.rotate(x, { offset: from }), { from, to, plan: other });
        const placed = reordered(x, plan, other.pairing);
        assertClose(moved.data, other.rotate(placed, { offset: to }).data, bound * scale);
      }
      plan.dispose();
      other.dispose();
    });
  }

  test('every key goes from its own place to its own', () => {
    const plan = rw.rope({ headDim: 6 });
    const x = randomArray([2, 2, 3, 6], 4);
    const shared = [9, -1, 2 ** 40];
    const each = [0, 1, 2, last, 5, 5];
    for (const [from, to] of [
      [shared, [0, 1, 2]],
      [each, shared],
      [shared, each],
      [12, each],
      [each, BigInt64Array.from(each.map(BigInt)).map((p) => p - 3n)],
    ]) {
      const at = (where) => (typeof where === 'number' ? { offset: where } : { positions: where });
      const moved = plan.rerotate(plan.rotate(x, at(from)), { from, to });
      assertClose(moved.data, plan.rotate(x, at(to)).data, bound);
    }
    plan.dispose();
  });

  for (const axes of [
    { layout: 'axial', dims: [4, 8] },
    { layout: 'sections', sections: [3, 3] },
    { layout: 'vision' },
    { layout: 'pixtral' },
  ]) {
    test(`rerotate moves along every axis of ${axes.layout}`, () => {
      const plan = rw.rope({ headDim: 12, axes });
      const other = rw.rope({ headDim: 12, axes, pairing: 'interleaved', base: 50 });
      const x = randomArray([3, 12], 5);
      const from = [
        [0, 4, 2],
        [1, 0, 7],
      ];
      const to = [
        [5, 4, 1],
        [0, 2 ** 33, -7],
      ];
      const keys = plan.rotate(x, { positions: from });
      assertClose(plan.rerotate(keys, { from, to }).data, plan.rotate(x, { positions: to }).data, bound);
      const moved = plan.rerotate(keys, { from, to: 6, plan: other });
      const placed = reordered(x, plan, 'interleaved', axes.dims);
      assertClose(moved.data, other.rotate(placed, { offset: 6 }).data, bound);
      plan.dispose();
      other.dispose();
    });
  }

  test('what lies beyond rotaryDim keeps its bits', () => {
    const plan = rw.rope({ headDim: 8, rotaryDim: 4, scaling: yarn });
    const x = Float32Array.of(1, 2, 3, 4, Number.NaN, -0, Infinity, 8);
    assertSameBits(plan.rerotate(x, { from: 4, to: 90 }).subarray(4), x.subarray(4));
    plan.dispose();
  });

  test('from a place to the same place nothing changes', () => {
    const plan = rw.rope({ headDim: 8, scaling: yarn });
    const x = random(24);
    assertSameBits(plan.rerotate(x, { from: 12_345, to: 12_345 }), x);
    plan.dispose();
  });

  test('tensors, arrays, layouts and out give the same bits', () => {
    const plan = rw.rope({ headDim: 4 });
    const shape = [2, 3, 5, 4];
    const x = randomArray(shape, 6);
    const want = plan.rerotate(x, { from: 3, to: 11 }).data;
    const tensor = rw.tensor(shape, x.data);
    assert.equal(plan.rerotate(tensor, { from: 3, to: 11 }), tensor);
    assertSameBits(tensor.data(), want);
    const swapped = { data: swapHeadsAndTokens(x.data, shape), shape: [2, 5, 3, 4] };
    const got = plan.rerotate(swapped, { from: 3, to: 11, layout: 'BTHD' });
    assertSameBits(got.data, swapHeadsAndTokens(want, shape));
    const out = new Float32Array(x.data.length);
    assert.equal(plan.rerotate(x.data, { from: 3, to: 11, shape, out }), out);
    assertSameBits(out, want);
    tensor.dispose();
    plan.dispose();
  });

  const plan = rw.rope({ headDim: 8 });
  const x = new Float32Array(16);
  const call = (options) => () => plan.rerotate(x, { from: 0, to: 1, ...options });
  const others = [{ headDim: 10 }, { headDim: 8, rotaryDim: 4 }].map((options) => rw.rope(options));
  const axial = rw.rope({ headDim: 8, axes: { layout: 'axial', dims: [4, 4] } });
  const disposed = rw.rope({ headDim: 8 });
  disposed.dispose();
  testMisfits(rw, 'rope.rerotate', {
    'a missing from': [TypeError, 'from', call({ from: undefined })],
    'a missing to': [TypeError, 'to', call({ to: undefined })],
    'places that do not fit the tokens': [RangeError, ['to', '3', '2'], call({ to: [0, 1, 2] })],
    'a place beyond 2^53 - 1': [RangeError, ['to', String(last)], call({ to: last })],
    'a place that is no integer': [RangeError, ['from[1]', '0.5'], call({ from: [0, 0.5] })],
    'a plan that is none': [TypeError, 'plan', call({ plan: {} })],
    'a plan of another head size': [RangeError, ['plan', '10', '8'], call({ plan: others[0] })],
    'a plan that turns fewer coordinates': [RangeError, ['plan', 'rotaryDim 4'], call({ plan: others[1] })],
    'a plan of blocks': [RangeError, ['plan', 'axial'], call({ plan: axial })],
    'a plan that was disposed': [Error, ['plan', 'disposed'], call({ plan: disposed })],
    'a plan of another instance': [Error, ['plan', 'another instance'], call({ plan: stranger.rope({ headDim: 8 }) })],
    'an option of rotate': [RangeError, 'offset', call({ offset: 1 })],
  });
});
