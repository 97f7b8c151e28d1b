// The address and the history, in Chromium and Firefox: an address restores the state it was copied from, and back
// undoes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bring, browsers, figureOf, frames, until, withBoth } from './site.mjs';

const { site, both } = await withBoth();

const hash = (page) => page.evaluate(() => location.hash);
// Not page.goBack: over WebDriver BiDi it waits for another document.
const go = (page, steps) => page.evaluate((steps) => history.go(steps), steps);
const times = (n, key) => Array.from({ length: n }, () => key);
const figures = (page) => ({
  map: figureOf(page, 'order', 'map'),
  pair: figureOf(page, 'rope', 'pair'),
  waves: figureOf(page, 'sinusoid', 'map'),
  relative: figureOf(page, 'relative', 'maps'),
  stack: figureOf(page, 'playground', 'stack'),
});

const read = (page) =>
  page.evaluate(() =>
    Array.from(document.querySelectorAll('figure'), (figure) => ({
      id: figure.id,
      text: figure.textContent.replace(/\s+/g, ' '),
      controls: Array.from(
        figure.querySelectorAll('input'),
        ({ type, value, checked }) => `${type} ${value} ${checked}`,
      ),
    })),
  );

// What all figures say and what their controls are at, for comparing two pages. A picture is drawn once it has its width:
// so many frames change nothing. A page behind another one has no frames.
async function said(page) {
  await page.bringToFront();
  await bring(page);
  await until(() => page.evaluate(() => document.querySelector('figure[aria-busy]') === null), 'all figures');
  let seen = await read(page);
  await until(async () => {
    await frames(page, 60);
    const before = JSON.stringify(seen);
    seen = await read(page);
    return JSON.stringify(seen) === before;
  }, 'pictures that stay');
  return seen;
}

for (const name of browsers) {
  test(`the address holds the state: a fresh page at it shows the same (${name})`, async () => {
    const { page, complaints, close } = await both.open(name, site.address);
    assert.equal(await hash(page), '', 'an untouched page has a bare address');
    const untouched = await said(page);
    const { map, pair, waves, relative, stack } = figures(page);
    await map.type('Sentence', 'red & green = 100% #1');
    await map.choose('RoPE');
    await map.choose('4');
    await map.press('Causal', ' ');
    await pair.press('Lock the distance', ' ');
    await pair.press('Pair', 'ArrowRight');
    await page.evaluate(() => document.querySelector('#figure-rope-pair [aria-label^="Arrow of the key"]').focus());
    await page.keyboard.press('ArrowDown');
    await waves.press('Columns D', 'ArrowLeft');
    await relative.press('Words', 'Home');
    await relative.press('Head', 'ArrowRight');
    await stack.type('Sentence', 'one & two');
    await stack.choose('ALiBi');
    await stack.press('Seed', ...times(2, 'ArrowRight'));
    await until(async () => /rope\.pair\.k=75%2C0\.75.*stack\.seed=3/.test(await hash(page)), 'all in the address');
    const sent = await said(page);
    const address = await page.evaluate(() => location.href);

    const copy = await both.open(name, address, { locale: 'zh-CN' });
    assert.match(await copy.page.evaluate(() => navigator.language), /^zh/);
    assert.deepEqual(await said(copy.page), sent, 'also for a reader of another language');
    assert.equal(await figures(copy.page).map.valueOf('Sentence'), 'red & green = 100% #1');
    assert.equal(await figures(copy.page).stack.valueOf('ALiBi'), true);
    assert.deepEqual(copy.complaints, []);
    await copy.close();

    const chinese = await both.open(name, address.replace('lang=en', 'lang=zh'));
    assert.match(await chinese.page.evaluate(() => document.documentElement.lang), /^zh/);
    const translated = await said(chinese.page);
    const touched = sent.filter(({ text }, i) => text !== untouched[i].text);
    assert.deepEqual(
      touched.map(({ id }) => id),
      ['order-map', 'sinusoid-map', 'relative-maps', 'rope-pair', 'playground-stack'].map((id) => `figure-${id}`),
    );
    for (const { id, controls } of touched)
      assert.deepEqual(translated.find((figure) => figure.id === id).controls, controls);
    assert.deepEqual(await figures(chinese.page).stack.tables(), await stack.tables(), 'the same numbers in Chinese');
    assert.deepEqual(chinese.complaints, []);
    await chinese.close();
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`nonsense in the address is as good as nothing (${name})`, async () => {
    const nonsense =
      '#lang=xx&theme=pink&at=nowhere&order.map.encoding=magic&order.map.heads=3&rope.pair.q=1,2,3&rope.pair.m=-5' +
      '&rope.pair.pair=1e9&playground.stack.seed=0&playground.stack.encoding=&sinusoid.map=7';
    const { page, complaints, close } = await both.open(name, site.address, { hash: nonsense });
    const plain = await both.open(name, site.address);
    assert.deepEqual(await said(page), await said(plain.page));
    assert.deepEqual(complaints, []);
    await plain.close();
    await close();
  });

  test(`the link to a chapter, opened in a tab of its own, shows what was set (${name})`, async () => {
    const { page, close } = await both.open(name, site.address);
    const { map } = figures(page);
    await page.evaluate(() => document.querySelector('#theme').click());
    await map.choose('RoPE');
    const hrefAfter = (event) =>
      page.evaluate((event) => {
        const link = document.querySelector('.contents [data-chapter=rope]');
        if (event === 'focus') link.focus();
        else link.dispatchEvent(new PointerEvent(event));
        return link.hash;
      }, event);
    assert.match(await hrefAfter('focus'), /theme=light.*map\.encoding=rope/);
    await map.choose('None');
    assert.match(await hrefAfter('pointerdown'), /map\.encoding=none/);
    await close();
  });

  test(`back undoes, forward redoes; typing and sliding are one step each (${name})`, async () => {
    const { page, close } = await both.open(name, site.address);
    const { map, pair, stack } = figures(page);
    const first = await map.valueOf('Sentence');
    await map.type('Sentence', 'two words');
    await map.choose('RoPE');
    await pair.press('Position m', ...times(5, 'ArrowRight'));
    await stack.choose('ALiBi');
    await until(async () => /rope\.pair\.m=17.*stack\.encoding=alibi/.test(await hash(page)), 'all in the address');

    await go(page, -1);
    await until(() => stack.valueOf('RoPE, halves'), "the playground's encoding back");
    assert.equal(await pair.valueOf('Position m'), '17');
    await go(page, -1);
    await until(async () => (await pair.valueOf('Position m')) === '12', 'the slider back');
    assert.equal(await map.valueOf('RoPE'), true);
    await go(page, -1);
    await until(() => map.valueOf('None'), 'the encoding back');
    assert.equal(await map.valueOf('Sentence'), 'two words');
    await go(page, -1);
    await until(async () => (await map.valueOf('Sentence')) === first, 'the sentence back');
    await go(page, 1);
    await until(async () => (await map.valueOf('Sentence')) === 'two words', 'the sentence again');
    await go(page, 1);
    await until(() => map.valueOf('RoPE'), 'the encoding again');
    await go(page, 1);
    await until(async () => (await pair.valueOf('Position m')) === '17', 'the slider again');
    await go(page, 1);
    await until(() => stack.valueOf('ALiBi'), "the playground's encoding again");
    await close();
  });

  test(`reset puts a figure back and leaves the other one alone (${name})`, async () => {
    const { page, close } = await both.open(name, site.address, { hash: '#order.map.words=x+y&rope.pair.m=40' });
    const { map, pair } = figures(page);
    await map.choose('Reset');
    assert.match(await map.valueOf('Sentence'), /^the dog/);
    assert.equal(await pair.valueOf('Position m'), '40');
    await close();
  });
}
