// The needles under the title. Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';

/** For each of the first positions, by how many radians each pair of a small head is turned there. */
export function turns(core: Ropewalk, positions: number): number[][] {
  // A small base: with that of large models, most needles would not stir within a title.
  const plan = core.rope({ headDim: 24, base: 100 });
  const frequencies = Array.from(plan.inverseFrequencies);
  plan.dispose();
  return Array.from({ length: positions }, (_, p) => frequencies.map((frequency) => p * frequency));
}
