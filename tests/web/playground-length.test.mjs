// Losses by length in the playground: the package's numbers, for the passage that comes with the small model and for one's
// own text; cancelled; and what is said where there is nothing to see.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, test } from 'node:test';
import { Tokenizer } from '@huggingface/tokenizers';
import { load } from 'ropewalk';
import { lengthCurve, loadModel } from 'ropewalk/models';
import { readModel } from '../lab/page-model/files.mjs';
import { barOf, browsers, isLoaded, noticesOf, of, path, run, same, says, start } from './playground.mjs';
import { until } from './site.mjs';

let all;
before(async () => {
  all = await start();
});
after(() => all?.end());
afterEach(() => all.site.releaseAll());

const trained = 'playground.model.tiny=trained';
const decoder = 'playground.model.tiny=decoder';
const passage = readFileSync(new URL('../../web/src/chapters/playground/model/passage.txt', import.meta.url), 'utf8');

// Losses [range][scaling] of the small model, by a direct call.
const own = readModel();
const tokenizer = new Tokenizer(own.tokenizer, {});
const rw = await load({ simd: 'deterministic' });
const model = await loadModel(rw, { config: own.config, weights: new Uint8Array(own.weights) });
const idsOf = (text) => Array.from(tokenizer.encode(text).ids, Number);
async function direct(text, { factor = 4, length = 512, points = 8 } = {}) {
  const scalings = {
    none: { type: 'default' },
    linear: { type: 'linear', factor },
    ntk: { type: 'ntk', factor },
    yarn: { type: 'yarn', factor, originalLength: 128 },
  };
  const curves = await lengthCurve(model, idsOf(text), scalings, { length, points });
  return curves[0].points.map((_, i) => curves.map((curve) => curve.points[i].loss));
}

const isThere = (page) =>
  until(() => page.evaluate((s) => document.querySelector(s)?.textContent, `${path('length')} .summary`), 'the figure');
const isMeasured = (page) => until(async () => /^[\d,]+ tokens/.test(await of(page, 'length').summary()), 'curves');
async function losses(page) {
  await of(page, 'length').choose('Measure');
  await isMeasured(page);
  const [table] = await of(page, 'length').tables();
  return table;
}
const hashOf = (page) => new URL(page.url()).hash;

for (const browser of browsers) {
  test(`losses of the passage are those of lengthCurve, and what the text says of them holds (${browser})`, async (t) => {
    all.site.asked.clear();
    const { page, complaints, close } = await all.fresh(browser, trained);
    await isThere(page);
    const isPassage = (asked) => asked.endsWith('.txt');
    assert.ok(![...all.site.asked].some(isPassage), 'the passage comes when it is measured');
    assert.equal(await of(page, 'length').summary(), 'Nothing is measured yet.');
    const shown = await losses(page);
    assert.ok([...all.site.asked].some(isPassage));
    same(shown.flat(), (await direct(passage)).flat(), 1e-9);
    same(shown.flat(), await run(await of(page, 'length').code()), 1e-9);
    assert.match(await of(page, 'length').summary(), /^3,103 tokens of text, a model that was trained at 128\./);

    const column = (i) => shown.map((row) => row[i]);
    const [none, linear, ntk, yarn] = [0, 1, 2, 3].map(column);
    for (const [name, curve] of Object.entries({ none, linear, ntk, yarn })) {
      t.diagnostic(
        `${name}: ${curve.map((loss) => loss.toFixed(2)).join(' ')} nats, 64 positions each, trained at 128`,
      );
    }
    assert.ok(
      none.slice(0, 3).every((loss, i) => Math.abs(loss - yarn[i]) < 0.1),
      'unscaled, as far as 191',
    );
    assert.ok(
      none.slice(4).every((loss) => loss > 3.9 && loss < 4.3),
      'unscaled, from 256 on',
    );
    assert.ok(
      linear.every((loss, i) => loss > yarn[i] + 0.95 && loss > 3.95 && loss < 4.35),
      'PI, everywhere',
    );
    assert.ok(ntk.slice(0, 6).every((loss, i) => loss < yarn[i] + 0.15) && ntk[7] > 4, 'NTK, as far as 383');
    assert.ok(Math.abs(yarn[7] - 3) < 0.1 && yarn[7] > yarn[1] - 0.1, 'YaRN, to the end');
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a text of one's own is measured, a link brings it, and another model forgets it (${browser})`, async () => {
    const text = passage.slice(0, 900).replaceAll('\n', ' ');
    const { page, complaints, close } = await all.fresh(browser, trained);
    await isThere(page);
    await page.evaluate(
      ([selector, text]) => {
        const area = document.querySelector(`${selector} textarea`);
        area.value = text;
        area.dispatchEvent(new Event('input', { bubbles: true }));
      },
      [path('length'), text],
    );
    await of(page, 'length').press('Tokens of a window', 'ArrowLeft');
    await of(page, 'length').press('Factor', 'ArrowLeft');
    const shown = await losses(page);
    same(shown.flat(), (await direct(text, { length: 256, factor: 2 })).flat(), 1e-9);
    same(shown.flat(), await run(await of(page, 'length').code()), 1e-9);
    await until(() => hashOf(page).includes('playground.length.factor=2'), 'the address');
    const copy = await all.fresh(browser, hashOf(page).slice(1).replace('lang=en&', ''));
    await isThere(copy.page);
    assert.deepEqual(await losses(copy.page), shown);
    await copy.close();
    // What was measured is of this model and these settings.
    await of(page, 'length').press('Factor', 'ArrowRight');
    assert.equal(await of(page, 'length').summary(), 'Nothing is measured yet.');
    await losses(page);
    await of(page, 'model').choose('Make a small decoder for me');
    const hasDamage = () => page.evaluate((s) => document.querySelector(s) !== null, path('damage'));
    await until(async () => !(await hasDamage()), 'the other decoder');
    assert.equal(await of(page, 'length').summary(), 'Nothing is measured yet.');
    assert.equal(await page.evaluate((s) => document.querySelector(`${s} textarea`).value, path('length')), text);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`measuring tells how far it is, and leaves nothing when it is cancelled (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser, trained);
    await isThere(page);
    let last = 0;
    // Passes of layers, in this page or one that was closed, have other shares.
    const held = all.site.hold((url) => {
      const pass = Number(url.searchParams.get('pass'));
      if (!(pass >= 0.3 && pass < 0.33)) return false;
      last = pass;
      return true;
    });
    await of(page, 'length').choose('Measure');
    await held.reached;
    // Firefox rounds what a bar shows.
    await until(async () => Math.abs((await barOf(page, 'length')) - last) < 1e-6, 'the bar');
    await of(page, 'length').choose('Cancel');
    await held.release();
    const said = () => page.evaluate((s) => document.querySelector(`${s} .work span`).textContent, path('length'));
    await until(async () => (await said()) === 'Cancelled.', 'the end');
    assert.equal(await of(page, 'length').summary(), 'Nothing is measured yet.');
    assert.equal(await barOf(page, 'length'), undefined);
    same((await losses(page)).flat(), (await direct(passage)).flat(), 1e-9);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('it is said where a text is too short, where it has an end, and where it cannot be read', async () => {
  const cases = [
    [`${trained}&playground.length.text=7`, /^The text has fewer than two tokens/],
    [
      `${trained}&playground.length.text=Emma+was+not+there.`,
      /^The text has 7 tokens, and the model was trained at 128/,
    ],
    [`${trained}&playground.length.length=128`, /^A window of 128 tokens is not longer than the 128/],
    [`${trained}&playground.length.text=${'Anne+'.repeat(80)}`, /^The text has \d+ tokens, fewer than a window of 512/],
    [decoder, /^“She” is no id/],
    [`${decoder}&playground.length.text=1+2+3`, /^The text has 3 tokens, and the model was trained at 64/],
    [`${decoder}&playground.length.text=1+2+99999`, /99999/],
  ];
  for (const [state, expected] of cases) {
    const { page, complaints, close } = await all.fresh('Chromium', state);
    await isThere(page);
    await of(page, 'length').choose('Measure');
    await says(page, 'length', expected);
    assert.deepEqual(complaints, []);
    await close();
  }
});

test('a model without a rotary encoding has no such figure', async () => {
  const { page, close } = await all.fresh('Chromium', 'playground.model.tiny=encoder');
  await isLoaded(page);
  assert.equal(await page.locator(path('length')).count(), 0);
  assert.equal(await noticesOf(page, 'model'), '');
  await close();
});
