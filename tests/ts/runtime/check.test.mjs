// Checks of numbers, flags, choices and options objects: a wrong argument is refused by its name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { load } from 'ropewalk';
import { randomArray } from '../support/arrays.mjs';
import {
  notABoolean,
  notAChoice,
  notAnInteger,
  notEven,
  notFinite,
  notNonNegative,
  notOptions,
  notPlain,
  notPositive,
  outOfRange,
  required,
  wrongType,
} from '../support/bad-values.mjs';
import { testAllRefusals, testUnknownOptions } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const x = randomArray([2, 3, 4]);
const tensor = rw.tensor(x.shape, x.data);
const position = notAnInteger({ min: -(2 ** 53 - 1), max: 2 ** 53 - 1 });
const unknown = ['nonsense', 'Offset', 'constructor'];

const rope = (options) => rw.rope({ headDim: 4, ...options });
testAllRefusals(rw, 'rope', {
  options: [required(notOptions), (v) => rw.rope(v)],
  headDim: [required(notEven({ min: 2, max: 2 ** 20 })), (headDim) => rw.rope({ headDim })],
  rotaryDim: [notEven({ min: 2, max: 4 }), (rotaryDim) => rope({ rotaryDim })],
  base: [[...notPositive, outOfRange(1)], (base) => rope({ base })],
  pairing: [notAChoice, (pairing) => rope({ pairing })],
  angles: [notAChoice, (angles) => rope({ angles })],
  scaling: [notOptions, (scaling) => rope({ scaling })],
});
testUnknownOptions(rw, 'rope', [...unknown, 'theta'], rope);

// Scalings with all that they require; a row gives one field another value.
const pairs = [1, 1];
const scalings = {
  linear: { factor: 2 },
  ntk: { factor: 2 },
  dynamic: { factor: 2, maxLength: 64 },
  yarn: { factor: 2, originalLength: 64 },
  longrope: { shortFactors: pairs, longFactors: pairs, originalLength: 64 },
  llama3: { factor: 2, originalLength: 64 },
  proportional: { rotaryFraction: 0.5 },
  custom: { inverseFrequencies: pairs },
};
const notAList = (entries) => [
  ...[wrongType(null, 'null'), wrongType(1, '1'), wrongType('11', '"11"'), wrongType({ length: 2 }, 'an object')],
  ...[outOfRange([1], '1'), outOfRange([1, 1, 1], '3')],
  ...entries.map((bad) => ({ ...bad, value: [1, bad.value] })),
];
const scalingFields = {
  linear: { factor: required(notPositive) },
  ntk: { factor: required(notPositive) },
  dynamic: { factor: required(notPositive), maxLength: required(notPositive), sequenceLength: notNonNegative },
  yarn: {
    factor: required(notPositive),
    originalLength: required(notPositive),
    betaFast: notPositive,
    betaSlow: notPositive,
    truncate: notABoolean,
    mscale: notNonNegative,
    mscaleAllDim: notNonNegative,
    attentionFactor: notPositive,
  },
  longrope: {
    shortFactors: required(notAList(notPositive)),
    longFactors: required(notAList(notPositive)),
    originalLength: required(notPositive),
    maxLength: notPositive,
    factor: notPositive,
    sequenceLength: notNonNegative,
    attentionFactor: notPositive,
  },
  llama3: {
    factor: required(notPositive),
    originalLength: required(notPositive),
    lowFreqFactor: notPositive,
    highFreqFactor: [...notPositive, outOfRange(1)],
  },
  proportional: { rotaryFraction: required([...notNonNegative, outOfRange(1.5)]), factor: notPositive },
  custom: {
    inverseFrequencies: required(notAList([...notFinite, outOfRange(2 ** 60), outOfRange(1e308)])),
    attentionFactor: notPositive,
  },
};
testAllRefusals(rw, 'rope', {
  'scaling.type': [required(notAChoice), (type) => rope({ scaling: { type } })],
});
for (const [type, fields] of Object.entries(scalingFields)) {
  const given = { type, ...scalings[type] };
  const rows = Object.entries(fields).map(([field, values]) => [
    `scaling.${field}`,
    [values, (value) => rope({ scaling: { ...given, [field]: value } })],
  ]);
  testAllRefusals(rw, `rope with ${type} scaling`, Object.fromEntries(rows));
  testUnknownOptions(rw, `rope with ${type} scaling`, unknown, (more) => rope({ scaling: { ...given, ...more } }));
}

const plan = rope();
for (const turn of ['rotate', 'unrotate']) {
  for (const [form, input] of Object.entries({ array: x, tensor })) {
    testAllRefusals(rw, `${turn} of a ${form}`, {
      options: [notOptions, (options) => plan[turn](input, options)],
      offset: [[...position, outOfRange(2 ** 53 - 2)], (offset) => plan[turn](input, { offset })],
      layout: [notAChoice, (layout) => plan[turn](input, { layout })],
    });
    testUnknownOptions(rw, `${turn} of a ${form}`, unknown, (options) => plan[turn](input, options));
  }
}

const table = (options) => rw.sinusoidal({ dim: 4, positions: [1], ...options });
testAllRefusals(rw, 'sinusoidal', {
  options: [required(notOptions), (options) => rw.sinusoidal(options)],
  dim: [required(notAnInteger({ min: 1, max: 2 ** 20 })), (dim) => table({ dim })],
  base: [notPositive, (base) => table({ base })],
  layout: [notAChoice, (layout) => table({ layout })],
  scale: [[...notFinite, outOfRange(1e308)], (scale) => table({ scale })],
});
testUnknownOptions(rw, 'sinusoidal', unknown, table);

testAllRefusals(rw, 'attention', {
  options: [notOptions, (options) => rw.attention(x, x, x, options)],
  scale: [[...notFinite, outOfRange(1e308)], (scale) => rw.attention(x, x, x, { scale })],
  causal: [notABoolean, (causal) => rw.attention(tensor, x, x, { causal })],
  // A list has an offset for each batch entry.
  queryOffset: [
    position.filter(({ value }) => !Array.isArray(value)),
    (queryOffset) => rw.attention(x, x, x, { causal: true, queryOffset }),
  ],
  layout: [notAChoice, (layout) => rw.attention(x, x, x, { layout })],
  returnScores: [notAChoice, (returnScores) => rw.attention(tensor, x, x, { returnScores })],
});
testUnknownOptions(rw, 'attention', unknown, (options) => rw.attention(tensor, x, x, options));

const makeLayer = (options) => rw.attentionLayer({ modelDim: 4, heads: 2, seed: 1, ...options });
const withPosition = (encoding) => (options) => makeLayer({ position: { encoding, ...options } });
testAllRefusals(rw, 'attentionLayer', {
  options: [required(notOptions), (options) => rw.attentionLayer(options)],
  modelDim: [required(notAnInteger({ min: 1, max: 2 ** 16 })), (modelDim) => makeLayer({ modelDim })],
  heads: [required([...notAnInteger({ min: 1, max: 2 ** 12 }), outOfRange(3)]), (heads) => makeLayer({ heads })],
  kvHeads: [notAnInteger({ min: 1, max: 2 }), (kvHeads) => makeLayer({ kvHeads })],
  headDim: [notAnInteger({ min: 1, max: 2 ** 16 }), (headDim) => makeLayer({ headDim })],
  causal: [notABoolean, (causal) => makeLayer({ causal })],
  seed: [notAnInteger({ min: 0, max: 2 ** 53 - 1 }), (seed) => makeLayer({ seed })],
  position: [
    notOptions.filter(({ value }) => typeof value !== 'object' || value === null),
    (position) => makeLayer({ position }),
  ],
  'position.encoding': [required(notAChoice), (encoding) => makeLayer({ position: { encoding } })],
});
for (const encoding of ['none', 'rope', 'sinusoidal']) {
  // What follows from the layer is no option of its encoding.
  const names = [...unknown, 'dim', 'headDim', 'positions'];
  testUnknownOptions(rw, `attentionLayer with ${encoding}`, names, withPosition(encoding));
}
testAllRefusals(rw, 'attentionLayer with rope', {
  rotaryDim: [notEven({ min: 2, max: 2 }), (rotaryDim) => withPosition('rope')({ rotaryDim })],
  pairing: [notAChoice, (pairing) => withPosition('rope')({ pairing })],
});
testAllRefusals(rw, 'attentionLayer with sinusoidal', {
  base: [notPositive, (base) => withPosition('sinusoidal')({ base })],
  layout: [notAChoice, (layout) => withPosition('sinusoidal')({ layout })],
});

const layer = withPosition('rope')({});
testAllRefusals(rw, 'forward', {
  options: [notOptions, (options) => layer.forward(x, options)],
  offset: [[...position, outOfRange(2 ** 53 - 2)], (offset) => layer.forward(tensor, { offset })],
  returnScores: [notAChoice, (returnScores) => layer.forward(x, { returnScores })],
});
testUnknownOptions(rw, 'attentionLayer', unknown, makeLayer);
testUnknownOptions(rw, 'forward', unknown, (options) => layer.forward(tensor, options));

const sizes = { modelDim: 4, heads: 2 };
const refusesPrototypes = {
  rope: { options: [notPlain, (v) => rw.rope(v)], scaling: [notPlain, (scaling) => rope({ scaling })] },
  attention: {
    options: [notPlain, (v) => rw.attention(x, x, x, v)],
    window: [notPlain, (window) => rw.attention(x, x, x, { window })],
    position: [notPlain, (position) => rw.attention(x, x, x, { position })],
  },
  softmax: { options: [notPlain, (v) => rw.softmax(x, v)] },
  kvCache: { options: [notPlain, (v) => rw.kvCache(v)] },
  attentionLayer: {
    options: [notPlain, (v) => rw.attentionLayer(v)],
    position: [notPlain, (position) => rw.attentionLayer({ ...sizes, position })],
    weights: [notPlain, (weights) => rw.attentionLayer({ ...sizes, weights })],
  },
};
for (const [where, rows] of Object.entries(refusesPrototypes))
  testAllRefusals(rw, `${where}, in objects not plain,`, rows);

test('a position whose options lie on a prototype is refused, whatever it inherits', () => {
  const position = Object.create({ encoding: 'rope', base: 500 });
  for (const call of [() => rw.attentionLayer({ ...sizes, position }), () => rw.attention(x, x, x, { position })]) {
    assert.throws(call, { name: 'ArgumentTypeError', argument: 'position' });
  }
});

test('options of another realm, or without a prototype, are taken', () => {
  for (const options of [runInNewContext('({ causal: true })'), Object.assign(Object.create(null), { causal: true })]) {
    rw.attention(x, x, x, options);
  }
  const hidden = Object.defineProperty({}, 'nonsense', { value: 1 });
  assert.throws(() => rw.attention(x, x, x, hidden), { name: 'ArgumentRangeError', argument: 'nonsense' });
});
