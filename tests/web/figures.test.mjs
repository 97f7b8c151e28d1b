// Properties of every figure: its program runs in Node and gives the numbers of its table, and its languages agree.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bring, figureOf, open, runProgram, until, withChromium } from './site.mjs';

const { site, browser } = await withChromium();

// Another state than the first for every figure but those of a device. The figures of a model show the small one. Those of
// the lab have tests of their own, lab.test.mjs, and that of what the lab recorded, compare.test.mjs.
const states = {
  'order-words': 'order=2,0,1,3,4&encoding=rope',
  'order-map': 'words=it%27s+a+"test"&encoding=sinusoidal&causal=1&heads=1',
  'binary-code': 'bits=3&at=5',
  'binary-neighbours': 'bits=3',
  'sinusoid-clocks': 'at=399',
  'sinusoid-map': 'dim=8&base=100&layout=concatenated&column=3',
  'algebra-shift': 'p=41&k=-7',
  'algebra-dot': 'dim=16&s=5&d=9',
  'relative-learned': 'longer=1&at=30',
  'relative-head': 'word=4',
  'relative-terms': 'method=shaw&seed=4',
  'relative-rows': 'length=5&k=3&sign=query-minus-key',
  'relative-maps': 'length=12&head=7&decoder=1&d=3',
  'rope-arrows': 'm=13&star=1',
  'rope-steps': 'step=7&m=9&n=4',
  'rope-pair': 'q=-100,0.7&pair=2&n=60',
  'rope-sum': 'seed=5&d=-7',
  'rope-clocks': 'n=77&d=-12',
  'rope-worked': 'm=7',
  'rope-layout': 'at=6',
  'rope-ways': 'm=7&pairing=half&pair=2',
  'rope-broken': 'd=0&walk=17',
  'decay-curves': 'dim=32&base=1000&reach=4096',
  'decay-bound': 'seed=9&dim=16',
  'decay-random': 'dim=16',
  'context-waves': 'method=yarn&factor=16&length=4096&base=500000',
  'axes-grid': 'layout=pixtral&patch=3&base=10',
  'axes-ids': 'before=1&rows=3&columns=2&frames=2',
  'linear-cost': 'tokens=16&dim=32',
  'linear-forms': 'form=numerator&map=relu&dim=8&seed=11',
  'linear-aim': 'back=3&dim=32',
  'linear-state': 'tokens=2048&dim=32&chunk=1',
  'compare-attention': 'encoding=t5',
  'speed-error': 'base=500000&at=15',
  'playground-stack': 'encoding=t5&heads=2&causal=1&layers=2&view=biased',
  'playground-model': 'tiny=decoder&seed=5',
  'playground-look': 'ids=5+4+3+5&layer=3&at=2&head=2',
  'playground-write': 'seed=4&length=8',
  'playground-length': 'text=5+4+3+5+6+5+4&length=64&factor=2',
};

// What figures have at first, too: a model, and a text that it reads.
const always = { 'playground-model': 'tiny=decoder', 'playground-length': 'text=1+2+3+1+2+3+4+5+6' };

// What went through an engine's own exp or log may differ in its last bits.
const tolerances = { 'playground-look': 1e-12, 'playground-write': 1e-12, 'playground-length': 1e-12 };

// The memory in use is that of one worker or another.
const isMeasured = (name, i) => name === 'playground-model' && i > 8;

// The model is there and looked at, tokens are written and losses measured.
async function prepareModel(page) {
  const says = (name, expected) =>
    until(async () => expected.test(await figureOf(page, 'playground', name).summary()), name);
  await says('look', /^Layer/);
  await figureOf(page, 'playground', 'write').choose('Generate');
  const progress = () => page.evaluate(() => document.querySelector('#figure-playground-write progress').hidden);
  await says('write', /^\d+ tokens/);
  await until(progress, 'all tokens');
  await figureOf(page, 'playground', 'length').choose('Measure');
  await says('length', /^\d+ tokens/);
}

const hashOf = (change) =>
  `#${Object.entries(states)
    .map(([name, state]) => {
      const prefix = name.replace('-', '.');
      const given = change ? state : always[name];
      const fields = given?.split('&').map((field) => `${prefix}.${field}`) ?? [];
      return [...fields, `${prefix}.table=1`].join('&');
    })
    .join('&')}`;

test('every figure shows numbers that its program computes in Node, at first and after changes', async () => {
  const seen = new Map();
  for (const change of [false, true]) {
    const { page, complaints, close } = await open(browser, site.address, { hash: hashOf(change) });
    await bring(page, 'context', 'axes', 'linear', 'compare', 'speed');
    const hasModel = () => page.evaluate(() => document.querySelector('#figure-playground-length') !== null);
    await until(hasModel, 'the figures of a decoder');
    const names = await page.evaluate(() => Array.from(document.querySelectorAll('figure'), ({ id }) => id.slice(7)));
    // The chapters after them may have come along.
    const own = names.filter((name) => !/^lab-|^speed-(run|threads)$|^compare-results$/.test(name));
    assert.deepEqual(own.sort(), Object.keys(states).sort());
    await prepareModel(page);
    for (const name of Object.keys(states)) {
      const figure = figureOf(page, ...name.split('-'));
      const shown = (await figure.tables()).flat(2);
      const { result } = await runProgram(await figure.code(), ['result']);
      const computed = Array.from(result.flat?.() ?? result);
      assert.ok(shown.length > 0, `${name} has numbers`);
      assert.equal(shown.length, computed.length, `${name} shows as many numbers as its program gives`);
      for (const [i, value] of shown.entries()) {
        // Hidden cells show nothing; everything else has the same bits.
        const isSame = value === computed[i] || Math.abs(value - computed[i]) <= (tolerances[name] ?? 0);
        assert.ok(
          Number.isNaN(value) || isSame || isMeasured(name, i),
          `${name}, number ${i}: ${value}, computed ${computed[i]}`,
        );
      }
      const before = seen.get(name);
      seen.set(name, JSON.stringify(shown));
      // All models of one kind are of one size.
      if (change && name !== 'playground-model') {
        assert.notEqual(seen.get(name), before, `${name} changed with its state`);
      }
    }
    assert.deepEqual(complaints, []);
    await close();
  }
});

test('every question tells the right answer from the others, and of each other what speaks against it', async () => {
  const right = {};
  for (const locale of ['en-US', 'zh-CN']) {
    const { page, complaints, close } = await open(browser, site.address, { locale });
    await bring(page);
    const questions = await page.evaluate(() =>
      Array.from(document.querySelectorAll('.prediction'), (question) =>
        Array.from(question.querySelectorAll('.answer'), (answer) => {
          answer.click();
          const said = Array.from(question.querySelectorAll('.verdict p'), ({ textContent }) => textContent);
          const word = question.querySelector('.verdict strong').textContent;
          return { isRight: answer.classList.contains('right'), word, said };
        }),
      ),
    );
    right[locale] = questions.map((answers) => answers.findIndex(({ isRight }) => isRight));
    for (const [i, answers] of questions.entries()) {
      const { word, said } = answers[right[locale][i]];
      assert.equal(said.length, 1);
      const others = answers.filter(({ isRight }) => !isRight);
      assert.equal(others.length, answers.length - 1);
      for (const other of others) {
        assert.notEqual(other.word, word);
        assert.equal(other.said.length, 2, 'what speaks against it, then the explanation');
        assert.equal(other.said[1], said[0].slice(word.length));
      }
      assert.equal(new Set(others.map(({ said: [against] }) => against)).size, others.length);
    }
    assert.deepEqual(complaints, []);
    await close();
  }
  assert.ok(right['en-US'].length >= 10);
  assert.deepEqual(right['zh-CN'], right['en-US']);
});

test('both languages have the same parts in the same order', async () => {
  const parts = {};
  for (const locale of ['en-US', 'zh-CN']) {
    const { page, close } = await open(browser, site.address, { locale });
    await bring(page);
    parts[locale] = await page.evaluate(() =>
      Array.from(document.querySelectorAll('.chapter'), (chapter) => {
        const all = chapter.querySelectorAll(':is(h2, h3, p, dt, dd, figure, math, pre, button, label, input, legend)');
        return `${chapter.id}: ${Array.from(all, ({ tagName }) => tagName).join(' ')}`;
      }),
    );
    await close();
  }
  assert.equal(parts['en-US'].length, parts['zh-CN'].length);
  for (const [i, chapter] of parts['en-US'].entries())
    assert.ok(chapter === parts['zh-CN'][i], `${chapter.slice(0, 30)}`);
});
