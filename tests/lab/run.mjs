// The experiments: npm run lab [-- A B ...]. Prints curves as tables, and what must hold of the means of three seeds, in E
// of one. Exit code 1: something does not. `npm run lab -- record [order ...]` writes the curves that
// figures of the page show behind their own, `npm run lab -- novel` the text that the page's lab learns.
import { failures } from './experiment.mjs';
import { induction } from './induction.mjs';
import { length } from './length.mjs';
import { linear, linearText } from './linear.mjs';
import { writeNovel } from './novel.mjs';
import { order, reverse } from './order.mjs';
import { record } from './record.mjs';
import { characters } from './text.mjs';

const seeds = [0, 1, 2];
const experiments = {
  A: () => [order(seeds), reverse(seeds)],
  B: () => induction(seeds),
  C: () => length(seeds),
  D: () => [linear(seeds), linearText(seeds)],
  E: () => characters(seeds.slice(0, 1)),
};

const chosen = process.argv.slice(2);
if (chosen[0] === 'record') {
  record(chosen.slice(1));
  process.exit();
}
if (chosen[0] === 'novel') {
  writeNovel();
  process.exit();
}
for (const name of chosen) {
  if (Object.hasOwn(experiments, name)) continue;
  console.error(`${name} is no experiment; there are ${Object.keys(experiments).join(', ')}`);
  process.exit(2);
}
for (const [name, run] of Object.entries(experiments)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const [start, before] = [performance.now(), process.cpuUsage()];
  run();
  const { user, system } = process.cpuUsage(before);
  const seconds = [(user + system) / 1e6, (performance.now() - start) / 1000].map((each) => each.toFixed(0));
  console.log(`\n${name} took ${seconds[0]} s of processor time, ${seconds[1]} s in all`);
}
if (failures().length > 0) {
  console.error(`\n${failures().length} do not hold:\n${failures().join('\n')}`);
  process.exitCode = 1;
}
