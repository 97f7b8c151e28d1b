// The heap of an instance with threads, in a shared memory.
import type { MainModule } from '../core.mjs';
import { InstanceLostError } from '../runtime/errors.js';
import { Heap } from '../runtime/heap.js';
import type { Pool } from './pool.js';

/** @internal */
export class SharedHeap extends Heap {
  /** The threads, once they run. */
  pool: Pool | undefined;

  constructor(core: MainModule, memory: WebAssembly.Memory) {
    super(core, memory);
    // A shared memory that grows leaves its views as they are. Emscripten's runtime calls this; to look at the memory after
    // each call would take half of what threads add to one. What ends the threads has the memory, and must not keep the heap.
    const weakly = new WeakRef(this);
    memory.grow = (pages) => {
      const heap = weakly.deref();
      if (heap !== undefined) heap.allBytes = new Uint8Array();
      return WebAssembly.Memory.prototype.grow.call(memory, pages);
    };
  }

  override call<T>(run: (core: MainModule) => T): T {
    this.pool?.check();
    try {
      return super.call(run);
    } catch (error) {
      if (error instanceof InstanceLostError) this.pool?.trapped(error.cause);
      throw error;
    }
  }
}
