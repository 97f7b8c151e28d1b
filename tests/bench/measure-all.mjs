// Works one after the other, with all contenders or with those that a target names.
import { measure } from './measure.mjs';
import { compared } from './targets.mjs';

/**
 * Calls `done(work, result)` after each work. `targets`: only what the targets compare, which takes a third of the time.
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
