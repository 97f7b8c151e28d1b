// sample() against a plain program that sorts all tokens, and against the distribution.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { sample } from 'ropewalk/models';
import { random } from '../support/arrays.mjs';
import {
  notAnInteger,
  notFloats,
  notNonNegative,
  notOptions,
  notPositions,
  notPositive,
  outOfRange,
  wrongType,
} from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load();
const sum = (values) => values.reduce((a, b) => a + b, 0);
const most = (values) => values.reduce((a, b) => Math.max(a, b));

// Probabilities after all filters, with Hugging Face's definitions, everything sorted.
function probabilities(
  logits,
  { temperature = 1, topK = Infinity, topP = 1, minP = 0, typicalP = 1, repetitionPenalty = 1, previous, logitBias },
) {
  let scores = [...logits];
  for (const [id, bias] of Object.entries(logitBias ?? {})) scores[id] = Math.fround(scores[id] + bias);
  for (const id of new Set(previous ?? [])) {
    const s = scores[id];
    scores[id] = Math.fround(s < 0 ? s * repetitionPenalty : s / repetitionPenalty);
  }
  scores = scores.map((s) => s / temperature);
  const softmax = () => {
    const max = most(scores);
    const weights = scores.map((s) => Math.exp(s - max));
    const total = sum(weights);
    return weights.map((w) => w / total);
  };
  const descending = () => scores.map((_, id) => id).sort((a, b) => scores[b] - scores[a] || a - b);
  const kth = scores[descending()[Math.min(topK, scores.length) - 1]];
  scores = scores.map((s) => (s < kth ? -Infinity : s));
  if (topP < 1) {
    const p = softmax();
    let before = 0;
    for (const [rank, id] of descending().entries()) {
      if (rank > 0 && before >= topP) scores[id] = -Infinity;
      before += p[id];
    }
  }
  const p = softmax();
  const least = minP * most(p);
  scores = scores.map((s, id) => (p[id] < least ? -Infinity : s));
  if (typicalP < 1) {
    const p = softmax();
    const informationOf = (id) => -Math.log(p[id]);
    const entropy = sum(p.map((each, id) => (each === 0 ? 0 : each * informationOf(id))));
    const distance = p.map((each, id) => (each === 0 ? Infinity : Math.fround(Math.abs(informationOf(id) - entropy))));
    const nearest = distance.map((_, id) => id).sort((a, b) => distance[a] - distance[b] || a - b);
    let mass = 0;
    let border = 0;
    while (border < nearest.length - 1 && mass + p[nearest[border]] < typicalP) mass += p[nearest[border++]];
    // Two ways to the same distance differ in the last bits.
    const farthest = distance[nearest[border]] * (1 + 2 ** -22);
    scores = scores.map((s, id) => (distance[id] > farthest ? -Infinity : s));
  }
  return softmax();
}

// Where the choice goes from one token to the next: random numbers just below and just above every border.
function assertDistribution(logits, options) {
  const want = probabilities(logits, options);
  let below = 0;
  for (const [id, p] of want.entries()) {
    if (p === 0) continue;
    const inside = [below + p * 1e-6, below + p / 2, below + p * (1 - 1e-6)];
    for (const u of p > 1e-8 ? inside : []) {
      assert.equal(sample(logits, { ...options, random: () => u }), id, `at ${u}, ${JSON.stringify(options)}`);
    }
    below += p;
  }
}

const scaled = (length, seed, by) => random(length, seed).map((v) => v * by);

const filters = [
  {},
  { temperature: 0.3 },
  { temperature: 5 },
  { topK: 1 },
  { topK: 7 },
  { topP: 0 },
  { topP: 0.5 },
  { topP: 0.95 },
  { topP: 0.999999 },
  { minP: 0.2 },
  { minP: 1 },
  { typicalP: 0.2 },
  { typicalP: 0.9 },
  { typicalP: 0.999 },
  { topP: 0.9, typicalP: 0.6 },
  { logitBias: { 0: 2.5 } },
  { logitBias: { 0: -3, 2: 1, 3: -Infinity }, repetitionPenalty: 1.3, previous: [0, 2] },
  { temperature: 0.7, topK: 9, topP: 0.8, minP: 0.05, repetitionPenalty: 1.3, previous: [0, 0, 3] },
];
for (const length of [1, 2, 3, 17, 67, 400]) {
  test(`the distribution over ${length} tokens is that of a program that sorts`, () => {
    for (const [i, options] of filters.entries()) {
      if (options.previous && length < 17) continue;
      for (const spread of [0.01, 4, 30]) assertDistribution(scaled(length, 31 * i + length, spread), options);
    }
  });
}

test('the filters hold where many logits are equal, or zero of either sign, or impossible', () => {
  const levels = Float32Array.from(random(200, 3), (v) => Math.round(v * 3)); // among them -0
  assert.ok(levels.some((v) => Object.is(v, -0)) && levels.some((v) => Object.is(v, 0)));
  const gaps = scaled(200, 4, 3).map((v, i) => (i % 3 === 0 ? v : -Infinity));
  for (const logits of [levels, gaps, new Float32Array(50)]) {
    for (const options of filters) assertDistribution(logits, options);
  }
});

test('topK keeps what is equal to the k-th, topP takes the lower id first', () => {
  const logits = Float32Array.of(1, 2, 2, 2, 0);
  const reached = (options) => {
    const tokens = Array.from({ length: 400 }, (_, i) => sample(logits, { ...options, random: () => i / 400 }));
    return [...new Set(tokens)];
  };
  assert.deepEqual(reached({ topK: 1 }), [1, 2, 3]);
  assert.deepEqual(reached({ topP: 0 }), [1]);
  assert.deepEqual(reached({ topP: 0.5 }), [1, 2]);
  assert.deepEqual(reached({ topK: 4 }), [0, 1, 2, 3]);
});

test('typicalP leaves out what is too likely, and keeps what is as near to the entropy as the last', () => {
  // One token of p 1/2 and 64 of p 1/128: the entropy is 4.2 nats / ln 2 = 4 bits, so 1 bit is 3 away, and so are 7.
  const logits = Float32Array.from({ length: 65 }, (_, id) => (id === 0 ? Math.log(64) : 0));
  const least = (id) => sample(logits, { typicalP: 0, random: () => (id + 0.5) / 65 });
  assert.ok(Array.from({ length: 65 }, (_, id) => least(id)).some((id) => id > 0));
  // p 0.9 and 100 of p 0.001: the entropy is 0.9 * 0.105 + 0.1 * 6.9 = 0.79 nats; the first is 0.68 away.
  const sharp = Float32Array.from({ length: 101 }, (_, id) => (id === 0 ? Math.log(900) : 0));
  for (const u of [0, 0.5, 0.95, 0.999]) assert.equal(sample(sharp, { typicalP: 0.5, random: () => u }), 0);
  // p 0.4 and 600 of p 0.001: 4.5 nats; the first is 3.6 away, the others 2.4, and they sum to 0.6.
  const flat = Float32Array.from({ length: 601 }, (_, id) => (id === 0 ? Math.log(400) : 0));
  const reached = new Set(
    Array.from({ length: 601 }, (_, i) => sample(flat, { typicalP: 0.1, random: () => i / 601 })),
  );
  assert.equal(reached.has(0), false);
  assert.ok(reached.size > 590);
  assert.equal(sample(flat, { typicalP: 0.7, random: () => 0.1 }), 0);
});

test('a bias is added before the other filters, in every form, and bans by -Infinity', () => {
  const logits = Float32Array.of(3, 2, -1, -1.5);
  const greedy = (logitBias, more) => sample(logits, { temperature: 0, logitBias, ...more });
  for (const form of [{ 2: 5 }, [[2, 5]], new Map([[2, 5]]), [[2, 5]].values()]) assert.equal(greedy(form), 2);
  assert.equal(greedy({}), 0);
  assert.equal(greedy({ 0: -Infinity, 1: -Infinity }), 2);
  assert.equal(greedy({ 1: 1.5 }, { previous: [1], repetitionPenalty: 2 }), 0); // 3.5 / 2, not 2 / 2 + 1.5
  assert.deepEqual([...logits], [3, 2, -1, -1.5]);
});

test('a bias of a token beyond the vocabulary names the token, and one that bans all says that it counts', () => {
  const refused = (logitBias, message) =>
    assert.throws(() => sample(Float32Array.of(1, 2, 3), { logitBias }), { name: 'ArgumentRangeError', message });
  refused({ 7: 1 }, /logitBias has token 7; expected ids below 3/);
  refused({ 0: -Infinity, 1: -Infinity, 2: -Infinity }, /logits are all -Infinity, bias included/);
});

test('topK beyond the vocabulary and topP of 1 keep everything', () => {
  const logits = scaled(64, 9, 2);
  for (let i = 0; i < 200; ++i) {
    const plain = sample(logits, { seed: 5, index: i });
    assert.equal(sample(logits, { seed: 5, index: i, topK: 64 }), plain);
    assert.equal(sample(logits, { seed: 5, index: i, topK: 1e9, topP: 1, minP: 0, repetitionPenalty: 1 }), plain);
  }
});

test('greedy is the largest logit, of equal ones the lowest id, with no random number', () => {
  const never = () => assert.fail('a random number was asked for');
  for (const length of [1, 5, 64, 1000]) {
    const logits = scaled(length, length, 10);
    const want = logits.indexOf(Math.max(...logits));
    assert.equal(sample(logits, { temperature: 0, topK: 3, topP: 0.1, random: never }), want);
    assert.equal(sample(logits, { topK: 1, seed: 3 }), want);
    assert.equal(sample(logits, { topP: 0, seed: 3 }), want);
    assert.equal(sample(logits, { temperature: 1e-300, seed: 3 }), want);
  }
  assert.equal(sample(Float32Array.of(-Infinity, 2, 3, 3), { temperature: 0 }), 2);
  assert.equal(sample(Float32Array.of(-3e38, 3e38, -Infinity), { temperature: 1e300 }) < 2, true);
});

test('a penalty is counted once for each token, and makes negative logits smaller', () => {
  const logits = Float32Array.of(3, 2, -1, -1.5);
  const greedy = (previous, repetitionPenalty) => sample(logits, { temperature: 0, previous, repetitionPenalty });
  assert.equal(greedy([0, 0, 0], 1.4), 0); // 2.14 is above 2; three times it would not be
  assert.equal(greedy([0], 1.6), 1);
  assert.equal(greedy(Int32Array.of(0, 1, 2), 4), 0);
  assert.equal(greedy([0, 1, 3], 0.1), 0);
  assert.equal(
    sample(Float32Array.of(-2, -3), { temperature: 0, previous: [0n].map(Number), repetitionPenalty: 2 }),
    1,
  );
  assert.deepEqual([...logits], [3, 2, -1, -1.5]);
});

// Published with the algorithm: the first numbers of SplitMix64 for the seed 1234567.
test('the numbers of a seed are those of SplitMix64', () => {
  const published = [6457827717110365317n, 3203168211198807973n, 9817491932198370423n, 4593380528125082431n];
  const flat = new Float32Array(2 ** 16); // a token says 16 bits of the number
  for (const [index, word] of published.entries()) {
    assert.equal(sample(flat, { seed: 1234567, index }), Number(word >> 48n));
  }
  assert.equal(sample(flat, { seed: 1234567 }), Number(published[0] >> 48n));
  for (const seed of [0, 1, Number.MAX_SAFE_INTEGER]) {
    let state = BigInt(seed);
    for (let index = 0; index < 100; ++index) {
      state = (state + 0x9e3779b97f4a7c15n) % 2n ** 64n;
      let z = ((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n) % 2n ** 64n;
      z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) % 2n ** 64n;
      assert.equal(sample(flat, { seed, index }), Number((z ^ (z >> 31n)) >> 48n));
    }
  }
});

// The statistic is chi-square with n - 1 degrees of freedom: mean n - 1, variance 2 (n - 1). The numbers are seeded.
test('many choices are spread as the probabilities say', () => {
  const logits = scaled(20, 77, 2);
  for (const options of [{}, { temperature: 0.5 }, { topK: 8, topP: 0.9 }, { minP: 0.1 }]) {
    const counts = new Float64Array(20);
    const draws = 40_000;
    for (let index = 0; index < draws; ++index) counts[sample(logits, { ...options, seed: 99, index })] += 1;
    const p = probabilities(logits, options);
    const cells = p.map((each, id) => [each * draws, counts[id]]);
    for (const [expected, count] of cells) assert.ok(expected > 0 || count === 0);
    const square = sum(cells.filter(([e]) => e > 0).map(([e, n]) => (n - e) ** 2 / e));
    const degrees = cells.filter(([e]) => e > 0).length - 1;
    assert.ok(Math.abs(square - degrees) < 4 * Math.sqrt(2 * degrees), `${square} of ${degrees}`);
  }
});

test('a vocabulary of 151936 gives what the program that sorts gives', () => {
  const logits = scaled(151_936, 12, 12);
  for (const options of [{ topK: 50, topP: 0.9 }, { topP: 0.4 }, { temperature: 0.05 }]) {
    const want = probabilities(logits, options);
    const kept = want.filter((p) => p > 0).length;
    assert.ok(kept > 1);
    let seen = 0;
    let below = 0;
    for (let id = 0; id < want.length && seen < 40; ++id) {
      const u = below + want[id] / 2;
      below += want[id];
      if (want[id] < 1e-9) continue;
      seen += 1;
      assert.equal(sample(logits, { ...options, random: () => u }), id);
    }
  }
});

test('a view into wasm memory and a larger buffer are read where they are', () => {
  const wide = new Float32Array([9, 9, 1, 5, 2, 9]);
  assert.equal(sample(wide.subarray(2, 5), { temperature: 0 }), 1);
  assert.equal(sample(wide.subarray(2, 5), { topK: 1, random: () => 0.5 }), 1);
  const tensor = rw.tensor([3], Float32Array.of(1, 5, 2));
  assert.equal(sample(tensor.view(), { topP: 0.1, seed: 1 }), 1);
  tensor.dispose();
});

const good = Float32Array.of(1, 2, 3, 4);
const fractions = [...notNonNegative, outOfRange(1.5), outOfRange(-1e-9)];
testAllRefusals(rw, 'sample', {
  logits: [notFloats(4).slice(0, -2), (value) => sample(value)],
  options: [notOptions, (value) => sample(good, value)],
  temperature: [notNonNegative, (value) => sample(good, { temperature: value })],
  topK: [notAnInteger({ min: 1, max: 2 ** 53 - 1 }), (value) => sample(good, { topK: value })],
  topP: [fractions, (value) => sample(good, { topP: value })],
  minP: [fractions, (value) => sample(good, { minP: value })],
  typicalP: [fractions, (value) => sample(good, { typicalP: value })],
  logitBias: [
    [
      wrongType(5, '5'),
      wrongType('x', '"x"'),
      wrongType([5], '5'),
      wrongType([[1, 2, 3]], '[1, 2, 3]'),
      outOfRange({ 4: 1 }, '4'),
      wrongType({ x: 1 }, '"x"'),
      wrongType({ '': 1 }, '""'),
      wrongType({ '0x1': 1 }, '"0x1"'),
      wrongType(new Map([['1', 1]]), '"1"'),
      outOfRange([[-1, 1]], '-1'),
      outOfRange({ 1: Number.NaN }, 'NaN'),
      outOfRange({ 1: Infinity }, 'Infinity'),
      wrongType({ 1: '1' }, '"1"'),
    ],
    (value) => sample(good, { logitBias: value }),
  ],
  repetitionPenalty: [notPositive, (value) => sample(good, { repetitionPenalty: value })],
  previous: [notPositions(4), (value) => sample(good, { previous: value })],
  seed: [notAnInteger({ min: 0, max: 2 ** 53 - 1 }), (value) => sample(good, { seed: value })],
  index: [notAnInteger({ min: 0, max: 2 ** 53 - 1 }), (value) => sample(good, { seed: 1, index: value })],
  random: [
    [wrongType(1, '1'), wrongType('x', '"x"'), wrongType({}, 'an object')],
    (value) => sample(good, { random: value }),
  ],
});
testUnknownOptions(rw, 'sample', ['topk', 'top_k', 'doSample'], (options) => sample(good, options));
const withLogit = (value) => () => sample(Float32Array.of(0, 1, value, 2));
testMisfits(rw, 'sample', {
  'a logit that is NaN': [RangeError, ['logits[2]', 'NaN'], withLogit(Number.NaN)],
  'a logit of Infinity': [RangeError, ['logits[2]', 'Infinity'], withLogit(Infinity)],
  'logits that leave no token': [RangeError, 'logits', () => sample(new Float32Array(4).fill(-Infinity))],
  'logits that leave no token to greedy': [
    RangeError,
    'logits',
    () => sample(new Float32Array(4).fill(-Infinity), { temperature: 0 }),
  ],
  'a penalty that takes a logit to Infinity': [
    RangeError,
    ['repetitionPenalty', 'logits[3]'],
    () => sample(good, { previous: [3], repetitionPenalty: 1e-40 }),
  ],
  'a penalty that takes a logit to -Infinity': [
    RangeError,
    ['repetitionPenalty', 'logits[0]', '-10'],
    () => sample(Float32Array.of(-10, 1), { previous: [0], repetitionPenalty: 1e40 }),
  ],
  'a bias that takes a logit to Infinity': [
    RangeError,
    ['logitBias[1]', 'logits[1]'],
    () => sample(Float32Array.of(0, 3e38), { logitBias: { 1: 3e38 } }),
  ],
  'a bias of a token that is given twice': [
    RangeError,
    ['logitBias', '1 twice'],
    () =>
      sample(good, {
        logitBias: [
          [1, 1],
          [1, 2],
        ],
      }),
  ],
  'biases that ban every token': [
    RangeError,
    'logits',
    () => sample(Float32Array.of(1), { logitBias: { 0: -Infinity } }),
  ],
  'logits that iterating the biases takes away': [
    TypeError,
    ['logits', 'not detached'],
    () => {
      const logits = Float32Array.of(1, 2);
      const logitBias = (function* () {
        structuredClone(logits, { transfer: [logits.buffer] });
        yield [0, 1];
      })();
      return sample(logits, { logitBias });
    },
  ],
  'no logits': [RangeError, ['logits', '0 numbers'], () => sample(new Float32Array(0))],
  'an id beyond the vocabulary': [RangeError, 'previous[1]', () => sample(good, { previous: [3, 4] })],
  'an id below 0': [RangeError, 'previous[0]', () => sample(good, { previous: [-1] })],
  'a seed beside random': [RangeError, 'random', () => sample(good, { seed: 1, random: Math.random })],
  'a random number that is 1': [RangeError, ['random', 'gave 1'], () => sample(good, { random: () => 1 })],
  'a random number that is NaN': [RangeError, ['random', 'NaN'], () => sample(good, { random: () => Number.NaN })],
  'a random number that is text': [RangeError, 'random', () => sample(good, { random: () => '0.5' })],
  'an index without a seed': [RangeError, 'index', () => sample(good, { index: 1 })],
});
