// The download size of the page, and that its first figure waits for nothing else. For long tasks see
// sweeps/tasks.test.mjs. `npm run bench:page` prints milliseconds.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { chapterIds, onDemand } from '../../web/src/chapters/ids.js';
import { beforeText, bring, figureOf, frames, open, serve, until, withChromium } from './site.mjs';
import { firstFigure } from './tasks.mjs';

const { site, browser } = await withChromium();

const folder = new URL('../../build/web/', import.meta.url);
const zipped = (content) => gzipSync(content, { level: 9 }).length;
const contentOf = (path) => readFile(new URL(path, folder));
const sizeOf = async (path) => zipped(await contentOf(path));
const index = await contentOf('index.html');

// The page with all that comes by itself: its own face, and what follows the reader.
async function openWithFace(address, options) {
  const opened = await open(browser, address, { hash: '#lang=zh', ...options });
  const isThere = () =>
    opened.page.evaluate(() => {
      const came = performance.getEntriesByType('resource').map(({ name }) => name);
      return document.fonts.size > 0 && came.some((name) => /\/follow-.*\.js$/.test(name));
    });
  await until(isThere, 'the face and what follows the reader');
  return opened;
}

test('the first figure is there before any other chapter has come', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { paths } = await firstFigure(browser, own.address);
  const first = new Set(paths.map((path) => `/${path}`));
  // Whatever it did not take is kept back.
  own.hold(({ pathname }) => pathname.startsWith('/assets/') && !first.has(pathname));
  await firstFigure(browser, own.address);
  for (const id of chapterIds.slice(1)) assert.ok(!paths.some((path) => path.includes(`/${id}-`)), id);
});

const isPackage = (path) => /ropewalk-|\.wasm$/.test(path);

test('the first figure waits for nothing of the package, nor for the text in index.html: it takes at most 35 KB, as a server sends it', async (t) => {
  const own = await serve({ withoutText: true });
  t.after(own.close);
  own.hold(({ pathname }) => isPackage(pathname));
  for (const lang of ['en', 'zh']) {
    const { paths } = await firstFigure(browser, `${own.address}#lang=${lang}`);
    let sum = zipped(beforeText(index));
    for (const path of paths) sum += await sizeOf(path);
    t.diagnostic(`${lang}: ${sum} bytes in ${paths.length} files`);
    assert.deepEqual(paths.filter(isPackage), []);
    assert.ok(sum <= 35 * 1024, `${sum} bytes`);
  }
});

test('the text that index.html has takes at most 31.1 KB', async (t) => {
  const sum = zipped(index) - zipped(beforeText(index));
  t.diagnostic(`${sum} bytes`);
  assert.ok(sum > 25 * 1024 && sum <= 31.1 * 1024, `${sum} bytes`);
});

test('for numbers that the core computes anew the page takes at most 203.6 KB', async (t) => {
  const own = await serve({ withoutText: true });
  t.after(own.close);
  own.hold(({ pathname }) => pathname.includes('/later-')); // what the head of the page has besides
  const { paths } = await firstFigure(browser, `${own.address}#lang=zh&order.words.encoding=rope`);
  let sum = zipped(beforeText(index));
  for (const path of paths) sum += await sizeOf(path);
  t.diagnostic(`${sum} bytes in ${paths.length} files`);
  assert.equal(paths.filter(isPackage).length, 2);
  assert.ok(sum <= 203.6 * 1024, `${sum} bytes`);
});

test('all of it in one language is at most 120 KB beside the package, the text in index.html and its face, which is at most 40 KB', async (t) => {
  const { page, close } = await openWithFace(site.address);
  const paths = await page.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname.slice(1)),
  );
  await close();
  const own = new Set(paths.filter((path) => !isPackage(path)));
  let [sum, face] = [zipped(beforeText(index)), 0];
  for (const path of own) {
    const size = await sizeOf(path);
    if (path.endsWith('.woff2')) face += size;
    else sum += size;
  }
  t.diagnostic(`${sum} bytes in ${own.size} files, and ${face} of its face`);
  assert.ok(sum <= 120 * 1024, `${sum} bytes`);
  assert.ok(face > 0 && face <= 40 * 1024, `${face} bytes`);
  // And nothing of the other language: each part is there in both, and came in one.
  const isOf = (lang) => (path) => new RegExp(`(^|/)${lang}-`).test(path);
  const built = await readdir(new URL('assets/', folder));
  assert.ok(built.some(isOf('en')) && built.some(isOf('zh')));
  assert.equal([...own].filter(isOf('zh')).length, built.filter(isOf('zh')).length);
  assert.deepEqual([...own].filter(isOf('en')), []);
});

test('the lab comes with who is near it, in at most 16 KB, and what trains when training begins', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { page, close } = await openWithFace(own.address, { serviceWorkers: 'block' });
  const before = new Set(own.asked);
  const isTrainer = (path) => path.includes('/lab-worker-');
  // Chapters before it come along.
  const others = onDemand.filter((id) => id !== 'lab');
  const isOwn = (path) => !others.some((id) => path.includes(`/${id}-`));
  const later = () => [...own.asked].filter((path) => !before.has(path) && isOwn(path));
  assert.ok(![...before].some((path) => path.includes('/lab-')));
  await bring(page, 'lab');
  let sum = 0;
  for (const path of later()) sum += await sizeOf(path.slice(1));
  t.diagnostic(`${sum} bytes in ${later().length} files`);
  assert.ok(sum <= 16 * 1024, `${sum} bytes`);
  assert.ok(!later().some(isTrainer));
  await page.click('#figure-lab-order .run button');
  const trainer = await until(() => later().find(isTrainer), 'the worker');
  const size = await sizeOf(trainer.slice(1));
  t.diagnostic(`${size} bytes of what trains`);
  assert.ok(size <= 100 * 1024, `${size} bytes`);
  await close();
});

test('the further experiments of the lab come when they are asked for, in at most 8 KB, and the novel when it is learned', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { page, close } = await openWithFace(own.address, { serviceWorkers: 'block' });
  await bring(page, 'lab');
  const before = new Set(own.asked);
  const isNovel = (path) => path.endsWith('.txt');
  const isPart = (path) => path.includes('/further-');
  assert.ok(![...before].some((path) => isPart(path) || isNovel(path)));
  await page.click('#chapter-lab button[aria-expanded]');
  const isThere = () => Boolean(document.querySelector('#figure-lab-text .summary')?.textContent);
  await until(() => page.evaluate(isThere), 'the experiments');
  const later = () => [...own.asked].filter((path) => !before.has(path));
  let sum = 0;
  for (const path of later()) sum += await sizeOf(path.slice(1));
  t.diagnostic(`${sum} bytes in ${later().length} files`);
  assert.ok(sum <= 8 * 1024, `${sum} bytes`);
  assert.ok(!later().some(isNovel));
  await page.click('#figure-lab-text .run button');
  const size = await sizeOf((await until(() => later().find(isNovel), 'the novel')).slice(1));
  t.diagnostic(`${size} bytes of the novel`);
  assert.ok(size <= 26 * 1024, `${size} bytes`);
  await close();
});

test('the chapter of all encodings comes with who is near it, in at most 8 KB, and 4 KB of Python when it is opened', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { page, close } = await openWithFace(own.address, { serviceWorkers: 'block' });
  const before = new Set(own.asked);
  const later = () => [...own.asked].filter((path) => !before.has(path));
  await bring(page, 'compare');
  const near = later().filter((path) => path.includes('/compare-'));
  let sum = 0;
  for (const path of near) sum += await sizeOf(path.slice(1));
  t.diagnostic(`${sum} bytes in ${near.length} files`);
  assert.ok(sum > 0 && sum <= 8 * 1024, `${sum} bytes`);
  const isPython = (path) => path.includes('/python-programs-');
  assert.ok(!later().some(isPython));
  await page.click('#figure-compare-attention > details:last-child > summary');
  const size = await sizeOf((await until(() => later().find(isPython), 'the programs')).slice(1));
  t.diagnostic(`${size} bytes of Python`);
  assert.ok(size <= 4 * 1024, `${size} bytes`);
  await close();
});

test('the comparison comes with that chapter, in at most 5.55 KB, in 3 KB the curves that the lab has too, and in 1.47 KB others', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { page, close } = await openWithFace(own.address, { serviceWorkers: 'block' });
  const isPart = (path) => /\/(comparison|evidence-zh|recorded|compared)-/.test(path);
  assert.ok(![...own.asked].some(isPart));
  await bring(page, 'compare');
  await page.locator('#figure-compare-results').waitFor();
  const sizes = { comparison: 0, recorded: 0, compared: 0 };
  for (const path of [...own.asked].filter(isPart)) {
    const [, part] = /\/(recorded|compared)-/.exec(path) ?? ['', 'comparison'];
    sizes[part] += await sizeOf(path.slice(1));
  }
  t.diagnostic(JSON.stringify(sizes));
  const most = { comparison: 5.55, recorded: 3, compared: 1.47 };
  for (const [part, size] of Object.entries(sizes)) {
    assert.ok(size > 0 && size <= most[part] * 1024, JSON.stringify(sizes));
  }
  await close();
});

test('the small model comes when it is asked for, in at most 640 KB, and with it at most 80 KB that run it', async (t) => {
  const own = await serve();
  t.after(own.close);
  const { page, close } = await openWithFace(own.address, { serviceWorkers: 'block' });
  const before = new Set(own.asked);
  const isModel = (path) => /\/assets\/.*\.(safetensors|json)$/.test(path);
  assert.ok(![...before].some(isModel));
  await figureOf(page, 'playground', 'model').choose('载入小模型');
  const isThere = () => Boolean(document.querySelector('#figure-playground-damage .summary')?.textContent);
  await until(() => page.evaluate(isThere), 'the losses');
  await close();
  let [model, others] = [0, 0];
  for (const path of own.asked) {
    if (before.has(path)) continue;
    const size = await sizeOf(path.slice(1));
    if (isModel(path)) model += size;
    else others += size;
  }
  t.diagnostic(`${model} bytes of the model, ${others} that run it`);
  assert.ok(model <= 640 * 1024 && others <= 80 * 1024, `${model} and ${others} bytes`);
});

test('a window of another width gives another style to what changes, not to all of the page', async (t) => {
  const { page, close } = await open(browser, site.address);
  const all = await page.evaluate(() => document.querySelectorAll('main *').length);
  for (const width of [720, 400, 1280]) {
    await browser.startTracing(page, { categories: ['devtools.timeline'] });
    await page.setViewportSize({ width, height: 900 });
    await frames(page, 3);
    const { traceEvents } = JSON.parse(await browser.stopTracing());
    const counts = traceEvents.map(({ name, args }) => (name === 'UpdateLayoutTree' && args.elementCount) || 0);
    const styled = Math.max(...counts);
    t.diagnostic(`${width} px: ${styled} of ${all} elements`);
    assert.ok(styled > 0 && styled < all / 4, `${styled} of ${all} elements at ${width} px`);
    await until(() => page.evaluate(() => document.querySelector('.resting') === null), 'all of it awake');
  }
  await close();
});
