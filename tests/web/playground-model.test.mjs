// The playground's generated models, in Chromium and Firefox: it shows the package's numbers, links restore them, and
// work can be cancelled.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import {
  atItem,
  atPass,
  barOf,
  browsers,
  give,
  isLoaded,
  isSeen,
  isWithout,
  linked,
  noticesOf,
  of,
  path,
  run,
  same,
  start,
  wideFiles,
  write,
} from './playground.mjs';
import { open, serve, until } from './site.mjs';

let all;
before(async () => {
  all = await start();
});
after(() => all?.end());
afterEach(() => all.site.releaseAll());

const hashOf = (page) => new URL(page.url()).hash;
const tokensWritten = async (page) => Number(/^(\d+) tokens/.exec(await of(page, 'write').summary())?.[1] ?? 0);

for (const browser of browsers) {
  test(`a small decoder is made, looked at, and writes what the package writes (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser);
    assert.match(await noticesOf(page, 'look'), /^First load a model/);
    // Where there is no picture, there is neither a table of it nor a program that made it.
    const figures = ['model', 'look', 'write'].map(path);
    const shown = () =>
      page.evaluate(async (figures) => {
        let count = 0;
        for (const figure of figures) {
          const menu = document.querySelector(`${figure} .menu`);
          const isOpen = new Promise((resolve) => menu.addEventListener('toggle', resolve, { once: true }));
          menu.open = true;
          await isOpen;
          const program = Array.from(menu.querySelectorAll('button')).at(-2);
          const table = document.querySelector(`${figure} .table-button`);
          count += [program, table].filter((each) => each.checkVisibility()).length;
          menu.open = false;
        }
        return count;
      }, figures);
    assert.equal(await shown(), 0);
    await of(page, 'model').choose('Make a small decoder for me');
    await isLoaded(page);
    await isSeen(page);
    assert.equal(await shown(), 2 * figures.length - 1, 'all but the table of what is not written yet');
    same((await of(page, 'look').tables()).flat(2), await run(await of(page, 'look').code()), 1e-12);
    await of(page, 'write').choose('Generate');
    await until(async () => (await tokensWritten(page)) === 32, 'tokens');
    assert.equal(await shown(), 2 * figures.length);
    const [tokens] = await of(page, 'write').tables();
    same(tokens.flat(), await run(await of(page, 'write').code()), 1e-12);

    await of(page, 'look').choose('unscaled');
    await until(async () => /No attention weight differs/.test(await of(page, 'look').summary()), 'the same encoding');

    // Without rotation the first layer's content is as it was, and nothing comes from position.
    const [content] = await of(page, 'look').tables();
    await of(page, 'look').choose('none');
    await until(async () => /Some attention weight differs/.test(await of(page, 'look').summary()), 'the change');
    const [still, position] = await of(page, 'look').tables();
    assert.deepEqual(still, content);
    assert.match(await of(page, 'look').summary(), /nothing in these scores comes from position/);
    assert.ok(position.flat().every((value) => Number.isNaN(value) || value === 0));
    same((await of(page, 'look').tables()).flat(2), await run(await of(page, 'look').code()), 1e-12);
    assert.match(await of(page, 'write').summary(), /^Nothing is generated/, 'what was written is of another encoding');
    await of(page, 'write').choose('Generate');
    await until(async () => (await tokensWritten(page)) === 32, 'tokens');
    const [others] = await of(page, 'write').tables();
    same(others.flat(), await run(await of(page, 'write').code()), 1e-12);
    assert.notDeepEqual(others, tokens);
    const [facts, memory] = await of(page, 'model').tables();
    // What is in use in the page holds a second encoding, too.
    same([...facts, memory[0]].flat(), (await run(await of(page, 'model').code())).slice(0, facts.length + 1), 1e-12);
    assert.ok(memory.every(([mebibytes]) => mebibytes > 0 && mebibytes < 100));
    for (const name of ['look', 'model']) await of(page, name).choose('Reset');
    await isWithout(page);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a link brings the same pictures, the small model included; back undoes (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(browser, linked);
    const numbers = async (at) => {
      await isSeen(at);
      return [await of(at, 'stack').tables(), await of(at, 'look').tables()];
    };
    const shown = await numbers(page);
    assert.deepEqual([shown[0].length, shown[1].length], [8, 5], 'eight heads; four heads and the tokens');
    same(shown[0].flat(2), await run(await of(page, 'stack').code()));
    same(shown[1].flat(2), await run(await of(page, 'look').code()), 1e-12);
    await of(page, 'stack').press('Seed', 'ArrowRight');
    await until(() => hashOf(page).includes('playground.stack.seed=8'), 'the seed in the address');
    const copy = await all.fresh(browser, hashOf(page).replace('lang=en', 'lang=zh').slice(1));
    assert.deepEqual(await numbers(copy.page), await numbers(page));
    await copy.close();
    await page.evaluate(() => history.back());
    await until(async () => !hashOf(page).includes('seed=8'), 'the seed before');
    assert.deepEqual((await numbers(page))[0], shown[0]);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`generating can be stopped, and keeps what is written (${browser})`, async () => {
    const { page, complaints, close } = await all.fresh(
      browser,
      'playground.model.tiny=decoder&playground.write.length=256',
    );
    await isLoaded(page);
    const first = all.site.hold(atItem(1));
    const third = all.site.hold(atItem(3));
    await of(page, 'write').choose('Generate');
    await first.reached;
    // The page shows what there is ten times a second. The second token comes later than that, and the third never.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200)));
    await first.release();
    await third.reached;
    const shown = () => page.evaluate((s) => document.querySelector(`${s} .tokens`).children.length, path('write'));
    await until(async () => (await shown()) > 0, 'tokens while more are written');
    await of(page, 'write').choose('Stop');
    await third.release();
    await until(async () => /Stopped\.$/.test(await of(page, 'write').summary()), 'the end');
    const [written] = await of(page, 'write').tables();
    assert.ok(written.length === 2 || written.length === 3, `${written.length} tokens`);
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`a pass that takes long tells how far it is, ends halfway, and the next wish is fulfilled (${browser})`, async () => {
    const many = Array.from({ length: 48 }, (_, i) => i % 41);
    const state = `playground.look.ids=${many.join('+')}&playground.look.wish=none`;
    const { page, complaints, close } = await all.fresh(browser, state);
    await give(page, wideFiles(2, 4));
    await isLoaded(page);
    await isSeen(page);
    // What is in use once two tokens have been looked at.
    const usedByTwo = async () => {
      await write(page, 'look', '2 1');
      await until(async () => (await of(page, 'look').tables())[0]?.length === 2, 'two tokens');
      return (await of(page, 'model').tables()).at(-1)[1][0];
    };
    const before = await usedByTwo();
    assert.equal(await barOf(page, 'look'), undefined, 'no bar where nothing is under way');
    // Two passes of four layers, for the comparison; they stand still after the third layer, and after the fifth.
    const [third, fifth] = [3 / 8, 5 / 8].map((share) => all.site.hold(atPass(share)));
    await write(page, 'look', many.join(' '));
    await third.reached;
    await until(async () => (await barOf(page, 'look')) === 3 / 8, 'the bar');
    await third.release();
    await fifth.reached;
    await until(async () => (await barOf(page, 'look')) === 5 / 8, 'the bar further on');
    await of(page, 'look').choose('Cancel');
    await fifth.release();
    await until(async () => /Cancelled/.test(await noticesOf(page, 'look')), 'the end');
    assert.equal(await of(page, 'look').summary(), '');
    assert.equal(await usedByTwo(), before, 'nothing is left of what was cancelled');
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('the code of models comes with the first model, and not before', async () => {
  const own = await serve();
  // The service worker fetches everything, for later.
  const { page, close } = await open(all.chromium, own.address, { hash: '#lang=en', serviceWorkers: 'block' });
  const models = () => [...own.asked].filter((path) => /models|tokenizers/.test(path));
  assert.ok([...own.asked].some((path) => path.includes('playground-worker')));
  assert.deepEqual(models(), []);
  await of(page, 'model').choose('Make a small encoder for me');
  await isLoaded(page);
  assert.equal(models().length, 1);
  await close();
  own.close();
});

test('a model is made and looked at without a network, too', async () => {
  const { page, close } = await all.fresh('Chromium');
  const active = async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated';
  await until(() => page.evaluate(active), 'the service worker');
  await page.context().setOffline(true);
  await page.reload();
  await until(() => page.evaluate(() => document.querySelector('main:not([aria-busy])') !== null), 'the page');
  await of(page, 'model').choose('Make a small decoder for me');
  await isLoaded(page);
  await isSeen(page);
  await close();
});
