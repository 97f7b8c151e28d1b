// E. Text: the characters of this repository's own documents.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { charactersTask } from 'ropewalk/training';
import { encodings, holds, overSeeds, printTable, train } from './experiment.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const list = (folder) => readdirSync(join(root, folder)).map((name) => join(folder, name));
const files = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...list('docs'), ...list('docs/errors')];
const documents = files
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(join(root, name), 'utf8'))
  .join('\n');
// The last tenth is spread over all documents: one of each ten pieces.
const pieces = documents.match(/[\s\S]{1,500}/g);
const whole = [...pieces.filter((_, i) => i % 10 !== 9), ...pieces.filter((_, i) => i % 10 === 9)].join('');

const share = 0.9;
const options = { tokens: 64, vocab: 64 };

/** The text to train on. */
export const text = (seed) => charactersTask(whole, { ...options, seed, part: [0, share] });

/** A batch of the rest. */
export const heldOut = (seed) => charactersTask(whole, { ...options, seed, stream: 1, part: [share, 1] }).batch(64);

const steps = 600;
const looks = 6;

function curve(name, seed) {
  const seen = heldOut(seed);
  const losses = [];
  const look = (trainer) => losses.push(trainer.evaluate(seen).loss);
  const model = { layers: 2, modelDim: 64, heads: 4, hiddenDim: 256, position: encodings[name], seed };
  const optimizer = { weightDecay: 0.05, warmup: 100 };
  train({ ...model, task: text(seed), steps, lr: 4e-3, batch: 16, each: steps / looks, look, optimizer }).dispose();
  return losses;
}

export function characters(seeds) {
  const rows = Object.fromEntries(
    ['RoPE', 'ALiBi', 'none'].map((name) => [name, overSeeds(seeds, (seed) => curve(name, seed))]),
  );
  const columns = Array.from({ length: looks + 1 }, (_, i) => (i * steps) / looks);
  printTable(`E. Loss of ${whole.length} characters, held out, by steps`, columns, rows);
  const last = (name) => rows[name].at(-1);
  holds('RoPE < ALiBi < none', last('RoPE') < last('ALiBi') && last('ALiBi') < last('none'));
}
