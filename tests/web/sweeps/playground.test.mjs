// axe-core finds no violation in the playground with a model, on a small screen, in both languages and both themes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import { browsers, isSeen, linked, path, start } from '../playground.mjs';
import { until } from '../site.mjs';

let all;
before(async () => {
  all = await start();
});
after(() => all?.end());

for (const browser of browsers) {
  for (const lang of ['en', 'zh']) {
    for (const theme of ['light', 'dark']) {
      test(`with a model axe-core finds nothing, nor is there to scroll sideways, in ${lang} and ${theme} (${browser})`, async () => {
        const { page, complaints, close } = await all.fresh(browser, `lang=${lang}&theme=${theme}&${linked}`, {
          viewport: { width: 360, height: 640 },
        });
        await isSeen(page);
        await page.evaluate((s) => document.querySelector(`${s} .work .button`).click(), path('write'));
        await until(
          () => page.evaluate((s) => document.querySelectorAll(`${s} .tokens li`).length, path('write')),
          'tokens',
        );
        await page.evaluate(axe.source);
        const found = await page.evaluate(async () => {
          const { violations } = await globalThis.axe.run('#chapter-playground', { resultTypes: ['violations'] });
          return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
        });
        assert.deepEqual(found, []);
        const sizes = () => [document.documentElement.scrollWidth, document.documentElement.clientWidth];
        const [whole, seen] = await page.evaluate(sizes);
        assert.equal(whole, seen);
        const small = await page.evaluate(() =>
          Array.from(
            document.querySelectorAll(
              '#chapter-playground :is(button, summary, .segments span, .flag, input[type=range], input[type=text])',
            ),
          )
            .filter((element) => element.checkVisibility())
            .map((element) => [element.textContent || element.tagName, element.getBoundingClientRect()])
            .filter(([, { width, height }]) => width < 43.5 || height < 43.5)
            .map(([name, { width, height }]) => `${name}: ${width} x ${height}`),
        );
        assert.deepEqual(small, []);
        assert.deepEqual(complaints, []);
        await close();
      });
    }
  }
}
