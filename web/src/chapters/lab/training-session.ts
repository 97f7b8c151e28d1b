// The page's side of training: one run of models, which is begun, paused, taken on step by step and given up. It outlives
// its figure, which is made anew for each language.
import type { Remote } from 'ropewalk/worker';
import { lookEvery } from '../../recorded/course';
import { pause } from '../../work/pause';
import { threadsFor } from '../../work/threads-for';
import type { Lab } from './lab';
import address from './worker?worker&url';

let lab: Promise<Remote<Lab>> | undefined;

async function start(): Promise<Remote<Lab>> {
  const { wrap } = await import('ropewalk/worker');
  const worker = new Worker(address, { type: 'module' });
  threadsFor(worker);
  const remote = wrap<Lab>(worker);
  await remote.version();
  return remote;
}

// The worker starts when the first model is trained.
function remoteLab(): Promise<Remote<Lab>> {
  lab ??= start().catch((error: unknown) => {
    // The next one who asks may have a network again.
    lab = undefined;
    throw error;
  });
  return lab;
}

interface RemoteRun<L> {
  advance(steps: number): Promise<L>;
  dispose(): Promise<void>;
}

interface Attempt<I, L> {
  readonly input: I;
  readonly looks: L[];
  run?: RemoteRun<L>;
  /** Looks that are still wanted. */
  wanted: number;
  isBusy: boolean;
  failure?: Error;
}

// Milliseconds between two looks that are shown: a picture for each would keep the page busy.
const showEvery = 80;

// A tab in the background trains nothing.
async function untilSeen(): Promise<void> {
  while (document.hidden) {
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
  }
}

export class TrainingSession<I, L> {
  /** Looks of a whole run, the first before any step. */
  readonly total: number;
  /** Steps between two looks. */
  readonly every: number;
  /** The least time between two looks, in milliseconds. */
  interval = 0;
  readonly #begin: (lab: Remote<Lab>, input: I) => Promise<RemoteRun<L>>;
  readonly #listeners = new Set<() => void>();
  #attempt: Attempt<I, L> | undefined;

  /** @param begin makes the models in the worker. */
  constructor(steps: number, begin: (lab: Remote<Lab>, input: I) => Promise<RemoteRun<L>>, every = lookEvery) {
    this.total = 1 + steps / every;
    this.every = every;
    this.#begin = begin;
  }

  /** What was seen so far: before any step, then after every few. */
  get looks(): readonly L[] {
    return this.#attempt?.looks ?? [];
  }

  get isRunning(): boolean {
    return this.#attempt !== undefined && this.#attempt.wanted > 1;
  }

  get isDone(): boolean {
    return this.looks.length === this.total;
  }

  get failure(): Error | undefined {
    return this.#attempt?.failure;
  }

  /** Calls back after every change. Gives a function that ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Trains to the end. */
  start(input: I): void {
    this.#want(input, Number.POSITIVE_INFINITY);
  }

  /** Trains as far as to the next look. */
  step(input: I): void {
    this.#want(input, 1);
  }

  pause(): void {
    if (this.#attempt) this.#attempt.wanted = 0;
    this.#tell();
  }

  /** Gives up what was trained. */
  reset(): void {
    this.#drop();
    this.#tell();
  }

  /** Begins anew, or forgets what was trained, where that was of another input. */
  follow(input: I): void {
    if (this.#attempt === undefined || JSON.stringify(this.#attempt.input) === JSON.stringify(input)) return;
    const { isRunning } = this;
    this.#drop();
    if (isRunning) this.start(input);
  }

  // Models that are at work are freed by who waits for them.
  #drop(): void {
    if (!this.#attempt?.isBusy) void this.#attempt?.run?.dispose();
    this.#attempt = undefined;
  }

  #want(input: I, looks: number): void {
    if (this.isDone || this.failure) this.reset();
    this.#attempt ??= { input, looks: [], wanted: 0, isBusy: false };
    this.#attempt.wanted = looks;
    this.#tell();
    void this.#work(this.#attempt);
  }

  async #work(own: Attempt<I, L>): Promise<void> {
    if (own.isBusy) return;
    own.isBusy = true;
    let shownAt = Number.NEGATIVE_INFINITY;
    try {
      while (own === this.#attempt && own.wanted > 0 && !this.isDone) {
        await untilSeen();
        const begin = performance.now();
        own.run ??= await this.#begin(await remoteLab(), own.input);
        own.looks.push(await own.run.advance(own.looks.length === 0 ? 0 : this.every));
        own.wanted -= 1;
        // The first look is of models as they were made: who wants a step wants to see what it changes.
        if (own.looks.length === 1 && own.wanted === 0) own.wanted = 1;
        const now = performance.now();
        if (own === this.#attempt && now - shownAt >= showEvery) {
          shownAt = now;
          this.#tell();
        }
        await pause(Math.max(0, begin + this.interval - now));
      }
    } catch (error) {
      own.failure = error instanceof Error ? error : new Error(String(error));
    }
    own.isBusy = false;
    own.wanted = 0;
    if (own === this.#attempt) this.#tell();
    else void own.run?.dispose();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
