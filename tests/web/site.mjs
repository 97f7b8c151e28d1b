// Serves the built page locally under the strict CSP that it must work with, and opens it in browsers.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { onDemand } from '../../web/src/chapters/ids.js';

const folder = fileURLToPath(new URL('../../build/web/', import.meta.url));

const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
].join('; ');

// Lets workers share memory (docs/threads.md).
const isolation = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/** Timeout in milliseconds, ten times what a slow machine needs, so that only what never happens fails. */
const limit = 120_000;

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

// A worker that works longer than this many milliseconds in one piece lets messages in (bindings/ts, EventLoop).
const slice = 12;

// In the playground's worker, before anything of its own: it stands still at each step that it tells the page, until
// the server answers.
function askAtEachStep() {
  const post = globalThis.postMessage.bind(globalThis);
  let items = 0;
  globalThis.postMessage = (message, moved) => {
    post(message, moved);
    if (message.ropewalk === 'iterator') items = 0;
    if (message.ropewalk === 'item' && !message.done) items += 1;
    else if (message.ropewalk !== 'callback') return;
    const [done] = message.args ?? [];
    const progress = typeof done === 'number' ? `pass=${done}` : `load=${done?.loaded / done?.total}`;
    const request = new XMLHttpRequest();
    request.open('GET', `/step?${message.ropewalk === 'item' ? `item=${items}` : progress}`, false);
    try {
      request.send();
    } catch {
      // Without a network nobody holds it.
    }
  };
}

/** What index.html has before the text for readers without scripts. */
export const beforeText = (html) => html.subarray(0, html.indexOf('<noscript>'));

/**
 * Serves build/web (made by `vite build web`) on a free port. `asked` contains the requested paths, and `hold` delays
 * answers.
 *
 * @param under the path of the page on the host.
 * @param isPlain a host that sends no CSP header, no isolation, wasm as application/octet-stream, and `Vary: Origin` with
 *   each file, as hosts do that answer other origins too.
 * @param inSteps the playground's worker requests `/step?load=…` and `/step?pass=…` when it reports the progress of a
 *   load or a pass, and `/step?item=…` with each token, and continues after the answer.
 * @param isKept lets browsers keep each file for ten minutes without asking again, as hosts of static files do.
 * @param isCompressed answers in gzip.
 * @param withoutText never sends what index.html has for readers without scripts, nor its end.
 */
export async function serve({
  under = '/',
  isPlain = false,
  inSteps = false,
  isKept = false,
  isCompressed = false,
  withoutText = false,
} = {}) {
  if (!existsSync(join(folder, 'index.html'))) throw new Error('build/web is missing; run: npx vite build web');
  const asked = new Set();
  const holds = new Set();
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const path = normalize(decodeURIComponent(url.pathname));
    asked.add(path);
    const file = path.endsWith('/') ? `${path}index.html` : path;
    const kept = isKept ? { 'cache-control': 'max-age=600' } : {};
    const headers = {
      ...kept,
      ...(isPlain ? { vary: 'Origin' } : { 'content-security-policy': policy, ...isolation }),
    };
    for (const { isHere, stop } of holds) if (isHere(url)) await stop();
    if (path === '/step') {
      response.writeHead(204).end();
      return;
    }
    try {
      if (!file.startsWith(under)) throw new Error('not of the page');
      const own = await readFile(join(folder, file.slice(under.length)));
      const body = inSteps && /playground-worker/.test(file) ? `(${askAtEachStep})();\n${own}` : own;
      const known = isPlain && extname(file) === '.wasm' ? undefined : types[extname(file)];
      const type = known === undefined ? 'application/octet-stream' : `${known}; charset=utf-8`;
      const encoding = isCompressed ? { 'content-encoding': 'gzip' } : {};
      response.writeHead(200, { 'content-type': type, ...encoding, ...headers });
      if (withoutText && file.endsWith('/index.html')) {
        response.write(beforeText(body));
        return;
      }
      response.end(isCompressed ? gzipSync(body) : body);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref(); // a test that fails before it closes the server ends all the same
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  /**
   * Delays every answer to a URL for which `isHere` is true: `reached` resolves at the first one, `release` answers
   * all, but only after a blocked worker is due to receive messages.
   */
  function hold(isHere) {
    const held = { isHere };
    const reached = new Promise((resolve) => {
      const released = new Promise((end) => {
        held.end = end;
      });
      held.stop = () => {
        resolve();
        return released;
      };
    });
    holds.add(held);
    return {
      reached,
      async release() {
        await new Promise((resolve) => setTimeout(resolve, 4 * slice));
        holds.delete(held);
        held.end();
      },
    };
  }
  const releaseAll = () => {
    for (const { end } of holds) end();
    holds.clear();
  };
  return { address: `http://127.0.0.1:${server.address().port}${under}`, asked, hold, releaseAll, close };
}

/** Whether tests for both browsers run in both, and some in the whole of Chromium (BROWSERS=all). */
const isComplete = process.env.BROWSERS === 'all';

/** The path of a browser. */
export function program(name) {
  const usual = `/usr/bin/${name}`;
  return existsSync(usual) ? usual : execFileSync('which', [name], { encoding: 'utf8' }).trim();
}

/**
 * Chromium's headless shell where it is installed, for all other tests: for readers who prefer reduced motion a page takes
 * half the processor time.
 */
async function launchShell() {
  const shell = '/usr/bin/chromium-headless-shell';
  const browser = await launch(existsSync(shell) ? shell : undefined);
  shells.add(browser);
  return browser;
}
const shells = new WeakSet();

/** Chromium; by default the one that readers have. */
export function launch(executablePath = program('chromium')) {
  return chromium.launch({
    timeout: limit,
    executablePath,
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

const viewport = { width: 1280, height: 900 };

// Everything that a page complains about: console errors, exceptions, violations of the policy, requests that failed or
// went elsewhere.
function complaintsOf(page, address) {
  const complaints = [];
  page.on('console', (message) => {
    const isComplaint = /^(error|warn)/.test(message.type()) || message.text().startsWith('violation ');
    if (isComplaint) complaints.push(`${message.text()} ${message.location().url}`.trim());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    // Firefox has a font of its own in a data: URL. Ours would be refused by the policy.
    const isHere = request.url().startsWith('data:') || request.url().startsWith(new URL(address).origin);
    if (!isHere) complaints.push(`request to ${request.url()}`);
  });
  page.on('requestfailed', (request) => {
    const { errorText } = request.failure();
    // What the reader stops or the browser no longer needs is given up; nothing failed.
    if (!/ABORTED/.test(errorText)) complaints.push(`${errorText} for ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
  });
  return complaints;
}

// In the page, before anything of its own.
function tellViolations() {
  addEventListener('securitypolicyviolation', (event) => {
    console.info(`violation of ${event.violatedDirective} by ${event.blockedURI}`);
  });
}

/** A context of Chromium with the timeout of this file. */
export async function contextOf(browser, options = {}) {
  const context = await browser.newContext({ viewport, ...options });
  context.setDefaultTimeout(limit);
  return context;
}

/**
 * Opens a page at some state in its own context; gives it and its `complaints`.
 *
 * @param init runs in the page before its own scripts.
 */
export async function open(browser, address, { hash = '', init, ...context } = {}) {
  const reducedMotion = shells.has(browser) ? 'reduce' : 'no-preference';
  const made = await contextOf(browser, { locale: 'en-US', reducedMotion, ...context });
  const page = await made.newPage();
  if (init !== undefined) await page.addInitScript(init);
  const complaints = complaintsOf(page, address);
  await page.addInitScript(tellViolations);
  await page.goto(address + hash);
  await isWhole(page);
  return { page, complaints, goOffline: () => made.setOffline(true), close: () => made.close() };
}

/**
 * Debian's Firefox through WebDriver BiDi, since Playwright supports only its own build. It starts when the first page
 * is opened. `open` is like the one above, with fewer options. Tests for both browsers use the functions that both
 * libraries have: evaluate, goto, reload, keyboard.press, keyboard.type.
 */
function firefoxOnDemand() {
  // What a reader prefers is asked for when the program starts: one for each kind of reader.
  const started = new Map();
  const start = (locale, reducedMotion) =>
    puppeteer.launch({
      browser: 'firefox',
      timeout: limit,
      protocolTimeout: 2 * limit,
      executablePath: program('firefox-esr'),
      headless: true,
      extraPrefsFirefox: {
        'intl.accept_languages': locale,
        'ui.prefersReducedMotion': reducedMotion === 'reduce' ? 1 : 0,
      },
    });
  const browserFor = (locale, reducedMotion) => {
    const key = `${locale} ${reducedMotion}`;
    if (!started.has(key)) started.set(key, start(locale, reducedMotion));
    return started.get(key);
  };
  const usual = ['en-US', 'no-preference'];
  return {
    async close() {
      for (const browser of started.values()) await (await browser).close();
    },
    async newPage() {
      const page = await (await (await browserFor(...usual)).createBrowserContext()).newPage();
      page.setDefaultTimeout(limit);
      return page;
    },
    async open(
      address,
      { hash = '', init, viewport: size = viewport, locale = usual[0], reducedMotion = usual[1] } = {},
    ) {
      const made = await (await browserFor(locale, reducedMotion)).createBrowserContext();
      const page = await made.newPage();
      page.setDefaultTimeout(limit);
      await page.setViewport(size);
      const complaints = complaintsOf(page, address);
      await page.evaluateOnNewDocument(tellViolations);
      if (init !== undefined) await page.evaluateOnNewDocument(init);
      await page.goto(address + hash);
      await isWhole(page);
      return { page, complaints, goOffline: () => page.setOfflineMode(true), close: () => made.close() };
    },
  };
}

/**
 * Takes the network from a page of Chromium, or gives it back. The browser says that it is done before it is: this waits
 * until a request of the page agrees.
 */
export async function setOffline(page, isOffline) {
  await page.context().setOffline(isOffline);
  const arrives = () =>
    page.evaluate(() =>
      fetch(location.href, { cache: 'no-store' }).then(
        () => true,
        () => false,
      ),
    );
  await until(async () => (await arrives()) !== isOffline, isOffline ? 'no network' : 'the network');
}

/** The browsers for tests that run in each: Chromium, and with BROWSERS=all also Firefox. */
export const browsers = isComplete ? ['Chromium', 'Firefox'] : ['Chromium'];

/**
 * Launches both browsers: `open` opens the page in one of them, with the options that both have; `newPage` gives an empty
 * page in its own context.
 *
 * @param inWhole with BROWSERS=all in the whole of Chromium, which takes nearly twice the processor time of its shell: for
 *   what readers have and the shell has in its own way (motion, storage, service workers, policies).
 */
export async function launchBoth({ inWhole = false } = {}) {
  const chromium = await (inWhole && isComplete ? launch() : launchShell());
  const firefox = firefoxOnDemand();
  return {
    chromium,
    open: (name, address, options) =>
      name === 'Firefox' ? firefox.open(address, options) : open(chromium, address, options),
    newPage: async (name) => (name === 'Firefox' ? firefox.newPage() : (await contextOf(chromium)).newPage()),
    async close() {
      await chromium.close();
      await firefox.close();
    },
  };
}

/** The page on a server and Chromium, for all tests of a file; both are closed after the last test. */
export async function withChromium() {
  const [site, browser] = await Promise.all([serve(), launchShell()]);
  after(async () => {
    await browser.close();
    await site.close();
  });
  return { site, browser };
}

/** The same with both browsers, launched with these options; `browser` is Chromium. */
export async function withBoth(options) {
  const [site, both] = await Promise.all([serve(), launchBoth(options)]);
  after(async () => {
    await both.close();
    await site.close();
  });
  return { site, both, browser: both.chromium };
}

/**
 * Waits until all chapters are loaded, in a language if one is given. Observes changes instead of polling, which would
 * slow the page down.
 */
export const isWhole = (page, lang = '') =>
  page.evaluate(
    ([lang, limit]) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const isThere =
            document.querySelector('main:not([aria-busy])') !== null &&
            // Of the worker's picture the page itself waits three seconds.
            document.querySelector('#figure-playground-stack[aria-busy]') === null &&
            document.documentElement.lang.startsWith(lang);
          if (!isThere) return;
          changes.disconnect();
          resolve();
        };
        const changes = new MutationObserver(look);
        const options = { attributeFilter: ['aria-busy', 'lang'], childList: true, subtree: true };
        changes.observe(document, options);
        setTimeout(() => reject(new Error(`waited ${limit} ms in vain: the whole page ${lang}`)), limit);
        look();
      }),
    [lang, limit],
  );

/** Goes to chapters that come when the reader is near them, and waits until they are there; default: to all of them. */
export async function bring(page, ...ids) {
  for (const id of ids.length > 0 ? ids : onDemand) {
    await page.evaluate((id) => document.querySelector(`#chapter-${id}`).scrollIntoView(), id);
    const isThere = () =>
      page.evaluate((id) => {
        const chapter = document.querySelector(`#chapter-${id}`);
        const said = Array.from(chapter.querySelectorAll('.summary'), (summary) => summary.textContent);
        // What is asked for in the lab comes after the rest.
        const asks = chapter.querySelector('button[aria-expanded=true]') !== null;
        const isWanted = !asks || document.querySelector('#figure-lab-text') !== null;
        return said.length > 0 && said.every((text) => text !== '') && isWanted;
      }, id);
    await until(isThere, id);
    if (id !== 'compare') continue;
    // Its end comes by itself, once the chapter is there.
    const hasEnd = () =>
      page.evaluate(() => Boolean(document.querySelector('#figure-compare-results .summary')?.textContent));
    await until(hasEnd, 'the comparison');
  }
}

/** A figure of the page, by chapter and name, in either browser. */
export function figureOf(page, chapter, name) {
  const id = `figure-${chapter}-${name}`;
  const isUpToDate = () => page.evaluate((id) => document.querySelector(`#${id}[aria-busy]`) === null, id);
  return {
    /** All numbers in its tables, [table][row][column]; NaN for an empty cell. */
    async tables() {
      await page.evaluate((id) => {
        const toggle = document.querySelector(`#${id} .table-button`);
        if (document.querySelector(`#${id} .tables`).hidden) toggle.click();
      }, id);
      await until(isUpToDate, `the numbers of ${id}`);
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
    /** Focuses the control whose label begins with `label`, and presses keys. */
    async press(label, ...keys) {
      await page.evaluate(
        ([id, label]) => {
          const labels = Array.from(document.querySelectorAll(`#${id} label`));
          const found = labels.find((element) => element.textContent.startsWith(label));
          if (found === undefined) throw new Error(`no control ${label} in ${id}: ${labels.map((l) => l.textContent)}`);
          found.closest('details')?.setAttribute('open', '');
          (found.querySelector('input') ?? document.getElementById(found.htmlFor)).focus();
        },
        [id, label],
      );
      for (const key of keys) await page.keyboard.press(key);
    },
    /** Focuses the control whose label begins with `label`, and gives its value, or whether it is checked. */
    async valueOf(label) {
      await this.press(label);
      return page.evaluate(() => {
        const { type, value, checked } = document.activeElement;
        return ['radio', 'checkbox'].includes(type) ? checked : value;
      });
    },
    /** Replaces the text of the input whose label begins with `label`. */
    async type(label, text) {
      await this.press(label);
      await page.evaluate(() => document.activeElement.select());
      await page.keyboard.type(text);
    },
    /**
     * Clicks the buttons, radio buttons or check boxes with exactly these names, in one task of the page, so that no
     * worker can answer in between.
     */
    choose: (...labels) =>
      page.evaluate(
        ([id, labels]) => {
          for (const label of labels) {
            const all = Array.from(document.querySelectorAll(`#${id} label, #${id} button`));
            const found = all.find((element) => element.textContent === label);
            if (found === undefined) throw new Error(`no button ${label} in ${id}: ${all.map((e) => e.textContent)}`);
            found.click();
          }
        },
        [id, labels],
      ),
  };
}

/** Runs a program of the page in Node with the built package, and gives some of its variables. */
export async function runProgram(code, names) {
  const own = (file) => JSON.stringify(new URL(`../../dist/${file}.js`, import.meta.url).href);
  const found = code
    .replace("'ropewalk'", own('index'))
    .replace("'ropewalk/models'", own('models'))
    .replace("'ropewalk/training'", own('training'));
  const program = `${found}\nexport { ${names.join(', ')} };`;
  return import(`data:text/javascript,${encodeURIComponent(program)}`);
}

/**
 * Waits until `ask` gives a truthy value, and gives that. page.waitForFunction would evaluate strings, which the CSP
 * refuses.
 */
export async function until(ask, what) {
  const end = Date.now() + limit;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited ${limit} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Waits for `count` real frames, even if a test has replaced requestAnimationFrame. */
export const frames = (page, count) =>
  page.evaluate(async (count) => {
    const ask = globalThis.originalFrame ?? requestAnimationFrame;
    for (let i = 0; i < count; ++i) await new Promise((resolve) => ask(resolve));
  }, count);

/** Runs `act` and waits until an element has shown `words`, even if only briefly. */
export async function hears(page, selector, words, act) {
  await page.evaluate(
    ([selector, words]) => {
      const element = document.querySelector(selector);
      globalThis.hasSaid = false;
      const observer = new MutationObserver(() => {
        if (!element.textContent.includes(words)) return;
        globalThis.hasSaid = true;
        observer.disconnect();
      });
      observer.observe(element, { childList: true, characterData: true, subtree: true });
    },
    [selector, words],
  );
  await act();
  await until(() => page.evaluate(() => globalThis.hasSaid), `${selector} says ${words}`);
}
