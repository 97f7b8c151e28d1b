// `npm start`: the page from its sources on Vite's server, where workers are fetched file by file rather than built.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';
import { figureOf, launch, open, until } from './site.mjs';

let server;
let browser;
before(async () => {
  const root = fileURLToPath(new URL('../../web/', import.meta.url));
  // A cache of its own: another server may be running in the same checkout.
  const cacheDir = fileURLToPath(new URL('../../build/start/', import.meta.url));
  const options = { root, cacheDir, configFile: `${root}vite.config.ts`, logLevel: 'error', server: { port: 0 } };
  [server, browser] = await Promise.all([createServer(options), launch()]);
  await server.listen();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test('the page, its worker and the playground’s work from their sources', async () => {
  const { port } = server.httpServer.address();
  const { page, complaints, close } = await open(browser, `http://localhost:${port}/`, { hash: '#lang=en' });
  const figure = (chapter, name) => figureOf(page, chapter, name);
  assert.match(await figure('playground', 'stack').summary(), /^Over all heads/);
  await figure('playground', 'model').choose('Make a small decoder for me');
  await until(async () => /^Layer/.test(await figure('playground', 'look').summary()), 'the maps');
  await figure('playground', 'write').choose('Generate');
  await until(async () => /^32 tokens/.test(await figure('playground', 'write').summary()), 'tokens');
  const random = figure('decay', 'random');
  await random.press('Queries', 'ArrowLeft');
  await random.choose('Run');
  await until(async () => /^300 queries/.test(await random.summary()), 'the worker');
  // What Vite's own client says is not of the page.
  assert.deepEqual(
    complaints.filter((complaint) => !/\[vite\]/.test(complaint)),
    [],
  );
  await close();
});
