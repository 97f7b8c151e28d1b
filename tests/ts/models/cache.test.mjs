// The KV cache of a whole model: its length, truncation, windows, saving, and passes that fail.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { assertSameBits } from '../support/arrays.mjs';
import { notAChoice, notAnInteger, notOptions, outOfRange, wrongType } from '../support/bad-values.mjs';
import { inUse } from '../support/peak.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';
import { fileOfModel, tinyGemma2, tinyLlama, tinyQwen2 } from '../support/tiny-models.mjs';

const rw = await load({ simd: 'deterministic' });
const loaded = ({ config, tensors }) => loadModel(rw, { config, weights: fileOfModel({ tensors }) });
const ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 9, 7, 9, 32, 38];

const [llama, qwen, gemma] = [await loaded(tinyLlama()), await loaded(tinyQwen2()), await loaded(tinyGemma2())];
for (const model of [llama, qwen, gemma]) model.forward(Array(256).fill(1)); // plans keep tables of positions
const kept = llama.kvCache({ capacity: 20 });
model(llama, ids.slice(0, 6), kept);
const saved = kept.save();
const before = inUse(rw);

const models = { 'a LLaMA': llama, 'a Qwen 2 with windows': qwen, 'a Gemma 2': gemma };
const logitsOf = (model, tokens, cache) => model.forward(tokens, { cache }).logits.data;

describe('saved in the middle and restored, a cache goes on with the same bits', () => {
  for (const [name, model] of Object.entries(models)) {
    for (const options of [
      { capacity: 40, chunk: 4 },
      { chunk: 4 },
      { capacity: 20, keys: 'unrotated' },
      { chunk: 4, storage: 'float16' },
    ]) {
      test(`${name}, ${JSON.stringify(options)}`, () => {
        const cache = model.kvCache(options);
        model.forward(ids.slice(0, 11), { cache, logits: 'none' });
        const bytes = cache.save();
        const again = model.restoreKvCache(bytes);
        assert.deepEqual(
          [again.length, again.batch, again.chunk, again.capacity],
          [11, 1, cache.chunk, options.capacity],
        );
        assert.deepEqual(again.save(), bytes);
        for (const token of ids.slice(11))
          assertSameBits(logitsOf(model, [token], again), logitsOf(model, [token], cache));
        cache.dispose();
        again.dispose();
        assert.deepEqual(inUse(rw), before);
      });
    }
  }

  test('an empty one', () => {
    const cache = llama.kvCache({ batch: 2, capacity: 3 });
    const again = llama.restoreKvCache(cache.save());
    assert.deepEqual([again.length, again.batch, again.capacity], [0, 2, 3]);
    cache.dispose();
    again.dispose();
  });
});

test('float16 halves the numbers of every layer', () => {
  const [wide, half] = [llama.kvCache({ capacity: 16 }), llama.kvCache({ capacity: 16, storage: 'float16' })];
  const numbers = half.layers.reduce((sum, { kvHeads, headDim }) => sum + 2 * kvHeads * headDim * 16, 0);
  assert.equal(wide.bytes - half.bytes, 2 * numbers);
  assert.ok(half.layers.every(({ storage }) => storage === 'float16'));
  wide.dispose();
  half.dispose();
});

test('truncate forgets what came later', () => {
  const cache = llama.kvCache({ capacity: 20 });
  model(llama, ids.slice(0, 10), cache);
  const expected = logitsOf(llama, [7, 8], cache);
  assert.equal(cache.length, 12);
  assertSameBits(logitsOf(llama, [7, 8], cache.truncate(10)), expected);
  assert.equal(cache.truncate(12).length, 12);
  assert.equal(cache.truncate(0).length, 0);
  cache.dispose();
});

function model(made, tokens, cache) {
  made.forward(tokens, { cache, logits: 'none' });
}

test('layers with a window keep their window and a chunk', () => {
  const cache = qwen.kvCache({ capacity: 4000, chunk: 4 });
  const [full, ...windowed] = cache.layers.map((each) => each.capacity);
  assert.equal(full, 4000);
  assert.deepEqual(windowed, [8, 8]); // 4 before the first of 4
  for (let i = 0; i < 10; ++i) model(qwen, ids, cache);
  assert.equal(cache.length, 160);
  assert.deepEqual(
    cache.layers.map((each) => each.length > 8),
    [true, false, false],
  );
  const whole = qwen.kvCache({ capacity: 4000, chunk: 4000 });
  assert.ok(cache.bytes < 0.35 * whole.bytes, `${cache.bytes} of ${whole.bytes}`);
  whole.dispose();
  // What the next token would see is gone; nothing is changed by asking for it.
  const bytes = cache.save();
  assert.throws(() => cache.truncate(100), { name: 'ArgumentRangeError', message: /length is 100; .* left a window/ });
  assert.deepEqual(cache.save(), bytes);
  // Where nothing is to be kept, nothing is missing.
  assert.equal(cache.truncate(0).length, 0);
  const fresh = qwen.kvCache();
  assertSameBits(logitsOf(qwen, ids, cache), logitsOf(qwen, ids, fresh));
  cache.dispose();
  fresh.dispose();
  assert.deepEqual(inUse(rw), before);
});

test('a cut as long as what a window has kept is refused, and any other gives what a fresh reading gives', () => {
  const text = [...ids, ...ids];
  for (const chunk of [1, 3, 4]) {
    for (let length = 1; length < text.length; ++length) {
      const cache = qwen.kvCache({ chunk: 4 });
      qwen.forward(text, { cache, chunk, logits: 'none' });
      try {
        cache.truncate(length);
      } catch (error) {
        assert.equal(error.name, 'ArgumentRangeError');
        assert.equal(cache.length, text.length);
        cache.dispose();
        continue;
      }
      const fresh = qwen.kvCache();
      model(qwen, text.slice(0, length), fresh);
      assertSameBits(logitsOf(qwen, [7], cache), logitsOf(qwen, [7], fresh), `${chunk} ${length}`);
      cache.dispose();
      fresh.dispose();
    }
  }
});

test('a cache that a window does not reach the end of can be truncated anywhere', () => {
  const cache = gemma.kvCache({ capacity: 16 });
  const expected = logitsOf(gemma, ids, cache);
  for (const length of [15, 7, 1]) {
    cache.truncate(length);
    assertSameBits(logitsOf(gemma, ids.slice(length), cache), expected);
  }
  cache.dispose();
});

test('a pass that fails in a later layer leaves the cache as it was', () => {
  const cache = llama.kvCache({ capacity: 20 });
  model(llama, ids.slice(0, 6), cache);
  const plan = rw.rope({ headDim: 6, base: 7 });
  cache.layers[1].switchTo(plan); // the second layer refuses it now
  const keys = cache.layers[0].keys();
  assert.throws(() => model(llama, [1, 2], cache), /another plan/);
  assert.deepEqual(
    cache.layers.map(({ length }) => length),
    [6, 6],
  );
  assertSameBits(cache.layers[0].keys().data, keys.data);
  cache.dispose();
  plan.dispose();
});

test('a cut that a layer with a window refuses is refused by the name and the length that the caller knows', () => {
  const cache = qwen.kvCache({ chunk: 4 });
  qwen.forward([...ids, ...ids], { cache, chunk: 4, logits: 'none' });
  for (let length = cache.length - 1; length > 0; --length) {
    try {
      cache.truncate(length);
    } catch (error) {
      assert.match(error.message, /^modelKvCache\.truncate: length is /);
      assert.equal(error.value, length);
    }
  }
  assert.ok(cache.length > 1);
  cache.dispose();
});

test('what fails before the first token is read leaves an empty cache, a window or not', () => {
  const cache = gemma.kvCache({ capacity: 400, chunk: 2 });
  const plan = rw.rope({ headDim: 6, base: 7 });
  cache.layers[1].switchTo(plan);
  for (let i = 0; i < 8; ++i) assert.throws(() => model(gemma, [1, 2], cache), /another plan/);
  assert.equal(cache.length, 0);
  assert.deepEqual(
    cache.layers.map(({ length }) => length),
    cache.layers.map(() => 0),
  );
  cache.dispose();
  plan.dispose();
});

test('a cache that one layer does not fit is refused before any layer has changed, and says so until it is reset', () => {
  const cache = gemma.kvCache({ capacity: 400, chunk: 2 });
  model(gemma, ids, cache);
  const kept = cache.layers.map((layer) => layer.keys().data);
  const plan = rw.rope({ headDim: 6, base: 7 });
  cache.layers[1].switchTo(plan);
  for (let i = 0; i < 8; ++i) assert.throws(() => model(gemma, [1, 2], cache), /another plan/);
  assert.equal(cache.length, ids.length);
  for (const i of [0, 2]) assertSameBits(cache.layers[i].keys().data, kept[i]);
  cache.dispose();
  plan.dispose();

  const apart = gemma.kvCache({ capacity: 400, chunk: 2 });
  model(gemma, ids, apart);
  apart.layers[0].truncate(apart.layers[0].length - 1);
  for (const use of [() => model(gemma, [1], apart), () => apart.truncate(1), () => apart.save()])
    assert.throws(use, { name: 'StateError', message: /changed alone.*reset\(\)/ });
  for (const change of [(layer) => layer.drop(2, 1), (layer) => layer.shift(-9, { first: 0, count: 1 })]) {
    const torn = llama.kvCache({ capacity: 40 });
    model(llama, ids, torn);
    change(torn.layers[1]);
    assert.equal(torn.length, ids.length);
    assert.throws(() => model(llama, [1], torn), { name: 'StateError', message: /changed alone.*reset\(\)/ });
    torn.dispose();
  }
  const lost = gemma.kvCache({ capacity: 400, chunk: 2 });
  model(gemma, ids, lost);
  lost.layers[1].dispose();
  for (const use of [() => model(gemma, [1], lost), () => lost.save()])
    assert.throws(use, { name: 'StateError', message: /: layer 1 of the cache: this object was disposed$/ });
  lost.dispose();
  assert.equal(apart.reset().length, 0);
  const fresh = gemma.kvCache({ capacity: 400, chunk: 2 });
  assertSameBits(logitsOf(gemma, ids, apart), logitsOf(gemma, ids, fresh));
  apart.dispose();
  fresh.dispose();
  assert.deepEqual(inUse(rw), before);
});

test('a cache whose layers were moved is refused by name, and stays as it was', () => {
  const lengths = (cache) => cache.layers.map(({ length }) => length);
  for (const [by, problem] of [
    [-6, /cache has no room for 4 more tokens/],
    [-3, /cache has no room for 4 more tokens/],
    [2 ** 53 - 8, /cache stands where 4 more tokens pass position/],
  ]) {
    const cache = llama.kvCache(by > 0 ? {} : { capacity: 8 });
    model(llama, ids.slice(0, 6), cache);
    for (const layer of cache.layers) layer.shift(by);
    assert.throws(() => model(llama, [1, 2, 3, 4], cache), { name: 'ArgumentRangeError', message: problem });
    assert.deepEqual(lengths(cache), [6, 6]);
    cache.dispose();
  }
});

test('after dispose() nothing works, and a cache needs its model', async () => {
  const made = await loaded(tinyLlama());
  const [cache, other] = [made.kvCache(), made.kvCache()];
  cache.dispose();
  cache.dispose();
  for (const use of [
    () => cache.length,
    () => cache.bytes,
    () => cache.layers,
    () => cache.save(),
    () => cache.truncate(0),
    () => cache.reset(),
    () => made.forward([1], { cache }),
  ]) {
    assert.throws(use, StateError);
  }
  model(made, [1, 2], other);
  made.dispose();
  assert.throws(() => other.save(), StateError);
  other.dispose();
  assert.deepEqual(inUse(rw), before);
});

const count = (max) => notAnInteger({ min: 1, max });
testAllRefusals(rw, 'model.kvCache', {
  options: [notOptions, (value) => llama.kvCache(value)],
  batch: [count(2 ** 20), (batch) => llama.kvCache({ batch })],
  chunk: [count(2 ** 20), (chunk) => llama.kvCache({ chunk })],
  capacity: [count(2 ** 30), (capacity) => llama.kvCache({ capacity })],
  storage: [notAChoice, (storage) => llama.kvCache({ storage })],
  keys: [notAChoice, (keys) => llama.kvCache({ keys })],
});
testMisfits(rw, 'model.kvCache', {
  'heads that are no whole blocks': [
    RangeError,
    ['headDim', '6', 'q8_0', '32'],
    () => llama.kvCache({ storage: 'q8_0' }),
  ],
});
testUnknownOptions(rw, 'model.kvCache', ['window', 'growing', 'length'], (options) => llama.kvCache(options));

testAllRefusals(rw, 'modelKvCache.truncate', {
  length: [notAnInteger({ min: 0, max: 6 }), (length) => kept.truncate(length)],
});
testAllRefusals(rw, 'model.restoreKvCache', {
  bytes: [
    [
      wrongType(undefined, 'undefined'),
      wrongType([1], '[1]'),
      wrongType(saved.buffer, 'ArrayBuffer'),
      outOfRange(new Uint8Array(0), 'save()'),
      outOfRange(saved.slice(0, 36), 'early'),
    ],
    (value) => llama.restoreKvCache(value),
  ],
});

const withByte = (at, value) => {
  const copy = saved.slice();
  copy[at] = value;
  return copy;
};
const withCapacity = (capacity) => {
  const copy = saved.slice();
  new DataView(copy.buffer).setFloat64(16, capacity, true);
  return copy;
};
const longer = new Uint8Array(saved.length + 8);
longer.set(saved);
testMisfits(rw, 'model.restoreKvCache', {
  'bytes of something else': [RangeError, ['bytes', 'save()'], () => llama.restoreKvCache(withByte(0, 7))],
  'another version': [RangeError, ['bytes', 'version 9'], () => llama.restoreKvCache(withByte(4, 9))],
  'a model of other layers': [RangeError, ['bytes', '2 layers', '3'], () => gemma.restoreKvCache(saved)],
  'no chunk': [
    RangeError,
    ['bytes', 'damaged'],
    () => llama.restoreKvCache(saved.map((byte, i) => (i >= 12 && i < 16 ? 0 : byte))),
  ],
  'a chunk that no cache has': [RangeError, ['bytes', 'damaged'], () => llama.restoreKvCache(withByte(15, 0x80))],
  'room for fewer tokens than there are': [
    RangeError,
    ['bytes', 'damaged'],
    () => llama.restoreKvCache(withCapacity(5)),
  ],
  'a capacity below 0': [RangeError, ['bytes', 'damaged'], () => llama.restoreKvCache(withCapacity(-7))],
  'a length beyond the end': [RangeError, ['bytes', 'early'], () => llama.restoreKvCache(withByte(39, 0x7f))],
  'a changed key': [RangeError, ['bytes'], () => llama.restoreKvCache(withByte(saved.length - 30, saved.at(-30) ^ 1))],
  'more behind the last layer': [RangeError, ['bytes', 'behind'], () => llama.restoreKvCache(longer)],
});

test('no bit of the head can change unseen', () => {
  for (let bit = 0; bit < 8 * 40; ++bit) {
    const at = bit >> 3;
    assert.throws(() => llama.restoreKvCache(withByte(at, saved[at] ^ (1 << (bit & 7)))), RangeError, `bit ${bit}`);
  }
});

test('a cache of a model with other windows is not restored', async () => {
  const cache = qwen.kvCache({ chunk: 4 });
  model(qwen, ids, cache);
  for (const [fields, problem] of [
    [{ use_sliding_window: false }, /window of 5 in layer 1; the model has none/],
    [{ sliding_window: 7 }, /window of 5 in layer 1; the model has 7/],
  ]) {
    const other = await loaded(tinyQwen2(fields));
    assert.throws(() => other.restoreKvCache(cache.save()), { name: 'ArgumentRangeError', message: problem });
    other.dispose();
  }
  cache.dispose();
});

test('a cache of a model with another position encoding is not restored', () => {
  const other = llama.withRope({ base: 500 });
  assert.throws(() => other.restoreKvCache(saved), RangeError);
  const same = llama.withRope({});
  const again = same.restoreKvCache(saved);
  assertSameBits(logitsOf(same, [1], again), logitsOf(llama, [1], kept));
  for (const each of [again, same, other]) each.dispose();
});
