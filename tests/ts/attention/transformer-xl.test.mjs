// Relative attention of Transformer-XL against the paper's formula in float64, at edge sizes, and refused arguments.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { transformerXlAttention } from 'ropewalk';
import { assertClose, assertSameBits, random, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { attention, inputs } from '../support/attention-reference.mjs';
import { notAChoice, notArrays, notOptions, required, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

// s of a distance: all sines, then all cosines.
const sinusoid = (distance, dim) => {
  const angles = Array.from({ length: dim / 2 }, (_, i) => distance / 10000 ** ((2 * i) / dim));
  return [...angles.map(Math.sin), ...angles.map(Math.cos)];
};

const sumOf = (count, term) => Array.from({ length: count }, (_, d) => term(d)).reduce((a, b) => a + b, 0);

/**
 * The scores of the paper: ((q_i + u) . k_j + (q_i + v) . W_R s_(i - j)) / sqrt(D), as a function of (b, h, i, j). `project`
 * is W_R, [H * D, dim]; `at` gives the position of query i of batch entry b.
 */
function scoreOf(q, k, { contentBias: u, positionBias: v, project, clamp = Number.POSITIVE_INFINITY }, at) {
  const [, heads, queries, dim] = q.shape;
  const [, groups, keys] = k.shape;
  const [, width] = project.shape;
  const rows = new Map();
  const rowOf = (h, distance) => {
    const key = `${h},${distance}`;
    const s = sinusoid(Math.max(-clamp, Math.min(clamp, distance)), width);
    const weight = (d, c) => project.data[(h * dim + d) * width + c];
    if (!rows.has(key))
      rows.set(
        key,
        Array.from({ length: dim }, (_, d) => sumOf(width, (c) => weight(d, c) * s[c])),
      );
    return rows.get(key);
  };
  return (b, h, i, j) => {
    const g = Math.floor(h / (heads / groups));
    const query = (d) => q.data[((b * heads + h) * queries + i) * dim + d];
    const key = (d) => k.data[((b * groups + g) * keys + j) * dim + d];
    const row = rowOf(h, at(b, i) - j);
    const content = sumOf(dim, (d) => (query(d) + u.data[h * dim + d]) * key(d));
    const position = sumOf(dim, (d) => (query(d) + v.data[h * dim + d]) * row[d]);
    return { content: content / Math.sqrt(dim), position: position / Math.sqrt(dim) };
  };
}

const parametersOf = (heads, dim, width) => ({
  contentBias: randomArray([heads, dim], 11),
  positionBias: randomArray([heads, dim], 12),
  project: randomArray([heads * dim, width], 13),
});

// R of the distances from -most to most, as a user makes it.
function tableOf(rw, { project }, most, clamp = most) {
  const [, dim] = project.shape;
  const distances = Array.from({ length: 2 * most + 1 }, (_, r) => Math.max(-clamp, Math.min(clamp, r - most)));
  const data = rw.sinusoidal({ dim, positions: distances, layout: 'concatenated' });
  const linear = rw.linear({ weight: { type: 'float32', ...project } });
  const table = linear.apply({ data, shape: [distances.length, dim] });
  linear.dispose();
  return table;
}

// Scores are up to about 10 here, sums of D products of numbers around 1, so that a probability is off by a few roundings of
// such a score.
const tolerance = 1e-6;

await onEachBuild((rw) => {
  test('a content bias far larger than the position bias costs the position term nothing', () => {
    const [q, k, v] = inputs({ batch: 1, heads: 2, groups: 2, queries: 9, keys: 9, dim: 8, valueDim: 8 });
    const parameters = parametersOf(2, 8, 6);
    const large = { ...parameters, contentBias: { data: new Float32Array(16).fill(1000), shape: [2, 8] } };
    k.data.fill(0);
    const score = scoreOf(q, k, large, (_, i) => i);
    const want = attention(q, k, v, { scale: 0, bias: (...place) => score(...place).position, sees: () => true });
    const { contentBias, positionBias } = large;
    const options = { table: tableOf(rw, large, 9), contentBias, positionBias, returnScores: 'probabilities' };
    assertClose(transformerXlAttention(rw, q, k, v, options).scores.data, want.scores, tolerance);
  });

  describe('attention is that of the formula', () => {
    for (const [batch, heads, groups, queries, keys, dim, valueDim] of [
      [1, 1, 1, 1, 1, 1, 1],
      [1, 2, 2, 1, 7, 4, 3],
      [2, 3, 3, 5, 9, 8, 8],
      [2, 4, 2, 6, 6, 5, 2],
      [1, 2, 1, 70, 131, 16, 16],
      [3, 2, 2, 0, 4, 4, 4],
    ]) {
      for (const causal of [false, true]) {
        for (const queryOffset of [undefined, 0, 3]) {
          const what = `${batch} x ${heads} / ${groups} heads, ${queries} queries, ${keys} keys of ${dim}`;
          test(`${what}, causal ${causal}, queryOffset ${queryOffset}`, () => {
            const [q, k, v] = inputs({ batch, heads, groups, queries, keys, dim, valueDim });
            const parameters = parametersOf(heads, dim, 6);
            const offset = queryOffset ?? keys - queries;
            const score = scoreOf(q, k, parameters, (_, i) => i + offset);
            const sees = (i, j) => !causal || j <= i + offset;
            const bias = (...place) => score(...place).content + score(...place).position;
            const want = attention(q, k, v, { scale: 0, bias, sees });
            const table = tableOf(rw, parameters, queries + keys + 3);
            const { contentBias, positionBias } = parameters;
            const options = { table, contentBias, positionBias, causal, queryOffset, returnScores: 'probabilities' };
            const { out, scores } = transformerXlAttention(rw, q, k, v, options);
            assert.deepEqual(out.shape, [batch, heads, queries, valueDim]);
            assert.deepEqual(scores.shape, [batch, heads, queries, keys]);
            assertClose(scores.data, want.scores, tolerance);
            assertClose(out.data, want.out, tolerance);
          });
        }
      }
    }
  });

  const [q, k, v] = inputs({ batch: 2, heads: 3, groups: 3, queries: 4, keys: 6, dim: 4, valueDim: 5 });
  const parameters = parametersOf(3, 4, 6);
  const { contentBias, positionBias } = parameters;
  const biases = { contentBias, positionBias };
  const table = tableOf(rw, parameters, 9);

  test('its parts are those of content and of position', () => {
    const returnScores = ['content', 'position', 'raw'];
    const { scores } = transformerXlAttention(rw, q, k, v, { table, ...biases, returnScores });
    const score = scoreOf(q, k, parameters, (_, i) => i + 2);
    for (let at = 0; at < 2 * 3 * 4 * 6; ++at) {
      const place = [Math.floor(at / 72), Math.floor(at / 24) % 3, Math.floor(at / 6) % 4, at % 6];
      const { content, position } = score(...place);
      assertClose([scores.content.data[at]], [content], tolerance);
      assertClose([scores.position.data[at]], [position], tolerance);
      assertClose([scores.raw.data[at]], [content + position], tolerance);
    }
  });

  test('distances may be clamped by the table, and positions of queries differ by batch entry', () => {
    const keyLengths = [6, 3];
    const score = scoreOf(q, k, { ...parameters, clamp: 2 }, (b, i) => i + keyLengths[b] - 4);
    const bias = (...place) => score(...place).content + score(...place).position;
    const want = attention(q, k, v, { scale: 0, bias, sees: (_, j, b) => j < keyLengths[b] });
    const clamped = tableOf(rw, parameters, 9, 2);
    const { out } = transformerXlAttention(rw, q, k, v, { table: clamped, ...biases, keyLengths });
    assertClose(out.data, want.out, tolerance);
  });

  test('masks, windows and a scale are those of attention', () => {
    const mask = { data: Uint8Array.from(random(2 * 6, 7), (x) => (x > -0.6 ? 1 : 0)), shape: [2, 1, 1, 6] };
    const score = scoreOf(q, k, parameters, (_, i) => i + 2);
    const bias = (...place) => 0.3 * (score(...place).content + score(...place).position);
    const sees = (i, j, b) => j >= i + 2 - 1 && j <= i + 2 + 2 && mask.data[b * 6 + j] === 1;
    const want = attention(q, k, v, { scale: 0, bias, sees });
    const options = { table, ...biases, mask, window: { left: 1, right: 2 }, scale: 0.15 };
    assertClose(transformerXlAttention(rw, q, k, v, options).out.data, want.out, tolerance);
  });

  test('other layouts, tensors and out have the same bits', () => {
    const wanted = transformerXlAttention(rw, q, k, v, { table, ...biases, returnScores: 'raw' });
    const swapped = [q, k, v].map(({ data, shape: [b, h, t, d] }) => ({
      data: swapHeadsAndTokens(data, [b, h, t, d]),
      shape: [b, t, h, d],
    }));
    const tokensFirst = transformerXlAttention(rw, ...swapped, { table, ...biases, layout: 'BTHD' });
    assert.deepEqual(tokensFirst.out.shape, [2, 4, 3, 5]);
    assertSameBits(swapHeadsAndTokens(tokensFirst.out.data, [2, 4, 3, 5]), wanted.out.data);
    const packed = swapped.map(({ data, shape: [b, t, h, d] }) => ({ data, shape: [b, t, h * d] }));
    assertSameBits(
      transformerXlAttention(rw, ...packed, { table, ...biases, heads: 3 }).out.data,
      tokensFirst.out.data,
    );

    const before = rw.memory();
    const tensors = [q, k, v].map(({ data, shape }) => rw.tensor(shape, data));
    const given = transformerXlAttention(rw, ...tensors, { table, ...biases, returnScores: ['raw'] });
    assertSameBits(given.out.data(), wanted.out.data);
    assertSameBits(given.scores.raw.data(), wanted.scores.data);
    const out = new Float32Array(wanted.out.data.length);
    assert.equal(transformerXlAttention(rw, ...tensors, { table, ...biases, out }).out.data, out);
    assertSameBits(out, wanted.out.data);
    for (const each of [...tensors, given.out, given.scores.raw]) each.dispose();
    assert.equal(rw.memory().liveObjects, before.liveObjects);
    assert.equal(rw.memory().usedBytes, before.usedBytes);
  });

  test('hidden keys need no rows, or any, unless their scores are asked for', () => {
    const short = tableOf(rw, parameters, 1);
    const options = { table: short, ...biases, causal: true, window: { left: 1 } };
    const { out } = transformerXlAttention(rw, q, k, v, options);
    assertSameBits(out.data, transformerXlAttention(rw, q, k, v, { ...options, table }).out.data);
    const ahead = { ...table, data: table.data.map((value, at) => (at < 9 * 12 ? Number.NaN : value)) };
    const causal = { ...biases, causal: true };
    assertSameBits(
      transformerXlAttention(rw, q, k, v, { ...causal, table: ahead }).out.data,
      transformerXlAttention(rw, q, k, v, { ...causal, table }).out.data,
    );
    const message = 'transformerXlAttention: table has rows for distances up to 1; this call needs 5';
    for (const change of [{ returnScores: 'raw' }, { causal: false, window: undefined }]) {
      const call = () => transformerXlAttention(rw, q, k, v, { ...options, ...change });
      assert.throws(call, { name: 'ArgumentRangeError', argument: 'table', message });
    }
  });

  const attend = (more) => transformerXlAttention(rw, q, k, v, { table, ...biases, ...more });
  testAllRefusals(rw, 'transformerXlAttention', {
    rw: [
      required([wrongType(null, 'null'), wrongType({}, 'an object')]),
      (value) => transformerXlAttention(value, q, k, v, { table, ...biases }),
    ],
    q: [required(notArrays), (value) => transformerXlAttention(rw, value, k, v, { table, ...biases })],
    k: [required(notArrays), (value) => transformerXlAttention(rw, q, value, v, { table, ...biases })],
    v: [required(notArrays), (value) => transformerXlAttention(rw, q, k, value, { table, ...biases })],
    options: [required(notOptions), (value) => transformerXlAttention(rw, q, k, v, value)],
    table: [required(notArrays), (value) => attend({ table: value })],
    contentBias: [required(notArrays), (value) => attend({ contentBias: value })],
    positionBias: [required(notArrays), (value) => attend({ positionBias: value })],
    layout: [notAChoice, (layout) => attend({ layout })],
  });
  testUnknownOptions(rw, 'transformerXlAttention', ['position', 'bias', 'softcap', 'sinks', 'scoreHeads'], attend);
  testMisfits(rw, 'transformerXlAttention', {
    'a table with an even number of rows': [
      RangeError,
      ['table has shape [4, 12]', '[an odd number of distances, 12]'],
      () => attend({ table: randomArray([4, 12], 1) }),
    ],
    'a table of other heads': [RangeError, 'table has shape [19, 8]', () => attend({ table: randomArray([19, 8], 1) })],
    'a table of three axes': [
      RangeError,
      'table has shape [19, 3, 4]',
      () => attend({ table: randomArray([19, 3, 4], 1) }),
    ],
    'a contentBias of other heads': [
      RangeError,
      ['contentBias has shape [2, 4]', '[3, 4]'],
      () => attend({ contentBias: randomArray([2, 4], 1) }),
    ],
    'a flat positionBias': [
      RangeError,
      'positionBias has shape [12]',
      () => attend({ positionBias: randomArray([12], 1) }),
    ],
    'a mask of its own for each head': [
      RangeError,
      'mask has shape [3, 1, 6]',
      () => attend({ mask: { data: new Uint8Array(18), shape: [3, 1, 6] } }),
    ],
  });
});
