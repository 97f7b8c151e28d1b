// Rotation, its inverse and the tables, against float64 on exact angles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray, sizeOf } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { frequencies, rotate, tables } from '../support/rope-reference.mjs';

const consecutive = (from, length) => Array.from({ length }, (_, i) => from + i);
const last = 2 ** 53 - 1;

// Half a unit in the last place of 1, and what the polynomial adds.
const tableBound = 0.501 * 2 ** -24;

// Every place where float32, int32 or double arithmetic would give way.
const far = [
  0,
  1,
  999,
  99_999,
  2 ** 24 + 1,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 + 1,
  2 ** 40 + 3,
  2 ** 52 + 1,
  last - 1,
  last,
];

await onEachBuild((rw) => {
  for (const [pairing, pairAt] of [
    ['half', (c, dim) => c % (dim / 2)],
    ['interleaved', (c) => Math.floor(c / 2)],
  ]) {
    test(`tables for coordinates have each pair's numbers at both of its coordinates (${pairing})`, () => {
      const rotaryDim = 10;
      const plan = rw.rope({ headDim: 16, rotaryDim, pairing });
      const positions = [0, 3, 2 ** 31];
      const narrow = plan.tables(positions);
      const wide = plan.tables(positions, 'coordinates');
      for (const name of ['cos', 'sin']) {
        const want = Float32Array.from(
          { length: 3 * rotaryDim },
          (_, i) => narrow[name][Math.floor(i / rotaryDim) * 5 + pairAt(i % rotaryDim, rotaryDim)],
        );
        assertSameBits(wide[name], want);
        assertSameBits(plan.tables(positions, 'pairs')[name], narrow[name]);
      }
      plan.dispose();
    });
  }

  test('tables for coordinates are refused where blocks turn by themselves, and another width everywhere', () => {
    const axial = rw.rope({ headDim: 8, axes: { layout: 'axial', dims: [4, 4] } });
    const positions = [[1], [2]];
    assert.equal(axial.tables(positions).cos.length, 4);
    assert.throws(() => axial.tables(positions, 'coordinates'), {
      name: 'ArgumentRangeError',
      argument: 'width',
      message: "rope.tables: width is 'coordinates', a layout that axial blocks do not have",
    });
    assert.throws(() => axial.tables(positions, 'halves'), { name: 'ArgumentRangeError', argument: 'width' });
    axial.dispose();
  });

  for (const pairing of ['half', 'interleaved']) {
    for (const [headDim, rotaryDim] of [
      [2, 2],
      [8, 8],
      [8, 4],
      [10, 6],
      [64, 64],
      [80, 20],
      [128, 128],
      [6, 2],
    ]) {
      test(`rotate turns ${rotaryDim} of ${headDim} coordinates (${pairing})`, () => {
        const plan = rw.rope({ headDim, rotaryDim, pairing });
        const x = randomArray([2, 3, 35, headDim], headDim);
        const positions = [consecutive(9, 35), consecutive(9, 35)];
        const want = rotate(x, { frequencies: frequencies(rotaryDim), positions, pairing });
        assertClose(plan.rotate(x, { offset: 9 }).data, want.data, want.bound);
        plan.dispose();
      });
    }

    test(`rotate turns each batch entry by its own positions (${pairing})`, () => {
      const plan = rw.rope({ headDim: 12, base: 500, pairing });
      const x = randomArray([3, 2, 4, 12], 1);
      const positions = [
        [5, 0, -7, 5],
        [last, 0, 1, -last],
        [2 ** 31, 3, 2, 1],
      ];
      const want = rotate(x, { frequencies: frequencies(12, 500), positions, pairing });
      assertClose(plan.rotate(x, { positions: positions.flat() }).data, want.data, want.bound);
      plan.dispose();
    });

    test(`rotate is right at far positions on both sides (${pairing})`, () => {
      const positions = [...far, ...far.map((p) => -p)];
      for (const base of [100, 10000, 1e6]) {
        const plan = rw.rope({ headDim: 16, base, pairing });
        const x = randomArray([1, 2, positions.length, 16], 2);
        const want = rotate(x, { frequencies: frequencies(16, base), positions: [positions], pairing });
        assertClose(plan.rotate(x, { positions }).data, want.data, want.bound);
        plan.dispose();
      }
    });
  }

  test('tables are cos and sin within 0.501 ulp of 1 at every position', () => {
    const positions = [...consecutive(0, 300), ...far, ...far.map((p) => -p)];
    for (const [headDim, base] of [
      [2, 10000],
      [64, 10000],
      [128, 500000],
      [32, 2],
      [6, 1e8],
    ]) {
      const plan = rw.rope({ headDim, base });
      const want = tables(frequencies(headDim, base), positions);
      const got = plan.tables(positions);
      assertClose(got.cos, want.cos, tableBound);
      assertClose(got.sin, want.sin, tableBound);
      plan.dispose();
    }
  });

  test('position 0 turns nothing', () => {
    const plan = rw.rope({ headDim: 8 });
    const x = random(24);
    assertSameBits(plan.rotate(x, { positions: [0, 0, 0] }), x);
    const { cos, sin } = plan.tables([0]);
    assert.deepEqual([...cos, ...sin], [1, 1, 1, 1, 0, 0, 0, 0]);
  });

  test('rotate is the tables times the pairs', () => {
    const plan = rw.rope({ headDim: 4, pairing: 'interleaved' });
    const { cos, sin } = plan.tables([3]);
    const got = plan.rotate(Float32Array.of(1, 0, 0, 1), { offset: 3 });
    assertSameBits(got, [cos[0], sin[0], -sin[1], cos[1]]);
  });

  test('what lies beyond rotaryDim keeps its bits', () => {
    const plan = rw.rope({ headDim: 10, rotaryDim: 4 });
    const x = random(30);
    x.set([Number.NaN, -0, Infinity], 6);
    const got = plan.rotate(x, { offset: 100 });
    for (const row of [0, 10, 20]) assertSameBits(got.subarray(row + 4, row + 10), x.subarray(row + 4, row + 10));
  });

  test('NaN and infinities stay in their own pairs', () => {
    const plan = rw.rope({ headDim: 8 });
    const x = random(16);
    const clean = plan.rotate(x, { offset: 2 });
    x[1] = Number.NaN;
    x[10] = Infinity;
    const got = plan.rotate(x, { offset: 2 });
    for (const i of got.keys()) {
      const touched = i === 1 || i === 5 || i === 10 || i === 14;
      assert.equal(Number.isFinite(got[i]), !touched);
      if (!touched) assert.ok(Object.is(got[i], clean[i]));
    }
  });

  test('unrotate brings back what rotate turned, to rounding', () => {
    for (const pairing of ['half', 'interleaved']) {
      const plan = rw.rope({ headDim: 12, rotaryDim: 8, pairing });
      const x = randomArray([2, 2, 3, 12], 6);
      const positions = [0, 3, last, -5, 2 ** 31, 1];
      const back = plan.unrotate(plan.rotate(x, { positions }), { positions });
      // Twice the error of one turn, which keeps lengths.
      assertClose(back.data, x.data, 8 * 2 ** -24 * Math.SQRT2);
      const want = rotate(x, {
        frequencies: frequencies(8),
        positions: [positions.slice(0, 3), positions.slice(3)],
        pairing,
        back: true,
      });
      assertClose(plan.unrotate(x, { positions }).data, want.data, want.bound);
      plan.dispose();
    }
  });

  test('the attention factor multiplies rotate and tables, and unrotate divides by it', () => {
    const scaling = { type: 'yarn', factor: 8, originalLength: 64, attentionFactor: 1.5 };
    const plan = rw.rope({ headDim: 8, scaling });
    const plain = rw.rope({
      headDim: 8,
      scaling: { type: 'custom', inverseFrequencies: [...plan.inverseFrequencies] },
    });
    assert.equal(plan.attentionFactor, 1.5);
    const x = random(40);
    const want = plain.rotate(x, { offset: 5 });
    assertClose(
      plan.rotate(x, { offset: 5 }),
      want.map((v) => 1.5 * v),
      16 * 2 ** -24,
    );
    assertClose(
      plan.tables([7]).cos,
      plain.tables([7]).cos.map((v) => 1.5 * v),
      2 ** -23,
    );
    assertClose(plan.unrotate(plan.rotate(x, { offset: 5 }), { offset: 5 }), x, 16 * 2 ** -24);
    plan.dispose();
    plain.dispose();
  });

  test('the order of calls does not change bits: cached rows are the rows made anew', () => {
    const x = randomArray([1, 1, 100, 64], 8);
    const used = rw.rope({ headDim: 64 });
    for (const offset of [0, 5000, 100, 0, 200, 3]) used.rotate(x, { offset });
    for (const offset of [0, 64, 5000]) {
      const fresh = rw.rope({ headDim: 64 });
      assertSameBits(used.rotate(x, { offset }).data, fresh.rotate(x, { offset }).data);
      fresh.dispose();
    }
    used.dispose();
  });

  test('tensors are turned in place to the bits of plain arrays', () => {
    const plan = rw.rope({ headDim: 8, pairing: 'interleaved' });
    for (const shape of [[8], [5, 8], [3, 5, 8], [2, 3, 5, 8]]) {
      const data = random(sizeOf(shape), 3);
      const tensor = rw.tensor(shape, data);
      assert.equal(plan.rotate(tensor, { offset: 41 }), tensor);
      assertSameBits(tensor.data(), plan.rotate({ data, shape }, { offset: 41 }).data);
      plan.unrotate(tensor, { offset: 41 });
      assertClose(tensor.data(), data, 12 * 2 ** -24);
      tensor.dispose();
    }
  });

  test("angles: 'float32' are those of float32 arithmetic", () => {
    const plan = rw.rope({ headDim: 64, angles: 'float32' });
    const positions = [0, 1, 1000, 100_003];
    const { cos } = plan.tables(positions);
    const f = Math.fround;
    const want = positions.flatMap((p) =>
      Array.from({ length: 32 }, (_, i) => Math.cos(f(p * f(1 / f(10000 ** f((2 * i) / 64)))))),
    );
    assertClose(cos, want, tableBound);
    plan.dispose();
  });
});

test('a wavelength is the positions of a full turn, and endless for a pair that never turns', async () => {
  const rw = await load();
  const plan = rw.rope({ headDim: 8, scaling: { type: 'proportional', rotaryFraction: 0.5 } });
  assert.deepEqual(
    [...plan.wavelengths],
    [2 * Math.PI, 20 * Math.PI, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  );
});
