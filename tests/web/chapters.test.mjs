// The main figure of each chapter in use, in Chromium and Firefox: its numbers change according to the formulas and are
// those of the package.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, mropePositions } from 'ropewalk';
import { wordVector } from '../../web/src/programs/word-vector.js';
import { bring, browsers, figureOf, until, withBoth } from './site.mjs';

const [{ site, both }, core] = await Promise.all([withBoth(), load({ simd: 'deterministic' })]);
// One page in each: figures have nothing to do with each other.
const pages = {};
for (const name of browsers) pages[name] = await both.open(name, site.address, { hash: '#lang=en' });

const times = (n, key) => Array.from({ length: n }, () => key);
const whole = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const column = (table, i) => table.map((row) => row[i]);
const near = (a, b, tolerance) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${a} and ${b} differ by more than ${tolerance}`);

// What a figure says its largest difference to be is not less than it is; rounded to the nearest it could be.
const isBound = async (figure, table, sentence) => {
  const largest = Math.max(...column((await figure.tables())[table], 0));
  const said = sentence.exec(await figure.summary())[1];
  assert.ok(Number(said) >= largest && Number(said) < 1.2 * largest, `${said} for ${largest}`);
};

const outputs = (words, encoding) => {
  const data = Float32Array.from(words.flatMap((word) => wordVector(word, 16)));
  const layer = core.attentionLayer({ modelDim: 16, heads: 2, position: { encoding }, seed: 1 });
  const { data: out } = layer.forward({ data, shape: [words.length, 16] }).out;
  layer.dispose();
  return words.map((_, i) => Array.from(out.subarray(16 * i, 16 * i + 16)));
};

const chapters = {
  async 'order: moved words take their output along, until an encoding sees where they stand'(page) {
    const figure = figureOf(page, 'order', 'words');
    const words = ['the', 'dog', 'chased', 'the', 'cat'];
    const [first] = await figure.tables();
    assert.deepEqual(first, outputs(words, 'none'));
    await figure.choose('View as picture');
    const type = (text) =>
      page.evaluate((text) => {
        const input = document.querySelector('#figure-order-words input[type=text]');
        input.value = text;
        input.dispatchEvent(new Event('input', { bubbles: true }));
      }, text);
    for (const [text, notice, summary] of [
      ['', /^Type a word or two\.$/, /^$/],
      ['alone', /^$/, /^A single word can only look at itself\.$/],
      [times(40, 'a').join(' '), /^The picture shows the first 20 of 40 words\.$/, /^The words stand/],
      [words.join(' '), /^$/, /^The words stand/],
    ]) {
      await type(text);
      await until(async () => notice.test(await figure.notice()), text);
      assert.match(await figure.summary(), summary);
    }
    // “dog” to the end, by keyboard.
    await page.evaluate(() => document.querySelectorAll('#figure-order-words .chip')[1].focus());
    for (const key of times(3, 'ArrowRight')) await page.keyboard.press(key);
    const moved = ['the', 'chased', 'the', 'cat', 'dog'];
    assert.deepEqual(
      await page.evaluate(() => Array.from(document.querySelectorAll('.chip'), (chip) => chip.textContent)),
      moved,
    );
    assert.match(await figure.summary(), /the same columns/);
    const [second] = await figure.tables();
    assert.deepEqual(second, outputs(moved, 'none'));
    // The sum over the words runs in another order: rounding, 16 numbers of at most 3.
    for (const [to, from] of [0, 2, 3, 4, 1].entries()) {
      for (const [d, value] of second[to].entries()) near(value, first[from][d], 1e-5);
    }
    await figure.choose('RoPE');
    const [turned] = await figure.tables();
    assert.deepEqual(turned, outputs(moved, 'rope'));
    assert.match(await figure.summary(), /other columns/);
  },

  async 'order: what a column says that it has changed by at most is not less than it has'(page) {
    const figure = figureOf(page, 'order', 'words');
    await figure.choose('Reset', 'RoPE');
    const [before] = await figure.tables();
    await figure.choose('View as picture');
    await page.evaluate(() => document.querySelectorAll('#figure-order-words .chip')[0].focus());
    for (const key of times(4, 'ArrowRight')) await page.keyboard.press(key);
    const notes = await page.evaluate(() =>
      Array.from(document.querySelectorAll('#figure-order-words .chip-note'), ({ textContent }) => textContent),
    );
    const [after] = await figure.tables();
    const most = after.map((row, i) => Math.max(...row.map((value, d) => Math.abs(value - before[(i + 1) % 5][d]))));
    for (const [i, note] of notes.entries()) {
      const said = Number(note.slice(1));
      assert.ok(said >= most[i] && said < most[i] + 0.011, `${note} for ${most[i]}`);
    }
    const [, said] = /at most ([\d.]+)\.$/.exec(await figure.summary());
    assert.ok(Number(said) >= Math.max(...most), said);
    await figure.choose('View as picture', 'Reset');
  },

  async 'binary: all bits flip from 7 to 8, and what has no code is refused'(page) {
    const figure = figureOf(page, 'binary', 'code');
    const [codes, flips] = await figure.tables();
    assert.deepEqual(codes[7], [0, 1, 1, 1]);
    assert.deepEqual(codes[8], [1, 0, 0, 0]);
    assert.equal(flips[7][0], 4);
    assert.match(await figure.summary(), /0111 becomes 1000, 4 bits/);
    await figure.press('Position', ...times(9, 'ArrowRight'));
    assert.match(await figure.notice(), /position.* is 16; 4 bits hold positions from 0 to 15/);
    await figure.press('Bits', 'ArrowRight');
    assert.equal(await figure.notice(), '');
    assert.equal((await figure.tables())[0].length, 32);
  },

  async 'sinusoid: the table is the package’s; with two columns the base does nothing'(page) {
    const figure = figureOf(page, 'sinusoid', 'map');
    const expected = (dim, base) => Array.from(core.sinusoidal({ dim, base, positions: { length: 96 } }));
    assert.deepEqual((await figure.tables()).flat(2), expected(32, 10000));
    await figure.press('Base', 'ArrowRight');
    assert.deepEqual((await figure.tables()).flat(2), expected(32, 100000));
    await figure.press('Columns', 'Home');
    const two = (await figure.tables()).flat(2);
    await figure.press('Base', 'Home', 'ArrowRight');
    assert.deepEqual((await figure.tables()).flat(2), two);
    assert.deepEqual(two, expected(2, 10));
    assert.match(await figure.summary(), /one wave in 6\.28 positions/);
  },

  async 'sinusoid: the hands of the clocks are sine and cosine of the position'(page) {
    const figure = figureOf(page, 'sinusoid', 'clocks');
    await figure.press('Position', ...times(3, 'ArrowRight'));
    const [hands] = await figure.tables();
    assert.deepEqual(hands.flat(), Array.from(core.sinusoidal({ dim: 16, positions: [23] })));
    near(hands[0][0], Math.sin(23), 1e-7);
  },

  async 'algebra: the dot product cannot see direction, and a shift matrix moves its peak'(page) {
    const figure = figureOf(page, 'algebra', 'dot');
    const curve = column((await figure.tables())[0], 0);
    const distances = Array.from({ length: 97 }, (_, i) => i - 48);
    const exact = core.analysis.dotCurve({ dim: 64, distances });
    for (const [i, value] of curve.entries()) {
      near(value, exact[i], 2e-5);
      near(value, curve[96 - i], 2e-5);
    }
    await figure.press('Shift by a matrix', ...times(6, 'ArrowRight'));
    const moved = column((await figure.tables())[0], 0);
    assert.equal(moved.indexOf(Math.max(...moved)), 48 + 6);
    for (let i = 6; i < 97; ++i) near(moved[i], curve[i - 6], 2e-5);
  },

  async 'algebra: one matrix shifts every position'(page) {
    const figure = figureOf(page, 'algebra', 'shift');
    const [matrix, rows] = await figure.tables();
    await figure.press('Position p', ...times(5, 'ArrowRight'));
    const [same, others] = await figure.tables();
    assert.deepEqual(same, matrix);
    assert.notDeepEqual(others, rows);
    for (const [before, moved, after] of [rows, others]) {
      for (const [i, value] of moved.entries()) {
        near(value, after[i], 5e-7);
        near(
          value,
          matrix[i].reduce((sum, m, j) => sum + m * before[j], 0),
          5e-7,
        );
      }
    }
    // How far the product is from the row is no more than what is said of it, at whatever place.
    for (let step = 0; step < 8; ++step) {
      await figure.press('Position p', ...times(7, 'ArrowRight'));
      const [, [, moved, after]] = await figure.tables();
      const said = /at most ([\d.]*\d)|all numbers are the same/.exec(await figure.summary());
      assert.ok(Math.max(...moved.map((value, i) => Math.abs(value - after[i]))) <= Number(said[1] ?? 0), said[0]);
    }
  },

  async 'relative: the clipping matrix, and three maps that are striped'(page) {
    const rows = figureOf(page, 'relative', 'rows');
    await rows.press('Words', ...times(3, 'ArrowLeft'));
    assert.deepEqual((await rows.tables())[0], [
      [2, 3, 4, 4, 4],
      [1, 2, 3, 4, 4],
      [0, 1, 2, 3, 4],
      [0, 0, 1, 2, 3],
      [0, 0, 0, 1, 2],
    ]);
    assert.match(await rows.summary(), /has 5 rows, and at this length all of them are used/);
    await rows.press('Clipping', ...times(3, 'ArrowRight'));
    assert.match(await rows.summary(), /has 11 rows.*9 of them are used and 2 are not/);
    await rows.press('Clipping', 'Home');
    assert.match(await rows.summary(), /has a single row/);

    const maps = figureOf(page, 'relative', 'maps');
    await maps.press('Head', 'Home');
    const [shaw, t5, alibi] = await maps.tables();
    const summary = await maps.summary();
    for (const map of [shaw, t5, alibi]) {
      for (let i = 1; i < 24; ++i) for (let j = 1; j < 24; ++j) assert.equal(map[i][j], map[i - 1][j - 1]);
    }
    assert.equal(alibi[9][0], -4.5);
    // What T5 adds, a number for each bucket; no bucket has a magnitude.
    const buckets = Array.from(core.t5Buckets(whole(-23, 23)));
    const numbers = new Map(buckets.map((bucket, i) => [bucket, i < 23 ? t5[23 - i][0] : t5[0][i - 23]]));
    for (const [i, bucket] of buckets.entries())
      assert.equal(i < 23 ? t5[23 - i][0] : t5[0][i - 23], numbers.get(bucket));
    assert.ok(new Set(numbers.values()).size > 10 && [...numbers.values()].some((number) => number < 0));
    const [, said] = /T5 adds the (\S+) of bucket 8,/.exec(summary);
    near(Number(said.replace('−', '-')), t5[9][0], 1e-6);
    assert.deepEqual([shaw[4][0], shaw[9][0], shaw[0][9]], [0, 0, 8]);
  },

  async 'relative: queries, keys, values, weights and output are those of sums in double precision'(page) {
    const figure = figureOf(page, 'relative', 'head');
    const words = ['the', 'dog', 'chased', 'the', 'cat'];
    const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
    const x = words.map((word) => wordVector(word, 4).map(Math.fround));
    const [q, k, v] = ['query', 'key', 'value'].map((name) => {
      const matrix = wordVector(`${name} matrix`, 8).map(Math.fround);
      return x.map((row) => [dot(matrix.slice(0, 4), row), dot(matrix.slice(4), row)]);
    });
    const check = async (at) => {
      const [made, looked, [out]] = await figure.tables();
      const scores = k.map((key) => dot(q[at], key) / Math.sqrt(2));
      const sum = scores.reduce((all, score) => all + Math.exp(score), 0);
      const expected = [0, 0];
      for (const j of whole(0, 4)) {
        for (const [i, value] of [...x[j], ...q[j], ...k[j], ...v[j]].entries()) near(made[j][i], value, 2e-6);
        const weight = Math.exp(scores[j]) / sum;
        const parts = v[j].map((value) => weight * value);
        for (const [i, value] of [scores[j], weight, ...parts].entries()) near(looked[j][i], value, 5e-6);
        for (const i of [0, 1]) expected[i] += parts[i];
      }
      for (const i of [0, 1]) near(out[i], expected[i], 5e-6);
      // The text says that the same word has the same numbers.
      assert.deepEqual(made[0], made[3]);
      assert.deepEqual(looked[0], looked[3]);
    };
    await check(1);
    assert.match(
      await figure.summary(),
      /^“dog” takes most from “cat”, with the weight 0\.63\. .* \(0\.66, 0\.65\)\.$/,
    );
    await figure.press('Word', 'End');
    await check(4);
    await figure.choose('View as picture');
    const marked = () =>
      page.evaluate(() =>
        Array.from(document.querySelectorAll('#figure-relative-head .group-tables table'), (table) =>
          Array.from(table.querySelectorAll('.marked'), (cell) => cell.parentElement.cells[0].textContent),
        ),
      );
    const all = (word) => [times(4, word), [], times(6, word), times(4, word)];
    assert.deepEqual(await marked(), all('cat'));
    await page.evaluate(() => document.querySelectorAll('#figure-relative-head td[data-group="2"]')[0].click());
    assert.deepEqual(await marked(), all('chased'));
    await check(2);
  },

  async 'relative: the terms of Shaw and M4 add up to their scores, and M3 multiplies three vectors'(page) {
    const figure = figureOf(page, 'relative', 'terms');
    const [words, dim] = [12, 8];
    const rows = (name, count) => whole(0, count - 1).map((i) => wordVector(`${name} 1 ${i}`, dim).map(Math.fround));
    const [q, k, table] = [rows('query', words), rows('key', words), rows('distance', 2 * words - 1)];
    const product = (...vectors) =>
      whole(0, dim - 1).reduce((sum, d) => sum + vectors.reduce((all, vector) => all * vector[d], 1), 0) /
      Math.sqrt(dim);
    // Rows of the table go from the least distance, key minus query, to the largest.
    const map = (term) =>
      whole(0, words - 1).map((i) => whole(0, words - 1).map((j) => term(q[i], k[j], table[j - i + 11])));
    const parts = [map((q, k) => product(q, k)), map((q, _, a) => product(q, a)), map((_, k, a) => product(k, a))];
    const sum = (maps) => maps[0].map((row, i) => row.map((_, j) => maps.reduce((all, each) => all + each[i][j], 0)));
    for (const [method, expected] of [
      ['M4', [...parts, sum(parts)]],
      ['Shaw', [...parts.slice(0, 2), sum(parts.slice(0, 2))]],
      ['M3', [map((q, k, a) => product(q, k, a))]],
    ]) {
      await figure.choose(method);
      const shown = await figure.tables();
      assert.equal(shown.length, expected.length, method);
      // Products of eight numbers of at most √3, and differences of them, in float32.
      for (const [t, term] of expected.entries())
        for (const [i, row] of term.entries())
          for (const [j, value] of row.entries()) near(shown[t][i][j], value, 4e-6);
    }
  },

  async 'relative: a learned table ends, and can be extended'(page) {
    const figure = figureOf(page, 'relative', 'learned');
    const [own] = await figure.tables();
    await figure.press('Position', ...times(4, 'ArrowRight'));
    assert.match(await figure.notice(), /is 16; the table has positions from 0 to 15/);
    await page.evaluate(() => document.querySelector('#figure-relative-learned .flag input').click());
    assert.equal(await figure.notice(), '');
    const [longer] = await figure.tables();
    assert.equal(longer.length, 40);
    for (const [p, row] of own.entries()) for (const [d, value] of row.entries()) near(longer[p][d], value, 1e-6);
    await figure.choose('View as picture');
    // The frame of a position is around its column; on the cells themselves nothing is drawn.
    const seen = () =>
      page.evaluate(() => {
        const [plot, frame] = ['plot', 'frame'].map((name) =>
          document.querySelector(`#figure-relative-learned .field-${name}`)?.getBoundingClientRect(),
        );
        const first = frame && (40 * (frame.left - plot.left)) / plot.width;
        const last = frame && (40 * (frame.right - plot.left)) / plot.width;
        return { first, last, cells: document.querySelector('#figure-relative-learned canvas').toDataURL() };
      });
    const before = await seen();
    near(before.first, 16, 0.05);
    near(before.last, 17, 0.05);
    await figure.press('Position', 'End');
    const after = await seen();
    near(after.first, 39, 0.05);
    near(after.last, 40, 0.05);
    assert.equal(after.cells, before.cells);
  },

  async 'rope: walking on turns both hands and leaves the angle between them'(page) {
    const figure = figureOf(page, 'rope', 'clocks');
    const [query, , between] = await figure.tables();
    await figure.press('Position n', ...times(20, 'ArrowRight'));
    const [later, key, same] = await figure.tables();
    assert.notDeepEqual(later, query);
    assert.deepEqual(same, between);
    for (const [i, [cos, sin]] of same.entries()) {
      near(later[i][0] * key[i][0] + later[i][1] * key[i][1], cos, 3e-7);
      near(later[i][1] * key[i][0] - later[i][0] * key[i][1], sin, 3e-7);
    }
  },

  async 'the scorecard grows by the encodings of each chapter, and says why'(page) {
    const cards = await page.evaluate(() =>
      Array.from(document.querySelectorAll('.scorecard'), (card) => [
        card.closest('.chapter').id,
        Array.from(card.tBodies, ({ rows: [marks, reason] }) => [
          marks.cells[0].textContent,
          marks.cells.length,
          reason.textContent.length > 20,
        ]),
      ]),
    );
    const names = ['Binary', 'Sinusoidal', 'Learned', 'Shaw', 'T5', 'ALiBi', 'RoPE'];
    assert.deepEqual(
      cards,
      [
        ['binary', 1],
        ['algebra', 2],
        ['relative', 6],
        ['rope', 7],
      ].map(([id, count]) => [`chapter-${id}`, names.slice(0, count).map((name) => [name, 5, true])]),
    );
  },

  async 'rope: pairs add up to the score, and it tells before from after'(page) {
    const figure = figureOf(page, 'rope', 'sum');
    const [table] = await figure.tables();
    const [q, k] = ['query', 'key'].map((name) => wordVector(`${name} 1`, 6));
    for (const [row, [...parts]] of table.entries()) {
      const score = parts.pop();
      for (const [i, part] of parts.entries()) {
        const turn = (row - 16) * 100 ** ((-2 * i) / 6);
        const [a, b] = [q.slice(2 * i, 2 * i + 2), k.slice(2 * i, 2 * i + 2)];
        const angle = Math.atan2(a[1], a[0]) - Math.atan2(b[1], b[0]);
        near(part, Math.hypot(...a) * Math.hypot(...b) * Math.cos(angle + turn), 2e-6);
      }
      near(
        score,
        parts.reduce((a, b) => a + b),
        1e-6,
      );
    }
    const [, before, after] = /≈ (\S+)\. At distance −5 it is (\S+)\.$/.exec(await figure.summary());
    assert.notEqual(before, after);
  },

  async 'rope: the worked example, the two layouts, the mistake'(page) {
    const worked = figureOf(page, 'rope', 'worked');
    const turned = (await worked.tables())[0].at(-1);
    const exact = [-2.234741690198506, 0.0770037537313969, 2.919405353226401, 4.05919602674631];
    for (const [i, value] of turned.entries()) near(value, exact[i], 3e-7);

    const layout = figureOf(page, 'rope', 'layout');
    assert.match(await layout.summary(), /All three hold the numbers that went in/);
    await layout.press('Position', 'ArrowRight', 'ArrowRight');
    const [[[...interleaved]], [[...half]], [[...mixed]]] = await layout.tables();
    for (const [i, value] of interleaved.entries()) assert.equal(half[(i % 2) * 4 + (i >> 1)], value);
    assert.notDeepEqual(mixed, interleaved);

    const broken = figureOf(page, 'rope', 'broken');
    const [scores] = await broken.tables();
    const spread = (values) => Math.max(...values) - Math.min(...values);
    // Scores of about 70 out of products of up to 100 in float32.
    assert.ok(spread(column(scores, 0)) < 1e-4);
    assert.ok(spread(column(scores, 1)) > 100);
  },

  async 'decay: Su’s curve, its published values, and random scores in the background'(page) {
    const curves = figureOf(page, 'decay', 'curves');
    const [table] = await curves.tables();
    const published = { 1: 31.538166, 10: 17.954137, 100: 10.22733, 256: 6.543097 };
    for (const [distance, value] of Object.entries(published)) near(table[distance][1], value / 32.5, 1e-6);
    near(table[128][0], core.analysis.dotCurve({ dim: 128, distances: [128] })[0] / 64, 0);

    const random = figureOf(page, 'decay', 'random');
    await random.press('Queries', 'ArrowLeft');
    assert.match(await random.summary(), /^30 queries/);
    await random.choose('Run');
    await until(async () => /^300 queries/.test(await random.summary()), 'the worker');
    const [means] = await random.tables();
    for (const [mean, spread] of means) {
      // The mean of 300 scores: five of its own standard deviations.
      assert.ok(Math.abs(mean) < (5 * spread) / Math.sqrt(300));
      near(spread, 1 / 8, 0.03);
    }
    await random.press('Queries', 'End');
    await random.choose('Run', 'Cancel');
    await until(
      () => page.evaluate(() => document.querySelector('#figure-decay-random .work').textContent === 'RunCancelled.'),
      'the end',
    );
  },

  async 'context: methods give the plan’s wavelengths and take new angles away'(page) {
    await bring(page, 'context');
    const figure = figureOf(page, 'context', 'waves');
    const plan = core.rope({ headDim: 64 });
    assert.deepEqual(column((await figure.tables())[0], 0), Array.from(plan.wavelengths));
    const slow = Array.from(plan.wavelengths).filter((wave) => wave > 2048);
    const most = Math.max(...slow.map((wave) => 360 * (Math.min(16384 / wave, 1) - 2048 / wave)));
    const told = new RegExp(`^21 of 32 pairs.*11 pairs show new angles, up to ${Math.round(most)}° of them`);
    assert.match(await figure.summary(), told);
    await figure.choose('LongRoPE');
    assert.match(await figure.summary(), / no pair shows new angles/);
    const scalings = {
      PI: { type: 'linear', factor: 8 },
      NTK: { type: 'ntk', factor: 8 },
      YaRN: { type: 'yarn', factor: 8, originalLength: 2048 },
      'Llama 3': { type: 'llama3', factor: 8, originalLength: 2048 },
    };
    for (const [name, scaling] of Object.entries(scalings)) {
      await figure.choose(name);
      const scaled = core.rope({ headDim: 64, scaling });
      assert.deepEqual(column((await figure.tables())[0], 1), Array.from(scaled.wavelengths));
      if (name !== 'NTK') assert.match(await figure.summary(), / no pair shows new angles/);
      scaled.dispose();
    }
    plan.dispose();
  },

  async 'axes: with two axes the neighbours beside and below are alike, with one they are not'(page) {
    await bring(page, 'axes');
    const figure = figureOf(page, 'axes', 'grid');
    const [line] = await figure.tables();
    assert.ok(line[3][4] - line[4][3] > 0.2);
    near(line[3][4], line[3][2], 1e-6);
    await figure.choose('Axial');
    const [axial] = await figure.tables();
    for (let r = 0; r < 8; ++r) for (let c = 0; c < 8; ++c) near(axial[r][c], axial[c][r], 1e-6);
    const [own] = await figureOf(page, 'axes', 'ids').tables();
    const { positions } = mropePositions([{ text: 2 }, { image: [2, 3] }, { text: 3 }]);
    assert.deepEqual(
      own,
      positions.map((axis) => Array.from(axis)),
    );
  },

  async 'linear: both orders give the same and cost what they should'(page) {
    await bring(page, 'linear');
    const figure = figureOf(page, 'linear', 'cost');
    const [costs, [[difference]]] = await figure.tables();
    for (const [i, [square, state]] of costs.entries()) {
      const tokens = 16 * 2 ** i;
      assert.deepEqual([square, state], [2 * tokens ** 2 * 64, 2 * tokens * 64 ** 2]);
    }
    // Sums of 64 products of weights that add up to 1 with values of at most √3.
    assert.ok(difference > 0 && difference < 64 * 6e-8 * Math.sqrt(3), `${difference}`);
    await isBound(figure, 1, / more than ([\d.]+)\.$/);
    await figure.press('Tokens', 'Home');
    assert.match(await figure.summary(), /The second is 4 times the first/);
    await isBound(figure, 1, / more than ([\d.]+)\.$/);
    await figure.press('Tokens', 'ArrowRight', 'ArrowRight');
    assert.match(await figure.summary(), /The work is the same/);
    await figure.press('Tokens', 'End');
    assert.match(await figure.summary(), /The first is 256 times the second/);
  },

  async 'linear: denominators and weights of every form are those of sums in double precision'(page) {
    const figure = figureOf(page, 'linear', 'forms');
    const T = 24;
    const elu1 = (x) => (x > 0 ? x + 1 : Math.exp(x));
    const relu = (x) => Math.max(x, 0);
    const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
    const unit = (x) => x.map((value) => value / Math.hypot(...x));
    // One pair, one radian for each position.
    const turn = ([x, y], p) => [x * Math.cos(p) - y * Math.sin(p), x * Math.sin(p) + y * Math.cos(p)];
    const words = (name, seed) => Array.from({ length: T }, (_, t) => wordVector(`${name} ${seed} ${t}`, 2));
    const check = async (phi, above, below) => {
      const [weights, denominators] = await figure.tables();
      const [q, k] = [words('query', 3), words('key', 3)].map((all) => all.map((x) => x.map(Math.fround).map(phi)));
      let [negative, zero] = [0, 0];
      for (let i = 0; i < T; ++i) {
        const divisor = k.slice(0, i + 1).reduce((sum, key, j) => sum + below(q[i], key, i, j), 0);
        const size = k.slice(0, i + 1).reduce((sum, key, j) => sum + Math.abs(below(q[i], key, i, j)), 0);
        // Features, angles and sums in float32: some roundings of each term.
        near(denominators[i][0], divisor, 1e-6 * (1 + size));
        negative += denominators[i][0] < 0 ? 1 : 0;
        zero += denominators[i][0] === 0 ? 1 : 0;
        for (let j = 0; j < T; ++j) {
          if (j > i) assert.ok(Number.isNaN(weights[i][j]));
          else if (denominators[i][0] === 0) assert.equal(weights[i][j], 0);
          else {
            const expected = above(q[i], k[j], i, j) / divisor;
            near(weights[i][j], expected, (1e-6 * (1 + size) * (1 + Math.abs(expected))) / Math.abs(divisor));
          }
        }
      }
      assert.match(
        await figure.summary(),
        new RegExp(
          `: ${negative} of 24 denominators are negative, ${zero === 0 ? 'none is' : `${zero} are`} exactly 0`,
        ),
      );
      return { negative, zero };
    };
    const plain = (q, k) => dot(q, k);
    const turned = (q, k, i, j) => dot(turn(q, i), turn(k, j));
    assert.deepEqual(await check(elu1, turned, turned), { negative: 9, zero: 0 });
    await figure.choose('the numerator');
    assert.equal((await check(elu1, turned, plain)).negative, 0);
    await figure.choose('nothing');
    assert.equal((await check(elu1, plain, plain)).negative, 0);
    await figure.choose('relu');
    assert.ok((await check(relu, plain, plain)).zero > 0, 'features that are all zero');
    assert.match(await figure.summary(), /Of the others the one nearest to 0 is 0\.\d*[1-9]/);
    await figure.choose('unit vectors (1 + cos)');
    const cosine = (q, k, i, j) => 1 + dot(turn(unit(q), i), turn(unit(k), j));
    assert.deepEqual(await check((x) => x, cosine, cosine), { negative: 0, zero: 0 });
    assert.equal(
      await page.evaluate(() => document.querySelector('#figure-linear-forms input[value=relu]').checkVisibility()),
      false,
      'the cosine form has no features to choose',
    );
  },

  async 'linear: softmax and cosine look where the query is aimed, positive features at its own place'(page) {
    const figure = figureOf(page, 'linear', 'aim');
    const highest = (values) => values.indexOf(Math.max(...values));
    // The text says “about an eighth”, and no more than that.
    near(Math.max(...column((await figure.tables())[0], 0)), 1 / 8, 0.01);
    for (const back of [8, 9, 10]) {
      const [weights] = await figure.tables();
      for (let form = 0; form < 2; ++form) {
        near(
          column(weights, form).reduce((a, b) => a + b),
          1,
          1e-5,
        );
      }
      assert.deepEqual([highest(column(weights, 0)), highest(column(weights, 1))], [back, back]);
      assert.ok(highest(column(weights, 2)) <= 1);
      assert.ok(Math.max(...column(weights, 0)) > 5 * Math.max(...column(weights, 1)));
      await figure.press('Positions back', 'ArrowRight');
    }
    // The text says that positive features never do, wherever the query is aimed.
    for (const end of ['Home', 'End']) {
      await figure.press('Positions back', end);
      const [, back] = /^Aimed (\d+) back/.exec(await figure.summary());
      for (const size of ['Home', 'ArrowRight', 'ArrowRight', 'ArrowRight']) {
        await figure.press('Head size', size);
        const [weights] = await figure.tables();
        assert.notEqual(highest(column(weights, 2)), Number(back));
      }
    }
  },

  async 'linear: the state keeps its size, the cache grows, and pieces change nothing but rounding'(page) {
    const figure = figureOf(page, 'linear', 'state');
    const state = core.linearAttentionState({ headDim: 64 });
    const cache = core.kvCache({ headDim: 64, kvHeads: 1, capacity: 512, growing: false });
    const [bytes, differences] = await figure.tables();
    assert.deepEqual(bytes.at(-1), [cache.bytes, state.bytes]);
    assert.ok(column(bytes, 1).every((size) => size === state.bytes));
    assert.ok(bytes.every(([size], i) => i === 0 || size > bytes[i - 1][0]));
    // Weights of size 1 over values of at most √3, in float32.
    assert.ok(differences.every(([difference]) => difference < 2e-6));
    await figure.press('Tokens at a time', 'Home');
    const [, single] = await figure.tables();
    await isBound(figure, 1, / more than ([\d.]+)\.$/);
    assert.ok(single.some(([difference]) => difference > 0) && single.every(([difference]) => difference < 2e-6));
    await figure.press('Tokens at a time', 'End');
    const [, whole] = await figure.tables();
    assert.ok(
      whole.every(([difference]) => difference === 0),
      'one piece is one call',
    );
    await figure.press('Tokens T', 'End');
    const [longer] = await figure.tables();
    assert.equal(longer.at(-1)[1], state.bytes);
    assert.ok(longer.at(-1)[0] > 7.9 * bytes.at(-1)[0]);
    state.dispose();
    cache.dispose();
  },

  async 'speed: the error of 32-bit angles grows with the position'(page) {
    await bring(page, 'speed');
    const errors = column((await figureOf(page, 'speed', 'error').tables())[0], 0);
    for (const [i, error] of errors.entries()) {
      const position = 2 ** (i + 4);
      assert.ok(error < 1.2e-7 * position && error > 1.5e-8 * position, `${error} at ${position}`);
    }
  },

  async 'speed: measures in the background and says how fast'(page) {
    await bring(page, 'speed');
    const figure = figureOf(page, 'speed', 'run');
    await figure.choose('Run');
    await until(async () => /times as fast/.test(await figure.summary()), 'the measurement');
    const [table] = await figure.tables();
    for (const [byCore, byScript, byCopy, ratio] of table) {
      near(ratio, byScript / byCore, 1e-9);
      assert.ok(byCopy > 0);
    }
  },
};

for (const browser of browsers) {
  for (const [name, run] of Object.entries(chapters)) {
    test(`${name} (${browser})`, async () => {
      const { page, complaints } = pages[browser];
      await run(page);
      assert.deepEqual(complaints.splice(0), []);
    });
  }
}
