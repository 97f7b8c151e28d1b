// The rotation figure: arrows, sliders, and a score that keeps only the distance.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { figureOf, open, runProgram, until, withChromium } from './site.mjs';

const { site, browser } = await withChromium();
const core = await load({ simd: 'deterministic' });

const figure = (page) => page.locator('#figure-rope-pair');
const score = async (page) => Number(await figure(page).locator('.score-value').getAttribute('data-value'));
const printed = (page) => figure(page).locator('.score-value').textContent();
const slider = (page, name) => figure(page).getByRole('slider', { name });
const turnedArrow = (page) => figure(page).locator('.plane .query path.turned').getAttribute('d');

// The score as the package computes it, in the layout with pairs (i, i + 32), which the page does not use.
function expected({ q, k, m, n, pair }) {
  const plan = core.rope({ headDim: 64 });
  const turn = ([x, y], position) => {
    const token = new Float32Array(64);
    token[pair] = x;
    token[pair + 32] = y;
    const out = plan.rotate(token, { offset: position });
    return [out[pair], out[pair + 32]];
  };
  const [a, b] = [turn(q, m), turn(k, n)];
  plan.dispose();
  // The core's float32 arithmetic: each product and their sum rounded.
  return Math.fround(Math.fround(a[0] * b[0]) + Math.fround(a[1] * b[1]));
}

const polar = (degrees, length) => {
  const radians = (degrees * Math.PI) / 180;
  return [length * Math.cos(radians), length * Math.sin(radians)].map((v) => Number(v.toFixed(4)));
};
const initial = { q: polar(20, 1), k: polar(75, 0.8), m: 12, n: 5, pair: 8 };

test('the score is that of the package, for any position and pair set with the keyboard', async () => {
  const { page, complaints, close } = await open(browser, site.address);
  assert.equal(await score(page), expected(initial));
  const before = await turnedArrow(page);

  await slider(page, /Position m/).focus();
  for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowRight');
  assert.equal(await score(page), expected({ ...initial, m: 15 }));
  assert.notEqual(await turnedArrow(page), before);
  assert.equal(await slider(page, /Position m/).getAttribute('aria-valuetext'), 'position 15');

  await slider(page, /Position n/).focus();
  await page.keyboard.press('End');
  await figure(page).getByText('More settings').click();
  await slider(page, /Pair/).focus();
  await page.keyboard.press('Home');
  assert.equal(await score(page), expected({ ...initial, m: 15, n: 64, pair: 0 }));
  assert.match(await slider(page, /Pair/).getAttribute('aria-valuetext'), /^pair 0, frequency 1 radians.*every 6\.28/);
  assert.equal(await printed(page), (await score(page)).toFixed(6).replace('-', '−'));
  assert.deepEqual(complaints, []);
  await close();
});

test('with the distance locked both positions move and the score keeps its six digits', async () => {
  const { page, close } = await open(browser, site.address);
  await figure(page).getByLabel('Lock the distance').check();
  const [digits, first] = [await printed(page), await score(page)];
  await slider(page, /Position n/).focus();
  for (let i = 0; i < 20; ++i) {
    await page.keyboard.press('ArrowRight');
    assert.equal(await printed(page), digits);
    assert.ok(Math.abs((await score(page)) - first) < 3e-7);
  }
  assert.equal(await slider(page, /Position m/).inputValue(), '32');
  assert.equal(await slider(page, /Position n/).inputValue(), '25');

  // The query is the first to reach the end; the key then stays as far behind as before.
  await page.keyboard.press('End');
  assert.equal(await slider(page, /Position m/).inputValue(), '64');
  assert.equal(await slider(page, /Position n/).inputValue(), '57');
  assert.equal(await printed(page), digits);
  assert.match(await figure(page).locator('.score-notes').textContent(), /moved by at most 0(\.0000000\d)?\./);

  await figure(page).getByLabel('Lock the distance').uncheck();
  await page.keyboard.press('Tab');
  await slider(page, /Position n/).focus();
  await page.keyboard.press('ArrowLeft');
  assert.notEqual(await printed(page), digits);
  await close();
});

test('arrows are dragged by their rings and turned with the keyboard', async () => {
  const { page, close } = await open(browser, site.address);
  const ring = slider(page, /Arrow of the query/);
  const plane = await figure(page).locator('.plane').boundingBox();
  await ring.scrollIntoViewIfNeeded();
  const box = await ring.locator('.ring').boundingBox();
  const moved = await figure(page).locator('.plane').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  // Straight to the left of the centre, on the unit circle.
  await page.mouse.move(moved.x + moved.width / 2 - (moved.width * 100) / 280, moved.y + moved.height / 2, {
    steps: 4,
  });
  await page.mouse.up();
  assert.ok(plane.width > 0);
  assert.match(await ring.getAttribute('aria-valuetext'), /^angle −?180 degrees, length (1\.0|0\.9)\d$/);

  await slider(page, /Arrow of the key/).focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowUp');
  assert.equal(await slider(page, /Arrow of the key/).getAttribute('aria-valuetext'), 'angle 80 degrees, length 0.85');
  const [, angle, length] = /angle (\S+) degrees, length (\S+)/.exec(await ring.getAttribute('aria-valuetext'));
  const q = polar(Number(angle.replace('−', '-')), Number(length));
  assert.equal(await score(page), expected({ ...initial, q, k: polar(80, 0.85) }));
  await close();
});

test('the curve and its table hold the score of every distance', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#rope.pair.table=1&rope.pair.pair=3' });
  const values = await page.evaluate(() =>
    Array.from(document.querySelectorAll('#figure-rope-pair .tables td[data-value]'), (cell) =>
      Number(cell.dataset.value),
    ),
  );
  assert.equal(values.length, 129);
  for (const distance of [-64, -1, 0, 7, 64]) {
    assert.equal(values[distance + 64], expected({ ...initial, pair: 3, m: distance, n: 0 }));
  }
  assert.ok(Math.abs(values[7 + 64] - (await score(page))) < 3e-7, 'the score now lies on the curve');
  await close();
});

test('the program beside the picture runs in Node and gives the score of the picture', async () => {
  const { page, close } = await open(browser, site.address, {
    hash: '#rope.pair.q=-100,0.7&rope.pair.pair=2&rope.pair.n=60',
  });
  const code = await until(
    () =>
      figure(page)
        .locator('details code')
        .evaluate((e) => e.textContent),
    'a program',
  );
  assert.equal((await runProgram(code, ['score'])).score, await score(page));
  await close();
});

test('an arrow of length 1 turns another number by its own angle, or the conjugate of that number', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en&rope.arrows.m=7' });
  const own = page.locator('#figure-rope-arrows');
  const arrows = () =>
    own.locator('.turning > g:not(.away)').evaluateAll((all) => all.map(({ textContent }) => textContent));
  const told = () => own.locator('.summary').textContent();
  assert.deepEqual(await arrows(), ['u', 'z', 'uz']);
  assert.match(await told(), /^φ = 126\.8°, u = −0\.60 \+ 0\.80i\. z is at 23\.2°, the product at 150\.0°;/);
  await own.getByRole('checkbox', { name: 'Conjugate z' }).check();
  assert.deepEqual(await arrows(), ['u', 'z', 'z*', 'uz*']);
  assert.match(await told(), /z\* is at −23\.2°, the product at 103\.6°;/);
  const [[u, z, product, conjugate, other]] = await figureOf(page, 'rope', 'arrows').tables();
  const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];
  const angle = 7 * 10000 ** (-8 / 64);
  assert.deepEqual(conjugate, [z[0], -z[1]]);
  for (const [shown, computed] of [
    [u, [Math.cos(angle), Math.sin(angle)]],
    [product, times(u, z)],
    [other, times(u, conjugate)],
  ]) {
    for (const part of [0, 1]) assert.ok(Math.abs(shown[part] - computed[part]) < 1e-6, `${shown} and ${computed}`);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('the derivation is walked step by step: its formula, its words and its arrows change, and the address keeps the step', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en' });
  const own = page.locator('#figure-rope-steps');
  const [back, next] = ['Step back', 'Step'].map((name) => own.getByRole('button', { name, exact: true }));
  const told = () => own.locator('.steps-told').textContent();
  const shownArrows = () => own.locator('.turning > g:not(.away)').count();
  assert.ok(await back.isDisabled());
  const seen = [await told()];
  for (let step = 2; step <= 7; ++step) {
    await next.click();
    assert.match(page.url(), new RegExp(`rope\\.steps\\.step=${step}(&|$)`));
    assert.ok((await own.locator('math').count()) > 0);
    seen.push(await told());
  }
  assert.equal(new Set(seen).size, 7);
  assert.ok(await next.isDisabled());
  assert.ok(await back.evaluate((button) => button === document.activeElement), 'the keyboard goes on');
  // Query, key and product, and where the first two were.
  assert.equal(await shownArrows(), 5);
  assert.match(await own.locator('.summary').textContent(), /^At distance 3 the dot product is −0\.2884\.$/);
  await back.click();
  assert.equal(await told(), seen[5]);
  // Where it was, at each position up to m = 5, and where it is.
  assert.equal(await shownArrows(), 6);
  assert.deepEqual(complaints, []);
  await close();
});

test('each arrow that turns bears its own name at every step, and no name lies on another or outside', async () => {
  for (const width of [320, 1280]) {
    const { page, complaints, close } = await open(browser, site.address, {
      hash: '#lang=en',
      viewport: { width, height: 900 },
    });
    const found = await page.evaluate(async () => {
      const [arrows, steps] = ['arrows', 'steps'].map((name) => document.querySelector(`#figure-rope-${name}`));
      const shown = (figure) =>
        Array.from(figure.querySelectorAll('.turning > g:not(.away) text')).filter(({ textContent }) => textContent);
      const faults = [];
      const look = (figure, state) => {
        const { left, top, width, height } = figure.querySelector('.turning').getBoundingClientRect();
        const room = new DOMRect(left - 1, top - 1, width + 2, height + 2); // a slanted letter leans out of its box
        const names = shown(figure).map((text) => [text.textContent, text.getBoundingClientRect()]);
        for (const [i, [name, box]] of names.entries()) {
          const isOut =
            box.left < room.left || box.right > room.right || box.top < room.top || box.bottom > room.bottom;
          if (isOut) faults.push(`${state}: ${name} outside`);
          for (const [other, { left, right, top, bottom }] of names.slice(i + 1)) {
            const wide = Math.min(box.right, right) - Math.max(box.left, left);
            const high = Math.min(box.bottom, bottom) - Math.max(box.top, top);
            // A line of text is higher than its letters.
            if (wide > 1 && high > 0.3 * box.height) faults.push(`${state}: ${name} on ${other}`);
          }
        }
      };
      const set = (input, value) => {
        input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
      };
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const [range, star] = arrows.querySelectorAll('input');
      for (let turn = 0; turn < 42; ++turn) {
        if (turn === 21) star.click();
        set(range, turn % 21);
        await frame();
        look(arrows, `m = ${turn % 21}`);
      }
      const [m, n] = steps.querySelectorAll('input[type=range]');
      const atSteps = [];
      for (let step = 1; step <= 7; ++step) {
        atSteps.push(shown(steps).map(({ textContent }) => textContent));
        for (let i = 0; i < (step < 5 ? 1 : step < 7 ? 13 : 169); ++i) {
          set(m, i % 13);
          set(n, Math.floor(i / 13));
          await frame();
          look(steps, `step ${step}, m = ${m.value}, n = ${n.value}`);
        }
        steps.querySelectorAll('.steps-walk button')[1].click();
        await frame();
      }
      return { faults, atSteps };
    });
    assert.deepEqual(found.faults, [], `${width}`);
    // As in the formula beside: at the step of the angle both stand at m, and the product of the answer is g.
    assert.deepEqual(found.atSteps[1], ['q', 'k', 'qk*']);
    assert.deepEqual(found.atSteps[4], ['q', 'k', 'f(q, m)', 'f(k, m)']);
    assert.deepEqual(found.atSteps[6], ['q', 'k', 'f(q, m)', 'f(k, n)', 'g']);
    assert.deepEqual(complaints, []);
    await close();
  }
});

test('arrows of the derivation turn slowly where motion is welcome, and at once elsewhere', async () => {
  for (const [reducedMotion, seconds] of [
    ['reduce', '0s'],
    ['no-preference', '0.8s'],
  ]) {
    const { page, close } = await open(browser, site.address, { hash: '#rope.steps.step=5', reducedMotion });
    const turner = page.locator('#figure-rope-steps .turner').first();
    assert.equal(await turner.evaluate((e) => getComputedStyle(e).transitionDuration), seconds);
    await close();
  }
});

test('the matrix, the efficient form and the loop give what sines and cosines of the angles give, and the package', async () => {
  const { page, complaints, close } = await open(browser, site.address, { hash: '#lang=en' });
  const own = figureOf(page, 'rope', 'ways');
  const D = 8;
  const x = Array.from({ length: D }, (_, i) => i + 1);
  const check = async (m, pairing, pairs) => {
    const [matrix, forms] = await own.tables();
    const rows = matrix.map((row) => row.map(() => 0));
    for (const [i, [a, b]] of pairs.entries()) {
      const angle = m * 100 ** ((-2 * i) / D);
      rows[a][a] = rows[b][b] = Math.cos(angle);
      rows[b][a] = Math.sin(angle);
      rows[a][b] = -rows[b][a];
    }
    const plan = core.rope({ headDim: D, base: 100, pairing });
    const rotated = plan.rotate(Float32Array.from(x), { offset: m });
    plan.dispose();
    let apart = 0;
    for (let i = 0; i < D; ++i) {
      for (let j = 0; j < D; ++j) assert.ok(Math.abs(matrix[i][j] - rows[i][j]) <= 6e-8, `entry ${i}, ${j}`);
      const exact = rows[i].reduce((sum, entry, j) => sum + entry * x[j], 0);
      // Two products of numbers up to 8 with cosines and sines in float32, and their sum.
      for (const value of forms[i]) assert.ok(Math.abs(value - exact) <= 2e-6, `${value} for ${exact}`);
      assert.equal(forms[i][3], rotated[i]);
      for (const value of forms[i].slice(0, 3)) apart = Math.max(apart, Math.abs(value - rotated[i]));
    }
    const [, said] = / more than ([\d.]+) from/.exec(await own.summary());
    assert.ok(Number(said) >= apart && Number(said) < 1.1 * apart + 1e-12, `${said} for ${apart}`);
    await own.choose('View as picture');
  };
  const [neighbours, halves] = [[0, 1, 2, 3].map((i) => [2 * i, 2 * i + 1]), [0, 1, 2, 3].map((i) => [i, i + D / 2])];
  await check(1, 'interleaved', neighbours);
  await own.choose('halves');
  await own.press('Position m', 'End');
  await check(24, 'half', halves);
  await own.press('Position m', 'Home');
  await check(0, 'half', halves);
  assert.deepEqual(complaints, []);
  await close();
});

test('a pair is marked in all three forms: the one that is chosen, or the one that is pointed at', async () => {
  const { page, close } = await open(browser, site.address, { hash: '#lang=en&rope.ways.pair=2' });
  const tables = page.locator('#figure-rope-ways .group-tables table');
  const marked = () =>
    tables.evaluateAll((all) =>
      all.map((table) => Array.from(table.querySelectorAll('.marked'), ({ dataset }) => dataset.group)),
    );
  // Two rows: of the matrix two entries, the vector and the result; five numbers; the products and the result.
  const counts = [8, 10, 4];
  const expected = (pair) => counts.map((count) => Array(count).fill(pair));
  assert.deepEqual(await marked(), expected('2'));
  await tables.nth(2).locator('[data-group="0"]').first().hover();
  assert.deepEqual(await marked(), expected('0'));
  await tables.nth(1).locator('th').first().hover();
  assert.deepEqual(await marked(), expected('2'));
  await tables.nth(1).locator('[data-group="3"]').first().click();
  assert.deepEqual(await marked(), expected('3'));
  assert.match(page.url(), /rope\.ways\.pair=3/);
  const notes = await page.locator('#figure-rope-ways .group-tables .strip-note').allTextContents();
  assert.deepEqual(
    notes.map((note) => Number(/^\d+/.exec(note)[0])),
    [8 * 8, 2 * 8, 4 * 4],
  );
  const zeros = await tables.first().locator('td:not([data-group])').allTextContents();
  assert.equal(zeros.filter((text) => text === '0').length, Number(/, (\d+) of them/.exec(notes[0])[1]));
  await close();
});
