// An instance with threads: its module, its memory, its workers.
import createCore, { type MainModule } from '../threads-core.mjs';
import { version } from '../version.js';
import { Pool, type ThreadStart, type ThreadWorker } from './pool.js';
import { SharedHeap } from './shared-heap.js';
import { ThreadedRopewalk } from './threaded-ropewalk.js';

const stackBytes = 262144; // as of the calling thread, -sSTACK_SIZE in bindings/CMakeLists.txt

async function instantiate(module: WebAssembly.Module): Promise<MainModule> {
  // createCore() never settles if its callback is not called, so failures reject this promise.
  return new Promise((resolve, reject) => {
    const instantiateWasm = (imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) => {
      WebAssembly.instantiate(module, imports).then(receive).catch(reject);
      return {};
    };
    createCore({ instantiateWasm }).then(resolve, reject);
  });
}

// The first pool that starts. What forbids the first way to make workers is what there is to tell.
async function started(
  core: MainModule,
  heap: SharedHeap,
  makers: (() => ThreadWorker)[],
  starts: ThreadStart[],
): Promise<Pool> {
  const exit = { memory: core.wasmMemory, closed: core.poolClosed(), wake: core.poolWake() };
  let reason: unknown;
  for (const make of makers) {
    core.openPool(starts.length + 1);
    try {
      return await Pool.start(heap, make, starts, exit);
    } catch (error) {
      reason ??= error;
    }
  }
  throw reason;
}

/** Makes an instance with `threads` threads, of which one of `makers` makes all but the calling one. @internal */
export async function openThreads(threads: number, makers: (() => ThreadWorker)[]): Promise<ThreadedRopewalk> {
  const { compiled } = await import('./threaded-build.js');
  const module = await compiled();
  const core = await instantiate(module);
  const heap = new SharedHeap(core, core.wasmMemory);
  const shared = { module, memory: core.wasmMemory, entry: core.poolEntry(), lost: core.poolLost() };
  const starts = Array.from({ length: threads - 1 }, (_, i) => {
    const stack = heap.allocate(stackBytes, 'load');
    return { ...shared, thread: i + 1, stack, stackEnd: stack + stackBytes };
  });
  heap.pool = await started(core, heap, makers, starts);
  return new ThreadedRopewalk(heap, { version, simd: 'relaxed', threads, why: undefined });
}
