// The needles under the title. Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import type { Vector } from './rope-pair';

/** For each of the first positions, where the arrow (1, 0) of each pair of a small head then points. */
export function directions(core: Ropewalk, positions: number): Vector[][] {
  const plan = core.rope({ headDim: 24 });
  try {
    const { cos, sin } = plan.tables({ length: positions });
    const row = (p: number): Vector[] =>
      Array.from(plan.inverseFrequencies, (_, i) => {
        const at = p * plan.inverseFrequencies.length + i;
        return [cos[at] ?? 1, sin[at] ?? 0];
      });
    return Array.from({ length: positions }, (_, p) => row(p));
  } finally {
    plan.dispose();
  }
}
