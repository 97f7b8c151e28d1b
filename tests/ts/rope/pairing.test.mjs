// The permutation between half and interleaved pairs, and detectPairing().
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { convertPairing, load, permutePairing } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { notAChoice, notAnInteger, notEven, notOptions, notPositive, required } from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const toHalf = { from: 'interleaved', to: 'half' };
const toInterleaved = { from: 'half', to: 'interleaved' };

// Hugging Face's conversion of Meta's weights: w.view(H, d/2, 2, M).transpose(1, 2).reshape(H * d, M).
function metaToHuggingFace(w, heads, dim, columns) {
  const out = [];
  for (let h = 0; h < heads; ++h) {
    for (const part of [0, 1]) {
      for (let pair = 0; pair < dim / 2; ++pair) {
        const row = h * dim + 2 * pair + part;
        out.push(...w.slice(row * columns, (row + 1) * columns));
      }
    }
  }
  return out;
}

test('permutePairing does as Hugging Face does with the weights of Meta', () => {
  for (const [heads, headDim, columns] of [
    [1, 2, 3],
    [3, 8, 5],
    [2, 6, 1],
    [8, 128, 16],
  ]) {
    const w = random(heads * headDim * columns);
    const got = permutePairing(w, { ...toHalf, heads, headDim });
    assert.deepEqual([...got], metaToHuggingFace(w, heads, headDim, columns));
  }
});

test('permutePairing moves biases, and weights of a norm, as it moves rows', () => {
  const bias = Float32Array.of(0, 1, 2, 3, 10, 11, 12, 13);
  assert.deepEqual([...permutePairing(bias, { ...toHalf, heads: 2, headDim: 4 })], [0, 2, 1, 3, 10, 12, 11, 13]);
  const norm = bias.subarray(0, 4);
  assert.deepEqual([...permutePairing(norm, { ...toInterleaved, heads: 1, headDim: 4 })], [0, 2, 1, 3]);
  const six = Float32Array.of(0, 1, 2, 3, 4, 5);
  assert.deepEqual([...permutePairing(six, { ...toInterleaved, heads: 1, headDim: 6 })], [0, 3, 1, 4, 2, 5]);
});

test('heads on columns are the transpose of heads on rows', () => {
  const [heads, headDim, other] = [2, 6, 5];
  const size = heads * headDim;
  const transpose = (w, from, to) => Float32Array.from(w, (_, i) => w[(i % from) * to + Math.floor(i / from)]);
  const w = random(size * other);
  const rows = permutePairing(w, { ...toHalf, heads, headDim });
  const columns = permutePairing(transpose(w, size, other), { ...toHalf, heads, headDim, headsOn: 'columns' });
  assertSameBits(columns, transpose(rows, size, other));
});

test('only the coordinates that turn are moved', () => {
  const x = Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7);
  const got = permutePairing(x, { ...toHalf, heads: 1, headDim: 8, rotaryDim: 6 });
  assert.deepEqual([...got], [0, 2, 4, 1, 3, 5, 6, 7]);
  assert.deepEqual([...convertPairing(x, { ...toInterleaved, headDim: 4, rotaryDim: 2 })], [...x]);
  // A head of odd size, as a plan takes it.
  const odd = { ...toHalf, headDim: 7, rotaryDim: 4 };
  for (const got of [convertPairing(x.subarray(0, 7), odd), permutePairing(x.subarray(0, 7), { ...odd, heads: 1 })]) {
    assert.deepEqual([...got], [0, 2, 1, 3, 4, 5, 6]);
  }
});

const kinds = [Float32Array, Float64Array, Uint16Array, Int16Array, Uint8Array, Int8Array, Uint32Array, Int32Array];

test('the way there and back gives the same bits, for every type of array', () => {
  for (const Kind of kinds) {
    const x = Kind.from({ length: 2 * 3 * 10 }, (_, i) => (i * 7919) % 127);
    const before = x.slice();
    const size = { heads: 2, headDim: 10, rotaryDim: 8 };
    const there = permutePairing(x, { ...toHalf, ...size });
    assert.equal(there.constructor, Kind);
    assert.notDeepEqual(there, x);
    assert.deepEqual(permutePairing(there, { ...toInterleaved, ...size }), before);
    const kept = permutePairing(x, { ...toHalf, to: 'interleaved', ...size });
    assert.deepEqual(kept, before);
    assert.notEqual(kept.buffer, x.buffer, 'a copy, even where nothing moves');
    assert.deepEqual(x, before, 'the argument is not written to');
  }
  const nan = Float32Array.of(0, Number.NaN, -0, 1);
  assertSameBits(convertPairing(nan, { ...toHalf, headDim: 4 }), Float32Array.of(0, -0, Number.NaN, 1));
  assert.equal(permutePairing(Buffer.of(1, 2, 3, 4), { ...toHalf, heads: 1, headDim: 4 }).constructor, Uint8Array);
});

// x [T, M] times w [H * D, M] transposed: [H, T, D].
function project(x, w, tokens, heads, dim) {
  const width = x.length / tokens;
  const out = new Float32Array(heads * tokens * dim);
  for (let h = 0; h < heads; ++h) {
    for (let t = 0; t < tokens; ++t) {
      for (let d = 0; d < dim; ++d) {
        let sum = 0;
        for (let m = 0; m < width; ++m) sum += x[t * width + m] * w[(h * dim + d) * width + m];
        out[(h * tokens + t) * dim + d] = sum;
      }
    }
  }
  return { data: out, shape: [heads, tokens, dim] };
}

function scoresOf(q, k, scale = 1 / Math.sqrt(q.shape.at(-1))) {
  const [heads, tokens, dim] = q.shape;
  const [groups, keys] = k.shape;
  const data = Float32Array.from({ length: heads * tokens * keys }, (_, at) => {
    const [h, i, j] = [Math.floor(at / (tokens * keys)), Math.floor(at / keys) % tokens, at % keys];
    const g = Math.floor((h * groups) / heads);
    let dot = 0;
    for (let d = 0; d < dim; ++d) dot += q.data[(h * tokens + i) * dim + d] * k.data[(g * keys + j) * dim + d];
    return scale * dot;
  });
  return { data, shape: [heads, tokens, keys] };
}

test('with permuted weights the other convention gives the same scores, also with groups and a part that turns', () => {
  const [tokens, width, heads, groups, dim, rotaryDim] = [7, 5, 4, 2, 12, 8];
  const x = random(tokens * width, 1);
  const weights = { q: [random(heads * dim * width, 2), heads], k: [random(groups * dim * width, 3), groups] };
  const scores = (pairing) => {
    const plan = rw.rope({ headDim: dim, rotaryDim, pairing });
    const [q, k] = Object.values(weights).map(([w, n]) => {
      const own = permutePairing(w, { from: 'interleaved', to: pairing, heads: n, headDim: dim, rotaryDim });
      return plan.rotate(project(x, own, tokens, n, dim), { offset: 100 });
    });
    plan.dispose();
    return scoresOf(q, k).data;
  };
  assertClose(scores('half'), scores('interleaved'), 1e-6);
});

test('convertPairing makes of rotated keys what a plan of the other pairing makes of permuted ones', () => {
  const size = { headDim: 16, rotaryDim: 12 };
  const keys = randomArray([2, 5, 16]);
  const [half, interleaved] = ['half', 'interleaved'].map((pairing) => rw.rope({ ...size, pairing }));
  const converted = convertPairing(half.rotate(keys, { offset: 9 }).data, { ...toInterleaved, ...size });
  const permuted = { ...keys, data: convertPairing(keys.data, { ...toInterleaved, ...size }) };
  assertSameBits(converted, interleaved.rotate(permuted, { offset: 9 }).data);
  half.dispose();
  interleaved.dispose();
});

const q = randomArray([4, 6, 16], 5);
const k = randomArray([2, 9, 16], 6);

// Scores of another program, which turned q and k with these options.
function made(options, { positions = [3, 4, 5, 6, 7, 8], keyPositions = [0, 1, 2, 3, 4, 5, 6, 7, 8], scale } = {}) {
  const plan = rw.rope({ headDim: 16, ...options });
  const scores = scoresOf(
    plan.rotate(q, { positions, role: 'query' }),
    plan.rotate(k, { positions: keyPositions, role: 'key' }),
    scale,
  );
  plan.dispose();
  return { scores, at: { positions, keyPositions } };
}

for (const pairing of ['half', 'interleaved']) {
  test(`detectPairing finds ${pairing}`, () => {
    for (const options of [
      {},
      { rotaryDim: 8, base: 500000 },
      { scaling: { type: 'yarn', factor: 4, originalLength: 64 } },
      { angles: 'float32' },
      { xpos: { scaleBase: 32 } },
    ]) {
      const { scores, at } = made({ ...options, pairing });
      const found = rw.detectPairing(q, k, scores, { ...options, ...at });
      const other = pairing === 'half' ? 'interleaved' : 'half';
      assert.equal(found.pairing, pairing);
      assert.ok(found.errors[pairing] <= 1e-6);
      assert.ok(found.errors[other] > 0.1);
    }
  });

  test(`detectPairing finds ${pairing} in bfloat16 scores, under a mask and a scale of its own`, () => {
    const { scores, at } = made({ pairing }, { scale: 0.5 });
    const bits = new Uint32Array(scores.data.buffer);
    bits.forEach((word, i) => {
      bits[i] = word & 0xffff0000;
    });
    scores.data[3] = Number.NEGATIVE_INFINITY;
    scores.data[4] = -3.4028234663852886e38;
    assert.equal(rw.detectPairing(q, k, scores, { scale: 0.5, ...at }).pairing, pairing);
  });
}

test('detectPairing takes tensors and [T, D], and leaves them alone', () => {
  const [one, two] = [rw.tensor([4, 8], random(32, 1)), rw.tensor([4, 8], random(32, 2))];
  const before = [one.data(), two.data()];
  const plan = rw.rope({ headDim: 8, pairing: 'interleaved' });
  const [a, b] = before.map((data) => plan.rotate({ data, shape: [1, 4, 8] }));
  const { data } = scoresOf(a, b);
  const found = rw.detectPairing(one, two, { data, shape: [4, 4] });
  assert.equal(found.pairing, 'interleaved');
  assertSameBits(one.data(), before[0]);
  assertSameBits(two.data(), before[1]);
  for (const handle of [one, two, plan]) handle.dispose();
});

test('detectPairing counts what it was given, whatever a getter of a later argument takes away', () => {
  const { scores, at } = made({ pairing: 'half' });
  const found = rw.detectPairing(q, k, scores, at);
  const copies = [q, k, scores].map(({ data, shape }) => ({ data: data.slice(), shape }));
  const places = at.positions ?? Array.from({ length: q.shape.at(-2) }, (_, i) => i);
  const positions = new Proxy([...places], {
    get(list, name) {
      for (const { data } of copies) if (data.length > 0) structuredClone(data, { transfer: [data.buffer] });
      return Reflect.get(list, name);
    },
  });
  assert.deepEqual(rw.detectPairing(...copies, { ...at, positions }), found);
});

test('detectPairing does not guess where both pairings explain the scores, or neither', () => {
  const places = { positions: Array(6).fill(0), keyPositions: Array(9).fill(0) };
  const still = made({ pairing: 'half' }, places);
  const both = rw.detectPairing(q, k, still.scores, still.at);
  assert.equal(both.pairing, undefined);
  assert.ok(both.errors.half < 1e-6 && both.errors.interleaved < 1e-6);

  const { scores, at } = made({ pairing: 'half' });
  const neither = rw.detectPairing(q, k, scores, { base: 100, ...at });
  assert.equal(neither.pairing, undefined);
  assert.ok(Math.min(...Object.values(neither.errors)) > neither.tolerance);
  assert.equal(rw.detectPairing(q, k, scores, { ...at, tolerance: 100 }).pairing, undefined);
  const masked = { ...scores, data: new Float32Array(scores.data.length).fill(Number.NEGATIVE_INFINITY) };
  assert.equal(rw.detectPairing(q, k, masked, at).pairing, undefined);
});

const good = { ...toHalf, heads: 2, headDim: 4 };
const permuted = (more, length = 8) => permutePairing(new Float32Array(length), { ...good, ...more });
const converted = (more, length = 8) => convertPairing(new Float32Array(length), { ...toHalf, headDim: 4, ...more });
for (const [where, call] of Object.entries({ permutePairing: permuted, convertPairing: converted })) {
  testAllRefusals(rw, where, {
    from: [required(notAChoice), (from) => call({ from })],
    to: [required(notAChoice), (to) => call({ to })],
    headDim: [required(notEven({ min: 2, max: 2 ** 20 })), (headDim) => call({ headDim })],
    rotaryDim: [notEven({ min: 2, max: 4 }), (rotaryDim) => call({ rotaryDim })],
  });
  testUnknownOptions(rw, where, ['rows', 'pairing'], call);
}
const notArrays = [[1, 2], new ArrayBuffer(8), new DataView(new ArrayBuffer(8)), new BigInt64Array(8), 'text', null];
testMisfits(rw, 'permutePairing', {
  ...Object.fromEntries(
    notArrays.map((x) => [
      `weights that are ${x?.constructor?.name}`,
      [TypeError, 'weights', () => permutePairing(x, good)],
    ]),
  ),
  'weights that are no multiple of the heads': [RangeError, ['weights', '12', '2 heads of 4'], () => permuted({}, 12)],
  'no weights at all': [RangeError, ['weights', '0'], () => permuted({}, 0)],
});
testAllRefusals(rw, 'permutePairing', {
  options: [required(notOptions), (options) => permutePairing(new Float32Array(8), options)],
  heads: [required(notAnInteger({ min: 1, max: 2 ** 20 })), (heads) => permuted({ heads })],
  headsOn: [notAChoice, (headsOn) => permuted({ headsOn })],
});
test('convertPairing of no keys gives none', () => assert.deepEqual(converted({}, 0), new Float32Array(0)));
testMisfits(rw, 'convertPairing', {
  'keys that are no multiple of headDim': [RangeError, ['x', '6', 'headDim, 4'], () => converted({}, 6)],
  'a plain array': [TypeError, 'x', () => convertPairing([1, 2, 3, 4], { ...toHalf, headDim: 4 })],
});

const scores = randomArray([4, 6, 9]);
const detect = (more) => rw.detectPairing(q, k, scores, more);
testAllRefusals(rw, 'detectPairing', {
  options: [notOptions, detect],
  scale: [notPositive, (scale) => detect({ scale })],
  tolerance: [notPositive, (tolerance) => detect({ tolerance })],
  rotaryDim: [notEven({ min: 2, max: 16 }), (rotaryDim) => detect({ rotaryDim })],
});
testUnknownOptions(rw, 'detectPairing', ['pairing', 'headDim'], detect);
testMisfits(rw, 'detectPairing', {
  'q that is no array': [TypeError, 'q', () => rw.detectPairing(3, k, scores)],
  'q with four axes': [
    RangeError,
    ['q', '[1, 4, 6, 16]'],
    () => rw.detectPairing({ ...q, shape: [1, 4, 6, 16] }, k, scores),
  ],
  'heads of different sizes': [
    RangeError,
    ['k', '[2, 9, 8]'],
    () => rw.detectPairing(q, randomArray([2, 9, 8]), scores),
  ],
  'key heads that do not divide query heads': [
    RangeError,
    ['k', '[3, 9, 16]'],
    () => rw.detectPairing(q, randomArray([3, 9, 16]), scores),
  ],
  'scores of another shape': [
    RangeError,
    ['scores', '[4, 9, 6]', '[4, 6, 9]'],
    () => rw.detectPairing(q, k, { ...scores, shape: [4, 9, 6] }),
  ],
  'scores that are NaN': [
    RangeError,
    ['scores[2]', 'NaN'],
    () => rw.detectPairing(q, k, { ...scores, data: scores.data.map((s, i) => (i === 2 ? Number.NaN : s)) }),
  ],
  'positions of another number': [RangeError, 'positions', () => detect({ positions: [1, 2, 3] })],
});
