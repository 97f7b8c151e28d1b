// What the lab trains, as its programs show it.
// @ts-nocheck
import { copyTask, inductionTask, reverseTask, skipLanguageTask } from 'ropewalk/training';
import {
  inductionSteps,
  lengthSteps,
  lengths,
  linearSteps,
  lookEvery,
  orderSteps,
  repeats,
} from '../../recorded/course.js';
/** @import { Training } from 'ropewalk/training' */

/** Position encodings with the settings of small models. */
export const positions = {
  none: { encoding: 'none' },
  alibi: { encoding: 'alibi' },
  t5: { encoding: 't5', numBuckets: 16, maxDistance: 32 },
  shaw: { encoding: 'shaw', maxDistance: 16 },
  learned: { encoding: 'learned' },
  sinusoidal: { encoding: 'sinusoidal', scale: 0.5 },
  rope: { encoding: 'rope' },
  pope: { encoding: 'pope' },
  binary: { encoding: 'binary' },
  m3: { encoding: 'm3' },
  m4: { encoding: 'relative_key_query' },
  kerple: { encoding: 'kerple' },
  fire: { encoding: 'fire' },
};

/** The optimizer of all models: AdamW, warmed up over 50 steps. */
export const optimizer = { betas: [0.9, 0.98], warmup: 50 };

/** Random tokens: name the token before each, or the whole sequence backwards. */
export const orderTasks = { previous: copyTask, reverse: reverseTask };

/**
 * One layer that sees all of a sequence, and what it makes of sequences that it is not trained on.
 * @type {(rw: Training, encoding: keyof typeof positions, task: keyof typeof orderTasks, seed: number) =>
 *   { step(): void, look(): { loss: number, share: number }, dispose(): void }}
 */
export const orderModel = (rw, encoding, task, seed) => {
  const [trained, seen] = [0, 1].map((stream) => orderTasks[task]({ vocab: 16, tokens: 32, seed, stream }));
  const trainer = rw.trainer({
    layers: 1,
    modelDim: 32,
    heads: 2,
    causal: false,
    vocab: 16,
    context: 32,
    position: positions[encoding],
    optimizer: { ...optimizer, learningRate: 5e-3, totalSteps: orderSteps },
    seed,
  });
  const held = seen.batch(32);
  return {
    step: () => trainer.step(trained.batch(32)),
    look: () => {
      const { loss, accuracy: share } = trainer.evaluate(held);
      return { loss, share };
    },
    dispose: () => trainer.dispose(),
  };
};

/**
 * How much of their attention the heads of a layer give to some keys, the best head: the mean over queries.
 * @type {(maps: { data: Float32Array, shape: readonly number[] }, layer: number, first: number,
 *   distances: (query: number) => number[]) => number}
 */
export const bestHead = ({ data, shape }, layer, first, distances) => {
  const [, , heads, tokens] = shape;
  const scores = Array.from({ length: heads }, (_, head) => {
    let sum = 0;
    for (let query = first; query < tokens; ++query) {
      const row = ((layer * heads + head) * tokens + query) * tokens;
      for (const distance of distances(query)) sum += data[row + query - distance];
    }
    return sum / (tokens - first);
  });
  return Math.max(...scores);
};

/**
 * A causal model that learns sequences with a period: the share of repeated tokens that it predicts, the attention that
 * heads of the first layer give to the token before, and those of the last to what followed the same token, with all maps.
 * @type {(rw: Training, encoding: keyof typeof positions, layers: number, seed: number) => { step(): void,
 *   look(): { share: number, previous: number, followed: number, ids: number[], maps: Float32Array }, dispose(): void }}
 */
export const inductionModel = (rw, encoding, layers, seed) => {
  const trained = inductionTask({ seed });
  const held = inductionTask({ seed, stream: 1 }).batch(32);
  const sequence = inductionTask({ ...repeats, seed, stream: 2 }).batch(1).ids.data;
  const trainer = rw.trainer({
    layers,
    modelDim: 32,
    heads: 2,
    vocab: 32,
    context: 48,
    position: positions[encoding],
    optimizer: { ...optimizer, learningRate: 3e-3, totalSteps: inductionSteps },
    seed,
  });
  const [period] = repeats.period;
  const followed = (query) => [period - 1, 2 * period - 1].filter((distance) => distance <= query);
  return {
    step: () => trainer.step(trained.batch(32)),
    look: () => {
      const maps = trainer.capture(sequence);
      return {
        share: trainer.evaluate(held).accuracy,
        previous: bestHead(maps, 0, 1, () => [1]),
        followed: bestHead(maps, layers - 1, period, followed),
        ids: Array.from(sequence),
        maps: maps.data,
      };
    },
    dispose: () => trainer.dispose(),
  };
};

/** Ways to read four times the trained length with RoPE. */
export const scalings = {
  asTrained: { type: 'default' },
  linear: { type: 'linear', factor: 4 },
  ntk: { type: 'ntk', factor: 4 },
  yarn: { type: 'yarn', factor: 4, originalLength: 32, betaFast: 4, betaSlow: 1 },
};

/**
 * Means of losses [B, T] over sequences and a few neighbouring positions, where the weight is 1.
 * @type {(losses: Float32Array, weights: Float32Array) => number[]}
 */
export const byPosition = (losses, weights) => {
  const { tested, bin } = lengths;
  const bins = Array.from({ length: tested / bin }, () => ({ sum: 0, count: 0 }));
  for (let i = 0; i < losses.length; ++i) {
    const at = bins[Math.floor((i % tested) / bin)];
    at.sum += losses[i];
    at.count += weights[i];
  }
  return bins.map(({ sum, count }) => sum / count);
};

/**
 * A causal model of a language in which the next token depends on the second and the fourth before it. It is trained on short
 * sequences and tested on longer ones: the loss by position, as trained and, with RoPE, with each scaling.
 * @type {(rw: Training, encoding: keyof typeof positions, base: number, seed: number) => { step(): void,
 *   look(): Partial<Record<keyof typeof scalings, number[]>>, dispose(): void }}
 */
export const lengthModel = (rw, encoding, base, seed) => {
  const language = (tokens, stream) => skipLanguageTask({ seed: 4, tokens, stream });
  const trained = language(lengths.trained, 2 * seed);
  const held = language(lengths.tested, 2 * seed + 1).batch(32);
  const table = { maxPositions: lengths.tested };
  const more = { rope: { base }, learned: table, binary: table, m3: table, m4: table };
  const trainer = rw.trainer({
    layers: 2,
    modelDim: 32,
    heads: 4,
    vocab: trained.vocab,
    context: lengths.trained,
    position: { ...positions[encoding], ...more[encoding] },
    optimizer: { ...optimizer, learningRate: 5e-3, totalSteps: lengthSteps },
    seed,
  });
  const lossWith = (scaling) => {
    const options = encoding === 'rope' ? { position: { scaling } } : {};
    return byPosition(trainer.evaluate(held, options).losses, held.weights);
  };
  const read = Object.entries(scalings).filter(([name]) => name === 'asTrained' || encoding === 'rope');
  return {
    step: () => trainer.step(trained.batch(32)),
    look: () => Object.fromEntries(read.map(([name, scaling]) => [name, lossWith(scaling)])),
    dispose: () => trainer.dispose(),
  };
};

/** Linear attention without positions, with sines, with RoPE in three places; and softmax with RoPE. */
export const linearForms = {
  none: { attention: { linear: 'elu1' }, position: positions.none },
  sinusoidal: { attention: { linear: 'elu1' }, position: positions.sinusoidal },
  numerator: { attention: { linear: 'elu1', ropeForm: 'numerator' }, position: positions.rope },
  both: { attention: { linear: 'elu1', ropeForm: 'both' }, position: positions.rope },
  cosine: { attention: { linear: 'cosine' }, position: positions.rope },
  softmax: { position: positions.rope },
};

/**
 * A causal model of the language of `lengthModel`, with a form of linear attention: its loss.
 * @type {(rw: Training, form: keyof typeof linearForms, seed: number) =>
 *   { step(): void, look(): number, dispose(): void }}
 */
export const linearModel = (rw, form, seed) => {
  const [trained, seen] = [0, 1].map((more) => skipLanguageTask({ seed: 4, stream: 2 * seed + more }));
  const trainer = rw.trainer({
    layers: 2,
    modelDim: 32,
    heads: 2,
    vocab: trained.vocab,
    context: trained.tokens,
    ...linearForms[form],
    optimizer: { ...optimizer, learningRate: 5e-3, totalSteps: linearSteps },
    seed,
  });
  const held = seen.batch(32);
  return {
    step: () => trainer.step(trained.batch(32)),
    look: () => trainer.evaluate(held).loss,
    dispose: () => trainer.dispose(),
  };
};

/**
 * Trains a model for so many steps. Gives what it is like before the first, and after every few.
 * @type {<L>(model: { step(): void, look(): L, dispose(): void }, steps: number, every?: number) => L[]}
 */
export const train = (model, steps, every = lookEvery) => {
  const looks = [model.look()];
  for (let step = 1; step <= steps; ++step) {
    model.step();
    if (step % every === 0) looks.push(model.look());
  }
  model.dispose();
  return looks;
};
