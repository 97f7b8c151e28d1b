// Projects that use ropewalk/external as docs/external.md says, and the pages that their bundlers make, in Chromium under a
// strict policy.
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { folderWith } from '../ts/support/folder.mjs';
import { root, run } from '../ts/support/node.mjs';
import { serveFolder } from '../ts/support/server.mjs';
import { launch, until } from '../web/site.mjs';

const page = readFileSync(join(root, 'docs', 'external.md'), 'utf8');
const blocksOf = (language) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((match) => match[1]);
export const programs = blocksOf('js');
export const commands = blocksOf('sh');
/** Tools of more than 50 MB, which npm run check:consumers installs. */
export const large = ['bun', 'deno'];
export const toolOf = (command) => /^npx (\S+)/.exec(command)[1];
export const named = (name) => programs.find((code) => code.startsWith(`// ${name}\n`));

const here = dirname(fileURLToPath(import.meta.url));
const show = `
globalThis.show = (rw) => {
  const plan = rw.rope({ headDim: 2 });
  document.title = 'runs ' + rw.info().simd + ' ' + plan.rotate(Float32Array.of(1, 0), { offset: 0 })[0];
};`;
const main = `import { load } from 'ropewalk/external';
load().then(show, ({ name, message }) => { document.title = name + ' ' + message; });`;
export const runs = /^runs (simd128|relaxed) 1$/;

/** A project with the package installed and the bundlers of both folders. */
export function project(t, files = {}) {
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

/** Runs a command of the page in a project. */
export async function build(folder, command) {
  const bins = [join(here, 'node_modules', '.bin'), join(root, 'node_modules', '.bin'), process.env.PATH];
  const env = { PATH: bins.join(delimiter) };
  await run(['-euc', command.replaceAll(/^npx /gm, '')], { command: 'bash', cwd: folder, env });
}

const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
export async function serve(t, folder) {
  const { address, close } = await serveFolder(folder, { 'content-security-policy': policy });
  t.after(close);
  return address;
}

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

export async function titleOf(address) {
  const opened = await browser.newPage();
  await opened.goto(address);
  const title = await until(() => opened.title(), `a title of ${address}`);
  await opened.close();
  return title;
}

/** The title of the page with the scripts that a command left in dist/. */
export async function titleAfter(t, folder, command) {
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
