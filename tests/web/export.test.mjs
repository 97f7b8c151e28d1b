// Saving figures, in Chromium and Firefox: files contain the numbers of the tables, and pictures match the figures.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { bring, browsers, figureOf, open, until, withBoth } from './site.mjs';

const { site, both, browser: chromium } = await withBoth();
const pages = {};
// A sentence with a formula for spreadsheets in it, as a link could bring one, and a word twice.
const words = ['=1+1', 'a,b', '"c"', 'a,b'];
const sentence = encodeURIComponent(words.join(' '));
const hash = `#lang=en&order.words.words=${sentence}&order.map.words=${sentence}`;
for (const name of browsers) pages[name] = await both.open(name, site.address, { hash });
for (const { page } of Object.values(pages)) await page.evaluate(catchFiles);

// Files that the page hands to the browser are kept instead.
function catchFiles() {
  globalThis.saved = [];
  let last;
  const create = URL.createObjectURL;
  URL.createObjectURL = (file) => {
    last = file;
    return create(file);
  };
  HTMLAnchorElement.prototype.click = function () {
    globalThis.saved.push({ name: this.download, file: last });
  };
}

async function save(page, chapter, name, label) {
  await page.evaluate(() => globalThis.saved.splice(0));
  await page.evaluate((id) => document.querySelector(`#${id} .menu summary`).click(), `figure-${chapter}-${name}`);
  await figureOf(page, chapter, name).choose(label);
  await until(() => page.evaluate(() => globalThis.saved.length === 1), `${chapter}-${name} as ${label}`);
}

const savedText = (page) =>
  page.evaluate(async () => {
    const [{ name, file }] = globalThis.saved;
    return { name, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(await file.arrayBuffer()) };
  });

// Of several tables.
const csvColumns = ['table', 'row', 'column', 'value'];

const python = (code, input) => JSON.parse(execFileSync('python3', ['-c', code], { input, encoding: 'utf8' }));
const readCsv = `import csv, io, json, sys
text = sys.stdin.buffer.read().decode("utf-8-sig")
print(json.dumps(list(csv.DictReader(io.StringIO(text)))))`;
const readJson = 'import json, sys; print(json.dumps(json.load(sys.stdin)))';

// RFC 4180 after a byte order mark, as a spreadsheet reads it.
function cells(csv) {
  const rows = [[]];
  for (const [, quoted, plain, end] of csv.slice(1, -2).matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === '') break;
    if (end === '\r\n') rows.push([]);
  }
  return rows;
}

for (const browser of browsers) {
  test(`numbers are saved whole, as JSON and as CSV (${browser})`, async () => {
    const { page, complaints } = pages[browser];
    await bring(page, 'linear', 'speed');
    for (const [chapter, name] of [
      ['order', 'map'],
      ['linear', 'forms'],
      ['speed', 'error'],
    ]) {
      const tables = await figureOf(page, chapter, name).tables();
      await save(page, chapter, name, 'Save numbers (JSON)');
      const json = await savedText(page);
      assert.equal(json.name, `${chapter}-${name}.json`);
      const { figure, caption, summary, address, code, tables: saved } = JSON.parse(json.text);
      assert.equal(figure, `${chapter}-${name}`);
      assert.equal(summary, await figureOf(page, chapter, name).summary());
      assert.equal(code, await figureOf(page, chapter, name).code());
      assert.ok(address.includes(`at=${chapter}`) && caption.length > 20);
      const numbers = saved.map(({ rows }) => rows.map(({ values }) => values.map((value) => value ?? Number.NaN)));
      assert.deepEqual(numbers, tables);

      await save(page, chapter, name, 'Save numbers (CSV)');
      const csv = await savedText(page);
      assert.equal(csv.name, `${chapter}-${name}.csv`);
      assert.equal(csv.text[0], '\ufeff');
      const [head, ...rows] = cells(csv.text);
      const isOne = tables.length === 1;
      assert.deepEqual(head, isOne ? [saved[0].corner, ...saved[0].columns.map(String)] : csvColumns);
      const values = rows
        .flatMap((row) => row.slice(isOne ? 1 : 3))
        .map((cell) => (cell === '' ? Number.NaN : Number(cell)));
      assert.deepEqual(values, tables.flat(2));
      await figureOf(page, chapter, name).choose('View as picture');
    }
    assert.deepEqual(complaints.splice(0), []);
  });

  test(`a number that stands for a name is saved as the name (${browser})`, async () => {
    const { page } = pages[browser];
    await bring(page, 'axes');
    await save(page, 'axes', 'ids', 'Save numbers (JSON)');
    const [, { rows }] = JSON.parse((await savedText(page)).text).tables;
    assert.deepEqual(new Set(rows[1].values), new Set(['time', 'row', 'column']));
    await save(page, 'axes', 'ids', 'Save numbers (CSV)');
    const axes = cells((await savedText(page)).text).slice(-rows.length * rows[0].values.length);
    assert.deepEqual(
      axes.map((cells) => cells.at(-1)),
      rows.flatMap(({ values }) => values),
    );
  });

  test(`no word becomes a formula of a spreadsheet (${browser})`, async () => {
    const { page } = pages[browser];
    await save(page, 'order', 'words', 'Save numbers (CSV)');
    const rows = cells((await savedText(page)).text).slice(1);
    assert.deepEqual(
      rows.map(([row]) => row),
      ["'=1+1", ...words.slice(1)],
    );
  });

  test(`words of a map are told apart where they are the same (${browser})`, async () => {
    const { page } = pages[browser];
    const names = words.map((word, i) => `${i} · ${word}`);
    await save(page, 'order', 'map', 'Save numbers (CSV)');
    const rows = cells((await savedText(page)).text).slice(1, 1 + names.length ** 2);
    assert.deepEqual(
      rows.map(([, row, column]) => [row, column]),
      names.flatMap((row) => names.map((column) => [row, column])),
    );
    await save(page, 'order', 'map', 'Save numbers (JSON)');
    const [{ columns, rows: saved }] = JSON.parse((await savedText(page)).text).tables;
    assert.deepEqual([columns, saved.map(({ name }) => name)], [names, names]);
  });

  test(`Python reads what is saved, and numbers as numbers (${browser})`, async () => {
    const { page } = pages[browser];
    for (const [chapter, name, isOne] of [
      ['algebra', 'dot', true],
      ['rope', 'pair', true],
      ['linear', 'cost', false],
    ]) {
      const [[[first]]] = await figureOf(page, chapter, name).tables();
      await figureOf(page, chapter, name).choose('View as picture');
      await save(page, chapter, name, 'Save numbers (CSV)');
      const rows = python(readCsv, (await savedText(page)).text);
      const names = Object.keys(rows[0]);
      if (!isOne) assert.deepEqual(names, csvColumns);
      const place = isOne ? rows.map((row) => row[names[0]]) : rows.map(({ row }) => row);
      assert.ok(place.every((text) => !text.includes('\u2212')));
      if (isOne) assert.ok(place.map(Number).every((number) => Number.isInteger(number)) && place[0] < 0);
      assert.equal(Number(rows[0][isOne ? names[1] : 'value']), first);
      await save(page, chapter, name, 'Save numbers (JSON)');
      const { tables } = python(readJson, (await savedText(page)).text);
      assert.ok(tables[0].rows.every(({ name }) => typeof name === 'number'));
      assert.equal(tables[0].rows[0].values[0], first);
    }
  });

  test(`every picture is saved as it is seen, to its last row (${browser})`, async () => {
    const { page, complaints } = pages[browser];
    await bring(page, 'context', 'axes', 'linear', 'compare', 'speed');
    await figureOf(page, 'playground', 'model').choose('Make a small decoder for me');
    await until(async () => /^Layer/.test(await figureOf(page, 'playground', 'look').summary()), 'the maps');
    const losses = figureOf(page, 'playground', 'length');
    const isThere = () => page.evaluate(() => document.querySelector('#figure-playground-length') !== null);
    await until(isThere, 'the figure of losses');
    await losses.type('Text', '1 2 3 4 5 1 2 3 4 5');
    await losses.choose('Measure');
    await until(async () => /^10 tokens/.test(await losses.summary()), 'losses');
    const ids = await page.evaluate(() => Array.from(document.querySelectorAll('figure'), ({ id }) => id.slice(7)));
    // What has written nothing, trained nothing and measured nothing yet shows nothing.
    for (const id of ids.filter((each) => !/^lab-|^speed-(run|threads)$|^playground-write$/.test(each))) {
      const [chapter, name] = id.split('-');
      // Also where the table has taken the picture's place.
      if (name === 'forms') await figureOf(page, chapter, name).choose('View as table');
      await save(page, chapter, name, 'Save picture (PNG)');
      const seen = await page.evaluate(look, `figure-${id}`);
      assert.equal(seen.name, `${id}.png`);
      const isLarge = seen.width * seen.height > 4.9e6;
      assert.ok(seen.width * seen.height <= 5e6, JSON.stringify(seen));
      assert.ok((isLarge && seen.width < 2 * seen.panelWidth) || isTwice(seen), JSON.stringify(seen));
      assert.ok(seen.inked > 0.01 && seen.inked < 0.9, JSON.stringify(seen));
      assert.ok(seen.colors > 8, JSON.stringify(seen));
      assert.equal(seen.ground, `${seen.panel.match(/\d+/g).join()},255`);
      assert.equal(seen.atBottom, 0, `${id} is cut off`);
      if (id === 'rope-pair') {
        // The plane above the curve, with both arrows.
        assert.ok(seen.height > 0.6 * seen.width, JSON.stringify(seen));
        assert.ok(seen.query > 2000 && seen.key > 2000, JSON.stringify(seen));
      }
    }
    await figureOf(page, 'linear', 'forms').choose('View as picture');
    await figureOf(page, 'playground', 'model').choose('Reset');
    assert.deepEqual(complaints.splice(0), []);
  });
}

const isTwice = ({ width, panelWidth }) => Math.abs(width / 2 - panelWidth) < 40;

// In the page: what is in the PNG that was saved, by its pixels.
async function look(id) {
  const [{ name, file }] = globalThis.saved;
  const bitmap = await createImageBitmap(file);
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const ground = data.slice(0, 4).join();
  const figure = document.getElementById(id);
  const inkOf = (selector, property) => {
    const element = figure.querySelector(selector);
    return element === null ? '' : getComputedStyle(element)[property].match(/\d+/g).slice(0, 3).join();
  };
  const inks = { query: inkOf('.plane .query path.turned', 'stroke'), key: inkOf('.plane .key path.turned', 'stroke') };
  const counts = { query: 0, key: 0 };
  const panel = figure.querySelector('.panel');
  const margin = Math.floor((12 * width) / panel.getBoundingClientRect().width);
  let [inked, atBottom] = [0, 0];
  const colors = new Set();
  for (let i = 0; i < data.length; i += 4) {
    const ink = `${data[i]},${data[i + 1]},${data[i + 2]}`;
    const color = `${ink},${data[i + 3]}`;
    if (color !== ground) {
      ++inked;
      // Nothing may stand in the margin, of which three quarters are looked at.
      if (i >= 4 * width * (height - margin)) ++atBottom;
    }
    for (const each of ['query', 'key']) if (ink === inks[each]) ++counts[each];
    if (i % 400 === 0) colors.add(color);
  }
  return {
    name,
    width,
    height,
    panelWidth: panel.getBoundingClientRect().width,
    inked: inked / (data.length / 4),
    atBottom,
    colors: colors.size,
    ground,
    panel: getComputedStyle(panel).backgroundColor,
    ...counts,
  };
}

// In the page: keeps what is drawn as an image.
function keepDrawn() {
  const { set, ...rest } = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, 'src');
  Object.defineProperty(HTMLImageElement.prototype, 'src', {
    ...rest,
    set(address) {
      if (address.startsWith('data:image/svg')) globalThis.drawn = address;
      set.call(this, address);
    },
  });
}

// The address of the image that a figure is saved from, in a page that keeps it.
async function drawnOf(page, id) {
  await page.evaluate((id) => {
    globalThis.drawn = undefined;
    document.querySelector(`#${id} .menu summary`).click();
    document.querySelectorAll(`#${id} .menu-items button`)[1].click();
  }, id);
  return until(() => page.evaluate(() => globalThis.drawn), `the image of ${id}`);
}

const textOf = (drawn) => {
  const [, figure] = decodeURIComponent(drawn).split('<foreignObject');
  return figure.replace(/<[^>]*>/g, '').replaceAll('&amp;', '&');
};

test('below a saved picture stand its caption, its settings and its address', async () => {
  const { page, complaints, close } = await open(chromium, site.address, { hash: '#lang=en&rope.pair.m=40' });
  await page.evaluate(keepDrawn);
  const text = textOf(await drawnOf(page, 'figure-rope-pair'));
  assert.match(text, /Figure 6\.3One pair of coordinates/);
  assert.match(text, /Position m of the query: 40 · Position n of the key: \d+ · Lock the distance m − n: – · /);
  assert.match(text, /http:\/\/127\.0\.0\.1:\d+\/#lang=en&rope\.pair\.m=40&at=rope\.pair/);
  assert.deepEqual(complaints, []);
  await close();
});

test('a saved picture tells its step, and settings that play a part, not those that are hidden', async () => {
  for (const [id, state, told, hidden] of [
    ['rope-steps', 'rope.steps.step=1', 'step 1 of 7http', ['Position m', 'Position n']],
    ['rope-steps', 'rope.steps.step=5', 'step 5 of 7 · Position m of the query: 5http', ['Position n']],
    ['linear-forms', 'linear.forms.form=cosine', 'Random sequence number: 3http', ['Feature map']],
  ]) {
    const { page, complaints, close } = await open(chromium, site.address, { hash: `#lang=en&${state}` });
    await bring(page, id.split('-')[0]);
    await page.evaluate(keepDrawn);
    const text = textOf(await drawnOf(page, `figure-${id}`));
    assert.ok(text.includes(told), `${told}: ${text}`);
    for (const name of hidden) assert.ok(!text.includes(name), `${name}: ${text}`);
    assert.deepEqual(complaints, []);
    await close();
  }
});

// In a page or an image: where the parts of a picture begin and end from left to right.
function placesIn(selector) {
  const picture = document.querySelector(selector);
  const { x } = picture.getBoundingClientRect();
  return Array.from(picture.querySelectorAll('*'), (element) => {
    const { left, right } = element.getBoundingClientRect();
    return { name: element.localName, place: [left - x, right - x] };
  });
}

test('a saved picture has the columns that it has on the page, on a phone and on a broad screen', async () => {
  const pairs = [
    ['rope-worked', 390],
    ['rope-steps', 390],
    ['rope-layout', 390],
    ['rope-ways', 1280],
    ['rope-steps', 1280],
  ];
  for (const [name, width] of pairs) {
    const viewport = { width, height: 844 };
    const { page, complaints, close } = await open(chromium, site.address, { hash: '#lang=en&at=rope', viewport });
    await page.evaluate(keepDrawn);
    const drawn = await drawnOf(page, `figure-${name}`);
    const seen = await page.evaluate(placesIn, `#figure-${name} .picture`);
    assert.deepEqual(complaints, []);
    await page.goto(drawn);
    const saved = await page.evaluate(placesIn, '.picture');
    assert.equal(saved.length, seen.length, name);
    for (const [i, { name: element, place }] of saved.entries()) {
      const differs = place.some((value, k) => Math.abs(value - seen[i].place[k]) > 1);
      assert.ok(!differs, `${name} at ${width}: ${element} at ${place}, not ${seen[i].place}`);
    }
    // All of it and its address have room, and no more.
    const { height, bottom } = await page.evaluate(() => ({
      height: document.documentElement.height.baseVal.value,
      bottom: document.querySelector('figure').getBoundingClientRect().bottom,
    }));
    assert.ok(Math.abs(height - bottom - 16) <= 1, `${name} at ${width}: ${height} high, ends at ${bottom}`);
    await close();
  }
});

test('what scrolls sideways is saved at its full width', async () => {
  const viewport = { width: 390, height: 844 };
  const { page, complaints, close } = await open(chromium, site.address, { hash: '#lang=en', viewport });
  await bring(page, 'compare');
  await page.evaluate(keepDrawn);
  const drawn = await drawnOf(page, 'figure-compare-results');
  const whole = await page.evaluate(() => document.querySelector('#figure-compare-results .scroller').scrollWidth);
  assert.ok(whole > 600, `${whole} pixels do not scroll`);
  assert.deepEqual(complaints, []);
  await page.goto(drawn);
  const { width, height, end, bottom, overflow } = await page.evaluate(() => ({
    width: document.documentElement.width.baseVal.value,
    height: document.documentElement.height.baseVal.value,
    end: document.querySelector('table').getBoundingClientRect().right,
    bottom: document.querySelector('figure').getBoundingClientRect().bottom,
    overflow: getComputedStyle(document.querySelector('.scroller')).overflowX,
  }));
  assert.ok(Math.abs(width - whole - 32) <= 1 && end <= width - 15, `${width} for ${whole}, which ends at ${end}`);
  assert.ok(Math.abs(height - bottom - 16) <= 1, `${height} high, ends at ${bottom}`);
  assert.equal(overflow, 'visible');
  await close();
});

test('a file really arrives, and the menu is opened, left and used by keyboard', async () => {
  const { page, complaints, close } = await open(chromium, site.address);
  await bring(page, 'linear');
  const menu = page.locator('#figure-linear-aim .menu');
  await menu.locator('summary').focus();
  await page.keyboard.press('Enter');
  assert.equal(await menu.locator('.menu-items').isVisible(), true);
  // It is as wide as what it says, also on a very small screen.
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 900 });
    const seen = await menu.locator('.menu-items').evaluate((box) => {
      const { left, right } = box.getBoundingClientRect();
      return { left, right, spare: box.clientWidth - box.scrollWidth };
    });
    assert.ok(seen.left >= 0 && seen.right <= width && seen.spare === 0, JSON.stringify(seen));
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.keyboard.press('Escape');
  assert.equal(await menu.locator('.menu-items').isVisible(), false);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'SUMMARY');
  await page.keyboard.press('Enter');
  for (let i = 0; i < 3; ++i) await page.keyboard.press('Tab');
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
  assert.equal(download.suggestedFilename(), 'linear-aim.csv');
  await until(async () => (await menu.getAttribute('open')) === null, 'a closed menu');
  assert.equal(await page.locator('#figure-linear-aim .menu + .said').textContent(), 'Saved');
  // Anywhere else closes it as well.
  await menu.locator('summary').click();
  await page.locator('#figure-linear-aim figcaption').click();
  assert.equal(await menu.locator('.menu-items').isVisible(), false);
  assert.deepEqual(complaints, []);
  await close();
});

test('a picture is saved whatever was typed into it, and one that shows nothing is not', async () => {
  const { page, complaints, close } = await open(chromium, site.address, {
    hash: `#lang=en&order.map.words=${encodeURIComponent(`a\u0001b c\uffffd ${'x'.repeat(293)}😀`)}`,
  });
  const save = async (figure) => {
    await page.locator(`#${figure} .menu summary`).click();
    await page.locator(`#${figure} .menu-items button`).nth(1).click();
  };
  for (const half of [false, true]) {
    if (half) await page.locator('#figure-order-words input[type=text]').fill('half \ud83d of one');
    const figure = half ? 'figure-order-words' : 'figure-order-map';
    const [download] = await Promise.all([page.waitForEvent('download'), save(figure)]);
    assert.match(download.suggestedFilename(), /\.png$/);
  }
  const typed = await page.locator('#figure-order-map input[type=text]').inputValue();
  assert.equal(typed.length, 300, 'cut before the character that has no room');
  assert.ok(typed.isWellFormed?.() ?? true);
  await bring(page, 'speed', 'lab');
  const ids = await page.evaluate(() => Array.from(document.querySelectorAll('[id^=figure-lab-]'), ({ id }) => id));
  assert.ok(ids.includes('figure-lab-length'));
  for (const id of ['figure-speed-run', ...ids]) {
    await save(id);
    const said = await until(() => page.locator(`#${id} .menu + .said`).textContent(), `what came of ${id}`);
    assert.equal(said, 'There is nothing to save yet', id);
  }
  assert.deepEqual(complaints, []);
  await close();
});
