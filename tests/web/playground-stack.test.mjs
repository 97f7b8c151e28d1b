// The playground's stack, in Chromium and Firefox: its maps show the package's numbers, computed in the worker.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browsers, of, path, run, same, start } from './playground.mjs';
import { until } from './site.mjs';

let all;
before(async () => {
  all = await start();
});
after(() => all?.end());

const encodings = [
  ...['None', 'Sinusoidal', 'RoPE, halves', 'RoPE, interleaved', 'ALiBi', 'T5', 'KERPLE', 'Shaw', 'BERT: key'],
  ...['BERT: key and query', 'Huang’s M3'],
];

for (const browser of browsers) {
  test(`no more heads of keys and values are offered than there are heads (${browser})`, async () => {
    const { page, close } = await all.fresh(browser, 'playground.stack.heads=2');
    const offered = () =>
      page.evaluate(
        (selector) =>
          Array.from(document.querySelectorAll(`${selector} fieldset`))
            .find((each) => each.querySelector('legend').textContent === 'Heads of keys and values')
            .querySelectorAll('input:enabled').length,
        path('stack'),
      );
    assert.equal(await offered(), 2);
    await of(page, 'stack').choose('8');
    await until(async () => (await offered()) === 4, 'all counts');
    await close();
  });

  test(`every encoding shows what its program computes, content + position = score (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const figure = of(page, 'stack');
    const seen = new Set();
    for (const encoding of encodings) {
      await figure.choose(encoding);
      const tables = await figure.tables();
      same(tables.flat(2), await run(await figure.code()));
      const [content, position, score, weights] = tables.map((table) => table.flat());
      for (const [i, sum] of score.entries()) {
        // Two roundings to float32 of numbers below 8.
        assert.ok(
          Math.abs(sum - content[i] - position[i]) < 8 * 1.2e-7,
          `${encoding}, cell ${i}: ${[content[i], position[i], sum]}`,
        );
      }
      for (const row of tables[3]) assert.ok(Math.abs(row.reduce((a, b) => a + b) - 1) < 1e-5);
      const isStill = encoding === 'None' || encoding === 'Sinusoidal';
      assert.equal(
        position.every((value) => value === 0),
        isStill,
        encoding,
      );
      seen.add(weights.join());
    }
    assert.equal(seen.size, encodings.length, 'each encoding gives other weights');
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`under a moving slider the old picture stays until a new one is there, and the last one comes (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    const figure = of(page, 'stack');
    const [first] = await figure.tables();
    // 20 seeds within one task: the worker has had no chance to answer any of them.
    const { isBusy, summaries } = await page.evaluate((selector) => {
      const figure = document.querySelector(selector);
      const labels = Array.from(figure.querySelectorAll('label'));
      const slider = document.getElementById(labels.find(({ textContent }) => textContent === 'Seed').htmlFor);
      const summaries = new Set([figure.querySelector('.summary').textContent]);
      for (let seed = 1; seed < 20; ++seed) {
        slider.valueAsNumber = seed;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        summaries.add(figure.querySelector('.summary').textContent);
      }
      return { isBusy: figure.getAttribute('aria-busy'), summaries: summaries.size };
    }, path('stack'));
    assert.equal(isBusy, 'true');
    assert.equal(summaries, 1, 'the old one');
    const [last] = await figure.tables();
    assert.notDeepEqual(last, first);
    assert.match(await figure.code(), /seed: 20/);
    same((await figure.tables()).flat(2), await run(await figure.code()));
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a window hides what is far, but for the first words; and cells are walked by keyboard (${browser})`, async () => {
    const state =
      'playground.stack.window=2&playground.stack.sinks=1&playground.stack.causal=1&playground.stack.view=probabilities';
    const { page, complaints, close } = await all.fresh(browser, state);
    const [weights] = await of(page, 'stack').tables();
    for (const [row, cells] of weights.entries()) {
      for (const [column, value] of cells.entries()) {
        const isSeen = column <= row && (row - column < 2 || column === 0);
        assert.equal(Number.isNaN(value), !isSeen, `${row}, ${column}`);
      }
    }
    await of(page, 'stack').choose('View as picture');
    const readout = () => page.evaluate((s) => document.querySelector(`${s} .readout`).textContent, path('stack'));
    await page.evaluate((s) => document.querySelector(`${s} .field-plot`).focus(), path('stack'));
    await page.keyboard.press('ArrowDown');
    assert.match(await readout(), /^head 1, weight: 1 · dog looks at 0 · the, 0\.\d{3}$/);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.match(await readout(), /^head 1: 1 · dog may not look at 2 · chased$/);
    await page.keyboard.press('End');
    assert.match(await readout(), /8 · ran/);
    await page.evaluate(
      (s) => document.querySelector(`${s} .field-plot`).scrollIntoView({ block: 'center' }),
      path('stack'),
    );
    const { x, y } = await page.evaluate((s) => {
      const box = document.querySelector(`${s} .field-plot`).getBoundingClientRect();
      return { x: box.x, y: box.y };
    }, path('stack'));
    await page.mouse.move(x + 4, y + 4);
    await until(async () => /0 · the looks at 0 · the, 1\.000/.test(await readout()), 'the first cell');
    assert.deepEqual(complaints, []);
    await close();
  });
}
