// Describes the machine and the software of a run.
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform } from 'node:os';

function memoryGiB() {
  const total = /MemTotal:\s+(\d+) kB/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
  return total && Math.round(total / 2 ** 20);
}

export function machine() {
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model,
    threads: availableParallelism(),
    system: `${platform()} ${arch()}`,
    memoryGiB: platform() === 'linux' ? memoryGiB() : undefined,
    node: process.version,
    v8: process.versions.v8,
  };
}

export const machineLine = ({ date, processor, threads, system, memoryGiB, runtime }) =>
  `${date}, ${runtime}, ${processor}, ${threads} threads, ${system}${memoryGiB ? `, ${memoryGiB} GiB` : ''}`;
