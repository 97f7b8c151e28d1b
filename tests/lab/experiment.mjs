// What experiments have in common: how a model is trained, means over seeds, tables of curves, and what must hold.
import { load } from 'ropewalk/training';

export const rw = await load();

/** The encodings by their short names, with the settings of small models. */
export const encodings = {
  none: { encoding: 'none' },
  sinusoidal: { encoding: 'sinusoidal', scale: 0.5 },
  learned: { encoding: 'learned' },
  RoPE: { encoding: 'rope' },
  ALiBi: { encoding: 'alibi' },
  KERPLE: { encoding: 'kerple' },
  T5: { encoding: 't5', numBuckets: 16, maxDistance: 32 },
  Shaw: { encoding: 'shaw', maxDistance: 16 },
};

export const mean = (numbers) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;

/**
 * Trains a model on a task for so many steps of batches of 32. `look(trainer, step)` is called before the first step, after
 * every `each` steps and after the last. Gives the trainer; the caller disposes of it.
 */
export function train({ task, steps, lr, batch = 32, optimizer = {}, each = steps, look = () => {}, ...model }) {
  const trainer = rw.trainer({
    vocab: task.vocab,
    context: task.tokens,
    ...model,
    optimizer: { learningRate: lr, betas: [0.9, 0.98], warmup: 50, totalSteps: steps, ...optimizer },
  });
  look(trainer, 0);
  for (let s = 1; s <= steps; ++s) {
    trainer.step(task.batch(batch));
    if (s % each === 0 || s === steps) look(trainer, s);
  }
  return trainer;
}

/**
 * Mean attention of each head to one earlier token of each query, of maps [B, H, T, T]. `distanceOf(b, t)` says how many
 * places before it that is; undefined leaves the query out.
 */
export function meanAttention(maps, [batch, heads, tokens], distanceOf) {
  return Array.from({ length: heads }, (_, h) => {
    let [sum, count] = [0, 0];
    for (let b = 0; b < batch; ++b) {
      for (let t = 0; t < tokens; ++t) {
        const distance = distanceOf(b, t);
        if (distance === undefined || distance > t) continue;
        sum += maps[((b * heads + h) * tokens + t) * tokens + t - distance];
        count += 1;
      }
    }
    return sum / count;
  });
}

/** Prints rows of numbers under a title; names to lists, one number for each column. */
export function printTable(title, columns, rows, digits = 2) {
  const width = Math.max(...Object.keys(rows).map((name) => name.length)) + 2;
  const cell = (value) => (typeof value === 'number' ? value.toFixed(digits) : String(value)).padStart(9);
  console.log(`\n${title}\n${''.padEnd(width)}${columns.map(cell).join('')}`);
  for (const [name, numbers] of Object.entries(rows)) console.log(`${name.padEnd(width)}${numbers.map(cell).join('')}`);
}

const broken = [];

/** Says whether something holds. */
export function holds(what, isTrue) {
  console.log(`${isTrue ? 'holds' : 'FAILS'}  ${what}`);
  if (!isTrue) broken.push(what);
}

/** What did not hold so far. */
export const failures = () => broken;

/** The mean over seeds of the numbers that a run gives, place by place. */
export function overSeeds(seeds, run) {
  const all = seeds.map(run);
  return all[0].map((_, i) => mean(all.map((numbers) => numbers[i])));
}
