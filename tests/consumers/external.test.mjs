// docs/external.md: every command and configuration of it but those of large tools (all/), run in a project with the
// package. And what the page says where a bundler left the files out.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { run } from '../ts/support/node.mjs';
import { commands, large, named, programs, project, runs, serve, titleAfter, titleOf, toolOf } from './project.mjs';

test('the page has a command for each bundler', () => {
  const tools = commands.map(toolOf);
  const expected = ['webpack', 'esbuild', 'rollup', 'rolldown', ...large, 'rollup', 'esbuild', 'esbuild'];
  assert.deepEqual(tools, expected);
});

for (const command of commands.filter((each) => !large.includes(toolOf(each)))) {
  test(`a page built by: ${command.split('\n')[0]}`, async (t) => {
    assert.match(await titleAfter(t, project(t), command), runs);
  });
}

for (const command of commands.filter((each) =>
  /^npx (esbuild|rollup|rolldown) main\.js(?!.*meta-assets)/.test(each),
)) {
  const [first] = command.split('\n');
  test(`without the copy the page names the address and the fix: ${first}`, async (t) => {
    const message = /^UnsupportedError load: http:\S+\/core(-relaxed)?\.wasm answered 404; copy it from ropewalk\/dist/;
    assert.match(await titleAfter(t, project(t), first), message);
  });
}

test('the first program runs in Node', async (t) => {
  const folder = project(t, { 'first.js': programs[0] });
  const { stdout } = await run(['first.js'], { cwd: folder });
  assert.match(stdout, /^(simd128|relaxed)\n$/);
});

const versions = { 5: 'vite5', 7: 'vite7', 8: 'vite' };
const requireHere = createRequire(import.meta.url);
const importVite = (name) => import(join(dirname(requireHere.resolve(`${name}/package.json`)), 'dist/node/index.js'));
const config = { 'vite.config.js': named('vite.config.js') };

async function titleOfServer(t, name, folder) {
  const { createServer: start } = await importVite(name);
  const server = await start({ root: folder, logLevel: 'silent', server: { port: 0 } });
  t.after(() => server.close());
  await server.listen();
  return titleOf(`http://localhost:${server.httpServer.address().port}/`);
}

for (const [version, name] of Object.entries(versions)) {
  const files = version === '8' ? {} : config;
  test(`the development server of Vite ${version}`, async (t) => {
    assert.match(await titleOfServer(t, name, project(t, files)), runs);
  });
  test(`the build of Vite ${version}`, async (t) => {
    const folder = project(t);
    const vite = await importVite(name);
    await vite.build({ root: folder, logLevel: 'silent' });
    assert.match(await titleOf(`${await serve(t, join(folder, 'dist'))}index.html`), runs);
  });
  if (version === '8') continue;
  test(`the development server of Vite ${version} without the setting: the page names it`, async (t) => {
    const message =
      /^UnsupportedError load: .*\/core\S*\.wasm\S* answered .*optimizeDeps: \{ exclude: \['ropewalk'\] \}/;
    assert.match(await titleOfServer(t, name, project(t)), message);
  });
}
