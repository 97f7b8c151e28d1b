// Masks of attention: every shape that broadcasts, both kinds together, and refused masks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray, sizeOf } from '../support/arrays.mjs';
import { attention } from '../support/attention-reference.mjs';
import {
  gone,
  notAShape,
  notFloats,
  notOfLength,
  notOptions,
  outOfRange,
  required,
  wrongType,
} from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const full = [2, 4, 3, 5];
const [B, H, Tq, Tk] = full;
const q = randomArray([B, H, Tq, 6], 1);
const k = randomArray([B, 2, Tk, 6], 2);
const v = randomArray([B, 2, Tk, 3], 3);
const tolerance = 32 * 2 ** -24;

// All shapes that broadcast to `full`: each axis whole or 1, then the axes in front left out.
const choices = [0, 1].flatMap((b) => [0, 1].flatMap((h) => [0, 1].flatMap((i) => [0, 1].map((j) => [b, h, i, j]))));
const wholeRank = choices.map((keep) => keep.map((whole, axis) => (whole ? full[axis] : 1)));
const lowerRank = [[], [1], [Tk], [Tq, Tk], [1, Tk], [Tq, 1], [H, Tq, Tk], [H, 1, Tk], [1, Tq, Tk], [H, 1, 1]];
const shapes = [...wholeRank, ...lowerRank];

// NumPy's rule: the entry that stands for (b, h, i, j).
function at(data, shape) {
  return (...index) => {
    let flat = 0;
    shape.forEach((size, axis) => {
      flat = flat * size + (size === 1 ? 0 : index[axis + 4 - shape.length]);
    });
    return data[flat];
  };
}

const flags = (length, seed) => Uint8Array.from(random(length, seed), (x) => (x > -0.3 ? 1 : 0));

for (const shape of shapes) {
  test(`a mask and a bias of shape [${shape}] broadcast to [${full}]`, () => {
    const mask = { data: flags(sizeOf(shape), 7), shape };
    const bias = randomArray(shape, 8);
    const expected = attention(q, k, v, { keeps: at(mask.data, shape), bias: at(bias.data, shape) });
    const got = rw.attention(q, k, v, { mask, bias, returnScores: 'probabilities' });
    assertClose(got.out.data, expected.out, tolerance);
    assertClose(got.scores.data, expected.scores, tolerance);
    const booleans = { data: Array.from(mask.data, Boolean), shape };
    assertSameBits(rw.attention(q, k, v, { mask: booleans, bias }).out.data, got.out.data);
    using_(rw.tensor(shape, bias.data), (tensor) => {
      assertSameBits(rw.attention(q, k, v, { mask, bias: tensor }).out.data, got.out.data);
    });
  });
}

// `using` is not in Node 20.
function using_(resource, work) {
  try {
    work(resource);
  } finally {
    resource.dispose();
  }
}

test('any byte but 0 keeps', () => {
  const shape = [Tk];
  const some = rw.attention(q, k, v, { mask: { data: Uint8Array.of(0, 2, 255, 0, 1), shape } });
  const same = rw.attention(q, k, v, { mask: { data: Uint8Array.of(0, 1, 1, 0, 1), shape } });
  assertSameBits(some.out.data, same.out.data);
});

test('a query that may attend to nothing gives zeros, with and without a bias', () => {
  const mask = { data: Uint8Array.from({ length: Tq * Tk }, (_, i) => (i < Tk ? 0 : 1)), shape: [Tq, Tk] };
  for (const bias of [undefined, randomArray([1], 4)]) {
    const { out, scores } = rw.attention(q, k, v, { mask, returnScores: 'probabilities', ...(bias && { bias }) });
    for (let head = 0; head < B * H; ++head) {
      assertSameBits(out.data.subarray(head * Tq * 3, head * Tq * 3 + 3), new Float32Array(3));
      assertSameBits(scores.data.subarray(head * Tq * Tk, head * Tq * Tk + Tk), new Float32Array(Tk));
    }
    assert.ok(out.data.subarray(3, 9).every((value) => value !== 0));
  }
});

test('a bias of -Infinity hides like a mask, the lowest float does not', () => {
  const hide = (value) => ({ data: Float32Array.from([0, 1, 0, 1, 1], (keep) => (keep ? 0 : value)), shape: [Tk] });
  const mask = { data: Uint8Array.of(0, 1, 0, 1, 1), shape: [Tk] };
  const masked = rw.attention(q, k, v, { mask }).out.data;
  // A bias is added to scaled scores, where a mask leaves the scale to the exponents: the last bit may differ.
  const biased = rw.attention(q, k, v, { bias: hide(-Infinity), returnScores: 'probabilities' });
  assertClose(biased.out.data, masked, 8 * 2 ** -24);
  for (const [i, p] of biased.scores.data.entries()) assert.equal(p === 0, mask.data[i % Tk] === 0, `${i}`);
  const allHidden = { data: new Float32Array(Tk).fill(-Infinity), shape: [Tk] };
  assertSameBits(rw.attention(q, k, v, { bias: allHidden }).out.data, new Float32Array(B * H * Tq * 3));
  // All scores vanish beside it, so the row is the mean of the values, as in Hugging Face.
  const lowest = { data: new Float32Array(Tk).fill(-3.4028234663852886e38), shape: [Tk] };
  const { scores } = rw.attention(q, k, v, { bias: lowest, returnScores: 'probabilities' });
  assertClose(scores.data, new Float64Array(B * H * Tq * Tk).fill(1 / Tk), 2 ** -24);
});

test('NaN in a hidden value does not spread', () => {
  const values = { data: v.data.slice(), shape: v.shape };
  const keys = { data: k.data.slice(), shape: k.shape };
  for (let head = 0; head < B * 2; ++head) {
    values.data.fill(Number.NaN, head * Tk * 3, head * Tk * 3 + 3);
    keys.data.fill(Number.NaN, head * Tk * 6, head * Tk * 6 + 6);
  }
  const mask = { data: Uint8Array.of(0, 1, 1, 1, 1), shape: [Tk] };
  assertSameBits(rw.attention(q, keys, values, { mask }).out.data, rw.attention(q, k, v, { mask }).out.data);
});

const attend = (options) => rw.attention(q, k, v, options);
const shape = [Tk];
const notBytes = [
  ...[wrongType(null, 'null'), wrongType('11111', '"11111"'), wrongType(1, '1'), wrongType({ length: 5 }, 'an object')],
  ...[wrongType([1, 1, 1, 1, 1], '[1, 1, 1, 1, 1]'), wrongType([true, true, true, true, 1], 'Array(5)')],
  ...[Float32Array, Int8Array, Int32Array].map((Kind) => wrongType(new Kind(5), `${Kind.name}(5)`)),
  ...[wrongType(new DataView(new ArrayBuffer(5)), 'DataView'), outOfRange([true], '1')],
  ...[...notOfLength(Uint8Array, Tk), gone(new Uint8Array(Tk))],
];
testAllRefusals(rw, 'attention', {
  mask: [notOptions, (mask) => attend({ mask })],
  'mask.data': [required(notBytes), (data) => attend({ mask: { data, shape } })],
  'mask.shape': [required(notAShape), (shape) => attend({ mask: { data: new Uint8Array(5), shape } })],
  bias: [notOptions, (bias) => attend({ bias })],
  'bias.shape': [notAShape, (shape) => attend({ bias: { data: new Float32Array(5), shape } })],
});
testAllRefusals(rw, 'attention with data for', {
  bias: [required(notFloats(Tk)), (data) => attend({ bias: { data, shape } })],
});

test("a mask may be another library's tensor, with dims and fields of its own", () => {
  const mask = { data: Uint8Array.of(1, 0, 1, 0, 1), dims: [5], dataLocation: 'cpu', type: 'bool' };
  assert.deepEqual(
    rw.attention(q, k, v, { mask }).out.data,
    rw.attention(q, k, v, { mask: { data: mask.data, shape: [5] } }).out.data,
  );
});

test('a mask of another realm keeps what its own numbers say', () => {
  const foreign = runInNewContext('Uint8Array.of(1, 0, 1, 0, 1)');
  const own = Uint8Array.of(1, 0, 1, 0, 1);
  assert.deepEqual(
    rw.attention(q, k, v, { mask: { data: foreign, shape: [5] } }).out.data,
    rw.attention(q, k, v, { mask: { data: own, shape: [5] } }).out.data,
  );
});

test('a mask that a getter of another option takes away is used as it was', () => {
  const own = Uint8Array.of(1, 0, 1, 0, 1);
  const buffer = own.slice().buffer;
  const plan = rw.rope({ headDim: 6 });
  const position = {
    encoding: 'rope',
    plan,
    get queries() {
      if (buffer.byteLength > 0) structuredClone(buffer, { transfer: [buffer] });
      return 0;
    },
  };
  const got = rw.attention(q, k, v, { mask: { data: new Uint8Array(buffer), shape: [5] }, position }).out.data;
  assert.deepEqual(
    got,
    rw.attention(q, k, v, { mask: { data: own, shape: [5] }, position: { encoding: 'rope', plan, queries: 0 } }).out
      .data,
  );
  plan.dispose();
});

test('a list with holes is refused', () => {
  // biome-ignore lint/suspicious/noSparseArray: what is refused
  const data = [true, , true, true, true];
  assert.throws(() => rw.attention(q, k, v, { mask: { data, shape: [5] } }), { argument: 'mask.data' });
});

test('shape: undefined leaves dims to say it', () => {
  const data = Uint8Array.of(1, 0, 1, 0, 1);
  assert.deepEqual(
    rw.attention(q, k, v, { mask: { data, shape: undefined, dims: [5] } }).out.data,
    rw.attention(q, k, v, { mask: { data, shape: [5] } }).out.data,
  );
  const x = Float32Array.of(1, 2);
  assert.deepEqual(rw.silu({ data: x, shape: undefined, dims: [2] }), rw.silu({ data: x, shape: [2] }));
});

test('a size of -0 is 0', () => {
  const tensor = rw.tensor([2, -0]);
  assert.ok(Object.is(tensor.shape[1], 0));
  tensor.dispose();
});

test('queries without heads give nothing, with an encoding and without', () => {
  const none = { data: new Float32Array(0), shape: [0, 2, 4] };
  const keys = randomArray([1, 3, 4]);
  for (const position of [undefined, { encoding: 'alibi' }]) {
    assert.deepEqual(rw.attention(none, keys, keys, { position }).out.shape, [0, 2, 4]);
  }
});

test('an offset of another type is told that a number is fine', () => {
  assert.throws(() => rw.attention(q, k, v, { queryOffset: 1n }), {
    name: 'ArgumentTypeError',
    message: /an integer, or/,
  });
});

const misfits = [[2], [Tk + 1], [Tk, Tq], [2, Tq, Tk], [3, 1, 1, 1], [1, ...full], [0], [Tq, 0]];
testMisfits(
  rw,
  'attention',
  Object.fromEntries(
    misfits.flatMap((shape) => [
      [
        `a mask of shape [${shape}]`,
        [
          RangeError,
          ['mask', `[${shape.join(', ')}]`],
          () => attend({ mask: { data: new Uint8Array(sizeOf(shape)), shape } }),
        ],
      ],
      [
        `a bias of shape [${shape}]`,
        [RangeError, ['bias', `[${shape.join(', ')}]`], () => attend({ bias: randomArray(shape) })],
      ],
    ]),
  ),
);
