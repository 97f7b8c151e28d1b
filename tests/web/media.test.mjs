// Forced colours and print: the page is complete without what the system or the printer removes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bring, open, until, withChromium } from './site.mjs';

const { site, browser } = await withChromium();

// Contrast of two colours as WCAG has it; 'rgb(..)' or 'rgba(..)'.
const contrast = (a, b) => {
  const light = (color) => {
    const [r, g, bl] = color
      .match(/[\d.]+/g)
      .slice(0, 3)
      .map((c) => (Number(c) / 255 <= 0.04045 ? Number(c) / 255 / 12.92 : ((Number(c) / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [x, y] = [light(a), light(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
};

for (const [colorScheme, theme] of [
  ['light', 'auto'],
  ['dark', 'auto'],
  ['light', 'dark'],
  ['dark', 'light'],
]) {
  test(`with forced colours (${colorScheme}, theme ${theme}) figures keep their lines, cells, and what is chosen`, async () => {
    const forced = { forcedColors: 'active', colorScheme, hash: `#theme=${theme}` };
    const { page, complaints, close } = await open(browser, site.address, forced);
    assert.ok(await page.evaluate(() => matchMedia('(forced-colors: active)').matches));
    const seen = await page.evaluate(() => {
      const style = (selector, ...names) =>
        Array.from(document.querySelectorAll(`main ${selector}`), (element) => ({
          what: `${element.closest('figure')?.id ?? ''} ${selector} ${element.getAttribute('class') ?? ''}`,
          colors: names.map((name) => getComputedStyle(element)[name]),
        }));
      const ground = getComputedStyle(document.querySelector('figure .panel')).backgroundColor;
      return {
        ground,
        lines: [
          ...style('.chart:not(.sample) .line', 'stroke'),
          ...style('.chart .axis', 'stroke'),
          ...style('.dials .hand', 'stroke'),
          ...style('.dials .arc', 'stroke'),
          ...style('.plane path.turned', 'stroke'),
          ...style('.needles line', 'stroke'),
          ...style('.strips rect', 'stroke'),
        ],
        dots: [...style('.chart .dot', 'fill')],
        halos: [...style('.chart .mark-name', 'stroke'), ...style('.plane text', 'stroke')],
        text: getComputedStyle(document.querySelector('figure .panel')).color,
        texts: [
          ...style('.chart text', 'fill'),
          ...style('.strips text', 'fill'),
          ...style('.plane text', 'fill'),
          ...style('.summary', 'color'),
          ...style('figcaption', 'color'),
        ],
        matrices: style('.matrix.made', 'borderTopColor', 'backgroundColor'),
        canvases: Array.from(
          document.querySelectorAll('main canvas'),
          (canvas) => getComputedStyle(canvas).forcedColorAdjust,
        ),
        chosen: Array.from(
          document.querySelectorAll('.segments input:checked + span'),
          (element) => getComputedStyle(element).outlineStyle,
        ),
      };
    });
    for (const { what, colors } of [...seen.lines, ...seen.dots]) {
      assert.ok(contrast(colors[0], seen.ground) >= 3, `${what}: ${colors[0]} on ${seen.ground}`);
    }
    for (const { what, colors } of seen.texts) {
      assert.ok(contrast(colors[0], seen.ground) >= 4.5, `${what}: ${colors[0]} on ${seen.ground}`);
    }
    for (const { what, colors } of seen.halos) assert.equal(colors[0], seen.ground, what);
    assert.ok(contrast(seen.text, seen.ground) > 15, `${seen.text} on ${seen.ground}`);
    for (const { what, colors } of seen.matrices) {
      assert.ok(
        colors.some((color) => contrast(color, seen.ground) >= 3),
        `${what}: ${colors} on ${seen.ground}`,
      );
    }
    assert.ok(seen.lines.length > 50 && seen.canvases.length > 10 && seen.chosen.length > 5);
    assert.ok(
      seen.canvases.every((adjust) => adjust === 'none'),
      'cells keep the colours that are their numbers',
    );
    assert.ok(seen.chosen.every((outline) => outline === 'solid'));
    await page.emulateMedia({ forcedColors: 'none' });
    await until(
      () =>
        page.evaluate(
          (wanted) => document.documentElement.dataset.theme === wanted,
          theme === 'auto' ? colorScheme : theme,
        ),
      'the theme that was chosen',
    );
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('on paper there are all chapters and figures, dark on light, and nothing to press', async () => {
  const { page, complaints, close } = await open(browser, site.address, { colorScheme: 'dark' });
  await page.evaluate(() => document.querySelector('#chapter-order .answer').click());
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  const seen = await page.evaluate(() => {
    const visible = (selector) =>
      Array.from(document.querySelectorAll(selector)).filter((element) => element.checkVisibility());
    return {
      controls: visible('button:not(.chip), input, summary, header.site, .menu-items, progress').map((element) =>
        element.outerHTML.slice(0, 100),
      ),
      figures: Array.from(document.querySelectorAll('figure'), (figure) => [
        figure.id,
        figure.querySelector('.picture').getBoundingClientRect().height,
        figure.querySelector('.summary').checkVisibility(),
      ]),
      paper: getComputedStyle(document.documentElement).backgroundColor,
      ink: getComputedStyle(document.documentElement).color,
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    };
  });
  assert.deepEqual(seen.controls, []);
  assert.ok(seen.figures.length > 25);
  for (const [id, height, hasSummary] of seen.figures) {
    // Those of the playground's model are empty until there is one.
    const isEmpty = /^figure-playground-(model|look|write)$/.test(id);
    if (!isEmpty) assert.ok(height > 60, `${id} is ${height} px high`);
    assert.ok(hasSummary, id);
  }
  assert.ok(contrast(seen.paper, seen.ink) > 10, `${seen.ink} on ${seen.paper}`);
  assert.equal(seen.wide, 0);
  const pdf = await page.pdf({ format: 'A4' });
  const pages = pdf.toString('latin1').match(/\/Type \/Page\b/g).length;
  assert.ok(pages > 15 && pages < 90, `${pages} pages`);
  assert.deepEqual(complaints, []);
  await close();
});

test('nothing is told by hovering alone: whatever a pointer reads out, the keyboard does, and no name is only a title', async () => {
  const { page, close } = await open(browser, site.address);
  const titles = await page.evaluate(() =>
    Array.from(document.querySelectorAll('[title], svg title'))
      .filter(
        (element) =>
          element.getAttribute('aria-label') !== element.getAttribute('title') || element.tagName === 'title',
      )
      .map((element) => element.outerHTML.slice(0, 100)),
  );
  assert.deepEqual(titles, []);
  // All of them first: a chapter that comes on the way would change who is which.
  await bring(page);
  const plots = page.locator('.field-plot:visible, .heat-plot:visible');
  const count = await plots.count();
  assert.ok(count > 20, `${count} plots`);
  const withReadout = 'xpath=ancestor::*[.//*[contains(@class, "readout")]][1]';
  for (let i = 0; i < count; ++i) {
    const readout = plots.nth(i).locator(withReadout).locator('.readout');
    const before = await readout.textContent();
    await plots.nth(i).focus();
    await page.keyboard.press('ArrowDown');
    // Neighbours share a readout, which may stand at the first step already.
    if ((await readout.textContent()) === before) await page.keyboard.press('ArrowDown');
    assert.notEqual(await readout.textContent(), before, `plot ${i}`);
  }
  await close();
});
