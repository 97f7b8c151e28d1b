// The worker of a page built by Vite, in Chromium, under a strict CSP.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { test } from 'node:test';
import { build } from 'vite';
import { contextOf, launch } from '../../web/site.mjs';
import { folderWith } from '../support/folder.mjs';
import { root } from '../support/node.mjs';
import { serve } from '../support/server.mjs';

const files = {
  'index.html': '<!doctype html><title>t</title><script type="module" src="/main.js"></script>',
  'worker.js': `import { expose } from 'ropewalk/worker';
import { made } from '${root}/tests/ts/support/exposed.mjs';
await new Promise((resolve) => setTimeout(resolve, 50)); // calls come before the worker listens
expose(made);`,
  'main.js': `import { ArgumentRangeError } from 'ropewalk';
import { SafetensorsError } from 'ropewalk/models';
import { expose, transfer, wrap } from 'ropewalk/worker';

async function run() {
  const remote = wrap(new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }));
  const bytes = new Uint8Array(9);
  const taken = remote.take(transfer(bytes));
  const result = { left: bytes.length, taken: await taken };
  result.softmax = [...(await remote.softmax({ data: Float32Array.of(0, 0), shape: [2] })).data];
  result.view = [...(await remote.view())];
  const tensor = await remote.tensor([2], Float32Array.of(3, 4));
  result.sum = await remote.sumOf({ tensor });
  result.error = await remote.fail().catch((error) => error instanceof ArgumentRangeError && error.argument);
  result.file = await remote.openSafetensors(new Blob(['x'.repeat(20)])).catch((error) => error instanceof SafetensorsError);
  const controller = new AbortController();
  result.tokens = [];
  try {
    for await (const { token } of remote.count(1e9, { signal: controller.signal })) {
      result.tokens.push(token);
      if (token === 2) controller.abort('enough');
    }
  } catch (reason) {
    result.reason = reason;
  }
  try {
    expose({});
  } catch (error) {
    result.page = error.name;
  }
  await remote.dispose();
  result.after = await remote.echo(1).catch((error) => error.name);
  const missing = wrap(new Worker('/missing.js', { type: 'module' }));
  result.missing = await missing.echo(1).catch((error) => error.name);
  return result;
}
globalThis.done = run();`,
};

test('a worker of a built page answers, streams, stops and ends', async (t) => {
  const folder = folderWith(t, files);
  const alias = [
    { find: /^ropewalk$/, replacement: join(root, 'dist/index.js') },
    { find: /^ropewalk\/(.*)$/, replacement: join(root, 'dist/$1.js') },
  ];
  const outDir = join(folder, 'built');
  const worker = { format: 'es' };
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    resolve: { alias },
    worker,
    build: { outDir, target: 'esnext' },
  });
  const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";
  const { url } = await serve(t, async ({ url: path }, response) => {
    const name = path === '/' ? 'index.html' : path.slice(1);
    const type = { '.html': 'text/html', '.js': 'text/javascript' }[extname(name)];
    const body = await readFile(join(outDir, name)).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { 'content-type': type, 'content-security-policy': policy }).end(body);
  });
  const browser = await launch();
  t.after(() => browser.close());
  const page = await (await contextOf(browser)).newPage();
  await page.goto(url);
  assert.deepEqual(await page.evaluate(() => globalThis.done), {
    left: 0,
    taken: 9,
    softmax: [0.5, 0.5],
    view: [1, 2, 3, 4],
    sum: 7,
    error: 'headDim',
    file: true,
    tokens: [0, 1, 2],
    reason: 'enough',
    page: 'ArgumentTypeError',
    after: 'StateError',
    missing: 'StateError',
  });
});
