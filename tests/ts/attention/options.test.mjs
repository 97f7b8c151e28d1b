// Options of attention other than masks and encodings, against float64: windows, sinks, softcap, positions of keys,
// packed heads, stages of the scores.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, randomArray } from '../support/arrays.mjs';
import { attention } from '../support/attention-reference.mjs';
import {
  notAChoice,
  notAnInteger,
  notFloats,
  notOptions,
  notPositions,
  notPositive,
  outOfRange,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { fireParameters } from '../support/fire.mjs';
import { testAllRefusals, testMisfits } from '../support/refusals.mjs';

const eps = 2 ** -24;
const [B, H, G, Tq, Tk, D, Dv] = [2, 4, 2, 5, 9, 6, 3];
const q = randomArray([B, H, Tq, D], 1);
const k = randomArray([B, G, Tk, D], 2);
const v = randomArray([B, G, Tk, Dv], 3);
const tolerance = 32 * eps;
const stages = ['content', 'position', 'raw', 'capped', 'biased', 'probabilities'];

// -Infinity is met exactly, the rest within the tolerance.
function assertScores(got, want) {
  const hidden = (x) => Array.from(x, (value) => value === Number.NEGATIVE_INFINITY);
  assert.deepEqual(hidden(got), hidden(want));
  const finite = (x) => x.filter((value) => value !== Number.NEGATIVE_INFINITY);
  assertClose(finite(got), finite(want), tolerance);
}

function assertAttends(rw, options, reference) {
  const want = attention(q, k, v, reference);
  const got = rw.attention(q, k, v, { ...options, returnScores: ['raw', 'capped', 'biased', 'probabilities'] });
  assertClose(got.out.data, want.out, tolerance);
  for (const stage of ['raw', 'capped', 'biased']) assertScores(got.scores[stage].data, want[stage]);
  assertClose(got.scores.probabilities.data, want.scores, tolerance);
  assertSameBits(rw.attention(q, k, v, options).out.data, got.out.data);
}

await onEachBuild((rw) => {
  const windows = [{}, { left: 0 }, { left: 2 }, { right: 0 }, { left: 1, right: 2 }, { left: -1, right: -1 }];
  for (const window of windows) {
    for (const sinkTokens of [0, 2, 100]) {
      test(`a window ${JSON.stringify(window)} with ${sinkTokens} sink tokens shows what it says`, () => {
        const { left = -1, right = -1 } = window;
        for (const causal of [false, true]) {
          for (const queryOffset of [undefined, 0, -2, 20]) {
            const offset = queryOffset ?? Tk - Tq;
            const sees = (i, j) =>
              !(causal && j > i + offset) &&
              (left < 0 || j >= i + offset - left || j < sinkTokens) &&
              (right < 0 || j <= i + offset + right);
            const where = queryOffset === undefined ? {} : { queryOffset };
            assertAttends(rw, { causal, window, sinkTokens, ...where }, { sees });
          }
        }
      });
    }
  }

  test('the window of ONNX mixes what was published', () => {
    const x = (data) => ({ data: Float32Array.from(data), shape: [1, 1, 5, 1] });
    const zeros = x([0, 0, 0, 0, 0]);
    const { out } = rw.attention(zeros, zeros, x([0, 1, 2, 3, 4]), { window: { left: 1, right: 2 } });
    assert.deepEqual([...out.data], [1, 1.5, 2.5, 3, 3.5]);
  });

  test('a softcap bounds scores before the bias', () => {
    const bias = {
      data: Float32Array.from({ length: Tk }, (_, j) => (j === 2 ? Number.NEGATIVE_INFINITY : j)),
      shape: [Tk],
    };
    for (const softcap of [0.25, 5, 1e30]) {
      assertAttends(rw, { softcap, bias }, { softcap, bias: (_b, _h, _i, j) => bias.data[j] });
    }
  });

  test('sinks take their share of each row', () => {
    const sinks = Float32Array.of(0, 3, -2, Number.NEGATIVE_INFINITY);
    const sink = (h) => sinks[h];
    assertAttends(rw, { sinks: { data: sinks, shape: [H] } }, { sink });
    const hidden = { sinks: { data: sinks, shape: [H] }, causal: true, queryOffset: -Tq };
    assertAttends(rw, hidden, { sink, sees: () => false });
  });

  test('keys stand where keyPositions says, queries of each batch entry at their offset', () => {
    const keyPositions = [-3, 0, 1, 2, 40, 41, 42, 1000, 1001];
    const queryOffset = [38, 995];
    const ahead = (i, j, b) => keyPositions[j] - i - queryOffset[b];
    const options = { causal: true, keyPositions, queryOffset, window: { left: 500 } };
    assertAttends(rw, options, { sees: (i, j, b) => ahead(i, j, b) <= 0 && -ahead(i, j, b) <= 500 });
    assertAttends(rw, { causal: true, keyPositions }, { sees: (i, j) => keyPositions[j] <= i + 1002 - Tq });
  });

  test('keys from keyLengths on are padding, and the last query stands at the last key', () => {
    for (const keyLengths of [[4, 9], [0, 7], BigInt64Array.of(9n, 9n)]) {
      const lengths = Array.from(keyLengths, Number);
      assertAttends(rw, { keyLengths }, { sees: (_i, j, b) => j < lengths[b] });
      assertAttends(
        rw,
        { keyLengths, causal: true },
        { sees: (i, j, b) => j < lengths[b] && j <= i + lengths[b] - Tq },
      );
    }
  });

  test('packed heads are heads of BTHD, bit for bit', () => {
    const shapes = { q: [B, Tq, H, D], k: [B, Tk, G, D], v: [B, Tk, G, Dv] };
    const [qs, ks, vs] = Object.values(shapes).map((shape, i) => randomArray(shape, i));
    const packed = ({ data, shape: [batch, tokens, heads, dim] }) => ({ data, shape: [batch, tokens, heads * dim] });
    const options = { causal: true, returnScores: 'probabilities' };
    const want = rw.attention(qs, ks, vs, { ...options, layout: 'BTHD' });
    const got = rw.attention(packed(qs), packed(ks), packed(vs), { ...options, heads: H, kvHeads: G });
    assert.deepEqual(got.out.shape, [B, Tq, H * Dv]);
    assert.deepEqual(got.scores.shape, [B, H, Tq, Tk]);
    assertSameBits(got.out.data, want.out.data);
    assertSameBits(got.scores.data, want.scores.data);
  });

  const table = (rows, width) => randomArray([rows, width], 8);
  const plan = rw.rope({ headDim: D });
  const encodings = {
    none: {},
    rope: { plan },
    alibi: {},
    t5: { table: table(32, H) },
    kerple: { r1: Float32Array.of(1, 2, 3, 4), r2: Float32Array.of(0.5, 1, 2, 3) },
    fire: fireParameters(H),
    sandwich: {},
    shaw: { keys: table(7, D), values: table(7, Dv) },
    relative_key: { table: table(2 * 20 - 1, D) },
    relative_key_query: { table: table(2 * 20 - 1, D) },
    m3: { table: table(2 * 20 - 1, D) },
  };
  for (const [encoding, rest] of Object.entries(encodings)) {
    test(`content and position scores of ${encoding} add up, and content is that of no encoding`, () => {
      const options = { position: { encoding, ...rest }, queryOffset: 3 };
      const { out, scores } = rw.attention(q, k, v, { ...options, returnScores: stages });
      assertSameBits(out.data, rw.attention(q, k, v, options).out.data);
      const sums = scores.content.data.map((value, n) => value + scores.position.data[n]);
      // Nothing is hidden: what the softmax sees is raw with the encoding's bias.
      const size = Math.max(...scores.biased.data.map(Math.abs));
      assertClose(sums, scores.biased.data, 8 * eps * size);
      assertSameBits(scores.content.data, rw.attention(q, k, v, { returnScores: 'raw' }).scores.data);
      if (encoding === 'none') assert.ok(scores.position.data.every((value) => value === 0));
    });
  }

  test('scores of chosen heads come in the order asked for', () => {
    const all = rw.attention(q, k, v, { returnScores: 'raw' }).scores;
    const size = Tq * Tk;
    const head = (data, b, h, heads) => data.subarray((b * heads + h) * size, (b * heads + h + 1) * size);
    for (const scoreHeads of [[3, 0], [2], Int32Array.of(0, 1, 2, 3), []]) {
      const { scores } = rw.attention(q, k, v, { returnScores: ['raw'], scoreHeads });
      assert.deepEqual(scores.raw.shape, [B, scoreHeads.length, Tq, Tk]);
      for (let b = 0; b < B; ++b) {
        [...scoreHeads].forEach((h, slot) => {
          assertSameBits(head(scores.raw.data, b, slot, scoreHeads.length), head(all.data, b, h, H));
        });
      }
    }
  });

  test('offsets and lengths are for any number of batch entries', () => {
    const many = 200_000;
    const x = { data: randomArray([many]).data, shape: [many, 1, 1, 1] };
    const { out } = rw.attention(x, x, x);
    for (const options of [{ keyLengths: Array(many).fill(1) }, { queryOffset: Array(many).fill(0) }]) {
      assertSameBits(rw.attention(x, x, x, options).out.data, out.data);
    }
  });

  test('an empty list of stages gives an empty object, a stage named twice is given once', () => {
    assert.deepEqual(rw.attention(q, k, v, { returnScores: [] }).scores, {});
    assert.deepEqual(rw.attention(q, k, v, { returnScores: ['raw', 'raw'] }).scores.raw.shape, [B, H, Tq, Tk]);
  });

  test('prefill in pieces and decoding one by one give the bits of one call', () => {
    const size = [1, 4, 150, 8];
    const [x, y, z] = [1, 2, 3].map((seed) => randomArray(size, seed));
    const options = { causal: true, window: { left: 90 }, sinkTokens: 4, softcap: 20 };
    const whole = rw.attention(x, y, z, options).out.data;
    for (const step of [1, 64, 100]) {
      for (let first = 0; first < 150; first += step) {
        const count = Math.min(step, 150 - first);
        const data = new Float32Array(4 * count * 8);
        for (let h = 0; h < 4; ++h) {
          const from = (h * 150 + first) * 8;
          data.set(x.data.subarray(from, from + count * 8), h * count * 8);
        }
        const { out } = rw.attention({ data, shape: [1, 4, count, 8] }, y, z, { ...options, queryOffset: first });
        for (let h = 0; h < 4; ++h) {
          const from = (h * 150 + first) * 8;
          assertSameBits(out.data.subarray(h * count * 8, (h + 1) * count * 8), whole.subarray(from, from + count * 8));
        }
      }
    }
  });
});

const rw = await load({ simd: 'deterministic' });
const attend = (options) => rw.attention(q, k, v, options);
const integer = { min: -1, max: 2 ** 53 - 1 };
testAllRefusals(rw, 'attention', {
  window: [notOptions, (window) => attend({ window })],
  'window.left': [notAnInteger(integer), (left) => attend({ window: { left } })],
  'window.right': [notAnInteger(integer), (right) => attend({ window: { right } })],
  sinkTokens: [notAnInteger({ min: 0, max: 2 ** 30 }), (sinkTokens) => attend({ sinkTokens })],
  softcap: [[...notPositive, outOfRange(1e-46)], (softcap) => attend({ softcap })],
  keyPositions: [notPositions(Tk), (keyPositions) => attend({ keyPositions })],
  keyLengths: [notPositions(B), (keyLengths) => attend({ keyLengths })],
  sinks: [notFloats(H), (data) => attend({ sinks: { data, shape: [H] } })],
  returnScores: [notAChoice.filter(({ value }) => value !== 0), (returnScores) => attend({ returnScores })],
  'returnScores[1]': [notAChoice, (stage) => attend({ returnScores: ['raw', stage] })],
});
const ascending = Array.from({ length: Tk }, (_, j) => j);
const sinksOf = (shape) => ({ sinks: randomArray(shape) });
testMisfits(rw, 'attention', {
  'an unknown field of window': [RangeError, 'window.size', () => attend({ window: { size: 3 } })],
  'key positions that stay': [
    RangeError,
    ['keyPositions[4]', '3'],
    () => attend({ keyPositions: ascending.with?.(4, 3) ?? ascending.map((p, j) => (j === 4 ? 3 : p)) }),
  ],
  'key positions of another number': [
    RangeError,
    ['keyPositions', '3', '9'],
    () => attend({ keyPositions: [1, 2, 3] }),
  ],
  'key lengths of another number': [RangeError, ['keyLengths', '3', '2'], () => attend({ keyLengths: [1, 2, 3] })],
  'a key length below 0': [RangeError, ['keyLengths[1]', '-1'], () => attend({ keyLengths: [1, -1] })],
  'a key length beyond the keys': [RangeError, ['keyLengths[0]', '10'], () => attend({ keyLengths: [10, 1] })],
  'query offsets of another number': [RangeError, ['queryOffset', '3', '2'], () => attend({ queryOffset: [1, 2, 3] })],
  'sinks of another number': [RangeError, ['sinks', '[3]'], () => attend(sinksOf([3]))],
  'sinks with two axes': [RangeError, ['sinks', '[1, 4]'], () => attend(sinksOf([1, 4]))],
  'heads that do not divide': [RangeError, ['q', '5'], () => attend({ heads: 5 })],
  'kvHeads without heads': [RangeError, ['kvHeads', '2'], () => attend({ kvHeads: 2 })],
  'heads with a layout': [
    RangeError,
    ['layout', 'BTHD'],
    () => rw.attention(...['q', 'k', 'v'].map(() => randomArray([1, 3, 8])), { heads: 2, layout: 'BTHD' }),
  ],
  'packed heads of four axes': [RangeError, 'q', () => attend({ heads: 2 })],
  'a score head out of range': [
    RangeError,
    ['scoreHeads[1]', '4'],
    () => attend({ scoreHeads: [0, 4], returnScores: 'raw' }),
  ],
  'a score head below 0': [
    RangeError,
    ['scoreHeads[0]', '-1'],
    () => attend({ scoreHeads: [-1], returnScores: 'raw' }),
  ],
  'a score head named twice': [
    RangeError,
    ['scoreHeads[2]', '1'],
    () => attend({ scoreHeads: [1, 0, 1], returnScores: 'raw' }),
  ],
});
