// Layout: formulas, tables and axis labels that fit a small screen, and conventional typography. For all states, widths
// and font sizes see sweeps/screens.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bring, figureOf, open, until, withBoth } from './site.mjs';

const { site, both, browser } = await withBoth();

// Pages that tests look at and leave as they are, one for each width and language.
const pages = new Map();
async function pageOf(width, locale = 'en-US') {
  const key = `${width} ${locale}`;
  if (!pages.has(key)) pages.set(key, await open(browser, site.address, { locale, viewport: { width, height: 800 } }));
  return pages.get(key).page;
}

const chapters = ['order', 'binary', 'sinusoid', 'algebra', 'relative', 'rope'].map((id) => `#chapter-${id}`).join();

test('on a small screen formulas, tables and listings are seen whole, without scrolling them', async () => {
  for (const locale of ['en-US', 'zh-CN']) {
    const page = await pageOf(360, locale);
    const [seen, wide] = await page.evaluate((chapters) => {
      const boxes = Array.from(document.querySelectorAll(`:is(${chapters}) :is(.formula, .scroller, pre)`)).filter(
        (box) => box.checkVisibility(),
      );
      const isWide = (box) => box.scrollWidth > box.clientWidth;
      return [boxes.length, boxes.filter(isWide).map((box) => box.textContent.slice(0, 60))];
    }, chapters);
    assert.ok(seen > 12);
    assert.deepEqual(wide, [], locale);
  }
});

test('what is wider than a very small screen scrolls, and its edge shows that there is more', async () => {
  for (const locale of ['en-US', 'zh-CN']) {
    const page = await pageOf(320, locale);
    const wide = await page.evaluate(() =>
      Array.from(document.querySelectorAll('main :is(.formula, .scroller, pre)'))
        .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth)
        .map((box) => {
          const { overflowX, backgroundAttachment } = getComputedStyle(box);
          return [box.textContent.slice(0, 60), overflowX, backgroundAttachment];
        }),
    );
    assert.ok(wide.length > 0);
    for (const [text, ...style] of wide) assert.deepEqual(style, ['auto', 'local, scroll'], text);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
  }
});

test('both ends of a scale stand beside it, however small the screen', async () => {
  for (const [width, locale] of [320, 340, 360].flatMap((width) => [
    [width, 'en-US'],
    [width, 'zh-CN'],
  ])) {
    const page = await pageOf(width, locale);
    await bring(page, 'lab');
    const alone = await page.evaluate(() => {
      const middle = (element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return (top + bottom) / 2;
      };
      return Array.from(document.querySelectorAll('.legend'))
        .map((legend) => [legend, legend.querySelector('canvas')])
        .filter(([, scale]) => scale?.checkVisibility())
        .flatMap(([legend, scale]) =>
          Array.from(legend.querySelectorAll(':scope > span:not(.strip, .hidden-key, :empty)'))
            .filter((end) => Math.abs(middle(end) - middle(scale)) > 6)
            .map(({ textContent }) => `${legend.closest('figure').id}: ${textContent}`),
        );
    });
    assert.deepEqual(alone, [], `${width} px, ${locale}`);
  }
});

test('numbers of a table never touch, however small the screen', async () => {
  for (const [width, locale] of [320, 340, 360].flatMap((width) => [
    [width, 'en-US'],
    [width, 'zh-CN'],
  ])) {
    const page = await pageOf(width, locale);
    const gaps = await page.evaluate(() => {
      const boxOf = (cell) => {
        const text = document.createRange();
        text.selectNodeContents(cell);
        return text.getBoundingClientRect();
      };
      const rows = document.querySelectorAll('#figure-rope-worked .picture tr');
      return Array.from(rows, ({ cells, textContent }) => {
        const boxes = Array.from(cells, boxOf);
        return [textContent, Math.min(...boxes.slice(1).map(({ left }, i) => left - boxes[i].right))];
      });
    });
    assert.equal(gaps.length, 7);
    for (const [row, gap] of gaps) assert.ok(gap > 2, `${width} px, ${row}: ${gap}`);
  }
});

test('what a button says when it was pressed stands clear of the ring around it', async () => {
  const { page, close } = await open(browser, site.address);
  const clear = await page.evaluate(() =>
    Array.from(document.querySelectorAll('#figure-rope-pair .copy > .said'), (said) => {
      const program = said.closest('details');
      if (program) Object.assign(program, { open: true, hidden: false });
      said.textContent = 'said';
      return said.getBoundingClientRect().left - said.previousElementSibling.getBoundingClientRect().right;
    }),
  );
  assert.equal(clear.length, 2);
  // The ring is 2 px wide, 2 px away.
  for (const distance of clear) assert.ok(distance >= 6, `${distance} px`);
  await close();
});

test('at first a figure shows at most three settings, and the others under More settings', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#lang=en' });
  await bring(page);
  await page.click('#chapter-lab button[aria-expanded]');
  await figureOf(page, 'playground', 'model').choose('Make a small decoder for me');
  for (const id of ['lab-text', 'playground-look', 'playground-write']) {
    await page.locator(`#figure-${id} .control`).first().waitFor();
  }
  const figures = await page.evaluate(() =>
    Array.from(document.querySelectorAll('figure'), ({ id, children }) => {
      const settings = Array.from(children[0].querySelectorAll('.control'));
      const isMore = (setting) => setting.closest('.more') !== null;
      return {
        id,
        seen: settings.filter((setting) => setting.checkVisibility()).length,
        // What another setting has put away may come back.
        astray: settings.filter((setting) => setting.checkVisibility() && isMore(setting)).length,
        others: settings.filter(isMore).length,
        more: children[0].querySelectorAll('.more > summary').length,
      };
    }),
  );
  assert.ok(figures.length > 45, `${figures.length} figures`);
  // Its text sends the reader from head to head of each layer, and to another encoding of the same tokens.
  const most = { 'figure-playground-look': 4 };
  for (const { id, seen, astray, others, more } of figures) {
    assert.ok(seen <= (most[id] ?? 3), `${id} shows ${seen}`);
    assert.equal(astray, 0, id);
    assert.equal(more, others > 0 ? 1 : 0, id);
  }
  await close();
});

test('formulas that stand side by side stand on one line', async () => {
  const page = await pageOf(1280);
  await bring(page, 'linear');
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
});

test('names with a hyphen are not broken at it', async () => {
  for (const locale of ['en-US', 'zh-CN']) {
    const page = await pageOf(360, locale);
    await bring(page, 'axes');
    const [found, broken] = await page.evaluate(() => {
      const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
      const names = [];
      while (walker.nextNode()) {
        for (const { index, 0: name } of walker.currentNode.data.matchAll(/\b(GPT|M|Qwen\d)-\w+/g)) {
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
  }
});

test('who comes to the playground has its first map in sight', async () => {
  for (const viewport of [
    { width: 1280, height: 900 },
    { width: 390, height: 844 },
  ]) {
    const { page, close } = await open(browser, site.address, { hash: '#lang=en', viewport });
    const room = await page.evaluate(() => {
      document.querySelector('#chapter-playground h2').scrollIntoView({ behavior: 'instant' });
      return innerHeight - document.querySelector('#figure-playground-stack canvas').getBoundingClientRect().top;
    });
    assert.ok(room > 40, `${room} px at ${viewport.width}`);
    await close();
  }
});

test('on a phone the picture of every figure is above its controls', async () => {
  const page = await pageOf(390);
  const [seen, below] = await page.evaluate(() => {
    const topOf = (panel, part) => panel.querySelector(`:scope > ${part}`)?.getBoundingClientRect();
    const both = Array.from(document.querySelectorAll('figure .panel'), (panel) => ({
      id: panel.closest('figure').id,
      picture: topOf(panel, '.picture'),
      controls: topOf(panel, '.controls'),
    })).filter(({ picture, controls }) => picture?.height > 0 && controls?.height > 0);
    return [both.length, both.filter(({ picture, controls }) => picture.bottom > controls.top).map(({ id }) => id)];
  });
  assert.ok(seen > 20, `${seen}`);
  assert.deepEqual(below, []);
});

test('where there is room a figure that fits the window stays in sight beside its text', async () => {
  for (const [width, height] of [
    [1100, 900],
    [1250, 900],
    [1280, 900],
    [1600, 1000],
    [1280, 500],
  ]) {
    const { page, close } = await open(browser, site.address, { viewport: { width, height } });
    await until(() => page.evaluate(() => document.querySelector('.resting') === null), 'all of it awake');
    const seen = await page.evaluate(() => {
      const bar = document.querySelector('header').getBoundingClientRect().bottom;
      return Array.from(document.querySelectorAll('.passage'), (passage) => {
        const figure = passage.querySelector(':scope > figure');
        const texts = Array.from(passage.querySelectorAll(':scope > div'), (text) => text.getBoundingClientRect());
        const box = figure.getBoundingClientRect();
        const from = box.top - passage.getBoundingClientRect().top;
        // Half of the way that there is for it in its passage.
        const room = (passage.offsetHeight - from - box.height) / 2;
        scrollTo({ top: scrollY + box.top - bar + room, behavior: 'instant' });
        const { top, bottom } = figure.getBoundingClientRect();
        return {
          id: figure.id,
          isBeside: texts.every(({ right }) => right <= box.left),
          isBelow: texts[0].bottom <= box.top,
          hasRoom: room > 40,
          fits: box.height < innerHeight - bar - 60,
          isInSight: top >= bar && bottom <= innerHeight,
          went: Math.abs(top - (bar - room)) < 2,
        };
      });
    });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    assert.ok(seen.length > 10);
    const isWide = width > 1258;
    for (const { id, isBeside, isBelow } of seen) assert.ok(isWide ? isBeside : isBelow, `${id} at ${width}`);
    const moving = seen.filter(({ hasRoom }) => isWide && hasRoom);
    for (const { id, fits, isInSight, went } of moving) {
      assert.ok(fits ? isInSight : went || isInSight, `${id} at ${width} x ${height}`);
    }
    if (isWide)
      assert.equal(
        moving.some(({ fits }) => fits),
        height > 500,
        `${width} x ${height}`,
      );
    await close();
  }
});

test('a window that becomes narrow or wide keeps the figure that is read in sight, and all chapters follow', async () => {
  const { page, close } = await open(browser, site.address, { viewport: { width: 1400, height: 900 } });
  const isAwake = () => page.evaluate(() => document.querySelector('.resting') === null);
  await until(isAwake, 'all of it awake');
  const readAt = () => page.evaluate(() => document.querySelector('#figure-decay-bound').getBoundingClientRect().top);
  await page.evaluate(() => {
    document.querySelector('#figure-decay-bound').scrollIntoView();
    scrollBy({ top: -100, behavior: 'instant' });
  });
  const before = await readAt();
  for (const [width, share] of [
    [900, 0],
    [1400, 1],
  ]) {
    await page.setViewportSize({ width, height: 900 });
    const beside = () =>
      page.evaluate(
        () => document.querySelectorAll('.chapter.beside').length / document.querySelectorAll('.chapter').length,
      );
    await until(async () => (await beside()) === share && (await isAwake()), `chapters at ${width}`);
    const after = await readAt();
    assert.ok(after > 50 && after < 650, `${before} to ${after} at ${width}`);
  }
  await close();
});

test('names of an axis that have no room are left out evenly', async () => {
  for (const width of [360, 1280]) {
    const page = await pageOf(width);
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
  }
});

test('the words above a map stand all one way', async () => {
  for (const [width, sideways] of [
    [360, 9],
    [1280, 0],
  ]) {
    const page = await pageOf(width);
    const columns = page.locator('#figure-order-map .heat').first().locator('.heat-columns');
    assert.equal(await columns.locator('> bdi').count(), 9);
    assert.equal(await columns.locator('.sideways').count(), sideways, `${width}`);
  }
});

test('in formulas within a line letters are slanted, and neither digits, signs nor names of functions', async () => {
  const page = await pageOf(1280);
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
