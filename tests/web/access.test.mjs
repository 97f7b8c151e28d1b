// Accessibility: every figure has a name, the keyboard reaches everything, nothing moves unasked, no network is needed.
// For axe-core see sweeps/axe.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bring, browsers, figureOf, frames, isWhole, serve, until, withBoth } from './site.mjs';

const { site, both } = await withBoth();

for (const name of browsers) {
  test(`every figure, its buttons and every picture within it have a name (${name})`, async () => {
    for (const [lang, label] of [
      ['en', 'Figure'],
      ['zh', '图'],
    ]) {
      const { page, close } = await both.open(name, site.address, { hash: `#lang=${lang}` });
      const seen = await page.evaluate(() => {
        const nameOf = (element) => document.getElementById(element.getAttribute('aria-labelledby'))?.textContent;
        const sections = Array.from(document.querySelectorAll('.chapter'));
        const figures = sections.flatMap((section, i) =>
          Array.from(section.querySelectorAll('figure'), (figure, j) => [
            `${i + 1}.${j + 1}`,
            nameOf(figure),
            nameOf(figure.querySelector('.tools[role=group]')),
          ]),
        );
        const nameless = Array.from(document.querySelectorAll('svg, figure table'))
          .filter((element) => element.checkVisibility() && !element.closest('[aria-hidden=true], [aria-label]'))
          .filter((element) => !element.caption)
          .map((element) => element.outerHTML.slice(0, 100));
        return { figures, nameless };
      });
      assert.equal(seen.figures.length, 29);
      for (const [number, ...names] of seen.figures) {
        assert.deepEqual(names, [`${label} ${number}`, `${label} ${number}`]);
      }
      assert.deepEqual(seen.nameless, []);
      // Within what has one name as a whole nothing else is told.
      assert.equal(await page.evaluate(() => document.querySelectorAll('.needles svg:not([aria-hidden])').length), 0);
      await close();
    }
  });

  test(`the keyboard alone reaches every control in reading order, sees where it is, and is never caught (${name})`, async () => {
    const { page, close } = await both.open(name, site.address);
    await bring(page);
    await page.evaluate(() => {
      globalThis.wanted = Array.from(
        document.querySelectorAll('button, input, summary, pre, a[href], [tabindex="0"]'),
      ).filter((element) => {
        const isOther = element.matches('[type=radio]') && !element.checked;
        return element.checkVisibility() && !element.disabled && !isOther;
      });
      globalThis.reached = [];
      addEventListener('focusin', ({ target }) => {
        const style = getComputedStyle(target);
        const shown = target.matches(':focus-visible');
        globalThis.reached.push({ target, isSeen: shown, outline: style.outlineStyle });
      });
    });
    const count = await page.evaluate(() => globalThis.wanted.length);
    for (let i = 0; i < count + 40; ++i) await page.keyboard.press('Tab');
    const missed = await page.evaluate(() => {
      const reached = new Set(globalThis.reached.map(({ target }) => target));
      return globalThis.wanted
        .filter((element) => !reached.has(element))
        .map((element) => `${element.closest('[id]')?.id}: ${element.outerHTML.slice(0, 120)}`);
    });
    assert.ok(count > 150, `${count} controls`);
    assert.deepEqual(missed, []);
    const unseen = await page.evaluate(() =>
      globalThis.reached.filter(({ isSeen }) => !isSeen).map(({ target }) => target.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(unseen, []);

    // Beyond the last control is the browser's own bar, from which no script takes the focus.
    const isBack = async () => {
      await page.keyboard.press('Tab');
      return page.evaluate(() => document.hasFocus());
    };
    await until(isBack, 'the page after the bar');

    // The list of chapters: opened, walked and left by keyboard.
    const isListOpen = () => page.evaluate(() => document.getElementById('chapters').checkVisibility());
    await page.evaluate(() => document.getElementById('opener').focus());
    await page.keyboard.press('Enter');
    await until(isListOpen, 'the list of chapters');
    await page.keyboard.press('Escape');
    await until(async () => !(await isListOpen()), 'the list closed');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'opener');
    await close();
  });

  test(`who asked for less motion gets none: no animation, no frame that nobody asked for (${name})`, async () => {
    const { page, close } = await both.open(name, site.address, { reducedMotion: 'reduce' });
    assert.equal(await page.evaluate(() => matchMedia('(prefers-reduced-motion: reduce)').matches), true);
    const running = await page.evaluate(
      () =>
        Array.from(document.querySelectorAll('button')).filter(
          (b) => b.textContent === 'Let time run' && b.checkVisibility(),
        ).length,
    );
    assert.equal(running, 0);
    await page.evaluate(() => {
      globalThis.moves = [];
      globalThis.originalFrame = globalThis.requestAnimationFrame.bind(globalThis);
      globalThis.requestAnimationFrame = (callback) => {
        globalThis.moves.push('frame');
        return globalThis.originalFrame(callback);
      };
      const animate = Element.prototype.animate;
      Element.prototype.animate = function (...args) {
        globalThis.moves.push('animate');
        return animate.apply(this, args);
      };
      for (const type of ['transitionrun', 'animationstart']) {
        addEventListener(
          type,
          ({ target }) => globalThis.moves.push(`${type} ${target.outerHTML.slice(0, 100)}`),
          true,
        );
      }
    });
    await page.evaluate(() => document.querySelector('#figure-order-words .chip').focus());
    await page.keyboard.press('ArrowRight');
    const clocks = figureOf(page, 'rope', 'clocks');
    const before = await clocks.summary();
    await clocks.press('Position n', 'ArrowRight', 'ArrowRight');
    await until(async () => (await clocks.summary()) !== before, 'the clocks');
    await frames(page, 20);
    assert.deepEqual(await page.evaluate(() => globalThis.moves), []);
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
    await close();
  });

  test(`words slide to their places where motion is welcome, and time runs only when asked (${name})`, async () => {
    const { page, close } = await both.open(name, site.address, { reducedMotion: 'no-preference' });
    const moves = () => page.evaluate(() => document.getAnimations().length);
    await until(async () => (await moves()) === 0, 'the needles under the title come to rest');
    const moving = await page.evaluate(() => {
      document.querySelector('#figure-order-words .chip').focus();
      const key = new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(key);
      return document.getAnimations().length;
    });
    assert.equal(moving, 2, 'the two words that change places');
    const clocks = figureOf(page, 'sinusoid', 'clocks');
    const at = async () => Number(/position (\d+)/.exec(await clocks.summary())[1]);
    const start = await at();
    await clocks.choose('Let time run');
    await until(async () => (await at()) > start + 2, 'time runs');
    await clocks.choose('Stop');
    const stopped = await at();
    await frames(page, 20);
    assert.equal(await at(), stopped);
    await close();
  });

  test(`after the first visit the page opens without a network, and its worker works (${name})`, async () => {
    const own = await serve();
    const { page, complaints, goOffline, close } = await both.open(name, own.address);
    await until(
      () => page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated'),
      'the service worker',
    );
    await own.close();
    await goOffline();
    assert.equal(await page.evaluate(() => navigator.onLine), false);
    await page.goto(`${own.address}#lang=en&rope.worked.m=3`);
    await page.reload();
    await isWhole(page);
    const turned = (await figureOf(page, 'rope', 'worked').tables())[0].at(-1);
    assert.ok(Math.abs(turned[0] - (Math.cos(3) - 2 * Math.sin(3))) < 3e-7);
    const random = figureOf(page, 'decay', 'random');
    await random.press('Queries', 'ArrowLeft');
    await random.choose('Run');
    await until(async () => /^300 queries/.test(await random.summary()), 'the worker');
    // For a newer service worker and for the icon the browser asks by itself, past the service worker.
    assert.deepEqual(
      complaints.filter((complaint) => !/\/(service-worker\.js|favicon\.svg)$/.test(complaint)),
      [],
    );
    await close();
  });
}
