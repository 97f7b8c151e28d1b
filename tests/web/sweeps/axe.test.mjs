// axe-core finds no violation on the page, in both languages and both themes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import axe from 'axe-core';
import { bring, browsers, withBoth } from '../site.mjs';

const { site, both } = await withBoth();

const looks = ['en', 'zh'].flatMap((lang) => ['light', 'dark'].map((theme) => ({ lang, theme })));

for (const name of browsers) {
  for (const { lang, theme } of looks) {
    test(`axe-core finds nothing on the page, in ${lang} and ${theme} (${name})`, async () => {
      const { page, close } = await both.open(name, site.address, {
        hash: `#lang=${lang}&theme=${theme}&lab.further.open=1`,
      });
      await bring(page);
      // Questions answered and programs open: what comes up later counts as well.
      await page.evaluate(() => {
        for (const question of document.querySelectorAll('.prediction')) question.querySelector('.answer').click();
        for (const details of document.querySelectorAll('details')) details.open = true;
      });
      await page.evaluate(axe.source);
      const found = await page.evaluate(async () => {
        const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
      });
      assert.deepEqual(found, []);
      await close();
    });
  }
}
