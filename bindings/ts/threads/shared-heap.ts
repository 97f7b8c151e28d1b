// The heap of an instance with threads, in a shared memory.
import type { MainModule } from '../core.mjs';
import { InstanceLostError } from '../runtime/errors.js';
import { Heap } from '../runtime/heap.js';
import type { Pool } from './pool.js';

/** @internal */
export class SharedHeap extends Heap {
  /** The threads, once they run. */
  pool: Pool | undefined;

  override call<T>(run: (core: MainModule) => T): T {
    this.pool?.check();
    try {
      return super.call(run);
    } catch (error) {
      if (error instanceof InstanceLostError) this.pool?.trapped(error.cause);
      throw error;
    } finally {
      // A shared memory that grows leaves its views as they are.
      if (this.allBytes.length !== this.byteLength) this.allBytes = new Uint8Array();
    }
  }
}
