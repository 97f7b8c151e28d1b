// replaceEncoding(): every encoding against the package's own layers, given and random parameters, and every refusal.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { loadModel, replaceEncoding } from 'ropewalk/models';
import { assertClose, assertSameBits, random } from '../support/arrays.mjs';
import { linear } from '../support/attention-reference.mjs';
import { fireParameters } from '../support/fire.mjs';
import { inUse } from '../support/peak.mjs';
import { fileOfModel, tinyBert, tinyLlama, tinyRoformer } from '../support/tiny-models.mjs';

const rw = await load({ simd: 'deterministic' });
const loaded = ({ config, tensors }) => loadModel(rw, { config, weights: fileOfModel({ tensors }) });
const ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 9, 7, 9, 32, 38];
const tiny = tinyLlama();
const model = await loaded(tiny);
const [heads, headDim] = [4, 6];
// Two layers and a head on numbers of about 1, each product a sum of at most 36.
const tolerance = 30 * 512 * 2 ** -24;

const table = (rows, columns, seed) => ({ data: random(rows * columns, seed), shape: [rows, columns] });
const encodings = {
  none: { encoding: 'none' },
  rope: { encoding: 'rope', base: 500, pairing: 'interleaved' },
  alibi: { encoding: 'alibi' },
  t5: { encoding: 't5', table: table(8, heads, 1), numBuckets: 8, maxDistance: 12, bidirectional: false },
  kerple: { encoding: 'kerple', r1: Float32Array.of(0.5, 1, 2, 3), r2: Float32Array.of(1, 0.3, 2, 0.1) },
  sandwich: { encoding: 'sandwich', dim: 8 },
  fire: { encoding: 'fire', ...fireParameters(heads) },
  shaw: { encoding: 'shaw', keys: table(9, headDim, 2), values: table(9, headDim, 3) },
  relative_key: { encoding: 'relative_key', table: table(63, headDim, 4) },
  relative_key_query: { encoding: 'relative_key_query', table: table(63, headDim, 5), sign: 'key-minus-query' },
  m3: { encoding: 'm3', table: table(63, headDim, 6) },
};

/** Logits [T, V] of the tiny LLaMA with a position of its own in each layer, from the package's layers. */
function composed(positionOf) {
  const { config, tensors } = tiny;
  const get = (name) => tensors[name].data;
  let x = rw.embed({ data: get('model.embed_tokens.weight'), shape: [41, 24] }, ids);
  for (let i = 0; i < config.num_hidden_layers; ++i) {
    const weight = (name) => get(`model.layers.${i}.${name}.weight`);
    const part = (name) => weight(`self_attn.${name}_proj`);
    const layer = rw.decoderLayer({
      ...{ modelDim: 24, heads, kvHeads: 2, hiddenDim: 36, eps: config.rms_norm_eps, position: positionOf(i) },
      weights: {
        ...{ query: part('q'), key: part('k'), value: part('v'), output: part('o') },
        ...{ gate: weight('mlp.gate_proj'), up: weight('mlp.up_proj'), down: weight('mlp.down_proj') },
        ...{ attentionNorm: weight('input_layernorm'), feedForwardNorm: weight('post_attention_layernorm') },
      },
    });
    x = layer.forward(x).out;
    layer.dispose();
  }
  const normed = rw.rmsNorm(x, { weight: get('model.norm.weight'), eps: config.rms_norm_eps });
  return linear(normed.data, get('lm_head.weight'), undefined, 24);
}

const bert = await loaded(tinyBert());
const plain = model.forward(ids).logits.data;
const before = inUse(rw);

for (const [name, encoding] of Object.entries(encodings)) {
  test(`${name} in every layer is what layers with it give, at once and behind a cache`, async () => {
    const replaced = await replaceEncoding(model, encoding);
    const { logits } = replaced.forward(ids, { logits: 'all' });
    assertClose(
      logits.data,
      composed(() => encoding),
      tolerance,
    );
    assert.deepEqual(
      replaced.ropes,
      Array(2).fill(name === 'rope' ? { base: 500, pairing: 'interleaved', headDim: 6 } : null),
    );
    const cache = replaced.kvCache({ chunk: 5 });
    replaced.forward(ids.slice(0, 9), { cache });
    assertSameBits(replaced.forward(ids.slice(9), { cache }).logits.data, logits.data.subarray(15 * 41));
    for (const each of [cache, replaced]) each.dispose();
    assert.deepEqual(inUse(rw), before);
    assertSameBits(model.forward(ids).logits.data, plain);
  });
}

test('each layer may have an encoding of its own', async () => {
  const positionOf = (layer) => (layer === 0 ? encodings.alibi : { encoding: 'rope', base: 500 });
  const replaced = await replaceEncoding(model, positionOf);
  assertClose(replaced.forward(ids, { logits: 'all' }).logits.data, composed(positionOf), tolerance);
  assert.deepEqual(replaced.ropes, [null, { base: 500, headDim: 6 }]);
  replaced.dispose();
});

test('tables are copied, and weights live as long as one of the models', async () => {
  const made = await loaded(tiny);
  const own = { encoding: 'm3', table: table(63, headDim, 6) };
  const replaced = await replaceEncoding(made, own);
  const { data } = replaced.forward(ids).logits;
  own.table.data.fill(0);
  made.dispose();
  assertSameBits(replaced.forward(ids).logits.data, data);
  await assert.rejects(replaceEncoding(made, own), StateError);
  replaced.dispose();
  assert.deepEqual(inUse(rw), before);
});

describe('withRope after replaceEncoding', () => {
  test('options change layers with a rotary encoding alone, a function says that of all', async () => {
    const mixed = await replaceEncoding(model, (layer) =>
      layer === 0 ? encodings.alibi : { encoding: 'rope', base: 500 },
    );
    const changed = mixed.withRope({ base: 900 });
    assert.deepEqual(changed.ropes, [null, { base: 900, headDim: 6 }]);
    const positionOf = (layer) => (layer === 0 ? encodings.alibi : { encoding: 'rope', base: 900 });
    assertClose(changed.forward(ids, { logits: 'all' }).logits.data, composed(positionOf), tolerance);
    const none = mixed.withRope(() => null);
    const plainNone = model.withRope(() => null);
    assertSameBits(none.forward(ids).logits.data, plainNone.forward(ids).logits.data);
    const back = none.withRope(() => ({ headDim, base: 10000 }));
    assertSameBits(back.forward(ids).logits.data, plain);
    for (const each of [mixed, changed, none, plainNone, back]) each.dispose();
    assert.deepEqual(inUse(rw), before);
  });
});

test('encodings by distance take as many tokens as was said, others any number', async () => {
  for (const [name, encoding] of Object.entries(encodings)) {
    const replaced = await replaceEncoding(model, encoding, { maxLength: 10 });
    const cache = replaced.kvCache();
    replaced.forward(ids.slice(0, 8), { cache });
    for (const call of [
      () => replaced.forward(ids.slice(0, 11)),
      () => replaced.forward(ids.slice(8, 11), { cache }),
    ]) {
      if (['alibi', 't5', 'kerple', 'fire', 'sandwich'].includes(name))
        assert.throws(call, /positions of this model are for 10 tokens/);
      else call();
    }
    assert.equal(replaced.forward(ids.slice(0, 10), { offset: 0, logits: 'none' }).logits, undefined);
    for (const each of [cache, replaced]) each.dispose();
  }
  assert.deepEqual(inUse(rw), before);
});

describe('parameters that are left out are random', () => {
  for (const encoding of ['t5', 'shaw', 'relative_key', 'relative_key_query', 'm3', 'kerple', 'fire']) {
    test(encoding, async () => {
      const logitsOf = async (options) => {
        const made = await replaceEncoding(model, { encoding }, { maxLength: 32, maxDistance: 8, ...options });
        const { data } = made.forward(ids).logits;
        made.dispose();
        return data;
      };
      const first = await logitsOf({});
      assert.ok(first.every(Number.isFinite));
      assertSameBits(await logitsOf({ seed: 0 }), first);
      assert.notDeepEqual(await logitsOf({ seed: 1 }), first);
      if (encoding !== 'kerple') assert.notDeepEqual(await logitsOf({ deviation: 1 }), first);
      assert.deepEqual(inUse(rw), before);
    });
  }
  test('with a deviation that is asked for', async () => {
    // Scores of M3 are sums of q k times the table, so a table that is next to nothing makes all keys alike.
    const flat = await replaceEncoding(model, { encoding: 'm3' }, { deviation: 1e-30, maxLength: 32 });
    const { captured } = flat.forward(ids, { capture: ['probabilities'], captureLayers: [0] });
    const last = captured[0].probabilities.data.subarray(-ids.length);
    assertClose(
      last,
      Float32Array.from(ids, () => 1 / ids.length),
      2 ** -22,
    );
    flat.dispose();
  });
});

test('an encoder has its encoding replaced as well', async () => {
  const words = ids.map((id) => id % 37);
  const roformer = await loaded(tinyRoformer());
  const replaced = await replaceEncoding(roformer, { encoding: 'alibi' });
  assert.equal(replaced.kind, 'encoder');
  assert.notDeepEqual(replaced.forward(words).hidden.data, roformer.forward(words).hidden.data);
  const relative = await loaded(tinyBert({ position_embedding_type: 'relative_key' }));
  const none = await replaceEncoding(relative, { encoding: 'none' });
  const backwards = none.forward([...words].reverse()).hidden;
  const row = (data, t) => data.subarray(t * 24, (t + 1) * 24);
  // Without positions, a token has the same vector wherever it stands.
  assertClose(row(backwards.data, 0), row(none.forward(words).hidden.data, 15), tolerance);
  for (const each of [roformer, replaced, relative, none]) each.dispose();
  assert.deepEqual(inUse(rw), before);
});

describe('replaceEncoding refuses', () => {
  const rows = {
    'what is no model': [TypeError, /model/, {}, encodings.alibi],
    'a model that adds its positions to token vectors': [RangeError, /model adds/, bert, encodings.alibi],
    'an encoding that is no object': [TypeError, /encoding/, model, 'alibi'],
    'an unknown encoding': [RangeError, /position\.encoding.*"nonsense"/, model, { encoding: 'nonsense' }],
    'a name that an object inherits': [RangeError, /"toString"/, model, { encoding: 'toString' }],
    'an option that the encoding does not have': [RangeError, /slopes/, model, { encoding: 'alibi', slopes: 1 }],
    'a plan': [RangeError, /plan/, model, { encoding: 'rope', plan: {} }],
    'a size of head': [RangeError, /encoding\.headDim is 8/, model, { encoding: 'rope', headDim: 8 }],
    'a table of another size': [RangeError, /position\.table/, model, { encoding: 'm3', table: table(5, 7, 1) }],
    'a function that gives nothing': [TypeError, /encoding/, model, () => undefined],
    'a seed below 0': [RangeError, /seed is -1/, model, encodings.alibi, { seed: -1 }],
    'a deviation of 0': [RangeError, /deviation/, model, encodings.alibi, { deviation: 0 }],
    'a distance of 0': [RangeError, /maxDistance/, model, encodings.alibi, { maxDistance: 0 }],
    'a length of 0': [RangeError, /maxLength/, model, encodings.alibi, { maxLength: 0 }],
    'an option that it does not have': [RangeError, /scale/, model, encodings.alibi, { scale: 1 }],
  };
  for (const [what, [error, words, ...given]] of Object.entries(rows)) {
    test(what, async () => {
      const held = inUse(rw);
      await assert.rejects(
        replaceEncoding(...given),
        (thrown) => thrown instanceof error && words.test(thrown.message),
      );
      assert.deepEqual(inUse(rw), held);
    });
  }
});
