// The built page on a server of our own, under the strict policy that it promises to live with, and a browser.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';

const folder = fileURLToPath(new URL('../../build/web/', import.meta.url));

const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
].join('; ');

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/**
 * Serves build/web (made by `vite build web`) on a free port. `asked` holds the paths that were asked for.
 *
 * @param under the folder of the host that the page lies in.
 * @param isPlain a host that knows no more than the types of HTML, scripts and style sheets, and sends no header.
 */
export async function serve({ under = '/', isPlain = false } = {}) {
  if (!existsSync(join(folder, 'index.html'))) throw new Error('build/web is missing; run: npx vite build web');
  const asked = new Set();
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    asked.add(path);
    const file = path.endsWith('/') ? `${path}index.html` : path;
    const headers = isPlain ? {} : { 'content-security-policy': policy };
    try {
      if (!file.startsWith(under)) throw new Error('not of the page');
      const body = await readFile(join(folder, file.slice(under.length)));
      const known = isPlain && extname(file) === '.wasm' ? undefined : types[extname(file)];
      const type = known === undefined ? 'application/octet-stream' : `${known}; charset=utf-8`;
      response.writeHead(200, { 'content-type': type, ...headers });
      response.end(body);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${server.address().port}${under}`, asked, close: () => server.close() };
}

function program(name) {
  const usual = `/usr/bin/${name}`;
  return existsSync(usual) ? usual : execFileSync('which', [name], { encoding: 'utf8' }).trim();
}

export function launch() {
  return chromium.launch({
    executablePath: program('chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/**
 * A fresh page at some state, and everything it complained about: console errors, exceptions, violations of the
 * policy, requests that failed or went elsewhere.
 */
export async function open(browser, address, { hash = '', ...context } = {}) {
  const made = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 900 }, ...context });
  const page = await made.newPage();
  page.setDefaultTimeout(5000);
  const complaints = [];
  page.on('console', (message) => {
    const isComplaint = ['error', 'warning'].includes(message.type()) || message.text().startsWith('violation ');
    if (isComplaint) complaints.push(`${message.text()} ${message.location().url}`.trim());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(address).origin)) complaints.push(`request to ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      console.info(`violation of ${event.violatedDirective} by ${event.blockedURI}`);
    });
  });
  await page.goto(address + hash);
  await until(() => isComplete(page), 'the whole page', 20000);
  return { page, complaints, close: () => made.close() };
}

/**
 * The page in Firefox as Debian has it, by WebDriver BiDi: Playwright drives only a Firefox of its own. What both
 * libraries call alike is used by the tests of the chapters: evaluate, focus, keyboard.press.
 */
export async function launchFirefox() {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: program('firefox-esr'),
    headless: true,
  });
  return {
    close: () => browser.close(),
    async open(address, { hash = '', viewport = { width: 1280, height: 900 } } = {}) {
      const page = await browser.newPage();
      await page.setViewport(viewport);
      const complaints = [];
      page.on('console', (message) => {
        if (['error', 'warn'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      await page.goto(address + hash, { waitUntil: 'load' });
      await until(() => isComplete(page), 'the whole page', 20000);
      return { page, complaints, close: () => page.close() };
    },
  };
}

const isComplete = (page) => page.evaluate(() => document.querySelector('main:not([aria-busy])') !== null);

/** A figure of the page, by chapter and name, in either browser. */
export function figureOf(page, chapter, name) {
  const id = `figure-${chapter}-${name}`;
  const isUpToDate = () => page.evaluate((id) => document.querySelector(`#${id}[aria-busy]`) === null, id);
  return {
    /** All its numbers as the reader can see them as tables, [table][row][column]; NaN where there is none. */
    async tables() {
      await page.evaluate((id) => {
        const toggle = document.querySelector(`#${id} .table-button`);
        if (document.querySelector(`#${id} .tables`).hidden) toggle.click();
      }, id);
      await until(isUpToDate, `the numbers of ${id}`, 20000);
      await until(
        () => page.evaluate((id) => document.querySelector(`#${id} .tables [aria-busy]`) === null, id),
        'the whole table',
      );
      const tables = await page.evaluate(
        (id) =>
          Array.from(document.querySelectorAll(`#${id} .tables table`), (table) =>
            Array.from(table.tBodies[0].rows, (row) =>
              Array.from(row.querySelectorAll('td'), (cell) => cell.dataset.value ?? 'NaN'),
            ),
          ),
        id,
      );
      return tables.map((table) => table.map((row) => row.map(Number)));
    },
    summary: () => page.evaluate((id) => document.querySelector(`#${id} .summary`).textContent, id),
    notice: () => page.evaluate((id) => document.querySelector(`#${id} .notice`).textContent, id),
    code: () => page.evaluate((id) => document.querySelector(`#${id} details code`).textContent, id),
    /** Brings the keyboard to the control whose label begins so, and presses keys. */
    async press(label, ...keys) {
      await page.evaluate(
        ([id, label]) => {
          const labels = Array.from(document.querySelectorAll(`#${id} label`));
          const found = labels.find((element) => element.textContent.startsWith(label));
          if (found === undefined) throw new Error(`no control ${label} in ${id}: ${labels.map((l) => l.textContent)}`);
          (found.querySelector('input') ?? document.getElementById(found.htmlFor)).focus();
        },
        [id, label],
      );
      for (const key of keys) await page.keyboard.press(key);
    },
    /** Presses the button, radio button or check box with exactly this name. */
    choose: (label) =>
      page.evaluate(
        ([id, label]) => {
          const all = Array.from(document.querySelectorAll(`#${id} label, #${id} button`));
          const found = all.find((element) => element.textContent === label);
          if (found === undefined) throw new Error(`no button ${label} in ${id}: ${all.map((e) => e.textContent)}`);
          found.click();
        },
        [id, label],
      ),
  };
}

/** Runs a program that the page shows, with the package of this checkout, and gives some of its variables. */
export async function runProgram(code, names) {
  const own = (file) => JSON.stringify(new URL(`../../dist/${file}.js`, import.meta.url).href);
  const found = code.replace("'ropewalk'", own('index')).replace("'ropewalk/models'", own('models'));
  const program = `${found}\nexport { ${names.join(', ')} };`;
  return import(`data:text/javascript,${encodeURIComponent(program)}`);
}

/**
 * Waits until `ask` gives something true, and gives that. Not page.waitForFunction: it evaluates strings, which the
 * policy refuses.
 */
export async function until(ask, what, limit = 5000) {
  const end = Date.now() + limit;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited ${limit} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
