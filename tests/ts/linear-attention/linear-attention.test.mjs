// Linear attention against float64: forms, shapes, masks, denominators, and the positions that each form depends on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { load, StateError } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import {
  notABoolean,
  notAChoice,
  notFloats,
  notOptions,
  notPositions,
  notPositive,
  outOfRange,
} from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { linearAttention } from '../support/linear-reference.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const eps = 2 ** -24;

const inputs = ({ batch = 1, heads = 1, groups = heads, queries, keys = queries, dim, valueDim = dim, seed = 1 }) => [
  randomArray([batch, heads, queries, dim], seed),
  randomArray([batch, groups, keys, dim], seed + 1),
  randomArray([batch, groups, keys, valueDim], seed + 2),
];

// Every form: options of the package without the plan, and of the reference.
const forms = [
  ...['elu1', 'relu', 'exp'].map((featureMap) => ({ name: featureMap, options: { featureMap } })),
  ...['elu1', 'exp'].flatMap((featureMap) =>
    ['numerator', 'both'].map((form) => ({ name: `${featureMap} ${form}`, options: { featureMap }, form })),
  ),
  { name: 'cosine', options: { similarity: 'cosine' }, cosine: true },
  { name: 'cosine with rope', options: { similarity: 'cosine' }, cosine: true, form: 'both' },
  { name: 'unnormalised', options: { normalize: false } },
  { name: 'unnormalised with rope', options: { normalize: false }, form: 'numerator' },
];

await onEachBuild((rw) => {
  // The result of a form, and what it has to be, for keys from `offset` on.
  function both([q, k, v], each, more = {}, { pairing = 'half', offset = 3, keeps } = {}) {
    const plan = rw.rope({ headDim: q.shape[3], pairing });
    const first = offset + k.shape[2] - q.shape[2];
    const position = each.form && { encoding: 'rope', plan, form: each.form, queries: first, keys: offset };
    const got = rw.linearAttention(q, k, v, { ...each.options, ...more, ...(position && { position }) });
    plan.dispose();
    const rope = each.form && { form: each.form, base: 10000, pairing, queries: first, keys: offset };
    const { featureMap, normalize } = each.options;
    const options = { featureMap, normalize, cosine: each.cosine, rope, causal: more.causal, keeps };
    return { got, want: linearAttention(q, k, v, options) };
  }

  for (const each of forms) {
    test(`linear attention is that of float64 (${each.name})`, () => {
      const sizes = [
        { queries: 1, dim: 2 },
        { batch: 2, heads: 4, groups: 2, queries: 5, keys: 9, dim: 6, valueDim: 3 },
        { heads: 2, groups: 1, queries: 66, dim: 8, valueDim: 5 },
        { queries: 64, keys: 200, dim: 16, valueDim: 33 },
      ];
      for (const size of sizes) {
        for (const causal of [false, true]) {
          const x = inputs(size);
          const { got, want } = both(x, each, { causal }, { pairing: causal ? 'half' : 'interleaved' });
          assert.deepEqual(got.out.shape, [...x[0].shape.slice(0, 3), x[2].shape[3]]);
          assertClose(got.out.data, want.out, want.bound);
        }
      }
    });
  }

  test('queries stand at the last keys, wherever those are', () => {
    const plan = rw.rope({ headDim: 6 });
    const at = (position, batch, queries, keys) => {
      const x = inputs({ batch, queries, keys, dim: 6 });
      return rw.linearAttention(...x, { position: { encoding: 'rope', plan, ...position } }).out.data;
    };
    const lists = [4, 5, 9, 7, 30, -2];
    for (const [given, queries, batch = 1, tokens = [2, 3]] of [
      [{ keys: 40 }, 41],
      [{ keys: 40 }, 37, 1, [6, 3]],
      [{ keys: lists.slice(0, 3) }, [5, 9]],
      [{ keys: lists }, [5, 9, 30, -2], 2],
    ]) {
      assertSameBits(at(given, batch, ...tokens), at({ ...given, queries }, batch, ...tokens));
    }
    plan.dispose();
    const grid = rw.rope({ headDim: 8, pairing: 'interleaved', axes: { layout: 'pixtral' } });
    const x = inputs({ queries: 2, keys: 3, dim: 8 });
    const keys = [
      [1, 2, 5],
      [7, 7, 3],
    ];
    const queries = [
      [2, 5],
      [7, 3],
    ];
    const on = (position) => rw.linearAttention(...x, { position: { encoding: 'rope', plan: grid, ...position } }).out;
    assertSameBits(on({ keys }).data, on({ keys, queries }).data);
    grid.dispose();
  });

  test('both layouts, and fewer axes, give the same numbers', () => {
    const x = inputs({ batch: 2, heads: 4, groups: 2, queries: 7, dim: 6, valueDim: 3 });
    const want = rw.linearAttention(...x, { causal: true }).out.data;
    const swapped = x.map(({ data, shape: [b, h, t, d] }) => ({
      data: swapHeadsAndTokens(data, [b, h, t, d]),
      shape: [b, t, h, d],
    }));
    const { out, denominators } = rw.linearAttention(...swapped, {
      causal: true,
      layout: 'BTHD',
      returnDenominators: true,
    });
    assert.deepEqual(out.shape, [2, 7, 4, 3]);
    assertSameBits(swapHeadsAndTokens(out.data, [2, 7, 4, 3]), want);
    assert.deepEqual(denominators.shape, [2, 4, 7]);
    const one = inputs({ queries: 5, dim: 4 });
    const flat = one.map(({ data, shape }) => ({ data, shape: shape.slice(2) }));
    assert.deepEqual(rw.linearAttention(...flat).out.shape, [5, 4]);
    assertSameBits(rw.linearAttention(...flat).out.data, rw.linearAttention(...one).out.data);
  });

  test('tensors give tensors, in any place, and are left alone', () => {
    const plains = inputs({ heads: 2, queries: 5, dim: 4 });
    const tensors = plains.map(({ data, shape }) => rw.tensor(shape, data));
    const options = { causal: true, returnDenominators: true };
    const want = rw.linearAttention(...plains, options);
    const got = rw.linearAttention(tensors[0], plains[1], tensors[2], options);
    assertSameBits(got.out.data(), want.out.data);
    assertSameBits(got.denominators.data(), want.denominators.data);
    assertSameBits(rw.linearAttention(plains[0], tensors[1], plains[2], options).out.data, want.out.data);
    tensors.forEach((tensor, i) => {
      assertSameBits(tensor.data(), plains[i].data);
      tensor.dispose();
    });
    got.out.dispose();
    got.denominators.dispose();
  });

  test('masked keys are in no sum, and may hold anything', () => {
    for (const causal of [false, true]) {
      const x = inputs({ batch: 2, heads: 2, queries: 70, dim: 4 });
      const data = Uint8Array.from(random(140, 9), (r) => (r > -0.5 ? 1 : 0));
      const keeps = (b, j) => data[b * 70 + j] === 1;
      for (const shape of [
        [2, 70],
        [2, 1, 1, 70],
      ]) {
        const { got, want } = both(x, forms[3], { causal, mask: { data, shape } }, { keeps });
        assertClose(got.out.data, want.out, want.bound);
      }
      const clean = rw.linearAttention(...x, { causal, mask: { data, shape: [2, 70] } }).out.data;
      const [, k, v] = x;
      for (let row = 0; row < 280; ++row) {
        if (keeps(Math.floor(row / 140), row % 70)) continue;
        k.data.fill(Number.NaN, row * 4, row * 4 + 4);
        v.data.fill(Infinity, row * 4, row * 4 + 4);
      }
      assertSameBits(rw.linearAttention(...x, { causal, mask: { data, shape: [2, 70] } }).out.data, clean);
    }
    const x = inputs({ queries: 3, dim: 4 });
    const none = rw.linearAttention(...x, { mask: { data: [false, false, false], shape: [3] } });
    assertSameBits(none.out.data, new Float32Array(12));
    assert.deepEqual(none.denominator, { minimum: 0, negative: 0, zero: 3, nonFinite: 0 });
    const all = rw.linearAttention(...x, { mask: { data: [true], shape: [1] } });
    assertSameBits(all.out.data, rw.linearAttention(...x).out.data);
  });

  test('an order of the keys is no matter without causal, and queries move with theirs', () => {
    const size = fc.record({ queries: fc.integer({ min: 1, max: 90 }), dim: fc.constantFrom(2, 6), seed: fc.nat() });
    const property = fc.property(size, fc.nat(), fc.constantFrom(...forms.slice(0, 5)), (size, shift, each) => {
      const [q, k, v] = inputs(size);
      const n = size.queries;
      const move = ({ data, shape }) => {
        const by = (shift % n) * shape[3];
        return { data: Float32Array.of(...data.subarray(by), ...data.subarray(0, by)), shape };
      };
      const plan = rw.rope({ headDim: size.dim });
      const places = Array.from({ length: n }, (_, i) => i);
      const at = (positions) =>
        each.form ? { position: { encoding: 'rope', plan, form: each.form, queries: positions, keys: positions } } : {};
      const moved = places.map((i) => (i + shift) % n);
      const one = rw.linearAttention(q, k, v, { ...each.options, ...at(places) });
      const other = rw.linearAttention(move(q), move(k), move(v), { ...each.options, ...at(moved) });
      plan.dispose();
      // Sums in another order, of up to n weights; a small denominator makes their roundings large.
      const sizeOfTerms = 2 * n * size.dim * 9;
      const tolerance = (4 * (n + 40) * eps * sizeOfTerms) / Math.max(one.denominator.minimum, 1e-30);
      assertClose(other.out.data, move(one.out).data, tolerance);
    });
    fc.assert(property, { seed: 5, numRuns: 60 });
  });

  test('what RoPE does depends on distances only, in the numerator and in the denominator', () => {
    const x = inputs({ heads: 2, queries: 40, dim: 8 });
    for (const each of forms.filter(({ form }) => form)) {
      const near = both(x, each, { causal: true, returnDenominators: each.options.normalize ?? true }, { offset: 0 });
      const far = both(
        x,
        each,
        { causal: true, returnDenominators: each.options.normalize ?? true },
        { offset: 12345 },
      );
      assertClose(
        far.got.out.data,
        near.got.out.data,
        near.want.bound.map((b) => 2 * b),
      );
      if (each.form !== 'numerator' || each.options.normalize === false) continue;
      assertSameBits(far.got.denominators.data, near.got.denominators.data);
      // The denominator does not know of RoPE at all.
      const bare = rw.linearAttention(...x, { ...each.options, causal: true, returnDenominators: true });
      assertSameBits(near.got.denominators.data, bare.denominators.data);
    }
  });

  test('the numerator form is the default, and the only one for cosine is both', () => {
    const x = inputs({ queries: 9, dim: 4 });
    const plan = rw.rope({ headDim: 4 });
    const run = (more, form) =>
      rw.linearAttention(...x, { ...more, position: { encoding: 'rope', plan, ...(form && { form }) } }).out.data;
    assertSameBits(run({}), run({}, 'numerator'));
    assert.notDeepEqual(run({}), run({}, 'both'));
    assertSameBits(run({ similarity: 'cosine' }), run({ similarity: 'cosine' }, 'both'));
    plan.dispose();
  });

  test('RoPE takes listed positions, several axes and xPos', () => {
    const x = inputs({ batch: 2, heads: 2, queries: 70, dim: 8 });
    const lists = [0, 1, 2].map((axis) => Array.from({ length: 140 }, (_, i) => (i * (axis + 3)) % 97));
    const axes = { layout: 'sections', sections: [2, 1, 1] };
    for (const [options, places] of [
      [{ headDim: 8 }, lists[0]],
      [{ headDim: 8, axes }, lists],
      [{ headDim: 8, axes }, lists.map((list) => list.slice(0, 70))],
      [{ headDim: 8, xpos: { scaleBase: 64 } }, lists[0]],
    ]) {
      const plan = rw.rope(options);
      const position = { encoding: 'rope', plan, form: 'both', queries: places, keys: places };
      // Turning exp(x) is turning what has exp(x) as its features: through relu, which leaves positive numbers alone.
      const mapped = x.slice(0, 2).map(({ data, shape }) => ({ data: data.map((r) => Math.abs(r)), shape }));
      const got = rw.linearAttention(...mapped, x[2], { featureMap: 'relu', normalize: false, position });
      const roles = options.xpos ? [{ role: 'query' }, { role: 'key' }] : [{}, {}];
      const [q, k] = mapped.map((y, i) => plan.rotate(y, { positions: places, ...roles[i] }));
      const weights = rw.recurrentAttention(q, k, x[2], { updateRule: 'linear', scale: 1 });
      // The last row of the recurrence has seen every key, as every row here.
      for (const row of [69, 139, 209, 279]) {
        const want = weights.out.data.subarray(row * 8, row * 8 + 8);
        assertClose(got.out.data.subarray(row * 8, row * 8 + 8), want, 500 * eps * 70 * 8);
      }
      plan.dispose();
    }
  });

  test('denominators are given back and counted', () => {
    const x = inputs({ heads: 2, queries: 60, dim: 2 });
    const each = { options: { featureMap: 'relu' }, form: 'both' };
    const { got, want } = both(x, each, { causal: true, returnDenominators: true });
    const { denominators, denominator } = got;
    assert.deepEqual(denominators.shape, [1, 2, 60]);
    assertClose(denominators.data, want.denominators, 200 * eps * 60 * 4);
    const list = [...denominators.data];
    assert.equal(denominator.negative, list.filter((d) => d < 0).length);
    assert.ok(denominator.negative > 0, 'RoPE in both sums turns signs');
    assert.equal(denominator.zero, list.filter((d) => d === 0).length);
    assert.equal(denominator.nonFinite, 0);
    assert.equal(Math.fround(denominator.minimum), Math.min(...list.map(Math.abs)));
    assert.equal('denominators' in rw.linearAttention(...x), false);
    assert.equal('denominator' in rw.linearAttention(...x, { normalize: false }), false);
    const empty = inputs({ queries: 0, keys: 3, dim: 2 });
    assert.equal(rw.linearAttention(...empty).denominator.minimum, Infinity);
  });

  test('exp that overflows gives a row of zeros and is counted; NaN stays in its row', () => {
    const [q, k, v] = inputs({ queries: 4, dim: 4 });
    q.data[0] = 100;
    q.data[5] = Number.NaN;
    const { out, denominator } = rw.linearAttention(q, k, v, { featureMap: 'exp' });
    assertSameBits(out.data.subarray(0, 4), new Float32Array(4));
    assert.ok(out.data.subarray(4, 8).every(Number.isNaN));
    assert.ok(out.data.subarray(8).every(Number.isFinite));
    assert.equal(denominator.nonFinite, 2);
  });

  test('the output norm gives rows a root mean square of 1, times its weight', () => {
    const x = inputs({ heads: 2, queries: 5, dim: 4, valueDim: 6 });
    const sums = rw.linearAttention(...x, { normalize: false }).out.data;
    const weight = random(6, 3);
    for (const outputNorm of [{}, { eps: 0.25 }, { eps: 1e-30, weight }]) {
      const got = rw.linearAttention(...x, { normalize: false, outputNorm }).out.data;
      const want = Float64Array.from(sums, (value, i) => {
        const row = sums.subarray(i - (i % 6), i - (i % 6) + 6);
        const mean = row.reduce((sum, y) => sum + y * y, 0) / 6;
        return (value / Math.sqrt(mean + (outputNorm.eps ?? 1e-6))) * (outputNorm.weight?.[i % 6] ?? 1);
      });
      assertClose(got, want, 4 * eps * 3);
    }
  });

  test('long sequences are as exact as short ones', () => {
    const x = inputs({ queries: 20000, dim: 4, valueDim: 2, seed: 8 });
    x[2].data.forEach((value, i) => {
      x[2].data[i] = 0.5 + 0.01 * value;
    });
    const { out } = rw.linearAttention(...x, { causal: true });
    // A mean of values from 0.49 to 0.51: weights of 4 terms, blocks of 64, and nothing that grows with T.
    const z = new Float64Array(4);
    const sums = new Float64Array(8);
    const phi = (y) => (y > 0 ? y + 1 : Math.exp(y));
    let worst = 0;
    for (let t = 0; t < 20000; ++t) {
      let below = 0;
      const above = [0, 0];
      for (let d = 0; d < 4; ++d) {
        const key = phi(x[1].data[t * 4 + d]);
        const query = phi(x[0].data[t * 4 + d]);
        z[d] += key;
        below += query * z[d];
        for (let m = 0; m < 2; ++m) {
          sums[d * 2 + m] += key * x[2].data[t * 2 + m];
          above[m] += query * sums[d * 2 + m];
        }
      }
      above.forEach((sum, m) => {
        worst = Math.max(worst, Math.abs(out.data[t * 2 + m] - sum / below));
      });
    }
    assert.ok(worst <= 16 * eps, `${worst / eps} roundings`);
  });
});

const rw = await load({ simd: 'deterministic' });
const stranger = await load({ simd: 'deterministic' });
const [q, k, v] = inputs({ batch: 2, heads: 4, groups: 2, queries: 3, keys: 5, dim: 6 });
const plan = rw.rope({ headDim: 6 });
const narrow = rw.rope({ headDim: 4 });
const dead = rw.rope({ headDim: 6 });
dead.dispose();
const rope = { encoding: 'rope', plan };
const call = (options) => rw.linearAttention(q, k, v, options);
const keep = (shape, data) => ({ mask: { data: data ?? new Uint8Array(shape.reduce((a, b) => a * b, 1)), shape } });
const words = notAChoice.slice(1); // null is told as a missing value
testAllRefusals(rw, 'linearAttention', {
  options: [notOptions, call],
  featureMap: [words, (featureMap) => call({ featureMap })],
  similarity: [words, (similarity) => call({ similarity })],
  normalize: [notABoolean, (normalize) => call({ normalize })],
  causal: [notABoolean, (causal) => call({ causal })],
  returnDenominators: [notABoolean, (returnDenominators) => call({ returnDenominators })],
  layout: [words, (layout) => call({ layout })],
  position: [notOptions, (position) => call({ position })],
  'position.encoding': [words, (encoding) => call({ position: { encoding } })],
  'position.form': [words, (form) => call({ position: { ...rope, form } })],
  'position.queries': [
    notPositions(3).filter(({ value }) => typeof value !== 'number' && value !== null),
    (queries) => call({ position: { ...rope, queries } }),
  ],
  outputNorm: [notOptions, (outputNorm) => call({ normalize: false, outputNorm })],
  'outputNorm.eps': [[...notPositive, outOfRange(1e-46)], (eps) => call({ normalize: false, outputNorm: { eps } })],
  'outputNorm.weight': [notFloats(6), (weight) => call({ normalize: false, outputNorm: { weight } })],
});
testUnknownOptions(rw, 'linearAttention', ['scale', 'bias', 'causalOffset', 'window', 'feature_map'], call);
testUnknownOptions(rw, "linearAttention's position", ['offset', 'base'], (o) => call({ position: { ...rope, ...o } }));
testUnknownOptions(rw, 'a position of none', ['plan', 'form'], (o) => call({ position: { encoding: 'none', ...o } }));
const other = (x, shape) => randomArray(shape.map((n, axis) => n ?? x.shape[axis]));
const _ = null;
const is = (x, ...shape) => other(x, shape);
testMisfits(rw, 'linearAttention', {
  'keys of another head size': [RangeError, ['k', '7', '6'], () => rw.linearAttention(q, is(k, _, _, _, 7), v)],
  'keys of another batch size': [RangeError, ['k', '3', '2'], () => rw.linearAttention(q, is(k, 3, _, _, _), v)],
  'values of another batch size': [RangeError, ['v', '3', '2'], () => rw.linearAttention(q, k, is(v, 3, _, _, _))],
  'values of another length': [RangeError, ['v', '4', '5'], () => rw.linearAttention(q, k, is(v, _, _, 4, _))],
  'other heads of values': [RangeError, ['v', '4', '2'], () => rw.linearAttention(q, k, is(v, _, 4, _, _))],
  'heads that do not divide': [
    RangeError,
    ['k', '3', '4'],
    () => rw.linearAttention(q, is(k, _, 3, _, _), is(v, _, 3, _, _)),
  ],
  'no key heads': [RangeError, ['k', '0'], () => rw.linearAttention(q, is(k, _, 0, _, _), is(v, _, 0, _, _))],
  'heads of size 0': [RangeError, 'q', () => rw.linearAttention(is(q, _, _, _, 0), is(k, _, _, _, 0), v)],
  'value heads of size 0': [RangeError, 'v', () => rw.linearAttention(q, k, is(v, _, _, _, 0))],
  'a shape of five axes': [RangeError, 'q', () => rw.linearAttention(randomArray([1, 1, 1, 1, 6]), k, v)],
  'causal with fewer keys than queries': [
    RangeError,
    ['q', '3', '2'],
    () => rw.linearAttention(q, is(k, _, _, 2, _), is(v, _, _, 2, _), { causal: true }),
  ],
  'a mask of another length': [RangeError, ['mask', '4', '5'], () => call(keep([2, 4]))],
  'a mask of another batch size': [RangeError, ['mask', '3', '2'], () => call(keep([3, 5]))],
  'a mask of queries and keys': [RangeError, 'mask', () => call(keep([2, 1, 3, 5]))],
  'a mask that is no mask': [TypeError, 'mask', () => call({ mask: new Uint8Array(5) })],
  'a mask of numbers': [TypeError, 'mask.data', () => call(keep([5], [1, 1, 1, 1, 1]))],
  'a plan that is none': [TypeError, 'position.plan', () => call({ position: { encoding: 'rope', plan: {} } })],
  'a plan of another head size': [
    RangeError,
    ['position.plan', '4', '6'],
    () => call({ position: { ...rope, plan: narrow } }),
  ],
  'a plan that was disposed': [StateError, ['plan', 'disposed'], () => call({ position: { ...rope, plan: dead } })],
  'a plan of another instance': [
    StateError,
    ['plan', 'another instance'],
    () => call({ position: { ...rope, plan: stranger.rope({ headDim: 6 }) } }),
  ],
  'positions beyond the end': [
    RangeError,
    'position.keys',
    () => call({ position: { ...rope, keys: Number.MAX_SAFE_INTEGER } }),
  ],
  'a feature map for cosine': [RangeError, 'featureMap', () => call({ similarity: 'cosine', featureMap: 'relu' })],
  'cosine in the numerator only': [
    RangeError,
    ['position.form', 'numerator'],
    () => call({ similarity: 'cosine', position: { ...rope, form: 'numerator' } }),
  ],
  'an output norm beside a denominator': [RangeError, ['outputNorm', 'normalize'], () => call({ outputNorm: {} })],
  'denominators where there are none': [
    RangeError,
    'returnDenominators',
    () => call({ normalize: false, returnDenominators: true }),
  ],
});
