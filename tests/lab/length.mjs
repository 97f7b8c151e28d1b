// C. The length cliff: a language of skips, learned at 32 tokens, read at 256; and RoPE scaled without training.
import { skipLanguageTask } from 'ropewalk/training';
import { encodings, holds, mean, overSeeds, printTable, train } from './experiment.mjs';

const language = 4; // its seed: an entropy near 0.965, that of lab.md
const ranges = [
  [0, 32],
  [32, 64],
  [64, 128],
  [128, 256],
]; // of positions
const model = { layers: 2, modelDim: 32, heads: 4, lr: 5e-3, steps: 500 };
const positions = { ...encodings, learned: { encoding: 'learned', maxPositions: 256 } };

const taskOf = (tokens, stream) => skipLanguageTask({ seed: language, tokens, stream });

function trained(name, seed) {
  return train({ ...model, task: taskOf(32, 2 * seed + 2), position: positions[name], seed });
}

// Mean losses of positions in ranges, of 24 long sequences.
function byRange(trainer, seen) {
  const { losses } = trainer.evaluate(seen);
  return ranges.map(([first, end]) => {
    const counted = [...losses].filter((_, i) => {
      const t = i % 256;
      return t >= Math.max(first, 3) && t < Math.min(end, 255);
    });
    return mean(counted);
  });
}

const scalings = {
  none: () => ({ type: 'default' }),
  PI: (factor) => ({ type: 'linear', factor }),
  NTK: (factor) => ({ type: 'ntk', factor }),
  YaRN: (factor) => ({ type: 'yarn', factor, originalLength: 32, betaFast: 4, betaSlow: 1 }),
};
const lengths = [64, 128, 256];

function scaled(trainer, seed) {
  return Object.values(scalings).flatMap((scaling) =>
    lengths.map((tokens) => {
      const seen = taskOf(tokens, 2 * seed + 1).batch(16);
      return trainer.evaluate(seen, { position: { scaling: scaling(tokens / 32) } }).loss;
    }),
  );
}

// Losses at 128 tokens after some steps there, of a model trained at 32.
function fineTuned(from, scaling, seed) {
  const seen = taskOf(128, 2 * seed + 1).batch(16);
  const losses = [];
  const start = (trainer, step) => {
    if (step === 0) trainer.setParameters(from);
    if ([0, 10, 50, 100].includes(step)) losses.push(trainer.evaluate(seen).loss);
  };
  const position = { encoding: 'rope', scaling };
  const optimizer = { warmup: 0, totalSteps: 0 };
  const task = taskOf(128, 2 * seed + 100);
  train({ ...model, lr: 2e-3, task, steps: 100, batch: 8, each: 10, look: start, position, optimizer, seed }).dispose();
  return losses;
}

export function length(seeds) {
  const entropy = taskOf(32, 0).bestLoss;
  const shift = entropy - 0.965;
  let ofRope;
  const scaledAll = [];
  const rows = Object.fromEntries(
    Object.keys(positions).map((name) => [
      name,
      overSeeds(seeds, (seed) => {
        const trainer = trained(name, seed);
        const losses = byRange(trainer, taskOf(256, 2 * seed + 1).batch(24));
        if (name === 'RoPE') {
          scaledAll.push(scaled(trainer, seed));
          ofRope ??= trainer.parameters();
        }
        trainer.dispose();
        return losses;
      }),
    ]),
  );
  printTable(
    `C. Loss by position, of a language with entropy ${entropy.toFixed(3)}`,
    ranges.map(([a, b]) => `${a}-${b - 1}`),
    rows,
  );
  const [near, far] = [1.15 + shift, 2.8 + shift];
  holds(`RoPE in range < ${near.toFixed(2)}: ${rows.RoPE[0].toFixed(3)}`, rows.RoPE[0] < near);
  for (const name of ['RoPE', 'learned', 'sinusoidal'])
    holds(`${name} at 32-63 > ${far.toFixed(2)}: ${rows[name][1].toFixed(2)}`, rows[name][1] > far);
  for (const name of ['ALiBi', 'Shaw']) {
    const change = Math.max(...rows[name]) - Math.min(...rows[name]);
    holds(`${name} changes by < 0.25: ${change.toFixed(3)}`, change < 0.25);
  }

  const means = scaledAll[0].map((_, i) => mean(scaledAll.map((each) => each[i])));
  const ofScaling = Object.fromEntries(Object.keys(scalings).map((name, i) => [name, means.slice(3 * i, 3 * i + 3)]));
  printTable('C. RoPE scaled without training, mean loss by length', lengths, ofScaling);
  const at128 = (name) => ofScaling[name][1];
  holds(`YaRN at 128 < ${(1.2 + shift).toFixed(2)}: ${at128('YaRN').toFixed(3)}`, at128('YaRN') < 1.2 + shift);
  holds('YaRN < NTK - 0.8 at 128', at128('YaRN') < at128('NTK') - 0.8);
  holds('NTK - 0.8 < none - 1.2 at 128', at128('NTK') - 0.8 < at128('none') - 1.2);

  const tuned = Object.entries(scalings).map(([name, of]) => [name, fineTuned(ofRope, of(4), seeds[0])]);
  printTable('C. Fine-tuned at 128, by steps (one seed)', [0, 10, 50, 100], Object.fromEntries(tuned));
}
