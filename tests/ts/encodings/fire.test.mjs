// FIRE: its bias against the formula, attention with it, and refused arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertClose, assertSameBits, random, randomArray } from '../support/arrays.mjs';
import { onEachBuild } from '../support/builds.mjs';
import { fireParameters } from '../support/fire.mjs';

// In float64, from the formula: [H, Tq, Tk].
function reference({ c, threshold, hiddenWeights, hiddenBias, outWeights, outBias }, queries, keys) {
  const psi = (x) => Math.log1p(c * x);
  const width = hiddenBias.data.length;
  const biasOf = (h, query, key) => {
    const share = psi(Math.abs(query - key)) / psi(Math.max(threshold, query));
    let sum = outBias.data[h];
    for (let w = 0; w < width; ++w) {
      const hidden = Math.max(0, hiddenWeights.data[w] * share + hiddenBias.data[w]);
      sum += outWeights.data[h * width + w] * hidden;
    }
    return sum;
  };
  return [...outBias.data.keys()].flatMap((h) => queries.flatMap((query) => keys.map((key) => biasOf(h, query, key))));
}

const from = (first, count) => Array.from({ length: count }, (_, i) => first + i);

await onEachBuild((rw) => {
  test('the bias is the network of the normalized distance', () => {
    for (const width of [0, 1, 7, 32]) {
      const parameters = fireParameters(3, width);
      for (const [queries, keys, queryOffset] of [
        [1, 1, 0],
        [3, 9, -2],
        [20, 20, 0],
        [2, 67, 1e6],
        [2, 0, 0],
      ]) {
        const { data, shape } = rw.fireBias({ ...parameters, queries, keys, queryOffset });
        assert.deepEqual(shape, [3, queries, keys]);
        // Two roundings for each number of the hidden layer, and those of the share.
        assertClose(
          data,
          reference(parameters, from(queryOffset, queries), from(0, keys)),
          (2 * width + 8) * (3 * width + 1) * 2 ** -24,
        );
      }
    }
  });

  const [heads, tokens] = [2, 70];
  const parameters = fireParameters(heads, 8);
  const position = { encoding: 'fire', ...parameters };
  const [q, k, v] = [1, 2, 3].map((seed) => randomArray([1, heads, tokens, 4], seed));

  test('attention with it is attention with its bias, before the threshold and behind it', () => {
    for (const causal of [false, true]) {
      const bias = rw.fireBias({ ...parameters, queries: tokens, keys: tokens });
      const [got, want] = [{ position }, { bias }].map((options) =>
        rw.attention(q, k, v, { causal, returnScores: 'biased', ...options }),
      );
      assertSameBits(got.scores.data, want.scores.data);
      assertSameBits(got.out.data, want.out.data);
    }
  });

  test('keys at distant positions and a batch at several offsets have the bias of their positions', () => {
    const keyPositions = [0, 1, 2, 900, 901, 5e6, 5e6 + 1];
    const queryOffset = [900, 5e6 - 1];
    const [xq, xk] = [3, keyPositions.length].map((count, seed) => randomArray([2, heads, count, 4], seed));
    const { scores } = rw.attention(xq, xk, xk, { keyPositions, queryOffset, position, returnScores: 'position' });
    const want = queryOffset.flatMap((first) => reference(parameters, from(first, 3), keyPositions));
    assertClose(scores.data, want, 24 * 25 * 2 ** -24);
  });

  test('it goes with a bias, a window and padding of the call', () => {
    const options = { bias: randomArray([tokens, tokens], 5), window: { left: 30 }, keyLengths: [61] };
    const queryOffset = 0;
    const both = rw.fireBias({ ...parameters, queries: tokens, keys: tokens, queryOffset });
    const sum = { data: both.data.map((b, n) => b + options.bias.data[n % tokens ** 2]), shape: both.shape };
    const got = rw.attention(q, k, v, { ...options, queryOffset, position, returnScores: 'probabilities' });
    const want = rw.attention(q, k, v, { ...options, queryOffset, bias: sum, returnScores: 'probabilities' });
    assertClose(got.scores.data, want.scores.data, 2 ** -19);
  });

  test('a layer with it goes on from its cache as in one pass', () => {
    const layer = rw.attentionLayer({ modelDim: 8, heads, causal: true, position, seed: 1 });
    const x = randomArray([tokens, 8], 6);
    const whole = layer.forward(x).out.data;
    const cache = layer.kvCache();
    const pieces = [1, 20, tokens - 21].reduce(
      ({ first, out }, count) => {
        const data = x.data.slice(first * 8, (first + count) * 8);
        out.push(...layer.forward({ data, shape: [count, 8] }, { cache }).out.data);
        return { first: first + count, out };
      },
      { first: 0, out: [] },
    ).out;
    assertClose(pieces, whole, 2 ** -20);
    cache.dispose();
    layer.dispose();
  });

  test('arguments out of range are refused by name', () => {
    const call = (more) => rw.fireBias({ ...parameters, queries: 2, keys: 2, ...more });
    const refused = [
      [{ c: 0 }, /c is 0; expected a .*above 0/],
      [{ c: Number.NaN }, /c is NaN/],
      [{ threshold: -1 }, /threshold is -1/],
      [{ threshold: 1e-45, c: 1e-30 }, /threshold is 1e-45, where ln\(1 \+ c threshold\) is too close to 0/],
      [
        { hiddenWeights: randomArray([7], 1) },
        /hiddenWeights has shape \[7\]; expected \[8\], as outWeights are \[H, W\]/,
      ],
      [{ hiddenBias: randomArray([8, 1], 1) }, /hiddenBias has shape \[8, 1\]/],
      [{ outWeights: randomArray([16], 1) }, /outWeights has shape \[16\]; expected \[H, W\]/],
      [{ outBias: randomArray([3], 1) }, /outBias has shape \[3\]; expected \[2\]/],
      [{ queries: -1 }, /queries is -1/],
    ];
    for (const [options, message] of refused) {
      assert.throws(() => call(options), { name: 'ArgumentRangeError', message });
    }
    for (const name of ['hiddenWeights', 'hiddenBias', 'outWeights', 'outBias']) {
      assert.throws(() => call({ [name]: random(8) }), { name: 'ArgumentTypeError', message: new RegExp(name) });
    }
    const x = randomArray([1, 3, 2, 4], 1);
    assert.throws(() => rw.attention(x, x, x, { position }), { message: /position\.outWeights has 2 heads, q has 3/ });
    assert.throws(() => rw.attention(q, k, v, { position: { ...position, c: '1' } }), { message: /position\.c/ });
  });
});

test('both builds agree', async () => {
  const { load } = await import('ropewalk');
  const builds = await Promise.all([load(), load({ simd: 'deterministic' })]);
  const [one, other] = builds.map((rw) => rw.fireBias({ ...fireParameters(2, 32), queries: 5, keys: 40 }).data);
  assertClose(one, other, 64 * 32 * 2 ** -24);
});
