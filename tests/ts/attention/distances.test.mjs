// Biases by distance for keys at distant positions: their values, and memory only for distances that occur.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';

const heads = 2;
const [r1, r2] = [Float32Array.of(1, 0.5), Float32Array.of(0.25, 2)];
const table = { data: random(64, 9), shape: [32, heads] };
const t5 = { table, bidirectional: false };
// Each with its bias [H, Tq, Tk] for keys that follow one another.
const encodings = {
  alibi: [{}, (rw, shape) => rw.alibiBias({ heads, ...shape })],
  t5: [t5, (rw, shape) => rw.t5Bias({ ...t5, ...shape })],
  sandwich: [{ dim: 8 }, (rw, shape) => rw.sandwichBias({ heads, dim: 8, ...shape })],
  kerple: [{ r1, r2 }, (rw, shape) => rw.kerpleBias({ r1, r2, ...shape })],
};

// Key positions: runs [first, count] one after the other.
const positionsOf = (runs) => runs.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => first + i));

// The bias [H, Tq, Tk] of such keys, run by run.
function biasOf(rw, make, runs, queries, queryOffset) {
  const keys = positionsOf(runs).length;
  const data = new Float32Array(heads * queries * keys);
  let start = 0;
  for (const [first, count] of runs) {
    const part = make(rw, { queries, keys: count, queryOffset: queryOffset - first }).data;
    for (let row = 0; row < heads * queries; ++row) {
      data.set(part.subarray(row * count, (row + 1) * count), row * keys + start);
    }
    start += count;
  }
  return { data, shape: [heads, queries, keys] };
}

const far = {
  'sinks and a window far from them': [
    [0, 4],
    [4e6, 60],
  ],
  'keys far from one another': Array.from({ length: 40 }, (_, i) => [i * i * 1000, 1]),
  'keys at the ends of all positions': [
    [-(2 ** 51), 3],
    [2 ** 51, 20],
  ],
};

await onEachBuild((rw) => {
  for (const [encoding, [options, make]] of Object.entries(encodings)) {
    for (const [what, runs] of Object.entries(far)) {
      for (const queries of [1, 9]) {
        test(`${encoding} over ${what}, ${queries} at once, is the bias of each distance`, () => {
          const keyPositions = positionsOf(runs);
          const queryOffset = keyPositions.at(-1) + 1 - queries;
          const q = randomArray([heads, queries, 8], 1);
          const [k, v] = [2, 3].map((seed) => randomArray([heads, keyPositions.length, 8], seed));
          const where = { causal: true, keyPositions, queryOffset, returnScores: 'biased' };
          rw.resetPeak();
          const { usedBytes } = rw.memory();
          const got = rw.attention(q, k, v, { ...where, position: { encoding, ...options } });
          assert.ok(rw.memory().peak - usedBytes < 2 ** 18, `took ${rw.memory().peak - usedBytes} bytes`);
          const bias = biasOf(rw, make, runs, queries, queryOffset);
          const want = rw.attention(q, k, v, { ...where, bias });
          assertSameBits(got.scores.data, want.scores.data);
          assertSameBits(got.out.data, want.out.data);
        });
      }
    }

    test(`${encoding} sees keys on both sides that together are farther apart than one distance may be`, () => {
      const runs = [
        [-(2 ** 52), 1],
        [2 ** 52, 1],
      ];
      const q = randomArray([heads, 1, 8], 1);
      const [k, v] = [2, 3].map((seed) => randomArray([heads, 2, 8], seed));
      const where = { keyPositions: positionsOf(runs), queryOffset: 0, returnScores: 'biased' };
      const got = rw.attention(q, k, v, { ...where, position: { encoding, ...options } });
      const want = rw.attention(q, k, v, { ...where, bias: biasOf(rw, make, runs, 1, 0) });
      assertSameBits(got.scores.data, want.scores.data);
    });

    test(`${encoding} of a batch whose queries stand far apart is that of each alone`, () => {
      const q = randomArray([2, heads, 3, 8], 1);
      const [k, v] = [2, 3].map((seed) => randomArray([2, heads, 16, 8], seed));
      const position = { encoding, ...options };
      const offsets = [13, 5e6];
      const got = rw.attention(q, k, v, { queryOffset: offsets, position }).out.data;
      offsets.forEach((queryOffset, b) => {
        const [qb, kb, vb] = [q, k, v].map(({ data, shape }) => {
          const size = data.length / 2;
          return { data: data.slice(b * size, (b + 1) * size), shape: [1, ...shape.slice(1)] };
        });
        const want = rw.attention(qb, kb, vb, { queryOffset, position }).out.data;
        assertSameBits(got.subarray(b * want.length, (b + 1) * want.length), want);
      });
    });

    test(`${encoding} over a cache with a gap is that over keys at those positions`, () => {
      const cache = rw.kvCache({ kvHeads: heads, headDim: 8 });
      const [k1, v1] = [4, 5].map((seed) => randomArray([heads, 4, 8], seed));
      const [k2, v2] = [6, 7].map((seed) => randomArray([heads, 5, 8], seed));
      cache.append(k1, v1).append(k2, v2, { offset: 4e6 });
      const keyPositions = [...cache.positions()];
      const q = randomArray([heads, 5, 8], 1);
      const position = { encoding, ...options };
      const want = rw.attention(q, cache.keys(), cache.values(), { causal: true, keyPositions, position }).out.data;
      rw.resetPeak();
      const { usedBytes } = rw.memory();
      assertSameBits(cache.attend(q, { position }).out.data, want);
      assert.ok(rw.memory().peak - usedBytes < 2 ** 18);
      cache.dispose();
    });
  }

  test('a layer with ALiBi that goes on after a gap adds the slope times each distance', () => {
    const layer = rw.attentionLayer({ modelDim: 8, heads, causal: true, position: { encoding: 'alibi' }, seed: 1 });
    const cache = layer.kvCache();
    layer.forward(randomArray([3, 8], 1), { cache });
    rw.resetPeak();
    const { usedBytes } = rw.memory();
    const { captured } = layer.forward(randomArray([2, 8], 2), { cache, offset: 4e6, capture: ['position'] });
    assert.ok(rw.memory().peak - usedBytes < 2 ** 18);
    const places = [0, 1, 2, 4e6, 4e6 + 1];
    const slopes = rw.alibiSlopes(heads);
    const want = [...slopes].flatMap((slope) =>
      [4e6, 4e6 + 1].flatMap((query) => places.map((key) => Math.fround(-slope * Math.abs(query - key)))),
    );
    // Keys that causal order hides need no bias.
    const seen = (n) => places[n % 5] <= 4e6 + (Math.floor(n / 5) % 2);
    for (const [n, value] of captured.position.data.entries()) {
      assert.ok(!seen(n) || Math.abs(value - want[n]) < 1e-6, `[${n}] is ${value}, want ${want[n]}`);
    }
    cache.dispose();
    layer.dispose();
  });
});
