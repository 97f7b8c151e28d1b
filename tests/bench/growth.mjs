// How cost grows: times of the causal core by tokens, head size and heads, and the memory by tokens.
import { heaps } from './children.mjs';
import { measure } from './measure.mjs';
import { growth } from './works/index.mjs';

const ids = ['relaxed', 'simd', 'ort'];
const longestOfPeers = 4096; // beyond, the scores of all heads pass what a wasm memory holds

/** [{ axis, value, time: { id: ms or null }, bytes: { id: n or null } }] */
export async function measureGrowth(contenders, rounds, say) {
  const rows = [];
  for (const work of growth) {
    const { axis, value } = work.growth;
    const able = ids.filter((id) => id !== 'ort' || axis !== 'T' || value <= longestOfPeers);
    const result = await measure(
      // The other tables check the numbers; the reference of so many tokens would take longer than the work.
      { ...work, reference: () => ({ indices: [], values: [] }) },
      contenders.filter(({ id }) => able.includes(id)),
      { rounds: Math.min(rounds, 3), paths: ['op'] },
    );
    const time = Object.fromEntries(ids.map((id) => [id, result[id]?.op?.median ?? null]));
    const bytes = axis === 'T' ? await heaps(work.id, able) : undefined;
    say(`${axis} ${value}: ${JSON.stringify({ time, bytes })}`);
    rows.push({ axis, value, time, bytes });
  }
  return rows;
}
