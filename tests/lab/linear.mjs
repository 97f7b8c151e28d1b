// D. Linear attention: where RoPE enters.
import { skipLanguageTask } from 'ropewalk/training';
import { encodings, holds, overSeeds, printTable, train } from './experiment.mjs';
import { heldOut, text } from './text.mjs';

const { none, sinusoidal, RoPE } = encodings;
const forms = {
  none: { attention: { linear: 'elu1' }, position: none },
  sinusoidal: { attention: { linear: 'elu1' }, position: sinusoidal },
  'RoPE, numerator': { attention: { linear: 'elu1', ropeForm: 'numerator' }, position: RoPE },
  'RoPE, both': { attention: { linear: 'elu1', ropeForm: 'both' }, position: RoPE },
  'RoPE, cosine': { attention: { linear: 'cosine' }, position: RoPE },
  'softmax RoPE': { position: RoPE },
};

const loss = (options, task, seen) => {
  const trainer = train({ layers: 2, task, ...options });
  const result = trainer.evaluate(seen).loss;
  trainer.dispose();
  return result;
};

export function linear(seeds) {
  const taskOf = (stream) => skipLanguageTask({ seed: 4, stream });
  const model = { modelDim: 32, heads: 2, lr: 5e-3, steps: 400 };
  const rows = Object.fromEntries(
    Object.entries(forms).map(([name, form]) => [
      name,
      overSeeds(seeds, (seed) => [loss({ ...model, ...form, seed }, taskOf(2 * seed), taskOf(2 * seed + 1).batch(64))]),
    ]),
  );
  printTable('D. Loss of linear attention, elu + 1', ['loss'], rows);
  const gap = rows.none[0] - rows['RoPE, numerator'][0];
  holds(`the numerator gains > 0.3: ${gap.toFixed(3)}`, gap > 0.3);
}

/** On characters; as long as the rest together. */
export function linearText(seeds) {
  const model = { modelDim: 64, heads: 4, hiddenDim: 256, lr: 4e-3, steps: 500, batch: 16 };
  const optimizer = { weightDecay: 0.05, warmup: 100 };
  const row = (form) =>
    overSeeds(seeds, (seed) => [loss({ ...model, ...form, optimizer, seed }, text(seed), heldOut(seed))]);
  const rows = { none: row(forms.none), 'RoPE, numerator': row(forms['RoPE, numerator']) };
  printTable('D. The same on text', ['loss'], rows);
  const gap = rows.none[0] - rows['RoPE, numerator'][0];
  holds(`on text the numerator gains > 0.07: ${gap.toFixed(3)}`, gap > 0.07);
}
