// The page's side of the playground's worker: which model there is, for all figures. It outlives the figures, which are
// made anew for each language.

import { playground } from 'virtual:worker';
import type { Memory } from 'ropewalk';
import type { Remote } from 'ropewalk/worker';
import { pause } from '../../work/pause';
import type { Bench, ModelFacts } from './bench';
import type { ModelFiles } from './files';
import type { Origin, Source } from './source';

export interface Ready {
  readonly source: Source;
  readonly origin: Origin;
  /** Another one for each model that was loaded. */
  readonly number: number;
  readonly facts: ModelFacts;
}

// Fetched with the first model.
const origins = () => import('./origins');

let bench: Promise<Remote<Bench>> | undefined;

async function start(): Promise<Remote<Bench>> {
  const { wrap } = await import('ropewalk/worker');
  const remote = wrap<Bench>(new Worker(playground, { type: 'module' }));
  // Asked before anything refers to it, so that nothing refers to one that does not start.
  await remote.memory();
  return remote;
}

/** The worker, which starts when it is asked for first. */
export function remoteBench(): Promise<Remote<Bench>> {
  bench ??= start().catch((error: unknown) => {
    // The next one who asks may have a network again.
    bench = undefined;
    throw error;
  });
  return bench;
}

const listeners = new Set<() => void>();
let ready: Ready | undefined;
let memory: Memory | undefined;
let failure: Error | undefined;
let isCancelled = false;
let loading: { readonly source: Source; readonly controller: AbortController } | undefined;
let share = 0;
let made = 0;

function tell(): void {
  for (const listener of listeners) listener();
}

async function measure(): Promise<void> {
  memory = await bench?.then((remote) => remote.memory()).catch(() => undefined);
}

// Milliseconds in which what was told to end has to end.
const patience = 5000;

/**
 * Ends the worker unless the work, which was told to end, ends in time: what waits for it then fails, and the next one
 * who asks gets another.
 */
export async function endsInTime(work: Promise<unknown>): Promise<void> {
  const own = bench;
  const over = () => false;
  const isLate = await Promise.race([work.then(over, over), pause(patience).then(() => true)]);
  if (!isLate || own === undefined || bench !== own) return;
  [bench, ready, memory] = [undefined, undefined, undefined];
  failure = new Error('the worker did not answer and was ended');
  tell();
  await (await own).dispose();
}

// One load at a time: a new one ends the one before and begins when its memory is free.
let last: Promise<void> = Promise.resolve();

function endLoading(): void {
  if (loading === undefined) return;
  loading.controller.abort();
  void endsInTime(last);
}

async function load(source: Source, work: (own: AbortController, remote: Remote<Bench>) => Promise<ModelFacts>) {
  endLoading();
  const controller = new AbortController();
  loading = { source, controller };
  [ready, failure, share, isCancelled] = [undefined, undefined, 0, false];
  tell();
  const before = last;
  const run = async (): Promise<void> => {
    await before;
    try {
      controller.signal.throwIfAborted();
      const remote = await remoteBench();
      const facts = await work(controller, remote);
      controller.signal.throwIfAborted(); // a small file may be loaded before its end is heard of
      const origin = (await origins()).originOf(source);
      made += 1;
      if (loading?.controller === controller) ready = { source, origin, number: made, facts };
    } catch (error) {
      if (!controller.signal.aborted) failure = error instanceof Error ? error : new Error(String(error));
      else await bench?.then((remote) => remote.close()).catch(() => undefined);
    }
    await measure();
    if (loading?.controller === controller) loading = undefined;
    tell();
  };
  last = run();
  await last;
}

export const session = {
  get ready(): Ready | undefined {
    return ready;
  },
  get failure(): Error | undefined {
    return failure;
  },
  /** Whether the last load was ended by the reader. */
  get isCancelled(): boolean {
    return isCancelled;
  },
  get memory(): Memory | undefined {
    return memory;
  },
  /** What is on its way, and how much of it has come; not a load that was told to end. */
  get loading(): { readonly source: Source; readonly share: number } | undefined {
    return loading && !loading.controller.signal.aborted ? { source: loading.source, share } : undefined;
  },
  /** Calls back after every change. Gives a function that ends it. */
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  remember(now: Memory): void {
    memory = now;
    tell();
  },
  tiny(kind: 'decoder' | 'encoder', seed: number): Promise<void> {
    return load({ kind, seed }, (_, remote) => remote.tiny(kind, seed));
  },
  /** The reader's files, or those of the trained model. */
  open(files?: ModelFiles): Promise<void> {
    return load({ kind: files ? 'files' : 'trained' }, async ({ signal }, remote) => {
      const onProgress = ({ loaded, total }: { loaded: number; total: number }): void => {
        share = total > 0 ? loaded / total : 0;
        tell();
      };
      return remote.open(files ?? (await (await origins()).trainedFiles(signal)), { signal, onProgress });
    });
  },
  cancel(): void {
    isCancelled = loading !== undefined;
    endLoading();
  },
  close(): void {
    endLoading();
    [ready, failure, isCancelled] = [undefined, undefined, false];
    const before = last;
    const free = async (): Promise<void> => {
      await before;
      // Without a worker there is nothing to free.
      await (await bench)?.close();
      await measure();
      tell();
    };
    last = free().catch(() => undefined);
    void endsInTime(last);
    tell();
  },
};
