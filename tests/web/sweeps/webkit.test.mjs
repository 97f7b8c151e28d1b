// The page in WebKit, the engine of Safari: all figures say what they say in Chromium, and their workers work.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bring, figureOf, open, until, withChromium } from '../site.mjs';
import { hasWebKit, launchWebKit } from '../webkit.mjs';

const { site, browser } = await withChromium();
const skip = hasWebKit ? false : 'not run: this machine has no webkit2gtk-driver or no xvfb';

const summaries = (page) =>
  page.evaluate(() =>
    Array.from(document.querySelectorAll('figure'), ({ id }) => [
      id,
      ...Array.from(document.querySelectorAll(`#${id} .summary`), (summary) => summary.textContent),
    ]),
  );

test('all figures say in WebKit what they say in Chromium, and nothing fails', { skip }, async (t) => {
  const chromium = await open(browser, site.address, { hash: '#lang=en' });
  await bring(chromium.page);
  const wanted = await summaries(chromium.page);
  await chromium.close();

  const page = await launchWebKit();
  t.after(page.close);
  // Debian's language is C where none is set, which is no language tag; the page is English then.
  await page.goto(site.address);
  await page.evaluate(() => {
    globalThis.complaints = [];
    const note = (text) => globalThis.complaints.push(text);
    // Sizes that change while they are told are told in the next frame; WebKit says so each time.
    addEventListener('error', ({ message }) => /^ResizeObserver loop/.test(message) || note(message));
    addEventListener('unhandledrejection', ({ reason }) => note(String(reason)));
    addEventListener('securitypolicyviolation', ({ blockedURI }) => note(blockedURI));
    console.error = note;
  });
  await until(() => page.evaluate(() => document.querySelector('main:not([aria-busy])') !== null), 'the page');
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
  await bring(page);
  await until(() => page.evaluate(() => document.querySelector('figure[aria-busy]') === null), 'all figures');
  assert.deepEqual(await summaries(page), wanted);

  const figure = (chapter, name) => figureOf(page, chapter, name);
  await figure('decay', 'random').choose('Run');
  await until(async () => /^30 queries/.test(await figure('decay', 'random').summary()), 'the worker');
  await figure('playground', 'model').choose('Make a small decoder for me');
  await until(async () => /^Layer/.test(await figure('playground', 'look').summary()), 'the maps');
  await figure('playground', 'write').choose('Generate');
  await until(async () => /^32 tokens/.test(await figure('playground', 'write').summary()), 'tokens');
  assert.deepEqual(await page.evaluate(() => globalThis.complaints), []);
});
