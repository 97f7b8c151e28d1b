// How things stand on the page: a small screen that need not scroll sideways, formulas, tables and names of axes that
// fit it, and signs set as is the custom.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chapterIds } from '../../web/src/chapters/ids.js';
import { browsers, figureOf, frames, open, until, withBoth } from './site.mjs';

const { site, both, browser } = await withBoth();

const small = { viewport: { width: 360, height: 640 } };
const chapters = ['order', 'binary', 'sinusoid', 'algebra', 'relative', 'rope'].map((id) => `#chapter-${id}`).join();

test('on a small screen formulas, tables and listings are seen whole, without scrolling them', async () => {
  for (const locale of ['en-US', 'zh-CN']) {
    const { page, close } = await open(browser, site.address, { locale, ...small });
    const [seen, wide] = await page.evaluate((chapters) => {
      const boxes = Array.from(document.querySelectorAll(`:is(${chapters}) :is(.formula, .scroller, pre)`)).filter(
        (box) => box.checkVisibility(),
      );
      const isWide = (box) => box.scrollWidth > box.clientWidth;
      return [boxes.length, boxes.filter(isWide).map((box) => box.textContent.slice(0, 60))];
    }, chapters);
    assert.ok(seen > 12);
    assert.deepEqual(wide, [], locale);
    await close();
  }
});

for (const name of browsers) {
  test(`a small screen has no sideways scroll and controls large enough for a finger (${name})`, async () => {
    for (const lang of ['en', 'zh']) {
      for (const state of [
        '',
        'order.map.table=1&order.map.heads=8&rope.pair.table=1',
        'order.map.words=Donaudampfschifffahrtsgesellschaft+x&rope.pair.q=-170,1.1&rope.pair.m=64&rope.pair.lock=1',
      ]) {
        const { page, close } = await both.open(name, site.address, { hash: `#lang=${lang}&${state}`, ...small });
        const seen = await page.evaluate(() => {
          for (const details of document.querySelectorAll('details.code, .save')) details.open = true;
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

test('what a button says when it was pressed stands clear of the ring around it', async () => {
  const { page, close } = await open(browser, site.address);
  const clear = await page.evaluate(() =>
    Array.from(document.querySelectorAll('#figure-rope-pair .copy > .said'), (said) => {
      said.textContent = 'said';
      return said.getBoundingClientRect().left - said.previousElementSibling.getBoundingClientRect().right;
    }),
  );
  assert.ok(clear.length > 2);
  // The ring is 2 px wide, 2 px away.
  for (const distance of clear) assert.ok(distance >= 6, `${distance} px`);
  await close();
});

test('formulas that stand side by side stand on one line', async () => {
  const { page, close } = await open(browser, site.address, { viewport: { width: 1280, height: 800 } });
  const rows = await page.evaluate(() =>
    ['sinusoid', 'order', 'linear'].map((id) =>
      Array.from(document.querySelector(`#chapter-${id} .formula`).querySelectorAll('math'), (math) => {
        const equals = Array.from(math.querySelectorAll('mo')).find((sign) => sign.textContent === '=');
        return equals.getBoundingClientRect().top;
      }),
    ),
  );
  for (const tops of rows) {
    assert.ok(tops.length > 1);
    assert.ok(Math.max(...tops) - Math.min(...tops) < 1, `${tops}`);
  }
  await close();
});

test('names with a hyphen are not broken at it', async () => {
  for (const locale of ['en-US', 'zh-CN']) {
    const { page, close } = await open(browser, site.address, { locale, ...small });
    const [found, broken] = await page.evaluate(() => {
      const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
      const names = [];
      while (walker.nextNode()) {
        for (const { index, 0: name } of walker.currentNode.data.matchAll(/(GPT|Qwen\d)-\w+/g)) {
          if (walker.currentNode.parentElement.closest('.prose') === null) continue;
          const range = document.createRange();
          range.setStart(walker.currentNode, index);
          range.setEnd(walker.currentNode, index + name.length);
          const tops = Array.from(range.getClientRects(), ({ top }) => Math.round(top));
          names.push([name, new Set(tops).size]);
        }
      }
      return [names.length, names.filter(([, lines]) => lines !== 1).map(([name]) => name)];
    });
    assert.ok(found > 4);
    assert.deepEqual(broken, [], locale);
    await close();
  }
});

test('names of an axis that have no room are left out evenly', async () => {
  for (const width of [360, 1280]) {
    const { page, close } = await open(browser, site.address, { viewport: { width, height: 800 } });
    for (const [id, least, most] of [
      ['algebra-dot', -48, 48],
      ['rope-pair', -64, 64],
      ['binary-code', 0, 14],
    ]) {
      const names = await page.evaluate(
        (id) =>
          Array.from(document.querySelectorAll(`#figure-${id} .chart .tick[text-anchor=middle]`), (tick) =>
            Number(tick.textContent.replace('−', '-')),
          ).filter((value) => !Number.isNaN(value)),
        id,
      );
      assert.equal(names[0], least, id);
      assert.equal(names.at(-1), most, id);
      assert.equal(new Set(names.slice(1).map((name, i) => name - names[i])).size, 1, `${id} at ${width}: ${names}`);
      assert.ok(names.includes(0));
    }
    await close();
  }
});

test('the words above a map stand all one way', async () => {
  for (const [width, sideways] of [
    [360, 9],
    [1280, 0],
  ]) {
    const { page, close } = await open(browser, site.address, { viewport: { width, height: 800 } });
    const columns = page.locator('#figure-order-map .heat').first().locator('.heat-columns');
    assert.equal(await columns.locator('> bdi').count(), 9);
    assert.equal(await columns.locator('.sideways').count(), sideways, `${width}`);
    await close();
  }
});

test('in formulas within a line letters are slanted, and neither digits, signs nor names of functions', async () => {
  const { page, close } = await open(browser, site.address);
  const slanted = await page.evaluate(() => Array.from(document.querySelectorAll('.math var'), (v) => v.textContent));
  assert.ok(slanted.length > 50);
  assert.deepEqual(
    slanted.filter((text) => !/^\p{L}+$/u.test(text) || ['sin', 'cos', 'clip'].includes(text)),
    [],
  );
  const broken = await page.evaluate(() =>
    Array.from(document.querySelectorAll('.math'))
      .filter((formula) => getComputedStyle(formula).whiteSpace !== 'nowrap')
      .map((formula) => formula.textContent),
  );
  assert.deepEqual(broken, []);
  await close();
});

test('a slider ends where its figure ends', async () => {
  const { page, close } = await open(browser, site.address);
  const map = figureOf(page, 'sinusoid', 'map');
  const last = (figure, label) => page.locator(figure).getByLabel(label, { exact: true }).getAttribute('max');
  assert.equal(await last('#figure-sinusoid-map', 'Column'), '31');
  await map.press('Columns D', 'Home');
  assert.equal(await last('#figure-sinusoid-map', 'Column'), '1');
  assert.match(await map.summary(), /^Column 1 is the cosine of pair 0/);
  await figureOf(page, 'relative', 'maps').press('Words', 'Home');
  assert.equal(await last('#figure-relative-maps', 'Words back'), '7');
  await close();
});

test('the list of chapters opens below the bar within the window, as wide as its column, every title in it', async () => {
  for (const width of [360, 1280]) {
    const { page, close } = await open(browser, site.address, { viewport: { width, height: 800 } });
    await page.click('#opener');
    const seen = await page.evaluate(() => {
      const box = document.getElementById('chapters').getBoundingClientRect();
      const items = Array.from(document.querySelectorAll('#chapters a'), (a) => a.getBoundingClientRect());
      const opener = document.getElementById('opener').getBoundingClientRect();
      return { box, first: items[0].top - box.top, last: box.bottom - items.at(-1).bottom, opener };
    });
    assert.ok(seen.box.left >= 0 && seen.box.right <= width && seen.box.bottom <= 800);
    assert.ok(seen.first < 12 && seen.last < 12, 'no empty row before the first or after the last');
    assert.ok(seen.opener.width < 200, 'the button is as wide as what it says');
    await close();
  }
});

// In Firefox, which gives a page another density as a screen would; Chromium's protocol tells the page nothing of it.
test('on a screen of another density what is painted is painted again, as large as it was', async () => {
  const { page, close } = await both.open('Firefox', site.address);
  const painted = () =>
    page.evaluate(() =>
      ['#figure-order-map .heat-plot canvas', '#figure-binary-code .field-plot canvas'].map((name) => {
        const canvas = document.querySelector(name);
        return [canvas.clientWidth, canvas.width];
      }),
    );
  await until(async () => (await painted()).every(([width, pixels]) => width > 0 && width === pixels), 'the pictures');
  const before = await painted();
  for (const deviceScaleFactor of [2, 3, 1]) {
    await page.setViewport({ width: 1280, height: 900, deviceScaleFactor });
    const expected = JSON.stringify(before.map(([width, pixels]) => [width, pixels * deviceScaleFactor]));
    await until(async () => JSON.stringify(await painted()) === expected, `${deviceScaleFactor} pixels for each`);
  }
  await close();
});
