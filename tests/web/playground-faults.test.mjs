// Failures in the playground: invalid files, and changes while work is running. Each gives a message, the console stays
// empty, and the next action works. For links to missing states see sweeps/links.test.mjs.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { tinyLlama } from '../ts/support/tiny-models.mjs';
import {
  atItem,
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
import { isWhole, setOffline, until } from './site.mjs';

let all;
before(async () => {
  all = await start();
});
after(() => all?.end());
afterEach(() => all.site.releaseAll());

const [config, weights] = filesOf(tinyLlama());
const other = (page) => page.evaluate(() => document.getElementById('language').click());

// What is given together, and what is said about it.
const refused = {
  'weights cut short': [[config, { ...weights, base64: weights.base64.slice(0, -400) }], /model\.safetensors/],
  'weights of no bytes': [[config, file('model.safetensors', '')], /model\.safetensors/],
  'weights that are something else': [
    [config, file('model.safetensors', 'PK\x03\x04 not a model')],
    /model\.safetensors/,
  ],
  'a config of no bytes': [[file('config.json', ''), weights], /config\.json: /],
  'a config that is no JSON': [[file('config.json', '{'), weights], /config\.json: /],
  'a config that is null': [[file('config.json', 'null'), weights], /config/],
  'a config that is a list': [[file('config.json', '[]'), weights], /config/],
  'an unknown architecture': [[file('config.json', '{"model_type": "gpt_j"}'), weights], /gpt_j/],
  'a tokenizer of no bytes': [[config, weights, file('tokenizer.json', '')], /tokenizer\.json: /],
  'a tokenizer that is none': [[config, weights, file('tokenizer.json', '{"model": 7}')], /tokenizer\.json: /],
};

for (const browser of browsers) {
  test(`files that are no model are refused by name, in either language, and the next ones work (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    for (const [name, [files, expected]] of Object.entries(refused)) {
      await give(page, files);
      await says(page, 'model', /^The package says: /);
      assert.match(await noticesOf(page, 'model'), expected, name);
      await isWithout(page);
      await give(page, [config, weights]);
      await isLoaded(page);
      assert.equal(await noticesOf(page, 'model'), '', name);
    }
    await other(page);
    await isWhole(page, 'zh');
    await give(page, refused['an unknown architecture'][0]);
    await says(page, 'model', /^模块包说|^.*gpt_j/);
    await isWithout(page);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`what is of no use is named, what is missing is asked for, also after a change of language (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    await give(page, [file('model.zip', 'PK')], 'drop');
    assert.match(await noticesOf(page, 'model'), /^Not of use here: model\.zip\./);
    await give(page, [], 'drop');
    assert.match(await noticesOf(page, 'model'), /^Not of use here: model\.zip\./);
    await give(page, [weights], 'drop');
    assert.match(await noticesOf(page, 'model'), /^So far: model\.safetensors\. config\.json is still missing\.$/);
    const many = Array.from({ length: 9 }, (_, i) => file(`part${i}.bin`, ''));
    await give(page, [file('config (1).json', config.base64), ...many]);
    assert.match(
      await noticesOf(page, 'model'),
      /config \(1\)\.json, part0\.bin, .*, …\. .*config\.json is still missing/,
    );
    await other(page);
    await isWhole(page, 'zh');
    assert.match(
      await noticesOf(page, 'model'),
      /这里用不上：config \(1\)\.json.*已有：model\.safetensors。 ?还缺 config\.json/,
    );
    // Of two with one name the later one counts.
    await give(page, [file('config.json', '{'), config]);
    await isLoaded(page);
    assert.equal(await noticesOf(page, 'model'), '');
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a stray part is not in the way of a whole model, and Reset takes back what was given (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const part = { ...weights, name: 'model-00001-of-00002.safetensors' };
    const model = of(page, 'model');
    const isForgotten = () => until(async () => (await noticesOf(page, 'model')) === '', 'nothing given');
    await give(page, [part]);
    await says(page, 'model', /^So far: model-00001-of-00002\.safetensors/);
    await give(page, [config, weights]);
    await isLoaded(page);
    await model.choose('Reset');
    await isWithout(page);
    await give(page, [part]);
    await model.choose('Reset');
    await isForgotten();
    await give(page, refused['an unknown architecture'][0]);
    await says(page, 'model', /^The package says: /);
    await model.choose('Reset');
    await isForgotten();
    await give(page, [part]);
    await model.choose('Make a small decoder for me');
    await isLoaded(page);
    await isForgotten();
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`of several files of weights one is asked for, and a model by itself is not mixed with what came before (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const rival = { ...weights, name: 'adapter.safetensors' };
    await give(page, [config, weights, rival], 'drop');
    await says(
      page,
      'model',
      /^Which of these is the model\? Give one of them: model\.safetensors, adapter\.safetensors\./,
    );
    assert.match(
      await noticesOf(page, 'model'),
      /So far: config\.json\. A file that ends in \.safetensors is still missing/,
    );
    await give(page, [weights], 'drop');
    await isLoaded(page);
    assert.equal(await noticesOf(page, 'model'), '');
    await give(page, [rival, weights]);
    await says(page, 'model', /^Which of these is the model/);
    await give(page, [config, weights]);
    await isLoaded(page);
    assert.equal(await noticesOf(page, 'model'), '');
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a small model can be asked for again after it was cancelled (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const model = of(page, 'model');
    await page.evaluate((selector) => {
      const press = (words) =>
        Array.from(document.querySelectorAll(`${selector} button`))
          .find(({ textContent }) => textContent === words)
          .click();
      press('Make a small decoder for me');
      press('Cancel');
    }, path('model'));
    await until(async () => (await model.summary()) === 'Cancelled. There is no model yet.', 'it was cancelled');
    await other(page);
    await isWhole(page, 'zh');
    await until(async () => /^已取消/.test(await model.summary()), 'it is cancelled in the other language, too');
    await other(page);
    await isWhole(page, 'en');
    await model.choose('Make a small decoder for me');
    await isLoaded(page);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a model can be asked for again while its load, cancelled or reset, comes to its end (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const model = of(page, 'model');
    const ask = 'Load the small model';
    for (const [first, ...then] of [
      [ask, 'Cancel', ask],
      [ask, 'Reset', ask],
    ]) {
      const beginning = all.site.hold(atLoad(0));
      await model.choose(first);
      await beginning.reached;
      await model.choose(...then);
      await beginning.release();
      await isLoaded(page);
      await model.choose('Reset');
      await isWithout(page);
    }
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a file that misses its zone does not take the place of the page (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const taken = await page.evaluate(() =>
      ['dragover', 'drop'].map((type) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(['{}'], 'config.json'));
        const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
        return !document.querySelector('main').dispatchEvent(event);
      }),
    );
    assert.deepEqual(taken, [true, true]);
    const text = await page.evaluate(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.setData('text/plain', 'words');
      const event = new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true });
      return document.querySelector('main').dispatchEvent(event);
    });
    assert.equal(text, true, 'text is dragged as ever');
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`another model in the middle of a load takes its place; back and Cancel then are harmless (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const loadsHalf = async () => {
      const middle = all.site.hold(atLoad(0.3));
      await give(page, wideFiles(4, 4));
      await middle.reached;
      await until(async () => (await barOf(page, 'model')) >= 0.3, 'the bar');
      return middle;
    };
    await of(page, 'model').choose('Make a small encoder for me');
    await isLoaded(page);
    const other = await loadsHalf();
    await give(page, [config, weights], 'drop');
    await other.release();
    await until(async () => /^llama with [\d,]{5,6} /.test(await of(page, 'model').summary()), 'the later one');
    await isSeen(page);

    const last = await loadsHalf();
    // To the state with the small encoder.
    await page.evaluate(() => history.back());
    await until(async () => (await barOf(page, 'model')) === 0, 'another load');
    await last.release();
    await until(async () => /^roformer/.test(await of(page, 'model').summary()), 'the encoder');
    await page.evaluate(() => history.back());
    await isWithout(page);
    await page.evaluate((s) => document.querySelector(`${s} .work button`).click(), path('model'));
    await give(page, [config, weights]);
    await isLoaded(page);
    await isSeen(page);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`the language and the ids may change while tokens are written (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(
      browser,
      'playground.model.tiny=decoder&playground.write.length=256',
    );
    await isLoaded(page);
    const tokens = () => page.evaluate((s) => document.querySelectorAll(`${s} .tokens li`).length, path('write'));
    const press = () =>
      page.evaluate((selector) => {
        const button = document.querySelector(`${selector} .work .button`);
        // While what was written for other ids comes to its end, the button is to stop it.
        if (!/^(Generate|生成)$/.test(button.textContent)) return false;
        button.click();
        return true;
      }, path('write'));
    const generate = () => until(press, 'a button to press');
    const ninth = all.site.hold(atItem(9));
    await generate();
    await ninth.reached;
    await other(page);
    await until(
      () => page.evaluate(() => document.querySelector('#chapter-playground').lang === 'zh-Hans'),
      'the chapter in Chinese',
    );
    await ninth.release();
    await isWhole(page, 'zh');
    assert.ok((await tokens()) >= 8, 'what is written stays');
    assert.match(await of(page, 'write').summary(), /已停止。$/, 'and that it is not all of it is said');
    await isSeen(page);
    await generate();
    await until(tokens, 'tokens in Chinese');
    await write(page, 'look', '1 2 3');
    await until(async () => (await tokens()) === 0, 'what is no longer true to go');
    await page.evaluate(() => history.back());
    const written = () => page.evaluate((s) => document.querySelector(`${s} input[type=text]`).value, path('look'));
    await until(async () => (await written()) !== '1 2 3', 'the ids from before');
    await generate();
    await until(tokens, 'tokens again');
    assert.equal(await noticesOf(page, 'write'), '');
    await write(page, 'look', '7 abc');
    await generate();
    await says(page, 'write', /^“abc”不是编号/);
    await write(page, 'look', Array(60).fill(7).join(' '));
    await until(async () => (await noticesOf(page, 'write')) === '', 'ids again');
    await generate();
    await says(page, 'write', /^共 60 个词元，这里从前 48 个接着写/);
    await until(tokens, 'tokens all the same');
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('a worker that does not answer any more is ended by Cancel and by Stop, and the next one works', async () => {
  const { page, close } = await all.fresh('Chromium', 'playground.write.length=256', { init: undefined });
  const model = of(page, 'model');
  // Never let go, the worker is deaf.
  const load = all.site.hold(atLoad(0));
  await give(page, wideFiles(4, 2));
  await load.reached;
  await page.locator(`${path('model')} .work button`).press('Enter');
  await says(page, 'model', /did not answer/);
  assert.match(await page.evaluate(() => document.activeElement.textContent), /files/, 'the keyboard is at the picker');
  await load.release();
  await model.choose('Make a small decoder for me');
  await isLoaded(page);
  await isSeen(page);
  assert.equal(await noticesOf(page, 'model'), '');
  const token = all.site.hold(atItem(1));
  await of(page, 'write').choose('Generate');
  await token.reached;
  await of(page, 'write').choose('Stop');
  await says(page, 'model', /did not answer/);
  await token.release();
  await model.choose('Make a small decoder for me');
  await isLoaded(page);
  await isSeen(page);
  await close();
});

test('a part of the page that does not come is told by its name, and is asked for again', async () => {
  const { page, close } = await all.fresh('Chromium', '', { serviceWorkers: 'block' });
  const model = of(page, 'model');
  await until(async () => (await of(page, 'stack').summary()) !== '', 'the worker');
  await setOffline(page, true);
  await model.choose('Make a small decoder for me');
  await says(page, 'model', /The package says: .*models/);
  await setOffline(page, false);
  await model.choose('Make a small decoder for me');
  await isLoaded(page);
  await close();
});
