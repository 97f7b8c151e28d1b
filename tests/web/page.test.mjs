// The page as a whole: policy, address, history, language, theme, small screens.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, serve, until } from './site.mjs';

let site;
let browser;
before(async () => {
  [site, browser] = await Promise.all([serve(), launch()]);
});
after(async () => {
  await browser?.close();
  site?.close();
});

const chapters = ['attention', 'rotation'];
const hash = (page) => new URL(page.url()).hash;
const attention = (page) => page.locator('#chapter-attention figure');
const rotation = (page) => page.locator('#chapter-rotation figure');

// All that the two figures say, for comparing two pages.
const said = (page) =>
  page.evaluate(() =>
    Array.from(document.querySelectorAll('figure'), (figure) => figure.textContent.replace(/\s+/g, ' ')),
  );

test('loads under a strict policy without a complaint, from its own server alone', async () => {
  const { page, complaints, close } = await open(browser, site.address);
  assert.deepEqual(
    await page.evaluate(() => Array.from(document.querySelectorAll('.chapter'), ({ id }) => id)),
    chapters.map((id) => `chapter-${id}`),
  );
  assert.equal(await page.locator('math').count(), 2);
  assert.match(await page.locator('footer').textContent(), /simd128/);
  assert.equal(await page.evaluate(() => globalThis.rw.info().simd), 'simd128');
  assert.deepEqual(complaints, []);
  await close();
});

test('the address holds the state: a fresh page at it shows the same', async () => {
  const { page, close } = await open(browser, site.address);
  assert.equal(hash(page), '', 'an untouched page has a bare address');
  await attention(page).getByLabel('Sentence').fill('red & green = 100% #1');
  await attention(page).getByRole('radio', { name: 'RoPE', exact: true }).check();
  await attention(page).getByRole('radio', { name: '4', exact: true }).check();
  await attention(page).getByLabel('Causal').check();
  await rotation(page).getByLabel('Lock the distance').check();
  await rotation(page).getByRole('slider', { name: /Pair/ }).focus();
  await page.keyboard.press('ArrowRight');
  await rotation(page)
    .getByRole('slider', { name: /Arrow of the key/ })
    .focus();
  await page.keyboard.press('ArrowDown');
  await until(() => hash(page).includes('rotation.k=75%2C0.75'), 'the arrow in the address');

  const copy = await open(browser, page.url(), { locale: 'zh-CN' });
  assert.deepEqual(await said(copy.page), await said(page), 'also for a reader of another language');
  assert.equal(await attention(copy.page).getByLabel('Sentence').inputValue(), 'red & green = 100% #1');
  assert.deepEqual(copy.complaints, []);
  await copy.close();
  await close();
});

test('nonsense in the address is as good as nothing', async () => {
  const nonsense =
    '#lang=xx&theme=pink&at=nowhere&attention.encoding=magic&attention.heads=3&rotation.q=1,2,3&rotation.m=-5&rotation.pair=1e9';
  const { page, complaints, close } = await open(browser, site.address, { hash: nonsense });
  const plain = await open(browser, site.address);
  assert.deepEqual(await said(page), await said(plain.page));
  assert.deepEqual(complaints, []);
  await plain.close();
  await close();
});

test('back undoes, forward redoes; typing and sliding are one step each', async () => {
  const { page, close } = await open(browser, site.address);
  const input = attention(page).getByLabel('Sentence');
  const first = await input.inputValue();
  await input.fill('');
  await input.pressSequentially('two words');
  await attention(page).getByRole('radio', { name: 'RoPE', exact: true }).check();
  const m = rotation(page).getByRole('slider', { name: /Position m/ });
  await m.focus();
  for (let i = 0; i < 5; ++i) await page.keyboard.press('ArrowRight');
  await until(() => hash(page).includes('rotation.m=17'), 'the slider in the address');

  await page.goBack();
  await until(async () => (await m.inputValue()) === '12', 'the slider back');
  assert.equal(await attention(page).getByLabel('RoPE').isChecked(), true);
  await page.goBack();
  await until(() => attention(page).getByLabel('None').isChecked(), 'the encoding back');
  assert.equal(await input.inputValue(), 'two words');
  await page.goBack();
  await until(async () => (await input.inputValue()) === first, 'the sentence back');
  await page.goForward();
  await until(async () => (await input.inputValue()) === 'two words', 'the sentence again');
  await close();
});

test('the language toggle switches every text, the language of the document and the title', async () => {
  const { page, close } = await open(browser, site.address);
  await rotation(page).getByLabel('Lock the distance').check();
  await page.getByRole('button', { name: '中文' }).click();
  await until(() => page.evaluate(() => document.documentElement.lang === 'zh-Hans'), 'Chinese');
  assert.match(await page.title(), /注意力/);
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'language', 'the focus stays at the toggle');

  // Texts and labels that a reader meets, but for programs, formulas and words of the sentence.
  const texts = () =>
    page.evaluate(() => {
      const skip = 'pre, code, math, var, .math, .mark, #language, svg text, input';
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const found = [];
      while (walker.nextNode()) {
        if (!walker.currentNode.parentElement.closest(skip)) found.push(walker.currentNode.textContent);
      }
      for (const element of document.querySelectorAll('[aria-label], [aria-valuetext], [title]')) {
        if (!element.closest('#language')) {
          found.push(...['aria-label', 'aria-valuetext', 'title'].map((name) => element.getAttribute(name) ?? ''));
        }
      }
      return found.filter((text) => text.trim() !== '');
    });
  const names = /ropewalk|RoPE|WebAssembly|SIMD|simd128|Tab|\b[mn]\b/g;
  const chinese = await texts();
  assert.deepEqual(
    chinese.filter((text) => /[A-Za-z]{2}/.test(text.replace(names, ''))),
    [],
  );
  assert.ok(chinese.length > 60);

  await page.getByRole('button', { name: 'English' }).click();
  await until(() => page.evaluate(() => document.documentElement.lang === 'en'), 'English');
  assert.deepEqual(
    (await texts()).filter((text) => /\p{Script=Han}/u.test(text)),
    [],
  );
  assert.equal(await rotation(page).getByLabel('Lock the distance').isChecked(), true, 'the state stays');
  await page.goBack();
  await until(() => page.evaluate(() => document.documentElement.lang === 'zh-Hans'), 'Chinese again');
  await close();
});

test("the reader's language is the page's", async () => {
  const { page, complaints, close } = await open(browser, site.address, { locale: 'zh-TW' });
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-Hans');
  assert.equal(await attention(page).locator('.heat-rows').first().textContent(), '狗追猫猫追鼠鼠怕狗');
  assert.deepEqual(complaints, []);
  await close();
});

test('the theme follows the system until it is chosen, and the pictures follow the theme', async () => {
  const { page, close } = await open(browser, site.address, { colorScheme: 'light' });
  const brightness = () =>
    page.evaluate(() => {
      const [r, g, b] = getComputedStyle(document.documentElement)
        .backgroundColor.match(/[\d.]+/g)
        .map(Number);
      return (r + g + b) / 3;
    });
  const cell = () =>
    page.evaluate(() => {
      const canvas = document.querySelector('.heat canvas');
      return canvas.getContext('2d').getImageData(2, 2, 1, 1).data.join();
    });
  assert.ok((await brightness()) > 200);
  const light = await cell();
  await page.emulateMedia({ colorScheme: 'dark' });
  await until(async () => (await brightness()) < 60, 'dark as the system');
  const dark = await until(async () => (await cell()) !== light && cell(), 'a dark picture');

  const toggle = page.getByRole('button', { name: /^Theme/ });
  assert.equal(await toggle.getAttribute('aria-label'), 'Theme: auto');
  await toggle.click();
  assert.equal(await toggle.getAttribute('aria-label'), 'Theme: light');
  assert.ok((await brightness()) > 200);
  assert.equal(await cell(), light);
  await toggle.click();
  assert.ok((await brightness()) < 60);
  assert.equal(await cell(), dark);
  assert.match(hash(page), /theme=dark/);

  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await cell(), light, 'paper is light');
  await close();
});

test('a small screen has no sideways scroll and controls large enough for a finger', async () => {
  for (const locale of ['en-US', 'zh-CN']) {
    for (const state of [
      '',
      '#attention.table=1&attention.heads=8&rotation.table=1',
      '#attention.words=Donaudampfschifffahrtsgesellschaft+x&rotation.q=-170,1.1&rotation.m=64&rotation.lock=1',
    ]) {
      const { page, close } = await open(browser, site.address, {
        hash: state,
        locale,
        viewport: { width: 360, height: 640 },
      });
      await page.locator('summary').first().click();
      await page.locator('summary').last().click();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, `${locale} ${state}`);
      const small = await page.evaluate(() =>
        Array.from(
          document.querySelectorAll(
            'button, summary, nav a, .segments span, .flag, input[type=range], input[type=text], .grip',
          ),
        )
          .filter((element) => element.checkVisibility() && !element.matches('.skip'))
          .map((element) => [element.textContent || element.tagName, element.getBoundingClientRect()])
          .filter(([, { width, height }]) => width < 43.5 || height < 43.5)
          .map(([name, { width, height }]) => `${name}: ${width} x ${height}`),
      );
      assert.deepEqual(small, []);
      await close();
    }
  }
});

test('a link to a chapter opens there, and the contents lead there', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#at=rotation' });
  const top = () => page.evaluate(() => document.querySelector('#chapter-rotation h2').getBoundingClientRect().top);
  assert.ok(Math.abs(await top()) < 60, `the heading is ${await top()} px from the top`);
  await page.getByRole('link', { name: 'Attention alone' }).click();
  await until(async () => (await top()) > 500, 'the first chapter');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H2');
  assert.match(hash(page), /at=attention/);

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await rotation(page).getByRole('button', { name: 'Copy link' }).click();
  await rotation(page).getByText('Copied').waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /at=rotation/);
  await close();
});

test('reset puts a figure back and leaves the other one alone', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#attention.words=x+y&rotation.m=40' });
  await attention(page).getByRole('button', { name: 'Reset' }).click();
  assert.match(await attention(page).getByLabel('Sentence').inputValue(), /^the dog/);
  assert.equal(
    await rotation(page)
      .getByRole('slider', { name: /Position m/ })
      .inputValue(),
    '40',
  );
  await close();
});
