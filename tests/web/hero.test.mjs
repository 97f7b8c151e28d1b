// The head of the page: two words that walk, with mouse, keyboard and a finger, and the score that they keep.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { wordVector } from '../../web/src/programs/word-vector.js';
import { open, until, withChromium } from './site.mjs';

const [{ site, browser }, core] = await Promise.all([withChromium(), load({ simd: 'deterministic' })]);

const said = (page) => page.locator('.hero-score').textContent();
const places = (page) =>
  page.evaluate(() => Array.from(document.querySelectorAll('.walker'), (walker) => Number(walker.ariaValueNow)));
const turns = (page) =>
  page.evaluate(() => Array.from(document.querySelectorAll('.lane line'), (line) => line.style.transform));

test('the words walk together and keep their score, and one alone changes it', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en' });
  assert.deepEqual(await places(page), [1, 5]);
  const plan = core.rope({ headDim: 24, base: 100 });
  const score = (m, n) => {
    const [q, k] = Object.entries({ attention: m, word: n }).map(([word, place]) =>
      plan.rotate(Float32Array.from(wordVector(word, 24)), { positions: [place] }),
    );
    return q.reduce((sum, value, i) => sum + value * k[i], 0).toFixed(3);
  };
  assert.equal(await said(page), `Distance −4: score ${score(1, 5)}.`);
  const before = await turns(page);
  const [query] = await page.locator('.walker').all();
  await query.focus();
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await places(page), [2, 6]);
  assert.equal(await said(page), `Distance −4: score ${score(1, 5)}, as before.`);
  const after = await turns(page);
  assert.ok(after.every((turn, i) => turn !== before[i]));
  // The second word is the first that can go no further.
  await page.keyboard.press('End');
  assert.deepEqual(await places(page), [19, 23]);
  await until(() => /hero\.m=19&hero\.n=23/.test(page.url()), 'the walk in the address');
  await page.goBack();
  await until(async () => (await places(page)).join() === '1,5', 'the walk undone');

  await page.getByLabel('Let one walk alone').check();
  await query.focus();
  for (const key of ['ArrowRight', 'ArrowUp', 'ArrowLeft']) await page.keyboard.press(key);
  assert.deepEqual(await places(page), [2, 5]);
  assert.equal(await said(page), `Distance −3: score ${score(2, 5).replace('-', '−')}.`);
  // As far on the other side, with a sign and a score of its own.
  for (let step = 0; step < 6; ++step) await page.keyboard.press('ArrowRight');
  assert.equal(await said(page), `Distance 3: score ${score(8, 5).replace('-', '−')}.`);
  assert.notEqual(score(8, 5), score(2, 5));
  plan.dispose();
  assert.deepEqual(complaints, []);
  await close();
});

for (const reducedMotion of ['reduce', 'no-preference']) {
  test(`a word is dragged, and its needles glide only where motion is welcome (${reducedMotion})`, async () => {
    const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=zh', reducedMotion });
    const box = await page.locator('.walker').nth(1).boundingBox();
    const rail = await page.locator('.rail').nth(1).boundingBox();
    assert.deepEqual(await places(page), [0, 3]);
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(rail.x + rail.width / 2, y, { steps: 5 });
    await page.mouse.up();
    const [m, n] = await places(page);
    assert.equal(n - m, 3);
    assert.ok(n === 11 || n === 12, `${n}`);
    assert.match(await said(page), /^距离 −3：得分 \S+，没有变。$/);
    const time = await page.evaluate(() => getComputedStyle(document.querySelector('.lane line')).transitionDuration);
    assert.equal(time !== '0s', reducedMotion === 'no-preference');
    assert.deepEqual(complaints, []);
    await close();
  });
}
