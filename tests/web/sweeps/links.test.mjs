// Links to a state of the playground that is missing, out of range or malformed: it is ignored without console output,
// and the page works.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browsers, isLoaded, isSeen, noticesOf, of, run, same, says, start } from '../playground.mjs';
import { isWhole } from '../site.mjs';

let all;
before(async () => {
  all = await start();
});
after(() => all?.end());

for (const browser of browsers) {
  test(`links to what is not there, out of range or nonsense show what there is (${browser})`, async () => {
    // Each for the maps of a model, and for the layers above it.
    const states = [
      'playground.look.layer=512&playground.look.at=48&playground.look.head=256&playground.look.wish=yarn' +
        '&playground.stack.heads=3&playground.stack.layers=99&playground.stack.window=-1&playground.stack.encoding=magic',
      'playground.stack.words=%00%FF%F0%9F%98%80%E2%80%AE+a&playground.stack.kv=8&playground.stack.heads=1' +
        '&playground.look.layer=0&playground.look.at=-3&playground.look.head=1e9&playground.look.ids=',
      `playground.stack.words=${'x'.repeat(5000)}&playground.stack.head=200` +
        '&playground.look.base=NaN&playground.model.tiny=elephant&playground.look.ids=99999999999999999999+7',
      'playground.write.temperature=-1&playground.write.topK=1e99&playground.write.length=&playground.model.seed=0' +
        '&%&=&&playground.=1&playground.look=2&__proto__=1&constructor=2&playground.stack.__proto__=3',
    ];
    for (const state of states) {
      const { page, complaints, close } = await all.fresh(browser, state);
      same((await of(page, 'stack').tables()).flat(2), await run(await of(page, 'stack').code()));
      assert.match(await noticesOf(page, 'look'), /^First load a model/, state);
      // And with the model that they wait for.
      await of(page, 'model').choose('Make a small decoder for me');
      await isLoaded(page);
      if (/ids=9/.test(state)) await says(page, 'look', /The package says: model\.forwardAsync: ids/);
      else if (/ids=$/.test(state)) await says(page, 'look', /Write some ids/);
      else {
        await isSeen(page);
        same((await of(page, 'look').tables()).flat(2), await run(await of(page, 'look').code()), 1e-12);
      }
      await page.reload();
      await isWhole(page, 'en');
      await isLoaded(page);
      assert.deepEqual(complaints, [], state);
      await close();
    }
  });
}
