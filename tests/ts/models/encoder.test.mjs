// Encoders: passes against the package's own layers, returned intermediates, and every refusal.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load, StateError } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { tinyModel } from '../../models/tiny/models.mjs';
import { assertClose, assertSameBits } from '../support/arrays.mjs';
import { linear } from '../support/attention-reference.mjs';
import { notABoolean, notOptions, outOfRange, wrongType } from '../support/bad-values.mjs';
import { inUse } from '../support/peak.mjs';
import { testAllRefusals, testMisfits, testUnknownOptions } from '../support/refusals.mjs';
import { fileOfModel, tinyBert, tinyRoformer } from '../support/tiny-models.mjs';

const rw = await load({ simd: 'deterministic' });
const loaded = ({ config, tensors }, options) =>
  loadModel(rw, { config, weights: fileOfModel({ tensors }), ...options });

// For the refusals.
const bert = await loaded(tinyBert());
const bare = await loaded({
  config: { ...tinyBert().config, architectures: ['BertModel'] },
  tensors: Object.fromEntries(Object.entries(tinyBert().tensors).filter(([name]) => !/cls|pooler/.test(name))),
});
const relative = await loaded(tinyBert({ position_embedding_type: 'relative_key' }));
const roformer = await loaded(tinyRoformer());
const gone = await loaded(tinyRoformer());
gone.dispose();
const turnedValues = await loaded(tinyRoformer({ rotary_value: true }));

const before = inUse(rw);
const ids = [3, 1, 4, 1, 5, 9, 2, 6, 5];
// Two layers and heads, on numbers of about 1, each product a sum of at most 40.
const tolerance = 512 * 2 ** -24;

const variants = {
  BERT: tinyBert(),
  'BERT with relative keys': tinyBert({ position_embedding_type: 'relative_key' }),
  'BERT with relative keys and queries': tinyBert({ position_embedding_type: 'relative_key_query' }),
  RoFormer: tinyRoformer(),
  'RoFormer with turned values': tinyRoformer({ rotary_value: true, embedding_size: 24 }),
};

/** Hidden states, pooled vector and logits from the package's public layers. */
function composed({ config, tensors }, tokens, types) {
  const isBert = config.model_type === 'bert';
  const m = config.hidden_size;
  const at = isBert ? 'bert.' : 'roformer.';
  const get = (name) => tensors[name].data;
  const width = config.embedding_size ?? m;
  const norm = (x, name) => rw.layerNorm(x, { weight: get(`${name}.weight`), bias: get(`${name}.bias`), eps: 1e-12 });
  const map = (x, name, inputs) => {
    const data = Float32Array.from(linear(x.data, get(`${name}.weight`), get(`${name}.bias`), inputs));
    return { data, shape: [tokens.length, data.length / tokens.length] };
  };
  const rows = (name) => tensors[`${at}embeddings.${name}.weight`].data;
  const absolute = isBert && (config.position_embedding_type ?? 'absolute') === 'absolute';
  const sum = Float32Array.from({ length: tokens.length * width }, (_, i) => {
    const [t, d] = [Math.floor(i / width), i % width];
    const word = rows('word_embeddings')[tokens[t] * width + d] + rows('token_type_embeddings')[types[t] * width + d];
    return word + (absolute ? rows('position_embeddings')[t * width + d] : 0);
  });
  let x = norm({ data: sum, shape: [tokens.length, width] }, `${at}embeddings.LayerNorm`);
  if (width !== m) x = map(x, `${at}embeddings_project`, width);
  const states = [x];
  for (let i = 0; i < config.num_hidden_layers; ++i) {
    const layerAt = `${at}encoder.layer.${i}.`;
    const names = {
      ...{ query: 'attention.self.query', key: 'attention.self.key', value: 'attention.self.value' },
      ...{ output: 'attention.output.dense', up: 'intermediate.dense', down: 'output.dense' },
      ...{ attentionNorm: 'attention.output.LayerNorm', feedForwardNorm: 'output.LayerNorm' },
    };
    const weights = Object.fromEntries(
      Object.entries(names).flatMap(([name, spelling]) => [
        [name, get(`${layerAt}${spelling}.weight`)],
        [`${name}Bias`, get(`${layerAt}${spelling}.bias`)],
      ]),
    );
    const table = tensors[`${layerAt}attention.self.distance_embedding.weight`];
    const position = table
      ? { encoding: config.position_embedding_type, table }
      : isBert
        ? { encoding: 'none' }
        : { encoding: 'rope', pairing: 'interleaved' };
    const layer = rw.encoderLayer({
      ...{ modelDim: m, heads: config.num_attention_heads, hiddenDim: config.intermediate_size, weights, position },
      turnValues: config.rotary_value ?? false,
    });
    x = layer.forward(x).out;
    layer.dispose();
    states.push(x);
  }
  const transformed = map(x, 'cls.predictions.transform.dense', m);
  const head = norm({ ...transformed, data: rw.gelu(transformed).data }, 'cls.predictions.transform.LayerNorm');
  const logits = linear(head.data, rows('word_embeddings'), get('cls.predictions.bias'), width);
  const pooled = isBert
    ? linear(x.data.subarray(0, m), get('bert.pooler.dense.weight'), get('bert.pooler.dense.bias'), m)
    : undefined;
  return { hidden: x.data, states, logits, pooled: pooled?.map(Math.tanh) };
}

describe('an encoder is what its layers are', () => {
  for (const [name, model] of Object.entries(variants)) {
    test(name, async () => {
      const made = await loaded(model);
      const types = ids.map((_, i) => (i > 4 ? 1 : 0));
      const expected = composed(model, ids, types);
      const options = { tokenTypes: types, logits: true, hiddenStates: true, pooled: made.hasPooler };
      const { hidden, logits, pooled, hiddenStates } = made.forward(ids, options);
      assert.deepEqual(hidden.shape, [9, 24]);
      assert.deepEqual(logits.shape, [9, 37]);
      assertClose(hidden.data, expected.hidden, tolerance);
      assertClose(logits.data, expected.logits, tolerance);
      assert.equal(hiddenStates.length, 3);
      hiddenStates.forEach(({ data, shape }, i) => {
        assert.deepEqual(shape, [9, 24]);
        assertClose(data, expected.states[i].data, tolerance);
      });
      assertSameBits(hiddenStates[2].data, hidden.data);
      assert.equal(made.hasPooler, name.startsWith('BERT'));
      if (pooled) {
        assert.deepEqual(pooled.shape, [24]);
        assertClose(pooled.data, expected.pooled, tolerance);
      }
      made.dispose();
      assert.deepEqual(inUse(rw), before);
    });
  }
});

describe('a batch', () => {
  for (const [name, model] of Object.entries(variants)) {
    test(`of ${name} has the bits of its rows, padded or not`, async () => {
      const made = await loaded(model);
      const rows = [ids, [7, 8, 9, 10, 11, 0, 0, 0, 0]];
      const attentionMask = [Array(9).fill(1), [1, 1, 1, 1, 1, 0, 0, 0, 0]];
      const given = made.forward(rows, { attentionMask, logits: true, pooled: made.hasPooler });
      assert.deepEqual(given.hidden.shape, [2, 9, 24]);
      assert.deepEqual(given.logits.shape, [2, 9, 37]);
      const [one, two] = [
        made.forward(ids, { logits: true }),
        made.forward(rows[1].slice(0, 5), { logits: true, pooled: made.hasPooler }),
      ];
      assertSameBits(given.hidden.data.subarray(0, 9 * 24), one.hidden.data);
      assertSameBits(given.logits.data.subarray(0, 9 * 37), one.logits.data);
      assertSameBits(given.hidden.data.subarray(9 * 24, 14 * 24), two.hidden.data);
      if (made.hasPooler) {
        assert.deepEqual(given.pooled.shape, [2, 24]);
        assertSameBits(given.pooled.data.subarray(24), two.pooled.data);
      }
      made.dispose();
    });
  }
});

describe('embedText', () => {
  const rows = [ids, [7, 8, 9, 10, 11, 0, 0, 0, 0]];
  const attentionMask = [Array(9).fill(1), [1, 1, 1, 1, 1, 0, 0, 0, 0]];
  const lengths = [9, 5];

  // Of hidden states [B, T, M], in float64.
  function pooled({ data, shape }, b, pooling) {
    const [, tokens, size] = shape;
    const token = (t) => [...data.subarray((b * tokens + t) * size, (b * tokens + t + 1) * size)];
    if (pooling === 'cls') return token(0);
    if (pooling === 'last') return token(lengths[b] - 1);
    const all = Array.from({ length: lengths[b] }, (_, t) => token(t));
    return token(0).map((_, i) => all.reduce((sum, x) => sum + x[i], 0) / lengths[b]);
  }

  for (const [name, model] of Object.entries(variants)) {
    test(`of ${name} pools what forward gives, without the padding`, async () => {
      const made = await loaded(model);
      const { hidden } = made.forward(rows, { attentionMask });
      for (const pooling of ['mean', 'cls', 'last']) {
        const plain = made.embedText(rows, { attentionMask, pooling, normalize: false });
        const unit = made.embedText(rows, { attentionMask, pooling });
        assert.deepEqual(plain.shape, [2, 24]);
        assert.deepEqual(unit.shape, [2, 24]);
        for (const b of [0, 1]) {
          const want = pooled(hidden, b, pooling);
          assertClose(plain.data.subarray(b * 24, b * 24 + 24), want, 1e-6);
          const length = Math.hypot(...want);
          const direction = unit.data.subarray(b * 24, b * 24 + 24);
          assertClose(
            direction.map((x) => x * length),
            want,
            1e-6,
          );
          assert.ok(Math.abs(Math.hypot(...direction) - 1) < 1e-6);
          const alone = made.embedText(rows[b].slice(0, lengths[b]), { pooling });
          assert.deepEqual(alone.shape, [24]);
          assertSameBits(alone.data, direction);
        }
      }
      assertSameBits(
        made.embedText(rows, { attentionMask }).data,
        made.embedText(rows, { attentionMask, pooling: 'mean' }).data,
      );
      made.dispose();
      assert.deepEqual(inUse(rw), before);
    });
  }

  test('takes token types and positions as forward does', () => {
    const tokenTypes = ids.map((_, i) => i % 2);
    const positions = ids.map((_, i) => i + 3);
    const first = (given) => bert.forward(ids, given).hidden.data.subarray(0, 24);
    for (const given of [{ tokenTypes }, { positions }, { tokenTypes, positions }]) {
      assertSameBits(bert.embedText(ids, { ...given, pooling: 'cls', normalize: false }).data, first(given));
    }
  });

  test('leaves a vector of zeros as it is', async () => {
    const model = tinyBert();
    const { tensors } = model;
    for (const part of ['weight', 'bias']) tensors[`bert.encoder.layer.1.output.LayerNorm.${part}`].data.fill(0);
    const made = await loaded(model);
    assert.deepEqual([...made.embedText(ids).data], Array(24).fill(0));
    made.dispose();
  });

  testAllRefusals(rw, 'model.embedText', {
    ids: [
      [wrongType(5, '5'), outOfRange([]), outOfRange([1, 37], '37'), outOfRange([[1, 2], [3]], '1 entries')],
      (value) => bert.embedText(value),
    ],
    options: [notOptions, (value) => bert.embedText(ids, value)],
    attentionMask: [
      [
        wrongType(5, '5'),
        outOfRange([1, 1], '[2]'),
        outOfRange(Array(9).fill(2), '2'),
        outOfRange(Array(9).fill(0), 'row 0'),
      ],
      (value) => bert.embedText(ids, { attentionMask: value }),
    ],
    tokenTypes: [[outOfRange(Array(9).fill(2), '2')], (value) => bert.embedText(ids, { tokenTypes: value })],
    positions: [[outOfRange([0, 1], '2 entries')], (value) => bert.embedText(ids, { positions: value })],
    pooling: [[wrongType(1, '1'), outOfRange('max', '"max"')], (value) => bert.embedText(ids, { pooling: value })],
    normalize: [notABoolean, (value) => bert.embedText(ids, { normalize: value })],
  });
  testUnknownOptions(rw, 'model.embedText', ['pooled', 'logits', 'hiddenStates', 'signal'], (options) =>
    bert.embedText(ids, options),
  );
  testMisfits(rw, 'model.embedText', {
    'a row of a batch that is all padding': [
      RangeError,
      ['attentionMask', 'row 1'],
      () => bert.embedText(rows, { attentionMask: [Array(9).fill(1), Array(9).fill(0)] }),
    ],
    'a model that is gone': [StateError, 'model', () => gone.embedText(ids)],
  });
});

test('ids come in any form that a tokenizer has', async () => {
  const made = await loaded(tinyBert());
  const expected = made.forward([
    [1, 2, 3],
    [4, 5, 6],
  ]).hidden;
  const flat = [1, 2, 3, 4, 5, 6];
  const forms = [
    [Int32Array.of(1, 2, 3), BigInt64Array.of(4n, 5n, 6n)],
    { data: BigInt64Array.from(flat.map(BigInt)), dims: [2, 3] },
    { data: flat, shape: [2, 3] },
    { data: Float64Array.from(flat), shape: [2, 3] },
  ];
  for (const form of forms) {
    const { hidden } = made.forward(form);
    assert.deepEqual(hidden.shape, [2, 3, 24]);
    assertSameBits(hidden.data, expected.data);
  }
  const first = expected.data.subarray(0, 3 * 24);
  for (const form of [[1, 2, 3], Int32Array.of(1, 2, 3), { data: [1, 2, 3], shape: [3] }]) {
    const { hidden } = made.forward(form);
    assert.deepEqual(hidden.shape, [3, 24]);
    assertSameBits(hidden.data, first);
  }
  made.dispose();
});

test('positions say where tokens stand', async () => {
  const own = await loaded(tinyRoformer()); // a plan keeps tables of the positions that it has met
  const all = (model, positions) => model.forward([5, 6, 7], { positions }).hidden.data;
  assertSameBits(all(bert, [0, 1, 2]), bert.forward([5, 6, 7]).hidden.data);
  assert.notDeepEqual(all(bert, [3, 4, 5]), all(bert, [0, 1, 2]));
  // Only distances count to a rotary encoding.
  assertClose(all(own, [1000, 1001, 1002]), all(own, [0, 1, 2]), tolerance);
  assert.notDeepEqual(all(own, [0, 2, 4]), all(own, [0, 1, 2]));
  const twice = own.forward(
    [
      [5, 6, 7],
      [5, 6, 7],
    ],
    { positions: [0, 1, 2, 0, 2, 4] },
  ).hidden.data;
  assertSameBits(twice.subarray(0, 3 * 24), all(own, [0, 1, 2]));
  assertSameBits(twice.subarray(3 * 24), all(own, [0, 2, 4]));
  const many = Array.from({ length: 300 }, (_, i) => i % 37); // no table ends RoFormer's positions
  assert.ok(own.forward(many).hidden.data.every(Number.isFinite));
  own.dispose();
});

test('captures are of the layers and heads that were asked for, and change no bit', async () => {
  const made = await loaded(tinyBert());
  const plain = made.forward(ids).hidden;
  const { hidden, captured } = made.forward(ids, {
    capture: ['probabilities', 'q', 'mlp'],
    captureLayers: [1],
    captureHeads: [3, 0],
  });
  assertSameBits(hidden.data, plain.data);
  assert.deepEqual(
    captured.map(({ layer }) => layer),
    [1],
  );
  const [{ probabilities, q, mlp }] = captured;
  assert.deepEqual(
    [probabilities.shape, q.shape, mlp.shape],
    [
      [2, 9, 9],
      [9, 4, 6],
      [9, 24],
    ],
  );
  for (let row = 0; row < 18; ++row) {
    const sum = probabilities.data.subarray(row * 9, row * 9 + 9).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - 1) < 1e-6);
  }
  const every = made.forward([ids], { capture: ['probabilities'] }).captured;
  assert.deepEqual(
    every.map(({ layer }) => layer),
    [0, 1],
  );
  assert.deepEqual(every[1].probabilities.shape, [1, 4, 9, 9]);
  assertSameBits(every[1].probabilities.data.subarray(0, 81), probabilities.data.subarray(81));
  made.dispose();
  assert.deepEqual(inUse(rw), before);
});

test('withRope gives a model of its own with the same weights', async () => {
  const model = tinyRoformer();
  const made = await loaded(model);
  const bytes = rw.memory().usedBytes - before.usedBytes;
  const half = made.withRope({ pairing: 'half' });
  const none = made.withRope(() => null);
  assert.ok(rw.memory().usedBytes - before.usedBytes < bytes + 4000, 'weights are shared');
  assert.equal(half.info.bytes, made.info.bytes);
  assert.deepEqual(half.ropes[0], { headDim: 6, base: 10000, pairing: 'half' });
  assert.deepEqual(none.ropes, [null, null]);
  const plain = made.forward(ids).hidden.data;
  assert.notDeepEqual(half.forward(ids).hidden.data, plain);
  // Without positions, the order of the others does not matter to a token.
  const swapped = none.forward([3, 4, 1, ...ids.slice(3)]).hidden.data;
  assertClose(swapped.subarray(0, 24), none.forward(ids).hidden.data.subarray(0, 24), tolerance);
  made.dispose();
  assert.throws(() => made.forward(ids), StateError);
  assert.throws(() => made.withRope({}), StateError);
  const back = half.withRope(() => ({ headDim: 6, pairing: 'interleaved' }));
  half.dispose();
  none.dispose();
  assertSameBits(back.forward(ids).hidden.data, plain);
  back.dispose();
  back.dispose();
  assert.deepEqual(inUse(rw), before);
  // Without a rotary encoding there is nothing that could turn values.
  const turned = await loaded(tinyRoformer({ rotary_value: true }));
  const still = turned.withRope(() => null);
  const never = roformer.withRope(() => null);
  assertSameBits(still.forward(ids).hidden.data, never.forward(ids).hidden.data);
  for (const each of [still, never, turned]) each.dispose();
});

describe('forward of an encoder', () => {
  const row = [1, 2, 3];
  const lists = [wrongType(5, '5'), wrongType('1,2', '"1,2"'), wrongType(null, 'null')];
  const entries = [
    ...lists,
    { ...outOfRange([1, 2, 0.5], '0.5') },
    outOfRange([1, 2, Number.NaN], 'NaN'),
    wrongType([1, 2, '3'], '"3"'),
  ];
  testAllRefusals(rw, 'model.forward', {
    ids: [
      [
        ...entries,
        outOfRange([]),
        outOfRange([1, 2, 37], '37'),
        outOfRange([-1], '-1'),
        outOfRange([[1, 2], [3]], '1 entries'),
        outOfRange({ data: [1, 2], shape: [3] }, '[3]'),
        outOfRange({ data: [1], shape: [1, 1, 1] }, '[1, 1, 1]'),
        wrongType({ dims: [2] }, 'an object'),
      ],
      (value) => bert.forward(value),
    ],
    options: [notOptions.map((bad) => bad), (value) => bert.forward(row, value)],
    attentionMask: [
      [...entries, outOfRange([1, 1], '[2]'), outOfRange([1, 1, 2], '2')],
      (attentionMask) => bert.forward(row, { attentionMask }),
    ],
    tokenTypes: [
      [...entries, outOfRange([0, 0], '[2]'), outOfRange([0, 0, 2], '2')],
      (tokenTypes) => bert.forward(row, { tokenTypes }),
    ],
    positions: [
      [...entries, outOfRange([0, 1], '2 entries'), outOfRange([0, 1, 16], '16'), outOfRange([0, 1, -1], '-1')],
      (positions) => bert.forward(row, { positions }),
    ],
    pooled: [notABoolean, (pooled) => bert.forward(row, { pooled })],
    logits: [notABoolean, (logits) => bert.forward(row, { logits })],
    hiddenStates: [notABoolean, (hiddenStates) => bert.forward(row, { hiddenStates })],
    capture: [
      [...lists, outOfRange(['nonsense'], '"nonsense"'), wrongType([3], '3')],
      (capture) => bert.forward(row, { capture }),
    ],
    captureLayers: [
      [...lists, outOfRange([2], '2'), outOfRange([-1], '-1'), wrongType(['0'], '"0"')],
      (captureLayers) => bert.forward(row, { capture: ['q'], captureLayers }),
    ],
    captureHeads: [
      [wrongType(5, '5'), outOfRange([4], '4'), outOfRange([0, 0], '0')],
      (captureHeads) => bert.forward(row, { capture: ['raw'], captureHeads }),
    ],
  });
  testUnknownOptions(rw, 'model.forward', ['cache', 'mask', 'token_type_ids', 'chunk'], (options) =>
    bert.forward(row, options),
  );
  testMisfits(rw, 'model.forward', {
    'more tokens than the table of positions has': [
      RangeError,
      ['ids', '17 tokens', '16'],
      () => bert.forward(Array(17).fill(1)),
    ],
    'more tokens than the table of distances reaches': [
      RangeError,
      ['ids', '17 tokens', '16'],
      () => relative.forward(Array(17).fill(1)),
    ],
    'positions where distances count': [
      RangeError,
      ['positions', 'relative_key'],
      () => relative.forward(row, { positions: [0, 1, 2] }),
    ],
    'logits of a checkpoint without a head': [
      RangeError,
      ['logits', 'no head'],
      () => bare.forward(row, { logits: true }),
    ],
    'a pooled vector of a checkpoint without a pooler': [
      RangeError,
      ['pooled', 'no head'],
      () => bare.forward(row, { pooled: true }),
    ],
    'layers to capture without a capture': [
      RangeError,
      ['captureLayers', 'capture'],
      () => bert.forward(row, { captureLayers: [0] }),
    ],
    'heads to capture without a capture': [
      RangeError,
      ['captureHeads', 'capture'],
      () => bert.forward(row, { captureHeads: [0] }),
    ],
  });
  test('model.forward says what a checkpoint has', () => {
    assert.deepEqual([bare.hasLogits, bare.hasPooler, bert.hasLogits, bert.hasPooler], [false, false, true, true]);
    assert.equal(bert.kind, 'encoder');
  });
});

test('an XLNet compares token types, up to the length that it was loaded for', async () => {
  const memory = inUse(rw);
  const model = await loaded(tinyModel('xlnet'), { sequenceLength: 9 });
  const hidden = (options) => model.forward(ids, options).hidden.data;
  const types = [0, 0, 0, 1, 1, 1, 1, 1, 2];
  assertSameBits(hidden({ tokenTypes: types }), hidden({ tokenTypes: types.map((type) => 4 - type) }));
  assertSameBits(hidden(), hidden({ tokenTypes: types.map(() => 0) }));
  assertClose(hidden(), hidden({ tokenTypes: types.map(() => 3) }), tolerance);
  const apart = hidden({ tokenTypes: types }).map((x, i) => Math.abs(x - hidden()[i]));
  assert.ok(Math.max(...apart) > 0.1);
  assert.throws(() => hidden({ tokenTypes: types.map(() => 5) }), /tokenTypes\[0\] is 5/);
  assert.throws(() => model.forward([...ids, 1]), /ids has 10 tokens; the model's tables reach 9/);
  assert.throws(() => model.forward(ids, { positions: ids }), /this one's are transformer-xl/);
  assert.throws(() => model.withRope(() => null), /transformer-xl/);
  // Shorter tables have the same rows.
  const longer = await loaded(tinyModel('xlnet'));
  assertClose(longer.forward(ids).hidden.data, hidden(), tolerance);
  longer.dispose();
  model.dispose();
  assert.deepEqual(inUse(rw), memory);
});

const ofUnturned = (change) => {
  const unturned = roformer.withRope(() => null);
  try {
    return unturned.withRope(change);
  } finally {
    unturned.dispose();
  }
};
const misspelt = (rope, layer) => (layer === 0 ? rope : { ...rope, theta: 5 });
testMisfits(rw, 'model.withRope', {
  'a model without a rotary encoding': [RangeError, ['change', 'absolute'], () => bert.withRope({ base: 5 })],
  'options that a plan does not have': [RangeError, ['theta'], () => roformer.withRope({ theta: 5 })],
  'another size of head': [RangeError, ['headDim', '8'], () => roformer.withRope({ headDim: 8 })],
  'xPos where values are turned': [RangeError, ['turnValues', 'xpos'], () => turnedValues.withRope({ xpos: {} })],
  'positions with several axes': [
    RangeError,
    ['axes.layout', '"sections"', '2 axes'],
    () => roformer.withRope({ axes: { layout: 'sections', sections: [1, 2] } }),
  ],
  'a base that is none': [RangeError, ['base', '-1'], () => roformer.withRope({ base: -1 })],
  'a base that JSON cannot hold': [TypeError, ['base', '10n'], () => roformer.withRope({ base: 10n })],
  'no change': [TypeError, ['change', 'undefined'], () => roformer.withRope()],
  'a function that gives no options': [TypeError, ['change(rope, 0)', '5'], () => roformer.withRope(() => 5)],
  'a function that gives nothing': [TypeError, ['change(rope, 0)', 'undefined'], () => roformer.withRope(() => {})],
  'a function that gives a promise': [
    TypeError,
    ['change(rope, 0)', 'Promise'],
    () => roformer.withRope(async (r) => r),
  ],
  'a function that gives a list': [TypeError, ['change(rope, 0)'], () => roformer.withRope(() => [])],
  'an option of a function that there is not': [RangeError, ['rope, 1).theta'], () => roformer.withRope(misspelt)],
  'another size of head of a function': [
    RangeError,
    ['change(rope, 0).headDim', '8; the model has 6'],
    () => roformer.withRope((rope) => ({ ...rope, headDim: 8 })),
  ],
  'a model whose layers have no rotary encoding': [RangeError, ['change', 'none'], () => ofUnturned({ base: 5 })],
  'what a function throws': [
    SyntaxError,
    ['mine'],
    () =>
      roformer.withRope(() => {
        throw new SyntaxError('mine');
      }),
  ],
});
