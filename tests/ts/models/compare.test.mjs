// compare() against the float64 reference of whole models, and against values that were changed on purpose.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'ropewalk';
import { compare, loadModel, openSafetensors } from 'ropewalk/models';
import { reference } from '../../models/reference/reference.mjs';
import { safetensorsOf } from '../../models/tiny/files.mjs';
import { tinyModel } from '../../models/tiny/models.mjs';
import { swapHeadsAndTokens } from '../support/arrays.mjs';
import { notNonNegative, notOptions, outOfRange, wrongType } from '../support/bad-values.mjs';
import { writeSafetensors } from '../support/safetensors.mjs';

const rw = await load({ simd: 'deterministic' });
const opened = async (name) => {
  const made = tinyModel(name);
  return { made, model: await loadModel(rw, { config: made.config, weights: new Uint8Array(safetensorsOf(made)) }) };
};
const ids = [5, 1, 44, 12, 90, 3, 71];

// Golden values of the reference under compare's names, float64.
function goldenOf({ made, model }) {
  const { heads, kvHeads, headDim, modelDim, vocabSize, norms } = model.config;
  const result = reference(made, { ids });
  const [T, golden] = [ids.length, {}];
  const add = (name, rows, shape) => {
    if (rows) golden[name] = { data: Float64Array.from([rows].flat(3).flatMap((row) => [...row])), shape };
  };
  result.layers.forEach((layer, i) => {
    for (const [part, rows] of Object.entries(layer)) {
      const size = /^q/.test(part) || part === 'context' ? heads : kvHeads;
      const wide = ['q', 'k', 'v', 'qRotated', 'kRotated', 'vRotated', 'context'].includes(part);
      if (wide) add(`layers.${i}.${part}`, rows, [T, size, headDim]);
      else if (['raw', 'capped', 'probabilities'].includes(part)) add(`layers.${i}.${part}`, rows, [heads, T, T]);
      else if (part !== 'out' && !(part === 'hidden' && norms === 'parallel'))
        add(`layers.${i}.${part}`, rows, [T, modelDim]);
    }
  });
  add('hidden', result.hidden, [T, modelDim]);
  add('logits', result.logits, [T, vocabSize]);
  return golden;
}

const copyOf = (golden) =>
  Object.fromEntries(Object.entries(golden).map(([name, { data, shape }]) => [name, { data: data.slice(), shape }]));

const llama = await opened('llama3');
const golden = goldenOf(llama);

for (const name of ['llama3', 'qwen3', 'gemma3', 'gpt-neox', 'bert', 'roformer']) {
  test(`${name} agrees with float64 in every tensor`, async () => {
    const each = await opened(name);
    const values = goldenOf(each);
    const { tensors, first, agrees } = await compare(each.model, ids, values, { tolerance: 1e-5 });
    assert.equal(first, undefined, JSON.stringify(first));
    assert.ok(agrees && tensors.length === Object.keys(values).length && tensors.length > 20);
    assert.ok(tensors.some(({ maxAbsolute }) => maxAbsolute > 0));
    for (const { maxAbsolute, maxRelative, ours, golden: theirs } of tensors) {
      assert.ok(maxRelative <= 1e-5 && Math.abs(Math.abs(ours - theirs) - maxAbsolute) <= 1e-12 * maxAbsolute);
    }
    each.model.dispose();
  });
}

test('rows come in the order in which a pass computes them', async () => {
  const shuffled = Object.fromEntries(Object.entries(golden).sort(([a], [b]) => (a < b ? 1 : -1)));
  const { tensors } = await compare(llama.model, ids, shuffled);
  const names = tensors.map(({ name }) => name);
  const position = (name) => names.indexOf(name);
  const order = ['layers.0.normed', 'layers.0.q', 'layers.0.qRotated', 'layers.0.raw', 'layers.0.probabilities'];
  order.push('layers.0.context', 'layers.0.attentionOut', 'layers.0.hidden', 'layers.0.mlp', 'layers.1.normed');
  order.push('layers.1.mlp', 'hidden', 'logits');
  for (let i = 1; i < order.length; ++i) assert.ok(position(order[i - 1]) < position(order[i]), order[i]);
  assert.deepEqual([...new Set(tensors.map(({ layer }) => layer))], [0, 1, undefined]);
});

test('the first tensor that is off is named, with the place and both values', async () => {
  const changed = copyOf(golden);
  changed['layers.1.q'].data[17] += 3;
  changed['layers.0.probabilities'].data[9] += 0.25;
  changed.logits.data[0] = Number.NaN;
  const { first, agrees, tensors } = await compare(llama.model, ids, changed);
  assert.equal(agrees, false);
  assert.deepEqual([first.name, first.layer, first.at], ['layers.0.probabilities', 0, 9]);
  assert.ok(Math.abs(first.maxAbsolute - 0.25) < 1e-6);
  assert.equal(first.golden, changed['layers.0.probabilities'].data[9]);
  assert.equal(
    first.maxRelative,
    first.maxAbsolute / Math.max(...changed['layers.0.probabilities'].data.map(Math.abs)),
  );
  const off = tensors.filter((row) => !row.agrees).map(({ name }) => name);
  assert.deepEqual(off, ['layers.0.probabilities', 'layers.1.q', 'logits']);
  assert.equal(tensors.at(-1).maxAbsolute, Infinity);
  const lenient = await compare(
    llama.model,
    ids,
    { p: changed['layers.0.probabilities'] },
    {
      absolute: 0.26,
      tolerance: 0,
      names: () => 'layers.0.probabilities',
    },
  );
  assert.ok(lenient.agrees);
});

test('what is missing or of another shape is reported, and the rest compared', async () => {
  const { 'layers.0.q': q, logits } = golden;
  const values = {
    logits,
    'layers.0.q': { data: q.data.slice(1), shape: [q.data.length - 1] },
    'layers.2.q': q,
    'layers.0.nonsense': q,
    'layers.0.toString': q,
    'hiddenStates.3': q,
    'model.layers.0.weight': q,
    pooled: { data: [1], shape: [1] },
  };
  const { tensors, first } = await compare(llama.model, ids, values);
  const problems = Object.fromEntries(tensors.map(({ name, problem }) => [name, problem]));
  assert.equal(first.name, 'layers.0.q');
  assert.match(problems['layers.0.q'], /has shape \[251\]; the model's is \[7, 6, 6\]/);
  for (const name of Object.keys(values).slice(2))
    assert.match(problems[name], /nothing that this model computes/, name);
  assert.equal(problems.logits, undefined);
  assert.ok(Number.isNaN(first.maxAbsolute) && Number.isNaN(first.maxRelative));
});

test('hidden states, a batch of one, PyTorch names and layout, masked scores', async () => {
  const { hiddenStates, captured } = llama.model.forward(ids, { hiddenStates: true, capture: ['k', 'biased'] });
  const [T, values] = [ids.length, {}];
  hiddenStates.forEach(({ data, shape }, i) => {
    values[`hiddenStates.${i}`] = { data, dims: [1, ...shape] };
  });
  for (const { layer, k, biased } of captured) {
    const [, G, D] = k.shape;
    // [1, T, G, D] to [1, G, T, D] is the same swap as the other way.
    values[`block${layer}.key`] = { data: swapHeadsAndTokens(k.data, [1, T, G, D]), shape: [1, G, T, D] };
    values[`block${layer}.scores`] = {
      data: biased.data.map((score) => (score === -Infinity ? -3.4028234663852886e38 : score)),
      shape: [1, ...biased.shape],
    };
  }
  values.input_ids = { data: ids, shape: [T] };
  const parts = { key: 'k', scores: 'biased' };
  const names = (name) => {
    const [, layer, part] = /^block(\d)\.(\w+)$/.exec(name) ?? [];
    if (part) return `layers.${layer}.${parts[part]}`;
    return name === 'input_ids' ? undefined : name;
  };
  const { tensors, agrees } = await compare(llama.model, ids, values, { names, layout: 'BHTD', tolerance: 0 });
  assert.ok(agrees, JSON.stringify(tensors.find((row) => !row.agrees)));
  assert.equal(tensors.length, 3 + 4);
  const wrong = await compare(llama.model, ids, values, { names });
  assert.equal(wrong.first.name, 'block0.key');
});

test('golden values come from a safetensors file of any float type', async () => {
  const { data, shape } = llama.model.forward(ids, { logits: 'all' }).logits;
  const half = (value) => new Uint16Array(Float32Array.of(value).buffer)[1];
  const file = await openSafetensors(
    rw,
    writeSafetensors({
      logits: { dtype: 'F32', shape: [1, ...shape], data },
      double: { dtype: 'F64', shape, data: Float64Array.from(data) },
      rounded: { dtype: 'BF16', shape, data: Uint16Array.from(data, half) },
      ids: { dtype: 'I64', shape: [7], data: BigInt64Array.from(ids.map(BigInt)) },
    }),
  );
  const names = (name) => (name === 'ids' ? undefined : 'logits');
  const { tensors } = await compare(llama.model, ids, file, { names, tolerance: 0 });
  const errors = Object.fromEntries(tensors.map(({ name, maxRelative }) => [name, maxRelative]));
  assert.equal(errors.logits, 0);
  assert.equal(errors.double, 0);
  assert.ok(errors.rounded > 1e-4 && errors.rounded < 2 ** -7, String(errors.rounded));
  await assert.rejects(compare(llama.model, ids, file), { name: 'SafetensorsError' });
  file.dispose();
});

test('options of the pass are passed on', async () => {
  const { data, shape } = llama.model.forward(ids, { logits: 'all', offset: 1000 }).logits;
  const moved = { logits: { data, shape } };
  assert.ok((await compare(llama.model, ids, moved, { pass: { offset: 1000 }, tolerance: 0 })).agrees);
});

test('compare refuses what it cannot compare', async () => {
  const refused = async (argument, values, call) => {
    for (const { value, error, label } of values) {
      await assert.rejects(
        async () => call(value),
        (thrown) => thrown instanceof error && thrown.message.includes(argument),
        `${argument} ${label}`,
      );
    }
  };
  const { model } = llama;
  await refused('model', [wrongType(null, 'null'), wrongType({}, 'an object')], (value) => compare(value, ids, golden));
  await refused('ids', [outOfRange([], 'empty'), outOfRange([97])], (value) => compare(model, value, golden));
  const notGolden = [wrongType(null, 'null'), wrongType(1, '1'), wrongType([], '[]'), wrongType('x', '"x"')];
  await refused('golden', notGolden, (value) => compare(model, ids, value));
  await refused('golden', [outOfRange({}, 'empty')], (value) => compare(model, ids, value));
  await refused('golden', [outOfRange(golden, 'left out')], (value) =>
    compare(model, ids, value, { names: () => undefined }),
  );
  const notValues = [
    1,
    null,
    {},
    { shape: [1] },
    { data: 'x', shape: [1] },
    { data: new Int8Array(1), shape: [1] },
    { data: [1] },
  ];
  await refused(
    'logits',
    notValues.map((value) => wrongType(value, '')),
    (value) => compare(model, ids, { logits: value }),
  );
  await refused(
    'tolerance',
    notNonNegative.filter(({ value }) => value !== null),
    (value) => compare(model, ids, golden, { tolerance: value }),
  );
  await refused('absolute', [outOfRange(-1), wrongType('1', '"1"')], (value) =>
    compare(model, ids, golden, { absolute: value }),
  );
  await refused('names', [wrongType(1, '1'), wrongType({}, '')], (value) =>
    compare(model, ids, golden, { names: value }),
  );
  await refused('layout', [wrongType(1, '1'), outOfRange('TBHD', '')], (value) =>
    compare(model, ids, golden, { layout: value }),
  );
  await refused('options', notOptions, (value) => compare(model, ids, golden, value));
  await refused('cache', [outOfRange(1)], (value) => compare(model, ids, golden, { pass: { cache: value } }));
  await refused('tol', [outOfRange(1)], (value) => compare(model, ids, golden, { tol: value }));
  assert.ok((await compare(model, ids, golden)).agrees);
});
