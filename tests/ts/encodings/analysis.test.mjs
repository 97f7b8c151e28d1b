// rw.analysis against float64 on exact angles, and against published values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, OutOfMemoryError, StateError } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray } from '../support/arrays.mjs';
import {
  notAChoice,
  notAnInteger,
  notAShape,
  notEven,
  notFloats,
  notOptions,
  notPositions,
  notPositive,
  required,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { angle, geometric } from '../support/fixed.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const last = 2 ** 53 - 1;
const distances = [0, 1, 2, -1, 77, -1000, 2 ** 24 + 1, 2 ** 31, last, -last];
const sets = [{ dim: 2 }, { dim: 4, base: 3 }, { dim: 10, base: 500 }, { dim: 64 }, { dim: 128, base: 1e6 }];
const anglesOf = ({ dim, base = 10000 }, m) => geometric(base, dim, dim / 2).map((w) => angle(m, w));
const sum = (list) => list.reduce((a, b) => a + b, 0);

// sum_j |S_j|
function partialSums(angles) {
  let [real, imaginary] = [0, 0];
  return sum(
    angles.map((a) => {
      real += Math.cos(a);
      imaginary += Math.sin(a);
      return Math.hypot(real, imaginary);
    }),
  );
}

const rowsOf = ({ data, shape: [rows, dim] }) =>
  Array.from({ length: rows }, (_, r) => [...data.subarray(r * dim, (r + 1) * dim)]);
const dot = (a, b) => sum(a.map((x, d) => x * b[d]));
const measures = {
  dot,
  cosine: (a, b) => dot(a, b) / (Math.hypot(...a) * Math.hypot(...b)) || 0,
  euclidean: (a, b) => Math.hypot(...a.map((x, d) => x - b[d])),
  hamming: (a, b) => a.filter((x, d) => x !== b[d]).length,
};

await onEachBuild((rw) => {
  for (const set of sets) {
    test(`the shift matrix of ${JSON.stringify(set)} has a rotation for each pair`, () => {
      for (const layout of ['interleaved', 'concatenated']) {
        for (const k of distances) {
          const want = new Float64Array(set.dim ** 2);
          anglesOf(set, k).forEach((a, i) => {
            const [s, c] = layout === 'interleaved' ? [2 * i, 2 * i + 1] : [i, set.dim / 2 + i];
            want[s * set.dim + s] = want[c * set.dim + c] = Math.cos(a);
            want[s * set.dim + c] = Math.sin(a);
            want[c * set.dim + s] = -Math.sin(a);
          });
          const got = rw.analysis.shiftMatrix({ ...set, k, layout });
          assert.deepEqual(got.shape, [set.dim, set.dim]);
          assertClose(got.data, want, 0.501 * 2 ** -24);
        }
      }
    });

    test(`the curves of ${JSON.stringify(set)} are those of float64 at every distance`, () => {
      const all = distances.map((m) => anglesOf(set, m));
      const [q, k] = [random(set.dim, 1), random(set.dim, 2)];
      const h = Array.from({ length: set.dim / 2 }, (_, i) => {
        const [a, b, c, d] = [q[2 * i], q[2 * i + 1], k[2 * i], k[2 * i + 1]];
        return [a * c + b * d, b * c - a * d];
      });
      const steps = h.map(([x, y], i) => Math.hypot((h[i + 1]?.[0] ?? 0) - x, (h[i + 1]?.[1] ?? 0) - y));
      const [half, step] = [set.dim / 2, Math.max(...steps)];
      const { analysis } = rw;
      const exact = half * half * 2 ** -50;
      const got = analysis.dotCurve({ ...set, distances });
      assert.equal(got.constructor, Float64Array);
      assertClose(
        got,
        all.map((angles) => sum(angles.map(Math.cos))),
        exact,
      );
      assertClose(
        analysis.decayCurve({ ...set, distances }),
        all.map((angles) => partialSums(angles) / half),
        exact,
      );
      assertClose(
        analysis.decayBound({ ...set, q, k, distances }),
        all.map((angles) => step * partialSums(angles)),
        4 * exact,
      );
      assertSameBits(q, random(set.dim, 1));
      assertSameBits(k, random(set.dim, 2));
    });
  }

  test("Su's decay curve of 128 coordinates has its known values", () => {
    const known = { 0: 32.5, 1: 31.538166, 2: 28.955988, 10: 17.954137, 50: 12.629452, 100: 10.22733, 128: 9.272903 };
    const got = rw.analysis.decayCurve({ dim: 128, distances: [...Object.keys(known).map(Number), 256] });
    assertClose(got, [...Object.values(known), 6.543097], 5.1e-7);
  });

  test('the shift matrix carries the row of p to the row of p + k', () => {
    for (const layout of ['interleaved', 'concatenated']) {
      for (const [p, k] of [
        [0, 1],
        [100, -30],
        [12345, 2 ** 33],
      ]) {
        const [from, to] = [p, p + k].map((at) => rw.sinusoidal({ dim: 12, positions: [at], layout }));
        const matrix = rowsOf(rw.analysis.shiftMatrix({ dim: 12, k, layout }));
        assertClose(
          matrix.map((row) => dot(row, from)),
          to,
          3 * 2 ** -24,
        );
      }
    }
    assertSameBits(rw.analysis.shiftMatrix({ dim: 2, k: 0 }).data, [1, 0, -0, 1]);
  });

  test('the dot curve is the product of two rows of the table, and even', () => {
    const ahead = [0, 1, 5, 300];
    const curve = rw.analysis.dotCurve({ dim: 16, distances: ahead });
    const [first, ...rows] = rowsOf({
      data: rw.sinusoidal({ dim: 16, positions: [50, ...ahead.map((d) => 50 + d)] }),
      shape: [5, 16],
    });
    assertClose(
      curve,
      rows.map((row) => dot(first, row)),
      16 * 2 ** -24,
    );
    const back = ahead.map((d) => -d);
    assertSameBits(rw.analysis.dotCurve({ dim: 16, distances: back }), curve);
    assert.equal(curve[0], 8);
  });

  test('the decay bound is above every score of its query and key', () => {
    const [q, k] = [random(32, 3), random(32, 4)];
    const far = Array.from({ length: 200 }, (_, m) => m);
    const bound = rw.analysis.decayBound({ dim: 32, q, k, distances: far });
    const plan = rw.rope({ headDim: 32, pairing: 'interleaved' });
    const turned = rowsOf({
      data: plan.rotate({ data: Float32Array.from({ length: 6400 }, (_, i) => q[i % 32]), shape: [200, 32] }).data,
      shape: [200, 32],
    });
    turned.forEach((row, m) => {
      assert.ok(Math.abs(dot(row, [...k])) <= bound[m] + 1e-5, `at a distance of ${m}`);
    });
    plan.dispose();
  });

  test('the defaults are base 10000 and interleaved pairs', () => {
    const set = { dim: 6, base: 10000 };
    assertSameBits(
      rw.analysis.shiftMatrix({ dim: 6, k: 3 }).data,
      rw.analysis.shiftMatrix({ ...set, k: 3, layout: 'interleaved' }).data,
    );
    for (const call of ['dotCurve', 'decayCurve']) {
      assertSameBits(rw.analysis[call]({ dim: 6, distances }), rw.analysis[call]({ ...set, distances }));
      assertSameBits(
        rw.analysis[call]({ dim: 6, distances: Float64Array.from(distances) }),
        rw.analysis[call]({ ...set, distances }),
      );
      assert.equal(rw.analysis[call]({ dim: 6, distances: [] }).length, 0);
    }
  });

  for (const [measure, compare] of Object.entries(measures)) {
    test(`pairwise ${measure} is that of float64, for tensors as for arrays`, () => {
      for (const shape of [
        [1, 1],
        [2, 7],
        [9, 4],
        [5, 64],
        [3, 0],
        [0, 3],
      ]) {
        const x = randomArray(shape, 5);
        // Some entries the same, and a row of zeros.
        x.data.forEach((value, i) => {
          if (value > 0.5 || i < shape[1] / 2) x.data[i] = 0.5;
        });
        if (shape[0] > 2) x.data.fill(0, shape[1], 2 * shape[1]);
        const before = x.data.slice();
        const rows = rowsOf(x);
        const got = rw.analysis.pairwise(x, measure);
        const want = rows.flatMap((a) => rows.map((b) => compare(a, b)));
        assert.deepEqual(got.shape, [shape[0], shape[0]]);
        assertClose(
          got.data,
          want,
          want.map((value) => 2 ** -24 * Math.abs(value) + 2 ** -46),
        );
        assertSameBits(x.data, before);
        const tensor = rw.tensor(shape, x.data);
        assertSameBits(rw.analysis.pairwise(tensor, measure).data, got.data);
        assertSameBits(tensor.data(), before);
        tensor.dispose();
      }
    });
  }

  test('the first duplicate is the first row that came before', () => {
    const find = (...rows) =>
      rw.analysis.firstDuplicate({ data: Float32Array.from(rows.flat()), shape: [rows.length, rows[0].length] });
    assert.equal(find([1, 2]), undefined);
    assert.equal(find([1, 2], [2, 1], [1, 3]), undefined);
    assert.deepEqual(find([1, 2], [2, 1], [1, 2]), [0, 2]);
    assert.deepEqual(find([7], [1], [2], [2], [1], [7]), [2, 3]);
    assert.deepEqual(find([1], [2], [2], [2]), [1, 2]);
    assert.equal(find([Number.NaN], [Number.NaN]), undefined);
    const empty = (shape) => rw.analysis.firstDuplicate({ data: new Float32Array(0), shape });
    assert.equal(empty([0, 3]), undefined);
    assert.deepEqual(empty([2, 0]), [0, 1]);
    const table = rw.tensor([1000, 8], rw.sinusoidal({ dim: 8, positions: { length: 1000 } }));
    assert.equal(rw.analysis.firstDuplicate(table), undefined);
    table.dispose();
  });
});

const rw = await load({ simd: 'deterministic' });
const [q, k] = [random(4, 1), random(4, 2)];
const calls = {
  shiftMatrix: { k: 1 },
  dotCurve: { distances: [1, 2] },
  decayCurve: { distances: [1, 2] },
  decayBound: { q, k, distances: [1, 2] },
};
for (const [name, rest] of Object.entries(calls)) {
  const call = (more) => rw.analysis[name]({ dim: 4, ...rest, ...more });
  testAllRefusals(rw, `analysis.${name}`, {
    options: [required(notOptions), (options) => rw.analysis[name](options)],
    dim: [required(notEven({ min: 2, max: 2 ** 20 })), (dim) => call({ dim })],
    base: [notPositive, (base) => call({ base })],
    ...(rest.distances && { distances: [required(notPositions(3)), (distances) => call({ distances })] }),
    ...(rest.q && { q: [required(notFloats(4)), (q) => call({ q })], k: [required(notFloats(4)), (k) => call({ k })] }),
  });
  testUnknownOptions(rw, `analysis.${name}`, ['nonsense', 'headDim', 'constructor'], call);
  testMisfits(rw, `analysis.${name}`, {
    'a base whose frequencies are too high': [RangeError, `analysis.${name}`, () => call({ base: 1e-300 })],
  });
}
testAllRefusals(rw, 'analysis.shiftMatrix', {
  k: [required(notAnInteger({ min: -last, max: last })), (k) => rw.analysis.shiftMatrix({ dim: 4, k })],
  layout: [notAChoice, (layout) => rw.analysis.shiftMatrix({ dim: 4, k: 1, layout })],
});
testMisfits(rw, 'analysis.shiftMatrix', {
  'the layout tensor2tensor': [
    RangeError,
    ['layout', '"tensor2tensor"'],
    () => rw.analysis.shiftMatrix({ dim: 4, k: 1, layout: 'tensor2tensor' }),
  ],
  'what the heap has no room for': [
    OutOfMemoryError,
    'shiftMatrix',
    () => rw.analysis.shiftMatrix({ dim: 2 ** 20, k: 1 }),
  ],
});
testAllRefusals(rw, 'analysis.pairwise', {
  measure: [required(notAChoice), (measure) => rw.analysis.pairwise(randomArray([2, 2]), measure)],
});
const foreign = (await load({ simd: 'deterministic' })).tensor([2, 2]);
const disposed = rw.tensor([2, 2]);
disposed.dispose();
for (const name of ['pairwise', 'firstDuplicate']) {
  const call = (x) => rw.analysis[name](x, 'dot');
  testAllRefusals(rw, `analysis.${name}`, {
    x: [required(notFloats(4)), (data) => call({ data, shape: [2, 2] })],
    'x.shape': [notAShape, (shape) => call({ data: new Float32Array(6), shape })],
  });
  testMisfits(rw, `analysis.${name}`, {
    'rows of one axis': [RangeError, ['x', '[4]'], () => call(randomArray([4]))],
    'rows of three axes': [RangeError, ['x', '[1, 2, 2]'], () => call(randomArray([1, 2, 2]))],
    'no rows': [TypeError, ['x', 'undefined'], () => call(undefined)],
    'rows of another instance': [StateError, ['x', 'instance'], () => call(foreign)],
    'disposed rows': [StateError, ['x', 'disposed'], () => call(disposed)],
  });
}
testMisfits(rw, 'analysis.pairwise', {
  'what the heap has no room for': [
    OutOfMemoryError,
    'pairwise',
    () => rw.analysis.pairwise({ data: new Float32Array(0), shape: [2 ** 30, 0] }, 'dot'),
  ],
});
