// The bias of CoPE against its formula in float64, attention with it, and refused arguments.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { copeBias } from 'ropewalk';
import { assertClose, assertSameBits, randomArray, swapHeadsAndTokens } from '../support/arrays.mjs';
import { attention } from '../support/attention-reference.mjs';
import { notArrays, notFinite, notOptions, required, wrongType } from '../support/bad-values.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

/** The position term of each score, as a function of (b, h, i, j): gates, their sums from key j on, products with e. */
function termOf(q, k, table, { scale = 1 / Math.sqrt(q.shape[3]), sees }) {
  const [, heads, queries, dim] = q.shape;
  const [, groups, keys] = k.shape;
  const [positions] = table.shape;
  return (b, h, i, j) => {
    const query = (d) => q.data[((b * heads + h) * queries + i) * dim + d];
    const dot = (data, row) => {
      let sum = 0;
      for (let d = 0; d < dim; ++d) sum += query(d) * data[row * dim + d];
      return sum;
    };
    let position = 0;
    for (let t = j; t < keys; ++t) {
      const row = (b * groups + Math.floor(h / (heads / groups))) * keys + t;
      if (sees(i, t, b)) position += 1 / (1 + Math.exp(-scale * dot(k.data, row)));
    }
    position = Math.min(position, positions - 1);
    const part = position % 1;
    return (1 - part) * dot(table.data, Math.floor(position)) + part * dot(table.data, Math.ceil(position));
  };
}

// Positions are sums of up to 131 gates of logits that are off by a rounding or two, and a step between two rows is up to 10.
const tolerance = 4e-6;

await onEachBuild((rw) => {
  describe('the bias, and attention with it, are those of the formula', () => {
    for (const [batch, heads, groups, queries, keys, dim, positions] of [
      [1, 1, 1, 1, 1, 1, 1],
      [1, 1, 1, 1, 1, 1, 2],
      [2, 3, 3, 5, 9, 4, 3],
      [2, 4, 2, 6, 6, 5, 64],
      [1, 2, 1, 70, 131, 16, 40],
      [2, 2, 2, 0, 4, 4, 4],
    ]) {
      for (const causal of [false, true]) {
        for (const queryOffset of [undefined, 0, 2]) {
          const sizes = `${batch} x ${heads} / ${groups} heads, ${queries} queries, ${keys} keys of ${dim}`;
          test(`${sizes}, ${positions} positions, causal ${causal}, queryOffset ${queryOffset}`, () => {
            const q = randomArray([batch, heads, queries, dim], 1);
            const [k, v] = [2, 3].map((seed) => randomArray([batch, groups, keys, dim], seed));
            const table = randomArray([positions, dim], 4);
            const offset = queryOffset ?? keys - queries;
            const sees = (i, j) => !causal || j <= i + offset;
            const term = termOf(q, k, table, { sees });
            const options = { causal, ...(queryOffset !== undefined && { queryOffset }) };
            const bias = copeBias(rw, q, k, { table, ...options });
            assert.deepEqual(bias.shape, [batch, heads, queries, keys]);
            const want = Float64Array.from(bias.data, (_, at) => {
              const [b, h] = [Math.floor(at / (keys * queries * heads)), Math.floor(at / (keys * queries)) % heads];
              return term(b, h, Math.floor(at / keys) % queries, at % keys);
            });
            assertClose(bias.data, want, tolerance);
            const { out } = rw.attention(q, k, v, { bias, ...options });
            assertClose(out.data, attention(q, k, v, { bias: term, sees }).out, tolerance);
          });
        }
      }
    }
  });

  const [q, k] = [randomArray([2, 3, 4, 4], 1), randomArray([2, 3, 6, 4], 2)];
  const table = randomArray([5, 4], 4);

  test('keys that a mask, a window or padding hides do not count', () => {
    const mask = { data: Uint8Array.of(1, 0, 1, 1, 1, 1), shape: [6] };
    const keyLengths = [6, 5];
    const at = (i, b) => i + keyLengths[b] - 4;
    const sees = (i, j, b) => mask.data[j] === 1 && j < keyLengths[b] && j >= at(i, b) - 2 && j <= at(i, b) + 1;
    const term = termOf(q, k, table, { sees, scale: 0.7 });
    const { data } = copeBias(rw, q, k, { table, mask, keyLengths, window: { left: 2, right: 1 }, scale: 0.7 });
    const want = Float64Array.from(data, (_, n) => {
      return term(Math.floor(n / 72), Math.floor(n / 24) % 3, Math.floor(n / 6) % 4, n % 6);
    });
    assertClose(data, want, tolerance);
  });

  test('other layouts and tensors have the same bits', () => {
    const { data: wanted } = copeBias(rw, q, k, { table, causal: true });
    const swapped = [q, k].map(({ data, shape: [b, h, t, d] }) => ({
      data: swapHeadsAndTokens(data, [b, h, t, d]),
      shape: [b, t, h * d],
    }));
    assertSameBits(copeBias(rw, ...swapped, { table, causal: true, heads: 3 }).data, wanted);
    const before = rw.memory();
    const tensors = [q, k, table].map(({ data, shape }) => rw.tensor(shape, data));
    assertSameBits(copeBias(rw, tensors[0], tensors[1], { table: tensors[2], causal: true }).data, wanted);
    for (const tensor of tensors) tensor.dispose();
    assert.equal(rw.memory().liveObjects, before.liveObjects);
    assert.equal(rw.memory().usedBytes, before.usedBytes);
  });

  const bias = (more) => copeBias(rw, q, k, { table, ...more });
  testAllRefusals(rw, 'copeBias', {
    rw: [required([wrongType(null, 'null'), wrongType({}, 'an object')]), (value) => copeBias(value, q, k, { table })],
    q: [required(notArrays), (value) => copeBias(rw, value, k, { table })],
    k: [required(notArrays), (value) => copeBias(rw, q, value, { table })],
    options: [required(notOptions), (value) => copeBias(rw, q, k, value)],
    table: [required(notArrays), (value) => bias({ table: value })],
    scale: [notFinite, (scale) => bias({ scale })],
  });
  testUnknownOptions(rw, 'copeBias', ['position', 'bias', 'returnScores', 'out'], bias);
  testMisfits(rw, 'copeBias', {
    'a table of another width': [
      RangeError,
      ['table has shape [5, 3]', '[positions, 4]'],
      () => bias({ table: randomArray([5, 3], 1) }),
    ],
    'a table without rows': [RangeError, 'table has shape [0, 4]', () => bias({ table: randomArray([0, 4], 1) })],
    'a mask that does not fit': [
      RangeError,
      'mask has shape [5]',
      () => bias({ mask: { data: new Uint8Array(5), shape: [5] } }),
    ],
    'keys of another size': [
      RangeError,
      'k has head size 3',
      () => copeBias(rw, q, randomArray([2, 3, 6, 3], 1), { table }),
    ],
  });
});
