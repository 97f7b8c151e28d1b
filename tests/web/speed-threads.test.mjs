// The figure that compares threads: where the page may have some, and where its server does not say so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bring, browsers, figureOf, serve, until, withBoth } from './site.mjs';

const { site, both } = await withBoth({ inWhole: true });

async function summaryOf(page) {
  await bring(page, 'speed');
  const figure = figureOf(page, 'speed', 'threads');
  const before = await figure.summary();
  await figure.choose('Run');
  await until(async () => (await figure.summary()) !== before, 'the measurement');
  return figure;
}

/** Counts the threads that the page itself makes and ends. Called in the page. */
function countThreads() {
  globalThis.threads = { made: 0, ended: new Set() };
  globalThis.Worker = class extends Worker {
    constructor(address, options) {
      super(address, options);
      this.isThread = /\/thread-/.test(address);
      if (this.isThread) globalThis.threads.made += 1;
    }
    terminate() {
      super.terminate();
      if (this.isThread) globalThis.threads.ended.add(this);
    }
  };
}

for (const name of browsers) {
  test(`threads are measured, and give the same bits (${name})`, async () => {
    const { page, complaints, close } = await both.open(name, site.address, { hash: '#lang=en' });
    await page.evaluate(countThreads);
    const figure = await summaryOf(page);
    assert.match(await figure.summary(), /^Two threads are [\d.]+ times as fast .*\. All give the same bits\.$/);
    const [table] = await figure.tables();
    assert.equal(table.length, 2);
    const processors = await page.evaluate(() => navigator.hardwareConcurrency);
    const counts = [1, 2, ...[4, 8].filter((threads) => threads <= processors)];
    for (const times of table) {
      assert.equal(times.length, counts.length);
      assert.ok(times.every((time) => time > 0));
    }
    // A worker of Firefox that made them itself might wait for ever while it is driven.
    const made = counts.reduce((sum, count) => sum + count - 1, 0);
    const seen = await page.evaluate(() => [globalThis.threads.made, globalThis.threads.ended.size]);
    assert.deepEqual(seen, [made, made]);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('where the server does not isolate the page, the figure says what it has to send', async (t) => {
  const plain = await serve({ isPlain: true });
  t.after(plain.close);
  const { page, close } = await both.open('Chromium', plain.address, { hash: '#lang=en' });
  const figure = await summaryOf(page);
  assert.match(await figure.summary(), /^Here there is one thread: .*Cross-Origin-Opener-Policy: same-origin/);
  assert.equal((await figure.tables()).length, 0);
  await close();
});
