// The attention figure: it shows the package's numbers, and can be used with a pointer and with the keyboard.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { wordVector } from '../../web/src/programs/word-vector.js';
import { contextOf, figureOf, hears, isWhole, open, runProgram, serve, until, withChromium } from './site.mjs';

const { site, browser } = await withChromium();
const core = await load({ simd: 'deterministic' });

// The weights as the package computes them in Node, [head][row][column].
function expected(words, { encoding = 'none', heads = 2, causal = false } = {}) {
  const data = Float32Array.from(words.flatMap((word) => wordVector(word, 64)));
  const layer = core.attentionLayer({ modelDim: 64, heads, causal, position: { encoding }, seed: 1 });
  const { scores } = layer.forward({ data, shape: [words.length, 64] }, { returnScores: 'probabilities' });
  layer.dispose();
  const T = words.length;
  const row = (h, i) => Array.from(scores.data.subarray((h * T + i) * T, (h * T + i + 1) * T));
  return Array.from({ length: heads }, (_, h) => words.map((_, i) => row(h, i)));
}

// The weights as the page's tables hold them; where nothing may be looked at, 0.
async function shown(page) {
  const map = figureOf(page, 'order', 'map');
  const tables = await map.tables();
  await map.choose('View as picture');
  return tables.map((table) => table.map((row) => row.map((value) => (Number.isNaN(value) ? 0 : value))));
}

const rowLabels = (page) =>
  page.evaluate(() =>
    Array.from(document.querySelectorAll('#figure-order-map .heat'), (map) =>
      Array.from(map.querySelectorAll('.heat-rows bdi'), (label) => label.textContent),
    ),
  );

const figure = (page) => page.locator('#figure-order-map');
const sentence = (page) => figure(page).getByLabel('Sentence');
const readout = (page) => figure(page).locator('.readout').textContent();
const choose = (page, name) => figure(page).getByRole('radio', { name, exact: true }).check();

test('a typed sentence runs: rows are its words and the weights are those of the package', async () => {
  const { page, complaints, close } = await open(browser, site.address);
  await sentence(page).fill('the cat sat on the mat');
  const words = ['the', 'cat', 'sat', 'on', 'the', 'mat'];
  await until(async () => (await rowLabels(page))[0]?.length === 6, 'six rows');
  assert.deepEqual(await rowLabels(page), [words, words]);
  const weights = await shown(page);
  assert.deepEqual(weights, expected(words));
  for (const row of weights.flat()) assert.ok(Math.abs(row.reduce((a, b) => a + b) - 1) < 1e-5, `a row sums to ${row}`);
  assert.deepEqual(complaints, []);
  await close();
});

/** The page while its core is on its way, and what it complains about. */
async function withoutCore(t) {
  const own = await serve();
  t.after(own.close);
  const held = own.hold(({ pathname }) => pathname.endsWith('.wasm'));
  const context = await contextOf(browser);
  t.after(() => context.close());
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(`${own.address}#lang=en`);
  await held.reached;
  return { page, held, complaints };
}

test('before the core has come the first figure shows its numbers, and what is set meanwhile comes with it', async (t) => {
  const { page, held, complaints } = await withoutCore(t);
  const words = figureOf(page, 'order', 'words');
  await until(async () => /^The words stand as you typed them/.test(await words.summary()), 'the first figure');
  const [early] = await words.tables();
  await words.choose('View as picture');
  const isBusy = (name) =>
    page.evaluate((id) => document.querySelector(id).matches('[aria-busy]'), `#figure-order-${name}`);
  assert.deepEqual([await isBusy('words'), await isBusy('map')], [false, true]);
  assert.equal(await figure(page).getByRole('button', { name: 'Shuffle words' }).isDisabled(), true);
  // The needles under the title are there, and the words walk, without a score.
  assert.equal(await page.locator('.needles line').count(), 7 * 12);
  await page.locator('.walker').first().press('ArrowRight');
  assert.equal(await page.locator('.walker').first().getAttribute('aria-valuenow'), '2');
  assert.equal((await page.locator('.hero-score').textContent()).trim(), '');
  // Of another encoding it has no numbers without the core.
  await page.locator('#figure-order-words').getByRole('radio', { name: 'RoPE' }).check();
  assert.equal(await isBusy('words'), true);
  await page.locator('#figure-order-words').getByRole('radio', { name: 'None' }).check();
  assert.equal(await isBusy('words'), false);
  await page.locator('#figure-order-words').getByRole('radio', { name: 'RoPE' }).check();
  await held.release();
  await isWhole(page);
  assert.deepEqual([await isBusy('words'), await isBusy('map')], [false, false]);
  assert.match(await page.locator('.hero-score').textContent(), /^Distance −4: score [\d.]+\.$/);
  const [turned] = await words.tables();
  assert.notDeepEqual(turned, early);
  await words.choose('View as picture');
  await page.locator('#figure-order-words').getByRole('radio', { name: 'None' }).check();
  assert.deepEqual((await words.tables())[0], early);
  assert.deepEqual(complaints, []);
});

test('a reader at the end of what there is changes the language before the core has come', async (t) => {
  const { page, held, complaints } = await withoutCore(t);
  await until(() => page.locator('#figure-order-words .chip').count(), 'the first figure');
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.locator('#language').click();
  await until(() => page.evaluate(() => document.documentElement.lang === 'zh-Hans'), 'the language');
  await held.release();
  await isWhole(page, 'zh');
  assert.notEqual(await figureOf(page, 'rope', 'pair').summary(), '');
  assert.match(await page.locator('.hero-score').textContent(), /[\d.]+/);
  assert.deepEqual(complaints, []);
});

test('every encoding, head count and mask gives the numbers of the package', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#order.map.words=a+b+a+c' });
  const words = ['a', 'b', 'a', 'c'];
  const seen = new Set();
  for (const [label, encoding] of [
    ['RoPE', 'rope'],
    ['Sinusoidal', 'sinusoidal'],
    ['None', 'none'],
  ]) {
    await choose(page, label);
    const weights = await shown(page);
    assert.deepEqual(weights, expected(words, { encoding }));
    seen.add(JSON.stringify(weights));
  }
  assert.equal(seen.size, 3, 'each encoding gives other numbers');
  await figure(page).getByText('More settings').click();
  await choose(page, '4');
  assert.deepEqual(await shown(page), expected(words, { heads: 4 }));
  await figure(page).getByLabel('Causal').check();
  assert.deepEqual(await shown(page), expected(words, { heads: 4, causal: true }));
  await close();
});

test('without an encoding equal words have equal rows, and shuffled words shuffle rows and columns', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#order.map.words=the+dog+saw+the+cat' });
  const words = ['the', 'dog', 'saw', 'the', 'cat'];
  const [first] = await shown(page);
  assert.deepEqual(first[0], first[3]);
  assert.match(await figure(page).locator('.summary').textContent(), /twice, and its rows are equal/);

  const at = (matrix, names, from, to) => matrix[names.indexOf(from)][names.indexOf(to)];
  await figure(page).getByRole('button', { name: 'Shuffle words' }).click();
  const [shuffled] = await rowLabels(page);
  assert.notDeepEqual(shuffled, words);
  assert.deepEqual([...shuffled].sort(), [...words].sort());
  const [second] = await shown(page);
  for (const from of words) {
    for (const to of words) {
      const [before, now] = [at(first, words, from, to), at(second, shuffled, from, to)];
      assert.ok(Math.abs(before - now) < 1e-6, `${from} looks at ${to} with ${before}, then with ${now}`);
    }
  }

  await choose(page, 'RoPE');
  const [turned] = await shown(page);
  const [one, other] = shuffled.flatMap((word, i) => (word === 'the' ? [i] : []));
  assert.notDeepEqual(turned[one], turned[other]);
  assert.match(await figure(page).locator('.summary').textContent(), /differ by up to/);
  await close();
});

test('the current cell goes along with its words when they are shuffled', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#order.map.words=one+two+three+four' });
  const map = figure(page).locator('.heat-plot').first();
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  await page.mouse.move(box.x + box.width * 0.9, box.y + box.height * 0.1);
  await page.mouse.down();
  const before = await until(async () => (await readout(page)).startsWith('head 1') && readout(page), 'a reading');
  assert.match(before, /^head 1: “one” looks at “four” with 0\.\d\d$/);
  // Pressed by script: a pointer on its way to the button would leave the cell.
  await figure(page)
    .getByRole('button', { name: 'Shuffle words' })
    .evaluate((button) => button.click());
  assert.notDeepEqual((await rowLabels(page))[0], ['one', 'two', 'three', 'four']);
  assert.equal(await readout(page), before);
  await close();
});

test('cells can be walked with the keyboard and are read out, also those that may not be looked at', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#order.map.words=my+cat+sat&order.map.causal=1' });
  const weights = expected(['my', 'cat', 'sat'], { causal: true });
  await figure(page).locator('.heat-plot').nth(1).focus();
  assert.equal(await readout(page), 'head 2: “my” looks at “my” with 1.00');
  await page.keyboard.press('ArrowDown');
  assert.equal(await readout(page), `head 2: “cat” looks at “my” with ${weights[1][1][0].toFixed(2)}`);
  await page.keyboard.press('End');
  assert.equal(await readout(page), 'head 2: “cat” may not look at “sat”, which comes later');
  assert.equal(await page.locator('.heat-rows .on').first().textContent(), 'cat');
  await close();
});

test('the table takes the place of the picture and back', async () => {
  const { page, close } = await open(browser, site.address);
  const table = figure(page).getByRole('table', { name: 'Head 1' });
  assert.equal(await table.isVisible(), false);
  await figure(page).getByRole('button', { name: 'View as table' }).click();
  assert.equal(await table.isVisible(), true);
  assert.equal(await figure(page).locator('.heat').first().isVisible(), false);
  await figure(page).getByRole('button', { name: 'View as picture' }).click();
  assert.equal(await table.isVisible(), false);
  await close();
});

test('the program beside the picture runs in Node and gives the numbers of the picture', async () => {
  const hash = '#order.map.words=it%27s+a+"test"&order.map.encoding=sinusoidal&order.map.causal=1&order.map.heads=1';
  const { page, close } = await open(browser, site.address, { hash });
  const code = await figure(page)
    .locator('details code')
    .evaluate((element) => element.textContent);
  const { words, scores } = await runProgram(code, ['words', 'scores']);
  assert.deepEqual(words, ["it's", 'a', '"test"']);
  assert.deepEqual((await shown(page)).flat(2), Array.from(scores.data));

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await figure(page).locator('.menu summary').click();
  await figure(page).getByRole('button', { name: 'The call that made this picture' }).click();
  assert.equal(await page.evaluate(() => document.activeElement.parentElement.className), 'code');
  const copyCode = figure(page).getByRole('button', { name: 'Copy code' });
  await hears(page, '#figure-order-map', 'Copied', () => copyCode.click());
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), code);
  // Closed it is gone, and the keyboard is back at the menu.
  await figure(page).locator('details.code summary').focus();
  await page.keyboard.press('Enter');
  await until(async () => !(await figure(page).locator('details.code').isVisible()), 'a closed program');
  assert.equal(await page.evaluate(() => document.activeElement.parentElement.className), 'menu');
  await close();
});

test('nothing, one word, and more words than fit', async () => {
  const { page, complaints, close } = await open(browser, site.address);
  await sentence(page).fill('');
  await figure(page).getByText('Type a word or two.').waitFor();
  assert.equal(await figure(page).locator('.heat').count(), 0);
  await sentence(page).fill('alone');
  await figure(page).getByText('A single word can only look at itself.').waitFor();
  assert.deepEqual(await shown(page), [[[1]], [[1]]]);
  const many = Array.from({ length: 23 }, (_, i) => `w${i}`);
  await sentence(page).fill(many.join(' '));
  await figure(page).getByText('The picture shows the first 20 of 23 words.').waitFor();
  assert.deepEqual((await rowLabels(page))[0], many.slice(0, 20));
  await figure(page).getByRole('button', { name: 'Shuffle words' }).click();
  const kept = (await sentence(page).inputValue()).split(' ');
  assert.deepEqual(kept.sort(), many.sort(), 'shuffling loses no word');
  assert.deepEqual(complaints, []);
  await close();
});

test('Chinese is cut into characters, and an input method may compose in peace', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#lang=zh&order.map.words=' });
  const input = figure(page).getByLabel('句子');
  await input.focus();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Input.imeSetComposition', { text: 'mao', selectionStart: 3, selectionEnd: 3 });
  assert.equal(await input.inputValue(), 'mao');
  assert.deepEqual(await rowLabels(page), []);
  await devtools.send('Input.insertText', { text: '猫爱RoPE。' });
  await until(async () => (await rowLabels(page))[0]?.join('|') === '猫|爱|RoPE|。', 'four words');
  await close();
});

test('the answer to the question comes only when one is chosen', async () => {
  const { page, close } = await open(browser, site.address);
  const question = page.locator('#chapter-order .prediction');
  assert.equal(await question.locator('.verdict').textContent(), '');
  await question.getByRole('button').nth(0).click();
  assert.match(await question.locator('.verdict').textContent(), /^Not so\./);
  await question.getByRole('button').nth(1).click();
  assert.match(await question.locator('.verdict').textContent(), /^Yes\./);
  await close();
});

test('words are dragged with the mouse and with a finger, and the address keeps their order', async () => {
  for (const hasTouch of [false, true]) {
    const { page, complaints, close } = await open(browser, site.address, { hasTouch });
    const chips = page.locator('#figure-order-words .chip');
    await chips.first().scrollIntoViewIfNeeded();
    const middle = async (i) => {
      const box = await chips.nth(i).boundingBox();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    };
    const [from, to] = [await middle(1), await middle(4)];
    if (hasTouch) {
      const devtools = await page.context().newCDPSession(page);
      const touch = (type, touchPoints) => devtools.send('Input.dispatchTouchEvent', { type, touchPoints });
      await touch('touchStart', [from]);
      for (let i = 1; i <= 12; ++i) {
        await touch('touchMove', [{ x: from.x + ((to.x + 12 - from.x) * i) / 12, y: from.y }]);
      }
      await touch('touchEnd', []);
    } else {
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.mouse.move(to.x + 12, to.y, { steps: 12 });
      await page.mouse.up();
    }
    assert.deepEqual(await chips.allTextContents(), ['the', 'chased', 'the', 'cat', 'dog']);
    await until(() => page.url().includes('order.words.order=0%2C2%2C3%2C4%2C1'), 'the order in the address');
    await page.goBack();
    await until(async () => (await chips.allTextContents())[1] === 'dog', 'the first order again');
    assert.deepEqual(complaints, []);
    await close();
  }
});
