// The curves that stand behind those of the page's lab: means of three seeds, of the very programs that the page runs.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { textModel, tuningModel } from '../../web/src/chapters/lab/further-programs.js';
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
import { textEvery, textSteps, tuning } from '../../web/src/recorded/further-course.js';
import { mean, rw } from './experiment.mjs';

const fileOf = (name) => new URL(`../../web/src/recorded/${name}.json`, import.meta.url);
const novel = new URL('../../web/src/chapters/lab/text/novel.txt', import.meta.url);
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

const tunedCurves = () => {
  const all = seeds.map((seed) => train(tuningModel(rw, seed), tuning.before + tuning.steps, tuning.every));
  return mapped(Object.keys(all[0][0]), (name) =>
    written(all[0].map((_, i) => mean(all.map((looks) => looks[i][name])))),
  );
};

function textCurve(encoding) {
  const text = readFileSync(novel, 'utf8');
  const all = seeds.map((seed) => train(textModel(rw, text, encoding, seed), textSteps, textEvery));
  return written(all[0].map((_, i) => mean(all.map((looks) => looks[i].loss))));
}

// Encodings of the lab's figures, and others that are compared with them.
const shown = ['none', 'alibi', 't5', 'shaw', 'learned', 'sinusoidal', 'rope', 'pope'];
const others = ['binary', 'm3', 'm4', 'kerple', 'fire'];

// Encodings that the page's lab does not offer, and a grid of 8 columns for those that have one.
const [columns, rows] = [8, 16];
const further = {
  sandwich: { encoding: 'sandwich' },
  xl: { encoding: 'transformer_xl' },
  deberta: { encoding: 'deberta' },
  cope: { encoding: 'cope' },
  axial: { encoding: 'axial', columns, rows },
  mixed: { encoding: 'rope_mixed', columns },
};
Object.assign(positions, further);
others.push(...Object.keys(further));

// By file, then by figure.
const files = {
  lab: {
    order: () => mapped(Object.keys(orderTasks), (task) => mapped(shown, (encoding) => recordedOrder(task, encoding))),
    induction: () =>
      mapped([1, 2], (layers) =>
        mapped(['none', 't5', 'shaw', 'learned', 'rope'], (encoding) => recordedInduction(layers, encoding)),
      ),
    linear: () => mapped(Object.keys(linearForms), recordedLinear),
    length: () =>
      mapped(
        shown.filter((encoding) => encoding !== 'pope'),
        recordedLength,
      ),
  },
  further: {
    tuning: tunedCurves,
    text: () => mapped(['none', 'learned', 'sinusoidal', 'alibi', 'rope'], textCurve),
  },
  compared: {
    previous: () => mapped(others, (encoding) => recordedOrder('previous', encoding).share),
    reverse: () => mapped(others, (encoding) => recordedOrder('reverse', encoding).share),
    repeats: () =>
      mapped(['sinusoidal', 'alibi', 'pope', ...others], (encoding) => recordedInduction(2, encoding).share),
    beyond: () => mapped(['pope', ...others], (encoding) => recordedLength(encoding).asTrained),
  },
};

/** Writes the curves of some files or figures, by default of all. */
export function record(names) {
  for (const [file, parts] of Object.entries(files)) {
    const isWanted = (name) => names.length === 0 || names.includes(file) || names.includes(name);
    const wanted = Object.entries(parts).filter(([name]) => isWanted(name));
    if (wanted.length === 0) continue;
    const made = Object.fromEntries(wanted.map(([name, make]) => [name, make()]));
    const known = existsSync(fileOf(file)) ? JSON.parse(readFileSync(fileOf(file), 'utf8')) : {};
    writeFileSync(fileOf(file), `${JSON.stringify({ ...known, ...made }, null, 2)}\n`);
    console.log(`wrote ${fileOf(file).pathname}`);
  }
}
