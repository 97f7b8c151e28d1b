// GELU, SiLU and softmax against float64.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { assertClose, assertSameBits, randomArray } from '../support/arrays.mjs';
import { notAChoice, notAShape, notFloats, notOptions, required } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const unit = 2 ** -24;

// Φ(-y) for y >= 0: the series of erf where it is short, else the continued fraction of Mills' ratio.
function upperTail(y) {
  const density = Math.exp((-y * y) / 2) / Math.sqrt(2 * Math.PI);
  if (y < 2) {
    let [term, total] = [y, y];
    for (let k = 1; Math.abs(term) > 1e-18; ++k) {
      term *= (y * y) / (2 * k + 1);
      total += term;
    }
    return 0.5 - density * total;
  }
  let fraction = y;
  for (let k = 400; k >= 1; --k) fraction = y + k / fraction;
  return density / fraction;
}

const gelu = (x) => (x < 0 ? x * upperTail(-x) : x * (1 - upperTail(x)));
const inner = (x) => 2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);
const functions = {
  gelu: { run: (rw, x) => rw.gelu(x), exact: gelu, ulps: () => 5 },
  'gelu by tanh': {
    run: (rw, x) => rw.gelu(x, { approximate: 'tanh' }),
    exact: (x) => x / (1 + Math.exp(-inner(x))),
    ulps: (x) => 4 + 3 * Math.abs(inner(x)),
  },
  silu: { run: (rw, x) => rw.silu(x), exact: (x) => x / (1 + Math.exp(-x)), ulps: () => 4 },
};

const values = Float32Array.from({ length: 4001 }, (_, i) => (i - 2000) / 160);

function softmaxRow(row) {
  const largest = Math.max(...row);
  const e = row.map((v) => Math.exp(v - largest));
  const total = e.reduce((a, b) => a + b, 0);
  return e.map((v) => v / total);
}

await onEachBuild((rw) => {
  for (const [name, { run, exact, ulps }] of Object.entries(functions)) {
    test(`${name} is that of float64 on both sides of 0`, () => {
      const { data, shape } = run(rw, { data: values, shape: [1, 4001] });
      assert.deepEqual(shape, [1, 4001]);
      const want = Array.from(values, exact);
      const bound = want.map((y, i) => ulps(values[i]) * 2 * unit * Math.abs(y) + 1e-36);
      assertClose(data, want, bound);
    });

    test(`${name} has its limits, keeps NaN in its place, and takes any shape`, () => {
      const special = Float32Array.of(Infinity, -Infinity, Number.NaN, 3e38, -3e38, 0);
      const got = run(rw, { data: special, shape: [2, 3] }).data;
      assert.equal(got[0], Infinity);
      assert.ok(Math.abs(got[1]) === 0 && Math.abs(got[4]) === 0 && Math.abs(got[5]) === 0);
      assert.ok(Number.isNaN(got[2]));
      assert.equal(got[3], special[3]);
      for (const shape of [[], [1], [0], [2, 0, 3]]) {
        const x = randomArray(shape, 1);
        const { data, shape: gotShape } = run(rw, x);
        assert.deepEqual(gotShape, shape);
        assert.equal(data.length, x.data.length);
      }
    });

    test(`${name} of a tensor is a new tensor with the same bits`, () => {
      const x = randomArray([3, 7], 2);
      const tensor = rw.tensor(x.shape, x.data);
      const got = run(rw, tensor);
      assert.deepEqual(got.shape, x.shape);
      assertSameBits(got.data(), run(rw, x).data);
      assertSameBits(tensor.data(), x.data);
      tensor.dispose();
      got.dispose();
    });
  }

  test('gelu is the exact one unless asked otherwise', () => {
    const x = randomArray([50], 3);
    assertSameBits(rw.gelu(x).data, rw.gelu(x, { approximate: 'none' }).data);
    assert.notDeepEqual(rw.gelu(x).data, rw.gelu(x, { approximate: 'tanh' }).data);
  });

  test('softmax is that of float64 over the last axis', () => {
    for (const shape of [[1], [4, 1], [2, 3, 5], [3, 70]]) {
      const x = randomArray(shape, 4);
      const n = shape.at(-1);
      const got = rw.softmax(x);
      assert.deepEqual(got.shape, shape);
      for (let start = 0; start < x.data.length; start += n) {
        const want = softmaxRow([...x.data.subarray(start, start + n)]);
        const bound = want.map((p) => (n + 8) * unit * p);
        assertClose(got.data.subarray(start, start + n), want, bound);
      }
    }
  });

  test('softmax gives 0 for -Infinity, zeros for a row of it, and keeps NaN in its row', () => {
    const data = Float32Array.of(0, -Infinity, 0, -Infinity, -Infinity, -Infinity, 1, Number.NaN, 2);
    const got = rw.softmax({ data, shape: [3, 3] }).data;
    assertSameBits(got.subarray(0, 6), [0.5, 0, 0.5, 0, 0, 0]);
    assert.ok(got.subarray(6).every(Number.isNaN));
  });

  test('softmax of a tensor is a new tensor; of nothing, nothing', () => {
    const x = randomArray([2, 5], 5);
    const tensor = rw.tensor(x.shape, x.data);
    const got = rw.softmax(tensor);
    assertSameBits(got.data(), rw.softmax(x).data);
    assertSameBits(tensor.data(), x.data);
    tensor.dispose();
    got.dispose();
    for (const shape of [[0], [0, 4], [3, 0]]) {
      assert.deepEqual(rw.softmax({ data: new Float32Array(0), shape }), { data: new Float32Array(0), shape });
    }
  });
});

const rw = await load({ simd: 'deterministic' });
const x = randomArray([2, 3], 1);
const other = await load({ simd: 'deterministic' });
const foreign = other.tensor([2]);
const disposed = rw.tensor([2]);
disposed.dispose();

for (const name of ['gelu', 'silu', 'softmax']) {
  testAllRefusals(rw, name, {
    x: [required(notFloats(6)), (data) => rw[name]({ data, shape: x.shape })],
    'x.shape': [notAShape, (shape) => rw[name]({ data: x.data, shape })],
  });
  testMisfits(rw, name, {
    'a bare Float32Array': [TypeError, ['x', 'Float32Array(6)', 'shape'], () => rw[name](x.data)],
    'an x of another instance': [StateError, ['x', 'instance'], () => rw[name](foreign)],
    'a disposed x': [StateError, ['x', 'disposed'], () => rw[name](disposed)],
  });
}
testAllRefusals(rw, 'gelu', {
  options: [notOptions, (options) => rw.gelu(x, options)],
  approximate: [notAChoice, (approximate) => rw.gelu(x, { approximate })],
});
testUnknownOptions(rw, 'gelu', ['nonsense', 'approximation', 'constructor'], (options) => rw.gelu(x, options));
testMisfits(rw, 'softmax', {
  'a number without axes': [RangeError, ['x', '[]'], () => rw.softmax(randomArray([]))],
});
