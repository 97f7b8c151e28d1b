// Disentangled attention of DeBERTa against the formula in float64, with buckets and without, and refused arguments.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { debertaAttention } from 'ropewalk';
import { assertClose, assertSameBits, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { attention, inputs } from '../support/attention-reference.mjs';
import { notAnInteger, notArrays, notOptions, required, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

// The bucket of a relative position of v2 and v3: itself up to the middle, then by its logarithm.
function bucketOf(relative, size, most) {
  const middle = Math.floor(size / 2);
  const far = relative < middle && relative > -middle ? middle - 1 : Math.abs(relative);
  const logarithmic = Math.ceil((Math.log(far / middle) / Math.log((most - 1) / middle)) * (middle - 1)) + middle;
  return far <= middle ? relative : logarithmic * Math.sign(relative);
}

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

/**
 * Scores as the models' code forms them: query i takes the row of the bucket of i - j plus span of the keys' table, key j that
 * of minus the bucket of j - i plus span of the queries' table.
 */
function scoreOf(q, k, { keyTable, queryTable, maxDistance }, positionOf) {
  const [, heads, queries, dim] = q.shape;
  const [, groups, keys] = k.shape;
  const span = (keyTable ?? queryTable).shape[0] / 2;
  const relative = (distance) => (maxDistance === undefined ? distance : bucketOf(distance, span, maxDistance));
  const dot = (x, xAt, y, yAt) => {
    let sum = 0;
    for (let d = 0; d < dim; ++d) sum += x[xAt + d] * y[yAt + d];
    return sum;
  };
  const rowAt = (row, h) => clamp(row + span, 0, 2 * span - 1) * heads * dim + h * dim;
  const scale = Math.sqrt(dim * (1 + (keyTable ? 1 : 0) + (queryTable ? 1 : 0)));
  return (b, h, i, j) => {
    const queryAt = ((b * heads + h) * queries + i) * dim;
    const keyAt = ((b * groups + Math.floor(h / (heads / groups))) * keys + j) * dim;
    const distance = positionOf(b, i) - j;
    let score = dot(q.data, queryAt, k.data, keyAt);
    if (keyTable) score += dot(q.data, queryAt, keyTable.data, rowAt(relative(distance), h));
    if (queryTable) score += dot(k.data, keyAt, queryTable.data, rowAt(-relative(-distance), h));
    return score / scale;
  };
}

// Scores are up to about 5 here; a probability is off by a few roundings of such a score.
const tolerance = 1e-6;

await onEachBuild((rw) => {
  test('a table of queries far larger than that of keys costs the latter nothing', () => {
    const [q, k, v] = inputs({ batch: 1, heads: 2, groups: 2, queries: 9, keys: 9, dim: 4, valueDim: 4 });
    const small = { ...k, data: k.data.map((x) => x / 1000) };
    const large = randomArray([12, 8], 5);
    const tables = {
      keyTable: randomArray([12, 8], 4),
      queryTable: { ...large, data: large.data.map((x) => x * 1000) },
    };
    const bias = scoreOf(q, small, tables, (_, i) => i);
    const want = attention(q, small, v, { scale: 0, bias, sees: () => true });
    const { scores } = debertaAttention(rw, q, small, v, { ...tables, returnScores: 'probabilities' });
    assertClose(scores.data, want.scores, tolerance);
  });

  describe('attention is that of the formula', () => {
    for (const [batch, heads, groups, queries, keys, dim, valueDim] of [
      [1, 1, 1, 1, 1, 1, 1],
      [2, 3, 3, 9, 9, 4, 5],
      [1, 4, 2, 3, 20, 6, 6],
      [1, 2, 1, 70, 131, 16, 16],
      [2, 2, 2, 0, 4, 4, 4],
    ]) {
      for (const [span, maxDistance] of [[1], [3], [9], [6, 20], [7, 21], [32, 64], [2, 100], [140]]) {
        for (const [withKeys, withQueries] of [
          [true, true],
          [true, false],
          [false, true],
        ]) {
          const terms = [withKeys && 'c2p', withQueries && 'p2c'].filter(Boolean).join(' and ');
          const sizes = `${batch} x ${heads} / ${groups} heads, ${queries} queries, ${keys} keys of ${dim}`;
          test(`${sizes}, span ${span}, maxDistance ${maxDistance}, ${terms}`, () => {
            const [q, k, v] = inputs({ batch, heads, groups, queries, keys, dim, valueDim });
            const shape = [2 * span, heads * dim];
            const tables = {
              ...(withKeys && { keyTable: randomArray(shape, 4) }),
              ...(withQueries && { queryTable: randomArray(shape, 5) }),
              ...(maxDistance && { maxDistance }),
            };
            for (const [causal, queryOffset] of [
              [false, undefined],
              [true, undefined],
              [false, 0],
              [true, 2],
            ]) {
              const offset = queryOffset ?? keys - queries;
              const bias = scoreOf(q, k, tables, (_, i) => i + offset);
              const want = attention(q, k, v, { scale: 0, bias, sees: (i, j) => !causal || j <= i + offset });
              const options = { ...tables, causal, queryOffset, returnScores: 'probabilities' };
              const { out, scores } = debertaAttention(rw, q, k, v, options);
              assert.deepEqual(out.shape, [batch, heads, queries, valueDim]);
              assertClose(scores.data, want.scores, tolerance);
              assertClose(out.data, want.out, tolerance);
            }
          });
        }
      }
    }
  });

  test('buckets of deberta-v3-base: rows 0 to 511, each distance its own up to 128, all from 511 on the last', () => {
    // Scores of a query of ones with a table whose rows hold their number tell the row of each distance.
    const [length, span] = [1200, 256];
    const one = { data: Float32Array.of(1), shape: [1, 1, 1, 1] };
    const keys = { data: new Float32Array(length), shape: [1, 1, length, 1] };
    const keyTable = { data: Float32Array.from({ length: 2 * span }, (_, row) => row), shape: [2 * span, 1] };
    const rowsFrom = (queryOffset) => {
      const options = { keyTable, maxDistance: 512, scale: 1, queryOffset, returnScores: 'raw' };
      return debertaAttention(rw, one, keys, keys, options).scores.data;
    };
    const [ahead, behind] = [rowsFrom(0), rowsFrom(length - 1)];
    for (let distance = 0; distance < length; ++distance) {
      const bucket = bucketOf(distance, span, 512);
      assert.equal(behind[length - 1 - distance], Math.min(bucket + span, 511), `${distance}`);
      assert.equal(ahead[distance], Math.max(span - bucket, 0), `${-distance}`);
    }
    assert.deepEqual(
      [128, 129, 511, 512].map((distance) => behind[length - 1 - distance] - span),
      [128, 129, 255, 255],
    );
    assert.deepEqual(
      [510, 511, 512, 600].map((distance) => ahead[distance] - span),
      [-255, -255, -256, -256],
    );
  });

  const [q, k, v] = inputs({ batch: 2, heads: 3, groups: 3, queries: 4, keys: 6, dim: 4, valueDim: 5 });
  const tables = { keyTable: randomArray([8, 12], 4), queryTable: randomArray([8, 12], 5) };

  test('positions of queries may differ by batch entry, and a scale be given', () => {
    const keyLengths = [6, 3];
    const score = scoreOf(q, k, tables, (b, i) => i + keyLengths[b] - 4);
    const bias = (...place) => score(...place) * 2 * Math.sqrt(12);
    const want = attention(q, k, v, { scale: 0, bias, sees: (_, j, b) => j < keyLengths[b] });
    assertClose(debertaAttention(rw, q, k, v, { ...tables, keyLengths, scale: 2 }).out.data, want.out, 4 * tolerance);
  });

  test('other layouts, tensors and out have the same bits', () => {
    const wanted = debertaAttention(rw, q, k, v, { ...tables, returnScores: 'raw' });
    const swapped = [q, k, v].map(({ data, shape: [b, h, t, d] }) => ({
      data: swapHeadsAndTokens(data, [b, h, t, d]),
      shape: [b, t, h * d],
    }));
    const packed = debertaAttention(rw, ...swapped, { ...tables, heads: 3 });
    assert.deepEqual(packed.out.shape, [2, 4, 15]);
    assertSameBits(swapHeadsAndTokens(packed.out.data, [2, 4, 3, 5]), wanted.out.data);

    const before = rw.memory();
    const tensors = [q, k, v].map(({ data, shape }) => rw.tensor(shape, data));
    const out = rw.tensor(wanted.out.shape);
    const given = debertaAttention(rw, ...tensors, { ...tables, returnScores: 'raw', out });
    assert.equal(given.out, out);
    assertSameBits(out.data(), wanted.out.data);
    assertSameBits(given.scores.data(), wanted.scores.data);
    for (const each of [...tensors, out, given.scores]) each.dispose();
    assert.equal(rw.memory().liveObjects, before.liveObjects);
    assert.equal(rw.memory().usedBytes, before.usedBytes);
  });

  const attend = (more) => debertaAttention(rw, q, k, v, { ...tables, ...more });
  testAllRefusals(rw, 'debertaAttention', {
    rw: [
      required([wrongType(null, 'null'), wrongType({}, 'an object')]),
      (value) => debertaAttention(value, q, k, v, tables),
    ],
    q: [required(notArrays), (value) => debertaAttention(rw, value, k, v, tables)],
    k: [required(notArrays), (value) => debertaAttention(rw, q, value, v, tables)],
    v: [required(notArrays), (value) => debertaAttention(rw, q, k, value, tables)],
    options: [required(notOptions), (value) => debertaAttention(rw, q, k, v, value)],
    keyTable: [notArrays, (keyTable) => attend({ keyTable })],
    queryTable: [notArrays, (queryTable) => attend({ queryTable })],
    maxDistance: [notAnInteger({ min: 4, max: 2 ** 30 }), (maxDistance) => attend({ maxDistance })],
  });
  testUnknownOptions(rw, 'debertaAttention', ['position', 'bias', 'softcap', 'sinks', 'scoreHeads'], attend);
  testMisfits(rw, 'debertaAttention', {
    'no table at all': [RangeError, ['keyTable is missing', 'queryTable'], () => debertaAttention(rw, q, k, v, {})],
    'an odd number of rows': [
      RangeError,
      ['keyTable has shape [7, 12]', '[an even number of distances, 12]'],
      () => attend({ keyTable: randomArray([7, 12], 1) }),
    ],
    'a table without rows': [
      RangeError,
      'keyTable has shape [0, 12]',
      () => attend({ keyTable: randomArray([0, 12], 1) }),
    ],
    'a table of other heads': [
      RangeError,
      'queryTable has shape [8, 8]',
      () => attend({ queryTable: randomArray([8, 8], 1) }),
    ],
    'tables of other lengths': [
      RangeError,
      ['queryTable has shape [6, 12]', '[8, 12]'],
      () => attend({ queryTable: randomArray([6, 12], 1) }),
    ],
    'buckets of two rows': [
      RangeError,
      'maxDistance is for tables of at least 4 rows',
      () => debertaAttention(rw, q, k, v, { keyTable: randomArray([2, 12], 1), maxDistance: 9 }),
    ],
    'keys too far from queries': [RangeError, ['queryOffset', '65539'], () => attend({ queryOffset: 2 ** 16 })],
  });
});
