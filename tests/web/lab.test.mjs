// The lab: models are trained in a worker, by steps that the test asks for; what is shown is what the program computes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { skipLanguageTask } from 'ropewalk/training';
import { tuningModel } from '../../web/src/chapters/lab/further-programs.js';
import { byPosition, train } from '../../web/src/chapters/lab/programs.js';
import { lengths, orderSteps } from '../../web/src/recorded/course.js';
import { tuning } from '../../web/src/recorded/further-course.js';
import { mean, rw } from '../lab/experiment.mjs';
import { recordedOrder } from '../lab/record.mjs';
import { bring, figureOf, frames, isWhole, open, runProgram, serve, setOffline, until, withChromium } from './site.mjs';

const { site, browser } = await withChromium();

async function openLab(state = '', options = {}) {
  const opened = await open(browser, site.address, { hash: `#${state}`, ...options });
  await bring(opened.page, 'lab');
  return opened;
}

const hasTrained = (figure, steps) =>
  until(async () => new RegExp(`after ${steps} steps`, 'i').test(await figure.summary()), `${steps} steps`);

const buttonOf = (page, nth) => page.evaluate((nth) => document.querySelectorAll('.run button')[nth].textContent, nth);

test('each step trains all models, and the table has the numbers of the program', async () => {
  for (const state of ['', 'lab.order.task=reverse&lab.order.seed=7&lab.order.measure=loss']) {
    const { page, complaints, close } = await openLab(state);
    const order = figureOf(page, 'lab', 'order');
    assert.match(await order.summary(), /^Nothing is trained yet/);
    for (const steps of [5, 10, 15]) {
      await order.choose('5 steps');
      await hasTrained(order, steps);
    }
    const [table] = await order.tables();
    assert.equal(table.length, 4);
    assert.equal(table[0].length, 8);
    const { result } = await runProgram(await order.code(), ['result']);
    assert.deepEqual(table.flat(), result);
    assert.deepEqual(complaints, []);
    await close();
  }
});

test('heads and losses by position, too, are what their programs compute', async () => {
  const { page, complaints, close } = await openLab('lab.induction.layers=1&lab.induction.encoding=t5');
  const induction = figureOf(page, 'lab', 'induction');
  await induction.choose('5 steps');
  await hasTrained(induction, 5);
  assert.equal(await page.locator('#figure-lab-induction .field').count(), 2);
  const looks = (await induction.tables())[0];
  assert.equal(looks.length, 2);
  assert.deepEqual(looks.flat(), (await runProgram(await induction.code(), ['result'])).result);
  await induction.choose('View as picture', '2');
  await until(async () => (await page.locator('#figure-lab-induction .field').count()) === 4, 'two layers of heads');

  const length = figureOf(page, 'lab', 'length');
  await length.choose('NTK', '25 steps');
  await hasTrained(length, 25);
  const [table] = await length.tables();
  assert.deepEqual([table.length, table[0].length], [32, 3]);
  assert.deepEqual(table.flat(), (await runProgram(await length.code(), ['result'])).result);
  const isShown = (label) =>
    page.evaluate(
      (label) =>
        Array.from(document.querySelectorAll('#figure-lab-length label'))
          .find(({ textContent }) => textContent.startsWith(label))
          .checkVisibility(),
      label,
    );
  // Positions of other encodings cannot be scaled.
  await page.locator('#figure-lab-length').getByText('More settings').click();
  assert.deepEqual([await isShown('Base'), await isShown('YaRN')], [true, true]);
  await length.choose('Shaw');
  assert.match(await length.summary(), /^Nothing is trained yet/);
  assert.deepEqual([await isShown('Base'), await isShown('YaRN')], [false, false]);
  await length.choose('25 steps');
  await hasTrained(length, 25);
  assert.equal((await length.tables())[0][0].length, 1);

  const linear = figureOf(page, 'lab', 'linear');
  await linear.choose('10 steps');
  await hasTrained(linear, 10);
  const losses = (await linear.tables())[0].flat();
  assert.equal(losses.length, 12);
  assert.deepEqual(losses, (await runProgram(await linear.code(), ['result'])).result);
  assert.deepEqual(complaints, []);
  await close();
});

test('the further experiments come when they are asked for, go again, and are what their programs compute', async () => {
  const { page, complaints, close } = await openLab();
  const opener = '#chapter-lab button[aria-expanded]';
  const isThere = () => page.evaluate(() => document.querySelector('#figure-lab-text .summary')?.textContent ?? '');
  assert.equal(await isThere(), '');
  await page.click(opener);
  await until(isThere, 'the experiments');
  assert.equal(
    await page.evaluate(() => document.querySelector('#figure-lab-text figcaption span').textContent),
    'Figure 11.6',
  );
  const tuning = figureOf(page, 'lab', 'tuning');
  await tuning.choose('10 steps');
  await until(async () => /after 10 steps at 32 tokens and 0 at 128/.test(await tuning.summary()), '10 steps');
  const losses = (await tuning.tables())[0];
  assert.deepEqual([losses.length, losses[0].length], [2, 4]);
  assert.deepEqual(losses.flat(), (await runProgram(await tuning.code(), ['result'])).result);

  const text = figureOf(page, 'lab', 'text');
  await text.choose('ALiBi', '20 steps');
  await hasTrained(text, 20);
  const sample = () => page.evaluate(() => document.querySelector('#figure-lab-text .passage').textContent);
  const written = await sample();
  assert.match(written, /^She was .{120}$/s);
  const [first, second] = (await text.tables())[0].flat();
  assert.ok(second < first);
  assert.deepEqual([first, second], (await runProgram(await text.code(), ['result'])).result);
  // What was trained is there in the other language, too, and when the experiments come again.
  await page.click('#language');
  await isWhole(page, 'zh');
  await until(isThere, 'the experiments in Chinese');
  assert.equal(await sample(), written);
  await page.click(opener);
  await until(async () => (await isThere()) === '', 'the end of the experiments');
  await page.click(opener);
  await until(isThere, 'the experiments again');
  assert.equal(await sample(), written);
  assert.deepEqual(complaints, []);
  await close();
});

test('a further experiment trains on in another language, and no more when it is closed', async () => {
  const { page, complaints, close } = await openLab('lang=en&lab.further.open=1&lab.text.pace=10');
  const opener = '#chapter-lab button[aria-expanded]';
  const buttonIs = (label) => () =>
    page.evaluate((label) => document.querySelector('#figure-lab-text .run button')?.textContent === label, label);
  const text = figureOf(page, 'lab', 'text');
  await text.choose('Train');
  await until(async () => /after \d+ steps/i.test(await text.summary()), 'some steps');
  await page.click('#language');
  await isWhole(page, 'zh');
  await until(buttonIs('暂停'), 'the training in Chinese');
  await page.click(opener);
  await until(() => page.evaluate(() => document.querySelector('#figure-lab-text') === null), 'the end');
  await page.click(opener);
  await until(buttonIs('继续'), 'what was trained');
  assert.deepEqual(complaints, []);
  await close();
});

test('a link to a further experiment opens at it', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#lang=en&at=lab.text&lab.further.open=1' });
  const topOf = () => page.evaluate(() => document.querySelector('#figure-lab-text')?.getBoundingClientRect().top);
  await until(async () => Math.abs((await topOf()) ?? Number.NaN) < 200, 'the figure');
  await close();
});

test('the short training goes on with what each scaling has', { timeout: 600_000 }, async () => {
  const looks = train(tuningModel(rw, 1), tuning.before + 20, 10);
  const [before, after] = [looks[tuning.before / 10], looks.at(-1)];
  assert.ok(before.yarn < before.ntk && before.ntk < before.linear, JSON.stringify(before));
  for (const name of ['asTrained', 'linear', 'ntk']) assert.ok(after[name] < before[name] - 0.2, name);
});

test('a training runs to its end by itself, and what it learned differs as the text says', async () => {
  const { page, complaints, close } = await openLab('lab.order.table=1');
  const order = figureOf(page, 'lab', 'order');
  await order.choose('Train');
  await hasTrained(order, orderSteps);
  await until(async () => (await buttonOf(page, 0)) === 'Train again', 'the end');
  const [none, alibi, ...others] = (await order.tables())[0].at(-1);
  assert.ok(none < 0.2 && alibi < 0.3);
  for (const share of others) assert.ok(share > 0.95, `${others}`);
  assert.deepEqual(complaints, []);
  await close();
});

test('it pauses, goes on, and starts over', async () => {
  const { page, close } = await openLab();
  const order = figureOf(page, 'lab', 'order');
  await order.choose('Train');
  assert.equal(await buttonOf(page, 0), 'Pause');
  await until(async () => /after/.test(await order.summary()), 'the first look');
  await order.choose('Pause');
  await until(async () => (await buttonOf(page, 0)) === 'Go on', 'the pause');
  await order.choose('Start over');
  assert.match(await order.summary(), /^Nothing is trained yet/);
  assert.equal(await buttonOf(page, 0), 'Train');
  // The run that was given up tells nothing more.
  await order.choose('5 steps');
  await hasTrained(order, 5);
  assert.equal((await order.tables())[0].length, 2);
  await close();
});

test('another seed or task forgets what was trained with the one before; another view of it does not', async () => {
  const { page, close } = await openLab();
  const order = figureOf(page, 'lab', 'order');
  await order.choose('5 steps');
  await hasTrained(order, 5);
  await order.choose('loss');
  await hasTrained(order, 5);
  await order.press('Seed', 'ArrowRight');
  assert.match(await order.summary(), /^Nothing is trained yet/);
  await order.choose('5 steps');
  await hasTrained(order, 5);
  await order.choose('the sequence backwards');
  assert.match(await order.summary(), /^Nothing is trained yet/);
  const { hash } = new URL(await page.evaluate(() => location.href));
  assert.match(hash, /lab\.order\.task=reverse/);
  assert.match(hash, /lab\.order\.seed=2/);
  assert.match(hash, /lab\.order\.measure=loss/);
  await close();
});

test('a reader who changes the language keeps what was trained', async () => {
  const { page, close } = await openLab();
  const order = figureOf(page, 'lab', 'order');
  await order.choose('5 steps');
  await hasTrained(order, 5);
  await page.click('#language');
  await isWhole(page, 'zh');
  assert.match(await order.summary(), /^5 步以后/);
  await close();
});

test('a tab in the background trains nothing', async () => {
  const { page, close } = await openLab();
  const order = figureOf(page, 'lab', 'order');
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
  });
  await order.choose('5 steps');
  await frames(page, 20);
  assert.match(await order.summary(), /^Nothing is trained yet/);
  await page.evaluate(() => {
    delete document.hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await hasTrained(order, 5);
  await close();
});

test('the keyboard reads out all models at one step', async () => {
  const { page, close } = await openLab();
  const order = figureOf(page, 'lab', 'order');
  await order.choose('5 steps');
  await hasTrained(order, 5);
  const readings = () =>
    page.evaluate(() =>
      Array.from(document.querySelectorAll('#figure-lab-order .panel-reading'), (r) => r.textContent),
    );
  const last = await readings();
  assert.equal(last.length, 8);
  for (const reading of last) assert.match(reading, /^\d+%$/);
  await page.evaluate(() => document.querySelector('.curve-panels').focus());
  await page.keyboard.press('Home');
  await hasTrained(order, 0);
  assert.notDeepEqual(await readings(), last);
  await page.keyboard.press('ArrowRight');
  await hasTrained(order, 5);
  assert.deepEqual(await readings(), last);
  // Where nothing is trained yet there is nothing to read out.
  await page.keyboard.press('End');
  assert.deepEqual(new Set(await readings()), new Set(['']));
  await close();
});

test('a number over losses by position is their mean beyond the trained length, or the loss that is pointed at', async () => {
  const file = new URL('../../web/src/recorded/lab.json', import.meta.url);
  const { alibi, rope } = JSON.parse(await readFile(file, 'utf8')).length;
  const curves = [alibi.asTrained, rope.yarn].map((text) => text.split(' ').map((hundredths) => hundredths / 100));
  const { page, close } = await openLab();
  const readings = async () => {
    const all = await page.locator('#figure-lab-length .panel-reading').allTextContents();
    return [all[1], all.at(-1)];
  };
  const printed = (losses) => losses.map((loss) => loss.toFixed(2));
  const beyond = curves.map((losses) => mean(losses.slice(lengths.trained / lengths.bin)));
  assert.deepEqual(await readings(), printed(beyond));
  await page.locator('#figure-lab-length .curve-panels').focus();
  await page.keyboard.press('Home');
  await until(async () => (await readings())[0] !== printed(beyond)[0], 'the loss at a place');
  assert.deepEqual(await readings(), printed(curves.map(([first]) => first)));
  await close();
});

test('without a network the lab says so, and trains when there is one again', async () => {
  const own = await serve();
  const { page, close } = await open(browser, own.address, { serviceWorkers: 'block' });
  await bring(page, 'lab');
  const order = figureOf(page, 'lab', 'order');
  await setOffline(page, true);
  await order.choose('5 steps');
  const said = () => page.evaluate(() => document.querySelector('.run [role=status]').textContent);
  await until(async () => /ended early/.test(await said()), 'the failure');
  assert.equal(await buttonOf(page, 0), 'Train');
  await setOffline(page, false);
  await order.choose('5 steps');
  await hasTrained(order, 5);
  assert.equal(await said(), '');
  await close();
  await own.close();
});

test('a training that failed halfway does not offer to go on: it begins anew', async () => {
  const { page, close } = await openLab();
  const order = figureOf(page, 'lab', 'order');
  await order.choose('5 steps');
  await hasTrained(order, 5);
  await until(async () => (await buttonOf(page, 0)) === 'Go on', 'the end of the step');
  // As where a message cannot be sent.
  await page.evaluate(() => {
    const { prototype } = Worker;
    const { postMessage } = prototype;
    prototype.postMessage = () => {
      prototype.postMessage = postMessage;
      throw new Error('no memory');
    };
  });
  await order.choose('5 steps');
  const said = () => page.evaluate(() => document.querySelector('.run [role=status]').textContent);
  await until(async () => /ended early/.test(await said()), 'the failure');
  assert.equal(await buttonOf(page, 0), 'Train');
  await order.choose('5 steps');
  await hasTrained(order, 5);
  assert.equal(await said(), '');
  await close();
});

test('the recorded curves are those that the command records', async () => {
  const file = new URL('../../web/src/recorded/lab.json', import.meta.url);
  const recorded = JSON.parse(await readFile(file, 'utf8'));
  assert.deepEqual(recorded.order.previous.alibi, recordedOrder('previous', 'alibi'));
});

test('a count of which character follows which two has the loss that the text says', async () => {
  const fileOf = (name) => readFile(new URL(`../../web/src/chapters/lab/${name}`, import.meta.url), 'utf8');
  const novel = await fileOf('text/novel.txt');
  const [learned, held] = [novel.slice(0, 0.9 * novel.length), novel.slice(0.9 * novel.length)];
  const counts = new Map();
  const add = (key) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (let i = 2; i < learned.length; ++i) [learned.slice(i - 2, i), learned.slice(i - 2, i + 1)].map(add);
  const of = (key) => counts.get(key) ?? 0;
  const added = 0.05;
  const all = added * new Set(novel).size;
  let loss = 0;
  for (let i = 2; i < held.length; ++i)
    loss -= Math.log((of(held.slice(i - 2, i + 1)) + added) / (of(held.slice(i - 2, i)) + all));
  const said = (loss / (held.length - 2)).toFixed(2);
  for (const name of ['i18n/further-en.ts', 'i18n/further-zh.ts']) {
    const text = await fileOf(name);
    assert.ok(text.includes(String(added)) && text.includes(` ${said}`), `${name}: ${said}`);
  }
});

test('the small language itself leaves the losses that the captions say', async () => {
  const language = (tokens, stream) => skipLanguageTask({ seed: 4, tokens, stream });
  const { trained, tested, bin } = lengths;
  // What follows the second and the fourth token before, counted in other sequences than those of any test.
  const counts = new Float64Array(16 ** 3);
  const contextOf = (ids, i) => 16 * (16 * ids[i - 1] + ids[i - 3]);
  const counted = language(tested, 1000);
  for (let batch = 0; batch < 40; ++batch) {
    const { ids, targets, weights } = counted.batch(512);
    for (const [i, weight] of weights.entries()) counts[contextOf(ids.data, i) + targets.data[i]] += weight;
  }
  // The losses of a batch for whoever knows the language: 0 where nothing is asked.
  const lossesOf = ({ ids, targets, weights }) =>
    Float64Array.from(weights, (weight, i) => {
      if (weight === 0) return 0;
      const context = contextOf(ids.data, i);
      const all = counts.subarray(context, context + 16).reduce((a, b) => a + b);
      return -Math.log((counts[context + targets.data[i]] + 0.02) / (all + 0.32));
    });
  const held = [1, 2, 3].map((seed) => language(tested, 2 * seed + 1).batch(32));
  const beyond = held.map((batch) => byPosition(lossesOf(batch), batch.weights).slice(trained / bin));
  assert.ok(Math.abs(mean(beyond.flat()) - 0.93) < 0.0075, `${mean(beyond.flat())}`);
  const groups = beyond[0].map((_, i) => mean(beyond.map((losses) => losses[i])));
  assert.ok(Math.min(...groups) < 0.8);
  const some = language(trained, 1001).batch(8192);
  const average = lossesOf(some).reduce((a, b) => a + b) / some.weights.reduce((a, b) => a + b);
  assert.ok(Math.abs(average - 0.97) < 0.0075, `${average}`);
  for (const lang of ['en', 'zh']) {
    const textOf = (name) => readFile(new URL(`../../web/src/chapters/${name}.ts`, import.meta.url), 'utf8');
    assert.match(await textOf(`lab/i18n/${lang}`), /0\.93.*0\.97/s);
    assert.match(await textOf(`compare/i18n/evidence-${lang}`), / 0\.93/);
  }
});
