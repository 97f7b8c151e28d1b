// A heap with threads: its module, its memory, its workers.
import * as check from '../runtime/check.js';
import { ArgumentTypeError } from '../runtime/errors.js';
import type { MainModule } from '../threads-core.mjs';
import { obstacle, ownWorkers, processors } from './environment.js';
import { Pool, type ThreadWorker } from './pool.js';
import { SharedHeap } from './shared-heap.js';

const stackBytes = 262144; // as of the calling thread, -sSTACK_SIZE in bindings/CMakeLists.txt

/** A build with threads, and the glue that was made with it. @internal */
export interface ThreadedBuild {
  readonly isRelaxed: boolean;
  compiled(): Promise<WebAssembly.Module>;
  createCore(options: object): Promise<MainModule>;
}

/** Options of load() that say how many threads there are. @internal */
export interface ThreadsRequest {
  readonly threads: number | 'auto';
  readonly worker: (() => ThreadWorker) | undefined;
}

async function instantiate(module: WebAssembly.Module, build: ThreadedBuild): Promise<MainModule> {
  // createCore() never settles if its callback is not called, so failures reject this promise.
  return new Promise((resolve, reject) => {
    const instantiateWasm = (imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) => {
      WebAssembly.instantiate(module, imports).then(receive).catch(reject);
      return {};
    };
    build.createCore({ instantiateWasm }).then(resolve, reject);
  });
}

// `threads` of them, all of which but the calling one `make` makes.
async function openThreads(threads: number, make: () => ThreadWorker, build: ThreadedBuild): Promise<SharedHeap> {
  const module = await build.compiled();
  const core = await instantiate(module, build);
  const heap = new SharedHeap(core, core.wasmMemory);
  const shared = { module, memory: core.wasmMemory, entry: core.poolEntry(), lost: core.poolLost() };
  const starts = Array.from({ length: threads - 1 }, (_, i) => {
    const stack = heap.allocate(stackBytes, 'load');
    return { ...shared, thread: i + 1, stack, stackEnd: stack + stackBytes };
  });
  const exit = { memory: core.wasmMemory, closed: core.poolClosed(), wake: core.poolWake() };
  core.openPool(threads);
  heap.pool = await Pool.start(heap, make, starts, exit);
  return heap;
}

// By the first maker whose workers start. Each has an instance of its own: workers of one before may still be in theirs.
// What forbids the first way to make workers is what there is to tell.
async function openFirst(threads: number, makers: (() => ThreadWorker)[], build: ThreadedBuild): Promise<SharedHeap> {
  let reason: unknown;
  for (const make of makers) {
    try {
      return await openThreads(threads, make, build);
    } catch (error) {
      reason ??= error;
    }
  }
  throw reason;
}

const mostThreads = 64;

// Why there is one thread though this runtime may have more.
const askedForOne = 'one thread was asked for';
const oneIsFree = 'one processor, or two, leave none for another thread; load({ threads: 2 }) has one all the same';

/** A heap with as many threads as load() is asked for, or why there is but one. @internal */
export async function openHeap(
  { threads, worker }: ThreadsRequest,
  build: ThreadedBuild,
): Promise<{ heap: SharedHeap; threads: number } | { why: string }> {
  if (worker !== undefined && typeof worker !== 'function') {
    throw new ArgumentTypeError('load', 'worker', worker, 'a function that makes a Worker');
  }
  const isAuto = threads === 'auto';
  if (!isAuto && typeof threads !== 'number') {
    throw new ArgumentTypeError('load', 'threads', threads, `an integer from 1 to ${mostThreads}, or 'auto'`);
  }
  const count = isAuto
    ? Math.max(1, Math.min(8, (await processors()) - 1))
    : check.integer('load', 'threads', threads, 1, mostThreads);
  const why = count === 1 ? (isAuto ? oneIsFree : askedForOne) : obstacle(build.isRelaxed);
  if (why !== undefined) return { why };
  try {
    return { heap: await openFirst(count, worker ? [worker] : await ownWorkers(), build), threads: count };
  } catch (error) {
    if (error instanceof ArgumentTypeError) throw error;
    return { why: error instanceof Error ? error.message : String(error) };
  }
}
