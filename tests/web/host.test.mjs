// The built page in a folder of a plain host: relative paths, no headers, wasm as application/octet-stream; its
// workers, and offline use.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browsers, figureOf, isWhole, launchBoth, serve, until } from './site.mjs';

let both;
before(async () => {
  both = await launchBoth({ inWhole: true });
});
after(() => both?.close());

const hash = '#lang=en&rope.worked.m=3';

// What needs the core, the worker of long work, and the playground's.
async function works(page) {
  const turned = (await figureOf(page, 'rope', 'worked').tables())[0].at(-1);
  assert.ok(Math.abs(turned[0] - (Math.cos(3) - 2 * Math.sin(3))) < 3e-7);
  const random = figureOf(page, 'decay', 'random');
  await random.press('Queries', 'Home');
  await random.choose('Run');
  const isRun = () => page.evaluate(() => document.querySelector('#figure-decay-random progress').hidden);
  await until(isRun, 'the worker');
  assert.match(await random.summary(), /queries/);
  await figureOf(page, 'playground', 'model').choose('Make a small decoder for me');
  await until(async () => /^Layer/.test(await figureOf(page, 'playground', 'look').summary()), 'the maps');
}

// The scope of the page's service worker, once that has all files.
const isKeptBy = (page) =>
  until(
    () =>
      page.evaluate(async () => {
        const registration = await navigator.serviceWorker.getRegistration();
        return registration?.active?.state === 'activated' && registration.scope;
      }),
    'the service worker',
  );

const plainHost = () => serve({ under: '/a/b/', isPlain: true });

for (const name of browsers) {
  test(`in a folder of a plain host everything works, and nothing is asked for outside of it (${name})`, async () => {
    const site = await plainHost();
    const { page, complaints, close } = await both.open(name, site.address, { hash });
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
    await site.close();
  });

  // As in a frame with a sandbox, on a page of somebody's course.
  test(`where even asking for service workers throws, the page stays (${name})`, async () => {
    const site = await plainHost();
    const refuse = () => {
      const get = () => {
        throw new DOMException('the context is sandboxed', 'SecurityError');
      };
      Object.defineProperty(Navigator.prototype, 'serviceWorker', { get });
    };
    const { page, close } = await both.open(name, site.address, { hash, init: refuse });
    // Past the end of its start.
    await until(
      () => page.evaluate(() => performance.getEntriesByType('resource').some((r) => /follow-.*js/.test(r.name))),
      'what comes last',
    );
    await works(page);
    await close();
    await site.close();
  });

  // Or the files of a newer build would be kept with the page of an older one, which asks for files that are gone.
  test(`what is kept for reading without a network is not what the browser still had (${name})`, async () => {
    const site = await serve({ isKept: true });
    const asked = [];
    site.hold(({ pathname }) => {
      asked.push(pathname);
      return false;
    });
    const { page, close } = await both.open(name, site.address);
    await isKeptBy(page);
    const times = (path) => asked.filter((each) => each === path).length;
    assert.equal(times('/'), 2, 'once for the reader, once for the service worker');
    const [script] = asked.filter((path) => /^\/assets\/index-.*\.js$/.test(path));
    assert.equal(times(script), 1, 'a name of its content is enough');
    await close();
    await site.close();
  });

  test(`from such a folder it is read again when the host is gone (${name})`, async () => {
    const site = await plainHost();
    const { page, close } = await both.open(name, site.address, { hash });
    assert.equal(await isKeptBy(page), site.address);
    await site.close();
    await assert.rejects(fetch(site.address));
    await page.reload();
    await isWhole(page);
    await works(page);
    await page.goto(`${site.address}index.html${hash}`);
    await isWhole(page);
    await works(page);
    await close();
  });
}
