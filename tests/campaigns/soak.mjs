// npm run soak [-- CALLS [NAME]]: every call of the package (tests/ts/support/calls.mjs) CALLS times (10,000 unless told),
// a tenth as often with an argument that nothing takes, then lost instances; or the calls whose names begin with NAME. What
// they make is disposed of. Once warm, nothing may grow: the heap, the bytes in use, the objects.
// npm run soak -- browsers [CALLS [NAME]]: the same in pages of Chromium and Firefox, 1000 times unless told.
// npm run soak -- growth [PATH ...]: all vectors and calls while the heap grows within every call (growth.mjs).
// npm run soak -- pools [COUNT]: 1000 instances with threads that are lost (pools.mjs).
// npm run soak -- valgrind [FILTER]: the C++ tests under valgrind (tests/campaigns/valgrind).
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../ts/support/node.mjs';
import { growth } from './growth.mjs';
import { pools } from './pools.mjs';
import { browsers } from './soak-browsers.mjs';
import { soakCalls } from './soak-calls.mjs';

const [mode, ...rest] = process.argv.slice(2);
if (mode === 'valgrind') {
  const script = [join(root, 'tests/campaigns/valgrind'), ...rest];
  process.exit(spawnSync('bash', script, { stdio: 'inherit' }).status);
}
const residentMiB = () => `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`;
const modes = {
  growth: () => growth(rest),
  pools: () => pools(Number(rest[0] ?? 1000)),
  browsers: () => browsers(Number(rest[0] ?? 1000), rest[1] ?? ''),
};
const inNode = () => soakCalls(Number(mode ?? 1e4), rest[0] ?? '', console.log, residentMiB);
const faults = await (modes[mode] ?? inNode)();
for (const fault of faults) console.error(fault);
console.log(
  mode in modes ? `${mode}: ${faults.length} faults` : faults.length === 0 ? 'nothing grew' : `${faults.length} faults`,
);
process.exit(faults.length === 0 ? 0 : 1);
