// npm run check:consumers [-- --filter REGEX] [--write]
// Installs the packed package in a small project for each consumer (list.mjs), builds or runs it, opens pages in Chromium
// and Firefox, and compares the bits of one result. Prints one table, which --write puts into docs/compatibility.md.
// Exits with 1 where a consumer fails. Projects lie in build/ beside this file.
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';
import { root } from '../../ts/support/node.mjs';
import { installPacked } from '../../ts/support/packed.mjs';
import { serveFolder } from '../../ts/support/server.mjs';
import { launch, program, until } from '../../web/site.mjs';
import { consumers, expected } from './list.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const base = join(here, 'build');
const option = (name) => process.argv[process.argv.indexOf(name) + 1];
const filter = process.argv.includes('--filter') ? new RegExp(option('--filter')) : /./;

// A project with the package among its own modules; those of this folder are found above it.
function write(folder, files) {
  cpSync(target, join(folder, 'node_modules', 'ropewalk'), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

// What a page shows when it is ready, or what it complained about.
async function shown(page, address, { isReady = () => document.title === 'ready', mayComplain = false }) {
  const complaints = [];
  page.on('console', (message) => {
    const isIcon = /favicon\.ico$/.test(message.location()?.url ?? '');
    if (message.type() === 'error' && !isIcon) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  // Servers that follow each other at one address are not one for the browser's cache.
  await page.goto(`${address}?${randomUUID()}`);
  await until(() => (!mayComplain && complaints.length > 0) || page.evaluate(isReady), 'the page').catch((error) =>
    complaints.push(error.message),
  );
  const text = await page.evaluate(() => document.body.textContent);
  return complaints.length > 0 && !text ? complaints.join(' ') : text;
}

// The lines of an output that tell of an error, or else its first ones.
function briefly(text) {
  const lines = text.trim().split('\n').filter(Boolean);
  const errors = lines.slice(1).filter((line) => /error/i.test(line));
  return (errors.length > 0 ? errors : lines).slice(0, 3).join(' ').slice(0, 300);
}
const isRight = (text, line) => text.includes(line);

/** What came of a consumer: a word for each column, and what went wrong. */
async function tried(consumer, browsers, line) {
  const folder = join(
    base,
    consumer.name.replace(/\W+/g, '-').toLowerCase() + consumer.entry.slice(8).replace('/', '-'),
  );
  write(folder, consumer.files);
  const results = {};
  const faults = [];
  const judge = (column, text, wanted = consumer.gives ?? line) => {
    results[column] = isRight(text, wanted) ? 'yes' : 'no';
    if (results[column] === 'no') faults.push(`${column}: ${briefly(text)}`);
  };
  try {
    if (consumer.kind === 'types') judge('types', await consumer.run(folder), 'no error');
    else if (consumer.kind === 'program') judge('runs', await consumer.run(folder));
    else {
      const site = consumer.serve
        ? await consumer.serve(folder)
        : await serveFolder(await consumer.build(folder), consumer.headers);
      try {
        for (const [name, browser] of Object.entries(browsers)) {
          const page = await browser.newPage();
          judge(name, await shown(page, site.address, consumer));
          await page.close();
        }
      } finally {
        site.close();
      }
    }
  } catch (error) {
    faults.push(briefly(error.message));
  }
  return { consumer, results, faults };
}

function table(rows) {
  const cell = ({ results }, column) => results[column] ?? '';
  const lines = rows.map((row) => {
    const { consumer } = row;
    const columns = ['runs', 'types', 'Chromium', 'Firefox'].map((column) => cell(row, column));
    return `| ${[consumer.name, `\`${consumer.entry}\``, ...columns].join(' | ')} |`;
  });
  return [
    '| consumer | entry | runs | types | Chromium | Firefox |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

const chosen = consumers.filter(({ name, entry }) => filter.test(`${name}, ${entry}`));
if (chosen.length === 0) throw new Error(`no consumer is named ${filter}`);
rmSync(base, { recursive: true, force: true });
mkdirSync(base, { recursive: true });
const { target } = installPacked(base);
const { load } = await import(pathToFileURL(join(target, 'dist', 'index.js')).href);
const line = await expected(load);
const browsers = {};
if (chosen.some(({ kind }) => kind === 'page')) {
  browsers.Chromium = await launch();
  browsers.Firefox = await puppeteer.launch({
    browser: 'firefox',
    executablePath: program('firefox-esr'),
    protocolTimeout: 600_000,
  });
}
const rows = [];
for (const consumer of chosen) {
  const row = await tried(consumer, browsers, line);
  rows.push(row);
  const what = row.faults.length === 0 ? Object.keys(row.results).join(', ') : `FAILED ${row.faults.join('; ')}`;
  console.log(`${consumer.name}, ${consumer.entry}: ${what}`);
}
for (const browser of Object.values(browsers)) await browser.close();
console.log(`\n${table(rows)}`);
if (process.argv.includes('--write')) {
  const head = `# Compatibility

What builds or runs the package, each tried with the packed tarball in a project of its own, without a setting unless one is
named in tests/consumers/matrix/list.mjs. A page gives the same bits in Chromium and Firefox as Node does. Written by
\`npm run check:consumers -- --write\`.

`;
  writeFileSync(join(root, 'docs', 'compatibility.md'), `${head}${table(rows)}\n`);
}
process.exitCode = rows.some(({ faults }) => faults.length > 0) ? 1 : 0;
