// How soon the page is there, how much it takes to get there, and that it never keeps the reader waiting.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { open, until, withChromium } from './site.mjs';

const { site, browser } = await withChromium();

const folder = new URL('../../build/web/', import.meta.url);
const sizeOf = async (path) => gzipSync(await readFile(new URL(path, folder)), { level: 9 }).length;

// Notes when the first figure shows its first sentence, and what had been fetched by then.
function watchFirstFigure() {
  const observer = new MutationObserver(() => {
    if (!document.querySelector('figure .summary')?.textContent) return;
    observer.disconnect();
    const paths = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname.slice(1));
    globalThis.firstFigure = { at: performance.now(), paths };
  });
  observer.observe(document, { childList: true, subtree: true });
}

async function firstFigure(hash) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watchFirstFigure);
  await page.goto(site.address + hash);
  const seen = await until(() => page.evaluate(() => globalThis.firstFigure), 'the first figure', 20000);
  await context.close();
  return seen;
}

test('the first figure is there within a second', async () => {
  let best = Number.POSITIVE_INFINITY;
  // Others work on this machine as well: the best of some visits, each with an empty cache.
  for (let visit = 0; visit < 5 && best > 1000; ++visit) best = Math.min(best, (await firstFigure('')).at);
  assert.ok(best <= 1000, `${best} ms`);
});

const isPackage = (path) => /ropewalk-|\.wasm$/.test(path);

test('until then the page takes at most 200 KB, 40 of them beside the package, as a server sends it', async (t) => {
  for (const lang of ['en', 'zh']) {
    const { paths } = await firstFigure(`#lang=${lang}`);
    const html = await sizeOf('index.html');
    let [own, all] = [html, html];
    for (const path of paths) {
      const size = await sizeOf(path);
      all += size;
      if (!isPackage(path)) own += size;
    }
    t.diagnostic(`${lang}: ${own} bytes of its own, ${all} with the package, in ${paths.length} files`);
    assert.equal(paths.filter(isPackage).length, 2);
    assert.ok(own <= 40 * 1024 && all <= 200 * 1024, `${own} and ${all} bytes`);
  }
});

test('all of it in one language is at most 120 KB beside the package', async (t) => {
  const { page, close } = await open(browser, site.address, { hash: '#lang=zh' });
  const paths = await page.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname.slice(1)),
  );
  await close();
  const own = new Set(['index.html', ...paths.filter((path) => !isPackage(path))]);
  let sum = 0;
  for (const path of own) sum += await sizeOf(path);
  t.diagnostic(`${sum} bytes in ${own.size} files`);
  assert.ok(sum <= 120 * 1024, `${sum} bytes`);
  // And nothing of the other language: each part is there in both, and came in one.
  const isOf = (lang) => (path) => new RegExp(`(^|/)${lang}-`).test(path);
  const built = await readdir(new URL('assets/', folder));
  assert.ok(built.some(isOf('en')) && built.some(isOf('zh')));
  assert.equal([...own].filter(isOf('zh')).length, built.filter(isOf('zh')).length);
  assert.deepEqual([...own].filter(isOf('en')), []);
});

// In the page: collects tasks and frames that took over 50 ms by the clock, with the scripts that ran in them.
function watchTasks() {
  globalThis.longTasks = [];
  globalThis.longFrames = [];
  const watch = (type, to, tell) =>
    new PerformanceObserver((list) => to.push(...list.getEntries().map(tell))).observe({ type, buffered: true });
  watch('longtask', globalThis.longTasks, ({ duration }) => Math.round(duration));
  watch('long-animation-frame', globalThis.longFrames, ({ duration, scripts }) => {
    const told = scripts.map(
      ({ invoker, sourceURL, sourceFunctionName, duration: took }) =>
        `${invoker} ${sourceURL.split('/').at(-1)} ${sourceFunctionName}: ${Math.round(took)} ms`,
    );
    return `${Math.round(duration)} ms (${told.join('; ') || 'no script'})`;
  });
}

/**
 * The longest task of the page's main thread while something is done, in ms of the processor's time. The browser's own
 * observer of long tasks goes by the clock, which also counts what others do on this machine: what it tells is kept for
 * the message, and a task is judged by the time that the processor gave it.
 */
async function longestTask(page, work) {
  await browser.startTracing(page, { categories: ['toplevel', 'blink.user_timing'] });
  await work();
  // The browser has pages of its own; the mark is on the thread of this one.
  await page.evaluate(() => performance.mark('this page'));
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const mark = traceEvents.find(({ name }) => name === 'this page');
  // What promises do after a task is an event of its own.
  const isTask = (name) => name.endsWith('RunTask') || name.endsWith('PerformMicrotaskCheckpoint');
  const isOurs = ({ name, pid, tid }) => isTask(name) && pid === mark.pid && tid === mark.tid;
  const times = traceEvents.filter(isOurs).map(({ tdur }) => tdur ?? 0);
  assert.ok(times.length > 0, 'tasks in the trace');
  const [byClock, frames] = await page.evaluate(() => [
    globalThis.longTasks.splice(0).length,
    globalThis.longFrames.splice(0),
  ]);
  return { took: Math.max(...times) / 1000, byClock, frames };
}

// Once more where others were in the way: the garbage of something earlier was collected in the middle, or another
// program kept the caches.
async function shortest(page, work) {
  let best = await longestTask(page, work);
  for (let i = 1; i < 5 && best.took > limit; ++i) {
    const again = await longestTask(page, work);
    if (again.took < best.took) best = again;
  }
  return best;
}

const limit = 50;
const isTooLong = ({ took }) => took > limit;
const told = (what, { took, frames }) => `${what}: ${took} ms of the processor; by the clock ${frames.join(', ')}`;

// In the page: works every control of a figure, its table and its menu.
async function workControls(id) {
  const figure = document.getElementById(id);
  const act = async (action) => {
    setTimeout(action);
    await new Promise((resolve) => setTimeout(resolve, 30));
  };
  const slide = (input, value) => () => {
    input.value = value;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const table = figure.querySelector('.table-button');
  for (const input of figure.querySelectorAll('.controls input')) {
    if (input.type === 'range') {
      const middle = (Number(input.min) + Number(input.max)) >> 1;
      for (const value of [input.min, middle, input.max, middle + 1]) await act(slide(input, value));
    } else if (input.type === 'text') {
      await act(slide(input, Array.from({ length: 20 }, (_, i) => `word${i}`).join(' ')));
    } else {
      await act(() => input.click());
    }
  }
  for (const button of figure.querySelectorAll('.controls .button')) {
    await act(() => button.click());
    await act(() => button.click());
  }
  await act(() => table.click());
  await act(() => table.click());
  await act(() => figure.querySelector('.save-items .button').click());
  await act(() => undefined);
}

// In the page: so much arithmetic takes over 50 ms of any processor of today.
function stall() {
  let x = 1;
  for (let i = 0; i < 3e8; ++i) x = (x * 1664525 + 1013904223) | 0;
  globalThis.stalled = x;
}

for (const [where, later] of [
  ['timer', (work) => setTimeout(work)],
  ['promise', (work) => fetch(location.href).then(work)],
]) {
  test(`what measures long tasks sees one of a ${where}`, async () => {
    const { page, close } = await open(browser, site.address);
    await page.evaluate(watchTasks);
    const seen = await longestTask(page, () =>
      page.evaluate(`new Promise((resolve) => {
        (${later})(() => { (${stall})(); setTimeout(resolve, 100); });
      })`),
    );
    assert.ok(isTooLong(seen) && seen.byClock >= 1 && seen.frames.length > 0, JSON.stringify(seen));
    await close();
  });
}

test('no control keeps the reader waiting: no task takes more than 50 ms', async (t) => {
  const { page, complaints, close } = await open(browser, site.address);
  await page.evaluate(watchTasks);
  await page.evaluate(() => {
    HTMLAnchorElement.prototype.click = () => undefined;
    // Only a hand may open the browser's own dialog for files.
    HTMLInputElement.prototype.click = function () {
      if (this.type !== 'file') HTMLElement.prototype.click.call(this);
    };
  });
  const ids = await page.evaluate(() => Array.from(document.querySelectorAll('figure'), ({ id }) => id));
  assert.ok(ids.length > 0, 'figures');
  const slow = [];
  let [longest, byClock] = [0, 0];
  for (const id of ids) {
    const seen = await shortest(page, () => page.evaluate(workControls, id));
    if (isTooLong(seen)) slow.push(told(id, seen));
    longest = Math.max(longest, seen.took);
    byClock += seen.byClock;
  }
  t.diagnostic(
    `the longest: ${longest} ms of the processor; over 50 ms by the clock of a busy machine: ${byClock} tasks`,
  );
  assert.deepEqual(slow, []);
  assert.deepEqual(complaints, []);
  await close();
});

const awake = (page) =>
  until(() => page.evaluate(() => document.querySelector('.resting') === null), 'all of it awake', 10000);

test('nor does the page while it comes, is read, or changes its language, its colours or its letters', async (t) => {
  const best = {};
  for (let visit = 0; visit < 5; ++visit) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(watchTasks);
    const isDone = (lang) =>
      page.evaluate(
        (lang) =>
          document.documentElement.lang.startsWith(lang) && document.querySelector('main:not([aria-busy])') !== null,
        lang,
      );
    // As long as parts rest, and then as long as pictures are drawn anew.
    const calm = async () => {
      await awake(page);
      await page.waitForTimeout(1000);
    };
    const steps = {
      async coming() {
        await page.goto(`${site.address}#lang=en`);
        await until(() => isDone('en'), 'all of it', 20000);
      },
      reading: () =>
        page.evaluate(async () => {
          for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight / 2) {
            scrollTo({ top: y, behavior: 'instant' });
            await new Promise((resolve) => setTimeout(resolve, 30));
          }
        }),
      async changing() {
        await page.evaluate(() => document.getElementById('language').click());
        await until(() => isDone('zh'), 'all of it in Chinese', 20000);
      },
      async darkening() {
        await page.evaluate(() => document.getElementById('theme').click());
        await page.evaluate(() => document.getElementById('theme').click());
        await calm();
      },
      async 'following the system'() {
        await page.evaluate(() => document.getElementById('theme').click());
        await page.emulateMedia({ colorScheme: 'dark' });
        await calm();
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
      },
      async enlarging() {
        const sizeOf = () => page.evaluate(() => getComputedStyle(document.documentElement).fontSize);
        const before = await sizeOf();
        const browserSide = await context.newCDPSession(page);
        await browserSide.send('Page.setFontSizes', { fontSizes: { standard: 20 } });
        await until(async () => (await sizeOf()) !== before, 'larger letters', 5000);
        await calm();
      },
    };
    for (const [name, work] of Object.entries(steps)) {
      const seen = await longestTask(page, work);
      if (best[name] === undefined || seen.took < best[name].took) best[name] = seen;
    }
    await context.close();
    if (!Object.values(best).some(isTooLong)) break;
  }
  const all = Object.entries(best).map(([name, seen]) => told(name, seen));
  for (const each of all) t.diagnostic(each);
  assert.ok(!Object.values(best).some(isTooLong), all.join('\n'));
});

test('nor while the window is dragged narrower and wider', async (t) => {
  const { page, close } = await open(browser, site.address);
  await page.evaluate(watchTasks);
  const dragTo = async (width) => {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(50);
  };
  const widths = () =>
    page.evaluate(() =>
      Array.from(document.querySelectorAll('figure svg, figure canvas'), ({ clientWidth }) => clientWidth).join(),
    );
  const before = await widths();
  const seen = await shortest(page, async () => {
    for (let width = 1200; width >= 400; width -= 80) await dragTo(width);
    for (let width = 480; width <= 1280; width += 80) await dragTo(width);
    await awake(page);
  });
  t.diagnostic(told('dragging', seen));
  assert.ok(!isTooLong(seen), told('dragging', seen));
  await until(async () => (await widths()) === before, 'pictures as wide as they were');
  await close();
});

test('a window of another width gives another style to what changes, not to all of the page', async (t) => {
  const { page, close } = await open(browser, site.address);
  const all = await page.evaluate(() => document.querySelectorAll('main *').length);
  for (const width of [720, 400, 1280]) {
    await browser.startTracing(page, { categories: ['devtools.timeline'] });
    await page.setViewportSize({ width, height: 900 });
    const { traceEvents } = JSON.parse(await browser.stopTracing());
    const counts = traceEvents.map(({ name, args }) => (name === 'UpdateLayoutTree' && args.elementCount) || 0);
    const styled = Math.max(...counts);
    t.diagnostic(`${width} px: ${styled} of ${all} elements`);
    assert.ok(styled > 0 && styled < all / 4, `${styled} of ${all} elements at ${width} px`);
    await awake(page);
  }
  await close();
});
