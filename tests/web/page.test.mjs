// The page as a whole: CSP, language, theme, navigation to a chapter.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { chapterIds } from '../../web/src/chapters/ids.js';
import {
  bring,
  browsers,
  contextOf,
  figureOf,
  frames,
  hears,
  isWhole,
  open,
  setOffline,
  until,
  withBoth,
} from './site.mjs';

const { site, both, browser } = await withBoth({ inWhole: true });

const hash = (page) => new URL(page.url()).hash;
const map = (page) => page.locator('#figure-order-map');
const pair = (page) => page.locator('#figure-rope-pair');

test('every folder of chapters is a chapter of the page', async () => {
  const all = await readdir(new URL('../../web/src/chapters/', import.meta.url), { withFileTypes: true });
  const folders = all.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  assert.deepEqual(folders.sort(), [...chapterIds].sort());
});

for (const name of browsers) {
  test(`loads under a strict policy without a complaint, from its own server alone (${name})`, async () => {
    const { page, complaints, close } = await both.open(name, site.address);
    await bring(page);
    const seen = await page.evaluate(() => ({
      chapters: Array.from(document.querySelectorAll('.chapter'), ({ id }) => id),
      bare: Array.from(document.querySelectorAll('.chapter'), (chapter) => [
        chapter.id,
        ...['.prose > p', '.formula math', 'figure', '.prediction', 'details.code .copy'].filter(
          (part) => !chapter.querySelector(part),
        ),
      ]).filter(([, ...missing]) => missing.length > 0),
      footer: document.querySelector('footer').textContent,
      simd: globalThis.rw.info().simd,
    }));
    assert.deepEqual(
      seen.chapters,
      chapterIds.map((id) => `chapter-${id}`),
    );
    assert.deepEqual(seen.bare, [], 'prose, a formula, a figure, a question and its call in every chapter');
    assert.match(seen.footer, /simd128/);
    assert.equal(seen.simd, 'simd128');
    assert.deepEqual(complaints, []);
    await close();
  });

  test(`what a page complains of is heard (${name})`, async () => {
    const { page, complaints, close } = await both.open(name, site.address);
    await page.evaluate(async () => {
      document.querySelector('h1').setAttribute('style', 'color: red');
      await fetch('http://127.0.0.1:1/elsewhere').catch(() => undefined);
      await fetch('nothing-there');
      console.warn('a warning');
      console.error('an error');
      setTimeout(() => {
        throw new Error('an exception');
      });
      Promise.reject(new Error('a rejection'));
    });
    for (const expected of [
      /violation of style-src-attr by inline/,
      /violation of connect-src by http:\/\/127\.0\.0\.1:1\/elsewhere/,
      /404 for .*\/nothing-there/,
      /a warning/,
      /an error/,
      /an exception/,
      /a rejection/,
    ]) {
      await until(() => complaints.some((complaint) => expected.test(complaint)), String(expected));
    }
    await close();
  });
}

test('the language toggle switches every text, the language of the document and the title', async () => {
  const { page, close } = await open(browser, site.address);
  await pair(page).getByLabel('Lock the distance').check();
  await page.getByRole('button', { name: '中文' }).click();
  await isWhole(page, 'zh-Hans');
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
  const names =
    /config\.json|Position(al)? Embeddings?|M?LLM|lmdeploy|mlx-vlm|This is is is is|NVIDIA|NeMo|diffusers|llama\.cpp|bert4keras|flash-linear-attention|SANA|Jain|Wallace|Xiao|Kahan|Dodge|plan\.rotate|Python|Rx|model\.safetensors|\.gguf|GGUF|\.safetensors(\.index\.json)?|tokenizer\.json|@huggingface\/tokenizers|Top-[kp]|MiB|T5|KERPLE|M[34]|SQuAD|CAIL2019-SCM|Barbero|logits|RetNet|cosFormer|softmax|elu|relu|exp|KV|KiB|PNG|CSV|JSON|ropewalk|RoPE|LongRoPE|WebAssembly|SIMD|simd128|Tab|BERT|GPT|NeoX|LLaMA|Llama|Hugging Face|Marian|tensor2tensor|Meta|Transformer|Shaw|Chen|Peng|Ding|Wang|Sun|Haviv|Katharopoulos|Raffel|Press|Huang|Vaswani|ALiBi|YaRN|NTK-aware|NTK|PI|xPos|Abel|RoFormer|JavaScript|Math\.(sin|cos)|relaxed|bfloat16|Qwen\d-VL|Pixtral|clip|PE|cos|sin|relative_key_query|rope_deltas|The package says|\b[mnkpd]\b/g;
  const chinese = await texts();
  assert.deepEqual(
    chinese.filter((text) => /[A-Za-z]{2}/.test(text.replace(names, ''))),
    [],
  );
  assert.ok(chinese.length > 600);

  await page.getByRole('button', { name: 'English' }).click();
  await isWhole(page, 'en');
  assert.deepEqual(
    (await texts()).filter((text) => /\p{Script=Han}/u.test(text)),
    [],
  );
  assert.equal(await pair(page).getByLabel('Lock the distance').isChecked(), true, 'the state stays');
  await page.goBack();
  await isWhole(page, 'zh-Hans');
  await close();
});

test('an answer, and what the worker has done, stay when the language changes', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en&decay.random.pairs=300' });
  const random = figureOf(page, 'decay', 'random');
  await random.choose('Run');
  await until(async () => /^300 queries/.test(await random.summary()), 'the worker');
  const questions = () =>
    page.evaluate(() =>
      Array.from(document.querySelectorAll('.prediction'), (question) => [
        Array.from(question.querySelectorAll('.answer')).findIndex((answer) => answer.ariaPressed === 'true'),
        question.querySelector('.verdict').textContent !== '',
      ]),
    );
  await page.evaluate(() => {
    for (const [i, question] of document.querySelectorAll('.prediction').entries()) {
      if (i % 4 < 3) question.querySelectorAll('.answer')[i % 4].click();
    }
  });
  const before = await questions();
  assert.deepEqual(before.slice(0, 4), [
    [0, true],
    [1, true],
    [2, true],
    [-1, false],
  ]);
  await page.getByRole('button', { name: '中文' }).click();
  await isWhole(page, 'zh-Hans');
  assert.deepEqual(await questions(), before);
  assert.match(await random.summary(), /300/);
  await random.choose('重置');
  await until(async () => !/300/.test(await random.summary()), 'the few at once');
  assert.deepEqual(complaints, []);
  await close();
});

test("the reader's language is the page's", async () => {
  const { page, complaints, close } = await open(browser, site.address, { locale: 'zh-TW' });
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-Hans');
  assert.equal(await map(page).locator('.heat-rows').first().textContent(), '狗追猫猫追鼠鼠怕狗');
  assert.deepEqual(complaints, []);
  await close();
});

test('a browser whose language has no tag gets the page in English', async () => {
  const init = () => Object.defineProperty(navigator, 'languages', { value: ['C'] });
  const { page, complaints, close } = await open(browser, site.address, { init });
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
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
  const field = () => page.evaluate(() => document.querySelector('#chapter-sinusoid canvas').toDataURL());
  assert.ok((await brightness()) > 200);
  const light = await cell();
  const fieldOnLight = await field();
  // What is far from the screen rests before the colours change, not after.
  await page.evaluate(() => {
    const { dataset } = document.documentElement;
    new MutationObserver(() => {
      globalThis.restedAs = `${document.querySelectorAll('.resting').length > 10} ${dataset.theme}`;
    }).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  });
  await page.emulateMedia({ colorScheme: 'dark' });
  await until(async () => (await brightness()) < 60, 'dark as the system');
  assert.equal(await page.evaluate(() => globalThis.restedAs), 'true dark');
  const dark = await until(async () => (await cell()) !== light && cell(), 'a dark picture');

  const toggle = page.getByRole('button', { name: /^Theme/ });
  assert.equal(await toggle.getAttribute('aria-label'), 'Theme: auto');
  await toggle.click();
  assert.equal(await toggle.getAttribute('aria-label'), 'Theme: light');
  assert.ok((await brightness()) > 200);
  await until(async () => (await cell()) === light, 'a light picture');
  await toggle.click();
  assert.ok((await brightness()) < 60);
  await until(async () => (await cell()) === dark, 'a dark picture again');
  assert.match(hash(page), /theme=dark/);

  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await cell(), light, 'paper is light');
  assert.equal(await field(), fieldOnLight);
  assert.ok((await brightness()) > 200);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  await until(async () => (await cell()) === dark, 'dark again on the screen');
  await close();
});

test('a link to a chapter opens there, and the contents lead there', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#at=rope' });
  const top = () => page.evaluate(() => document.querySelector('#chapter-rope h2').getBoundingClientRect().top);
  // Below the bar, and nothing but it.
  await until(async () => Math.abs((await top()) - 70) < 30, 'the heading below the bar');
  await page.getByRole('button', { name: /RoPE: turn each word once|Chapters/ }).click();
  await page.locator('#chapters').getByRole('link', { name: 'Attention alone' }).click();
  await until(async () => (await top()) > 500, 'the first chapter');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H2');
  assert.match(hash(page), /at=order/);

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await pair(page).locator('.menu summary').click();
  const copyLink = pair(page).getByRole('button', { name: 'Copy link' });
  await hears(page, '#figure-rope-pair', 'Copied', () => copyLink.click());
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /at=rope\.pair/);
  await close();
});

test('a link to a figure opens at it, also where its chapter is still to come, and ids of the page are links', async () => {
  for (const [hash, id, name] of [
    ['#lang=en&at=rope.broken', 'figure-rope-broken', 'Figure 6.9'],
    ['#lang=en&at=lab.length', 'figure-lab-length', 'Figure 11.3'],
    ['#figure-decay-bound', 'figure-decay-bound', 'Figure 7.2'],
    ['#chapter-rope', 'chapter-rope', ''],
    ['#figure-speed-error', 'figure-speed-error', 'Figure A.1'],
    ['#lang=en&at=speed.run', 'figure-speed-run', 'Figure A.2'],
    ['#lang=zh&at=speed', 'chapter-speed', ''],
    ['#lang=en&at=rope.nothing', 'chapter-rope', ''],
  ]) {
    const { page, complaints, close } = await open(browser, site.address, { hash });
    const place = () =>
      page.evaluate((id) => {
        const { activeElement } = document;
        const label = document.getElementById(activeElement.getAttribute('aria-labelledby'))?.textContent ?? '';
        const found = document.getElementById(id);
        return { top: found?.getBoundingClientRect().top, name: found?.contains(activeElement) ? label : undefined };
      }, id);
    // Below the bar, and nothing but it.
    const isAt = ({ top, name: focused }) => Math.abs(top - 70) < 50 && focused === name;
    await until(async () => isAt(await place()), `${hash}: ${JSON.stringify(await place())}`);
    assert.deepEqual(complaints, []);
    await close();
  }
});

test('another language comes to the place where one reads', async () => {
  const { page, close } = await open(browser, site.address);
  const top = () => page.evaluate(() => document.querySelector('#figure-rope-worked').getBoundingClientRect().top);
  await page.evaluate(() => {
    scrollTo({ top: document.querySelector('#figure-rope-worked').getBoundingClientRect().top + scrollY - 200 });
  });
  assert.ok(Math.abs((await top()) - 200) < 2);
  await page.evaluate(() => document.getElementById('language').click());
  await isWhole(page, 'zh-Hans');
  // The chapter has another length in Chinese; the figure that one looks at is where it was.
  await until(async () => Math.abs((await top()) - 200) < 40, 'the figure where it was');
  const here = await until(async () => {
    const text = await page.locator('.here').textContent();
    return text.startsWith('6') && text;
  }, 'the chapter in the bar');
  assert.match(here, /RoPE/);
  // So it is with "back", wherever one has read on to.
  await page.evaluate(() => {
    scrollTo({ top: document.querySelector('#figure-decay-bound').getBoundingClientRect().top + scrollY - 200 });
  });
  const later = () => page.evaluate(() => document.querySelector('#figure-decay-bound').getBoundingClientRect().top);
  await until(async () => Math.abs((await later()) - 200) < 2, 'another figure');
  await page.evaluate(() => history.back());
  await isWhole(page, 'en');
  await frames(page, 2);
  assert.ok(Math.abs((await later()) - 200) < 40, `${await later()}`);
  await close();
});

test('a chapter that does not arrive says so, keeps the others, and comes when the page is loaded again', async () => {
  const context = await contextOf(browser, { serviceWorkers: 'block' });
  const page = await context.newPage();
  const isBroken = (route) => route.abort();
  await page.route('**/assets/decay-*.js', isBroken);
  await page.goto(`${site.address}#lang=en&speed.run.table=1`);
  await isWhole(page, 'en');
  const lost = page.locator('#chapter-decay');
  assert.match(await lost.getByRole('alert').textContent(), /did not arrive/);
  assert.equal(await page.locator('.chapter h2').count(), chapterIds.length);
  assert.equal(await page.locator('#chapter-rope figure').count(), 9);
  await page.unroute('**/assets/decay-*.js', isBroken);
  await lost.getByRole('button', { name: 'Load the page again' }).click();
  await until(async () => (await page.locator('#chapter-decay figure').count()) === 3, 'the chapter');
  assert.match(hash(page), /speed\.run\.table=1/);
  await context.close();
});

test('figures of a model that do not arrive are told, what follows the window is not missed, and nothing else fails', async () => {
  const context = await contextOf(browser, { serviceWorkers: 'block' });
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  const asked = [];
  await page.route(/assets\/(decoder-figures|follow)-/, (route) => {
    asked.push(route.request().url());
    return route.abort();
  });
  await page.goto(`${site.address}#lang=en`);
  await isWhole(page, 'en');
  await until(() => asked.some((url) => url.includes('/follow-')), 'the rest');
  const model = figureOf(page, 'playground', 'model');
  await model.choose('Make a small decoder for me');
  await until(async () => /parameters in/.test(await model.summary()), 'the model');
  const said = () => page.evaluate(() => document.querySelector('#chapter-playground').textContent);
  await until(async () => /did not arrive/.test(await said()), 'the notice');
  assert.deepEqual(errors, []);
  await context.close();
});

test('texts of another language that do not arrive are told, and asked for again', async () => {
  const context = await contextOf(browser, { serviceWorkers: 'block' });
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(`${site.address}#lang=en&speed.run.table=1`);
  await isWhole(page, 'en');
  await setOffline(page, true);
  await page.locator('#language').click();
  await until(async () => (await page.getByRole('alert').count()) === 1, 'what happened');
  assert.match(await page.getByRole('alert').textContent(), /did not arrive/);
  assert.match(hash(page), /lang=en/);
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
  await setOffline(page, false);
  await page.locator('#language').click();
  await isWhole(page, 'zh-Hans');
  assert.equal(await page.getByRole('alert').count(), 0);
  assert.match(hash(page), /lang=zh.*speed\.run\.table=1|speed\.run\.table=1.*lang=zh/);
  assert.deepEqual(errors, []);
  await context.close();
});

test('the address follows the reader, and a page that is loaded again opens where it was left', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en&at=rope' });
  const figure = page.locator('#figure-decay-random');
  await figure.scrollIntoViewIfNeeded();
  const top = () => figure.evaluate((element) => element.getBoundingClientRect().top);
  const begun = await top();
  await page.mouse.wheel(0, 40);
  await until(async () => (await top()) === begun - 40, 'the wheel');
  await until(() => /at=decay/.test(hash(page)), 'the chapter in the address');
  const steps = await page.evaluate(() => history.length);
  const before = await top();
  assert.equal(await page.evaluate(() => history.length), steps, 'reading is no step of "back"');
  await page.reload();
  await isWhole(page);
  assert.ok(Math.abs((await top()) - before) < 2, `${await top()} instead of ${before}`);
  await page.evaluate(() => scrollTo({ top: 0, behavior: 'instant' }));
  await until(() => !/at=/.test(hash(page)), 'no chapter in the address');
  assert.deepEqual(complaints, []);
  await close();
});

test('with "back" the keyboard goes along with the view, and a link leads to its chapter', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en' });
  // Pressed in the page: whoever presses for us would move it first.
  const follow = (chapter) =>
    page.evaluate((chapter) => document.querySelector(`#chapters [data-chapter=${chapter}]`).click(), chapter);
  const focused = () => page.evaluate(() => document.activeElement?.closest('.chapter')?.id ?? '');
  await follow('rope');
  await follow('linear');
  assert.equal(await focused(), 'chapter-linear');
  await page.evaluate(() => history.back());
  await until(async () => (await focused()) === 'chapter-rope', 'the keyboard in the chapter before');
  const slider = page.locator('#figure-rope-pair input[type=range]').first();
  await slider.focus();
  await page.keyboard.press('ArrowRight');
  await page.evaluate(() => history.back());
  await until(async () => (await slider.inputValue()) === '12', 'the slider back');
  assert.equal(await slider.evaluate((element) => element === document.activeElement), true, 'a control keeps it');
  await page.evaluate(() => {
    location.hash = '#lang=en&at=context';
  });
  await until(async () => (await focused()) === 'chapter-context', 'the chapter of the link');
  const top = await page.locator('#chapter-context h2').evaluate((element) => element.getBoundingClientRect().top);
  assert.ok(top >= 0 && top < 200, `${top}`);
  assert.deepEqual(complaints, []);
  await close();
});

test('what was seen before a link was followed is not told of where it leads', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en' });
  // All observers hear of a frame one after the other, in any order: with so many of ours, that of the page hears
  // between the first, which follows a link, and the last, which follows another.
  await page.evaluate(async () => {
    const follow = (chapter) => document.querySelector(`#chapters [data-chapter=${chapter}]`).click();
    const start = document.body.appendChild(document.createElement('div'));
    Object.assign(start.style, { position: 'absolute', top: 0, height: '1px', width: '1px' });
    const count = 40;
    let heard = 0;
    const ready = Array.from({ length: count }, () => {
      return new Promise((resolve) => {
        const observer = new IntersectionObserver(([{ isIntersecting }]) => {
          if (isIntersecting) return resolve();
          observer.disconnect();
          heard += 1;
          if (heard === 1) follow('rope');
          if (heard === count) follow('linear');
        });
        observer.observe(start);
      });
    });
    await Promise.all(ready);
    document.querySelector('#chapter-binary').scrollIntoView();
  });
  const isAt = (chapter) => until(() => new RegExp(`at=${chapter}`).test(hash(page)), `the chapter ${chapter}`);
  await isAt('linear');
  await page.evaluate(() => history.back());
  await isAt('rope');
  assert.equal(await page.evaluate(() => document.activeElement?.closest('.chapter')?.id), 'chapter-rope');
  assert.deepEqual(complaints, []);
  await close();
});

test('without scripts the page is its text, which has every paragraph, and leads to that in the other language', async () => {
  const context = await contextOf(browser, { javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(site.address);
  for (const [locale, other] of [
    ['en-US', 'zh-Hans'],
    ['zh-CN', 'en'],
  ]) {
    const live = await open(browser, site.address, { locale });
    await bring(live.page);
    const paragraphs = await live.page.evaluate(() =>
      Array.from(
        document.querySelectorAll('main :is(h1, h2, h3, .prose > p:not(.needles-note), .lede, dt, dd)'),
        (each) => each.textContent,
      ),
    );
    await live.close();
    const text = (await page.locator('main').textContent()).replace(/\s+/g, ' ');
    assert.ok(paragraphs.length > 150);
    const missing = paragraphs.filter((each) => !text.includes(each.replace(/\s+/g, ' ').trim()));
    assert.deepEqual(missing, []);
    assert.ok((await page.locator('math').count()) > 20);
    const ids = await page.locator('.chapter:has(h2)').evaluateAll((all) => all.map(({ id }) => id));
    assert.deepEqual(
      ids,
      chapterIds.map((id) => `chapter-${id}`),
    );
    await page.locator(`.opening a[lang=${other}]`).click();
    await page.locator(`html[lang=${other}] h1`).waitFor();
  }
  await context.close();
});

// A link, a name in a library, a title, or one of these.
const sources = {
  en: /“.+”|tutorial|same (post|article|section)|comment|^(Follows from|No text is known|Measured)/,
  zh: /《.+》|教程|同一(篇|节)|^(由|没有查到出处|用这些模型测得)/,
};

test('each pitfall says what it was found in, or what it follows from', async () => {
  for (const [lang, named] of Object.entries(sources)) {
    const { page, close } = await open(browser, site.address, { hash: `#lang=${lang}` });
    await bring(page);
    const all = await page.evaluate(() =>
      Array.from(document.querySelectorAll('.pitfalls dt'), (claim) => {
        const [, found] = [claim.nextElementSibling, claim.nextElementSibling?.nextElementSibling];
        const isFound = found?.matches('dd') === true;
        return [
          claim.textContent,
          isFound ? found.textContent : '',
          isFound && found.querySelector('a, code') !== null,
        ];
      }),
    );
    assert.ok(all.length > 40, `${all.length} in ${lang}`);
    const without = all.filter(([, found, isLinked]) => found.length < 5 || !(isLinked || named.test(found)));
    assert.deepEqual(without, []);
    await close();
  }
});

test('without WebAssembly the page says so in the reader’s language', async () => {
  for (const [lang, tag, words] of [
    ['en', 'en', /need WebAssembly/],
    ['zh', 'zh-Hans', /WebAssembly/],
  ]) {
    const context = await contextOf(browser, { serviceWorkers: 'block' });
    const page = await context.newPage();
    await page.addInitScript(() => {
      delete globalThis.WebAssembly;
    });
    await page.goto(`${site.address}#lang=${lang}`);
    await until(async () => (await page.locator('main > pre').count()) === 1, 'the message');
    assert.match(await page.locator('main').textContent(), words);
    assert.equal(await page.evaluate(() => document.documentElement.lang), tag);
    assert.equal(await page.title(), await page.locator('h1').textContent());
    assert.equal(await page.locator('pre').getAttribute('lang'), 'en');
    await context.close();
  }
});

test('a picture that changes is told once, where it comes to rest', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en' });
  // Time stands still, and goes on as far as it is told to.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 3_600_000);
  await page.evaluate(() => {
    globalThis.told = [];
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const region = (target.nodeType === 1 ? target : target.parentElement)?.closest('[role=status], output');
        if (region && region.ariaLive !== 'off') globalThis.told.push(region.textContent);
      }
    }).observe(document.body, { childList: true, characterData: true, subtree: true });
    const slider = document.querySelector('#figure-rope-pair input[type=range]');
    slider.focus();
    for (let i = 20; i < 50; ++i) {
      slider.value = i;
      slider.dispatchEvent(new Event('input', { bubbles: true }));
    }
  });
  const summary = await figureOf(page, 'rope', 'pair').summary();
  const toldAfter = async (ms) => {
    await page.clock.runFor(ms);
    return page.evaluate(() => globalThis.told);
  };
  assert.deepEqual(await toldAfter(499), []);
  assert.deepEqual(await toldAfter(1), [summary]);
  assert.deepEqual(await toldAfter(5000), [summary]);
  // A cell is told while the keyboard is among cells; neither leaving them nor a step of a slider tells of one.
  const map = figureOf(page, 'sinusoid', 'map');
  await page.locator('#figure-sinusoid-map .field-plot').first().focus();
  const cell = await page.locator('#figure-sinusoid-map .readout').textContent();
  assert.deepEqual(await toldAfter(0), [summary, cell]);
  await map.press('Columns D', 'ArrowLeft');
  assert.deepEqual(await toldAfter(5000), [summary, cell, await map.summary()]);
  assert.deepEqual(complaints, []);
  await close();
});

test('where the page may not write to the clipboard it gives the link itself', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en' });
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  const figure = page.locator('#figure-rope-pair');
  await figure.locator('.menu summary').click();
  await figure.getByRole('button', { name: 'Copy link' }).click();
  const link = figure.locator('.said a');
  assert.match(await link.textContent(), /This is the link/);
  assert.match(await link.getAttribute('href'), /#.*at=rope/);
  assert.deepEqual(complaints, []);
  await close();
});
