// Small screens, larger text and wider letter spacing, in both languages: nothing scrolls sideways, is cut off or is
// too small to touch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chapterIds } from '../../../web/src/chapters/ids.js';
import { bring, browsers, frames, open, until, withBoth } from '../site.mjs';

const { site, both, browser } = await withBoth();

const small = { viewport: { width: 360, height: 640 } };

for (const name of browsers) {
  test(`a small screen has no sideways scroll and controls large enough for a finger (${name})`, async () => {
    for (const lang of ['en', 'zh']) {
      for (const state of [
        '',
        'order.map.table=1&order.map.heads=8&rope.pair.table=1&lab.further.open=1',
        'order.map.words=Donaudampfschifffahrtsgesellschaft+x&rope.pair.q=-170,1.1&rope.pair.m=64&rope.pair.lock=1',
      ]) {
        const { page, close } = await both.open(name, site.address, { hash: `#lang=${lang}&${state}`, ...small });
        await bring(page);
        const seen = await page.evaluate(() => {
          for (const details of document.querySelectorAll('details.code, .menu')) details.open = true;
          const { clientWidth, scrollWidth } = document.documentElement;
          // Within a box of its own that scrolls or cuts off, things may be wider.
          const isBoxed = (element) =>
            !element.matches('.chapter') &&
            (getComputedStyle(element).overflowX !== 'visible' || isBoxed(element.parentElement));
          const isOut = (element) => {
            const { left, right } = element.getBoundingClientRect();
            return (left < -0.5 || right > clientWidth + 0.5) && element.checkVisibility() && !isBoxed(element);
          };
          const chapters = Array.from(document.querySelectorAll('.chapter'), (chapter) => ({
            id: chapter.id,
            out: Array.from(chapter.querySelectorAll('*'))
              .filter(isOut)
              .map(({ outerHTML }) => outerHTML.slice(0, 100)),
          }));
          const small = Array.from(
            document.querySelectorAll(
              'button, summary, nav a, .segments span, .flag, input[type=range], input[type=text], .grip',
            ),
          )
            .filter((element) => element.checkVisibility() && !element.matches('.skip'))
            .map((element) => [element.textContent || element.tagName, element.getBoundingClientRect()])
            .filter(([, { width, height }]) => width < 43.5 || height < 43.5)
            .map(([name, { width, height }]) => `${name}: ${width} x ${height}`);
          return { innerWidth, clientWidth, scrollWidth, chapters, small };
        });
        const where = `${lang} ${state}`;
        assert.equal(seen.innerWidth, 360);
        assert.equal(seen.scrollWidth, seen.clientWidth, where);
        assert.equal(seen.chapters.length, chapterIds.length);
        for (const { id, out } of seen.chapters) assert.deepEqual(out, [], `${where} ${id}`);
        assert.deepEqual(seen.small, [], where);
        await close();
      }
    }
  });
}

// As WCAG asks that readers can space text (1.4.12); and browsers' own setting of the size of text.
const spaced = `* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
  p { margin-bottom: 2em !important; }`;

const rootSize = (page) => page.evaluate(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize));

async function readAs(page, { rules, standard = 16 }) {
  const browserSide = await page.context().newCDPSession(page);
  await browserSide.send('Page.setFontSizes', { fontSizes: { standard } });
  await until(async () => (await rootSize(page)) === 1.0625 * standard, `text of ${standard} px`);
  await page.evaluate((rules) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules ?? '');
    document.adoptedStyleSheets = [sheet];
    for (const element of document.querySelectorAll('.resting')) element.classList.remove('resting');
  }, rules);
}

test('letters follow the browser’s setting each time it changes, and all of the page is there again', async () => {
  const { page, close } = await open(browser, site.address);
  const heightOf = () => page.evaluate(() => document.documentElement.scrollHeight);
  const isAwake = () => page.evaluate(() => document.querySelector('.resting') === null);
  // Pictures are drawn for the new size one after the other, and may change their height.
  const drawn = async () => {
    for (;;) {
      const height = await heightOf();
      await frames(page, 120);
      if ((await heightOf()) === height) return height;
    }
  };
  const heights = new Map();
  for (const standard of [16, 20, 24, 16, 20]) {
    await readAs(page, { standard });
    await until(isAwake, 'all of the page');
    const height = await drawn();
    const before = heights.get(standard) ?? height;
    assert.ok(Math.abs(height - before) <= 2, `${before} and then ${height} px high at ${standard} px`);
    heights.set(standard, height);
  }
  assert.ok(heights.get(24) > 1.2 * heights.get(16) && heights.get(20) > 1.1 * heights.get(16));
  await close();
});

test('with larger letters or letters spaced apart a small screen has no sideways scroll', async () => {
  for (const [lang, width, reader] of ['en', 'zh'].flatMap((lang) => [
    [lang, 320, {}],
    [lang, 320, { rules: spaced }],
    [lang, 360, { standard: 24 }],
    [lang, 320, { standard: 32 }],
    [lang, 360, { standard: 32 }],
  ])) {
    const { page, close } = await open(browser, site.address, {
      hash: `#lang=${lang}`,
      viewport: { width, height: 740 },
    });
    await readAs(page, reader);
    const look = () =>
      page.evaluate(() => {
        const isWide = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth;
        const edges = (id) => document.getElementById(id).getBoundingClientRect();
        return {
          wide: Array.from(document.querySelectorAll('html, .prose, .panel, h1'))
            .filter(isWide)
            .map((element) => element.closest('[id]')?.id ?? element.tagName),
          isBarClear: edges('opener').right <= edges('language').left,
        };
      });
    const where = `${lang} ${width} ${JSON.stringify(reader)}`;
    let seen;
    // Pictures are drawn again for the other size, one after the other.
    await until(async () => {
      seen = await look();
      return seen.wide.length === 0;
    }, where).catch(() => assert.deepEqual(seen.wide, [], where));
    assert.ok(seen.isBarClear, where);
    await close();
  }
});

test('names of rows have room, also with letters spaced apart', async () => {
  for (const [width, reader] of [
    [1280, { rules: spaced }],
    [1280, { standard: 32 }],
    [360, { standard: 24 }],
    [320, { rules: spaced }],
    [320, {}],
  ]) {
    const { page, close } = await open(browser, site.address, { viewport: { width, height: 740 } });
    await readAs(page, reader);
    const look = () =>
      page.evaluate(() => {
        const names = Array.from(document.querySelectorAll('.heat-rows bdi, .field-rows span'));
        const isCut = (name) =>
          name.scrollWidth > name.clientWidth ||
          name.getBoundingClientRect().left < name.closest('.heat, .field').getBoundingClientRect().left - 0.5;
        return [names.length, names.filter(isCut).map((name) => `${name.closest('figure').id}: ${name.textContent}`)];
      });
    const where = `${width} ${JSON.stringify(reader)}`;
    let [count, cut] = [];
    await until(async () => {
      [count, cut] = await look();
      return cut.length === 0;
    }, where).catch(() => assert.deepEqual(cut, [], where));
    assert.ok(count > 100);
    await close();
  }
});
