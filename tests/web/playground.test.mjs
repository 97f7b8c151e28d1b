// The playground: its maps are the package's numbers, and a model that is dropped is loaded, looked at and run as the
// package does it; in Chromium, and what needs no files of the disk in Firefox as well.
import assert from 'node:assert/strict';
import { mkdtemp, open as openFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { writeSafetensors } from '../ts/support/safetensors.mjs';
import { fileOfModel, tinyBert, tinyLlama } from '../ts/support/tiny-models.mjs';
import { figureOf, launch, launchFirefox, open, serve, until } from './site.mjs';

let site;
let chromium;
let firefox;
let core;
let folder;
const pages = {};
before(async () => {
  [site, chromium, firefox, core, folder] = await Promise.all([
    serve(),
    launch(),
    launchFirefox(),
    load({ simd: 'deterministic' }),
    mkdtemp(join(tmpdir(), 'playground-')),
  ]);
  pages.Chromium = await open(chromium, site.address, { hash: '#lang=en' });
  pages.Firefox = await firefox.open(site.address, { hash: '#lang=en' });
});
after(async () => {
  await chromium?.close();
  await firefox?.close();
  site?.close();
  await rm(folder, { recursive: true });
});

const of = (page, name) => figureOf(page, 'playground', name);
const path = (name) => `#figure-playground-${name}`;
const noticeOf = (page, name) => of(page, name).notice();
const hashOf = (page) => new URL(page.url()).hash;
const fresh = (state, options = {}) => open(chromium, site.address, { hash: `#lang=en&${state}`, ...options });
const isLoaded = (page) => until(async () => /weights in/.test(await of(page, 'model').summary()), 'the model', 20000);
const isSeen = (page) => until(async () => /^Layer/.test(await of(page, 'look').summary()), 'the maps', 10000);

// A program of the page in Node, with the package of this checkout, which is asked for by its file.
async function run(code) {
  const own = (name) => JSON.stringify(new URL(`../../dist/${name}.js`, import.meta.url).href);
  const program = code.replace("'ropewalk'", own('index')).replace("'ropewalk/models'", own('models'));
  const { result } = await import(`data:text/javascript,${encodeURIComponent(`${program}\nexport { result };`)}`);
  return result.flat();
}

// What went through an engine's own exp or log may differ in its last bits.
const same = (shown, computed, tolerance = 0) => {
  assert.ok(shown.length > 0);
  assert.equal(shown.length, computed.length);
  for (const [i, value] of shown.entries()) {
    const isNear = Number.isNaN(value) || Math.abs(value - computed[i]) <= tolerance;
    assert.ok(isNear, `number ${i}: ${value}, computed ${computed[i]}`);
  }
};

const filesOf = ({ config, ...model }) => [
  { name: 'config.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(config)) },
  {
    name: 'model.safetensors',
    mimeType: 'application/octet-stream',
    buffer: Buffer.from(fileOfModel({ config, ...model })),
  },
];
const give = (page, files) => page.locator(`${path('model')} input[type=file]`).setInputFiles(files);

const encodings = [
  ...['None', 'Sinusoidal', 'RoPE, halves', 'RoPE, neighbours', 'ALiBi', 'T5', 'KERPLE', 'Shaw', 'BERT: key'],
  ...['BERT: key and query', 'Huang’s M3'],
];

for (const browser of ['Chromium', 'Firefox']) {
  test(`every encoding of the stack shows what its program computes, content + position = score (${browser})`, async () => {
    const { page, complaints } = pages[browser];
    const figure = of(page, 'stack');
    const seen = new Set();
    for (const encoding of encodings) {
      await figure.choose(encoding);
      const tables = await figure.tables();
      same(tables.flat(2), await run(await figure.code()));
      const [content, position, score, weights] = tables.map((table) => table.flat());
      for (const [i, sum] of score.entries()) {
        // Two roundings to float32 of numbers below 8.
        assert.ok(
          Math.abs(sum - content[i] - position[i]) < 8 * 1.2e-7,
          `${encoding}, cell ${i}: ${[content[i], position[i], sum]}`,
        );
      }
      for (const row of tables[3]) assert.ok(Math.abs(row.reduce((a, b) => a + b) - 1) < 1e-5);
      const isStill = encoding === 'None' || encoding === 'Sinusoidal';
      assert.equal(
        position.every((value) => value === 0),
        isStill,
        encoding,
      );
      seen.add(weights.join());
    }
    assert.equal(seen.size, encodings.length, 'each encoding gives other weights');
    await figure.choose('Reset');
    assert.deepEqual(complaints, []);
  });

  test(`a small decoder is made, looked at, and writes what the package writes (${browser})`, async () => {
    const { page, complaints } = pages[browser];
    assert.match(await noticeOf(page, 'look'), /^First load a model/);
    await of(page, 'model').choose('Make a small decoder for me');
    await isLoaded(page);
    await isSeen(page);
    same((await of(page, 'look').tables()).flat(2), await run(await of(page, 'look').code()), 1e-12);
    await of(page, 'write').choose('Generate');
    await until(async () => /^32 tokens/.test(await of(page, 'write').summary()), 'tokens', 20000);
    const [tokens] = await of(page, 'write').tables();
    same(tokens.flat(), await run(await of(page, 'write').code()), 1e-12);

    // Without rotation the first layer's content is as it was, and nothing comes from position.
    const [content] = await of(page, 'look').tables();
    await of(page, 'look').choose('none');
    await until(async () => /Some weight differs/.test(await of(page, 'look').summary()), 'the change');
    const [still, position] = await of(page, 'look').tables();
    assert.deepEqual(still, content);
    assert.ok(position.flat().every((value) => Number.isNaN(value) || value === 0));
    same((await of(page, 'look').tables()).flat(2), await run(await of(page, 'look').code()), 1e-12);
    assert.match(await of(page, 'write').summary(), /^Nothing is generated/, 'what was written is of another encoding');
    await of(page, 'write').choose('Generate');
    await until(async () => /^32 tokens/.test(await of(page, 'write').summary()), 'tokens', 20000);
    const [others] = await of(page, 'write').tables();
    same(others.flat(), await run(await of(page, 'write').code()), 1e-12);
    assert.notDeepEqual(others, tokens);
    for (const name of ['look', 'model']) await of(page, name).choose('Reset');
    await until(async () => /no model/.test(await of(page, 'model').summary()), 'no model');
    assert.deepEqual(complaints, []);
  });
}

test('a model that is dropped is loaded, and runs as the package runs it', async () => {
  const { page, complaints, close } = await fresh('');
  const made = tinyLlama();
  await give(page, filesOf(made).slice(0, 1));
  assert.match(await noticeOf(page, 'model'), /config\.json\. A file that ends in \.safetensors is missing still/);
  // Dropped, not picked: the bytes go into a File of the page.
  await page.evaluate(
    ([selector, bytes]) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([Uint8Array.from(bytes)], 'model.safetensors'));
      const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
      document.querySelector(`${selector} .drop-zone`).dispatchEvent(event);
    },
    [path('model'), [...fileOfModel(made)]],
  );
  await isLoaded(page);
  await isSeen(page);
  const ids = [7, 21, 4, 9, 21, 4, 30, 7];
  const model = await loadModel(core, { config: made.config, weights: fileOfModel(made) });
  const capture = ['content', 'position', 'biased', 'probabilities'];
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
  await until(async () => /^32 tokens/.test(await of(page, 'write').summary()), 'tokens', 20000);
  const expected = [];
  for await (const { token } of model.generate(ids, { maxTokens: 32, temperature: 0 })) expected.push(token);
  model.dispose();
  const [written] = await of(page, 'write').tables();
  assert.deepEqual(
    written.map(([id]) => id),
    expected,
  );
  assert.deepEqual(
    await page.evaluate((selector) => {
      document.querySelector(`${selector} .table-button`).click();
      return Array.from(document.querySelectorAll(`${selector} .tokens li`), (item) => Number(item.textContent));
    }, path('write')),
    expected,
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('a model in parts needs its index and all of them, and stays when the language changes', async () => {
  const { page, complaints, close } = await fresh('');
  const { config, tensors } = tinyLlama();
  const entries = Object.entries(tensors);
  const halves = [entries.slice(0, 9), entries.slice(9)];
  const nameOf = (i) => `model-0000${i + 1}-of-00002.safetensors`;
  const map = Object.fromEntries(halves.flatMap((half, i) => half.map(([name]) => [name, nameOf(i)])));
  const file = (name, bytes) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(bytes) });
  const parts = halves.map((half, i) => file(nameOf(i), writeSafetensors(half)));
  const index = file('model.safetensors.index.json', JSON.stringify({ weight_map: map }));
  await give(page, [file('config.json', JSON.stringify(config)), parts[0]]);
  assert.match(await noticeOf(page, 'model'), /index\.json is missing still/);
  await give(page, [index]);
  await until(
    () => page.locator(`${path('model')} .notice`, { hasText: `${nameOf(1)} is named by the index` }).count(),
    'a part that is missing',
  );
  await give(page, [file('config.json', JSON.stringify(config)), index, ...parts]);
  await isLoaded(page);
  await page.evaluate(() => document.getElementById('language').click());
  await until(async () => /^第 1 层/.test(await of(page, 'look').summary()), 'the maps in Chinese', 20000);
  assert.match(await of(page, 'model').summary(), /^llama，/);
  assert.deepEqual(complaints, []);
  await close();
});

test('an encoder fills places, names come from tokenizer.json, and what cannot be is said', async () => {
  const { page, complaints, close } = await fresh('playground.look.ids=the+cat+ran');
  const vocab = { '[UNK]': 0, the: 4, cat: 5, ran: 3 };
  const tokenizer = {
    added_tokens: [{ id: 7, content: '[MASK]', special: true, normalized: false }],
    ...{ normalizer: null, pre_tokenizer: { type: 'WhitespaceSplit' }, post_processor: null, decoder: null },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab,
    },
  };
  await give(page, filesOf(tinyBert({ position_embedding_type: 'relative_key_query' })));
  await isLoaded(page);
  await until(async () => /“the” is no id/.test(await noticeOf(page, 'look')), 'a word without a vocabulary');
  const withNames = {
    name: 'tokenizer.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(tokenizer)),
  };
  await give(page, [...filesOf(tinyBert({ position_embedding_type: 'relative_key_query' })), withNames]);
  await isSeen(page);
  assert.match(await noticeOf(page, 'look'), /no rotary encoding to replace.*relative_key_query/);
  const names = () =>
    page.evaluate(
      (selector) =>
        Array.from(
          document.querySelectorAll(`${selector} .field`)[0].querySelectorAll('.field-rows span'),
          (s) => s.textContent,
        ),
      path('look'),
    );
  assert.deepEqual(await names(), ['1 · the', '2 · cat', '3 · ran']);
  assert.match(
    await page
      .locator(`${path('look')} table caption`)
      .last()
      .textContent(),
    /Likeliest tokens in place 3/,
  );
  assert.match(await noticeOf(page, 'write'), /An encoder sees both sides/);
  await page.locator(`${path('look')} input[type=text]`).fill('the [MASK] ran');
  await until(async () => (await names())[1] === '2 · [MASK]', 'names again');
  await page.locator(`${path('look')} input[type=text]`).fill('99');
  await until(
    () => page.locator(`${path('look')} .notice`, { hasText: 'model.forward: ids' }).isVisible(),
    'an id too large',
  );
  assert.deepEqual(complaints, []);
  await close();
});

test('with a tokenizer a decoder reads text and goes on with it', async () => {
  const { page, complaints, close } = await fresh('playground.look.ids=the+cat+ran&playground.write.temperature=0');
  const vocab = Object.fromEntries(Array.from({ length: 41 }, (_, id) => [`word${id}`, id]));
  const words = { ...vocab, the: 4, cat: 5, ran: 3 };
  for (const id of [3, 4, 5]) delete words[`word${id}`];
  const tokenizer = {
    ...{ added_tokens: [], normalizer: null, pre_tokenizer: { type: 'WhitespaceSplit' } },
    ...{ post_processor: null, decoder: null },
    model: { type: 'WordPiece', unk_token: 'word0', continuing_subword_prefix: '##', vocab: words },
  };
  const made = tinyLlama();
  const buffer = Buffer.from(JSON.stringify(tokenizer));
  await give(page, [...filesOf(made), { name: 'tokenizer.json', mimeType: 'application/json', buffer }]);
  await isLoaded(page);
  await of(page, 'write').choose('Generate');
  await until(async () => /^32 tokens/.test(await of(page, 'write').summary()), 'tokens', 20000);
  const model = await loadModel(core, { config: made.config, weights: fileOfModel(made) });
  const expected = ['the', 'cat', 'ran'];
  const names = Object.fromEntries(Object.entries(words).map(([name, id]) => [id, name]));
  for await (const { token } of model.generate([4, 5, 3], { maxTokens: 32, temperature: 0 }))
    expected.push(names[token]);
  model.dispose();
  assert.equal(await page.locator(`${path('write')} .written`).textContent(), expected.join(' '));
  assert.deepEqual(complaints, []);
  await close();
});

test('a damaged file is refused in the package’s words, and the next one works', async () => {
  const { page, complaints, close } = await fresh('');
  const [config, weights] = filesOf(tinyLlama());
  const said = () =>
    page
      .locator(`${path('model')} .notice`)
      .last()
      .textContent();
  await give(page, [config, { ...weights, buffer: weights.buffer.subarray(0, weights.buffer.length - 100) }]);
  await until(async () => /^The package says: .*model\.safetensors/.test(await said()), 'a truncated file');
  const bad = { ...config, buffer: Buffer.from('{"model_type": "gpt_j"}') };
  await give(page, [bad, weights]);
  await until(async () => /gpt_j/.test(await said()), 'an unknown architecture');
  await give(page, [{ ...config, buffer: Buffer.from('{') }, weights]);
  await until(async () => /config\.json: /.test(await said()), 'no JSON');
  await give(page, [config, weights]);
  await isLoaded(page);
  assert.equal(await said(), '');
  assert.deepEqual(complaints, []);
  await close();
});

test('a load that is cancelled halfway gives all its memory back', async () => {
  const { page, complaints, close } = await fresh('');
  const used = async () => (await of(page, 'model').tables()).at(-1).find((_, i, { length }) => i === length - 3)[0];
  const [config, weights] = filesOf(tinyLlama());
  await give(page, [config, { ...weights, buffer: weights.buffer.subarray(0, 50) }]);
  await until(() => page.locator(`${path('model')} .notice`, { hasText: 'The package says' }).count(), 'the refusal');
  const before = await used();
  // Zeros as large as it takes: 300 MB that lie nowhere.
  const large = tinyLlama({ vocab_size: 41, hidden_size: 24 });
  large.config.vocab_size = 1_500_000;
  const header = {};
  let at = 0;
  for (const [name, { shape }] of Object.entries(large.tensors)) {
    const real = shape[0] === 41 ? [1_500_000, 24] : shape;
    const bytes = 4 * real.reduce((a, b) => a * b);
    header[name] = { dtype: 'F32', shape: real, data_offsets: [at, at + bytes] };
    at += bytes;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  await writeFile(join(folder, 'model.safetensors'), Buffer.concat([length, text]));
  const file = await openFile(join(folder, 'model.safetensors'), 'r+');
  await file.truncate(8 + text.length + at);
  await file.close();
  await writeFile(join(folder, 'config.json'), JSON.stringify(large.config));
  await page.evaluate((selector) => {
    const bar = document.querySelector(`${selector} progress`);
    const observer = new MutationObserver(() => {
      if (!(bar.value > 0.2)) return;
      observer.disconnect();
      globalThis.cancelledAt = bar.value;
      bar.parentElement.querySelector('button').click();
    });
    observer.observe(bar, { attributes: true });
  }, path('model'));
  await give(page, [join(folder, 'config.json'), join(folder, 'model.safetensors')]);
  const share = await until(() => page.evaluate(() => globalThis.cancelledAt), 'the middle of the load', 30000);
  assert.ok(share > 0.2 && share < 0.9, `${share}`);
  await until(() => page.evaluate((s) => document.querySelector(`${s} .work`).hidden, path('model')), 'the end of it');
  assert.equal(await used(), before);
  assert.match(await of(page, 'model').summary(), /no model/);
  await give(page, filesOf(tinyLlama()));
  await isLoaded(page);
  assert.deepEqual(complaints, []);
  await close();
});

test('generating can be stopped, and keeps what is written', async () => {
  const { page, complaints, close } = await fresh('playground.model.tiny=decoder&playground.write.length=256');
  await isLoaded(page);
  await of(page, 'write').choose('Generate');
  await until(async () => Number(/^(\d+) tokens/.exec(await of(page, 'write').summary())?.[1]) > 3, 'some tokens');
  await of(page, 'write').choose('Stop');
  await until(() => page.locator(`${path('write')} .work`, { hasText: 'Stopped.' }).isVisible(), 'the end');
  const [written] = await of(page, 'write').tables();
  assert.ok(written.length > 3 && written.length < 256, `${written.length} tokens`);
  assert.deepEqual(complaints, []);
  await close();
});

const linked =
  'playground.stack.encoding=interleaved&playground.stack.heads=8&playground.stack.kv=2&playground.stack.causal=1' +
  '&playground.stack.window=3&playground.stack.sinks=1&playground.stack.layers=3&playground.stack.base=100' +
  '&playground.stack.scaling=yarn&playground.stack.factor=16&playground.stack.seed=7&playground.stack.view=biased' +
  '&playground.model.tiny=decoder&playground.model.seed=3&playground.look.ids=1+2+3+1+2&playground.look.layer=2' +
  '&playground.look.wish=ntk&playground.look.base=1000&playground.look.view=probabilities&playground.write.topK=5';

test('a link brings the same pictures, the small model included; back undoes', async () => {
  const { page, complaints, close } = await fresh(linked);
  await isSeen(page);
  const all = async (at) => {
    await isSeen(at);
    const found = [];
    for (const name of ['stack', 'look']) found.push(await of(at, name).tables());
    return found;
  };
  const shown = await all(page);
  assert.deepEqual([shown[0].length, shown[1].length], [8, 5], 'eight heads; four heads and the tokens');
  same(shown[0].flat(2), await run(await of(page, 'stack').code()));
  same(shown[1].flat(2), await run(await of(page, 'look').code()), 1e-12);
  await of(page, 'stack').press('Seed', 'ArrowRight');
  await until(() => hashOf(page).includes('playground.stack.seed=8'), 'the seed in the address');
  const copy = await open(chromium, page.url(), { locale: 'zh-CN' });
  await isSeen(copy.page);
  assert.deepEqual(await all(copy.page), await all(page));
  await copy.close();
  await page.goBack();
  await until(async () => !hashOf(page).includes('seed=8'), 'the seed before');
  assert.deepEqual((await all(page))[0], shown[0]);
  assert.deepEqual(complaints, []);
  await close();
});

test('a window hides what is far, but for the first words; and cells are walked by keyboard', async () => {
  const { page, close } = await fresh(
    'playground.stack.window=2&playground.stack.sinks=1&playground.stack.causal=1&playground.stack.view=probabilities',
  );
  const [weights] = await of(page, 'stack').tables();
  for (const [row, cells] of weights.entries()) {
    for (const [column, value] of cells.entries()) {
      const isSeen = column <= row && (row - column < 2 || column === 0);
      assert.equal(Number.isNaN(value), !isSeen, `${row}, ${column}`);
    }
  }
  await of(page, 'stack').choose('View as picture');
  const plot = page.locator(`${path('stack')} .field-plot`).first();
  const readout = () => page.locator(`${path('stack')} .readout`).textContent();
  await plot.focus();
  await page.keyboard.press('ArrowDown');
  assert.match(await readout(), /^head 1, weight: 2 · dog looks at 1 · the, 0\.\d{3}$/);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  assert.match(await readout(), /^head 1: 2 · dog may not look at 3 · chased$/);
  await page.keyboard.press('End');
  assert.match(await readout(), /9 · ran/);
  await plot.hover({ position: { x: 4, y: 4 } });
  assert.match(await readout(), /1 · the looks at 1 · the, 1\.000/);
  await close();
});

for (const lang of ['en', 'zh']) {
  for (const theme of ['light', 'dark']) {
    test(`with a model there is nothing for axe-core to find, in ${lang} and ${theme}; nor to scroll sideways`, async () => {
      const { page, complaints, close } = await open(chromium, site.address, {
        hash: `#lang=${lang}&theme=${theme}&${linked}`,
        viewport: { width: 360, height: 640 },
      });
      await until(async () => (await of(page, 'look').summary()) !== '', 'the maps', 10000);
      await page.locator(`${path('write')} .work .button`).click();
      await until(() => page.locator(`${path('write')} .tokens li`).count(), 'tokens', 10000);
      await page.evaluate(axe.source);
      const found = await page.evaluate(async () => {
        const { violations } = await globalThis.axe.run('#chapter-playground', { resultTypes: ['violations'] });
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
      });
      assert.deepEqual(found, []);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
      const small = await page.evaluate(() =>
        Array.from(
          document.querySelectorAll(
            '#chapter-playground :is(button, summary, .segments span, .flag, input[type=range], input[type=text])',
          ),
        )
          .filter((element) => element.checkVisibility())
          .map((element) => [element.textContent || element.tagName, element.getBoundingClientRect()])
          .filter(([, { width, height }]) => width < 43.5 || height < 43.5)
          .map(([name, { width, height }]) => `${name}: ${width} x ${height}`),
      );
      assert.deepEqual(small, []);
      assert.deepEqual(complaints, []);
      await close();
    });
  }
}

test('the code of models comes with the first model, and not before', async () => {
  const own = await serve();
  // The service worker fetches everything, for later.
  const { page, close } = await open(chromium, own.address, { hash: '#lang=en', serviceWorkers: 'block' });
  const models = () => [...own.asked].filter((path) => /models|tokenizers/.test(path));
  assert.ok([...own.asked].some((path) => path.includes('playground-worker')));
  assert.deepEqual(models(), []);
  await of(page, 'model').choose('Make a small encoder for me');
  await isLoaded(page);
  assert.equal(models().length, 1);
  await close();
  own.close();
});

test('a model is made and looked at without a network, too', async () => {
  const { page, close } = await fresh('');
  const active = async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated';
  await until(() => page.evaluate(active), 'the service worker', 20000);
  await page.context().setOffline(true);
  await page.reload();
  await until(() => page.evaluate(() => document.querySelector('main:not([aria-busy])') !== null), 'the page', 20000);
  await of(page, 'model').choose('Make a small decoder for me');
  await isLoaded(page);
  await isSeen(page);
  await close();
});
