// B. Induction: after one period, the next token is the one that followed the same token before.
import { inductionTask } from 'ropewalk/training';
import { encodings, holds, meanAttention, overSeeds, printTable, train } from './experiment.mjs';

const steps = 500;
const looks = 10;

// The best head of a layer.
function headScore({ data, shape }, layer, distanceOf) {
  const size = data.length / shape[0];
  return Math.max(...meanAttention(data.subarray(layer * size, (layer + 1) * size), shape.slice(1), distanceOf));
}

function run(name, layers, seed) {
  const seen = inductionTask({ seed, stream: 1 }).batch(64);
  const shares = [];
  const look = (trainer) => shares.push(trainer.evaluate(seen).accuracy);
  const model = { layers, modelDim: 32, heads: 2, position: encodings[name], seed };
  const trainer = train({ ...model, task: inductionTask({ seed }), steps, lr: 3e-3, each: steps / looks, look });
  const some = { data: seen.ids.data.subarray(0, 16 * 48), shape: [16, 48] };
  const maps = trainer.capture(some);
  trainer.dispose();
  const period = (b) => some.data.indexOf(some.data[b * 48], b * 48 + 1) - b * 48;
  const previous = headScore(maps, 0, (_, t) => (t > 0 ? 1 : undefined));
  // Induction looks at the token after the same token before.
  const induction = headScore(maps, layers - 1, (b, t) => (t >= period(b) ? period(b) - 1 : undefined));
  return [...shares, previous, induction];
}

export function induction(seeds) {
  const kinds = {
    RoPE: ['RoPE', 2],
    T5: ['T5', 2],
    Shaw: ['Shaw', 2],
    none: ['none', 2],
    'RoPE, one layer': ['RoPE', 1],
  };
  const rows = Object.fromEntries(
    Object.entries(kinds).map(([title, [name, layers]]) => [
      title,
      overSeeds(seeds, (seed) => run(name, layers, seed)),
    ]),
  );
  const columns = Array.from({ length: looks + 1 }, (_, i) => (i * steps) / looks);
  printTable(
    'B. Share of repeated tokens, by steps; scores of the best heads',
    [...columns, 'previous', 'induce'],
    rows,
  );
  const last = (name) => rows[name][looks];
  for (const name of ['RoPE', 'T5', 'Shaw']) holds(`${name} > 0.95: ${last(name).toFixed(3)}`, last(name) > 0.95);
  holds(`none < 0.5: ${last('none').toFixed(3)}`, last('none') < 0.5);
  holds(`one layer < 0.25: ${last('RoPE, one layer').toFixed(3)}`, last('RoPE, one layer') < 0.25);
  for (const name of ['RoPE', 'Shaw']) {
    const [previous, induce] = rows[name].slice(-2);
    holds(
      `both head scores of ${name} > 0.4: ${previous.toFixed(2)}, ${induce.toFixed(2)}`,
      previous > 0.4 && induce > 0.4,
    );
  }
}
