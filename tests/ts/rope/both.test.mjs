// Queries and keys rotated in one call: the same bits as two calls, in any forms, and both or neither.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { notAChoice, notAnInteger, notFloats, notOptions, notPositions, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

await onEachBuild((rw) => {
  const plans = {
    half: { headDim: 8 },
    'interleaved, part of the head': { headDim: 8, rotaryDim: 6, pairing: 'interleaved' },
    'float32 angles with a factor': {
      headDim: 8,
      angles: 'float32',
      scaling: { type: 'yarn', factor: 4, originalLength: 64 },
    },
    xPos: { headDim: 8, xpos: { scaleBase: 512 } },
  };
  for (const [kind, options] of Object.entries(plans)) {
    test(`rotateBoth gives the bits of two calls (${kind})`, () => {
      const [plan, alone] = [rw.rope(options), rw.rope(options)];
      for (const layout of ['BHTD', 'BTHD']) {
        for (const tokens of [0, 1, 3, 40]) {
          const shape = (heads) => (layout === 'BHTD' ? [2, heads, tokens, 8] : [2, tokens, heads, 8]);
          const [q, k] = [randomArray(shape(6), 1), randomArray(shape(2), 2)];
          const listed = { positions: Array.from({ length: 2 * tokens }, (_, i) => 700 - 3 * i) };
          for (const places of [{}, { offset: 900 }, listed]) {
            const wantQ = alone.rotate(q, { ...places, layout, role: 'query' });
            const wantK = alone.rotate(k, { ...places, layout, role: 'key' });
            const [gotQ, gotK] = plan.rotateBoth(q, k, { ...places, layout });
            assert.deepEqual([gotQ.shape, gotK.shape], [q.shape, k.shape]);
            assertSameBits(gotQ.data, wantQ.data);
            assertSameBits(gotK.data, wantK.data);
          }
        }
      }
      for (const made of [plan, alone]) made.dispose();
    });
  }

  test('rotateBoth gives back each in its own form', () => {
    const plan = rw.rope({ headDim: 4 });
    const data = random(20);
    const want = plan.rotate(data, { offset: 3 });
    const tensor = rw.tensor([1, 5, 4], data);
    const [same, flat] = plan.rotateBoth(tensor, data, { offset: 3 });
    assert.equal(same, tensor);
    assertSameBits(tensor.data(), want);
    assert.ok(flat instanceof Float32Array && flat !== data);
    assertSameBits(flat, want);
    const [one, other] = plan.rotateBoth({ data, dims: [5, 4] }, rw.tensor([5, 4], data), { offset: 3 });
    assertSameBits(one.data, want);
    assertSameBits(other.data(), want);
    for (const made of [tensor, other, plan]) made.dispose();
  });

  test('rotateBoth writes to out, the arguments themselves included', () => {
    const plan = rw.rope({ headDim: 4 });
    const [q, k] = [random(24, 1), random(8, 2)];
    const [wantQ, wantK] = [
      plan.rotate(q, { offset: 9, shape: [3, 2, 4] }),
      plan.rotate(k, { offset: 9, shape: [1, 2, 4] }),
    ];
    const given = [
      { data: q, shape: [3, 2, 4] },
      { data: k, shape: [1, 2, 4] },
    ];
    const both = new Float32Array(40).fill(7);
    const out = [both.subarray(0, 24), both.subarray(24, 32)];
    const [first, second] = plan.rotateBoth(...given, { offset: 9, out });
    assert.deepEqual([first.data, second.data], out);
    assertSameBits(both, [...wantQ, ...wantK, ...Array(8).fill(7)]);
    plan.rotateBoth(...given, { offset: 9, out: [q, k] });
    assertSameBits(q, wantQ);
    assertSameBits(k, wantK);
    plan.dispose();
  });

  test('rotateBoth of large arrays gives the bits of small ones', () => {
    const plan = rw.rope({ headDim: 64 });
    const [q, k] = [randomArray([8, 1000, 64], 1), randomArray([1, 1000, 64], 2)];
    const [gotQ, gotK] = plan.rotateBoth(q, k, { offset: 5 });
    assertSameBits(gotQ.data, plan.rotate(q, { offset: 5 }).data);
    assertSameBits(gotK.data, plan.rotate(k, { offset: 5 }).data);
    plan.dispose();
  });
});

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: 4 });
const q = randomArray([2, 3, 4]);
const tensor = rw.tensor(q.shape, q.data);
const both = (options) => plan.rotateBoth(q, q, options);
const floats = () => new Float32Array(24);

testAllRefusals(rw, 'rotateBoth', {
  options: [notOptions, both],
  offset: [notAnInteger({ min: -(2 ** 53 - 1), max: 2 ** 53 - 3 }), (offset) => both({ offset })],
  positions: [notPositions(3), (positions) => both({ positions })],
  layout: [notAChoice, (layout) => both({ layout })],
  out: [
    [
      wrongType(floats(), 'Float32Array(24)'),
      wrongType([floats()], 'Array(1)'),
      wrongType({ q: floats() }, 'an object'),
    ],
    (out) => both({ out }),
  ],
  'out[0]': [notFloats(24), (array) => both({ out: [array, floats()] })],
  'out[1]': [notFloats(24), (array) => both({ out: [floats(), array] })],
  q: [[wrongType(null, 'null'), wrongType('text', '"text"'), wrongType([1], '[1]')], (v) => plan.rotateBoth(v, q)],
  k: [[wrongType(null, 'null'), wrongType('text', '"text"'), wrongType([1], '[1]')], (v) => plan.rotateBoth(q, v)],
});
testUnknownOptions(rw, 'rotateBoth', ['nonsense', 'role', 'shape'], both);
testMisfits(rw, 'rotateBoth', {
  'other numbers of tokens': [RangeError, ['k', '2', '3'], () => plan.rotateBoth(q, randomArray([2, 2, 4]))],
  'other batches': [RangeError, ['k', '2'], () => plan.rotateBoth(q, randomArray([2, 2, 3, 4]))],
  'another head size': [RangeError, ['k', 'headDim', '4'], () => plan.rotateBoth(q, randomArray([2, 3, 6]))],
  'one tensor twice': [RangeError, ['k', 'q itself'], () => plan.rotateBoth(tensor, tensor)],
  'out for a tensor': [RangeError, ['out[0]'], () => plan.rotateBoth(tensor, q, { out: [floats(), floats()] })],
  'one array for both results': [
    RangeError,
    ['out[1]', 'out[0]'],
    () => {
      const out = floats();
      both({ out: [out, out] });
    },
  ],
  'results that share memory': [
    RangeError,
    ['out[1]'],
    () => {
      const { buffer } = new Float32Array(40);
      both({ out: [new Float32Array(buffer, 0, 24), new Float32Array(buffer, 64, 24)] });
    },
  ],
  'positions and an offset': [RangeError, ['offset'], () => both({ offset: 1, positions: [1, 2, 3] })],
});

test('a refused rotateBoth leaves tensors as they were', () => {
  const [a, b] = [rw.tensor(q.shape, q.data), rw.tensor([2, 2, 4])];
  assert.throws(() => plan.rotateBoth(a, b, { offset: 1 }), RangeError);
  assert.throws(() => plan.rotateBoth(a, tensor, { positions: [1, 2, 2 ** 53] }), RangeError);
  b.dispose();
  assert.throws(() => plan.rotateBoth(a, b, { offset: 1 }), { name: 'StateError' });
  assertSameBits(a.data(), q.data);
  a.dispose();
});

test('an out that is a view of a tensor, or that a getter takes away, is refused and nothing is written', () => {
  const view = rw.tensor(q.shape, q.data);
  for (const wrong of [() => both({ out: [floats(), view.view()] }), () => plan.rotate(q, { out: view.view() })]) {
    assert.throws(wrong, { name: 'ArgumentRangeError', message: /out(\[1\])? is a view of the WebAssembly heap/ });
  }
  assertSameBits(view.data(), q.data);
  view.dispose();
  for (const i of [0, 1]) {
    const out = [floats(), floats()];
    const positions = new Proxy([1, 2, 3], {
      get(list, name) {
        if (out[i].length > 0) structuredClone(out[i], { transfer: [out[i].buffer] });
        return Reflect.get(list, name);
      },
    });
    assert.throws(() => both({ positions, out }), { name: 'ArgumentTypeError', message: /is not detached/ });
    assert.ok(out[1 - i].every((value) => value === 0));
  }
});

test('a plan, or a tensor, that a getter disposes of is refused', () => {
  const doomed = rw.rope({ headDim: 4 });
  const [a, b] = [rw.tensor(q.shape, q.data), rw.tensor(q.shape, q.data)];
  const meddling = (meddle) => ({
    get positions() {
      meddle();
      return [1, 2, 3];
    },
  });
  assert.throws(
    () =>
      doomed.rotateBoth(
        a,
        b,
        meddling(() => doomed.dispose()),
      ),
    { name: 'StateError' },
  );
  assert.throws(
    () =>
      plan.rotateBoth(
        a,
        b,
        meddling(() => b.dispose()),
      ),
    { name: 'StateError' },
  );
  assertSameBits(a.data(), q.data);
  a.dispose();
});

test('a call within a getter of another call has memory of its own', () => {
  const data = random(24, 5);
  const want = plan.rotate(data, { positions: [1, 2, 3, 4, 5, 6] });
  const inner = [];
  const got = plan.rotate(data, {
    get positions() {
      inner.push(plan.rotate(random(24, 6), { offset: 2 }));
      return [1, 2, 3, 4, 5, 6];
    },
  });
  assertSameBits(got, want);
  assertSameBits(inner.at(-1), plan.rotate(random(24, 6), { offset: 2 }));
});
