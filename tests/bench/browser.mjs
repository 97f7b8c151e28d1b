// Runs the bench in headless Chromium: builds a page that contains it, serves the page and collects its results. Fresh
// pages measure the time from import to a first result, and the bytes downloaded for it.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';
import { launch } from '../web/site.mjs';
import { wasmBytes } from './contenders/kernels.mjs';
import { titles } from './firsts.mjs';
import { summary } from './measure.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = join(root, 'tests/bench/page');
const built = join(root, 'build/bench');
const peers = join(root, 'tests/peers/node_modules');

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
};

async function buildPage() {
  await build({
    root: page,
    configFile: false,
    logLevel: 'error',
    resolve: {
      alias: [
        { find: /^ropewalk$/, replacement: join(root, 'dist/index.js') },
        { find: /^ropewalk\/(\w+)$/, replacement: join(root, 'dist/$1.js') },
      ],
    },
    worker: { format: 'es' },
    build: {
      outDir: built,
      emptyOutDir: true,
      target: 'esnext',
      modulePreload: false,
      rolldownOptions: {
        input: [join(page, 'index.html'), join(page, 'first.html')],
        external: ['onnxruntime-node', 'rolldown', /^node:/],
      },
    },
  });
}

// build/bench, the peers' files under /peers/, the kernels under /kernels/; to a page that has threads.
async function serve() {
  const kernels = { 'wasm-simd': await wasmBytes('wasm-simd'), 'wasm-relaxed': await wasmBytes('wasm-relaxed') };
  const bodyOf = (path) => {
    const kernel = /^\/kernels\/(.*)\.wasm$/.exec(path)?.[1];
    if (kernel) return kernels[kernel];
    const file = path.startsWith('/peers/') ? join(peers, path.slice('/peers/'.length)) : join(built, path);
    return existsSync(file) ? readFile(file) : undefined;
  };
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    const body = await bodyOf(path);
    response.writeHead(body ? 200 : 404, {
      'content-type': types[extname(path)] ?? 'application/octet-stream',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

// What one page downloaded for its first result, in bytes. Brotli at 9: 11 takes half a minute for onnxruntime's wasm.
async function sizesOf(responses) {
  const bodies = await Promise.all(responses.map((response) => response.body()));
  const total = (f) => bodies.reduce((sum, body) => sum + f(body).length, 0);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  return {
    raw: total((body) => body),
    gzip: total((body) => gzipSync(body, { level: 9 })),
    brotli: total((body) => brotliCompressSync(body, quality)),
  };
}

async function first(browser, address, name, wantsBytes) {
  const context = await browser.newContext();
  const opened = await context.newPage();
  await opened.goto(`${address}first.html`);
  await opened.waitForFunction(() => globalThis.runFirst !== undefined);
  const responses = [];
  opened.on('response', (response) => responses.push(response));
  const taken = await opened.evaluate((wanted) => globalThis.runFirst(wanted), name);
  const bytes = wantsBytes ? await sizesOf(responses) : undefined;
  await context.close();
  return { taken, bytes };
}

async function startup(browser, address, rounds) {
  const names = Object.keys(titles);
  const tries = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; ++round) {
    for (const name of names) tries[name].push(await first(browser, address, name, round === 0));
  }
  const entries = names.map((name) => {
    const times = summary(tries[name].map(({ taken }) => taken));
    return [name, { title: titles[name], ...times, bytes: tries[name][0].bytes }];
  });
  return Object.fromEntries(entries);
}

// What `work(page, browser, address)` gives in the page of the bench.
async function inPage(work) {
  await buildPage();
  const site = await serve();
  const browser = await launch();
  try {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(0);
    page.on('console', (message) => console.log(`  ${message.text()}`));
    page.on('pageerror', (error) => console.log(`  ${error}`));
    await page.goto(`${site.address}index.html`);
    await page.waitForFunction(() => globalThis.runBench !== undefined);
    return { runtime: `Chromium ${browser.version()}`, ...(await work(page, browser, site.address)) };
  } finally {
    await browser.close();
    site.close();
  }
}

/** Gives { runtime, contenders, results, startup }; startup only if `starts` (a number of tries) is above 0. */
export const runInBrowser = ({ starts, ...options }) =>
  inPage(async (page, browser, address) => {
    const run = await page.evaluate((given) => globalThis.runBench(given), options);
    await page.close();
    return { ...run, startup: starts > 0 ? await startup(browser, address, starts) : undefined };
  });

/** Gives { runtime, results } of measureThreads(). */
export const runThreadsInBrowser = (asked) =>
  inPage(async (page) => ({ results: await page.evaluate((given) => globalThis.runThreads(given), asked) }));
