// Descriptions in the figures of the later chapters: the range of an axis, the meaning of a colour, sums of parts, the
// number of samples; and settings that do not apply are not offered.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';
import { bring, figureOf, open, until, withChromium } from './site.mjs';

const { site, browser } = await withChromium();

const fresh = (state = '', options = {}) => open(browser, site.address, { hash: `#lang=en&${state}`, ...options });
const textsOf = (page, selector) => page.locator(selector).allTextContents();
const isVisible = (page, selector) =>
  page.evaluate((found) => document.querySelector(found)?.checkVisibility(), selector);

test('the axis of the decay curves reaches as far down as they do', async () => {
  const { page, close } = await fresh('decay.curves.dim=16&decay.curves.base=100&decay.curves.reach=1024');
  const numbers = (await textsOf(page, '#figure-decay-curves .chart .tick')).map((text) =>
    Number(text.replace('−', '-').replace(',', '')),
  );
  const [table] = await figureOf(page, 'decay', 'curves').tables();
  const lowest = Math.min(...table.map(([cosines]) => cosines));
  assert.ok(lowest < -0.5, `${lowest}`);
  assert.ok(numbers.some((tick) => tick <= lowest && tick >= -1));
  await close();
});

test('far distances are taken in steps, and the axis says so', async () => {
  const { page, close } = await fresh('decay.curves.reach=16384');
  const ticks = await textsOf(page, '#figure-decay-curves .chart .tick');
  assert.ok(ticks.includes('distance m − n, at every 64th'), ticks.join());
  await figureOf(page, 'decay', 'curves').press('Distances', 'Home');
  const near = await textsOf(page, '#figure-decay-curves .chart .tick');
  assert.ok(near.includes('distance m − n'), near.join());
  await close();
});

test('a scale with a single value names that one and no other', async () => {
  for (const [k, ends] of [
    [0, '0'],
    [2, '04'],
  ]) {
    const { page, close } = await fresh(`relative.rows.k=${k}`);
    const legend = await textsOf(page, '#figure-relative-rows .legend > span:not([hidden], .strip, .kinds)');
    assert.equal(legend.join(''), `Row${ends}`);
    await close();
  }
});

test('random scores say how many of those wanted are drawn, until all are', async () => {
  const { page, close } = await fresh('decay.random.pairs=300');
  const note = () => page.locator('#figure-decay-random .controls .strip-note').textContent();
  assert.equal(await note(), 'Drawn now: 30 of 300.');
  await figureOf(page, 'decay', 'random').choose('Run');
  await until(async () => (await note()) === '', 'all of them');
  await close();
});

for (const colorScheme of ['light', 'dark']) {
  test(`axes are kinds: each has its name and a colour of its own, none that of the panel (${colorScheme})`, async () => {
    const { page, close } = await fresh('', { colorScheme });
    await bring(page, 'axes');
    const kinds = '#figure-axes-ids .field-box .kind';
    assert.deepEqual(await textsOf(page, kinds), ['t: time', 'r: row', 'c: column']);
    const colors = await page.evaluate((selector) => {
      const swatches = Array.from(document.querySelectorAll(`${selector} .swatch`));
      const panel = document.querySelector('#figure-axes-ids .panel');
      return [...swatches, panel].map((element) => getComputedStyle(element).backgroundColor);
    }, kinds);
    // Lightness tells them apart for every kind of colour sight.
    const light = colors.map((color) => {
      const [r, g, b] = color.match(/\d+/g).map((value) => (value / 255) ** 2.2);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    });
    for (const [i, one] of light.entries()) {
      for (const other of light.slice(i + 1)) {
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        assert.ok(contrast > 1.5, `${colors[i]}: ${contrast}`);
      }
    }
    await close();
  });
}

test('both orders of linear attention are drawn step by step, with what stands between', async () => {
  const { page, close } = await fresh();
  await bring(page, 'linear');
  const steps = await page.evaluate(() =>
    Array.from(document.querySelectorAll('#figure-linear-cost .factors'), (step) =>
      Array.from(step.querySelectorAll('.factor-name, .sign'), (part) => part.textContent).join(' '),
    ),
  );
  assert.deepEqual(steps, ['Q · Kᵀ = weights', 'weights · V = result', 'Kᵀ · V = state', 'Q · state = result']);
  const middles = await page.evaluate(() =>
    Array.from(document.querySelectorAll('#figure-linear-cost .factors'), (step) =>
      Array.from(step.querySelectorAll('.matrix, .sign'), (part) => {
        const { top, height } = part.getBoundingClientRect();
        return top + height / 2;
      }),
    ),
  );
  for (const [first, ...others] of middles) {
    for (const other of others) assert.ok(Math.abs(other - first) < 1, `${first} and ${other}`);
  }
  await close();
});

test('with the window or the text of another size, every picture is drawn for its new width', async () => {
  const { page, close } = await fresh('', { viewport: { width: 1280, height: 900 } });
  const others = () =>
    page.evaluate(() => {
      const charts = Array.from(document.querySelectorAll('.chart-box > svg.chart'), (chart) => [
        chart.closest('figure').id,
        Number(chart.getAttribute('viewBox').split(' ')[2]),
        Math.floor(chart.parentElement.clientWidth),
      ]);
      const pixels = Math.ceil(devicePixelRatio);
      const maps = Array.from(document.querySelectorAll('.field-plot > canvas'), (canvas) => [
        canvas.closest('figure').id,
        canvas.width / pixels,
        Math.floor(canvas.parentElement.clientWidth),
      ]);
      const all = [...charts, ...maps].filter(([, , place]) => place > 0);
      return { count: all.length, others: all.filter(([, drawn, place]) => Math.abs(drawn - place) > 1) };
    });
  const areDrawn = async (what) => {
    let seen;
    await until(async () => {
      seen = await others();
      return seen.others.length === 0;
    }, what).catch(() => assert.fail(`${what}: ${JSON.stringify(seen.others)}`));
    assert.ok(seen.count >= 20, `${seen.count} pictures`);
  };
  await areDrawn('at first');
  const browserSide = await page.context().newCDPSession(page);
  const withText = (standard) => browserSide.send('Page.setFontSizes', { fontSizes: { standard } });
  await withText(24);
  await areDrawn('larger text');
  await page.setViewportSize({ width: 400, height: 800 });
  await areDrawn('a narrow window');
  await withText(16);
  await areDrawn('text as before');
  await close();
});

test('measured times are bars as long as the times', async () => {
  const { page, close } = await fresh();
  await bring(page, 'speed');
  const figure = figureOf(page, 'speed', 'run');
  const tableButton = page.locator('#figure-speed-run .table-button');
  assert.equal(await tableButton.isVisible(), false, 'there is nothing to see as a table');
  assert.ok((await figure.code()).length > 0, 'the program is there before');
  await figure.choose('Run');
  await until(async () => /times as fast/.test(await figure.summary()), 'the measurement');
  assert.ok(await tableButton.isVisible());
  const widths = await page.evaluate(() =>
    Array.from(document.querySelectorAll('#figure-speed-run .bar-fill'), (bar) => bar.getBoundingClientRect().width),
  );
  const readings = await textsOf(page, '#figure-speed-run .bar-value');
  assert.ok(readings.every((reading) => / ms$/.test(reading)));
  const [table] = await figure.tables();
  for (const [i, [...times]] of table.entries()) {
    const ratio = times.pop();
    assert.equal(ratio, times[1] / times[0]);
    const [longest, drawn] = [Math.max(...times), widths.slice(3 * i, 3 * i + 3)];
    const most = Math.max(...drawn);
    for (const [j, time] of times.entries()) {
      // Pixels are rounded, and the shortest bar is two of them.
      assert.ok(Math.abs(drawn[j] / most - time / longest) < 0.02 || drawn[j] <= 2, `${drawn}: ${times}`);
    }
  }
  await close();
});

test('the maps of a head are titled as a sum, those of many heads by head', async () => {
  const { page, close } = await fresh('playground.stack.heads=8');
  const titles = () => textsOf(page, '#figure-playground-stack .field-title');
  assert.deepEqual(await titles(), ['Head 1: content', '+ position', '= score', '→ softmax → weight']);
  await figureOf(page, 'playground', 'stack').choose('weights');
  await until(async () => (await titles()).length === 8, 'eight maps');
  assert.equal((await titles())[7], 'Head 8: weight');
  const tops = await page.evaluate(() => [
    ...new Set(
      Array.from(document.querySelectorAll('#figure-playground-stack .field-box'), (box) =>
        Math.round(box.getBoundingClientRect().top),
      ),
    ),
  ]);
  assert.equal(tops.length, 2, 'in two rows');
  await close();
});

test('without a model there is nothing to set, with one there is', async () => {
  const { page, close } = await fresh();
  const look = '#figure-playground-look .controls .settings';
  const write = '#figure-playground-write .pair-of-controls';
  assert.deepEqual([await isVisible(page, look), await isVisible(page, write)], [false, false]);
  await figureOf(page, 'playground', 'model').choose('Make a small decoder for me');
  await until(() => isVisible(page, look), 'the settings');
  assert.equal(await isVisible(page, write), true);
  await close();
});

// The module of the page, in Node.
async function colorScale() {
  const root = fileURLToPath(new URL('../../web/', import.meta.url));
  const server = { middlewareMode: true, ws: false };
  const vite = await createServer({ root, configFile: false, server, optimizeDeps: { noDiscovery: true } });
  const made = await vite.ssrLoadModule('/src/views/color-scale.ts');
  await vite.close();
  return made;
}

test('on every colour of a scale its number can be read', async () => {
  const { colorOf, inkOn } = await colorScale();
  // Luminance as WCAG has it.
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const inks = { '#000': 0, '#fff': 1 };
  for (const [scale, onDark] of ['sequential', 'diverging'].flatMap((scale) => [
    [scale, false],
    [scale, true],
  ])) {
    for (let share = 0; share <= 1; share += 1 / 2048) {
      const [ground, ink] = [
        light(colorOf(share, onDark, scale).match(/\d+/g).map(Number)),
        inks[inkOn(share, onDark, scale)],
      ];
      const contrast = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
      assert.ok(contrast >= 4.5, `${contrast} at ${share} of ${scale}${onDark ? ' on dark' : ''}`);
    }
  }
});

// What is left of linear RGB for those who lack one kind of cones (Machado, Oliveira and Fernandes 2009, severity 1).
const sights = {
  'all cones': [1, 0, 0, 0, 1, 0, 0, 0, 1],
  'no L cones': [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  'no M cones': [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  'no S cones': [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};
const toXyz = [0.4339, 0.3762, 0.1899, 0.2126, 0.7152, 0.0722, 0.0177, 0.1094, 0.8729]; // white is 1, 1, 1

const times = (matrix, [a, b, c]) => [0, 3, 6].map((i) => matrix[i] * a + matrix[i + 1] * b + matrix[i + 2] * c);

// CIELAB, in which a difference of 2 is just seen beside each other.
function labOf(rgb, sight) {
  const linear = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const seen = times(sight, linear).map((c) => Math.min(Math.max(c, 0), 1));
  const [x, y, z] = times(toXyz, seen).map((c) => (c > 0.008856 ? Math.cbrt(c) : 7.787 * c + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test('signs have colours of their own, and differ from each other for every kind of colour sight', async () => {
  const { colorOf } = await colorScale();
  const styles = await readFile(new URL('../../web/src/styles/base.css', import.meta.url), 'utf8');
  for (const onDark of [false, true]) {
    const sign = (share) => colorOf(share, onDark, 'diverging').match(/\d+/g).map(Number);
    const apart = (a, b, sight) => Math.hypot(...labOf(a, sight).map((c, i) => c - labOf(b, sight)[i]));
    for (const [name, sight] of Object.entries(sights)) {
      for (let share = 0; share <= 1 / 3; share += 1 / 48) {
        const distance = apart(sign(share), sign(1 - share), sight);
        assert.ok(distance > 25, `${name}: ${distance} at ${share}${onDark ? ' on dark' : ''}`);
      }
    }
    for (const token of ['query', 'key']) {
      const hex = new RegExp(`--${token}: light-dark\\(#(\\w+), #(\\w+)\\)`).exec(styles)[onDark ? 2 : 1];
      const color = hex.match(/../g).map((part) => Number.parseInt(part, 16));
      for (let share = 0; share <= 1; share += 1 / 48) {
        const distance = apart(color, sign(share), sights['all cones']);
        assert.ok(distance > 30, `${token}: ${distance} at ${share}${onDark ? ' on dark' : ''}`);
      }
    }
  }
});

test('pairs of coordinates have colours of their own, the same in every figure, and none of a query, a key or a value', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const { page, close } = await fresh('', { colorScheme });
    await page.locator('#figure-rope-ways .summary:not(:empty)').waitFor();
    const seen = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement('span'));
      const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgb = (color) => {
        probe.style.color = color;
        context.fillStyle = getComputedStyle(probe).color;
        context.fillRect(0, 0, 1, 1);
        return Array.from(context.getImageData(0, 0, 1, 1).data.slice(0, 3));
      };
      const colorOf = (selector) => {
        const found = document.querySelector(selector);
        return rgb(getComputedStyle(found).getPropertyValue('--color'));
      };
      return {
        lines: [0, 1, 2].map((pair) =>
          rgb(getComputedStyle(document.querySelector(`#figure-rope-sum .chart .line.pair-${pair}`)).stroke),
        ),
        pairs: ['#figure-rope-layout .strips', '#figure-rope-ways .group-tables'].map((box) =>
          [0, 1, 2].map((pair) => colorOf(`${box} .pair-${pair}`)),
        ),
        others: ['query', 'key', 'third'].map((name) => rgb(`var(--${name})`)),
        // Of the word that is marked, in the table of queries, keys and values.
        head: Array.from(
          document.querySelectorAll('#figure-relative-head .group-tables > :nth-child(3) .marked'),
          (cell) => rgb(getComputedStyle(cell).getPropertyValue('--color')),
        ),
        panel: rgb('var(--panel)'),
      };
    });
    for (const each of seen.pairs) assert.deepEqual(each, seen.lines, colorScheme);
    // As the caption says: blue, orange and teal, two numbers each.
    assert.deepEqual(
      seen.head,
      seen.others.flatMap((color) => [color, color]),
      colorScheme,
    );
    const apart = (a, b) =>
      Math.hypot(...labOf(a, sights['all cones']).map((c, i) => c - labOf(b, sights['all cones'])[i]));
    for (const [i, pair] of seen.lines.entries()) {
      for (const other of [...seen.others, ...seen.lines.slice(i + 1)])
        assert.ok(apart(pair, other) > 25, `${pair} and ${other}`);
      assert.ok(apart(pair, seen.panel) > 35, `${pair} on ${seen.panel}`);
    }
    await close();
  }
});

test('a cell with room has one colour, and its number in the middle while the map is pointed at', async () => {
  const { page, close } = await fresh();
  for (const [plot, rows, columns] of [
    ['#figure-algebra-shift .field-box:last-child .field-plot', 3, 8],
    ['#figure-order-map .heat-plot', 9, 9],
  ]) {
    // How many colours are at the top of each cell and in its middle.
    const cellsOf = () =>
      page.evaluate(
        ([selector, rows, columns]) => {
          const canvas = document.querySelector(`${selector} canvas`);
          const context = canvas?.getContext('2d');
          if (!canvas?.width) return undefined;
          const [width, height] = [canvas.width / columns, canvas.height / rows];
          const colors = (x, y, w, h) => {
            const all = new Uint32Array(context.getImageData(Math.ceil(x), Math.ceil(y), w, h).data.buffer);
            return new Set(all).size;
          };
          return Array.from({ length: rows * columns }, (_, i) => {
            const [x, y] = [(i % columns) * width, Math.floor(i / columns) * height];
            const top = colors(x, y, Math.floor(width) - 2, 4);
            return { top, middle: colors(x + 4, y + 4, Math.floor(width) - 8, Math.floor(height) - 8) };
          });
        },
        [plot, rows, columns],
      );
    const plain = await until(cellsOf, 'a picture');
    assert.ok(
      plain.every(({ top, middle }) => top === 1 && middle === 1),
      JSON.stringify(plain),
    );
    await page.focus(plot);
    const cells = await cellsOf();
    assert.ok(
      cells.every(({ top, middle }) => top === 1 && middle > 4),
      JSON.stringify(cells),
    );
    await page.evaluate(() => document.activeElement.blur());
    assert.deepEqual(await cellsOf(), plain);
  }
  await close();
});

test('dots go from one method of longer contexts to the next, unless motion is unwelcome', async () => {
  for (const reducedMotion of ['no-preference', 'reduce']) {
    const { page, close } = await fresh('', { reducedMotion });
    await bring(page, 'context');
    const ticks = () => textsOf(page, '#figure-context-waves .chart .tick');
    const before = await ticks();
    // In one task: an animation does not go on forever.
    const moving = await page.evaluate(() => {
      const figure = document.querySelector('#figure-context-waves');
      Array.from(figure.querySelectorAll('label'))
        .find(({ textContent }) => textContent === 'PI')
        .click();
      return Array.from(figure.querySelectorAll('.dot.moves')).filter((dot) => dot.getAnimations().length > 0).length;
    });
    assert.equal(moving, reducedMotion === 'reduce' ? 0 : 32);
    assert.deepEqual(await ticks(), before, 'the axis stays, or the dots could not be compared');
    await close();
  }
});
