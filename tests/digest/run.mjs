// npm run digest [-- --all] [VECTORS]: one SHA-256 over all outputs of vectors on the deterministic build, and over integer
// products with weights in blocks on each, in this Node, Chromium, Firefox and, where it is installed, WebKit; with --all
// also in Node 22, 24 and 26, Deno and Bun (Linux x64). Exits with 1 where two engines differ, or two builds' products, and
// says in which outputs.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { rolldown } from 'rolldown';
import { root, run } from '../ts/support/node.mjs';
import { serveFolder } from '../ts/support/server.mjs';
import { readVectors } from '../vectors/files.mjs';
import { launch, program, until } from '../web/site.mjs';
import { hasWebKit, launchWebKit } from '../web/webkit.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(root, 'build', 'digest');
const paths = process.argv.slice(2).filter((argument) => argument !== '--all');
const shared = ['public', 'onnx', 'training.json', 'gguf.json', 'safetensors.json'];
const groups = readVectors(
  paths.length > 0 ? paths : shared.map((name) => join(root, '..', 'shared', 'vectors', name)),
);

mkdirSync(folder, { recursive: true });
const data = {
  name: 'data',
  resolveId(source) {
    if (source === 'groups') return source;
    const entry = /^ropewalk(\/\w+)?$/.exec(source);
    return entry && join(root, 'dist', `${entry[1] ?? 'index'}.js`);
  },
  load: (id) => (id === 'groups' ? `export const groups = ${JSON.stringify(groups)};` : null),
};
const input = join(folder, 'entry.js');
writeFileSync(
  input,
  `import { groups } from 'groups';
import { digests } from '${join(here, 'digest.mjs')}';
const text = await digests(groups).then(JSON.stringify, String);
console.log(text);
if (globalThis.document) [document.body.textContent, document.title] = [text, 'done'];
`,
);
const built = await rolldown({ input, plugins: [data], platform: 'neutral' });
await built.write({ dir: join(folder, 'built'), entryFileNames: 'index.js' });
writeFileSync(
  join(folder, 'index.html'),
  '<!doctype html><body><script type="module" src="built/index.js"></script></body>',
);

const programs = { [`Node ${process.versions.node}`]: [process.execPath] };
if (process.argv.includes('--all')) {
  execFileSync(process.execPath, [join(root, 'scripts', 'install.mjs'), here, '--all'], { stdio: 'inherit' });
  const modules = join(here, 'node_modules');
  for (const version of ['22', '24', '26'])
    programs[`Node ${version}`] = [join(modules, `node${version}`, 'bin', 'node')];
  programs.Deno = [join(modules, '@deno', 'linux-x64-glibc', 'deno'), 'run', '--allow-all'];
  programs.Bun = [join(modules, '@oven', 'bun-linux-x64', 'bin', 'bun'), 'run'];
}

async function inPage(address, page, close) {
  await page.goto(address);
  await until(() => page.evaluate(`document.title === 'done'`), 'the digests');
  const text = await page.evaluate('document.body.textContent');
  await close();
  return text;
}
const inBrowser = async (address, browser) => inPage(address, await browser.newPage(), () => browser.close());
const firefox = () => puppeteer.launch({ browser: 'firefox', executablePath: program('firefox-esr') });
const pages = {
  Chromium: async (address) => inBrowser(address, await launch()),
  Firefox: async (address) => inBrowser(address, await firefox()),
};
if (hasWebKit) {
  pages.WebKit = async (address) => {
    const page = await launchWebKit();
    return inPage(address, page, page.close);
  };
}

const cases = groups.reduce((sum, group) => sum + group.cases.length, 0);
console.log(`${cases} cases`);
const seen = new Map(); // what was computed -> digest -> { engines, parts }
function note(engine, text) {
  if (!text.startsWith('[')) throw new Error(`${engine}: ${text}`);
  for (const { what, build, parts } of JSON.parse(text)) {
    const lines = parts.map(({ name, digest }) => `${name} ${digest}\n`);
    const digest = createHash('sha256').update(lines.join('')).digest('hex');
    const digests = seen.get(what) ?? new Map();
    const { engines } = digests.get(digest) ?? { engines: [] };
    seen.set(what, digests.set(digest, { engines: [...engines, engine + build], parts }));
  }
}
for (const [engine, [command, ...args]] of Object.entries(programs)) {
  if (!existsSync(command)) throw new Error(`${command} is not there; ${engine} comes with npm on Linux x64 alone`);
  note(engine, (await run([...args, join(folder, 'built', 'index.js')], { command })).stdout);
}
const site = await serveFolder(folder);
for (const [engine, digestsIn] of Object.entries(pages)) note(engine, await digestsIn(site.address));
site.close();

// Lines for the outputs in which a result differs from the first one.
function differences(first, other) {
  const wanted = new Map(first.map((part) => [part.name, part]));
  const told = ({ digest, message }) => (message === undefined ? digest : `${digest}: ${message}`);
  const lines = other.flatMap((part) => {
    const want = wanted.get(part.name);
    wanted.delete(part.name);
    if (want?.digest === part.digest) return [];
    return `    ${part.name}: ${told(part)}; ${want ? told(want) : 'not there'} before`;
  });
  return [...lines, ...[...wanted.values()].map((part) => `    ${part.name}: not there; ${told(part)} before`)];
}
for (const [what, digests] of seen) {
  const [[, first]] = digests;
  for (const [digest, { engines, parts }] of digests) {
    console.log(`${what}: ${digest}\n  ${engines.join('; ')}`);
    for (const line of differences(first.parts, parts)) console.log(line);
  }
  if (digests.size > 1) process.exitCode = 1;
}
if (!hasWebKit) console.log('WebKit: not run; webkit2gtk-driver and xvfb are not installed');
