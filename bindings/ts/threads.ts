/**
 * The package with several threads: long calls are split over workers that share the instance's memory. Results have the
 * same bits with any number of threads. Where workers cannot share memory, the same `load()` gives one thread, and
 * `rw.info()` says why. docs/threads.md says what pages and bundlers need.
 * @packageDocumentation
 * @module ropewalk/threads
 */
import * as check from './runtime/check.js';
import { heapOf } from './runtime/instance.js';
import { openHeap } from './threads/open.js';
import type { ThreadWorker } from './threads/pool.js';
import { ThreadedRopewalk } from './threads/threaded-ropewalk.js';
import createCore from './threads-core.mjs';
import { version } from './version.js';

export * from './api.js';
export type { ThreadsInfo } from './runtime/instance.js';
export type { ThreadWorker } from './threads/pool.js';
export type { ThreadedRopewalk } from './threads/threaded-ropewalk.js';

/** Options of load() of 'ropewalk/threads'. */
export interface ThreadsLoadOptions {
  /**
   * How many threads take part, the calling one among them: 1 to 64. `auto` (the default) is one less than there are
   * processors, at most 8.
   */
  threads?: number | 'auto';
  /**
   * Makes a new worker each time, which runs `ropewalk/thread.js`. Needed only where the file is not beside the code, since
   * a bundler left it out or the code comes from another host, and a policy forbids workers of `blob:`.
   */
  worker?: () => ThreadWorker;
}

const build = {
  isRelaxed: true,
  compiled: async () => (await import('./threads/threaded-build.js')).compiled(),
  createCore,
};

/**
 * Makes an instance of ropewalk with several threads. Nothing is fetched but the worker's file, `thread.js`. What forbids
 * threads is no error: the instance then has one, and `rw.info().why` tells the reason.
 *
 * @throws ArgumentTypeError and ArgumentRangeError for options that do not fit; UnsupportedError where WebAssembly SIMD is
 *   missing or a Content-Security-Policy forbids WebAssembly.
 *
 * @example
 * import { load } from 'ropewalk/threads';
 * const rw = await load({ threads: 2 });
 * console.log(rw.info().threads);
 * rw.dispose();
 */
export async function load(options: ThreadsLoadOptions = {}): Promise<ThreadedRopewalk> {
  const { threads = 'auto', worker } = check.options('load', 'options', options, ['threads', 'worker']);
  const opened = await openHeap({ threads, worker }, build);
  if ('heap' in opened) {
    return new ThreadedRopewalk(opened.heap, { version, simd: 'relaxed', threads: opened.threads, why: undefined });
  }
  const alone = await (await import('./index.js')).load();
  return new ThreadedRopewalk(heapOf('load', alone), { ...alone.info(), threads: 1, why: opened.why });
}
