// npm run soak -- browsers [CALLS [NAME]]: soak-calls.mjs in a page of Chromium and one of Firefox.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { rolldown } from 'rolldown';
import { root } from '../ts/support/node.mjs';
import { serveFolder } from '../ts/support/server.mjs';
import { launch, program } from '../web/site.mjs';

const folder = join(root, 'build', 'soak');

// What the calls import of Node, and the families of tiny models, which a page cannot list.
const familyFolder = join(root, 'tests/models/families');
const files = readdirSync(familyFolder).map((name) => JSON.stringify(join(familyFolder, name)));
const virtual = {
  node: `const none = () => {};
export default Object.assign(() => {}, { equal: none, ok: none });
export { none as runInNewContext };`,
  families: `${files.map((file, i) => `import * as f${i} from ${file};`).join('\n')}
export const families = Object.fromEntries([${files.map((_, i) => `f${i}`)}].map((each) => [each.modelType, each]));`,
};
const forPages = {
  name: 'for-pages',
  resolveId(source) {
    if (source.startsWith('node:')) return '\0node';
    if (source.endsWith('/families.mjs')) return '\0families';
    const entry = /^ropewalk(\/\w+)?$/.exec(source);
    return entry && join(root, 'dist', `${entry[1] ?? 'index'}.js`);
  },
  load: (id) => (id.startsWith('\0') ? virtual[id.slice(1)] : null),
};

async function build() {
  mkdirSync(folder, { recursive: true });
  const input = join(folder, 'entry.js');
  writeFileSync(
    input,
    `import { soakCalls } from ${JSON.stringify(join(root, 'tests/campaigns/soak-calls.mjs'))};
globalThis.rows = [];
globalThis.soak = (calls, prefix) =>
  soakCalls(calls, prefix, (row) => rows.push(row)).then(
    (faults) => { globalThis.faults = faults; },
    (error) => { globalThis.faults = [String(error?.stack ?? error)]; },
  );
document.title = 'ready';`,
  );
  const built = await rolldown({ input, plugins: [forPages], platform: 'browser' });
  await built.write({ dir: join(folder, 'built'), entryFileNames: 'index.js' });
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><title></title><script type="module" src="built/index.js"></script>',
  );
}

const launchers = {
  Chromium: () => launch(),
  Firefox: () => puppeteer.launch({ browser: 'firefox', protocolTimeout: 0, executablePath: program('firefox-esr') }),
};

/** Runs them; gives what went wrong. */
export async function browsers(calls, prefix) {
  await build();
  const site = await serveFolder(folder);
  const all = [];
  for (const [name, start] of Object.entries(launchers)) {
    const browser = await start();
    const page = await browser.newPage();
    await page.goto(site.address);
    const faults = await rowsOf(page, calls, prefix);
    console.log(`${name}: ${faults.length === 0 ? 'nothing grew' : `${faults.length} faults`}`);
    all.push(...faults.map((fault) => `${name}: ${fault}`));
    await browser.close();
  }
  site.close();
  return all;
}

// Asks for rows until there are faults, of which there may be none.
async function rowsOf(page, calls, prefix) {
  while ((await page.evaluate('document.title')) !== 'ready') await new Promise((resolve) => setTimeout(resolve, 100));
  await page.evaluate(`void soak(${calls}, ${JSON.stringify(prefix)})`);
  for (;;) {
    const [rows, faults] = await page.evaluate('[rows.splice(0), globalThis.faults]');
    for (const row of rows) console.log(row);
    if (faults !== undefined && faults !== null) return faults;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
