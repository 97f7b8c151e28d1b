// Wrong options of a layer, cache or state are refused when it is made, not at the first call that uses them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { random, randomArray } from '../support/arrays.mjs';
import {
  notABoolean,
  notAChoice,
  notAnInteger,
  notEven,
  notFinite,
  notFloats,
  notOptions,
  notPlain,
  notPositive,
  outOfRange,
  required,
  wrongType,
} from '../support/bad-values.mjs';
import { fireParameters } from '../support/fire.mjs';
import { testAllRefusals, testRefusals } from '../support/refusals.mjs';

const rw = await load({ simd: 'deterministic' });
const sizes = { modelDim: 8, heads: 2 };
const matrix = (rows, columns) => ({ data: random(rows * columns, 1), shape: [rows, columns] });
const weights = { query: matrix(8, 8), key: matrix(8, 8), value: matrix(8, 8), output: matrix(8, 8) };
const block = { ...sizes, hiddenDim: 12, weights: { ...weights, up: matrix(12, 8), down: matrix(8, 12) } };
const norms = { attentionNorm: random(8, 1), feedForwardNorm: random(8, 1) };
const largest = 2 ** 53 - 1;
const size = (max) => notAnInteger({ min: 1, max }).filter(({ value }) => value !== null);
const notATable = [wrongType(1, '1'), wrongType('text', '"text"'), outOfRange(randomArray([4, 4]), '[4, 4]')];

/** Bad values of each option that every layer with attention has. */
const ofLayer = (make) => ({
  modelDim: [required(size(2 ** 16)), (modelDim) => make({ modelDim })],
  heads: [required(size(2 ** 12)), (heads) => make({ heads })],
  kvHeads: [size(2), (kvHeads) => make({ kvHeads })],
  headDim: [size(2 ** 16), (headDim) => make({ headDim })],
  valueDim: [size(2 ** 16), (valueDim) => make({ valueDim })],
  causal: [notABoolean, (causal) => make({ causal })],
  scale: [[...notFinite, outOfRange(1e39)], (scale) => make({ scale })],
  softcap: [[...notPositive, outOfRange(1e39)], (softcap) => make({ softcap })],
  turnValues: [[...notABoolean, outOfRange(true, 'none')], (turnValues) => make({ turnValues })],
  storage: [notAChoice, (storage) => make({ storage })],
  sinkTokens: [notAnInteger({ min: 0, max: 2 ** 30 }), (sinkTokens) => make({ sinkTokens })],
  window: [[...notOptions, ...notPlain], (window) => make({ window })],
  'window.left': [
    [...notAnInteger({ min: -1, max: largest }), wrongType('abc', '"abc"')],
    (left) => make({ window: { left } }),
  ],
  'window.right': [notAnInteger({ min: -1, max: largest }), (right) => make({ window: { right } })],
  'window.top': [[outOfRange(1, 'left, right')], (top) => make({ window: { top } })],
  position: [[...notOptions, ...notPlain], (position) => make({ position })],
  'position.encoding': [notAChoice, (encoding) => make({ position: { encoding } })],
  'position.base': [[...notPositive, outOfRange(1)], (base) => make({ position: { encoding: 'rope', base } })],
  'position.pairing': [notAChoice, (pairing) => make({ position: { encoding: 'rope', pairing } })],
  'position.angles': [notAChoice, (angles) => make({ position: { encoding: 'rope', angles } })],
  'position.rotaryDim': [
    notEven({ min: 2, max: 4 }),
    (rotaryDim) => make({ position: { encoding: 'rope', rotaryDim } }),
  ],
  'position.scaling': [notOptions, (scaling) => make({ position: { encoding: 'rope', scaling } })],
  'position.scaling.type': [
    required(notAChoice),
    (type) => make({ position: { encoding: 'rope', scaling: { type } } }),
  ],
  'position.scaling.factor': [
    required(notPositive),
    (factor) => make({ position: { encoding: 'rope', scaling: { type: 'linear', factor } } }),
  ],
  'position.plan': [
    [wrongType('plan', '"plan"'), wrongType({}, 'an object'), wrongType(rw, 'a Ropewalk')],
    (plan) => make({ position: { encoding: 'rope', plan } }),
  ],
  'position.table': [notATable, (table) => make({ position: { encoding: 'relative_key', table } })],
  'position.sign': [
    notAChoice,
    (sign) => make({ position: { encoding: 'relative_key', table: randomArray([5, 4]), sign } }),
  ],
  'position.keys': [notATable, (keys) => make({ position: { encoding: 'shaw', keys } })],
  'position.values': [
    notATable,
    (values) => make({ position: { encoding: 'shaw', keys: randomArray([5, 4]), values } }),
  ],
  'position.numBuckets': [
    notAnInteger({ min: 2, max: 2 ** 16 }).filter(({ value }) => value !== null),
    (numBuckets) => make({ position: { encoding: 't5', table: randomArray([32, 2]), numBuckets } }),
  ],
  'position.bidirectional': [
    notABoolean,
    (bidirectional) => make({ position: { encoding: 't5', table: randomArray([32, 2]), bidirectional } }),
  ],
  'position.axes': [notOptions, (axes) => make({ position: { encoding: 'rope', axes } })],
  'position.axes.layout': [
    required(notAChoice),
    (layout) => make({ position: { encoding: 'rope', axes: { layout } } }),
  ],
  'position.axes.dims': [
    [wrongType(4), outOfRange([2], '[2]'), outOfRange([], 'axis')],
    (dims) => make({ position: { encoding: 'rope', axes: { layout: 'axial', dims } } }),
  ],
  'position.xpos': [notOptions, (xpos) => make({ position: { encoding: 'rope', xpos } })],
  'position.xpos.scaleBase': [
    notPositive,
    (scaleBase) => make({ position: { encoding: 'rope', xpos: { scaleBase } } }),
  ],
  'position.xpos.center': [notFinite, (center) => make({ position: { encoding: 'rope', xpos: { center } } })],
  'position.r2': [notFloats(2), (r2) => make({ position: { encoding: 'kerple', r1: Float32Array.of(1, 1), r2 } })],
  'position.kind': [
    notAChoice,
    (kind) => make({ position: { encoding: 'kerple', r1: random(2), r2: random(2), kind } }),
  ],
  'position.dim': [size(2 ** 16), (dim) => make({ position: { encoding: 'sandwich', dim } })],
  'position.c': [notPositive, (c) => make({ position: { encoding: 'fire', ...fireParameters(2), c } })],
  'position.outBias': [notATable, (outBias) => make({ position: { encoding: 'fire', ...fireParameters(2), outBias } })],
  weights: [[...notOptions, ...notPlain], (value) => make({ weights: value })],
  'weights.query': [notFloats(64), (query) => make({ weights: { ...block.weights, ...norms, query } })],
});

const attention = (more) => rw.attentionLayer({ ...sizes, ...more });
const { 'weights.query': _, ...ofAttention } = ofLayer(attention);
testAllRefusals(rw, 'attentionLayer, when it is made,', {
  ...ofAttention,
  seed: [notAnInteger({ min: 0, max: largest }), (seed) => attention({ seed })],
  'position.layout': [notAChoice, (layout) => attention({ position: { encoding: 'sinusoidal', layout } })],
  'weights.query': [notFloats(64), (query) => attention({ weights: { ...weights, query } })],
});

for (const encoding of ['sandwich', 'sinusoidal']) {
  testRefusals(rw, `attentionLayer, ${encoding},`, 'position.base', notPositive, (base) =>
    attention({ position: { encoding, base } }),
  );
}
test('a layer of too few numbers for a layout of its sinusoids is named', () => {
  assert.throws(
    () => rw.attentionLayer({ modelDim: 2, heads: 1, position: { encoding: 'sinusoidal', layout: 'tensor2tensor' } }),
    { name: 'ArgumentRangeError', argument: 'position.layout', value: 'tensor2tensor' },
  );
});

for (const kind of ['encoderLayer', 'decoderLayer']) {
  const make = (more) => rw[kind]({ ...block, weights: { ...block.weights, ...norms }, ...more });
  testAllRefusals(rw, `${kind}, when it is made,`, {
    ...ofLayer(make),
    hiddenDim: [required(size(2 ** 20)), (hiddenDim) => make({ hiddenDim })],
    norms: [notAChoice, (value) => make({ norms: value })],
    norm: [notAChoice, (norm) => make({ norm })],
    eps: [notPositive, (eps) => make({ eps })],
    unitOffset: [notABoolean, (unitOffset) => make({ unitOffset })],
    activation: [notAChoice, (activation) => make({ activation })],
    'weights.sinks': [notFloats(2), (sinks) => make({ weights: { ...block.weights, ...norms, sinks } })],
  });
}

const plan = rw.rope({ headDim: 4 });
const rope = rw.decoderLayer({
  ...block,
  weights: { ...block.weights, ...norms },
  position: { encoding: 'rope', plan },
});
const caches = {
  kvCache: (more) => rw.kvCache({ kvHeads: 2, headDim: 4, ...more }),
  'kvCache of a layer': (more) => rope.kvCache(more),
};
for (const [name, make] of Object.entries(caches)) {
  testAllRefusals(rw, `${name}, when it is made,`, {
    batch: [size(2 ** 30), (batch) => make({ batch })],
    capacity: [notAnInteger({ min: 0, max: 2 ** 30 }), (capacity) => make({ capacity })],
    growing: [notABoolean, (growing) => make({ growing })],
    window: [[...notOptions, ...notPlain], (window) => make({ window })],
    'window.size': [required(size(2 ** 30)), (length) => make({ window: { size: length } })],
    'window.sinkTokens': [
      notAnInteger({ min: 0, max: 2 ** 30 }),
      (sinkTokens) => make({ window: { size: 4, sinkTokens } }),
    ],
    'window.positions': [notAChoice, (positions) => make({ window: { size: 4, positions } })],
  });
}
testAllRefusals(rw, 'kvCache of a layer, when it is made,', { keys: [notAChoice, (keys) => rope.kvCache({ keys })] });

const state = (more) => rw.linearAttentionState({ headDim: 4, ...more });
const turned = (more) => state({ position: { encoding: 'rope', plan, ...more } });
testAllRefusals(rw, 'linearAttentionState, when it is made,', {
  headDim: [required(size(2 ** 16)), (headDim) => state({ headDim })],
  valueDim: [size(2 ** 16), (valueDim) => state({ valueDim })],
  kvHeads: [size(2 ** 16), (kvHeads) => state({ kvHeads })],
  batch: [size(2 ** 16), (batch) => state({ batch })],
  featureMap: [notAChoice, (featureMap) => state({ featureMap })],
  similarity: [notAChoice, (similarity) => state({ similarity })],
  normalize: [notABoolean, (normalize) => state({ normalize })],
  'outputNorm.eps': [notPositive, (eps) => state({ normalize: false, outputNorm: { eps } })],
  'outputNorm.weight': [notFloats(4), (weight) => state({ normalize: false, outputNorm: { weight } })],
  'position.encoding': [notAChoice, (encoding) => state({ position: { encoding } })],
  'position.form': [notAChoice, (form) => turned({ form })],
  'position.offset': [notAnInteger({ min: -largest, max: largest }), (offset) => turned({ offset })],
});
