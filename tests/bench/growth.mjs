// Measures how the time of each kind of work grows with tokens, head size and heads, and the memory with tokens.
import { heaps } from './children.mjs';
import { measure } from './measure.mjs';
import { growth } from './works/index.mjs';

const ids = ['relaxed', 'simd', 'ort'];
// Beyond, the scores of all heads pass what a wasm memory holds.
const longestOfPeers = { 'attention, full': 4096, 'attention, causal': 4096 };

const isAble = (id, { kind, axis, value }) =>
  id !== 'ort' || axis !== 'T' || value <= (longestOfPeers[kind] ?? Infinity);

/** Gives [{ kind, axis, value, time: { id: ms or null }, bytes: { id: n or null } }] for the wanted works. */
export async function measureGrowth(contenders, { rounds, wanted }, say) {
  const rows = [];
  for (const work of growth.filter(({ id }) => wanted(id))) {
    const able = contenders.filter(({ id }) => ids.includes(id) && isAble(id, work.growth));
    const result = await measure(
      // The other tables check the numbers; the reference of so many tokens would take longer than the work.
      { ...work, reference: () => ({ indices: [], values: [] }) },
      able,
      { rounds: Math.min(rounds, 3), paths: ['op'] },
    );
    const time = Object.fromEntries(ids.map((id) => [id, result[id]?.op?.median ?? null]));
    const possible = able.filter(({ id }) => time[id] !== null).map(({ id }) => id);
    const bytes = work.growth.axis === 'T' ? await heaps(work.id, possible) : undefined;
    say(`${work.id}: ${JSON.stringify({ time, bytes })}`);
    rows.push({ ...work.growth, time, bytes });
  }
  return rows;
}
