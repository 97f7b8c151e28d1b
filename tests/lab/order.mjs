// A. Order matters: a bidirectional layer names the previous token, or reverses the sequence.
import { copyTask, reverseTask } from 'ropewalk/training';
import { encodings, holds, overSeeds, printTable, train } from './experiment.mjs';

const model = { layers: 1, modelDim: 32, heads: 2, causal: false, lr: 5e-3 };
const looks = 6;

function curve(make, name, seed, steps) {
  const seen = make({ seed, stream: 1 }).batch(64);
  const shares = [];
  const look = (trainer) => shares.push(trainer.evaluate(seen).accuracy);
  const position = encodings[name];
  train({ ...model, task: make({ seed }), steps, each: steps / looks, look, position, seed }).dispose();
  return shares;
}

// How far logits of a model without positions are from those of the same ids in another order, put back.
function unevenness(seed) {
  const trainer = train({ ...model, task: copyTask({ seed }), steps: 60, position: encodings.none, seed });
  const ids = copyTask({ seed, stream: 2 }).batch(1).ids.data;
  const order = Int32Array.from(ids, (_, t) => (t * 7) % ids.length);
  const targets = ids;
  const logits = (list) => trainer.evaluate({ ids: list, targets }, { logits: true }).logits;
  const [plain, moved] = [logits(ids), logits(order.map((t) => ids[t]))];
  trainer.dispose();
  return Math.max(
    ...[...order].flatMap((t, i) =>
      Array.from({ length: 16 }, (_, v) => Math.abs(moved[i * 16 + v] - plain[t * 16 + v])),
    ),
  );
}

/** `names`: encodings of the first part, all by default. */
export function order(
  seeds,
  { names = ['none', 'ALiBi', 'sinusoidal', 'learned', 'RoPE', 'T5', 'Shaw'], steps = 300 } = {},
) {
  const columns = Array.from({ length: looks + 1 }, (_, i) => (i * steps) / looks);
  const previous = Object.fromEntries(
    names.map((name) => [name, overSeeds(seeds, (seed) => curve(copyTask, name, seed, steps))]),
  );
  printTable('A. Share of previous tokens named, by steps', columns, previous);
  for (const name of names) {
    const share = previous[name].at(-1);
    if (name === 'none') holds(`none < 0.2: ${share.toFixed(3)}`, share < 0.2);
    else if (name !== 'ALiBi') holds(`${name} > 0.85: ${share.toFixed(3)}`, share > 0.85);
  }
  const uneven = Math.max(...seeds.map(unevenness));
  holds(`none is equivariant under permutation, within ${uneven.toExponential(1)}`, uneven < 1e-5);
  return previous;
}

/** The second part: absolute against relative encodings. */
export function reverse(seeds) {
  const steps = 300;
  const names = ['learned', 'sinusoidal', 'RoPE', 'T5', 'Shaw', 'ALiBi'];
  const rows = Object.fromEntries(
    names.map((name) => [name, overSeeds(seeds, (seed) => curve(reverseTask, name, seed, steps))]),
  );
  printTable('A. Share of a reversed sequence, by steps', [0, 50, 100, 150, 200, 250, 300], rows);
  for (const name of names) {
    const share = rows[name].at(-1);
    const absolute = name === 'learned' || name === 'sinusoidal';
    holds(
      `reversing, ${name} ${absolute ? '> 0.85' : '< 0.3'}: ${share.toFixed(3)}`,
      absolute ? share > 0.85 : share < 0.3,
    );
  }
}
