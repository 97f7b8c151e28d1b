// Measures the error of int8 storage: node tests/models/int8.mjs [FOLDER ...]
// Without folders, compares random models of every architecture with the reference in float64, and prints the error of
// float32 arithmetic alone for comparison. With folders that contain config.json and model.safetensors, compares each
// model with itself with weights as given. Random weights have no outliers, for which int8 is worst; errors add up over
// layers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { reference } from './reference/reference.mjs';
import { flat } from './rows.mjs';
import { idsOf } from './sequences.mjs';
import { safetensorsOf } from './tiny/files.mjs';
import { tinyModel, variants } from './tiny/models.mjs';

const tokens = 16;
const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

const rms = (values) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);

const relative = (got, want) => rms(got.map((x, i) => x - want[i])) / rms(want);

/** { hidden, logits } of a loaded model for some sequences; logits are [] if it has no head. */
function outputs(model, sequences) {
  const options = model.kind === 'encoder' ? { logits: model.hasLogits } : { hidden: true, logits: 'all' };
  const results = sequences.map((ids) => model.forward(ids, options));
  return {
    hidden: results.flatMap(({ hidden }) => [...hidden.data]),
    logits: results.flatMap(({ logits }) => (logits === undefined ? [] : [...logits.data])),
  };
}

function exactOutputs(model, sequences) {
  const results = sequences.map((ids) => reference(model, { ids }));
  return {
    hidden: results.flatMap(({ hidden }) => flat(hidden)),
    logits: results.flatMap(({ logits }) => (logits === undefined ? [] : flat(logits))),
  };
}

// How often the largest logit of a token is that of another entry.
function otherTops(got, want, vocabulary) {
  const top = (logits, at) => {
    let best = at;
    for (let i = at; i < at + vocabulary; ++i) if (logits[i] > logits[best]) best = i;
    return best;
  };
  let other = 0;
  for (let at = 0; at < want.length; at += vocabulary) if (top(got, at) !== top(want, at)) ++other;
  return other / (want.length / vocabulary);
}

async function withModel(rw, options, body) {
  const model = await loadModel(rw, options);
  try {
    return body(model);
  } finally {
    model.dispose();
  }
}

const percent = (share) => (Number.isNaN(share) ? '-' : `${(100 * share).toPrecision(2)} %`);

async function row(rw, name, source, sequences, exact) {
  const asGiven = await withModel(rw, source, (model) => ({
    ...outputs(model, sequences),
    bytes: model.info.bytes,
    vocabulary: model.config.vocabSize,
  }));
  const want = exact ?? asGiven;
  const int8 = await withModel(rw, { ...source, storage: 'int8' }, (model) => ({
    ...outputs(model, sequences),
    bytes: model.info.bytes,
  }));
  return {
    model: name,
    'bytes as given': asGiven.bytes,
    'bytes int8': int8.bytes,
    ...(exact && { 'float32 hidden': relative(asGiven.hidden, want.hidden).toExponential(1) }),
    'int8 hidden': percent(relative(int8.hidden, want.hidden)),
    'int8 logits': percent(relative(int8.logits, want.logits)),
    'other top token': percent(otherTops(int8.logits, want.logits, asGiven.vocabulary)),
  };
}

const folders = process.argv.slice(2);
const rw = await load({ simd: 'deterministic' });
const rows = [];
for (const folder of folders) {
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  const sequences = seeds.map((seed) => idsOf({ name: folder, config }, tokens, seed));
  rows.push(await row(rw, folder, { config, weights: join(folder, 'model.safetensors') }, sequences));
}
for (const name of folders.length > 0 ? [] : variants) {
  const model = tinyModel(name);
  const sequences = seeds.map((seed) => idsOf(model, tokens, seed));
  const source = { config: model.config, weights: safetensorsOf(model) };
  rows.push(await row(rw, name, source, sequences, exactOutputs(model, sequences)));
}
console.log(`relative error (root mean square) of ${seeds.length} sequences of ${tokens} tokens`);
console.table(Object.fromEntries(rows.map(({ model, ...figures }) => [model, figures])));
