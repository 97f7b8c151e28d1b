// Tensors, and plain arrays in place of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { load } from 'ropewalk';
import { assertSameBits, random } from '../support/arrays.mjs';
import { gone, notAShape, notFloats, notOfLength, required, wrongType } from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const plan = rw.rope({ headDim: 4 });
const layer = rw.attentionLayer({ modelDim: 4, heads: 2 });
const shape = [2, 3, 4];
const data = random(24);
const rotated = plan.rotate({ data, shape }, { offset: 3 }).data;

test('a tensor without data is zeros, also where there was something before', () => {
  const used = rw.tensor([64]);
  used.view().fill(7);
  used.dispose();
  const zeros = rw.tensor([64]);
  assertSameBits(zeros.data(), new Float32Array(64));
  zeros.dispose();
});

test('a tensor is a copy of its data, with shape and size', () => {
  const source = data.slice();
  const tensor = rw.tensor(shape, source);
  source.fill(0);
  assertSameBits(tensor.data(), data);
  assert.deepEqual(tensor.shape, shape);
  assert.equal(tensor.size, 24);
  tensor.dispose();
});

test('the shape of a tensor is its own and cannot be changed', () => {
  const mine = [2, 2];
  const tensor = rw.tensor(mine);
  mine[0] = 9;
  assert.deepEqual(tensor.shape, [2, 2]);
  assert.throws(() => tensor.shape.push(1), TypeError);
  tensor.dispose();
});

test('a tensor of no axes is one number, and one of a zero size none', () => {
  for (const [shape, size] of [
    [[], 1],
    [[0], 0],
    [[3, 0, 2], 0],
    [[2 ** 30, 0], 0],
  ]) {
    const tensor = rw.tensor(shape);
    assert.equal(tensor.size, size);
    assert.equal(tensor.data().length, size);
    tensor.dispose();
  }
});

test('NaN, infinities, -0 and subnormal numbers go in and out as they are', () => {
  const odd = Float32Array.of(Number.NaN, Infinity, -Infinity, -0, 1.401298464324817e-45, -1e-40);
  const tensor = rw.tensor([6], odd);
  assertSameBits(tensor.data(), odd);
  tensor.dispose();
});

test('data() gives a new copy each time, data(out) fills the given array and gives it back', () => {
  const tensor = rw.tensor(shape, data);
  const copy = tensor.data();
  copy.fill(0);
  assertSameBits(tensor.data(), data);
  const large = new Float32Array(30);
  const out = large.subarray(3, 27);
  assert.equal(tensor.data(out), out);
  assertSameBits(out, data);
  assert.deepEqual([...large.subarray(0, 3), ...large.subarray(27)], [0, 0, 0, 0, 0, 0]);
  tensor.dispose();
});

test('set() copies numbers in and gives the tensor back', () => {
  const tensor = rw.tensor(shape);
  assert.equal(tensor.set(data), tensor);
  assertSameBits(tensor.data(), data);
  tensor.dispose();
});

test('view() is the memory itself: what is written there is computed with', () => {
  const tensor = rw.tensor(shape);
  tensor.view().set(data);
  assert.equal(plan.rotate(tensor, { offset: 3 }), tensor);
  assertSameBits(tensor.view(), rotated);
  tensor.dispose();
});

// Every form that a plain array may come in, from the same numbers.
const arrays = {
  'a Float32Array': (numbers) => numbers,
  'a Float32Array of another realm': (numbers) => runInNewContext('(n) => Float32Array.from(n)')(numbers),
  'shared memory': (numbers) => {
    const shared = new Float32Array(new SharedArrayBuffer(4 * numbers.length));
    shared.set(numbers);
    return shared;
  },
  'a part of a larger array': (numbers) => {
    const large = new Float32Array(numbers.length + 5);
    large.set(numbers, 3);
    return large.subarray(3, 3 + numbers.length);
  },
  'a resizable array': (numbers) => {
    const array = new Float32Array(new ArrayBuffer(4 * numbers.length, { maxByteLength: 4096 }));
    array.set(numbers);
    return array;
  },
  'a subclass of Float32Array': (numbers) => new (class Floats extends Float32Array {})(numbers),
};
for (const [form, make] of Object.entries(arrays)) {
  test(`${form} gives the bits that a tensor gives, and is neither changed nor detached`, () => {
    const input = make(data);
    for (const x of [
      { data: input, shape },
      { data: input, dims: shape },
    ]) {
      const result = plan.rotate(x, { offset: 3 });
      assertSameBits(result.data, rotated);
      assert.deepEqual(result.shape, shape);
      assert.notEqual(result.data.buffer, input.buffer);
      assert.ok(result.data instanceof Float32Array);
    }
    assertSameBits(plan.rotate(input, { offset: 3, shape }), rotated);
    const tensor = rw.tensor(shape, input);
    assertSameBits(tensor.data(), data);
    tensor.dispose();
    assertSameBits(input, data);

    const out = make(new Float32Array(24));
    assert.equal(plan.rotate(data, { offset: 3, shape, out }), out);
    assertSameBits(out, rotated);
  });
}

test('an array of another library may carry more than data and dims', () => {
  class OtherTensor {
    type = 'float32';
    dims = Object.freeze([2, 3, 4]);
    get data() {
      return data;
    }
  }
  assertSameBits(plan.rotate(new OtherTensor(), { offset: 3 }).data, rotated);
});

test('rotate takes its own input as out, and then works in place', () => {
  const x = data.slice();
  assert.equal(plan.rotate(x, { offset: 3, shape, out: x }), x);
  assertSameBits(x, rotated);
});

test('calls on tensors give tensors, calls on plain arrays plain arrays, of the same bits', () => {
  const x = rw.tensor(shape, data);
  const plain = { data, shape };
  const before = rw.memory().liveObjects;
  for (const call of [
    (a) => rw.attention(a, a, a, { returnScores: 'probabilities' }),
    (a) => layer.forward(a, { returnScores: 'probabilities' }),
  ]) {
    const tensors = call(x);
    const plains = call(plain);
    for (const part of ['out', 'scores']) {
      assert.deepEqual(tensors[part].shape, plains[part].shape);
      assertSameBits(tensors[part].data(), plains[part].data);
      tensors[part].dispose();
    }
  }
  assert.equal(rw.memory().liveObjects, before);
  assertSameBits(x.data(), data);
  x.dispose();
});

testAllRefusals(rw, 'tensor', {
  shape: [required(notAShape), (v) => rw.tensor(v)],
  data: [notFloats(24), (v) => rw.tensor(shape, v)],
});
const tensor = rw.tensor(shape, data);
testAllRefusals(rw, 'tensor.data', { out: [notFloats(24), (v) => tensor.data(v)] });
testAllRefusals(rw, 'tensor.set', { source: [required(notFloats(24)), (v) => tensor.set(v)] });

// Not a tensor, and not { data, shape } either.
const notAnArray = [
  ...[
    wrongType(null, 'null'),
    wrongType('text', '"text"'),
    wrongType(1, '1'),
    wrongType(1n, '1n'),
    wrongType({}, 'an object'),
  ],
  ...[wrongType([1, 2, 3, 4], '[1, 2, 3, 4]'), wrongType(new Float64Array(24), 'Float64Array(24)')],
  ...[wrongType({ data }, 'an object', '{ data }'), wrongType({ shape }, 'an object', '{ shape }')],
];
const x = { data, shape };
const inputs = {
  'rotate x': (v) => plan.rotate(v),
  'unrotate x': (v) => plan.unrotate(v),
  'attention q': (v) => rw.attention(v, x, x),
  'attention k': (v) => rw.attention(x, v, x),
  'attention v': (v) => rw.attention(tensor, x, v),
  'forward x': (v) => layer.forward(v),
};
for (const [name, call] of Object.entries(inputs)) {
  const [where, argument] = name.split(' ');
  testAllRefusals(rw, where, { [argument]: [required(notAnArray), call] });
  testAllRefusals(rw, `${where} with data for`, {
    [argument]: [required(notFloats(24)), (v) => call({ data: v, shape })],
  });
  testAllRefusals(rw, where, { [`${argument}.shape`]: [notAShape, (v) => call({ data, shape: v })] });
}
testAllRefusals(rw, 'rotate', {
  shape: [notAShape, (v) => plan.rotate(data, { shape: v })],
  out: [notFloats(24), (v) => plan.rotate(x, { out: v })],
});
testAllRefusals(rw, 'rotate without a shape', {
  x: [[...notOfLength(Float32Array, 24), gone(new Float32Array(24))], (v) => plan.rotate(v)],
});
testAllRefusals(rw, 'an empty tensor', { data: [[gone(new Float32Array(4))], (v) => rw.tensor([0], v)] });
testMisfits(rw, 'rotate', {
  'a shape beside an array that has one': [RangeError, 'shape', () => plan.rotate(x, { shape })],
  'a shape beside a tensor': [RangeError, 'shape', () => plan.rotate(tensor, { shape })],
  'out beside a tensor': [RangeError, 'out', () => plan.rotate(tensor, { out: new Float32Array(24) })],
});
