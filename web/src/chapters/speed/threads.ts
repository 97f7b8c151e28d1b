// What several threads gain on this device: layers with one thread, two and more, in turns. Knows nothing of the DOM.
import type { ThreadedRopewalk } from 'ropewalk/threads';
import { threadOfPage } from '../../work/own-threads';
import { median } from './median';
import { layerPass, time } from './programs';

/** Tokens of one pass. */
export const lengths = [512, 1] as const;
const most = 8;

export interface ThreadsSpeed {
  /** Where there is one thread: why. */
  readonly why: string | undefined;
  readonly threads: readonly number[];
  /** For each length, for each number of threads: milliseconds, medians. */
  readonly times: readonly (readonly number[])[];
  /** Whether all threads gave the same bits. */
  readonly isEqual: boolean;
}

const sameBits = (a: Float32Array, b: Float32Array): boolean => {
  const [x, y] = [a, b].map(({ buffer }) => new Uint32Array(buffer));
  return x?.every((bits, i) => bits === y?.[i]) ?? false;
};

function measured(all: readonly ThreadedRopewalk[], rounds: number, tell: (share: number) => void) {
  const passes = lengths.map((tokens) => all.map((rw) => layerPass(rw, tokens)));
  const times = lengths.map(() => all.map((): number[] => []));
  for (let round = 0; round < rounds; ++round) {
    for (const [i, each] of passes.entries()) {
      for (const [j, { run }] of each.entries()) times[i]?.[j]?.push(time(run));
      tell((round * lengths.length + i + 1) / (rounds * lengths.length));
    }
  }
  const isEqual = passes.every(([one, ...others]) => {
    const expected = one?.result();
    return expected !== undefined && others.every((other) => sameBits(expected, other.result()));
  });
  return { times: times.map((of) => of.map(median)), isEqual };
}

export async function measureThreads(
  _: unknown,
  { rounds }: { readonly rounds: number },
  tell: (share: number) => void,
): Promise<ThreadsSpeed> {
  const { load } = await import('ropewalk/threads');
  const wanted = [2, 4, most].filter((threads) => threads === 2 || threads <= navigator.hardwareConcurrency);
  const all = [await load({ threads: 1 })];
  for (const threads of wanted) {
    const rw = await load({ threads, worker: threadOfPage });
    const { why } = rw.info();
    if (why !== undefined) return { why, threads: [], times: [], isEqual: false };
    all.push(rw);
  }
  return { why: undefined, threads: [1, ...wanted], ...measured(all, rounds, tell) };
}
