// The chapter of all encodings: its programs in three libraries.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { lengths } from '../../web/src/recorded/course.js';
import { bring, browsers, figureOf, open, serve, setOffline, until, withBoth } from './site.mjs';

const { site, both, browser } = await withBoth();

const viewer = '#figure-compare-attention > details:last-child';
const shownIn = (page) => page.evaluate((viewer) => document.querySelector(`${viewer} code`).textContent, viewer);
const openViewer = (page) => page.evaluate((viewer) => document.querySelector(`${viewer} summary`).click(), viewer);
const choose = (page, name) =>
  page.evaluate((name) => {
    const labels = Array.from(document.querySelectorAll('#figure-compare-attention label'));
    labels.find(({ textContent }) => textContent === name).click();
  }, name);
const fileOf = (library, encoding) =>
  readFile(new URL(`../../web/src/chapters/compare/${library}/${encoding}.py`, import.meta.url), 'utf8');

for (const name of browsers) {
  test(`the programs in Python are fetched when they are opened, and shown as their files have them (${name})`, async (t) => {
    const own = await serve();
    t.after(own.close);
    const { page, complaints, close } = await both.open(name, own.address, { hash: '#lang=en&at=compare' });
    await bring(page, 'compare');
    const isPython = (path) => path.includes('/python-programs-');
    const hasCode = (text) => until(async () => (await shownIn(page)) === text, 'the program');
    // The service worker keeps all files; those of the page are counted.
    const asked = () => page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
    assert.ok(!(await asked()).some(isPython));
    await openViewer(page);
    await hasCode(await fileOf('numpy', 'rope'));
    assert.ok((await asked()).some(isPython));
    await choose(page, 'PyTorch');
    await hasCode(await fileOf('pytorch', 'rope'));
    await choose(page, 'T5');
    await hasCode(await fileOf('pytorch', 't5'));
    await choose(page, 'ropewalk');
    await hasCode(await figureOf(page, 'compare', 'attention').code());
    const state = await page.evaluate(() => location.hash);
    assert.match(state, /compare\.attention\.encoding=t5&compare\.attention\.library=ropewalk/);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('a program that does not arrive says so', async () => {
  // A service worker would have it.
  const options = { hash: '#lang=en&at=compare', serviceWorkers: 'block' };
  const { page, close } = await open(browser, site.address, options);
  await bring(page, 'compare');
  await setOffline(page, true);
  await openViewer(page);
  await until(async () => /^# This program did not arrive/.test(await shownIn(page)), 'the notice');
  await close();
});

test('in Chinese the programs have the same three tabs', async () => {
  const { page, close } = await both.open('Chromium', site.address, { hash: '#lang=zh&at=compare' });
  await bring(page, 'compare');
  await openViewer(page);
  const names = await page.evaluate(
    (viewer) => Array.from(document.querySelectorAll(`${viewer} label`), ({ textContent }) => textContent),
    viewer,
  );
  assert.deepEqual(names, ['NumPy', 'PyTorch', 'ropewalk']);
  await close();
});

const comparison = async (hash) => {
  const opened = await open(browser, site.address, { hash });
  await bring(opened.page, 'compare');
  await opened.page.locator('#figure-compare-results').waitFor();
  const isShown = () =>
    opened.page.evaluate(() => document.querySelector('#figure-compare-results .summary').textContent);
  await until(isShown, 'the comparison');
  return opened;
};

test('the comparison shows what the lab recorded, each encoding in its row', async () => {
  const readRecorded = async (name) =>
    JSON.parse(await readFile(new URL(`../../web/src/recorded/${name}.json`, import.meta.url), 'utf8'));
  const [recorded, others] = [await readRecorded('lab'), await readRecorded('compared')];
  const { page, complaints, close } = await comparison('#lang=en&at=compare.results');
  const rows = await page
    .locator('#figure-compare-results .comparison tbody tr')
    .evaluateAll((all) => all.map((row) => Array.from(row.cells, ({ textContent }) => textContent)));
  const numbers = (text) => text.split(' ').map((hundredths) => Number(hundredths) / 100);
  const relative = 'Shaw M3 M4 Transformer-XL DeBERTa T5 ALiBi KERPLE FIRE Sandwich CoPE';
  const names = `None Binary Sinusoidal Learned Axial ${relative} RoPE RoPE-Mixed PoPE`.split(' ');
  const keys = { 'Transformer-XL': 'xl', 'RoPE-Mixed': 'mixed' };
  const order = names.map((name) => keys[name] ?? name.toLowerCase());
  assert.deepEqual(
    rows.map(([name]) => name),
    names,
  );
  const table = (await figureOf(page, 'compare', 'results').tables())[0];
  for (const [i, encoding] of order.entries()) {
    const ofLab = [recorded.order.previous, recorded.order.reverse, recorded.induction[2]];
    const ofOthers = [others.previous, others.reverse, others.repeats];
    const shares = ofLab.map((task, i) => numbers(task[encoding]?.share ?? ofOthers[i][encoding]).at(-1));
    const losses = numbers(recorded.length[encoding]?.asTrained ?? others.beyond[encoding]);
    const beyond = losses.filter((_, bin) => bin * lengths.bin >= lengths.trained);
    const loss = beyond.reduce((a, b) => a + b) / beyond.length;
    const printed = [...shares.map((share) => `${Math.round(100 * share)}%`), loss.toFixed(2)];
    assert.deepEqual(rows[i].slice(5, 9), printed, encoding);
    for (const [column, value] of [...shares, loss].entries()) {
      assert.ok(Math.abs(table[i][column] - value) < 1e-9, `${encoding} ${column}`);
    }
  }
  // What reads as the best is marked, and nothing else.
  const marked = await page
    .locator('#figure-compare-results .comparison tbody tr')
    .evaluateAll((all) => all.map((row) => Array.from(row.cells, (cell) => cell.matches('.best'))));
  for (const column of [5, 6, 7, 8]) {
    const [values, choose] = [rows.map((row) => Number.parseFloat(row[column])), column === 8 ? Math.min : Math.max];
    const wanted = values.map((value) => value === choose(...values));
    assert.deepEqual(
      marked.map((row) => row[column]),
      wanted,
      `column ${column}`,
    );
  }
  // What the text says of them.
  const best = (column) =>
    names.filter((_, i) => table[i][column] === Math.max(...table.map((row) => row[column] || 0)));
  assert.deepEqual(best(1), ['Binary', 'Sinusoidal', 'Learned', 'Axial']);
  const of = (column, ...wanted) => wanted.map((name) => table[names.indexOf(name)][column]);
  for (const share of of(0, 'ALiBi', 'KERPLE', 'FIRE', 'Sandwich', 'CoPE')) assert.ok(share < 0.6);
  assert.ok(of(2, 'ALiBi')[0] < 0.3);
  for (const loss of of(3, ...relative.split(' ').filter((name) => name !== 'FIRE'))) assert.ok(loss < 1.4);
  for (const loss of of(3, 'Binary', 'Sinusoidal', 'Learned', 'Axial', 'RoPE')) assert.ok(loss > 2.77);
  // The marks are those of the scorecard.
  const marks = await page.evaluate(() =>
    Array.from(document.querySelectorAll('#chapter-rope .scorecard tbody tr:first-child'), (row) =>
      Array.from(row.cells, ({ textContent }) => textContent),
    ),
  );
  assert.equal(marks.length, 7);
  for (const row of marks) assert.deepEqual(rows.find(([name]) => name === row[0]).slice(0, 5), row);
  // Encodings without a chapter have marks and a source all the same.
  for (const name of ['Axial', 'Transformer-XL', 'DeBERTa', 'Sandwich', 'CoPE', 'RoPE-Mixed']) {
    const row = page.locator('#figure-compare-results .comparison tbody tr').nth(names.indexOf(name));
    for (const mark of rows[names.indexOf(name)].slice(1, 5)) assert.match(mark, /^(yes|partly|no)$/);
    assert.match(await row.locator('a').first().getAttribute('href'), /^https:\/\/arxiv\.org\/abs\/\d{4}\.\d{5}$/);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('the comparison is sorted by what it shows, and the address keeps by what', async () => {
  const { page, close } = await comparison('#lang=en&compare.results.order=length');
  const shown = () => page.locator('#figure-compare-results .comparison tbody th').allTextContents();
  const losses = (await figureOf(page, 'compare', 'results').tables())[0].map((row) => row[3]);
  assert.deepEqual(
    losses,
    losses.toSorted((a, b) => a - b),
  );
  await figureOf(page, 'compare', 'results').choose('View as picture', 'repeats');
  assert.deepEqual((await shown()).slice(0, 4), ['Shaw', 'M4', 'Transformer-XL', 'DeBERTa']);
  assert.match(page.url(), /compare\.results\.order=induction/);
  await close();
});

test('every table of published results names its source, and the differences that the text speaks of are theirs', async () => {
  const { page, close } = await comparison('#lang=en');
  const tables = await page.locator('#chapter-compare .published').evaluateAll((all) =>
    all.map((box) => ({
      caption: box.querySelector('caption').textContent,
      rows: Object.fromEntries(
        Array.from(box.querySelectorAll('tbody tr'), (row) =>
          Array.from(row.cells, ({ textContent }) => textContent),
        ).map(([name, ...values], i) => [`${i} ${name}`, values.map((text) => Number(text.replace(',', '')))]),
      ),
      words: Array.from(box.querySelectorAll('tbody tr'), (row) =>
        Array.from(row.cells, ({ textContent }) => textContent),
      ),
      isCut: box.scrollWidth > box.clientWidth,
      note: box.parentElement.nextElementSibling.textContent,
      links: Array.from(box.parentElement.nextElementSibling.querySelectorAll('a'), ({ href }) => href),
    })),
  );
  const [models, law, stages, glue, perplexity] = tables;
  assert.equal(tables.length, 5);
  for (const { caption, isCut } of tables) assert.ok(!isCut, caption);
  for (const { links } of tables)
    assert.ok(links.some((href) => /^https:\/\/arxiv\.org\/abs\/(2104\.09864|2108\.12409)$/.test(href)));
  // RoFormer, table 3. It differs from WoBERT in its positions alone, as the text says, and the next table compares these.
  assert.deepEqual(models.words, [
    ['BERT', 'characters', 'absolute'],
    ['WoBERT', 'words', 'absolute'],
    ['NEZHA', 'characters', 'relative'],
    ['RoFormer', 'words', 'RoPE'],
  ]);
  const compared = law.words.map(([name]) => name.replace(/-.*/, ''));
  for (const name of compared)
    assert.ok(
      models.words.some(([model]) => model === name),
      name,
    );
  assert.match(law.note, new RegExp((law.rows['3 RoFormer-1024'][1] - law.rows['2 RoFormer-512'][1]).toFixed(2)));
  const byLength = Object.values(stages.rows).toSorted((a, b) => a[0] - b[0]);
  assert.ok(
    byLength.every(
      ([, , , , accuracy], i) => i === 0 || byLength[i][0] === byLength[i - 1][0] || accuracy > byLength[i - 1][4],
    ),
  );
  const [bert, roformer] = Object.values(glue.rows);
  const ahead = roformer.map((value, i) => value > bert[i]);
  // MNLI has two columns.
  assert.deepEqual(ahead, [true, false, false, true, true, false, false]);
  assert.equal(Math.floor(roformer[4] - bert[4]), 15);
  const lengths = Object.values(perplexity.rows);
  assert.ok(lengths[3][0] === 512 && lengths[3][1] === 3072 && lengths[3][2] < lengths[0][2]);
  await close();
});
