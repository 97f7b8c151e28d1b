// The model that comes with the page: fetched when it is asked for, it reads and writes text, and needs its positions.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { atItem, isLoaded, isSeen, of, path, run, same, says, start, write } from './playground.mjs';
import { until } from './site.mjs';

let all;
before(async () => {
  all = await start();
});
after(() => all?.end());

const isOfModel = (asked) => /\/assets\/.*(\.safetensors|\.json)$/.test(asked);
const isCompared = (page) =>
  until(
    () =>
      page.evaluate(
        (selector) => document.querySelector(selector)?.textContent.includes('as trained') ?? false,
        `${path('damage')} .summary`,
      ),
    'the losses',
  );
// Losses by the names of their rows.
async function lossesOf(page) {
  const [rows] = await of(page, 'damage').tables();
  const names = ['own', 'shuffled', 'none', 'pairing', 'base', 'linear', 'ntk', 'yarn'];
  return Object.fromEntries(rows.map(([loss], i) => [names[i], loss]));
}

test('the small model is fetched on demand, reads a text and writes on; other positions cost it', async () => {
  const { page, complaints, close } = await all.fresh('chromium');
  assert.deepEqual([...all.site.asked].filter(isOfModel), []);
  assert.equal(await page.locator(path('damage')).count(), 0);
  await of(page, 'model').choose('Load the small model');
  await isLoaded(page);
  assert.equal([...all.site.asked].filter(isOfModel).length, 3);
  await isSeen(page);
  await isCompared(page);
  assert.match(await page.locator(`${path('damage')} figcaption span`).textContent(), /^Figure \d+\.5$/);

  const losses = await lossesOf(page);
  // NTK and YaRN are made to cost little.
  for (const name of ['none', 'pairing', 'base', 'linear']) {
    assert.ok(losses[name] > losses.own + 0.1, `${name}: ${losses[name]}, as trained ${losses.own}`);
  }
  assert.ok(losses.shuffled > losses.own + 0.5, `${losses.shuffled}, as trained ${losses.own}`);
  for (const name of ['model', 'look', 'damage']) {
    const shown = (await of(page, name).tables()).flat(2);
    const computed = await run(await of(page, name).code());
    // The memory in use is that of one worker or another.
    const count = name === 'model' ? 9 : shown.length;
    same(shown.slice(0, count), computed.slice(0, count), 1e-9);
  }

  assert.equal(await of(page, 'write').code(), '', 'the ids of these words are not known yet');
  await of(page, 'write').choose('Generate');
  await until(async () => /^32 tokens/.test(await of(page, 'write').summary()), 'tokens');
  const written = await page.locator(`${path('write')} .written`).textContent();
  assert.match(written, /^[ -~\n]+$/);
  same((await of(page, 'write').tables()).flat(2), await run(await of(page, 'write').code()), 1e-9);

  // Another text, another seed; and without the model nothing of it is left.
  await write(page, 'look', 'There was no one in the garden, and no one in the house.');
  await until(async () => (await lossesOf(page)).own !== losses.own, 'another text');
  const before = await lossesOf(page);
  await of(page, 'damage').press('Seed', 'ArrowRight');
  await until(async () => (await lossesOf(page)).shuffled !== before.shuffled, 'other positions');
  assert.equal((await lossesOf(page)).none, before.none);
  // Reset of the maps brings the model's text back, and with it the first losses; a text that is emptied stays so.
  await of(page, 'damage').choose('Reset');
  await of(page, 'look').choose('Reset');
  await until(
    async () => (await of(page, 'damage').tables()).length > 0 && (await lossesOf(page)).own === losses.own,
    'the first text',
  );
  await write(page, 'look', '');
  await says(page, 'damage', /at least two tokens/);
  await of(page, 'model').choose('Reset');
  await until(async () => !(await page.locator(path('damage')).isVisible()), 'the end');
  assert.deepEqual(complaints, []);
  await close();
});

test('what is stopped shows the text of all of its tokens', async () => {
  const state = 'playground.model.tiny=trained&playground.look.ids=Emma+was+not+there.&playground.write.length=64';
  const { page, complaints, close } = await all.fresh('chromium', state);
  await isSeen(page);
  // It is never time to show the text while more is written.
  await page.evaluate(() => {
    const now = performance.now();
    performance.now = () => now;
  });
  const tenth = all.site.hold(atItem(10));
  await of(page, 'write').choose('Generate');
  await tenth.reached;
  await of(page, 'write').choose('Stop');
  await tenth.release();
  await until(async () => /Stopped\.$/.test(await of(page, 'write').summary()), 'the end');
  const shown = (selector) => page.locator(`${path('write')} ${selector}`).allTextContents();
  const tokens = await shown('.tokens li');
  assert.ok(tokens.length > 0);
  const [written] = await shown('.written');
  const rest = tokens.join('').replaceAll('␣', ' ').replaceAll('↵', '\n');
  assert.ok(written.endsWith(rest), `${written} ends with ${rest}`);
  assert.deepEqual(complaints, []);
  await close();
});

test('a link brings the small model and what was changed', async () => {
  const state =
    'playground.model.tiny=trained&playground.damage.change=pairing&playground.look.ids=Emma+was+not+there.';
  const { page, complaints, close } = await all.fresh('chromium', state);
  await isCompared(page);
  assert.match(await of(page, 'damage').summary(), /other pairing/);
  assert.equal((await of(page, 'damage').tables())[1].length, 6, 'tokens after the first');
  assert.deepEqual(complaints, []);
  await close();
});
