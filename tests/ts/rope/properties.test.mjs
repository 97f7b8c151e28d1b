// Properties of every rotation, checked on random sizes, positions and numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, random } from '../support/arrays.mjs';

const rw = await load({ simd: 'deterministic' });
const far = 2 ** 53 - 1;
const eps = 2 ** -24;

const position = fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.maxSafeInteger());
const near = fc.integer({ min: -(2 ** 40), max: 2 ** 40 });
const optionsUpTo = (pairs) =>
  fc
    .record({
      pairs: fc.integer({ min: 1, max: pairs }),
      kept: fc.integer({ min: 0, max: 5 }),
      base: fc.constantFrom(2, 100, 10000, 5e5, 1e7),
      pairing: fc.constantFrom('half', 'interleaved'),
      scaling: fc.constantFrom(
        { type: 'default' },
        { type: 'linear', factor: 3.7 },
        { type: 'llama3', factor: 8, originalLength: 100 },
        { type: 'proportional', rotaryFraction: 0.5 },
      ),
    })
    .map(({ pairs, kept, ...more }) => ({ headDim: 2 * (pairs + kept), rotaryDim: 2 * pairs, ...more }));
const seed = fc.integer({ min: 0, max: 2 ** 32 - 1 });

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const norm = (a) => Math.sqrt(dot(a, a));

// Checks the property with a plan for each set of options; every run frees its plan. Properties that the
// package promises take `acceptance` runs, of smaller heads.
const acceptance = 10_000;
function check(more, property, numRuns = 300) {
  fc.assert(
    fc.property(optionsUpTo(numRuns === acceptance ? 14 : 40), seed, ...more, (options, seed, ...values) => {
      const plan = rw.rope(options);
      try {
        property(plan, random(options.headDim, seed), ...values);
      } finally {
        plan.dispose();
      }
    }),
    { seed: 20_260, numRuns },
  );
}

test('a rotation keeps the length of a vector', () => {
  check(
    [position],
    (plan, x, offset) => {
      const got = norm(plan.rotate(x, { offset }));
      // A pair is off by 4 roundings, and their squares add up like the length itself.
      assert.ok(Math.abs(got - norm(x)) <= 4 * eps * norm(x), `${got}, want ${norm(x)}`);
    },
    acceptance,
  );
});

test('a score depends on the distance of query and key only', () => {
  // Anywhere: the query stands near 0 and up to 2^53 away, the key equally far from both.
  check(
    [position, position, position],
    (plan, q, m, start, distance) => {
      // The distance that was asked for, or the nearest for which both keys stand within the range.
      const by = Math.min(far - Math.max(m, start), Math.max(-far - Math.min(m, start), distance));
      const k = random(q.length, 77);
      const score = (a) => dot(plan.rotate(q, { offset: a }), plan.rotate(k, { offset: a + by }));
      const bound = 1e-6 * norm(q) * norm(k);
      const [here, there] = [score(m), score(start)];
      assert.ok(Math.abs(here - there) <= bound, `${here} and ${there}, bound ${bound}`);
    },
    acceptance,
  );
});

test('unrotate undoes rotate', () => {
  check(
    [position],
    (plan, x, offset) => {
      const back = plan.unrotate(plan.rotate(x, { offset }), { offset });
      assertClose(back, x, 8 * eps * Math.SQRT2);
    },
    acceptance,
  );
});

test('unrotate is rotate at the opposite position', () => {
  check([position], (plan, x, offset) => {
    assertSameBits(plan.unrotate(x, { offset }), plan.rotate(x, { offset: -offset }));
  });
});

test('two turns are the turn by the sum of their positions', () => {
  check([near, near], (plan, x, m, n) => {
    const twice = plan.rotate(plan.rotate(x, { offset: m }), { offset: n });
    assertClose(twice, plan.rotate(x, { offset: m + n }), 12 * eps * Math.SQRT2);
  });
});

test('half is interleaved with the coordinates in another order', () => {
  check(
    [position],
    (plan, x, offset) => {
      const { headDim, rotaryDim, pairing } = plan;
      const pairs = rotaryDim / 2;
      // Coordinate c of the half pairing is coordinate interleavedAt[c] of the other.
      const interleavedAt = Array.from({ length: headDim }, (_, c) => {
        if (c >= rotaryDim) return c;
        return c < pairs ? 2 * c : 2 * (c - pairs) + 1;
      });
      const scaling = { type: 'custom', inverseFrequencies: [...plan.inverseFrequencies] };
      const [half, interleaved] = ['half', 'interleaved'].map((p) =>
        rw.rope({ headDim, rotaryDim, pairing: p, scaling }),
      );
      const moved = new Float32Array(headDim);
      interleavedAt.forEach((to, from) => {
        moved[to] = x[from];
      });
      const turned = interleaved.rotate(moved, { offset });
      const got = half.rotate(x, { offset });
      half.dispose();
      interleaved.dispose();
      assertSameBits(
        got,
        interleavedAt.map((to) => turned[to]),
      );
      assert.ok(['half', 'interleaved'].includes(pairing));
    },
    acceptance,
  );
});

test('rotation is linear in the vector', () => {
  check([position], (plan, x, offset) => {
    const y = random(x.length, 5);
    const sum = plan.rotate(
      x.map((v, i) => v + y[i]),
      { offset },
    );
    const [a, b] = [plan.rotate(x, { offset }), plan.rotate(y, { offset })];
    assertClose(
      sum,
      a.map((v, i) => v + b[i]),
      24 * eps,
    );
    assertSameBits(
      plan.rotate(
        x.map((v) => 4 * v),
        { offset },
      ),
      a.map((v) => 4 * v),
    );
  });
});

test('every row is turned as if it were alone', () => {
  check([fc.array(position, { minLength: 1, maxLength: 50 })], (plan, x, positions) => {
    const rows = new Float32Array(x.length * positions.length);
    for (const i of positions.keys()) rows.set(x, i * x.length);
    const got = plan.rotate(rows, { positions });
    positions.forEach((offset, i) => {
      assertSameBits(got.subarray(i * x.length, (i + 1) * x.length), plan.rotate(x, { offset }));
    });
  });
});

test('tables hold points of the unit circle, at the far ends too', () => {
  check([fc.array(fc.oneof(position, fc.constantFrom(far, -far)), { maxLength: 20 })], (plan, _, positions) => {
    const { cos, sin } = plan.tables(positions);
    assertClose(
      cos.map((c, i) => c * c + sin[i] * sin[i]),
      new Float64Array(cos.length).fill(1),
      4 * eps,
    );
  });
});

test('rerotate is rotate at the new place', () => {
  check(
    [position, position],
    (plan, x, from, to) => {
      const moved = plan.rerotate(plan.rotate(x, { offset: from }), { from, to });
      assertClose(moved, plan.rotate(x, { offset: to }), 12 * eps * Math.SQRT2);
    },
    acceptance,
  );
});

// [dim, dim] times [dim, dim].
function product(a, b, dim) {
  return Float64Array.from({ length: dim * dim }, (_, at) => {
    const [row, column] = [at - (at % dim), at % dim];
    let sum = 0;
    for (let i = 0; i < dim; ++i) sum += a[row + i] * b[i * dim + column];
    return sum;
  });
}

test('shift matrices multiply as their distances add', () => {
  const half = fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.integer({ min: -(2 ** 52), max: 2 ** 52 - 1 }));
  const sizes = fc.integer({ min: 1, max: 4 }).map((pairs) => 2 * pairs);
  const bases = fc.constantFrom(2, 100, 10000, 5e5);
  fc.assert(
    fc.property(sizes, bases, half, half, fc.constantFrom('interleaved', 'concatenated'), (dim, base, a, b, layout) => {
      const matrix = (k) => rw.analysis.shiftMatrix({ dim, base, k, layout }).data;
      // Two products of two rounded numbers each, and the rounding of the sum.
      assertClose(product(matrix(a), matrix(b), dim), matrix(a + b), 4 * eps);
    }),
    { seed: 20_260, numRuns: acceptance },
  );
});
