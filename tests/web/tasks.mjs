// Measures when the page shows its first figure, and the longest task of its main thread during a visit, in
// milliseconds of processor time, with a reference task in the same browser on the same machine. Tests compare the two;
// `npm run bench:page` prints them.
import assert from 'node:assert/strict';
import { bring, contextOf, frames, isWhole, open, until } from './site.mjs';

// In the page.
function watchFirstFigure() {
  const observer = new MutationObserver(() => {
    if (!document.querySelector('figure .summary')?.textContent) return;
    observer.disconnect();
    const paths = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname.slice(1));
    globalThis.firstFigure = { at: performance.now(), paths };
  });
  observer.observe(document, { childList: true, subtree: true });
}

/** The time at which the first figure of a page shows its first sentence, and the files loaded until then. */
export async function firstFigure(browser, address) {
  const context = await contextOf(browser);
  const page = await context.newPage();
  await page.addInitScript(watchFirstFigure);
  // What it loads besides is not waited for.
  await page.goto(address, { waitUntil: 'commit' });
  const seen = await until(() => page.evaluate(() => globalThis.firstFigure), 'the first figure');
  await context.close();
  return seen;
}

// In the page.
function watchHeading() {
  const look = () => {
    if (document.querySelector('h1') === null) return;
    observer.disconnect();
    // The frame that paints it.
    requestAnimationFrame(() => setTimeout(() => Object.assign(globalThis, { heading: performance.now() })));
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true });
}

/**
 * The time at which a page shows its title on a slow phone: 4 times less processor, and a network with 150 ms to the
 * server and back and 1.6 Mbit/s ("slow 4G" of Lighthouse).
 */
export async function headingOnSlowPhone(browser, address, network = { latency: 150, rate: 1.6e6 }) {
  const context = await contextOf(browser, { viewport: { width: 390, height: 844 } });
  const page = await context.newPage();
  await page.addInitScript(watchHeading);
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  const bytes = network.rate / 8;
  const conditions = { offline: false, latency: network.latency, downloadThroughput: bytes, uploadThroughput: bytes };
  await devtools.send('Network.emulateNetworkConditions', conditions);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await page.goto(address, { waitUntil: 'commit' });
  const seen = await until(() => page.evaluate(() => globalThis.heading), 'the title');
  await context.close();
  return seen;
}

// In the page: collects tasks and frames that took over 50 ms by the clock, with the scripts that ran in them.
export function watchTasks() {
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
 * The longest task of the page's main thread during `work`, in ms of processor time. The browser's observer of long
 * tasks measures wall-clock time, which depends on other load; its results are only for messages.
 */
export async function longestTask(page, work) {
  const browser = page.context().browser();
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
    globalThis.longTasks?.splice(0).length ?? 0,
    globalThis.longFrames?.splice(0) ?? [],
  ]);
  return { took: Math.max(...times) / 1000, byClock, frames };
}

export const told = (what, { took, most, frames }) =>
  `${what}: ${took} ms of the processor${most ? ` of at most ${most.toFixed(1)}` : ''}; by the clock ${frames.join(', ')}`;

// In the page: creates, styles and lays out 12000 boxes with one word each.
function layBoxes() {
  const boxes = Array.from({ length: 12000 }, (_, i) => {
    const box = document.createElement('div');
    box.append(`word${i}`);
    return box;
  });
  document.body.replaceChildren(...boxes);
  return document.body.offsetHeight;
}

// In the page: draws on a new canvas of 100 MB, three times the largest picture that the page saves.
function fillCanvas() {
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width: 4096, height: 6144 });
  const context = canvas.getContext('2d');
  context.fillRect(0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, 1, 1).data[3];
}

/**
 * The reference, in milliseconds of processor time: what takes longer on this machine of two tasks of an empty page,
 * each the minimum of several tries. Boxes take longer where memory costs what it should, about a microsecond for a new
 * page of 4 KB at most; on some virtual machines it costs 20, and a large picture is hardly anything else.
 */
export async function referenceTask(browser) {
  const page = await browser.newPage();
  const least = [];
  for (const task of [layBoxes, fillCanvas]) {
    const times = [];
    for (let i = 0; i < 5; ++i) times.push((await longestTask(page, () => page.evaluate(task))).took);
    least.push(Math.min(...times));
  }
  await page.close();
  return Math.max(...least);
}

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
  await act(() => figure.querySelector('.menu-items .button:nth-child(2)').click());
  await act(() => undefined);
}

/** A page, and [id, work] for each figure, where `work` operates all its controls. */
export async function controlsOf(browser, site) {
  const { page, complaints, close } = await open(browser, site.address);
  await bring(page);
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
  return { page, complaints, close, works: ids.map((id) => [id, () => page.evaluate(workControls, id)]) };
}

const isAwake = (page) =>
  until(() => page.evaluate(() => document.querySelector('.resting') === null), 'all of it awake');

// As long as parts rest, and then as long as pictures are drawn anew.
async function calm(page) {
  await isAwake(page);
  await frames(page, 60);
}

/** The steps of a visit, [name, work], to run in this order. */
export async function visit(browser, site) {
  const context = await contextOf(browser);
  const page = await context.newPage();
  await page.addInitScript(watchTasks);
  const press = (id) => page.evaluate((id) => document.getElementById(id).click(), id);
  const steps = {
    async coming() {
      await page.goto(`${site.address}#lang=en`);
      await isWhole(page, 'en');
    },
    reading: () =>
      page.evaluate(async () => {
        for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight / 2) {
          scrollTo({ top: y, behavior: 'instant' });
          await new Promise((resolve) => setTimeout(resolve, 30));
        }
      }),
    async 'another language'() {
      await press('language');
      await isWhole(page, 'zh');
    },
    async darkening() {
      await press('theme');
      await press('theme');
      await calm(page);
    },
    async 'following the system'() {
      await press('theme');
      await page.emulateMedia({ colorScheme: 'dark' });
      await calm(page);
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    },
    async 'larger letters'() {
      const sizeOf = () => page.evaluate(() => getComputedStyle(document.documentElement).fontSize);
      const before = await sizeOf();
      const browserSide = await context.newCDPSession(page);
      await browserSide.send('Page.setFontSizes', { fontSizes: { standard: 20 } });
      await until(async () => (await sizeOf()) !== before, 'larger letters');
      await calm(page);
      await browserSide.send('Page.setFontSizes', { fontSizes: { standard: 16 } });
      await until(async () => (await sizeOf()) === before, 'letters as before');
      await calm(page);
    },
    async 'dragging the window'() {
      const widths = () =>
        page.evaluate(() =>
          Array.from(document.querySelectorAll('figure svg, figure canvas'), ({ clientWidth }) => clientWidth).join(),
        );
      const dragTo = async (width) => {
        await page.setViewportSize({ width, height: 900 });
        await frames(page, 3);
      };
      const before = await widths();
      for (let width = 1200; width >= 400; width -= 80) await dragTo(width);
      for (let width = 480; width <= 1280; width += 80) await dragTo(width);
      await isAwake(page);
      await until(async () => (await widths()) === before, 'pictures as wide as they were');
    },
  };
  return { page, steps: Object.entries(steps), close: () => context.close() };
}
