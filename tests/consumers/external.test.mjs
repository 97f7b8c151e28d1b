// docs/external.md: every command and configuration of it, run in a project with the package, and the page that it makes
// opened in Chromium under a strict policy. And what the page says where a bundler left the files out.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { delimiter, dirname, extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { folderWith } from '../ts/support/folder.mjs';
import { root, run } from '../ts/support/node.mjs';
import { launch, until } from '../web/site.mjs';

const page = readFileSync(join(root, 'docs', 'external.md'), 'utf8');
const blocksOf = (language) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((match) => match[1]);
const programs = blocksOf('js');
const commands = blocksOf('sh');
const named = (name) => programs.find((code) => code.startsWith(`// ${name}\n`));

const here = dirname(fileURLToPath(import.meta.url));
const show = `
globalThis.show = (rw) => {
  const plan = rw.rope({ headDim: 2 });
  document.title = 'runs ' + rw.info().simd + ' ' + plan.rotate(Float32Array.of(1, 0), { offset: 0 })[0];
};`;
const main = `import { load } from 'ropewalk/external';
load().then(show, ({ name, message }) => { document.title = name + ' ' + message; });`;
const runs = /^runs (simd128|relaxed) 1$/;

// A project with the package installed and the bundlers of both folders.
function project(t, files = {}) {
  const html = (script) =>
    `<!doctype html><script src="/show.js"></script><script type="module" src="/${script}"></script>`;
  const folder = folderWith(t, {
    'package.json': '{"type":"module"}',
    'index.html': html('main.js'),
    'public/show.js': show,
    'main.js': main,
    'elsewhere.js': named('elsewhere.js'),
    'fetched.js': named('fetched.js'),
    'node_modules/ropewalk/README.md': '',
    ...files,
  });
  const installed = join(folder, 'node_modules', 'ropewalk');
  cpSync(join(root, 'dist'), join(installed, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(installed, 'package.json'));
  for (const name of ['@rollup', '@web', 'rollup']) {
    symlinkSync(join(here, 'node_modules', name), join(folder, 'node_modules', name), 'dir');
  }
  return folder;
}

async function build(folder, command) {
  const bins = [join(here, 'node_modules', '.bin'), join(root, 'node_modules', '.bin'), process.env.PATH];
  const env = { PATH: bins.join(delimiter) };
  await run(['-euc', command.replaceAll(/^npx /gm, '')], { command: 'bash', cwd: folder, env });
}

const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
const types = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
async function serve(t, folder) {
  const server = createServer((request, response) => {
    const path = join(folder, request.url);
    if (!existsSync(path) || !(extname(path) in types)) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': types[extname(path)], 'content-security-policy': policy });
    response.end(readFileSync(path));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}/`;
}

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

async function titleOf(address) {
  const opened = await browser.newPage();
  await opened.goto(address);
  const title = await until(() => opened.title(), `a title of ${address}`);
  await opened.close();
  return title;
}

// The title of the page with the scripts that a command left in dist/.
async function titleAfter(t, folder, command) {
  const entry = /\b(main|elsewhere|fetched)\.js/.exec(command)[0];
  await build(folder, command);
  const dist = join(folder, 'dist');
  writeFileSync(join(dist, 'show.js'), show);
  const names = { main: ['main.js', 'index.js'] }[entry.slice(0, -3)] ?? [entry];
  const script = names.find((name) => existsSync(join(dist, name)));
  const tags = `<script src="show.js"></script><script type="module" src="${script}"></script>`;
  writeFileSync(join(dist, 'index.html'), `<!doctype html>${tags}`);
  return titleOf(`${await serve(t, dist)}index.html`);
}

test('the page has a command for each bundler', () => {
  const tools = commands.map((command) => /^npx (\S+)/.exec(command)[1]);
  assert.deepEqual(tools, ['webpack', 'esbuild', 'rollup', 'rolldown', 'rollup', 'esbuild', 'esbuild']);
});

for (const command of commands) {
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
