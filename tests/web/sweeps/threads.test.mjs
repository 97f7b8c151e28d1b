// ropewalk/threads in pages that are cross-origin isolated and have a strict CSP: on the page's own thread, which may not
// wait, and in a worker. And in a page that is not isolated.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { writeGguf } from '../../ts/support/gguf.mjs';
import { longCalls } from '../../ts/support/long-calls.mjs';
import { writeSafetensors } from '../../ts/support/safetensors.mjs';
import { serveFolder } from '../../ts/support/server.mjs';
import { launch } from '../site.mjs';

// The package, and a worker that uses it.
const folder = mkdtempSync(join(tmpdir(), 'ropewalk-'));
cpSync(fileURLToPath(new URL('../../../dist', import.meta.url)), folder, { recursive: true });
const isolated = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
const strict = {
  'content-security-policy': "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'",
};
const loose = {
  'content-security-policy': "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src blob:",
};
const noWorkers = {
  'content-security-policy': "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'",
};

const sites = {
  isolated: await serveFolder(folder, { ...isolated, ...strict }),
  plain: await serveFolder(folder, strict),
  blobs: await serveFolder(folder, { ...isolated, ...loose }),
  workerless: await serveFolder(folder, { ...isolated, ...noWorkers }),
};
const browser = await launch();
after(async () => {
  await browser.close();
  for (const site of Object.values(sites)) site.close();
  rmSync(folder, { recursive: true });
});

// A page of a site: any file, since the page is where the code comes from.
async function pageOf(site) {
  const page = await browser.newPage();
  await page.goto(`${site.address}thread.js`);
  return page;
}

// In a page.
async function tried(threads, calls) {
  const { load } = await import('/threads.js');
  const rw = await load({ threads });
  const hashes = calls(rw);
  const info = rw.info();
  rw.dispose();
  return { info: { ...info, why: info.why ?? null }, hashes };
}
const runIn = (page, threads) => page.evaluate(`(${tried})(${threads}, ${longCalls})`);
writeFileSync(join(folder, 'in-a-worker.js'), `${tried}; ${longCalls}; tried(3, longCalls).then(postMessage);`);

test("the page's own thread has threads, and the bits of one", async () => {
  const page = await pageOf(sites.isolated);
  // Atomics.wait throws on this thread; nothing may try it.
  assert.equal(await page.evaluate(() => crossOriginIsolated), true);
  const alone = await runIn(page, 1);
  assert.equal(alone.info.simd, 'relaxed');
  for (const threads of [2, 3, 4, 8]) {
    const { info, hashes } = await runIn(page, threads);
    assert.deepEqual(info, { ...alone.info, threads, why: null });
    assert.deepEqual(hashes, alone.hashes);
  }
});

test('a worker of a page has threads of its own, and the same bits', async () => {
  const page = await pageOf(sites.isolated);
  const { info, hashes } = await page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const worker = new Worker('/in-a-worker.js', { type: 'module' });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message));
      }),
  );
  assert.deepEqual([info.threads, info.why], [3, null]);
  assert.deepEqual(hashes, (await runIn(page, 1)).hashes);
});

test('files of weights are opened, their texts in shared memory', async () => {
  const w = { dtype: 'F32', shape: [2], data: Float32Array.of(1, 2) };
  const files = [writeSafetensors({ w }), writeGguf({ name: ['str', 'tiny'] }, { w })].map((bytes) => [...bytes]);
  const page = await pageOf(sites.isolated);
  const names = await page.evaluate(async ([safetensors, gguf]) => {
    const { load } = await import('/threads.js');
    const { openSafetensors, openGguf } = await import('/models.js');
    const rw = await load({ threads: 2 });
    const [first, second] = [
      await openSafetensors(rw, Uint8Array.from(safetensors)),
      await openGguf(rw, Uint8Array.from(gguf)),
    ];
    rw.dispose();
    return [rw.info().threads, first.names, second.names, second.metadata.get('name')];
  }, files);
  assert.deepEqual(names, [2, ['w'], ['w'], 'tiny']);
});

// Trains a model, and gives what info() tells and the state. In a page or in Node.
async function trained(entry, threads) {
  const { load } = await import(entry);
  const rw = await load({ threads });
  const position = { encoding: 'rope' };
  const trainer = rw.trainer({ layers: 2, modelDim: 64, heads: 4, hiddenDim: 128, vocab: 50, context: 64, position });
  const data = Int32Array.from({ length: 512 }, (_, i) => (i * i + (i >> 3)) % 50);
  for (let s = 0; s < 5; ++s) trainer.step({ ids: { data, shape: [8, 64] } });
  const state = [...trainer.save()];
  const { why, ...info } = rw.info();
  rw.dispose();
  return { info, why: why ?? null, state };
}
const trainedIn = async (site, threads) => (await pageOf(site)).evaluate(`(${trained})('/training.js', ${threads})`);

test('models are trained by threads of a page, to the bits of one thread in Node', async () => {
  const expected = await trained('ropewalk/training', 1);
  const several = await trainedIn(sites.isolated, 3);
  assert.deepEqual([several.info.threads, several.why], [3, null]);
  assert.deepEqual(several.state, expected.state);
  const alone = await trainedIn(sites.plain, 3);
  assert.equal(alone.info.threads, 1);
  assert.match(alone.why, /not cross-origin isolated/);
  assert.deepEqual(alone.state, expected.state);
});

test('where the server sends no headers there is one thread, and info() names them', async () => {
  const { info } = await runIn(await pageOf(sites.plain), 2);
  assert.equal(info.threads, 1);
  assert.match(
    info.why,
    /not cross-origin isolated; .* Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder/,
  );
});

test("where the worker's file cannot be used, its code is", async () => {
  const { info } = await runIn(await pageOf(sites.blobs), 2);
  assert.deepEqual([info.threads, info.why], [2, null]);
});

test('where a policy forbids workers there is one thread, and info() says so', async () => {
  const { info } = await runIn(await pageOf(sites.workerless), 2);
  assert.equal(info.threads, 1);
  assert.match(info.why, /a worker does not start/);
});

test('a worker that is ended makes the instance lost', async () => {
  const page = await pageOf(sites.isolated);
  const name = await page.evaluate(async () => {
    const { load } = await import('/threads.js');
    let made;
    const worker = () => {
      made = new Worker('/thread.js', { type: 'module' });
      return made;
    };
    const rw = await load({ threads: 2, worker });
    const x = { data: new Float32Array(2 ** 18).fill(1), shape: [256, 1024] };
    const [expected] = rw.softmax(x).data;
    made.terminate();
    try {
      for (let i = 0; i < 100; ++i) if (rw.softmax(x).data[0] !== expected) return 'another result';
      return 'none';
    } catch (error) {
      return error.name;
    }
  });
  // It may have had no share when it ended.
  assert.ok(['none', 'InstanceLostError'].includes(name), name);
});
