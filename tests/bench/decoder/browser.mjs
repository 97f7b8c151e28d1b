// Runs the rounds in headless Chromium: a local server sends ranges of the weights, which go directly to wasm memory.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { launch } from '../../web/site.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const built = join(root, 'build/bench-decoder');
const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
};

const buildPage = () =>
  build({
    root: fileURLToPath(new URL('.', import.meta.url)),
    configFile: false,
    logLevel: 'error',
    resolve: {
      alias: [
        { find: /^ropewalk$/, replacement: join(root, 'dist/index.js') },
        { find: /^ropewalk\/(.*)$/, replacement: join(root, 'dist/$1.js') },
      ],
    },
    build: {
      outDir: built,
      emptyOutDir: true,
      target: 'esnext',
      modulePreload: false,
      rolldownOptions: { input: fileURLToPath(new URL('page.html', import.meta.url)), external: [/^node:/] },
    },
  });

function fileOf(path, folder) {
  if (path.startsWith('/model/')) return join(folder, path.slice('/model/'.length));
  if (path.startsWith('/peers/')) return join(root, 'tests/peers/node_modules', path.slice('/peers/'.length));
  return join(built, path);
}

async function serve(folder, kernels) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    const kernel = kernels[/^\/(wasm-\w+)\.wasm$/.exec(path)?.[1]];
    if (kernel !== undefined) return response.end(kernel);
    const file = fileOf(path, folder);
    if (!existsSync(file)) return response.writeHead(404).end();
    const { size } = statSync(file);
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(from ?? 0);
    const end = to ? Math.min(Number(to), size - 1) : size - 1;
    response.writeHead(from === undefined ? 200 : 206, {
      'content-type': types[extname(file)] ?? 'application/octet-stream',
      'content-length': end - start + 1,
      ...(from !== undefined && { 'content-range': `bytes ${start}-${end}/${size}` }),
    });
    createReadStream(file, { start, end }).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${server.address().port}/`, close };
}

/** Gives { runtime, results }. */
export async function runInBrowser({ folder, kernels, rounds, peer }) {
  await buildPage();
  const site = await serve(folder, kernels);
  const browser = await launch();
  try {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(0);
    page.on('pageerror', (error) => console.log(`  ${error}`));
    await page.goto(`${site.address}page.html`);
    await page.waitForFunction(() => globalThis.runDecoder !== undefined);
    const results = await page.evaluate((given) => globalThis.runDecoder(given), { rounds, peer });
    return { runtime: `Chromium ${browser.version()}`, results };
  } finally {
    await browser.close();
    site.close();
  }
}
