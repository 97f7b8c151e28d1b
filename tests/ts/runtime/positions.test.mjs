// Positions of tokens: all forms give the same result, and invalid positions are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { load } from 'ropewalk';
import { assertSameBits, randomArray } from '../support/arrays.mjs';
import { notAnInteger, notOfLength, notPositions, outOfRange, required } from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: 4 });
const layer = rw.attentionLayer({ modelDim: 4, heads: 1, position: { encoding: 'rope' } });
const x = randomArray([2, 3, 5, 4]);
const tokens = randomArray([2, 5, 4]);
const last = 2 ** 53 - 1;

const forms = {
  'plain numbers': (p) => p,
  Int32Array: (p) => Int32Array.from(p),
  Float64Array: (p) => Float64Array.from(p),
  BigInt64Array: (p) => BigInt64Array.from(p, BigInt),
  'plain BigInts': (p) => p.map(BigInt),
  'a Float64Array of another realm': (p) => runInNewContext('(p) => Float64Array.from(p)')(p),
  'an array of another realm': (p) => runInNewContext('(p) => Array.from(p)')(p),
  'a part of a larger array': (p) => Float64Array.of(7, 7, ...p, 7).subarray(2, 2 + p.length),
  'shared memory': (p) => {
    const shared = new Int32Array(new SharedArrayBuffer(4 * p.length));
    shared.set(p);
    return shared;
  },
};

for (const [form, make] of Object.entries(forms)) {
  test(`positions may come as ${form}`, () => {
    const positions = [0, 17, -3, 17, 2 ** 31 - 1];
    assertSameBits(plan.rotate(x, { positions: make(positions) }).data, plan.rotate(x, { positions }).data);
    const { cos } = plan.tables(make(positions));
    assertSameBits(cos, plan.tables(positions).cos);
    const table = rw.sinusoidal({ dim: 6, positions: make(positions) });
    assertSameBits(table, rw.sinusoidal({ dim: 6, positions }));
    const { out } = layer.forward(tokens, { positions: make(positions) });
    assertSameBits(out.data, layer.forward(tokens, { positions }).out.data);
  });
}

test('a Uint32Array keeps positions of 2^31 and more', () => {
  const positions = [2 ** 31, 2 ** 32 - 1];
  assertSameBits(plan.tables(Uint32Array.from(positions)).sin, plan.tables(positions).sin);
});

test('an offset is the list of the positions from it on', () => {
  for (const offset of [0, -0, 1, 1000, -2, last - 4, -last]) {
    const positions = Array.from({ length: 5 }, (_, i) => offset + i);
    const expected = plan.rotate(x, { positions }).data;
    assertSameBits(plan.rotate(x, { offset }).data, expected);
    assertSameBits(plan.tables({ length: 5, offset }).cos, plan.tables(positions).cos);
    const table = rw.sinusoidal({ dim: 4, positions: { length: 5, offset } });
    assertSameBits(table, rw.sinusoidal({ dim: 4, positions }));
  }
  assertSameBits(plan.rotate(x).data, plan.rotate(x, { offset: 0 }).data);
  assertSameBits(plan.tables({ length: 5 }).sin, plan.tables([0, 1, 2, 3, 4]).sin);
});

test('positions for each batch entry are those of separate calls', () => {
  const positions = [9, 8, 7, 6, 5, 100, 0, -100, 3, 3];
  const { data } = plan.rotate(x, { positions });
  const { out } = layer.forward(tokens, { positions });
  for (const b of [0, 1]) {
    const own = positions.slice(5 * b, 5 * b + 5);
    const entry = { data: x.data.subarray(60 * b, 60 * b + 60), shape: [1, 3, 5, 4] };
    assertSameBits(data.subarray(60 * b, 60 * b + 60), plan.rotate(entry, { positions: own }).data);
    const part = { data: tokens.data.subarray(20 * b, 20 * b + 20), shape: [5, 4] };
    assertSameBits(out.data.subarray(20 * b, 20 * b + 20), layer.forward(part, { positions: own }).out.data);
  }
});

test('one axis takes its list alone or as the only one of an array, as plans with more axes have them', () => {
  const positions = [9, 8, 7, -6, 5];
  const sections = rw.rope({ headDim: 4, axes: { layout: 'sections', sections: [2] } });
  for (const list of [positions, Int32Array.from(positions), BigInt64Array.from(positions, BigInt)]) {
    for (const each of [plan, sections]) {
      assertSameBits(each.rotate(x, { positions: [list] }).data, each.rotate(x, { positions }).data);
      assertSameBits(each.tables([list]).sin, each.tables(positions).sin);
    }
    assertSameBits(rw.sinusoidal({ dim: 4, positions: [list] }), rw.sinusoidal({ dim: 4, positions }));
  }
  sections.dispose();
  const two = { name: 'ArgumentRangeError', argument: 'positions', message: /has 2 lists, the plan has 1 axes/ };
  assert.throws(() => plan.rotate(x, { positions: [positions, positions] }), two);
  const empty = { name: 'ArgumentTypeError', argument: 'positions[0]', message: /is undefined; expected an integer/ };
  assert.throws(() => plan.rotate(x, { positions: [undefined, positions, 1, 2, 3] }), empty);
});

test('the list of positions is read, never written', () => {
  const positions = Float64Array.of(5, 4, 3, 2, 1);
  plan.rotate(x, { positions });
  plan.tables(positions);
  rw.sinusoidal({ dim: 4, positions });
  assert.deepEqual([...positions], [5, 4, 3, 2, 1]);
});

test('no positions make empty tables', () => {
  assert.equal(plan.tables([]).cos.length, 0);
  assert.equal(plan.tables({ length: 0 }).sin.length, 0);
  assert.equal(rw.sinusoidal({ dim: 3, positions: new Float64Array(0) }).length, 0);
});

const wrongLengths = [...notOfLength(Int32Array, 5), ...notOfLength(Array, 10), outOfRange([], '0')];
const sinusoidal = (positions) => rw.sinusoidal({ dim: 4, positions });
testAllRefusals(rw, 'rotate', {
  positions: [[...notPositions(5), ...wrongLengths], (positions) => plan.rotate(x, { positions })],
});
testAllRefusals(rw, 'unrotate', {
  positions: [[...notPositions(5), ...wrongLengths], (positions) => plan.unrotate(x, { positions })],
});
testAllRefusals(rw, 'forward', {
  positions: [[...notPositions(5), ...wrongLengths], (positions) => layer.forward(tokens, { positions })],
});
testAllRefusals(rw, 'tables', { positions: [required(notPositions(3)), (positions) => plan.tables(positions)] });
testAllRefusals(rw, 'sinusoidal', { positions: [required(notPositions(3)), sinusoidal] });

const length = required(notAnInteger({ min: 0, max: 2 ** 30 }));
const offset = notAnInteger({ min: -last, max: last });
for (const [where, call] of Object.entries({ tables: (p) => plan.tables(p), sinusoidal })) {
  testAllRefusals(rw, where, {
    'positions.length': [length, (value) => call({ length: value })],
    'positions.offset': [offset, (value) => call({ length: 1, offset: value })],
  });
  testUnknownOptions(rw, `${where} at a range`, ['start', 'constructor'], (more) => call({ length: 1, ...more }));
}

testMisfits(rw, 'rotate', {
  'an offset together with positions': [
    RangeError,
    ['offset', 'positions'],
    () => plan.rotate(x, { offset: 1, positions: [0, 1, 2, 3, 4] }),
  ],
  'a last token beyond 2^53 - 1': [RangeError, ['offset', `${last - 3}`], () => plan.rotate(x, { offset: last - 3 })],
});
testMisfits(rw, 'tables', {
  'a last row beyond 2^53 - 1': [RangeError, 'positions.offset', () => plan.tables({ length: 2, offset: last })],
});
