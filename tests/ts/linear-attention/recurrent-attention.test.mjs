// recurrentAttention(), ONNX LinearAttention: four update rules against float64, gates of every shape, past and present
// state.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray, sizeOf, swapHeadsAndTokens } from '../support/arrays.mjs';
import { notAChoice, notFinite, notOptions } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { recurrence } from '../support/linear-reference.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const eps = 2 ** -24;
const rules = ['linear', 'gated', 'delta', 'gated_delta'];
const isGated = (rule) => rule.startsWith('gated');
const isDelta = (rule) => rule.endsWith('delta');
const scaled = ({ data, shape }, factor) => ({ data: data.map((x) => x * factor), shape });

// Keys no longer than 1 and beta within [0, 1], with which the delta rule settles.
function example({ batch = 1, heads = 2, groups = heads, tokens = 5, dim = 4, valueDim = 3, seed = 1 }) {
  const make = (shape, at) => randomArray(shape, seed + at);
  return {
    q: make([batch, heads, tokens, dim], 0),
    k: scaled(make([batch, groups, tokens, dim], 1), 1 / Math.sqrt(dim)),
    v: make([batch, groups, tokens, valueDim], 2),
    decay: { perKey: make([batch, groups, tokens, dim], 3), perHead: make([batch, groups, tokens], 4) },
    beta: { perHead: make([batch, groups, tokens], 5), shared: make([batch, 1, tokens], 6) },
    state: make([batch, groups, dim, valueDim], 7),
  };
}
const negative = ({ data, shape }) => ({ data: data.map((x) => -Math.abs(x)), shape });
const positive = ({ data, shape }) => ({ data: data.map(Math.abs), shape });

await onEachBuild((rw) => {
  for (const updateRule of rules) {
    for (const decayKind of isGated(updateRule) ? ['perKey', 'perHead'] : [undefined]) {
      for (const betaKind of isDelta(updateRule) ? ['perHead', 'shared'] : [undefined]) {
        test(`the recurrence is that of float64 (${[updateRule, decayKind, betaKind].filter(Boolean)})`, () => {
          for (const size of [
            { batch: 2, heads: 4, groups: 2, tokens: 7, dim: 6, valueDim: 5 },
            { heads: 8, groups: 1, tokens: 70, dim: 8, valueDim: 8 },
            { heads: 1, tokens: 1, dim: 1, valueDim: 1 },
          ]) {
            const { q, k, v, state, ...gates } = example(size);
            const decay = decayKind && negative(gates.decay[decayKind]);
            const beta = betaKind && positive(gates.beta[betaKind]);
            const [, groups, tokens, dim] = k.shape;
            const perKey = decayKind === 'perKey' ? dim : 1;
            const want = recurrence(q, k, v, {
              scale: 1 / Math.sqrt(dim),
              past: state.data,
              decay: decay && ((b, g, t, d) => decay.data[((b * groups + g) * tokens + t) * perKey + (d % perKey)]),
              beta: beta && ((b, g, t) => beta.data[(betaKind === 'shared' ? b : b * groups + g) * tokens + t]),
            });
            const options = { updateRule, state, ...(decay && { decay }), ...(beta && { beta }) };
            const got = rw.recurrentAttention(q, k, v, options);
            const roundings = 16 * (tokens + dim) * eps;
            assertClose(got.out.data, want.out, roundings * dim);
            assertClose(got.state.data, want.state, roundings);
            assert.deepEqual(got.state.shape, state.shape);
            assertSameBits(rw.recurrentAttention(q, k, v, { ...options, scale: 0 }).out.data, got.out.data);

            // The same in the other layout.
            const swap = ({ data, shape }) => {
              const [b, h, t, d = 1] = shape;
              const tail = shape.length === 4 ? [d] : [];
              return { data: swapHeadsAndTokens(data, [b, h, t, d]), shape: [b, t, h, ...tail] };
            };
            const others = { ...options, layout: 'BTHD', ...(decay && { decay: swap(decay) }) };
            if (beta) others.beta = swap(beta);
            const swapped = rw.recurrentAttention(swap(q), swap(k), swap(v), others);
            const [b, h, t] = q.shape;
            assertSameBits(swapHeadsAndTokens(swapped.out.data, [b, t, h, v.shape[3]]), got.out.data);
            assertSameBits(swapped.state.data, got.state.data);
          }
        });
      }
    }
  }

  test('a sequence cut in two goes on from the state, and no state is a state of zeros', () => {
    const { q, k, v, decay } = example({ tokens: 20, groups: 1 });
    const cut = ({ data, shape }, from, to) => {
      const row = sizeOf(shape.slice(3));
      const tokens = shape[2];
      const heads = Array.from({ length: shape[1] }, (_, h) =>
        data.subarray((h * tokens + from) * row, (h * tokens + to) * row),
      );
      return {
        data: Float32Array.from(heads.flatMap((part) => [...part])),
        shape: [...shape.slice(0, 2), to - from, ...shape.slice(3)],
      };
    };
    const run = (from, to, state) =>
      rw.recurrentAttention(cut(q, from, to), cut(k, from, to), cut(v, from, to), {
        updateRule: 'gated',
        decay: cut(negative(decay.perHead), from, to),
        ...(state && { state }),
      });
    const whole = run(0, 20);
    const zeros = { data: new Float32Array(12), shape: [1, 1, 4, 3] };
    assertSameBits(run(0, 20, zeros).out.data, whole.out.data);
    const first = run(0, 8);
    const second = run(8, 20, first.state);
    assertSameBits(second.state.data, whole.state.data);
    assertSameBits(second.out.data, cut({ data: whole.out.data, shape: [1, 2, 20, 3] }, 8, 20).data);
  });

  test('decay of 0 forgets nothing, and of -Infinity all', () => {
    const { q, k, v, state } = example({});
    const decay = (value) => ({ data: new Float32Array(10).fill(value), shape: [1, 2, 5] });
    const plain = rw.recurrentAttention(q, k, v, { updateRule: 'linear', state });
    const kept = rw.recurrentAttention(q, k, v, { updateRule: 'gated', state, decay: decay(0) });
    assertClose(kept.state.data, plain.state.data, 16 * eps * 4);
    const gone = rw.recurrentAttention(q, k, v, { updateRule: 'gated', state, decay: decay(-Infinity) });
    for (let i = 0; i < 24; ++i) {
      const [head, d, m] = [Math.floor(i / 12), Math.floor((i % 12) / 3), i % 3];
      const want = k.data[(head * 5 + 4) * 4 + d] * v.data[(head * 5 + 4) * 3 + m];
      assert.ok(Math.abs(gone.state.data[i] - want) <= eps);
    }
  });

  test('NaN in one head stays there', () => {
    const { q, k, v, beta } = example({ heads: 2 });
    const options = { updateRule: 'delta', beta: positive(beta.perHead) };
    const clean = rw.recurrentAttention(q, k, v, options);
    k.data[0] = Number.NaN;
    const got = rw.recurrentAttention(q, k, v, options);
    assert.ok(got.out.data.subarray(0, 15).every(Number.isNaN));
    assertSameBits(got.out.data.subarray(15), clean.out.data.subarray(15));
    assertSameBits(got.state.data.subarray(12), clean.state.data.subarray(12));
  });

  test('tensors give tensors; the state that came in stays as it was', () => {
    const { q, k, v, state } = example({});
    const [qt, kt, vt, st] = [q, k, v, state].map(({ data, shape }) => rw.tensor(shape, data));
    const want = rw.recurrentAttention(q, k, v, { updateRule: 'linear', state });
    const got = rw.recurrentAttention(qt, kt, vt, { updateRule: 'linear', state: st });
    assertSameBits(got.out.data(), want.out.data);
    assertSameBits(got.state.data(), want.state.data);
    assertSameBits(st.data(), state.data);
    for (const tensor of [qt, kt, vt, st, got.out, got.state]) tensor.dispose();
  });

  test('heads of their own may be given without a batch, and a single head without heads', () => {
    const { q, k, v, decay } = example({ heads: 1, tokens: 6 });
    const want = rw.recurrentAttention(q, k, v, { updateRule: 'gated', decay: decay.perHead });
    const drop = ({ data, shape }, axes) => ({ data, shape: shape.slice(axes) });
    for (const axes of [1, 2]) {
      const options = { updateRule: 'gated', decay: drop(decay.perHead, axes) };
      const got = rw.recurrentAttention(drop(q, axes), drop(k, axes), drop(v, axes), options);
      assertSameBits(got.out.data, want.out.data);
      assert.deepEqual(got.state.shape, [1, 1, 4, 3]);
    }
  });

  test('long plain sums do not wear out', () => {
    const tokens = 30000;
    const ones = { data: new Float32Array(tokens).fill(1), shape: [1, 1, tokens, 1] };
    const v = { data: new Float32Array(tokens).fill(0.1), shape: [1, 1, tokens, 1] };
    const { state } = rw.recurrentAttention(ones, ones, v, { updateRule: 'linear', scale: 1 });
    assert.ok(Math.abs(state.data[0] / (tokens * Math.fround(0.1)) - 1) <= 32 * eps);
  });
});

const rw = await load({ simd: 'deterministic' });
const { q, k, v, decay, beta, state } = example({ batch: 2, heads: 4, groups: 2 });
const gates = { decay: decay.perKey, beta: beta.perHead };
const call = (options) => rw.recurrentAttention(q, k, v, { ...gates, ...options });
const floats = (...shape) => ({ data: random(sizeOf(shape)), shape });
const dead = rw.tensor([2, 2, 4, 3]);
dead.dispose();
testAllRefusals(rw, 'recurrentAttention', {
  options: [notOptions, (options) => rw.recurrentAttention(q, k, v, options)],
  updateRule: [notAChoice.slice(1), (updateRule) => call({ updateRule })],
  scale: [notFinite, (scale) => call({ scale })],
  layout: [notAChoice.slice(1), (layout) => call({ layout })],
});
testUnknownOptions(rw, 'recurrentAttention', ['chunkSize', 'pastState', 'rule', 'causal'], call);
testMisfits(rw, 'recurrentAttention', {
  'a gated rule without decay': [
    TypeError,
    ['decay', "'gated_delta'"],
    () => rw.recurrentAttention(q, k, v, { beta: gates.beta }),
  ],
  'a delta rule without beta': [
    TypeError,
    ['beta', "'gated_delta'"],
    () => rw.recurrentAttention(q, k, v, { decay: gates.decay }),
  ],
  'decay for a rule without gates': [
    RangeError,
    ['decay', 'linear'],
    () => rw.recurrentAttention(q, k, v, { updateRule: 'linear', decay: gates.decay }),
  ],
  'beta for a rule without correction': [RangeError, ['beta', 'gated'], () => call({ updateRule: 'gated' })],
  'decay of another length': [RangeError, ['decay', '4', '5'], () => call({ decay: floats(2, 2, 4, 4) })],
  'decay of another head size': [RangeError, ['decay', '3'], () => call({ decay: floats(2, 2, 5, 3) })],
  'decay of one head for two': [RangeError, 'decay', () => call({ decay: floats(2, 1, 5) })],
  'beta of three heads': [RangeError, ['beta', '3'], () => call({ beta: floats(2, 3, 5) })],
  'beta with an axis more': [RangeError, 'beta', () => call({ beta: floats(2, 2, 5, 1) })],
  'a state of another shape': [RangeError, ['state', '3, 4', '4, 3'], () => call({ state: floats(2, 2, 3, 4) })],
  'a state without its batch': [RangeError, 'state', () => call({ state: floats(2, 4, 3) })],
  'a state that was disposed': [StateError, ['state', 'disposed'], () => call({ state: dead })],
  'fewer queries than keys': [
    RangeError,
    ['q', '4', '5'],
    () => rw.recurrentAttention(floats(2, 4, 4, 4), k, v, gates),
  ],
  'heads that do not divide': [
    RangeError,
    ['k', '2', '3'],
    () => rw.recurrentAttention(floats(2, 3, 5, 4), k, v, gates),
  ],
  'heads of size 0': [RangeError, 'q', () => rw.recurrentAttention(floats(2, 4, 5, 0), floats(2, 2, 5, 0), v, gates)],
  'keys of another head size': [
    RangeError,
    ['k', '3', '4'],
    () => rw.recurrentAttention(q, floats(2, 2, 5, 3), v, gates),
  ],
  'a scale that float32 cannot hold': [RangeError, 'scale', () => call({ scale: 1e39 })],
});

test('good calls go on after refusals', () => {
  assert.equal(call({ state }).out.data.length, 2 * 4 * 5 * 3);
});
