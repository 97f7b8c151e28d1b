// npm run soak [-- CALLS [NAME]]: every call of the package (tests/ts/support/calls.mjs) CALLS times (10,000 unless told),
// a tenth as often with an argument that nothing takes, then lost instances; or the calls whose names begin with NAME. What
// they make is disposed of. Once warm, nothing may grow: the heap, the bytes in use, the objects.
// npm run soak -- growth [PATH ...]: all vectors and calls while the heap grows within every call (growth.mjs).
// npm run soak -- pools [COUNT]: 1000 instances with threads that are lost (pools.mjs).
// npm run soak -- valgrind [FILTER]: the C++ tests under valgrind (tests/campaigns/valgrind).
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { load } from 'ropewalk';
import { errorNames } from '../ts/support/bad-values.mjs';
import { attempt, makeCalls } from '../ts/support/calls.mjs';
import { atEndOfStack, isEndOfStack } from '../ts/support/dive.mjs';
import { root } from '../ts/support/node.mjs';
import { growth } from './growth.mjs';
import { pools } from './pools.mjs';

const [mode, ...rest] = process.argv.slice(2);
if (mode === 'valgrind') {
  const script = [join(root, 'tests/campaigns/valgrind'), ...rest];
  process.exit(spawnSync('bash', script, { stdio: 'inherit' }).status);
}
const modes = { growth: () => growth(rest), pools: () => pools(Number(rest[0] ?? 1000)) };
if (mode in modes) {
  const faults = await modes[mode]();
  for (const fault of faults) console.error(fault);
  console.log(`${mode}: ${faults.length} faults`);
  process.exit(faults.length === 0 ? 0 : 1);
}

const calls = Number(mode ?? 1e4);
const [prefix = ''] = rest;
const all = await makeCalls();
const instances = [all.rw, all.trainers];
const faults = [];

const memory = () => instances.flatMap((each) => Object.values((({ peak, ...rest }) => rest)(each.memory())));
const residentMiB = () => Math.round(process.memoryUsage.rss() / 2 ** 20);

/** Runs `call` `count` times after a tenth as many to get warm. Tells what has grown since. */
async function soak(name, count, call) {
  for (let i = 0; i < Math.max(count / 10, 30); ++i) await call();
  globalThis.gc?.();
  const before = memory();
  const start = performance.now();
  for (let i = 0; i < count; ++i) await call();
  const microseconds = ((performance.now() - start) / count) * 1000;
  globalThis.gc?.();
  const grown = memory().some((value, i) => value > before[i]);
  if (grown) faults.push(`${name}: ${before} to ${memory()}`);
  const row = [count, microseconds.toFixed(1), `${residentMiB()} MiB`, grown ? 'GREW' : 'same'];
  console.log(`${name.padEnd(42)}${row.map((cell) => String(cell).padStart(12)).join('')}`);
}

console.log(`${'call'.padEnd(42)}${['calls', 'µs', 'resident', 'memory'].map((cell) => cell.padStart(12)).join('')}`);
// load() of each instance compiles nothing anew, but is slow; a file that is not there is not opened.
const rare = (name) => (name === 'load' ? 100 : /^(cached|storedFiles)$/.test(name) ? 1000 : calls);
for (const name of Object.keys(all.calls).filter((each) => each.startsWith(prefix))) {
  const count = Math.min(calls, rare(name));
  await soak(name, count, async () => {
    const { error } = await attempt(all, name);
    if (error !== undefined && !errorNames.has(error.name)) throw error;
  });
  if (all.calls[name][1]().length === 0) continue;
  await soak(`${name}, refused`, Math.ceil(count / 10), async () => {
    const { error } = await attempt(all, name, undefined, (_target, args) => [Symbol('no'), ...args.slice(1)]);
    if (error === undefined) faults.push(`${name}: took a symbol`);
  });
}

/** Loses an instance by a call at the end of the stack. Tells whether one was lost: a call may also find the stack too short. */
async function lose() {
  const rw = await load();
  const plan = rw.rope({ headDim: 512 });
  const x = new Float32Array(512);
  for (let frames = 0; frames < 1000; frames += 3) {
    try {
      atEndOfStack(frames, () => plan.rotate(x));
      return false;
    } catch (error) {
      if (error.name === 'InstanceLostError') return true;
      if (!isEndOfStack(error)) throw error;
    }
  }
  throw new Error('no call came through');
}

if ('lost instances'.startsWith(prefix)) {
  let lost = 0;
  const count = Math.max(1, Math.min(1000, calls / 10));
  await soak('lost instances', count, async () => {
    lost += await lose();
  });
  console.log(`${lost} lost`);
  if (lost === 0) faults.push('no instance was lost');
}
for (const fault of faults) console.error(fault);
console.log(faults.length === 0 ? 'nothing grew' : `${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
