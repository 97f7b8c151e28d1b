// The chapter of all encodings: its programs in three libraries.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { bring, browsers, figureOf, open, serve, setOffline, until, withBoth } from './site.mjs';

const { site, both, browser } = await withBoth();

const viewer = '#figure-compare-attention > details:last-child';
const shownIn = (page) => page.evaluate((viewer) => document.querySelector(`${viewer} code`).textContent, viewer);
const openViewer = (page) => page.evaluate((viewer) => document.querySelector(`${viewer} summary`).click(), viewer);
const choose = (page, name) =>
  page.evaluate((name) => {
    const labels = Array.from(document.querySelectorAll('#figure-compare-attention label'));
    labels.find(({ textContent }) => textContent === name).click();
  }, name);
const fileOf = (library, encoding) =>
  readFile(new URL(`../../web/src/chapters/compare/${library}/${encoding}.py`, import.meta.url), 'utf8');

for (const name of browsers) {
  test(`the programs in Python are fetched when they are opened, and shown as their files have them (${name})`, async (t) => {
    const own = await serve();
    t.after(own.close);
    const { page, complaints, close } = await both.open(name, own.address, { hash: '#lang=en&at=compare' });
    await bring(page, 'compare');
    const isPython = (path) => path.includes('/python-programs-');
    const hasCode = (text) => until(async () => (await shownIn(page)) === text, 'the program');
    // The service worker keeps all files; those of the page are counted.
    const asked = () => page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
    assert.ok(!(await asked()).some(isPython));
    await openViewer(page);
    await hasCode(await fileOf('numpy', 'rope'));
    assert.ok((await asked()).some(isPython));
    await choose(page, 'PyTorch');
    await hasCode(await fileOf('pytorch', 'rope'));
    await choose(page, 'T5');
    await hasCode(await fileOf('pytorch', 't5'));
    await choose(page, 'ropewalk');
    await hasCode(await figureOf(page, 'compare', 'attention').code());
    const state = await page.evaluate(() => location.hash);
    assert.match(state, /compare\.attention\.encoding=t5&compare\.attention\.library=ropewalk/);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('a program that does not arrive says so', async () => {
  // A service worker would have it.
  const options = { hash: '#lang=en&at=compare', serviceWorkers: 'block' };
  const { page, close } = await open(browser, site.address, options);
  await bring(page, 'compare');
  await setOffline(page, true);
  await openViewer(page);
  await until(async () => /^# This program did not arrive/.test(await shownIn(page)), 'the notice');
  await close();
});

test('in Chinese the programs have the same three tabs', async () => {
  const { page, close } = await both.open('Chromium', site.address, { hash: '#lang=zh&at=compare' });
  await bring(page, 'compare');
  await openViewer(page);
  const names = await page.evaluate(
    (viewer) => Array.from(document.querySelectorAll(`${viewer} label`), ({ textContent }) => textContent),
    viewer,
  );
  assert.deepEqual(names, ['NumPy', 'PyTorch', 'ropewalk']);
  await close();
});
