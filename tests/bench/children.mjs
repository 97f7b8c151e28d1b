// Measurements that need a process of their own: time to a first result, and peak memory.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { titles } from './firsts.mjs';
import { summary } from './measure.mjs';

const program = fileURLToPath(new URL('child.mjs', import.meta.url));
const execute = promisify(execFile);

async function child(...args) {
  const { stdout } = await execute(process.execPath, [...process.execArgv, program, ...args], { timeout: 300_000 });
  return Number(stdout.trim().split('\n').at(-1));
}

/** Milliseconds from import to first result, alternating between libraries: { ropewalk: summary, ort: ... }. */
export async function startup(rounds) {
  const times = Object.fromEntries(Object.keys(titles).map((name) => [name, []]));
  for (let round = 0; round < rounds; ++round) {
    for (const name of Object.keys(titles)) times[name].push(await child('first', name));
  }
  return Object.fromEntries(
    Object.entries(times).map(([name, list]) => [name, { title: titles[name], ...summary(list) }]),
  );
}

/** Bytes of all wasm memories after running a work once, by contender; null if it cannot run the work. */
export async function heaps(work, ids) {
  const entries = [];
  for (const id of ids) entries.push([id, await child('heap', id, work).catch(() => Number.NaN)]);
  return Object.fromEntries(entries.map(([id, bytes]) => [id, Number.isNaN(bytes) ? null : bytes]));
}
