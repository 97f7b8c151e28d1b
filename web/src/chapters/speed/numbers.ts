// How fast this device is: each work in each way, in turns. Knows nothing of the DOM.
import type { Ropewalk } from 'ropewalk';
import { median } from './median';
import { rotations, sinusoids, time } from './programs';

const makers = { rotate: rotations, sinusoid: sinusoids };
const works = ['rotate', 'sinusoid'] as const;
export type Work = (typeof works)[number];

export const wayNames = ['core', 'script', 'copy'] as const;
export type Way = (typeof wayNames)[number];

/** Milliseconds, medians. */
export interface Speed extends Readonly<Record<Way, number>> {
  readonly work: Work;
}

export function measureSpeed(
  core: Ropewalk,
  { rounds }: { readonly rounds: number },
  tell: (share: number) => void,
): Speed[] {
  const all = works.map((work) => ({ work, ways: makers[work](core), core: [], script: [], copy: [] }) as Measured);
  for (let round = 0; round < rounds; ++round) {
    for (const [i, each] of all.entries()) {
      for (const way of wayNames) each[way].push(time(each.ways[way]));
      tell((round * works.length + i + 1) / (rounds * works.length));
    }
  }
  for (const { ways } of all) ways.dispose();
  return all.map(({ work, core, script, copy }) => ({
    work,
    core: median(core),
    script: median(script),
    copy: median(copy),
  }));
}

type Measured = Record<Way, number[]> & { readonly work: Work; readonly ways: ReturnType<typeof rotations> };
