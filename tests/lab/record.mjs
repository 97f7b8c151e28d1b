// The curves that stand behind those of the page's lab: means of three seeds, of the very programs that the page runs.
import { readFileSync, writeFileSync } from 'node:fs';
import {
  inductionModel,
  lengthModel,
  linearForms,
  linearModel,
  orderModel,
  orderTasks,
  positions,
  train,
} from '../../web/src/chapters/lab/programs.js';
import { inductionSteps, lengthSteps, linearEvery, linearSteps, orderSteps } from '../../web/src/recorded/course.js';
import { mean, rw } from './experiment.mjs';

const file = new URL('../../web/src/recorded/lab.json', import.meta.url);
const seeds = [1, 2, 3];

/** Numbers as whole hundredths: few bytes, and finer than a line is wide. */
const written = (values) => values.map((value) => Math.round(100 * value)).join(' ');

const mapped = (names, make) => Object.fromEntries(names.map((name) => [name, make(name)]));

/**
 * Means of what models are like as they are trained with three seeds: of each number by its name, at every few of the looks
 * that the page has.
 */
function recordedCurves(names, steps, every, modelOf) {
  const all = seeds.map((seed) => train(modelOf(seed), steps).filter((_, i) => i % every === 0));
  return mapped(names, (name) => written(all[0].map((_, i) => mean(all.map((looks) => looks[i][name])))));
}

/** Of a model of the first figure. */
export const recordedOrder = (task, encoding) =>
  recordedCurves(['loss', 'share'], orderSteps, 2, (seed) => orderModel(rw, encoding, task, seed));

const recordedInduction = (layers, encoding) =>
  recordedCurves(['share', 'previous', 'followed'], inductionSteps, 4, (seed) =>
    inductionModel(rw, encoding, layers, seed),
  );

// Of trained models alone, by position.
function recordedLength(encoding) {
  const all = seeds.map((seed) => train(lengthModel(rw, encoding, 10000, seed), lengthSteps, lengthSteps).at(-1));
  return mapped(Object.keys(all[0]), (reading) =>
    written(all[0][reading].map((_, i) => mean(all.map((look) => look[reading][i])))),
  );
}

function recordedLinear(form) {
  const all = seeds.map((seed) => train(linearModel(rw, form, seed), linearSteps, linearEvery));
  return written(all[0].map((_, i) => mean(all.map((losses) => losses[i]))));
}

// By figure.
const parts = {
  order: () =>
    mapped(Object.keys(orderTasks), (task) =>
      mapped(Object.keys(positions), (encoding) => recordedOrder(task, encoding)),
    ),
  induction: () =>
    mapped([1, 2], (layers) =>
      mapped(['none', 't5', 'shaw', 'learned', 'rope'], (encoding) => recordedInduction(layers, encoding)),
    ),
  linear: () => mapped(Object.keys(linearForms), recordedLinear),
  length: () => mapped(['none', 'alibi', 't5', 'shaw', 'learned', 'sinusoidal', 'rope'], recordedLength),
};

/** Writes the curves of some figures, by default of all. */
export function record(names) {
  const wanted = Object.entries(parts).filter(([name]) => names.length === 0 || names.includes(name));
  const made = Object.fromEntries(wanted.map(([name, make]) => [name, make()]));
  const recorded = { ...JSON.parse(readFileSync(file, 'utf8')), ...made };
  writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`);
  console.log(`wrote ${file.pathname}`);
}
