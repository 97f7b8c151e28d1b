// Models from files, in Chromium and Firefox: loaded, inspected and run with the package's results; in several files,
// with a tokenizer, cancelled.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { ggufOf } from '../models/tiny/gguf.mjs';
import { ggufOfT5 } from '../models/tiny/gguf-t5.mjs';
import { tinyModel } from '../models/tiny/models.mjs';
import { writeSafetensors } from '../ts/support/safetensors.mjs';
import { fileOfModel, tinyBert, tinyLlama } from '../ts/support/tiny-models.mjs';
import {
  atLoad,
  barOf,
  browsers,
  file,
  filesOf,
  give,
  isLoaded,
  isSeen,
  isWithout,
  noticesOf,
  of,
  path,
  says,
  start,
  wideFiles,
  write,
} from './playground.mjs';
import { until } from './site.mjs';

let all;
let core;
before(async () => {
  [all, core] = await Promise.all([start(), load({ simd: 'deterministic' })]);
});
after(() => all?.end());
afterEach(() => all.site.releaseAll());

const capture = ['content', 'position', 'biased', 'probabilities'];

// Vocabularies of words between spaces.
const tokenizerOf = (model, added = []) => ({
  ...{ added_tokens: added, normalizer: null, pre_tokenizer: { type: 'WhitespaceSplit' } },
  ...{ post_processor: null, decoder: null },
  model: { type: 'WordPiece', continuing_subword_prefix: '##', ...model },
});

const textsOf = (page, selector) =>
  page.evaluate((s) => Array.from(document.querySelectorAll(s), ({ textContent }) => textContent), selector);

for (const browser of browsers) {
  test(`a model that is dropped is loaded, and runs as the package runs it (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const made = tinyLlama();
    const [config, weights] = filesOf(made);
    await give(page, [config]);
    assert.match(await noticesOf(page, 'model'), /config\.json\. A file that ends in \.safetensors is still missing/);
    await give(page, [weights], 'drop');
    await isLoaded(page);
    await isSeen(page);
    const ids = [7, 21, 4, 9, 21, 4, 30, 7];
    const model = await loadModel(core, { config: made.config, weights: fileOfModel(made) });
    const { captured, logits } = model.forward(ids, { capture, captureLayers: [1], logits: 'all' });
    await of(page, 'look').press('Layer', 'End');
    await until(async () => /^Layer 2/.test(await of(page, 'look').summary()), 'layer 2');
    await of(page, 'look').press('Head', 'End');
    const tables = await of(page, 'look').tables();
    for (const [i, name] of capture.entries()) {
      const map = captured[0][name].data.subarray(3 * 64, 4 * 64);
      for (const [cell, value] of tables[i].flat().entries()) {
        assert.ok(Number.isNaN(value) ? cell % 8 > Math.floor(cell / 8) : value === map[cell], `${name}, cell ${cell}`);
      }
    }
    const row = Array.from(logits.data.subarray(7 * 41, 8 * 41));
    const total = row.reduce((sum, x) => sum + Math.exp(x), 0);
    const best = row.map((x, id) => ({ id, p: Math.exp(x) / total })).sort((a, b) => b.p - a.p);
    for (const [i, [probability, own]] of tables[4].entries()) {
      assert.ok(Math.abs(probability - best[i].p) < 1e-12 && own === probability);
    }

    await of(page, 'write').press('Temperature', 'Home');
    await of(page, 'write').choose('Generate');
    await until(async () => /^32 tokens/.test(await of(page, 'write').summary()), 'tokens');
    const expected = [];
    for await (const { token } of model.generate(ids, { maxTokens: 32, temperature: 0 })) expected.push(token);
    model.dispose();
    const [written] = await of(page, 'write').tables();
    assert.deepEqual(
      written.map(([id]) => id),
      expected,
    );
    assert.deepEqual((await textsOf(page, `${path('write')} .tokens li`)).map(Number), expected);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`another rotary encoding takes the place of the model’s, as withRope() has it (${browser})`, async () => {
    const state =
      'playground.look.wish=yarn&playground.look.factor=8&playground.look.base=100&playground.look.ids=5+3+5+9';
    const { page, complaints, close } = await all.fresh(browser, state);
    const made = tinyLlama();
    await give(page, filesOf(made));
    await isLoaded(page);
    await isSeen(page);
    const tables = await of(page, 'look').tables();
    const own = await loadModel(core, { config: made.config, weights: fileOfModel(made) });
    const originalLength = made.config.max_position_embeddings ?? 2048;
    const model = own.withRope({ base: 100, scaling: { type: 'yarn', factor: 8, originalLength } });
    const [scores] = model.forward([5, 3, 5, 9], { capture, captureLayers: [0], logits: 'none' }).captured;
    for (const [i, name] of capture.entries()) {
      for (const [cell, value] of tables[i].flat().entries()) {
        assert.ok(Number.isNaN(value) || value === scores[name].data[cell], `${name}, cell ${cell}`);
      }
    }
    model.dispose();
    own.dispose();
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`the length of the training is found under the names that configs have for it (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    for (const [name, length] of [
      ['gpt2', 48],
      ['gptj', 64],
      ['llama4-images', 64],
    ]) {
      const model = tinyModel(name);
      await give(page, [
        file('config.json', JSON.stringify(model.config)),
        file('model.safetensors', fileOfModel(model)),
      ]);
      await until(async () => (await of(page, 'model').tables())[0]?.at(-1)[0] === length, `${length} for ${name}`);
    }
    // The maps of the last model, whose first layer sees chunks of 4 tokens.
    await until(async () => (await of(page, 'look').tables()).length > 0, 'maps');
    const [scores, , , weights] = await of(page, 'look').tables();
    for (const [query, row] of scores.entries()) {
      for (const [key, score] of row.entries()) {
        const isSeenKey = key <= query && Math.floor(key / 4) === Math.floor(query / 4);
        assert.equal(Number.isNaN(score), !isSeenKey, `query ${query}, key ${key}`);
        assert.equal(weights[query][key] > 0, isSeenKey);
      }
    }
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`maps of the reader’s model are saved as numbers and as a picture (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    await give(page, filesOf(tinyLlama()));
    await isLoaded(page);
    await isSeen(page);
    await page.evaluate(() => {
      globalThis.saved = [];
      const create = URL.createObjectURL;
      URL.createObjectURL = (made) => {
        globalThis.saved.push(made);
        return create(made);
      };
      HTMLAnchorElement.prototype.click = () => undefined;
    });
    const saved = (count) => until(() => page.evaluate((n) => globalThis.saved.length === n, count), 'a file');
    const tables = await of(page, 'look').tables();
    await of(page, 'look').choose('Save numbers (JSON)');
    await saved(1);
    const json = JSON.parse(await page.evaluate(() => globalThis.saved[0].text()));
    assert.equal(json.figure, 'playground-look');
    assert.deepEqual(
      json.tables.map(({ rows }) => rows.map(({ values }) => values.map((value) => value ?? Number.NaN))),
      tables,
    );
    await of(page, 'look').choose('View as picture');
    await of(page, 'look').choose('Save picture (PNG)');
    await saved(2);
    const { width, height } = await page.evaluate(async () => {
      const { width, height } = await createImageBitmap(globalThis.saved[1]);
      return { width, height };
    });
    assert.ok(width > 800 && height > 400, `${width} x ${height}`);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a model in parts needs its index and all of them, and stays when the language changes (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const { config, tensors } = tinyLlama();
    const entries = Object.entries(tensors);
    const halves = [entries.slice(0, 9), entries.slice(9)];
    const nameOf = (i) => `model-0000${i + 1}-of-00002.safetensors`;
    const map = Object.fromEntries(halves.flatMap((half, i) => half.map(([name]) => [name, nameOf(i)])));
    const parts = halves.map((half, i) => file(nameOf(i), writeSafetensors(half)));
    const index = file('model.safetensors.index.json', JSON.stringify({ weight_map: map }));
    const settings = file('config.json', JSON.stringify(config));
    await give(page, [settings, parts[0]]);
    assert.match(await noticesOf(page, 'model'), /index\.json is still missing/);
    await give(page, [index]);
    await says(page, 'model', new RegExp(`The index names more parts, which are still missing: ${nameOf(1)}\\.`));
    await give(page, [parts[1]]);
    await isLoaded(page);
    assert.equal(await noticesOf(page, 'model'), '');
    // What is not whole does not take the place of what is there.
    await give(page, [settings, index, parts[1]]);
    await says(page, 'model', new RegExp(`still missing: ${nameOf(0)}\\.`));
    assert.match(await of(page, 'model').summary(), /parameters in/);
    await give(page, [file('model.safetensors.index.json', '{'), settings]);
    await says(page, 'model', /The package says: .*index/);
    await give(page, [settings, index, ...parts]);
    await isLoaded(page);
    await page.evaluate(() => document.getElementById('language').click());
    await until(async () => /^第 1 层/.test(await of(page, 'look').summary()), 'the maps in Chinese');
    assert.match(await of(page, 'model').summary(), /^llama，/);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`an encoder fills places, names come from tokenizer.json, and what cannot be is said (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser, 'playground.look.ids=the+cat+ran');
    const vocab = { '[UNK]': 0, the: 4, cat: 5, ran: 3 };
    const added = [{ id: 7, content: '[MASK]', special: true, normalized: false }];
    const tokenizer = tokenizerOf({ unk_token: '[UNK]', max_input_chars_per_word: 100, vocab }, added);
    const model = filesOf(tinyBert({ position_embedding_type: 'relative_key_query' }));
    await give(page, model);
    await isLoaded(page);
    await says(page, 'look', /“the” is no id/);
    await give(page, [...model, file('tokenizer.json', JSON.stringify(tokenizer))]);
    await isSeen(page);
    await says(page, 'look', /no rotary encoding to replace.*relative_key_query/);
    const names = async () =>
      (await textsOf(page, `${path('look')} .field-box:first-child .field-rows span`)).filter((text) => text !== '');
    await until(async () => String(await names()) === '0 · the,1 · cat,2 · ran', 'names of the places');
    assert.match((await textsOf(page, `${path('look')} table caption`)).at(-1), /Likeliest tokens in place 2/);
    assert.match(await noticesOf(page, 'write'), /An encoder sees both sides/);
    await write(page, 'look', 'the [MASK] ran');
    await until(async () => (await names())[1] === '1 · [MASK]', 'names again');
    await write(page, 'look', '99');
    await says(page, 'look', /model\.forwardAsync: ids/);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`with a tokenizer a decoder reads text and goes on with it (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(
      browser,
      'playground.look.ids=the+cat+ran&playground.write.temperature=0',
    );
    const vocab = Object.fromEntries(Array.from({ length: 41 }, (_, id) => [`word${id}`, id]));
    const words = { ...vocab, the: 4, cat: 5, ran: 3 };
    for (const id of [3, 4, 5]) delete words[`word${id}`];
    const made = tinyLlama();
    const tokenizer = tokenizerOf({ unk_token: 'word0', vocab: words });
    await give(page, [...filesOf(made), file('tokenizer.json', JSON.stringify(tokenizer))]);
    await isLoaded(page);
    await of(page, 'write').choose('Generate');
    await until(async () => /^32 tokens/.test(await of(page, 'write').summary()), 'tokens');
    const model = await loadModel(core, { config: made.config, weights: fileOfModel(made) });
    const expected = ['the', 'cat', 'ran'];
    const names = Object.fromEntries(Object.entries(words).map(([name, id]) => [id, name]));
    for await (const { token } of model.generate([4, 5, 3], { maxTokens: 32, temperature: 0 }))
      expected.push(names[token]);
    model.dispose();
    assert.deepEqual(await textsOf(page, `${path('write')} .written`), [expected.join(' ')]);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a GGUF file is enough, in one part or two, and reads text by its own tokenizer (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(
      browser,
      'playground.look.ids=abc&playground.write.temperature=0',
    );
    const letters = Array.from({ length: 41 }, (_, i) => (i < 26 ? String.fromCharCode(97 + i) : `${i}`));
    const vocabulary = ({ metadata }) => ({
      metadata: {
        ...metadata,
        'tokenizer.ggml.model': ['str', 'gpt2'],
        'tokenizer.ggml.pre': ['str', 'gpt-2'],
        'tokenizer.ggml.tokens': [['str'], letters],
        'tokenizer.ggml.merges': [['str'], []],
      },
    });
    const made = tinyLlama();
    const gguf = ggufOf(made, undefined, vocabulary);
    await give(page, [file('model.gguf', gguf)], 'drop');
    await isLoaded(page);
    assert.equal(await noticesOf(page, 'model'), '');
    await of(page, 'write').choose('Generate');
    await until(async () => /^32 tokens/.test(await of(page, 'write').summary()), 'tokens');
    const model = await loadModel(core, { gguf });
    let expected = 'abc';
    for await (const { token } of model.generate([0, 1, 2], { maxTokens: 32, temperature: 0 }))
      expected += letters[token];
    model.dispose();
    assert.deepEqual(await textsOf(page, `${path('write')} .written`), [expected]);

    // The first part is asked for by name, then the second.
    const half = (number) => (contents) => {
      const { metadata, tensors } = { ...contents, ...vocabulary(contents) };
      const entries = Object.entries(tensors);
      const own = number === 0 ? entries.slice(0, 4) : entries.slice(4);
      const split = { 'split.no': ['u16', number], 'split.count': ['u16', 2] };
      return { metadata: { ...metadata, ...split }, tensors: Object.fromEntries(own) };
    };
    const parts = [0, 1].map((i) => file(`m-0000${i + 1}-of-00002.gguf`, ggufOf(made, undefined, half(i))));
    await give(page, [parts[1]], 'drop');
    assert.match(await noticesOf(page, 'model'), /These are parts of a \.gguf; the first is still missing\.$/);
    await give(page, parts, 'drop');
    await isLoaded(page);
    await give(page, [parts[0]], 'drop');
    await says(page, 'model', /m-00002-of-00002\.gguf\.$/);
    await give(page, [file('broken.gguf', gguf.slice(0, 2000))], 'drop');
    await says(page, 'model', /^The package says: .*broken\.gguf/);
    await give(page, [file('both.gguf', ggufOfT5(tinyModel('t5-both'), 't5'))], 'drop');
    await says(page, 'model', /both\.gguf has an encoder and a decoder/);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a load that is cancelled halfway gives all its memory back (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const used = async () => (await of(page, 'model').tables()).at(-1).find((_, i, { length }) => i === length - 3)[0];
    const [config, weights] = filesOf(tinyLlama());
    await give(page, [config, { ...weights, base64: weights.base64.slice(0, 60) }]);
    await says(page, 'model', /The package says/);
    const before = await used();
    const middle = all.site.hold(atLoad(0.3));
    await give(page, wideFiles(4, 4));
    await middle.reached;
    await until(async () => (await barOf(page, 'model')) >= 0.3, 'the bar');
    // Twice: the second one finds nothing to end, or what is on its way out.
    await of(page, 'model').choose('Cancel', 'Cancel');
    await middle.release();
    const isOver = () => page.evaluate((s) => document.querySelector(`${s} .work`).hidden, path('model'));
    await until(isOver, 'the end of it');
    assert.equal(await used(), before);
    await isWithout(page);
    await give(page, filesOf(tinyLlama()));
    await isLoaded(page);
    assert.deepEqual(complaints, []);
    await close();
  });
}
