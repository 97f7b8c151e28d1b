// The state of linear attention: split inputs, saving and restoring, its size, and refused calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { load, StateError } from 'ropewalk';
import { assertClose, assertSameBits, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { notABoolean, notAChoice, notAnInteger, notOptions, required, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { linearAttention } from '../support/linear-reference.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const eps = 2 ** -24;
const sizes = { batch: 2, kvHeads: 2, headDim: 4, valueDim: 3 };
const inputs = (tokens, seed = 1) => [
  randomArray([2, 4, tokens, 4], seed),
  randomArray([2, 2, tokens, 4], seed + 1),
  randomArray([2, 2, tokens, 3], seed + 2),
];

// Tokens [from, to) of [B, H, T, D].
function tokensOf({ data, shape: [batch, heads, tokens, dim] }, from, to) {
  const rows = Array.from({ length: batch * heads }, (_, r) =>
    data.subarray((r * tokens + from) * dim, (r * tokens + to) * dim),
  );
  return { data: Float32Array.from(rows.flatMap((row) => [...row])), shape: [batch, heads, to - from, dim] };
}

await onEachBuild((rw) => {
  const plan = rw.rope({ headDim: 4 });
  const forms = {
    vanilla: { featureMap: 'relu' },
    numerator: { position: { encoding: 'rope', plan, form: 'numerator', offset: 7 } },
    both: { featureMap: 'exp', position: { encoding: 'rope', plan, form: 'both', offset: -3 } },
    cosine: { similarity: 'cosine', position: { encoding: 'rope', plan } },
    normed: { normalize: false, outputNorm: { weight: Float32Array.of(1, 2, 3) } },
  };
  const make = (form) => rw.linearAttentionState({ ...sizes, ...form });
  const whole = (x, { position, ...form }) => {
    const { offset = 0, ...rope } = position ?? {};
    const at = position && { position: { ...rope, queries: offset, keys: offset } };
    return rw.linearAttention(...x, { causal: true, ...form, ...at, returnDenominators: form.normalize ?? true });
  };

  // Appends x in pieces; gives the rows side by side, [B, H, T, Dv].
  function inPieces(state, x, pieces, options = () => ({})) {
    const tokens = x[0].shape[2];
    const out = { data: new Float32Array(2 * 4 * tokens * 3), shape: [2, 4, tokens, 3] };
    let from = 0;
    for (let n = 0; from < tokens; ++n) {
      const to = Math.min(from + pieces[n % pieces.length], tokens);
      const part = state.append(...x.map((y) => tokensOf(y, from, to)), options(from, to)).out;
      for (let row = 0; row < 8; ++row) {
        out.data.set(part.data.subarray(row * (to - from) * 3, (row + 1) * (to - from) * 3), (row * tokens + from) * 3);
      }
      from = to;
    }
    return out;
  }

  for (const [name, form] of Object.entries(forms)) {
    test(`any split gives what one call gives (${name})`, () => {
      const run = fc.record({
        tokens: fc.integer({ min: 1, max: 150 }),
        pieces: fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1, maxLength: 5 }),
        seed: fc.nat(),
      });
      const property = fc.property(run, ({ tokens, pieces, seed }) => {
        const x = inputs(tokens, seed);
        const want = whole(x, form);
        const state = make(form);
        const got = inPieces(state, x, pieces);
        assert.equal(state.tokens, tokens);
        assert.equal(state.position, (form.position?.offset ?? 0) + tokens);
        state.dispose();
        // Where a denominator is small against its terms, of at most e², roundings show.
        const rows = Float64Array.from(want.out.data, (_, i) => {
          const below = want.denominators ? Math.abs(want.denominators.data[Math.floor(i / 3)]) : 1;
          return 400 * eps * Math.max(1, (4 * 7.4 * tokens) / below) * 3;
        });
        assertClose(got.data, want.out.data, rows);
      });
      fc.assert(property, { seed: 3, numRuns: 25 });
    });
  }

  test('a state has the batch and the heads that it was asked for', () => {
    const x = [randomArray([3, 2, 5, 4], 1), randomArray([3, 1, 5, 4], 2), randomArray([3, 1, 5, 2], 3)];
    const state = rw.linearAttentionState({ batch: 3, kvHeads: 1, headDim: 4, valueDim: 2 });
    const want = rw.linearAttention(...x, { causal: true }).out;
    // Means of at most 5 values below 1, each of some twenty roundings, in another order.
    assertClose(
      state.append(...x).out.data,
      want.data,
      Float64Array.from(want.data, () => 100 * eps),
    );
    state.dispose();
  });

  test('a state agrees with float64, in both layouts and with a mask', () => {
    const x = inputs(90);
    const data = Uint8Array.from({ length: 180 }, (_, i) => Number(i % 5 !== 2));
    const want = linearAttention(...x, { causal: true, keeps: (b, j) => data[b * 90 + j] === 1 });
    const mask = (from, to) => ({
      mask: {
        data: Uint8Array.of(...data.subarray(from, to), ...data.subarray(90 + from, 90 + to)),
        shape: [2, to - from],
      },
    });
    const state = make({});
    assertClose(inPieces(state, x, [1, 30, 70], mask).data, want.out, want.bound);
    state.reset();
    assert.equal(state.tokens, 0);
    const swapped = x.map(({ data: numbers, shape: [b, h, t, d] }) => ({
      data: swapHeadsAndTokens(numbers, [b, h, t, d]),
      shape: [b, t, h, d],
    }));
    const { out } = state.append(...swapped, { layout: 'BTHD', ...mask(0, 90) });
    assertClose(swapHeadsAndTokens(out.data, [2, 90, 4, 3]), want.out, want.bound);
    state.dispose();
  });

  test('a state that a getter of an argument changes refuses the call, and is as the getter left it', () => {
    const x = inputs(3);
    const changes = {
      append: (state) => state.append(...x),
      reset: (state) => state.reset(),
      restore: (state, saved) => state.restore(saved),
    };
    for (const [name, change] of Object.entries(changes)) {
      const [state, same] = [make(forms.both), make(forms.both)];
      for (const each of [state, same]) each.append(...x);
      const saved = state.save();
      change(same, saved);
      const options = {
        get mask() {
          change(state, saved);
          return undefined;
        },
      };
      assert.throws(() => state.append(...x, options), { name: 'StateError', message: /was changed while/ }, name);
      if (name !== 'append') assert.deepEqual(state.save(), same.save());
      state.reset();
      assertSameBits(state.append(...x).out.data, make(forms.both).append(...x).out.data);
      for (const each of [state, same]) each.dispose();
    }
  });

  test('a state reports denominators, and takes and gives tensors', () => {
    const x = inputs(5);
    const tensors = x.map(({ data, shape }) => rw.tensor(shape, data));
    const state = make({});
    const want = whole(x, {});
    const got = state.append(...tensors, { returnDenominators: true });
    assertSameBits(got.out.data(), want.out.data);
    assertSameBits(got.denominators.data(), want.denominators.data);
    assert.deepEqual(got.denominator, want.denominator);
    for (const each of [...tensors, got.out, got.denominators, state]) each.dispose();
  });

  test('a state takes the same bytes whatever it has seen, and fewer than the keys and values', () => {
    const state = make({});
    // S and what its roundings lost, and z in double.
    assert.equal(state.bytes, 2 * 2 * 4 * (3 * 8 + 8));
    const { usedBytes } = rw.memory();
    inPieces(state, inputs(64), [1]);
    const steady = rw.memory().usedBytes;
    inPieces(state, inputs(640, 5), [64]);
    inPieces(state, inputs(640, 5), [64]);
    assert.ok(rw.memory().usedBytes - steady < 64 * 1024, 'room for one block and no more');
    assert.ok(steady - usedBytes < 64 * 1024);
    assert.equal(state.bytes, 2 * 2 * 4 * (3 * 8 + 8));
    assert.ok(state.bytes < state.tokens * 2 * 2 * (4 + 3) * 4);
    const cosine = make({ similarity: 'cosine' });
    assert.equal(cosine.bytes, 2 * 2 * 5 * (3 * 8 + 8));
    const bare = make({ normalize: false });
    assert.equal(bare.bytes, 2 * 2 * 4 * 3 * 8);
    for (const each of [state, cosine, bare]) each.dispose();
  });

  for (const [name, form] of Object.entries(forms)) {
    test(`clone, save and restore go on bit for bit (${name})`, () => {
      const [head, tail] = [inputs(70, 1), inputs(20, 9)];
      const state = make(form);
      inPieces(state, head, [1, 40]);
      const bytes = state.save();
      assert.equal(bytes.length, 64 + state.bytes);
      const copy = state.clone();
      const other = make(form);
      inPieces(other, tail, [3]); // to be forgotten
      assert.equal(other.restore(bytes), other);
      const want = inPieces(state, tail, [7]).data;
      for (const each of [copy, other]) {
        assert.equal(each.tokens, 70);
        assertSameBits(inPieces(each, tail, [7]).data, want);
        assert.equal(each.position, state.position);
        each.dispose();
      }
      // What was saved is not what the state has become since.
      assert.notDeepEqual(state.save(), bytes);
      assert.deepEqual(state.restore(bytes).save(), bytes);
      inPieces(state.reset(), head, [1, 40]);
      assert.deepEqual(state.save(), bytes);
      state.dispose();
    });
  }

  test('options are copied: changing them later changes neither the state nor its clones', () => {
    const options = { ...sizes, normalize: false, outputNorm: { weight: Float32Array.of(1, 2, 3) } };
    const first = rw.linearAttentionState(options);
    const same = make(forms.normed);
    options.headDim = 8;
    options.outputNorm.weight.fill(9);
    options.outputNorm.eps = 7;
    const x = inputs(4);
    const want = same.append(...x).out.data;
    const copy = first.clone();
    assertSameBits(copy.append(...x).out.data, want);
    assertSameBits(first.append(...x).out.data, want);
    for (const each of [first, same, copy]) each.dispose();
  });

  test('a refused append leaves the state as it was', () => {
    const state = make(forms.numerator);
    const x = inputs(5);
    state.append(...x);
    const before = state.save();
    assert.throws(() => state.append(x[0], x[1], inputs(4)[2]), RangeError);
    assert.throws(() => state.append(...x, { mask: { data: [true], shape: [7] } }), RangeError);
    assert.deepEqual(state.save(), before);
    assert.equal(state.tokens, 5);
    const late = make({ position: { encoding: 'rope', plan, offset: 2 ** 53 - 4 } });
    assert.throws(() => late.append(...x), { name: 'ArgumentRangeError', message: /position/ });
    late.append(...inputs(4));
    assert.throws(() => late.append(...inputs(2)), { name: 'ArgumentRangeError', message: /position/ });
    assert.equal(late.tokens, 4);
    late.dispose();
    state.dispose();
  });

  test('a disposed state, and one whose plan was disposed, are refused', () => {
    const own = rw.rope({ headDim: 4 });
    const state = make({ position: { encoding: 'rope', plan: own } });
    const before = rw.memory().liveObjects;
    own.dispose();
    assert.throws(() => state.append(...inputs(2)), StateError);
    state.dispose();
    assert.equal(rw.memory().liveObjects, before - 2);
    for (const call of [
      () => state.append(...inputs(2)),
      () => state.reset(),
      () => state.clone(),
      () => state.save(),
      () => state.restore(new Uint8Array(8)),
    ]) {
      assert.throws(call, { name: 'StateError', message: /disposed/ });
    }
  });
});

const rw = await load({ simd: 'deterministic' });
const state = rw.linearAttentionState(sizes);
const [q, k, v] = inputs(3);
state.append(q, k, v);
const saved = state.save();
const make = (options) => rw.linearAttentionState({ ...sizes, ...options });
const size = required(notAnInteger({ min: 1, max: 2 ** 16 }).filter(({ value }) => value !== null));
const plan = rw.rope({ headDim: 4 });
const rope = { encoding: 'rope', plan };
testAllRefusals(rw, 'linearAttentionState', {
  options: [required(notOptions), (options) => rw.linearAttentionState(options)],
  headDim: [size, (headDim) => make({ headDim })],
  valueDim: [size.slice(1), (valueDim) => make({ valueDim })],
  kvHeads: [size.slice(1), (kvHeads) => make({ kvHeads })],
  batch: [size.slice(1), (batch) => make({ batch })],
  position: [notOptions, (position) => make({ position })],
  'position.form': [notAChoice.slice(1), (form) => make({ position: { ...rope, form } })],
  'position.offset': [
    notAnInteger({ min: -(2 ** 53 - 1), max: 2 ** 53 - 1 }).filter(({ value }) => value !== null),
    (offset) => make({ position: { ...rope, offset } }),
  ],
  featureMap: [notAChoice.slice(1), (featureMap) => make({ featureMap })],
  normalize: [notABoolean, (normalize) => make({ normalize })],
  returnDenominators: [notABoolean, (returnDenominators) => state.append(q, k, v, { returnDenominators })],
  layout: [notAChoice.slice(1), (layout) => state.append(q, k, v, { layout })],
  bytes: [
    required([
      wrongType(null, 'null'),
      wrongType('RWLS', '"RWLS"'),
      wrongType([1, 2], '[1, 2]'),
      wrongType(new Float32Array(16), 'Float32Array(16)'),
      wrongType(saved.buffer, 'ArrayBuffer'),
    ]),
    (bytes) => state.restore(bytes),
  ],
});
testUnknownOptions(rw, 'linearAttentionState', ['heads', 'causal', 'layout', 'mask'], make);
testUnknownOptions(rw, 'linearAttentionState.append', ['causal', 'position', 'positions'], (o) =>
  state.append(q, k, v, o),
);
const changed = (at, value) => {
  const bytes = saved.slice();
  bytes[at] = value ?? bytes[at] ^ 1;
  return bytes;
};
// The same with a checksum that fits.
const signed = (change) => {
  const bytes = saved.slice();
  const view = new DataView(bytes.buffer);
  change(view);
  let hash = 0x811c9dc5;
  for (let at = 0; at < bytes.length; at += 4) {
    hash = Math.imul(hash ^ (at === 52 ? 0 : view.getUint32(at, true)), 0x01000193);
    hash ^= hash >>> 15;
  }
  view.setUint32(52, hash >>> 0, true);
  return bytes;
};
test('a checksum made here fits', () => {
  assert.deepEqual(
    signed(() => {}),
    saved,
  );
});
const savedBy = (options, tokens = [q, k, v]) => {
  const other = make(options);
  if (options.batch === undefined && options.kvHeads === undefined) other.append(...tokens);
  const bytes = other.save();
  other.dispose();
  return bytes;
};
const restore = (bytes) => () => state.restore(bytes);
const roped = make({ position: rope });
const ofAnotherPlan = savedBy({ position: { encoding: 'rope', plan: rw.rope({ headDim: 4, base: 500 }) } });
const ofAPlanWithXPos = savedBy({ position: { encoding: 'rope', plan: rw.rope({ headDim: 4, xpos: {} }) } });
const fromElsewhere = savedBy({ position: { ...rope, offset: 9 } });
testMisfits(rw, 'linearAttentionState.restore', {
  nothing: [RangeError, ['bytes', '0'], restore(new Uint8Array(0))],
  'half a header': [RangeError, ['bytes', '63'], restore(saved.slice(0, 63))],
  'a state that was cut': [RangeError, ['bytes', String(saved.length - 4)], restore(saved.slice(0, -4))],
  'a state with more behind it': [RangeError, 'bytes', restore(Uint8Array.of(...saved, 0, 0, 0, 0))],
  'another kind of file': [RangeError, ['bytes', 'saved state'], restore(changed(0))],
  'another version': [RangeError, ['bytes', 'version 2'], restore(changed(4, 2))],
  'an altered header': [RangeError, ['bytes', 'altered'], restore(changed(12))],
  'an altered number of tokens': [RangeError, ['bytes', 'altered'], restore(changed(39))],
  ...Object.fromEntries(
    [Number.NaN, 1.5, -5, 1e300, Infinity, 2 ** 53 - 1].map((tokens) => [
      `${tokens} tokens under a checksum that fits`,
      [RangeError, ['bytes', 'altered', String(tokens)], restore(signed((view) => view.setFloat64(32, tokens, true)))],
    ]),
  ),
  'a header that goes on under a checksum that fits': [
    RangeError,
    ['bytes', 'altered'],
    restore(signed((view) => view.setUint32(60, 1, true))),
  ],
  'an altered first sum': [RangeError, ['bytes', 'altered'], restore(changed(64))],
  'an altered last byte': [RangeError, ['bytes', 'altered'], restore(changed(saved.length - 1))],
  'an altered checksum': [RangeError, ['bytes', 'altered'], restore(changed(52))],
  'a state of another batch size': [RangeError, ['bytes', 'batch size'], restore(savedBy({ batch: 1 }))],
  'a state of other heads': [RangeError, ['bytes', 'key heads'], restore(savedBy({ kvHeads: 4 }))],
  'a state of another form': [RangeError, ['bytes', 'form'], restore(savedBy({ featureMap: 'relu' }))],
  'a state with RoPE': [RangeError, 'bytes', restore(savedBy({ position: { ...rope, form: 'both' } }))],
  'a state of another plan': [RangeError, ['bytes', 'plan'], () => roped.restore(ofAnotherPlan)],
  'a state of a plan that differs in xPos alone': [RangeError, ['bytes', 'plan'], () => roped.restore(ofAPlanWithXPos)],
  'a state that began elsewhere': [RangeError, ['bytes', '9'], () => roped.restore(fromElsewhere)],
});

test('every bit of a saved state is watched', () => {
  for (let at = 0; at < saved.length; ++at) {
    for (const bit of [1, 128]) {
      const bytes = saved.slice();
      bytes[at] ^= bit;
      assert.throws(restore(bytes), RangeError, `bit ${bit} of byte ${at}`);
    }
  }
  assert.deepEqual(state.save(), saved);
});

testMisfits(rw, 'linearAttentionState.append', {
  'another batch size': [
    RangeError,
    ['q', '1', '2'],
    () =>
      state.append(
        ...[q, k, v].map((x) => ({ data: x.data.subarray(x.data.length / 2), shape: [1, ...x.shape.slice(1)] })),
      ),
  ],
  'another head size': [
    RangeError,
    ['q', '5', '4'],
    () => state.append(randomArray([2, 4, 3, 5]), randomArray([2, 2, 3, 5]), v),
  ],
  'other key heads': [
    RangeError,
    ['k', '4', '2'],
    () => state.append(q, randomArray([2, 4, 3, 4]), randomArray([2, 4, 3, 3])),
  ],
  'another value size': [RangeError, ['v', '4', '3'], () => state.append(q, k, k)],
  'fewer queries than keys': [RangeError, ['q', '2', '3'], () => state.append(tokensOf(q, 0, 2), k, v)],
});
testMisfits(rw, 'linearAttentionState', {
  'sizes whose product is too large': [
    RangeError,
    'headDim',
    () => rw.linearAttentionState({ headDim: 65536, valueDim: 65536, kvHeads: 65536 }),
  ],
});
