// The page's own face: when and from where it comes, what has it, and that nothing in sight moves for it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { bring, browsers, frames, isWhole, open, serve, setOffline, until, withBoth } from './site.mjs';
import { firstFigure } from './tasks.mjs';

const { browser, both } = await withBoth();
const isFace = (path) => path.endsWith('.woff2');

// In the page: whether every part that is out of sight has it.
const isGiven = () =>
  document.fonts.check('1em Ropewalk') &&
  document.fonts.size === 3 &&
  Array.from(document.querySelectorAll('h1, .lede, .chapter')).every((part) => {
    const { top, bottom } = part.getBoundingClientRect();
    return part.classList.contains('own') || (bottom > 0 && top < innerHeight);
  });

// In the page: where everything is that is in sight.
const places = () =>
  Array.from(document.querySelectorAll('main :is(h1, h2, h3, p, li, figure, canvas, svg)'))
    .map((element) => [element, element.getBoundingClientRect()])
    .filter(([, { top, bottom }]) => bottom > 0 && top < innerHeight)
    .map(([{ textContent }, { left, top }]) => ({ text: textContent.slice(0, 40), left, top }));

// In the page: collects what the browser calls shifts of the layout.
function watchShifts() {
  globalThis.shifts = [];
  if (!PerformanceObserver.supportedEntryTypes.includes('layout-shift')) return;
  const observer = new PerformanceObserver((list) =>
    globalThis.shifts.push(...list.getEntries().map(({ value }) => value)),
  );
  observer.observe({ type: 'layout-shift', buffered: true });
}

const familyOf = (page, selector) =>
  page.evaluate((selector) => getComputedStyle(document.querySelector(selector)).fontFamily, selector);

test('it comes after the first figure, and the licence is beside it', async (t) => {
  const own = await serve();
  t.after(own.close);
  const face = own.hold(({ pathname }) => isFace(pathname));
  const { paths } = await firstFigure(browser, own.address);
  assert.deepEqual(paths.filter(isFace), []);
  await face.release();
  const folder = new URL('../../build/web/assets/', import.meta.url);
  assert.match(await readFile(new URL('source-serif-licence.txt', folder), 'utf8'), /SIL Open Font License/);
});

test('it has every letter of the texts but the Chinese ones', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { page, close } = await open(browser, own.address, { hash: '#lang=en' });
  await bring(page);
  await until(() => page.evaluate(isGiven), 'the face');
  // With a letter of its own a text is as wide whichever face would be next.
  const others = await page.evaluate(() => {
    const context = document.createElement('canvas').getContext('2d');
    const widthOf = (letter, next) => {
      context.font = `100px Ropewalk, ${next}`;
      return context.measureText(letter).width;
    };
    const texts = document.querySelectorAll('main :is(h1, h2, h3, p, li, .math, var)');
    const prose = Array.from(texts).filter((text) => text.closest('figure, math') === null);
    const letters = new Set(prose.flatMap(({ textContent }) => Array.from(textContent)));
    return Array.from(letters).filter((letter) => widthOf(letter, 'monospace') !== widthOf(letter, 'serif'));
  });
  await close();
  // Source Serif has neither.
  assert.deepEqual(
    others.filter((letter) => letter !== '⊙' && letter !== '⁻'),
    [],
  );
});

test('slanted letters are not smeared where they stand in bold text', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { page, close } = await open(browser, own.address, { hash: '#lang=en' });
  await until(() => page.evaluate(isGiven), 'the face');
  const [slanted, bold, upright, boldUpright] = await page.evaluate(() =>
    ['italic 400', 'italic 600', '400', '600'].map((style) => {
      const canvas = document.createElement('canvas');
      const context = canvas.getContext('2d');
      context.font = `${style} 100px Ropewalk`;
      context.fillText('qkω', 10, 100);
      return canvas.toDataURL();
    }),
  );
  await close();
  assert.equal(bold, slanted);
  assert.notEqual(boldUpright, upright);
});

for (const name of browsers) {
  test(`${name}: prose has it, from the page's server alone, and figures do not`, async (t) => {
    const own = await serve();
    t.after(own.close);
    const { page, complaints, close } = await both.open(name, own.address, { hash: '#lang=en' });
    await until(() => page.evaluate(isGiven), 'the face');
    assert.equal([...own.asked].filter(isFace).length, 3);
    assert.deepEqual(complaints, []);
    for (const part of ['#chapter-rope p', '#chapter-lab h2']) assert.match(await familyOf(page, part), /^"?Ropewalk/);
    for (const part of ['figure', 'figure .chip', '.site']) assert.doesNotMatch(await familyOf(page, part), /Ropewalk/);
    // In another language it is there from the beginning; Chinese text keeps the system's.
    await page.evaluate(() => document.getElementById('language').click());
    await isWhole(page, 'zh');
    assert.equal(await page.evaluate(() => document.querySelectorAll('.chapter:not(.own)').length), 0);
    assert.doesNotMatch(await familyOf(page, '#chapter-rope p'), /Ropewalk/);
    assert.match(await familyOf(page, '.prose :is(var, .math)'), /^"?Ropewalk/);
    await close();
  });

  for (const [lang, width] of [
    ['en', 1280],
    ['en', 390],
    ['zh', 390],
  ]) {
    test(`${name}: nothing in sight moves when it comes, ${lang}, ${width} px wide`, async (t) => {
      const own = await serve();
      t.after(own.close);
      const viewport = { width, height: 900 };
      for (const isAtTop of [true, false]) {
        const face = own.hold(({ pathname }) => isFace(pathname));
        const { page, close } = await both.open(name, own.address, {
          hash: `#lang=${lang}`,
          viewport,
          init: watchShifts,
        });
        await face.reached;
        // Or in the middle of a chapter, with others above it.
        if (!isAtTop) {
          await page.evaluate(() => {
            document.querySelectorAll('#chapter-sinusoid p')[2].scrollIntoView({ behavior: 'instant' });
          });
        }
        await frames(page, 5);
        const before = await page.evaluate(places);
        assert.ok(before.length > 2);
        await page.evaluate(() => globalThis.shifts.splice(0));
        await face.release();
        await until(() => page.evaluate(isGiven), 'the face');
        await frames(page, 5);
        const now = await page.evaluate(places);
        assert.deepEqual(
          now.map(({ text }) => text),
          before.map(({ text }) => text),
        );
        // Browsers round how far a page is scrolled, once for each chapter above.
        const moved = now.map(({ left, top }, i) => Math.hypot(left - before[i].left, top - before[i].top));
        const shift = (await page.evaluate(() => globalThis.shifts)).reduce((sum, value) => sum + value, 0);
        t.diagnostic(`by ${Math.max(...moved).toFixed(2)} px at most; shift of the layout ${shift.toFixed(4)}`);
        assert.ok(Math.max(...moved) < 1.5, JSON.stringify(now.filter((_, i) => moved[i] >= 1.5)));
        // Words move within their lines; 0.1 would be good.
        assert.ok(shift < 0.01, `${shift}`);
        await close();
      }
    });
  }
}

test('without a network a second visit has it, and without it the page keeps the system’s', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { page, close } = await open(browser, own.address);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await setOffline(page, true);
  await page.reload();
  await isWhole(page);
  await until(() => page.evaluate(isGiven), 'the face');
  await close();
  own.hold(({ pathname }) => isFace(pathname));
  const without = await open(browser, own.address, { serviceWorkers: 'block' });
  assert.equal(await without.page.evaluate(() => document.querySelectorAll('.own').length), 0);
  await without.close();
});
