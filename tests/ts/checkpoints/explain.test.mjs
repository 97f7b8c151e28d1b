// explainRope(): the plan's numbers, bands, and a warning for each known trap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, ropeFromConfig } from 'ropewalk';
import { notAChoice, notOptions, notPositive, required } from '../support/bad-values.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const codes = (...args) => rw.explainRope(...args).warnings.map(({ code }) => code);

const deepseek = {
  ...{ model_type: 'deepseek_v3', qk_rope_head_dim: 64, max_position_embeddings: 163840, rope_theta: 10000 },
  rope_parameters: {
    ...{ rope_type: 'yarn', factor: 40, beta_fast: 32, beta_slow: 1, mscale: 1, mscale_all_dim: 1 },
    original_max_position_embeddings: 4096,
  },
};
const llama3 = { factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };

test('explainRope describes pairs by the frequencies of the plan', () => {
  const options = { headDim: 8, base: 10000 };
  const e = rw.explainRope(options, { trainingLength: 1000 });
  const plan = rw.rope(options);
  assert.deepEqual(
    e.pairs.map((pair) => pair.inverseFrequency),
    [...plan.inverseFrequencies],
  );
  plan.dispose();
  const turns = [1, 0.1, 0.01, 0.001].map((w) => (1000 * w) / (2 * Math.PI));
  e.pairs.forEach((pair, i) => {
    assert.equal(pair.index, i);
    assert.ok(Math.abs(pair.wavelength / (2 * Math.PI * 10 ** i) - 1) < 1e-15);
    assert.ok(Math.abs(pair.turns / turns[i] - 1) < 1e-15);
    assert.equal(pair.completes, i < 3);
    assert.equal(pair.scaledBy, 1);
  });
  assert.equal(e.completePairs, 3);
  const { kind, headDim, rotaryDim, base, pairing, angles, trainingLength, attentionFactor } = e;
  assert.deepEqual(
    { kind, headDim, rotaryDim, base, pairing, angles, trainingLength, attentionFactor },
    {
      ...{ kind: 'default', headDim: 8, rotaryDim: 8, base: 10000, pairing: 'half', angles: 'exact' },
      ...{ trainingLength: 1000, attentionFactor: 1 },
    },
  );
  assert.equal(e.attentionFactorAppliesTo, 'cos and sin; scores get its square');
});

test('explainRope says nothing of turns where no training length is known', () => {
  const e = rw.explainRope({ headDim: 4 });
  assert.deepEqual(
    [e.trainingLength, e.completePairs, e.pairs[0].turns, e.pairs[0].completes],
    [null, null, null, null],
  );
});

test('an explanation survives JSON, and leaves no plan behind', () => {
  const before = rw.memory();
  for (const config of [deepseek, { headDim: 8, scaling: { type: 'proportional', rotaryFraction: 0.5 } }]) {
    const e = rw.explainRope(config);
    assert.deepEqual(JSON.parse(JSON.stringify(e)), e);
  }
  const { usedBytes, liveObjects } = rw.memory();
  assert.deepEqual({ usedBytes, liveObjects }, { usedBytes: before.usedBytes, liveObjects: before.liveObjects });
});

test('explainRope gives the published band of YaRN, and what each side of it is scaled by', () => {
  // Hugging Face's test: head_dim 128, factor 10, 32/1, length 2048: low 16, high 41.
  const scaling = { type: 'yarn', factor: 10, originalLength: 2048 };
  const e = rw.explainRope({ headDim: 128, scaling });
  assert.deepEqual(e.band, { unit: 'pair', low: 16, high: 41 });
  assert.equal(e.trainingLength, 2048);
  assert.equal(e.pairs[16].scaledBy, 1);
  assert.ok(e.pairs[17].scaledBy > 1 && e.pairs[40].scaledBy < 10);
  for (const { index, scaledBy } of e.pairs) if (index >= 41) assert.ok(Math.abs(scaledBy - 10) < 1e-14);
  assert.ok(Math.abs(e.attentionFactor - (0.1 * Math.log(10) + 1)) < 1e-15);
  const { low, high } = rw.explainRope({ headDim: 128, scaling: { ...scaling, truncate: false } }).band;
  assert.ok(low > 16 && low < 17 && high > 40 && high < 41);
});

test('explainRope gives the band of Llama 3 in wavelengths', () => {
  const e = rw.explainRope({ head_dim: 128, rope_theta: 500000, rope_scaling: { rope_type: 'llama3', ...llama3 } });
  assert.deepEqual(e.band, { unit: 'wavelength', low: 2048, high: 8192 });
  for (const { wavelength, scaledBy } of e.pairs) {
    const original = wavelength / scaledBy;
    if (original < 2048) assert.equal(scaledBy, 1);
    if (original > 8192) assert.ok(Math.abs(scaledBy - 8) < 1e-14);
  }
});

test('explainRope gives the base that dynamic and static NTK use', () => {
  const dynamic = { type: 'dynamic', factor: 10, maxLength: 2048, sequenceLength: 16384 };
  const e = rw.explainRope({ headDim: 128, scaling: dynamic });
  assert.ok(Math.abs(e.effectiveBase - 759702.2311) < 1e-4);
  const ntk = rw.explainRope({ headDim: 4, base: 100, scaling: { type: 'ntk', factor: 3 } });
  assert.ok(Math.abs(ntk.effectiveBase - 900) < 1e-10);
  assert.equal('effectiveBase' in rw.explainRope({ headDim: 4 }), false);
});

test('pairs that stand still have no wavelength', () => {
  const e = rw.explainRope(
    { headDim: 8, scaling: { type: 'proportional', rotaryFraction: 0.5 } },
    { trainingLength: 9 },
  );
  assert.deepEqual(
    e.pairs.map(({ wavelength, scaledBy }) => wavelength === null && scaledBy === null),
    [false, false, true, true],
  );
  assert.deepEqual([e.pairs[3].turns, e.pairs[3].completes], [0, false]);
  const custom = { type: 'custom', inverseFrequencies: [1, 0.5] };
  assert.equal(rw.explainRope({ headDim: 4, scaling: custom }).pairs[0].scaledBy, null, 'nothing to compare with');
  assert.equal(rw.explainRope({ headDim: 4, base: 16, scaling: custom }).pairs[1].scaledBy, 0.5);
});

test('explainRope tells DeepSeek’s factor of the softmax scale', () => {
  const e = rw.explainRope(deepseek);
  assert.equal(e.attentionFactor, 1);
  assert.ok(Math.abs(e.softmaxScaleFactor - 1.3688879454113936 ** 2) < 1e-14);
  assert.equal(e.softmaxScaleFactor, rw.explainRope({ headDim: 64, scaling: optionsOf(deepseek) }).softmaxScaleFactor);
  assert.match(e.text, /the magnitude is in the softmax scale alone/);
  // Ministral 3 has the same fields, and a plain softmax scale.
  const rope = { rope_type: 'yarn', factor: 16, mscale: 1, mscale_all_dim: 1, original_max_position_embeddings: 16384 };
  const ministral = rw.explainRope({ model_type: 'ministral3', rope_parameters: { ...rope, rope_theta: 1e6 } });
  assert.equal(ministral.softmaxScaleFactor, undefined);
  assert.doesNotMatch(ministral.text, /softmax/);
});
const optionsOf = () => ({ type: 'yarn', factor: 40, originalLength: 4096, mscale: 1, mscaleAllDim: 1 });

test('what has no field of a config.json is taken for options, a misspelt one too', () => {
  assert.throws(() => rw.explainRope({ headdim: 64, base: 1e4 }), /headdim is not an option; known are headDim/);
  for (const nothing of [{}, Promise.resolve({ headDim: 8 })]) {
    assert.throws(() => rw.explainRope(nothing), { name: 'ArgumentTypeError', argument: 'config' });
  }
});

test('layers without RoPE have nothing to explain', () => {
  const rope_parameters = { full_attention: null, sliding_attention: { rope_theta: 500 } };
  assert.equal(rw.explainRope({ head_dim: 8, rope_parameters }, { layerType: 'full_attention' }), null);
  const e = rw.explainRope({ head_dim: 8, rope_parameters }, { layerType: 'sliding_attention', angles: 'float32' });
  assert.deepEqual([e.base, e.angles], [500, 'float32']);
});

test('explainRope lists the fields that speak of RoPE and were not used', () => {
  const config = {
    ...{ model_type: 'llama', head_dim: 8, max_position_embeddings: 64, hidden_act: 'silu', no_rope_layers: [1, 0] },
    ...{ rope_theta: 100, rotary_value: false },
    rope_scaling: { rope_type: 'linear', factor: 2, beta_fast: 32, original_max_position_embeddings: 32, note: null },
  };
  const { unusedFields } = rw.explainRope(config);
  assert.deepEqual([...unusedFields].sort(), [
    'no_rope_layers',
    'rope_scaling.beta_fast',
    'rope_scaling.original_max_position_embeddings',
    'rotary_value',
  ]);
  assert.deepEqual(rw.explainRope({ model_type: 'llama', head_dim: 8, rope_theta: 100 }).unusedFields, []);
  const nested = { rope_theta: 7, text_config: { model_type: 'llama', head_dim: 8, rope_theta: 100, rope_note: 1 } };
  assert.deepEqual(rw.explainRope(nested).unusedFields, ['rope_theta', 'text_config.rope_note']);
  const yarn = rw.explainRope({
    ...deepseek,
    rope_parameters: { ...deepseek.rope_parameters, attention_factor: 1.5 },
  });
  assert.deepEqual(yarn.unusedFields, ['rope_parameters.mscale', 'rope_parameters.mscale_all_dim']);
});

const llama = { model_type: 'llama', head_dim: 8, rope_theta: 100, max_position_embeddings: 64 };
const scaled = (rope, more) => [{ ...llama, rope_parameters: { original_max_position_embeddings: 16, ...rope } }, more];
const lists = { short_factor: [1, 1, 1, 1], long_factor: [2, 2, 2, 2] };
const yarn = { rope_type: 'yarn', factor: 4 };
const nested = (rope) => [
  { head_dim: 8, model_type: 'gpt_oss', rope_parameters: { full_attention: rope } },
  { layerType: 'full_attention' },
];
const original = { original_max_position_embeddings: 16 };

// Each trap: a configuration that runs into it, words of its message, and one that does not.
const traps = {
  'factor-not-used': [
    [{ ...llama, rope_parameters: { rope_type: 'default', factor: 8 } }],
    'rope_parameters.factor',
    scaled(yarn),
  ],
  'unused-fields': [scaled({ ...yarn, beta_quick: 1 }), 'rope_parameters.beta_quick', scaled(yarn)],
  'factor-and-ratio': [scaled({ ...yarn, factor: 3 }), 'factor is 3', scaled(yarn)],
  'original-length-missing': [
    [{ ...llama, rope_parameters: yarn }],
    'original_max_position_embeddings is missing',
    scaled(yarn),
  ],
  'dynamic-cache': [
    [{ ...llama, rope_parameters: { rope_type: 'dynamic', factor: 2 } }],
    'rerotate',
    [{ ...llama, rope_parameters: { rope_type: 'linear', factor: 2 } }],
  ],
  'longrope-cache': [scaled({ rope_type: 'longrope', ...lists }), 'cache', scaled(yarn)],
  'longrope-at-original-length': [
    scaled({ rope_type: 'longrope', ...lists }),
    'exactly the original length, 16',
    [llama],
  ],
  'softmax-scale': [[deepseek], '1.87385', scaled({ ...yarn, mscale: 1 })],
  'mscale-pair-equal': [[deepseek], 'both 1', scaled({ ...yarn, mscale: 1, mscale_all_dim: 0.8 })],
  'attention-factor-overrides-mscale': [
    scaled({ ...yarn, mscale: 1, mscale_all_dim: 1, attention_factor: 1.2 }),
    'overrides',
    scaled({ ...yarn, attention_factor: 1.2 }),
  ],
  'type-field': [[{ ...llama, rope_scaling: { type: 'linear', factor: 2 } }], 'old name of rope_type', scaled(yarn)],
  'nested-truncate': [
    nested({ ...yarn, ...original, truncate: false }),
    'truncate',
    scaled({ ...yarn, truncate: false }),
  ],
  'proportional-or-partial': [
    [{ ...llama, rope_parameters: { rope_type: 'proportional', partial_rotary_factor: 0.5 } }],
    'not interchangeable',
    [llama],
  ],
  'pairing-unknown': [[{ ...llama, model_type: 'new_thing' }], '"new_thing"', [{ ...llama, rope_interleave: true }]],
  'model-unknown': [
    [{ model_type: 'new_thing', head_dim: 8, rope_theta: 100, rope_interleave: false }],
    'model_type "new_thing" is not known; assumed: rotaryDim, layers',
    [llama],
  ],
  'base-assumed': [[{ model_type: 'new_thing', head_dim: 8, rope_interleave: false }], '10000', [llama]],
  'layers-without-rope': [[{ ...llama, no_rope_layers: [1, 0] }], 'no_rope_layers', [llama]],
  'float32-angles': [[llama, { angles: 'float32' }], '0.00000384 at 64', [llama]],
};

for (const [code, [into, words, past]] of Object.entries(traps)) {
  test(`explainRope warns of ${code}, and only where it is so`, () => {
    const { warnings, text } = rw.explainRope(...into);
    const found = warnings.filter((warning) => warning.code === code);
    assert.equal(found.length, 1, `warnings are ${warnings.map((warning) => warning.code)}`);
    assert.ok(found[0].message.includes(words), found[0].message);
    assert.ok(text.includes(`${code}: ${found[0].message}`));
    assert.ok(!codes(...past).includes(code));
  });
}

test('explainRope finds traps in the options of a plan as well', () => {
  const of = (scaling, more) => codes({ headDim: 8, scaling, ...more });
  assert.deepEqual(of({ type: 'dynamic', factor: 2, maxLength: 64 }), ['dynamic-cache']);
  const ones = [1, 1, 1, 1];
  const longrope = { type: 'longrope', shortFactors: ones, longFactors: ones, originalLength: 16 };
  assert.deepEqual(of({ ...longrope, factor: 4 }), ['longrope-cache', 'longrope-at-original-length']);
  assert.ok(of({ ...longrope, factor: 4, attentionFactor: 2 }).includes('factor-not-used'));
  assert.deepEqual(of(optionsOf()), ['softmax-scale', 'mscale-pair-equal']);
  assert.ok(of({ ...optionsOf(), attentionFactor: 2 }).includes('attention-factor-overrides-mscale'));
  assert.deepEqual(of(undefined, { rotaryDim: 4, angles: 'float32' }), ['proportional-or-partial', 'float32-angles']);
  assert.deepEqual(of(undefined), []);
});

test('explainRope tells a legacy mrope, and layers of a type that have no RoPE', () => {
  const section = { mrope_section: [2, 1, 1] };
  const mrope = rw.explainRope({ ...llama, rope_scaling: { type: 'mrope', ...section } });
  assert.ok(mrope.warnings.find(({ code }) => code === 'type-field').message.includes("'mrope'"));
  const both = rw.explainRope({ ...llama, rope_scaling: { type: 'default', rope_type: 'default', ...section } });
  assert.ok(both.warnings.find(({ code }) => code === 'type-field').message.includes('both'));
  const cohere = { model_type: 'cohere2', head_dim: 8, rope_theta: 50000, sliding_window: 16 };
  assert.ok(codes(cohere).includes('layers-without-rope'));
});

test('layers of one type that rotate by their number are told from those that never do', () => {
  const layer_types = ['full_attention', 'chunked_attention', 'full_attention'];
  const config = { model_type: 'llama4_text', head_dim: 8, layer_types };
  const said = (fields) => rw.explainRope(fields).warnings.find(({ code }) => code === 'layers-without-rope').message;
  const layerType = 'full_attention';
  assert.equal(ropeFromConfig(config, { layerType }), null);
  assert.match(said(config), /layers of full_attention have no RoPE/);
  const byNumber = /no_rope_layers takes RoPE from some of the layers, by their number/;
  const none = { ...config, no_rope_layers: [0, 1, 0] };
  assert.equal(ropeFromConfig(none, { layerType }), null);
  assert.match(said(none), byNumber);
  const some = { ...config, no_rope_layers: [0, 1, 1] };
  assert.deepEqual(ropeFromConfig(some, { layerType }), { headDim: 8, base: 5e5, pairing: 'interleaved' });
  assert.match(said(some), byNumber);
});

test('the text of an explanation has a line for every part', () => {
  const { text, pairs } = rw.explainRope(deepseek);
  const lines = text.split('\n');
  assert.equal(pairs.length, 32);
  assert.ok(lines.length < 30, 'a readable number of lines');
  for (const words of [
    ...["kind 'yarn'", '64 of 64 coordinates', '(interleaved)', 'base 10000', 'training length 4096'],
    ...['attention factor 1 on cos and sin', 'softmax scale times 1.87385', 'pair 10', 'pair 23'],
  ]) {
    assert.ok(text.includes(words), `${words} is missing in:\n${text}`);
  }
  assert.match(
    lines.find((line) => line.startsWith('   0')),
    /6\.28319/,
  );
  assert.match(text, /\n {2}31 /);
  const dynamic = { type: 'dynamic', factor: 2, maxLength: 8, sequenceLength: 16 };
  assert.match(rw.explainRope({ headDim: 4, scaling: dynamic }).text, /in effect/);
  assert.match(rw.explainRope({ headDim: 4 }).text, /training length not known/);
});

const plain = { headDim: 8 };
testAllRefusals(rw, 'explainRope', {
  config: [required(notOptions.filter(({ value }) => typeof value !== 'function')), (config) => rw.explainRope(config)],
  options: [notOptions, (options) => rw.explainRope(plain, options)],
  trainingLength: [notPositive, (trainingLength) => rw.explainRope(plain, { trainingLength })],
  angles: [notAChoice, (angles) => rw.explainRope(llama, { angles })],
});
testUnknownOptions(rw, 'explainRope of options', ['layerType', 'pairing', 'angles'], (more) =>
  rw.explainRope(plain, more),
);
testUnknownOptions(rw, 'explainRope of a configuration', ['length'], (more) => rw.explainRope(llama, more));
testMisfits(rw, 'explainRope', {
  'a single pair under NTK': [
    RangeError,
    ['rotaryDim', '2'],
    () => rw.explainRope({ headDim: 2, scaling: { type: 'ntk', factor: 2 } }),
  ],
  'options that no plan has': [RangeError, 'theta', () => rw.explainRope({ headDim: 8, theta: 3 })],
  'a configuration that contradicts itself': [
    RangeError,
    ['explainRope', 'rope_scaling.type'],
    () => rw.explainRope({ head_dim: 8, rope_scaling: { type: 'linear', rope_type: 'yarn', factor: 2 } }),
  ],
});
