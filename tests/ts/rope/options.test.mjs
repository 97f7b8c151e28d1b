// Options of plans: frequencies and attention factor of every kind of scaling, against published numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { assertClose, assertSameBits, random } from '../support/arrays.mjs';
import { toNumber } from '../support/fixed.mjs';
import { testMisfits } from '../support/refusals.mjs';
import { frequencies } from '../support/rope-reference.mjs';

const rw = await load({ simd: 'deterministic' });

// From huggingface/transformers tests/utils/test_modeling_rope_utils.py (Apache-2.0): headDim 128, base 10000, in five
// digits. `at` are pairs of the 64, `expected` their inverse frequencies.
const at = [0, 1, 15, 16, 17, 31, 32, 47, 62, 63];
const published = [
  {
    scaling: { type: 'default' },
    factor: 1,
    expected: [1, 0.86596, 0.11548, 0.1, 0.086596, 0.011548, 0.01, 0.0011548, 0.00013335, 0.00011548],
  },
  {
    scaling: { type: 'dynamic', factor: 10, maxLength: 2048, sequenceLength: 16384 },
    factor: 1,
    expected: [1, 0.80931, 0.041853, 0.033872, 0.027413, 0.0014176, 0.0011473, 4.8018e-5, 2.0097e-6, 1.6265e-6],
  },
  {
    scaling: { type: 'yarn', factor: 10, betaFast: 32, betaSlow: 1, originalLength: 2048 },
    factor: 1.2302585092994045,
    expected: [1, 0.86596, 0.11548, 0.1, 0.083479, 0.005312, 0.00424, 0.00011548, 1.3335e-5, 1.1548e-5],
  },
  {
    scaling: { type: 'llama3', factor: 10, originalLength: 2048, lowFreqFactor: 1, highFreqFactor: 4 },
    factor: 1,
    expected: [1, 0.86596, 0.11548, 0.1, 0.086596, 0.01073, 0.0077785, 0.00011548, 1.3335e-5, 1.1548e-5],
  },
  {
    scaling: { type: 'proportional', rotaryFraction: 0.25, factor: 1 },
    factor: 1,
    expected: [1, 0.86596, 0.11548, 0, 0, 0, 0, 0, 0, 0],
  },
];
for (const { scaling, factor, expected } of published) {
  test(`${scaling.type} scaling has the frequencies that Hugging Face publishes`, () => {
    const plan = rw.rope({ headDim: 128, scaling });
    const got = at.map((pair) => plan.inverseFrequencies[pair]);
    // torch.testing.assert_close on float32: 1e-5 + 1.3e-6 |want|; the digits themselves are good to 5e-5.
    assertClose(
      got,
      expected,
      expected.map((want) => 1e-5 + 5e-5 * want),
    );
    assert.ok(Math.abs(plan.attentionFactor - factor) <= 1e-12, `attention factor ${plan.attentionFactor}`);
    assert.equal(plan.inverseFrequencies.length, 64);
    plan.dispose();
  });
}

const shortFactors = Array(64).fill(2);
const longFactors = Array.from({ length: 64 }, (_, i) => i + 1);
const exact = frequencies(128).map(toNumber);

test('longrope takes the short list up to the original length and the long one beyond', () => {
  const longrope = { type: 'longrope', shortFactors, longFactors, originalLength: 2048, maxLength: 4096 };
  const frequenciesAt = (sequenceLength) => {
    const plan = rw.rope({ headDim: 128, scaling: { ...longrope, ...(sequenceLength && { sequenceLength }) } });
    const copy = [...plan.inverseFrequencies];
    plan.dispose();
    return copy;
  };
  const relative = (want) => want.map((w) => 1e-15 * w);
  const short = exact.map((w) => w / 2);
  const long = exact.map((w, i) => w / (i + 1));
  for (const length of [undefined, 10, 2048]) assertClose(frequenciesAt(length), short, relative(short));
  for (const length of [2049, 1e6]) assertClose(frequenciesAt(length), long, relative(long));
});

test('longrope has the attention factor sqrt(1 + ln factor / ln originalLength)', () => {
  const longrope = { type: 'longrope', shortFactors, longFactors, originalLength: 2048 };
  const factorOf = (more) => {
    const plan = rw.rope({ headDim: 128, scaling: { ...longrope, ...more } });
    plan.dispose();
    return plan.attentionFactor;
  };
  for (const factor of [2, 10, 20]) {
    const want = Math.sqrt(1 + Math.log(factor) / Math.log(2048));
    assert.ok(Math.abs(factorOf({ factor }) - want) < 1e-15);
    assert.equal(factorOf({ maxLength: 2048 * factor }), factorOf({ factor }));
  }
  assert.throws(() => factorOf({}), { name: 'ArgumentRangeError', message: /scaling\.factor is missing/ });
  assert.equal(factorOf({ factor: 0.5 }), 1);
  assert.equal(factorOf({ factor: 4, attentionFactor: 1.25 }), 1.25);
});

test('the other kinds are their formulas', () => {
  const of = (scaling, options = {}) => {
    const plan = rw.rope({ headDim: 128, scaling, ...options });
    plan.dispose();
    return plan.inverseFrequencies;
  };
  const bound = (want) => want.map((w) => 4e-16 * w);
  assertSameBits(of({ type: 'default' }), of(undefined));
  assertClose(of({ type: 'default' }), exact, bound(exact));
  const linear = exact.map((w) => w / 3);
  assertClose(of({ type: 'linear', factor: 3 }), linear, bound(linear));
  const ntk = Array.from(exact, (_, i) => (10000 * 4 ** (128 / 126)) ** (-i / 64));
  assertClose(
    of({ type: 'ntk', factor: 4 }),
    ntk,
    ntk.map((w) => 1e-14 * w),
  );
  // Up to the length that it was trained for, dynamic scaling changes nothing.
  const dynamic = { type: 'dynamic', factor: 10, maxLength: 2048 };
  for (const sequenceLength of [0, 1, 2048])
    assertSameBits(of({ ...dynamic, sequenceLength }), of({ type: 'default' }));
  const proportional = of({ type: 'proportional', rotaryFraction: 0.25, factor: 2 });
  assertClose(
    proportional.subarray(0, 16),
    exact.slice(0, 16).map((w) => w / 2),
    exact.slice(0, 16).map((w) => 4e-16 * w),
  );
  assertSameBits(proportional.subarray(16), new Float64Array(48));
  const own = Array.from(random(64), Math.abs);
  assertSameBits(of({ type: 'custom', inverseFrequencies: own }), own);
  assertSameBits(of({ type: 'custom', inverseFrequencies: Float64Array.from(own) }), own);
});

test('yarn and llama3 are their formulas at every option', () => {
  const of = (scaling) => {
    const plan = rw.rope({ headDim: 128, scaling });
    plan.dispose();
    return plan.inverseFrequencies;
  };
  // Some twenty roundings of the doubles here, logarithms and differences among them.
  const close = (got, want) =>
    assertClose(
      got,
      want,
      want.map((w) => 1e-14 * w),
    );
  const blend = (w, share, factor) => share * w + ((1 - share) * w) / factor;
  // The pair, as a real number, that makes so many turns within the original length.
  const pairOf = (turns, length) => (128 * Math.log(length / (2 * Math.PI * turns))) / (2 * Math.log(10000));
  for (const truncate of [true, false]) {
    const yarn = { factor: 10, originalLength: 3000, betaFast: 20, betaSlow: 2, truncate };
    const [first, last] = [pairOf(20, 3000), pairOf(2, 3000)];
    const [low, high] = truncate ? [Math.floor(first), Math.ceil(last)] : [first, last];
    const kept = (i) => 1 - Math.min(Math.max((i - low) / (high - low), 0), 1);
    close(
      of({ type: 'yarn', ...yarn }),
      exact.map((w, i) => blend(w, kept(i), 10)),
    );
  }
  const llama3 = { factor: 10, originalLength: 2048, lowFreqFactor: 2, highFreqFactor: 5 };
  const kept = (w) => Math.min(Math.max(((2048 * w) / (2 * Math.PI) - 2) / (5 - 2), 0), 1);
  close(
    of({ type: 'llama3', ...llama3 }),
    exact.map((w) => blend(w, kept(w), 10)),
  );
});

test('yarn takes mscale and mscaleAllDim together, and an attention factor before both', () => {
  const yarn = { type: 'yarn', factor: 40, originalLength: 4096 };
  const factorOf = (more) => {
    const plan = rw.rope({ headDim: 64, scaling: { ...yarn, ...more } });
    plan.dispose();
    return plan.attentionFactor;
  };
  const m = (scale) => 0.1 * scale * Math.log(40) + 1;
  const near = (got, want) => assert.ok(Math.abs(got - want) < 1e-15, `${got}, want ${want}`);
  near(factorOf({}), m(1));
  near(factorOf({ mscale: 0.7, mscaleAllDim: 1 }), m(0.7) / m(1));
  near(factorOf({ mscale: 0.7 }), m(1));
  near(factorOf({ mscale: 0.7, mscaleAllDim: 0 }), m(1));
  near(factorOf({ mscale: 0.7, mscaleAllDim: 1, attentionFactor: 0.9 }), 0.9);
  near(factorOf({ factor: 1 }), 1);
});

test('a plan keeps nothing of the lists that it was made from', () => {
  const inverseFrequencies = [1, 0.5];
  const plan = rw.rope({ headDim: 4, scaling: { type: 'custom', inverseFrequencies } });
  const before = plan.tables([3]).cos;
  inverseFrequencies[0] = 9;
  plan.inverseFrequencies.fill(7);
  assertSameBits(plan.tables([3]).cos, before);
  plan.dispose();
});

const scaled =
  (scaling, more = {}) =>
  () =>
    rw.rope({ headDim: 4, scaling, ...more });
testMisfits(rw, 'rope', {
  'a rotaryDim above headDim': [RangeError, ['rotaryDim', '8', '4'], () => rw.rope({ headDim: 4, rotaryDim: 8 })],
  'ntk scaling of one pair': [RangeError, ['2', 'ntk'], scaled({ type: 'ntk', factor: 2 }, { rotaryDim: 2 })],
  'dynamic scaling of one pair': [
    RangeError,
    ['2', 'dynamic'],
    scaled({ type: 'dynamic', factor: 2, maxLength: 9 }, { rotaryDim: 2 }),
  ],
  'yarn scaling of a base below 1': [
    RangeError,
    ['base', '0.5'],
    scaled({ type: 'yarn', factor: 2, originalLength: 9 }, { base: 0.5 }),
  ],
  'longrope scaling of a length whose logarithm is 0': [
    RangeError,
    ['scaling.originalLength', '1', 'attentionFactor'],
    scaled({ type: 'longrope', shortFactors: [1, 1], longFactors: [1, 1], originalLength: 1, factor: 4 }),
  ],
  'longrope scaling of such a length, its factor from maxLength': [
    RangeError,
    ['scaling.originalLength', '1', 'attentionFactor'],
    scaled({ type: 'longrope', shortFactors: [1, 1], longFactors: [1, 1], originalLength: 1, maxLength: 4 }),
  ],
  'llama3 scaling whose band is empty': [
    RangeError,
    ['scaling.highFreqFactor', '2'],
    scaled({ type: 'llama3', factor: 2, originalLength: 9, lowFreqFactor: 3, highFreqFactor: 2 }),
  ],
  'a list that is too short for the pairs': [
    RangeError,
    ['scaling.longFactors', '1'],
    scaled({ type: 'longrope', shortFactors: [1, 1], longFactors: [1], originalLength: 9 }),
  ],
  'cos and sin larger than float32 can hold': [
    RangeError,
    ['scaling', '1e+300'],
    scaled({ type: 'custom', inverseFrequencies: [1, 1], attentionFactor: 1e300 }),
  ],
  'cos and sin so small that turning back is not held': [
    RangeError,
    ['scaling', '1e-44'],
    scaled({ type: 'custom', inverseFrequencies: [1, 1], attentionFactor: 1e-44 }),
  ],
  'an mscale that makes them so': [
    RangeError,
    ['scaling', '1.386'],
    scaled({ type: 'yarn', factor: 4, originalLength: 9, mscale: 1e40, mscaleAllDim: 1e-40 }),
  ],
});
