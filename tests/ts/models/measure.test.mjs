// perplexity() and lengthCurve() against the float64 reference of whole models: its logits of each window, and a
// log-softmax of them in float64.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { lengthCurve, loadModel, perplexity } from 'ropewalk/models';
import { reference } from '../../models/reference/reference.mjs';
import { safetensorsOf } from '../../models/tiny/files.mjs';
import { tinyModel } from '../../models/tiny/models.mjs';
import { inUse } from '../support/peak.mjs';
import { fileOfModel, tinyLlama } from '../support/tiny-models.mjs';

const rw = await load({ simd: 'deterministic' });
const opened = async (name) => {
  const made = tinyModel(name);
  return { made, model: await loadModel(rw, { config: made.config, weights: new Uint8Array(safetensorsOf(made)) }) };
};
const llama = await opened('llama3');
const gemma = await opened('gemma3');
const qwen = await opened('qwen3'); // whose rotary encoding has no scaling of its own
const ids = Array.from({ length: 23 }, (_, t) => (7 * t * t + 3 * t + 1) % 41);
// Logits of about 3 from a few layers in float32, each product a sum of at most a hundred.
const tolerance = 1e-4;

function logSoftmax(row) {
  const most = row.reduce((a, b) => Math.max(a, b));
  const sum = row.reduce((total, x) => total + Math.exp(x - most), 0);
  return Float64Array.from(row, (x) => x - most - Math.log(sum));
}

/** Losses and contexts of a text, window by window as the definition has it. */
function expected(made, { length, stride }, options) {
  const losses = ids.map(() => Number.NaN);
  const contexts = ids.map(() => 0);
  for (let begin = 0, end = 0; end < ids.length; begin += stride) {
    const before = end;
    end = Math.min(begin + length, ids.length);
    const { logits } = reference(made, { ids: ids.slice(begin, end), ...options });
    for (let t = Math.max(before, begin + 1); t < end; ++t) {
      losses[t] = -logSoftmax(logits[t - begin - 1])[ids[t]];
      contexts[t] = t - begin;
    }
  }
  return { losses, contexts };
}

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

function assertNear(got, want, what = '') {
  assert.ok(Math.abs(got - want) <= tolerance * Math.max(1, Math.abs(want)), `${what} is ${got}, want ${want}`);
}

function assertMeasured(got, { losses, contexts }) {
  assert.deepEqual([...got.contexts], contexts);
  for (const [t, want] of losses.entries()) {
    if (Number.isNaN(want)) assert.ok(Number.isNaN(got.losses[t]), `token ${t} sees none`);
    else assertNear(got.losses[t], want, `loss of token ${t}`);
  }
  const known = losses.filter((loss) => !Number.isNaN(loss));
  assert.equal(got.tokens, known.length);
  assertNear(got.loss, mean(known), 'loss');
  assertNear(got.perplexity, Math.exp(mean(known)), 'perplexity');
}

describe('perplexity is that of the reference, window by window', () => {
  for (const [name, model] of Object.entries({ llama, gemma })) {
    for (const [length, stride] of [
      ...[
        [23, 11],
        [8, 4],
        [8, 1],
        [8, 8],
        [8, 7],
        [7, 3],
        [2, 1],
        [2, 2],
        [11, 11],
        [22, 22],
      ],
      [1000, 500],
    ]) {
      test(`${name}, length ${length}, stride ${stride}`, async () => {
        const whole = Math.min(length, ids.length);
        const got = await perplexity(model.model, ids, { length, stride });
        assertMeasured(got, expected(model.made, { length: whole, stride: Math.min(stride, whole) }));
      });
    }
  }
});

test('windows are at most 1024 tokens and half of one apart unless the caller says otherwise', async () => {
  const given = await perplexity(llama.model, ids);
  assertMeasured(given, expected(llama.made, { length: 23, stride: 23 }));
  const text = Array.from({ length: 1100 }, (_, t) => (3 * t + (t % 7)) % 41);
  const { contexts } = await perplexity(llama.model, text);
  assert.deepEqual([contexts[1023], contexts[1024]], [1023, 512]);
});

test('ids come in every form that a tokenizer gives', async () => {
  const want = await perplexity(llama.model, ids, { length: 8 });
  for (const form of [Int32Array.from(ids), BigInt64Array.from(ids, BigInt), { data: ids, dims: [23] }]) {
    assert.deepEqual(await perplexity(llama.model, form, { length: 8 }), want);
  }
});

describe('lengthCurve is the loss by the tokens that are seen', () => {
  const scalings = { none: { type: 'default' }, linear: { type: 'linear', factor: 4 } };
  for (const points of [1, 3, 7, undefined]) {
    test(`${points ?? 'as many as there are'} points`, async () => {
      const curves = await lengthCurve(qwen.model, ids, scalings, { length: 8, points });
      assert.deepEqual(
        curves.map(({ name }) => name),
        ['none', 'linear'],
      );
      for (const [i, { name, points: got, loss, perplexity: value }] of curves.entries()) {
        const scaled = qwen.model.withRope({ scaling: scalings[name] });
        const { losses, contexts } = await perplexity(scaled, ids, { length: 8, stride: 8 });
        if (i === 0) assertMeasured({ losses, contexts, ...curves[0], tokens: 20 }, windows);
        scaled.dispose();
        assert.equal(got.length, points ?? 7);
        assert.deepEqual([got[0].first, got.at(-1).last], [1, 7]);
        for (const [k, { first, last, tokens, loss: at, perplexity: e }] of got.entries()) {
          if (k > 0) assert.equal(first, got[k - 1].last + 1);
          const inside = [...losses].filter((_, t) => contexts[t] >= first && contexts[t] <= last);
          assert.equal(tokens, inside.length);
          assert.ok(Math.abs(at - mean(inside)) < 1e-12 && Math.abs(e - Math.exp(at)) < 1e-9);
        }
        const all = [...losses].filter((each) => !Number.isNaN(each));
        assert.ok(Math.abs(loss - mean(all)) < 1e-12 && value === Math.exp(loss));
      }
      assert.notEqual(curves[0].loss, curves[1].loss);
    });
  }
  const windows = expected(qwen.made, { length: 8, stride: 8 });
});

test('both report their progress, end by a signal, and leave nothing behind', async () => {
  const before = inUse(rw);
  const seen = [];
  await perplexity(llama.model, ids, { length: 8, stride: 4, onProgress: (progress) => seen.push(progress) });
  // Windows of 8, 8, 8, 8 and 7 tokens.
  assert.deepEqual(seen.at(-1), { loaded: 34, total: 34 });
  assert.ok(seen.every(({ loaded, total }, i) => total === 34 && loaded > (seen[i - 1]?.loaded ?? 0)));
  const scalings = { a: { type: 'default' }, b: { type: 'ntk', factor: 2 } };
  const counts = [];
  await lengthCurve(llama.model, ids, scalings, {
    length: 8,
    onProgress: ({ loaded, total }) => counts.push([loaded, total]),
  });
  assert.deepEqual(counts.at(-1), [40, 40]);
  const reason = new Error('enough');
  for (const call of [perplexity, (...given) => lengthCurve(given[0], given[1], scalings, given[2])]) {
    const stop = new AbortController();
    const options = { length: 8, signal: stop.signal, onProgress: () => stop.abort(reason) };
    await assert.rejects(call(llama.model, ids, options), (error) => error === reason);
    await assert.rejects(call(llama.model, ids, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
    const thrown = () => {
      throw reason;
    };
    await assert.rejects(call(llama.model, ids, { onProgress: thrown }), (error) => error === reason);
  }
  assert.deepEqual(inUse(rw), before);
});

test('a model that is disposed of meanwhile is refused', async () => {
  for (const call of [
    perplexity,
    (...given) => lengthCurve(given[0], given[1], { a: { type: 'default' } }, given[2]),
  ]) {
    const { model } = await opened('llama3');
    const dispose = () => model.dispose();
    // lengthCurve goes on with the weights that its own model shares.
    if (call === perplexity) await assert.rejects(call(model, ids, { length: 4, onProgress: dispose }), StateError);
    else await call(model, ids, { length: 4, onProgress: dispose });
    await assert.rejects(call(model, ids, {}), StateError);
  }
});

describe('what cannot be measured is refused', async () => {
  const bert = await opened('bert');
  const headless = await loadModel(rw, {
    config: { ...tinyLlama().config, architectures: ['LlamaModel'] },
    weights: fileOfModel({
      tensors: Object.fromEntries(Object.entries(tinyLlama().tensors).filter(([name]) => name !== 'lm_head.weight')),
    }),
  });
  const dynamic = { max_position_embeddings: 8, rope_scaling: { rope_type: 'dynamic', factor: 2 } };
  const { config, tensors } = tinyLlama(dynamic);
  const short = await loadModel(rw, { config, weights: fileOfModel({ tensors }) });
  const rows = {
    'what is no model': [TypeError, /model/, {}, ids],
    'an encoder': [TypeError, /model.*decoder/, bert.model, ids],
    'a model without a head': [RangeError, /model has no head/, headless, ids],
    'a single token': [RangeError, /ids has shape \[1\]; expected \[T\], at least two/, llama.model, [1]],
    'rows of texts': [
      RangeError,
      /ids has shape \[2, 2\]/,
      llama.model,
      [
        [1, 2],
        [3, 4],
      ],
    ],
    'an id outside the vocabulary': [RangeError, /ids\[1\]/, llama.model, [1, 4000]],
    'a length of 1': [RangeError, /length is 1/, llama.model, ids, { length: 1 }],
    'a length of text': [TypeError, /length/, llama.model, ids, { length: '8' }],
    'an option that it does not have': [RangeError, /window/, llama.model, ids, { window: 8 }],
    'a signal that is none': [TypeError, /signal/, llama.model, ids, { signal: 1 }],
  };
  for (const [what, [error, words, ...given]] of Object.entries(rows)) {
    test(what, async () => {
      const before = inUse(rw);
      const check = (thrown) => thrown instanceof error && words.test(thrown.message);
      await assert.rejects(perplexity(...given), check);
      const [model, text, options] = given;
      await assert.rejects(lengthCurve(model, text, { a: { type: 'default' } }, options), check);
      assert.deepEqual(inUse(rw), before);
    });
  }
  const refused = (call, words) =>
    assert.rejects(call, (error) => error instanceof RangeError && words.test(error.message));
  test('a stride beyond the window, points beyond its positions, a length beyond the frequencies, a scaling of no kind', async () => {
    await refused(perplexity(llama.model, ids, { length: 8, stride: 9 }), /stride is 9/);
    await refused(perplexity(llama.model, ids, { length: 8, stride: 0 }), /stride is 0/);
    await refused(lengthCurve(llama.model, ids, {}, { length: 8, points: 8 }), /points is 8/);
    const { scaling } = short.ropes[0];
    await refused(perplexity(short, ids, { length: 20 }), /^perplexity: length reaches position 18.*8 tokens/);
    await refused(
      lengthCurve(short, ids, { scaling }, { length: 20 }),
      /^lengthCurve: length reaches position 18; .* or its scaling$/,
    );
    assert.equal((await lengthCurve(short, ids, { none: { type: 'default' } }, { length: 20 })).length, 1);
    let pieces = 0;
    const onProgress = () => (pieces += 1);
    const scalings = { good: { type: 'default' }, bad: { type: 'nonsense' } };
    await refused(lengthCurve(llama.model, ids, scalings, { onProgress }), /scaling\.type/);
    assert.equal(pieces, 0, 'no scaling is measured before all fit');
    await assert.rejects(lengthCurve(llama.model, ids, [{ type: 'default' }]), /scalings/);
    assert.deepEqual(await lengthCurve(llama.model, ids, {}), []);
  });
});
