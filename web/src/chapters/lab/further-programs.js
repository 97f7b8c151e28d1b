// What the lab's further experiments train, as their programs show it.
// @ts-nocheck
import { charactersTask, skipLanguageTask } from 'ropewalk/training';
import { wordVector } from '../../programs/word-vector.js';
import { lengths } from '../../recorded/course.js';
import { sample, textSteps, tuning } from '../../recorded/further-course.js';
import { optimizer, positions, scalings } from './programs.js';
/** @import { CharactersTask, Trainer, Training } from 'ropewalk/training' */

/**
 * A causal model with RoPE that learns the language of `lengthModel` from short sequences. Then a copy of it for each scaling
 * goes on with longer ones, all with the same. The loss of longer ones by scaling.
 * @type {(rw: Training, seed: number) =>
 *   { step(): void, look(): Record<keyof typeof scalings, number>, dispose(): void }}
 */
export const tuningModel = (rw, seed) => {
  const language = (tokens, stream) => skipLanguageTask({ seed: 4, tokens, stream });
  const [short, long] = [language(lengths.trained, 2 * seed), language(lengths.tested, 2 * seed + 100)];
  const held = language(lengths.tested, 2 * seed + 1).batch(8);
  const trainerOf = (context, scaling, options) =>
    rw.trainer({
      layers: 2,
      modelDim: 32,
      heads: 4,
      vocab: short.vocab,
      context,
      position: { encoding: 'rope', scaling },
      optimizer: { ...optimizer, ...options },
      seed,
    });
  const first = trainerOf(lengths.trained, scalings.asTrained, { learningRate: 5e-3, totalSteps: tuning.before });
  const copies = {};
  const copy = () => {
    for (const [name, scaling] of Object.entries(scalings)) {
      copies[name] = trainerOf(lengths.tested, scaling, { learningRate: 2e-3, warmup: 0 });
      copies[name].setParameters(first.parameters());
    }
  };
  const lossWith = (name, scaling) =>
    (copies[name]?.evaluate(held) ?? first.evaluate(held, { position: { scaling } })).loss;
  return {
    step: () => {
      if (first.steps < tuning.before) return void first.step(short.batch(32));
      if (copies.yarn === undefined) copy();
      const batch = long.batch(8);
      for (const trainer of Object.values(copies)) trainer.step(batch);
    },
    look: () => Object.fromEntries(Object.entries(scalings).map(([name, scaling]) => [name, lossWith(name, scaling)])),
    dispose: () => {
      for (const trainer of [first, ...Object.values(copies)]) trainer.dispose();
    },
  };
};

export const context = 64;

/**
 * What a model writes: each character is drawn by its probability.
 * @type {(trainer: Trainer, task: CharactersTask, seed: number) => string}
 */
export const written = (trainer, task, seed) => {
  const ids = Array.from(task.encode(sample.beginning));
  // Uniform from 0 to 1.
  const draws = wordVector(`draws ${seed}`, sample.length).map((value) => (value / Math.sqrt(3) + 1) / 2);
  for (const draw of draws) {
    const { logits } = trainer.evaluate({ ids: ids.slice(-context) }, { logits: true });
    const last = logits.subarray(-task.vocab);
    const largest = Math.max(...last);
    const weights = Array.from(last, (logit) => Math.exp(logit - largest));
    let [left, id] = [draw * weights.reduce((sum, weight) => sum + weight, 0), 0];
    for (; id < task.vocab - 1 && left >= weights[id]; ++id) left -= weights[id];
    ids.push(id);
  }
  return task.decode(ids);
};

/**
 * A causal model with feed-forward parts that learns nine tenths of a text, character by character: its loss on the rest, and
 * what it writes.
 * @type {(rw: Training, text: string, encoding: keyof typeof positions, seed: number) =>
 *   { step(): void, look(): { loss: number, written: string }, dispose(): void }}
 */
export const textModel = (rw, text, encoding, seed) => {
  const trained = charactersTask(text, { tokens: context, seed, part: [0, 0.9] });
  const held = charactersTask(text, { tokens: context, seed, stream: 1, part: [0.9, 1] }).batch(32);
  const trainer = rw.trainer({
    layers: 2,
    modelDim: 64,
    heads: 4,
    hiddenDim: 256,
    vocab: trained.vocab,
    context,
    position: positions[encoding],
    optimizer: { ...optimizer, learningRate: 4e-3, weightDecay: 0.05, warmup: 100, totalSteps: textSteps },
    seed,
  });
  return {
    step: () => trainer.step(trained.batch(16)),
    look: () => ({ loss: trainer.evaluate(held).loss, written: written(trainer, trained, seed) }),
    dispose: () => trainer.dispose(),
  };
};
