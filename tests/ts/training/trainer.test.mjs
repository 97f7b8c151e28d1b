// The trainer: what it learns, its state, and what it refuses. Its numbers are those of tests/vectors.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodings as registry } from 'ropewalk';
import { load, TrainingError } from 'ropewalk/training';

const rw = await load();
const sizes = { layers: 2, modelDim: 16, heads: 2, vocab: 8, context: 12 };
const optimizer = { learningRate: 1e-2, warmup: 5, totalSteps: 60 };
const rope = { encoding: 'rope', base: 100 };
const yarn = { type: 'yarn', factor: 4, originalLength: 6 };

const encodings = [
  { encoding: 'none' },
  { encoding: 'sinusoidal', scale: 0.5 },
  { encoding: 'sinusoidal', mode: 'concatenate', positionDim: 4 },
  { encoding: 'binary' },
  { encoding: 'learned' },
  { encoding: 'learned', mode: 'multiply', maxPositions: 20 },
  { encoding: 'learned', mode: 'concatenate', positionDim: 3 },
  rope,
  { encoding: 'rope', pairing: 'interleaved', rotaryDim: 4, scaling: { type: 'linear', factor: 2 } },
  { encoding: 'alibi' },
  { encoding: 'alibi', slopes: [1, 0], trainable: true },
  { encoding: 't5', numBuckets: 8, maxDistance: 12 },
  { encoding: 'kerple' },
  { encoding: 'shaw', maxDistance: 4 },
  { encoding: 'relative_key' },
  { encoding: 'relative_key_query' },
  { encoding: 'm3' },
  { encoding: 'pope' },
  { encoding: 'forget' },
  { encoding: 'fire', width: 4 },
  { encoding: 'sandwich', dim: 16 },
  { encoding: 'transformer_xl', base: 100 },
  { encoding: 'cope', positions: 8 },
  { encoding: 'rope_mixed', columns: 4 },
  { encoding: 'axial', columns: 4 },
  { encoding: 'axial', columns: 5, rows: 30 },
  { encoding: 'rope_mixed', columns: 5, base: 100, pairing: 'half' },
  { encoding: 'deberta', span: 8 },
  { encoding: 'deberta', span: 4, maxDistance: 12 },
];

test('every encoding of the registry is among those that are tried here', () => {
  const tried = new Set(encodings.map(({ encoding }) => encoding));
  assert.deepEqual(
    Object.keys(registry).filter((name) => !tried.has(name)),
    [],
  );
});

// Sequences that count up from a random id.
function counting(batch, tokens, seed = 1) {
  const ids = Int32Array.from({ length: batch * tokens }, (_, i) => {
    const [b, t] = [Math.floor(i / tokens), i % tokens];
    return (b * seed * 5 + t) % 8;
  });
  return { ids: { data: ids, shape: [batch, tokens] } };
}

function trained(options, steps) {
  const trainer = rw.trainer({ ...sizes, optimizer, ...options });
  for (let s = 1; s <= steps; ++s) trainer.step(counting(4, 12, s));
  return trainer;
}

// Bytes that the first step of a trainer takes.
function bytesOfStep(options, tokens) {
  const trainer = rw.trainer({ layers: 1, modelDim: 16, heads: 2, vocab: 8, context: tokens, ...options });
  const before = rw.memory().usedBytes;
  rw.resetPeak();
  trainer.step(counting(1, tokens));
  trainer.dispose();
  return rw.memory().peak - before;
}

const ofAnyLength = encodings.filter(({ maxPositions, rows }) => (maxPositions ?? rows) === undefined);
for (const options of [...ofAnyLength.map((position) => ({ position })), { attention: { linear: 'elu1' } }]) {
  test(`memory of long sequences grows with their length: ${JSON.stringify(options)}`, () => {
    const [short, long] = [512, 1024].map((tokens) => bytesOfStep(options, tokens));
    assert.ok(long < 2.2 * short, `${long} bytes and ${short}`);
  });
}

for (const position of encodings) {
  test(`learns to count with ${JSON.stringify(position)}`, () => {
    const trainer = trained({ position }, 0);
    const first = trainer.evaluate(counting(4, 12)).loss;
    for (let s = 1; s <= 60; ++s) assert.equal(trainer.step(counting(4, 12, s)).step, s);
    const { loss, accuracy } = trainer.evaluate(counting(4, 12));
    assert.ok(loss < first / 2, `${loss} of ${first}`);
    assert.ok(accuracy > 0.5 && accuracy <= 1);
    trainer.dispose();
  });
}

for (const attention of [
  { linear: 'elu1' },
  { linear: 'relu' },
  { linear: 'exp', ropeForm: 'both' },
  { linear: 'cosine' },
]) {
  test(`learns with attention ${JSON.stringify(attention)}, layer norms and SGD`, () => {
    const sgd = { type: 'sgd', learningRate: 0.1, momentum: 0.9 };
    const trainer = trained({ position: rope, attention, norm: 'layer', hiddenDim: 24, optimizer: sgd }, 60);
    assert.ok(trainer.evaluate(counting(4, 12)).accuracy > 0.5);
    trainer.dispose();
  });
}

test('a step, an evaluation and a map have what they say', () => {
  const trainer = trained({ position: rope }, 3);
  assert.equal(trainer.steps, 3);
  const { loss, losses, predictions, logits } = trainer.evaluate(counting(2, 12), { logits: true });
  assert.deepEqual([losses.length, predictions.length, logits.length], [24, 24, 192]);
  assert.equal(losses[11], 0); // the last token of a sequence has no next one
  const mean = losses.reduce((sum, each) => sum + each, 0) / 22;
  assert.ok(Math.abs(mean - loss) < 1e-6);
  const best = [...logits.subarray(0, 8)].reduce((a, x, i, all) => (x > all[a] ? i : a), 0);
  assert.equal(predictions[0], best);
  const { data, shape } = trainer.capture([[0, 1, 2]]);
  assert.deepEqual(shape, [2, 1, 2, 3, 3]);
  for (let row = 0; row < data.length; row += 3) {
    assert.ok(Math.abs(data[row] + data[row + 1] + data[row + 2] - 1) < 1e-6);
  }
  assert.equal(data[1], 0); // a later key
  const count = Object.values(trainer.gradients()).reduce((sum, { data: numbers }) => sum + numbers.length, 0);
  assert.equal(count, trainer.parameterCount);
  trainer.dispose();
});

test('evaluates at longer lengths, and with another scaling, which changes nothing that is trained', () => {
  const trainer = trained({ position: rope }, 30);
  const long = counting(2, 48);
  const before = trainer.save();
  const scaled = trainer.evaluate(long, {
    position: { scaling: { type: 'yarn', factor: 4, originalLength: 12, betaFast: 4 } },
  });
  assert.notEqual(scaled.loss, trainer.evaluate(long).loss);
  assert.equal(trainer.evaluate(long, { position: {} }).loss, trainer.evaluate(long).loss);
  assert.notEqual(trainer.evaluate(long, { position: { base: 10 } }).loss, trainer.evaluate(long).loss);
  assert.deepEqual(trainer.save(), before);
  trainer.dispose();
});

test('save and restore go on with the same bits', () => {
  const trainer = trained({ position: { encoding: 'shaw' } }, 10);
  const bytes = trainer.save();
  const other = rw.trainer({ ...sizes, optimizer, position: { encoding: 'shaw' }, seed: 7 });
  other.restore(bytes);
  for (let s = 11; s <= 20; ++s) for (const each of [trainer, other]) each.step(counting(4, 12, s));
  assert.deepEqual(other.save(), trainer.save());
  assert.equal(other.steps, 20);
  trainer.dispose();
  other.dispose();
});

test('a damaged state, or one of another model with the same parameters, is refused, and nothing changes', () => {
  const trainer = trained({ position: rope }, 3);
  const saved = trainer.save();
  for (const place of [8, 30, saved.length >> 1, saved.length - 1]) {
    const bytes = saved.slice();
    bytes[place] ^= 1;
    assert.throws(() => trainer.restore(bytes), { name: 'ArgumentRangeError', argument: 'bytes' });
  }
  for (const other of [
    { position: { encoding: 'none' } },
    { position: rope, heads: 4 },
    { position: rope, activation: 'silu' },
  ]) {
    const model = rw.trainer({ ...sizes, optimizer, ...other });
    assert.throws(() => model.restore(saved), { name: 'ArgumentRangeError', argument: 'bytes' });
    model.dispose();
  }
  assert.deepEqual(trainer.save(), saved);
  trainer.dispose();
});

test('a state is refused where an option of the encoding differs that no parameter tells of', () => {
  // Each differs from `position` by one option alone.
  const differing = [
    [{ encoding: 'rope_mixed', columns: 3 }, { columns: 4 }],
    [
      { encoding: 'axial', columns: 3, rows: 4 },
      { columns: 4, rows: 3 },
    ],
    [{ encoding: 'deberta', span: 4 }, { maxDistance: 9 }],
    [{ encoding: 'deberta', span: 4, maxDistance: 9 }, { maxDistance: 10 }],
    [{ encoding: 't5', numBuckets: 6, maxDistance: 9 }, { maxDistance: 10 }],
    [{ encoding: 'fire', width: 4 }, { threshold: 2 }],
    [{ encoding: 'sandwich', dim: 8 }, { dim: 10 }],
    [{ encoding: 'sandwich', dim: 8 }, { base: 100 }],
    [{ encoding: 'transformer_xl' }, { base: 100 }],
    [{ encoding: 'pope' }, { base: 100 }],
    [{ encoding: 'sinusoidal' }, { base: 100 }],
    [{ encoding: 'sinusoidal' }, { scale: 0.5 }],
    [{ encoding: 'binary' }, { maxPositions: 17 }],
    [{ encoding: 'binary' }, { scale: 0.5 }],
    [{ encoding: 'alibi' }, { slopes: [1, 2] }],
    [{ encoding: 'rope' }, { rotaryDim: 4 }],
  ];
  for (const [position, change] of differing) {
    const make = (own) => rw.trainer({ ...sizes, optimizer, position: own });
    const [one, same, other] = [position, position, { ...position, ...change }].map(make);
    const what = JSON.stringify({ position, change });
    const before = other.save();
    const expected = { name: 'ArgumentRangeError', argument: 'bytes', message: /a trainer with other options/ };
    assert.equal(before.length, one.save().length, what);
    assert.throws(() => other.restore(one.save()), expected, what);
    assert.throws(() => one.restore(before), expected, what);
    assert.deepEqual(other.save(), before, what);
    same.restore(one.save());
    for (const each of [one, same, other]) each.dispose();
  }
});

test('a state goes on with another base, scaling, context, eps and learning rate', () => {
  const trainer = trained({ position: rope }, 3);
  const saved = trainer.save();
  const scaling = { type: 'linear', factor: 2 };
  for (const other of [
    { position: { ...rope, base: 500 } },
    { position: { ...rope, scaling } },
    { context: 24 },
    { normEps: 1e-4 },
    { optimizer: { learningRate: 0.5 } },
  ]) {
    const tuned = rw.trainer({ ...sizes, optimizer, position: rope, ...other });
    tuned.restore(saved);
    assert.deepEqual(tuned.save(), saved);
    tuned.dispose();
  }
  trainer.dispose();
});

test('without targets the last token of a sequence has no weight, whatever is given', () => {
  const trainer = trained({}, 2);
  const batch = counting(2, 6);
  const ones = new Float32Array(12).fill(1);
  const { loss, losses } = trainer.evaluate(batch);
  const weighted = trainer.evaluate({ ...batch, weights: ones });
  assert.equal(weighted.loss, loss);
  assert.deepEqual(weighted.losses, losses);
  assert.deepEqual([losses[5], losses[11]], [0, 0]);
  const last = Float32Array.from(ones, (_, i) => (i % 6 === 5 ? 1 : 0));
  assert.throws(() => trainer.evaluate({ ...batch, weights: last }), { argument: 'weights' });
  trainer.dispose();
});

test('a target of weight 0 may be any integer, and nothing else', () => {
  const trainer = trained({}, 2);
  const batch = (target, weight) => ({
    ids: [1, 2, 3],
    targets: [2, target, 4],
    weights: Float32Array.of(1, weight, 1),
  });
  const expected = trainer.evaluate(batch(3, 0));
  for (const target of [-100, 8, 2 ** 53 - 1]) {
    const { loss, losses } = trainer.evaluate(batch(target, 0));
    assert.deepEqual([loss, losses], [expected.loss, expected.losses]);
    assert.throws(() => trainer.evaluate(batch(target, 1)), { name: 'ArgumentRangeError', argument: 'targets[1]' });
  }
  assert.equal(trainer.step(batch(-100, 0)).step, 3);
  for (const target of [Number.NaN, 0.5, '3', null]) {
    assert.throws(() => trainer.step(batch(target, 0)), { argument: 'targets[1]' });
  }
  trainer.dispose();
});

test('what an evaluation says of positions is as trained where it is left out or undefined', () => {
  const position = { ...rope, scaling: yarn };
  const trainer = trained({ position }, 5);
  const batch = counting(2, 12);
  const { loss } = trainer.evaluate(batch);
  assert.equal(trainer.evaluate(batch, { position: { scaling: undefined } }).loss, loss);
  assert.equal(trainer.evaluate(batch, { position: {} }).loss, loss);
  assert.notEqual(trainer.evaluate(batch, { position: { scaling: { type: 'default' } } }).loss, loss);
  for (const bad of [false, 0, '']) {
    assert.throws(() => trainer.evaluate(batch, { position: bad }), {
      name: 'ArgumentTypeError',
      argument: 'position',
    });
  }
  const huge = { position: { scaling: { ...yarn, attentionFactor: 1e39 } } };
  assert.throws(() => trainer.evaluate(batch, huge), { name: 'ArgumentRangeError' });
  assert.equal(trainer.evaluate(batch).loss, loss);
  // Dynamic scaling takes the length of the batch.
  const dynamic = { type: 'dynamic', factor: 4, maxLength: 4 };
  const ofBatch = trainer.evaluate(batch, { position: { scaling: dynamic } }).loss;
  assert.equal(trainer.evaluate(batch, { position: { scaling: { ...dynamic, sequenceLength: 12 } } }).loss, ofBatch);
  const unset = { ...dynamic, sequenceLength: undefined };
  assert.equal(trainer.evaluate(batch, { position: { scaling: unset } }).loss, ofBatch);
  assert.notEqual(trainer.evaluate(batch, { position: { scaling: { ...dynamic, sequenceLength: 4 } } }).loss, ofBatch);
  trainer.dispose();
  // That of training is as it was trained.
  const stretched = trained({ position: { ...rope, scaling: dynamic } }, 5);
  assert.equal(stretched.evaluate(batch, { position: {} }).loss, stretched.evaluate(batch).loss);
  assert.equal(stretched.evaluate(batch, { position: { base: 100 } }).loss, stretched.evaluate(batch).loss);
  stretched.dispose();
});

test('load takes no options of another entry, and numbers that float32 does not have are refused', async () => {
  await assert.rejects(load({ simd: 'auto' }), { name: 'ArgumentRangeError', argument: 'simd' });
  assert.throws(() => rw.trainer({ ...sizes, normEps: 1e-50 }), { argument: 'normEps' });
  for (const eps of [1e-50, 1e39]) {
    assert.throws(() => rw.trainer({ ...sizes, optimizer: { eps } }), { argument: 'optimizer.eps' });
  }
});

test('a seed gives the same parameters, another others, and encodings share those that they have in common', () => {
  const weights = (options) => {
    const trainer = rw.trainer({ ...sizes, ...options });
    const all = trainer.parameters();
    trainer.dispose();
    return all;
  };
  assert.deepEqual(weights({ position: rope }).embedding, weights({ position: { encoding: 'shaw' } }).embedding);
  assert.notDeepEqual(weights({ seed: 1 }).embedding, weights({ seed: 2 }).embedding);
});

test('a step that is not finite is an error, and nothing is lost', () => {
  const trainer = trained({ position: rope }, 2);
  const { data, shape } = trainer.parameters()['layers.1.key'];
  trainer.setParameters({ 'layers.1.key': { data: data.map((x, i) => (i === 3 ? Number.NaN : x)), shape } });
  assert.throws(
    () => trainer.step(counting(4, 12)),
    (error) => error instanceof TrainingError && error.step === 3 && error.tensor === 'layers.1.key',
  );
  assert.equal(trainer.steps, 2);
  const { loss, accuracy, predictions } = trainer.evaluate(counting(4, 12));
  assert.ok(Number.isNaN(loss) && accuracy === 0 && predictions.every((id) => id === -1));
  assert.throws(() => trainer.exportModel(), { name: 'StateError', message: /layers\.1\.key has NaN/ });
  trainer.setParameters({ 'layers.1.key': { data, shape } });
  assert.equal(trainer.step(counting(4, 12)).step, 3);
  trainer.dispose();
});

test('a step that would overflow leaves the state of before it', () => {
  const trainer = trained({ position: rope, optimizer: { learningRate: 1e30, clip: 0 } }, 0);
  for (let s = 1; ; ++s) {
    assert.ok(s < 100, 'it overflows');
    const before = trainer.save();
    try {
      trainer.step(counting(4, 12, s));
    } catch (error) {
      assert.ok(error instanceof TrainingError && error.step === s, String(error));
      assert.deepEqual(trainer.save(), before);
      break;
    }
  }
  trainer.dispose();
});

test('what needs more memory than there is says so', () => {
  assert.throws(() => rw.trainer({ ...sizes, vocab: 2 ** 20, modelDim: 128 }), { name: 'OutOfMemoryError' });
  const trainer = rw.trainer({ ...sizes, heads: 8, context: 2 ** 13 });
  const ids = { data: new Int32Array(2 ** 22), shape: [2 ** 9, 2 ** 13] };
  assert.throws(() => trainer.step({ ids }), { name: 'OutOfMemoryError' });
  assert.equal(trainer.step(counting(2, 12)).step, 1);
  trainer.dispose();
});

test('trainers free their memory', () => {
  const before = rw.memory();
  for (let i = 0; i < 3; ++i) trained({ position: rope, seed: i }, 2).dispose();
  assert.equal(rw.memory().liveObjects, before.liveObjects);
  assert.equal(rw.memory().usedBytes, before.usedBytes);
  assert.deepEqual(Object.keys(rw.info()), ['version', 'simd', 'threads', 'why']);
});

test('a model of 107 thousand parameters trains in 16 MB', async () => {
  const own = await load();
  const trainer = own.trainer({
    ...{ layers: 2, modelDim: 64, heads: 4, hiddenDim: 256, vocab: 64, context: 64 },
    position: rope,
  });
  assert.equal(trainer.parameterCount, 106816);
  const ids = { data: new Int32Array(16 * 64), shape: [16, 64] };
  for (let s = 0; s < 3; ++s) trainer.step({ ids });
  assert.ok(own.memory().peak <= 16e6, `${own.memory().peak}`);
});

describe('refuses', () => {
  const trainer = trained({ position: { encoding: 'learned' } }, 1);
  const ropeTrainer = trained({ position: rope }, 1);
  const make = (options) => () => rw.trainer({ ...sizes, ...options });
  const bad = {
    'a sequence beyond context': [() => trainer.step(counting(1, 13)), 'ids', /13 tokens; the most is context, 12/],
    'a sequence beyond a table': [() => trainer.evaluate(counting(1, 13)), 'ids', /13 tokens/],
    'an id out of range': [() => trainer.step({ ids: [1, 8] }), 'ids[1]', /is 8; the vocabulary has 8/],
    'a target out of range': [
      () => trainer.step({ ids: [1, 2], targets: [1, -1] }),
      'targets[1]',
      /is -1; the vocabulary/,
    ],
    'other targets than ids': [() => trainer.step({ ids: [1, 2], targets: [1] }), 'targets', /shape/],
    'a negative weight': [
      () => trainer.step({ ids: [1, 2], weights: Float32Array.of(-1, 1) }),
      'weights[0]',
      /is -1; expected a finite/,
    ],
    'no weight': [
      () => trainer.step({ ids: [1, 2], targets: [1, 2], weights: new Float32Array(2) }),
      'weights',
      /are all 0; expected/,
    ],
    'one token alone': [() => trainer.step({ ids: [1] }), 'ids', /one token/],
    'an unknown option': [() => trainer.step({ ids: [1, 2], target: [1] }), 'batch.target', /not an option/],
    'another position of a model without RoPE': [
      () => trainer.evaluate({ ids: [1, 2] }, { position: { base: 10 } }),
      'position',
      /encoding 'learned'; only RoPE/,
    ],
    'another encoding than RoPE': [
      () => ropeTrainer.evaluate({ ids: [1, 2] }, { position: { encoding: 'none' } }),
      'position.encoding',
      /expected one of "rope"/,
    ],
    'a state of another trainer': [() => trainer.restore(ropeTrainer.save()), 'bytes', /bytes; the state/],
    'a damaged state': [
      () => {
        const bytes = trainer.save();
        bytes[0] ^= 1;
        trainer.restore(bytes);
      },
      'bytes',
      /is damaged, of a trainer with other options/,
    ],
    'a state with a number that is not finite': [
      () => {
        const broken = rw.trainer(sizes);
        broken.setParameters({ final_norm: { data: new Float32Array(16).fill(Number.NaN), shape: [16] } });
        broken.restore(broken.save());
      },
      'bytes',
      /or holds a number that is not finite/,
    ],
    'weight for the last tokens alone': [
      () => trainer.step({ ids: [1, 2, 3], weights: Float32Array.of(0, 0, 1) }),
      'weights',
      /are 0 wherever a token follows/,
    ],
    'a parameter that is not there': [
      () => trainer.setParameters({ nothing: { data: new Float32Array(1), shape: [1] } }),
      'values.nothing',
      /not an option/,
    ],
    'a parameter of another shape': [
      () => trainer.setParameters({ final_norm: { data: new Float32Array(1), shape: [1] } }),
      'values.final_norm',
      /shape \[1\]; expected \[16\]/,
    ],
    'heads that do not divide': [make({ heads: 3 }), 'modelDim', /is 16; expected a multiple of heads, 3/],
    'nine layers': [make({ layers: 9 }), 'layers', /from 1 to 8/],
    'no encoding of this name': [make({ position: { encoding: 'xpos' } }), 'position.encoding', /one of/],
    'an option of another encoding': [make({ position: { encoding: 'rope', scale: 1 } }), 'position.scale', /not an/],
    'forget gates without causal order': [
      make({ position: { encoding: 'forget' }, causal: false }),
      'position.encoding',
      /causal: true/,
    ],
    'a network without numbers': [
      make({ position: { encoding: 'fire', width: 0 } }),
      'position.width',
      /from 1 to 4096/,
    ],
    'a threshold of 0': [make({ position: { encoding: 'fire', threshold: 0 } }), 'position.threshold', /above 0/],
    'an odd vector': [make({ position: { encoding: 'sandwich', dim: 5 } }), 'position.dim', /even/],
    'a grid without columns': [
      make({ position: { encoding: 'rope_mixed', columns: 0 } }),
      'position.columns',
      /from 1/,
    ],
    'a grid that context does not fit into': [
      make({ position: { encoding: 'axial', columns: 4, rows: 2 } }),
      'position.rows',
      /from 3/,
    ],
    'heads without pairs': [
      make({ heads: 16, position: { encoding: 'rope_mixed', columns: 4 } }),
      'position.encoding',
      /heads have 1 coordinates, expected an even/,
    ],
    'heads of one coordinate with RoPE': [
      make({ heads: 16, position: { encoding: 'rope' } }),
      'position.encoding',
      /is 'rope', which turns pairs; heads have 1 coordinates, expected an even/,
    ],
    'a pairing that there is not': [
      make({ position: { encoding: 'rope_mixed', columns: 4, pairing: 'none' } }),
      'position.pairing',
      /one of/,
    ],
    'no rows for counts': [make({ position: { encoding: 'cope', positions: 0 } }), 'position.positions', /from 1/],
    'no rows for distances': [make({ position: { encoding: 'deberta', span: 0 } }), 'position.span', /from 1/],
    'buckets that end before they begin': [
      make({ position: { encoding: 'deberta', span: 8, maxDistance: 5 } }),
      'position.maxDistance',
      /from 6/,
    ],
    'buckets of one row': [
      make({ position: { encoding: 'deberta', span: 1, maxDistance: 5 } }),
      'position.maxDistance',
      /span of at least 2/,
    ],
    'a base of 1': [make({ position: { encoding: 'sandwich', base: 1 } }), 'position.base', /./],
    'a base of 1 for RoPE': [
      make({ position: { encoding: 'rope', base: 1 } }),
      'position.base',
      /^\w+: position\.base is 1/,
    ],
    'more turned coordinates than there are': [
      make({ position: { encoding: 'rope', rotaryDim: 2 ** 10 } }),
      'position.rotaryDim',
      /at most headDim/,
    ],
    'a pairing that RoPE has not': [
      make({ position: { encoding: 'rope', pairing: 'none' } }),
      'position.pairing',
      /one of/,
    ],
    'a scaling that there is not': [
      make({ position: { encoding: 'rope', scaling: { type: 'none' } } }),
      'position.scaling.type',
      /one of/,
    ],
    'a factor below 0': [
      make({ position: { encoding: 'rope', scaling: { type: 'linear', factor: -1 } } }),
      'position.scaling.factor',
      /above 0/,
    ],
    'cos and sin larger than float32 can hold': [
      make({ position: { encoding: 'rope', scaling: { ...yarn, attentionFactor: 1e39 } } }),
      'position',
      /out of range/,
    ],
    'an mscale that makes cos and sin 0': [
      make({ position: { encoding: 'rope', scaling: { ...yarn, mscale: 1e-40, mscaleAllDim: 1e60 } } }),
      'position',
      /out of range/,
    ],
    'a list of factors of another length': [
      make({ position: { encoding: 'rope', scaling: { type: 'custom', inverseFrequencies: [1] } } }),
      'position.scaling.inverseFrequencies',
      /1 entries/,
    ],
    'scores of linear attention': [
      make({ position: { encoding: 'alibi' }, attention: { linear: 'elu1' } }),
      'position.encoding',
      /linear attention/,
    ],
    'slopes for other heads': [make({ position: { encoding: 'alibi', slopes: [1] } }), 'position.slopes', /1 entries/],
    'a table shorter than context': [
      make({ position: { encoding: 'm3', maxPositions: 4 } }),
      'position.maxPositions',
      /at least 12|from 12/,
    ],
    'no coordinates for positions': [
      make({ position: { encoding: 'learned', mode: 'concatenate', positionDim: 16 } }),
      'position.positionDim',
      /from 1 to 15/,
    ],
    'too few coordinates for bits': [
      make({ position: { encoding: 'binary', mode: 'concatenate', positionDim: 3 } }),
      'position.maxPositions',
      /takes 4 bits/,
    ],
    'a beta of 1': [make({ optimizer: { betas: [0.9, 1] } }), 'optimizer.betas[1]', /from 0 to below 1/],
    'a first beta of 1': [make({ optimizer: { betas: [1, 0] } }), 'optimizer.betas[0]', /from 0 to below 1/],
    'betas of SGD': [make({ optimizer: { type: 'sgd', betas: [0, 0] } }), 'optimizer.betas', /of SGD/],
    'more warmup than steps': [
      make({ optimizer: { warmup: 9, totalSteps: 8 } }),
      'optimizer.warmup',
      /at most totalSteps, 8/,
    ],
    'a numerator of cosine': [
      make({ position: rope, attention: { linear: 'cosine', ropeForm: 'numerator' } }),
      'attention.ropeForm',
      /cosine/,
    ],
    'RoPE of a model without': [
      make({ attention: { linear: 'elu1', ropeForm: 'both' } }),
      'attention.ropeForm',
      /no RoPE/,
    ],
  };
  for (const [what, [call, argument, message]] of Object.entries(bad)) {
    test(what, () => {
      const before = trainer.save();
      assert.throws(call, (error) => {
        assert.equal(error.argument, argument);
        assert.match(error.message, message);
        return error.name === 'ArgumentRangeError';
      });
      assert.deepEqual(trainer.save(), before);
    });
  }

  test('targets that are missing, and wrong types', () => {
    const both = rw.trainer({ ...sizes, causal: false });
    const withoutColumns = ['axial', 'rope_mixed'].map((encoding) => make({ position: { encoding } }));
    const wrong = [() => both.step({ ids: [1, 2] }), () => both.restore('x'), make({ layers: '2' }), ...withoutColumns];
    for (const call of wrong) assert.throws(call, { name: 'ArgumentTypeError' });
    both.dispose();
    assert.throws(() => both.save(), { name: 'StateError' });
  });
});
