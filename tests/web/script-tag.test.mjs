// dist/ropewalk.global.js: everything under one name, for pages without modules. From the disk, from the bare address of
// a CDN with an integrity hash, and in a classic worker.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { folderWith } from '../ts/support/folder.mjs';
import { serve } from '../ts/support/server.mjs';
import { fileOfModel, tinyLlama } from '../ts/support/tiny-models.mjs';
import { browsers, launchBoth } from './site.mjs';

const file = fileURLToPath(new URL('../../dist/ropewalk.global.js', import.meta.url));
const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const script = readFileSync(file);
const integrity = `sha384-${createHash('sha384').update(script).digest('base64')}`;
const pageWith = (attributes) => `<!doctype html><script ${attributes}></script>`;

// A classic worker, which has no modules.
const worker = `
importScripts('/npm/ropewalk');
ropewalk.load().then((rw) => {
  ropewalk.expose({ turn: (x) => rw.rope({ headDim: 2 }).rotate(x, { offset: 1 }) });
});`;

const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'none'";

function respond(request, response) {
  const answer = (type, body) =>
    response.writeHead(200, { 'content-type': type, 'content-security-policy': policy }).end(body);
  if (request.url === '/') answer('text/html', pageWith(`src="/npm/ropewalk" integrity="${integrity}"`));
  else if (request.url === '/changed') answer('text/html', pageWith('src="/npm/ropewalk" integrity="sha384-AAAA"'));
  else if (request.url === '/npm/ropewalk') answer('text/javascript', script);
  else if (request.url === '/worker.js') answer('text/javascript', worker);
  else response.writeHead(404).end();
}

const folder = folderWith({ after }, { 'page.html': pageWith(`src="${pathToFileURL(file)}"`) });
const { url } = await serve({ after }, respond);
let both;
before(async () => {
  both = await launchBoth({ inWhole: true });
});
after(() => both?.close());

async function opened(t, browser, address) {
  const page = await both.newPage(browser);
  t.after(() => page.close());
  await page.goto(address);
  return page;
}

test('the fields for CDNs name the script', () => {
  for (const field of ['unpkg', 'jsdelivr']) assert.equal(manifest[field], './dist/ropewalk.global.js');
});

test('the script has what the entries export', async (t) => {
  const entries = await Promise.all(['index', 'models', 'worker'].map((name) => import(`../../dist/${name}.js`)));
  const names = new Set(entries.flatMap((entry) => Object.keys(entry)));
  const page = await opened(t, 'Chromium', url);
  assert.deepEqual(await page.evaluate(() => Object.keys(globalThis.ropewalk).sort()), [...names].sort());
});

for (const browser of browsers) {
  test(`a page from the disk computes and runs a model (${browser})`, async (t) => {
    const page = await opened(t, browser, String(pathToFileURL(join(folder, 'page.html'))));
    const model = tinyLlama();
    const found = await page.evaluate(
      async ([config, base64]) => {
        const { load, loadModel, ArgumentRangeError } = globalThis.ropewalk;
        const rw = await load();
        const turned = rw.rope({ headDim: 2 }).rotate(Float32Array.of(1, 0), { offset: 1 });
        const weights = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
        const model = await loadModel(rw, { config, weights });
        const logits = model.forward([1, 2, 3]).logits;
        let refused;
        try {
          rw.rope({ headDim: -2 });
        } catch (error) {
          refused = [error instanceof ArgumentRangeError, error.name, error.argument];
        }
        model.dispose();
        let gone; // classes have no names here
        try {
          model.forward([1]);
        } catch (error) {
          gone = error.message;
        }
        return { protocol: location.protocol, turned: Array.from(turned), count: logits.data.length, refused, gone };
      },
      [model.config, Buffer.from(fileOfModel(model)).toString('base64')],
    );
    assert.deepEqual(found, {
      protocol: 'file:',
      turned: [Math.fround(Math.cos(1)), Math.fround(Math.sin(1))],
      count: model.config.vocab_size,
      refused: [true, 'ArgumentRangeError', 'headDim'],
      gone: 'model.forward: this object was disposed',
    });
  });

  test(`a page and its classic worker load it from the bare address of a CDN (${browser})`, async (t) => {
    const page = await opened(t, browser, url);
    const turned = await page.evaluate(async () => {
      const remote = globalThis.ropewalk.wrap(new Worker('/worker.js'));
      return Array.from(await remote.turn(Float32Array.of(1, 0)));
    });
    assert.deepEqual(turned, [Math.fround(Math.cos(1)), Math.fround(Math.sin(1))]);
  });

  test(`a script with another hash than its integrity is not run (${browser})`, async (t) => {
    const page = await opened(t, browser, `${url}/changed`);
    assert.equal(await page.evaluate(() => typeof globalThis.ropewalk), 'undefined');
  });
}
