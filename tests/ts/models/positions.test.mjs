// Positions of models without RoPE: learned tables and ALiBi, how long they reach, and what changes them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { loadModel, replaceEncoding } from 'ropewalk/models';
import { idsOf } from '../../models/sequences.mjs';
import { safetensorsOf } from '../../models/tiny/files.mjs';
import { tinyModel } from '../../models/tiny/models.mjs';
import { assertSameBits } from '../support/arrays.mjs';
import { inUse } from '../support/peak.mjs';

const rw = await load({ simd: 'deterministic' });
const loaded = (model, options) => loadModel(rw, { config: model.config, weights: safetensorsOf(model), ...options });
const logitsOf = (model, ids) => model.forward(ids, { logits: 'all' }).logits.data;
const farthest = (a, b) => a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);

for (const name of ['gpt2', 'opt', 'bloom', 'mpt']) {
  test(`${name} takes as many tokens as its table reaches, in one pass and in a cache`, async () => {
    const model = tinyModel(name);
    const own = await loaded(model);
    const { maxPositions } = own.config;
    const ids = idsOf(model, maxPositions + 1, 1);
    assert.equal(own.forward(ids.slice(1), { logits: 'none', hidden: true }).hidden.shape[0], maxPositions);
    const tooMany = { name: 'ArgumentRangeError', argument: 'ids', message: new RegExp(`for ${maxPositions} tokens`) };
    assert.throws(() => own.forward(ids), tooMany);
    const cache = own.kvCache();
    own.forward(ids.slice(1), { cache, logits: 'none' });
    assert.throws(() => own.forward([1], { cache }), tooMany);
    cache.dispose();
    own.dispose();
  });

  test(`${name} has no rotary encoding that withRope could change`, async () => {
    const own = await loaded(tinyModel(name));
    const { position } = own.config;
    const refused = { name: 'ArgumentRangeError', argument: 'change', message: new RegExp(`this one has ${position}`) };
    assert.throws(() => own.withRope({ base: 5000 }), refused);
    assert.throws(() => own.withRope(() => null), refused);
    own.dispose();
  });
}

for (const name of ['bloom', 'mpt']) {
  test(`${name} takes longer input where loadModel is told so, with the same bits up to there`, async () => {
    const model = tinyModel(name);
    const [own, longer] = [await loaded(model), await loaded(model, { sequenceLength: 60 })];
    const ids = idsOf(model, 60, 2);
    const logits = logitsOf(longer, ids);
    const part = logitsOf(own, ids.slice(0, own.config.maxPositions));
    assertSameBits(logits.slice(0, part.length), part);
    own.dispose();
    longer.dispose();
  });

  test(`${name} tells what ALiBi adds for every key, also for those that causal order hides`, async () => {
    const model = tinyModel(name);
    const own = await loaded(model);
    const { heads, layers } = own.config;
    const tokens = 6;
    const { captured } = own.forward(idsOf(model, tokens, 4), { capture: ['position', 'content', 'raw'] });
    const slopes = rw.alibiSlopes(heads);
    for (let l = 0; l < layers.length; ++l) {
      const [position, content, raw] = ['position', 'content', 'raw'].map((stage) => captured[l][stage].data);
      position.forEach((added, n) => {
        const [h, i, j] = [Math.floor(n / tokens / tokens), Math.floor(n / tokens) % tokens, n % tokens];
        const want = -slopes[h] * Math.abs(i - j);
        assert.ok(
          Math.abs(added - want) <= 2 ** -20 * (1 + Math.abs(raw[n]) + Math.abs(content[n])),
          `${h}, ${i}, ${j}`,
        );
      });
    }
    own.dispose();
  });

  test(`${name} is what replaceEncoding makes with ALiBi, and other without it`, async () => {
    const before = inUse(rw);
    const model = tinyModel(name);
    const own = await loaded(model);
    const ids = idsOf(model, 20, 3);
    const want = logitsOf(own, ids);
    const alibi = await replaceEncoding(own, { encoding: 'alibi' }, { maxLength: 30 });
    assertSameBits(logitsOf(alibi, ids), want);
    const without = await replaceEncoding(own, { encoding: 'none' });
    assert.ok(farthest(logitsOf(without, ids), want) > 0.01);
    for (const each of [own, alibi, without]) each.dispose();
    assert.deepEqual(inUse(rw), before);
  });
}

for (const [name, encoding] of [['bloom'], ['llama2', 'alibi'], ['roformer', 'none']]) {
  test(`${name}${encoding ? ` with encoding ${encoding}` : ''} refuses positions, which nothing in it uses`, async () => {
    const own = await loaded(tinyModel(name));
    const model = encoding ? await replaceEncoding(own, { encoding }) : own;
    assert.throws(() => model.forward([1, 2, 3], { positions: [0, 5, 9] }), {
      name: 'ArgumentRangeError',
      argument: 'positions',
      message: /are for .*absolute or rotary/,
    });
    assert.ok(model.forward([1, 2, 3]));
    for (const each of new Set([own, model])) each.dispose();
  });
}

for (const name of ['gpt2', 'opt']) {
  test(`${name} has no vectors for positions before 0, and says so`, async () => {
    const own = await loaded(tinyModel(name));
    const refused = (argument) => ({ name: 'ArgumentRangeError', argument, message: /is -1; expected/ });
    assert.throws(() => own.forward([1, 2], { offset: -1 }), refused('offset'));
    assert.throws(() => own.forward([1, 2], { positions: [0, -1] }), refused('positions'));
    own.dispose();
  });
}

test('OPT counts the tokens that are not padding, GPT-2 counts all', async () => {
  const padded = [1, 1, 5, 6, 7, 8];
  const attentionMask = [0, 0, 1, 1, 1, 1];
  for (const [name, isClose] of [
    ['opt', true],
    ['gpt2', false],
  ]) {
    const own = await loaded(tinyModel(name));
    const alone = own.forward([5, 6, 7, 8]).logits.data;
    const off = (options) => farthest(own.forward(padded, { attentionMask, ...options }).logits.data, alone);
    assert.equal(off({}) < 1e-4, isClose, `${name}: ${off({})}`);
    assert.ok(off({ positions: [0, 0, 0, 1, 2, 3] }) < 1e-4, name);
    assert.ok(off({ offset: 0 }) > 0.01, `${name}: what is given counts`);
    const rows = own.forward([padded, [5, 6, 7, 8, 1, 1]], {
      attentionMask: [attentionMask, [1, 1, 1, 1, 0, 0]],
      logits: 'all',
    }).logits;
    const [, tokens, vocab] = rows.shape;
    const at = (row, token) => rows.data.subarray((row * tokens + token) * vocab, (row * tokens + token + 1) * vocab);
    assert.equal(farthest(at(0, 5), at(1, 3)) < 1e-4, isClose, name);
    own.dispose();
  }
});

test('RoPE in place of ALiBi may be changed again', async () => {
  const model = tinyModel('bloom-6');
  const own = await loaded(model);
  const turned = await replaceEncoding(own, { encoding: 'rope' });
  const other = turned.withRope({ base: 100 });
  const ids = idsOf(model, 20, 4);
  assert.ok(farthest(logitsOf(turned, ids), logitsOf(own, ids)) > 0.01);
  assert.ok(farthest(logitsOf(turned, ids), logitsOf(other, ids)) > 0.01);
  for (const each of [own, turned, other]) each.dispose();
});

test('an encoder with ALiBi refuses positions of its tokens', async () => {
  const own = await loaded(tinyModel('jina-bert'));
  assert.throws(() => own.forward([1, 2], { positions: [3, 4] }), {
    name: 'ArgumentRangeError',
    argument: 'positions',
  });
  own.dispose();
});

test('learned positions are not replaced', async () => {
  const own = await loaded(tinyModel('gpt2'));
  await assert.rejects(replaceEncoding(own, { encoding: 'none' }), { name: 'ArgumentRangeError', argument: 'model' });
  own.dispose();
});
