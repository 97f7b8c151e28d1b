// ropewalk/threads in pages that bundlers make, without configuration. The servers send the headers that docs/threads.md
// asks for and a strict policy, under which those bundlers that do not know the files of workers need `worker`.
import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { root } from '../ts/support/node.mjs';
import { serveFolder } from '../ts/support/server.mjs';
import { build, project, titleOf } from './project.mjs';

const headers = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";

const main = (options) => `import { load } from 'ropewalk/threads';
load(${options}).then((rw) => {
  const { threads, why } = rw.info();
  const { data } = rw.softmax({ data: new Float32Array(2 ** 18), shape: [256, 1024] });
  document.title = \`\${threads} threads, \${data[0] * 1024}, \${why}\`;
});`;
const files = { 'main.js': main('{ threads: 2 }') };
const byHand = {
  'main.js': main(`{ threads: 2, worker: () => new Worker('./thread.js', { type: 'module' }) }`),
};
const runs = '2 threads, 1, undefined';

async function titleOfBuilt(t, folder, script, csp = policy) {
  if (script !== undefined) {
    writeFileSync(join(folder, 'index.html'), `<!doctype html><script type="module" src="${script}"></script>`);
  }
  const { address, close } = await serveFolder(folder, { ...headers, 'content-security-policy': csp });
  t.after(close);
  return titleOf(`${address}index.html`);
}

const requireHere = createRequire(import.meta.url);
const importVite = (name) => import(join(dirname(requireHere.resolve(`${name}/package.json`)), 'dist/node/index.js'));

for (const [version, name] of Object.entries({ 5: 'vite5', 7: 'vite7', 8: 'vite' })) {
  test(`the build of Vite ${version}`, async (t) => {
    const folder = project(t, files);
    const vite = await importVite(name);
    await vite.build({ root: folder, logLevel: 'silent' });
    assert.equal(await titleOfBuilt(t, join(folder, 'dist')), runs);
  });
  test(`the development server of Vite ${version}`, async (t) => {
    const { createServer } = await importVite(name);
    const server = await createServer({ root: project(t, files), logLevel: 'silent', server: { port: 0, headers } });
    t.after(() => server.close());
    await server.listen();
    assert.equal(await titleOf(`http://localhost:${server.httpServer.address().port}/`), runs);
  });
}

test('a page built by webpack', async (t) => {
  const folder = project(t, files);
  await build(folder, 'npx webpack --mode production --entry ./main.js --output-path dist');
  assert.equal(await titleOfBuilt(t, join(folder, 'dist'), 'main.js'), runs);
});

const commands = {
  esbuild: 'npx esbuild main.js --bundle --splitting --format=esm --outdir=dist',
  Rollup: 'npx rollup main.js --dir dist --plugin node-resolve',
  Rolldown: 'npx rolldown main.js --dir dist',
};
for (const [name, command] of Object.entries(commands)) {
  test(`a page built by ${name} without the file of the worker`, async (t) => {
    const folder = project(t, files);
    await build(folder, command);
    assert.equal(await titleOfBuilt(t, join(folder, 'dist'), 'main.js', `${policy} blob:`), runs);
  });
  test(`a page built by ${name}, with the file of the worker beside it`, async (t) => {
    const folder = project(t, byHand);
    await build(folder, command);
    cpSync(join(root, 'dist', 'thread.js'), join(folder, 'dist', 'thread.js'));
    assert.equal(await titleOfBuilt(t, join(folder, 'dist'), 'main.js'), runs);
  });
}
