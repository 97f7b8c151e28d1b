// Measures works one after the other, with all contenders or only those that a target compares.
import { measure } from './measure.mjs';
import { compared } from './targets.mjs';

/**
 * Calls `done(work, result)` after each work. With `targets`, measures only what the targets compare, in a third of the
 * time.
 */
export async function measureAll(works, contenders, { rounds, targets }, done) {
  for (const work of works) {
    if (!targets) {
      done(work, await measure(work, contenders, { rounds }));
      continue;
    }
    const { contenders: named, paths } = compared(work.id);
    const chosen = contenders.filter(({ id }) => named.has(id));
    if (chosen.length > 0) done(work, await measure(work, chosen, { rounds, paths }));
  }
}
