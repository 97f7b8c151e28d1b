// Files kept in a browser's storage, from a page and from a worker: in the origin private file system, and in the Cache API
// where that cannot be written to.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { after, before, test } from 'node:test';
import { random } from '../../ts/support/arrays.mjs';
import { writeSafetensors } from '../../ts/support/safetensors.mjs';
import { sendRange, serve } from '../../ts/support/server.mjs';
import { browsers, launchBoth, until } from '../site.mjs';

const segment = 2 ** 23; // what is stored at once
const versionOf = (seed) => {
  const data = random(5_000_000, seed); // 20 MB, three segments
  return {
    bytes: Buffer.from(writeSafetensors({ weights: { dtype: 'F32', shape: [data.length], data } })),
    ends: [data[0], data[2 ** 21], data.at(-1)],
  };
};
const [one, two] = [versionOf(1), versionOf(2)];
const small = Buffer.from(writeSafetensors({ weights: { dtype: 'F32', shape: [3], data: Float32Array.of(1, 2, 3) } }));

// Runs in the page or in its worker.
const code = `import { load } from '/dist/index.js';
import { cached, openSafetensors, storedFiles } from '/dist/models.js';

const loading = load();
const actions = {
  async open(address, abortAt = Infinity) {
    const controller = new AbortController();
    const onProgress = ({ loaded }) => loaded >= abortAt && controller.abort('enough');
    const { signal } = controller;
    const file = await openSafetensors(await loading, cached(address), { onProgress, signal });
    const all = await file.tensor('weights');
    const [last] = new Float32Array((await part(file, all.byteLength - 4)).buffer);
    return [all[0], all[2 ** 21], last];
  },
  list: async () => (await storedFiles()).map(({ bytes, complete, validator }) => ({ bytes, complete, validator })),
  async clear() {
    for (const file of await storedFiles()) await file.delete();
  },
};
async function part(file, start) {
  const bytes = new Uint8Array(4);
  await file.stream('weights', (piece, at) => bytes.set(piece, at), { start });
  return bytes;
}
async function tell([name, ...args]) {
  try {
    return await actions[name](...args);
  } catch (error) {
    return { name: error?.name, message: error?.message ?? String(error), needed: error?.needed, available: error?.available };
  }
}
globalThis.tell = tell;
if (globalThis.document === undefined) onmessage = async ({ data }) => postMessage(await tell(data));
`;
const withoutFiles = 'delete FileSystemFileHandle.prototype.createWritable;\n';

const types = { '.js': 'text/javascript', '.html': 'text/html' };
const state = {}; // of the file: see fileAnswer
let asked = [];

// { bytes, headers, stop: bytes after which it waits, endless: whether it does not say its length, origin: header }
function fileAnswer(request, response) {
  asked.push(`${request.method} ${request.headers.range}`);
  for (const [name, value] of Object.entries(state.headers)) response.setHeader(name, value);
  if (state.endless) {
    response.writeHead(200);
    return response.end(state.bytes);
  }
  if (state.stop === undefined || request.method === 'HEAD') return sendRange(request, response, state.bytes);
  response.writeHead(206, {
    'Content-Range': `bytes 0-${state.bytes.length - 1}/${state.bytes.length}`,
    'Content-Length': state.bytes.length,
  });
  response.write(state.bytes.subarray(0, state.stop));
}

const { url } = await serve({ after }, async (request, response) => {
  const path = new URL(request.url, 'http://localhost').pathname;
  if (path === '/file') return fileAnswer(request, response);
  const [, kind, name] = path.split('/');
  const body =
    kind === 'dist'
      ? await readFile(new URL(`../../../dist/${name}`, import.meta.url)).catch(() => undefined)
      : {
          '/': '<!doctype html><title>t</title>',
          '/actions.js': code,
          '/files/worker.js': "import '/actions.js';",
          '/cache/worker.js': "import '/without.js';\nimport '/actions.js';",
          '/without.js': withoutFiles,
        }[path];
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': types[extname(path)] ?? 'text/html' }).end(body);
});

let both;
before(async () => {
  both = await launchBoth({ inWhole: true });
});
after(() => both?.close());

/** A page that does actions, in itself or in a worker, with storage of this kind. */
async function actor(page, place, kind) {
  await page.goto(url);
  await page.evaluate(
    async ([place, kind, withoutFiles]) => {
      if (place === 'worker') {
        const worker = new Worker(`/${kind}/worker.js`, { type: 'module' });
        globalThis.act = (args) =>
          new Promise((resolve) => {
            worker.addEventListener('message', ({ data }) => resolve(data), { once: true });
            worker.addEventListener('error', ({ message }) => resolve({ name: 'Worker', message }), { once: true });
            worker.postMessage(args);
          });
        return;
      }
      if (kind === 'cache') new Function(withoutFiles)();
      await import('/actions.js');
      globalThis.act = globalThis.tell;
    },
    [place, kind, withoutFiles],
  );
  return {
    page,
    do: (...args) => page.evaluate((args) => globalThis.act(args), args),
    list: () => page.evaluate(() => globalThis.act(['list'])),
  };
}

// Another page of the same browser context, which has the same storage.
const pageBeside = (page) => (page.browserContext?.() ?? page.context()).newPage();

function begin(given = {}) {
  for (const name of Object.keys(state)) delete state[name];
  Object.assign(state, { bytes: one.bytes, headers: { ETag: '"a"' }, ...given });
  asked = [];
}

const file = `${url}/file`;
for (const name of browsers) {
  for (const [place, kind] of [
    ['page', 'files'],
    ['worker', 'files'],
    ['page', 'cache'],
    ['worker', 'cache'],
  ]) {
    const where = `${place} with ${kind === 'files' ? 'files' : 'the Cache API'} (${name})`;

    test(`a file is downloaded once, read from storage, replaced and deleted: ${where}`, async () => {
      begin();
      const { page, do: act, list } = await actor(await both.newPage(name), place, kind);
      assert.deepEqual(await act('open', file), one.ends);
      assert.deepEqual(await act('open', file), one.ends);
      assert.deepEqual(asked, ['GET bytes=0-', 'HEAD bytes=0-']);
      assert.deepEqual(await list(), [{ bytes: one.bytes.length, complete: true, validator: '"a"' }]);
      begin({ bytes: two.bytes, headers: { ETag: '"b"' } });
      assert.deepEqual(await act('open', file), two.ends);
      assert.deepEqual(asked, ['HEAD bytes=0-', 'GET bytes=0-']);
      assert.deepEqual(await list(), [{ bytes: two.bytes.length, complete: true, validator: '"b"' }]);
      const used = () => page.evaluate(async () => (await navigator.storage.estimate()).usage);
      await act('clear');
      assert.deepEqual(await list(), []);
      // Chromium gives back the room of cached answers when it collects garbage.
      if (kind === 'files') assert.ok((await used()) < segment, `${await used()} bytes are left`);
      await page.close();
    });

    test(`a download is resumed where a page that was closed left it: ${where}`, async () => {
      begin({ stop: segment + 1_000_000 });
      const first = await actor(await both.newPage(name), place, kind);
      const page = await pageBeside(first.page);
      const second = await actor(page, 'page', kind);
      first.do('open', file).catch(() => {}); // ends with its page
      await until(async () => (await second.list())[0]?.bytes === segment, 'the first segment');
      await first.page.close();
      state.stop = undefined;
      assert.deepEqual(await second.do('open', file), one.ends);
      assert.deepEqual(asked, ['GET bytes=0-', `GET bytes=${segment}-`]);
      await page.close();
    });

    test(`a download that is aborted is resumed at its byte: ${where}`, async () => {
      begin({ stop: 12_000_000 }); // so that it cannot be over before
      const { page, do: act, list } = await actor(await both.newPage(name), place, kind);
      assert.equal((await act('open', file, 9_000_000)).message, 'enough');
      state.stop = undefined;
      const [{ bytes, complete }] = await list();
      assert.ok(!complete && bytes >= 9_000_000 && bytes < one.bytes.length, bytes);
      assert.deepEqual(await act('open', file), one.ends);
      assert.deepEqual(asked, ['GET bytes=0-', `GET bytes=${bytes}-`]);
      await page.close();
    });

    test(`two pages at once download a file once: ${where}`, async () => {
      begin();
      const first = await actor(await both.newPage(name), place, kind);
      const second = await actor(await pageBeside(first.page), place, kind);
      const found = await Promise.all([first, second].map((each) => each.do('open', file)));
      assert.deepEqual(found, [one.ends, one.ends]);
      assert.deepEqual(asked, ['GET bytes=0-', 'HEAD bytes=0-']);
      await first.page.close();
      await second.page.close();
    });
  }

  test(`a server of another origin that shows only Last-Modified and length is enough (${name})`, async () => {
    const headers = { 'Access-Control-Allow-Origin': '*', 'Last-Modified': 'Mon, 02 Mar 2026 10:00:00 GMT' };
    begin({ headers: { ...headers, ETag: '"a"' }, stop: 12_000_000 });
    const { page, do: act, list } = await actor(await both.newPage(name), 'page', 'files');
    const elsewhere = file.replace('127.0.0.1', 'localhost');
    assert.equal((await act('open', elsewhere, 9_000_000)).message, 'enough');
    state.stop = undefined;
    const [{ bytes, validator }] = await list();
    assert.equal(validator, `${headers['Last-Modified']}, ${one.bytes.length} bytes`);
    assert.deepEqual(await act('open', elsewhere), one.ends);
    assert.deepEqual(await act('open', elsewhere), one.ends);
    assert.deepEqual(asked, ['GET bytes=0-', `GET bytes=${bytes}-`, 'HEAD bytes=0-']);
    await page.close();
  });

  test(`a file for which storage has no room is refused before it is downloaded (${name})`, async () => {
    begin();
    const { page, do: act, list } = await actor(await both.newPage(name), 'page', 'files');
    await page.evaluate(() => {
      navigator.storage.estimate = async () => ({ quota: 11_000_000, usage: 1_000_000 });
    });
    const { message, ...error } = await act('open', file);
    assert.deepEqual(error, { name: 'StorageError', needed: one.bytes.length, available: 10_000_000 });
    const needs = `needs ${one.bytes.length} bytes more; storage has 10000000 left`;
    assert.equal(message, `${file}: cannot be kept (${needs})`);
    assert.deepEqual(await list(), []);
    await page.close();
  });

  test(`a folder is refused, and so is an address that is relative to nothing (${name})`, async () => {
    const { page } = await actor(await both.newPage(name), 'page', 'files');
    const [folder, address] = await page.evaluate(async () => {
      const { cached } = await import('/dist/models.js');
      let message;
      try {
        cached('/file', { folder: 'x' });
      } catch (error) {
        message = error.message;
      }
      return [message, cached('file?a=1#b').address];
    });
    assert.equal(folder, 'cached: folder is "x"; expected none, since a browser has storage of its own');
    assert.equal(address, `${file}?a=1`);
    await page.close();
  });
}

for (const kind of ['files', 'cache']) {
  test(`where storage runs full, a file of unknown length is refused, and what came is resumed (${kind})`, async () => {
    begin({ endless: true });
    const { page, do: act, list } = await actor(await both.newPage('Chromium'), 'page', kind);
    const session = await page.context().newCDPSession(page);
    const limit = (quotaSize) => session.send('Storage.overrideQuotaForOrigin', { origin: url, quotaSize });
    await limit(12_000_000);
    const { message, name, available, needed } = await act('open', file);
    assert.deepEqual([name, needed], ['StorageError', undefined]);
    assert.match(message, /cannot be kept: .*(quota|data pipe).*; storage has \d+ left$/i); // Chromium says the one or the other
    assert.equal(message.includes(` ${available} `), true);
    assert.deepEqual(await list(), [{ bytes: segment, complete: false, validator: '"a"' }]);
    begin();
    await limit(100_000_000);
    assert.deepEqual(await act('open', file), one.ends);
    assert.deepEqual(asked, [`GET bytes=${segment}-`]);
    await page.close();
  });
}

test('a page without storage is told so', async () => {
  begin({ bytes: small });
  const { page, do: act } = await actor(await both.newPage('Chromium'), 'page', 'cache');
  await page.evaluate(() => {
    delete globalThis.caches;
    delete Window.prototype.caches;
  });
  const { name, message } = await act('open', file);
  assert.equal(
    `${name}: ${message}`,
    'UnsupportedError: cached: this page has no storage; it needs https, or localhost',
  );
  await page.close();
});
