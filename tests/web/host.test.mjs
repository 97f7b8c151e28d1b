// The built page in a folder of a host that knows nothing of it: relative paths, no headers, wasm as any bytes; its
// workers, and reading without a network.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { figureOf, launch, launchFirefox, open, serve, until } from './site.mjs';

let site;
let chromium;
let firefox;
before(async () => {
  [site, chromium, firefox] = await Promise.all([serve({ under: '/a/b/', isPlain: true }), launch(), launchFirefox()]);
});
after(async () => {
  await chromium?.close();
  await firefox?.close();
  site?.close();
});

const hash = '#lang=en&rope.worked.m=3';

// What needs the core, the worker of long work, and the playground's.
async function works(page) {
  const turned = (await figureOf(page, 'rope', 'worked').tables())[0].at(-1);
  assert.ok(Math.abs(turned[0] - (Math.cos(3) - 2 * Math.sin(3))) < 3e-7);
  const random = figureOf(page, 'decay', 'random');
  await random.press('Queries', 'Home');
  await random.choose('Run');
  const isRun = () => page.evaluate(() => document.querySelector('#figure-decay-random progress').hidden);
  await until(isRun, 'the worker', 30000);
  assert.match(await random.summary(), /queries/);
  await figureOf(page, 'playground', 'model').choose('Make a small decoder for me');
  await until(async () => /^Layer/.test(await figureOf(page, 'playground', 'look').summary()), 'the maps', 20000);
}

for (const browser of ['Chromium', 'Firefox']) {
  test(`in a folder of a plain host everything works, and nothing is asked for outside of it (${browser})`, async () => {
    const { page, complaints, close } = await (browser === 'Firefox'
      ? firefox.open(site.address, { hash })
      : open(chromium, site.address, { hash }));
    await works(page);
    assert.deepEqual(
      // Browsers ask for an icon at the root by themselves where they have not yet read of ours.
      [...site.asked].filter((path) => !path.startsWith('/a/b/') && path !== '/favicon.ico'),
      [],
    );
    // Wasm of no type is not compiled while it comes, which the browser may say; it is compiled all the same.
    assert.deepEqual(
      complaints.filter((complaint) => !/wasm/i.test(complaint)),
      [],
    );
    await close();
  });
}

test('from such a folder it is read again without a network', async () => {
  const { page, close } = await open(chromium, site.address, { hash });
  const scope = await until(
    () =>
      page.evaluate(async () => {
        const registration = await navigator.serviceWorker.getRegistration();
        return registration?.active?.state === 'activated' && registration.scope;
      }),
    'the service worker',
    20000,
  );
  assert.equal(scope, site.address);
  await page.context().setOffline(true);
  await page.reload();
  await until(() => page.evaluate(() => document.querySelector('main:not([aria-busy])') !== null), 'the page', 20000);
  await works(page);
  await close();
});
