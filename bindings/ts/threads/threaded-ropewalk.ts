/// <reference lib="esnext.disposable" preserve="true" />
// One instance of ropewalk with threads, as load() of ropewalk/threads makes it.
import { Ropewalk } from '../ropewalk.js';
import { closeHeap, type Heap } from '../runtime/heap.js';
import type { ThreadsInfo } from '../runtime/instance.js';
import { SharedHeap } from './shared-heap.js';

/** An instance whose long calls are split over several threads. Its other methods are those of every instance. */
export class ThreadedRopewalk extends Ropewalk implements Disposable {
  readonly #heap: Heap;
  readonly #info: ThreadsInfo;

  /** @internal */
  constructor(heap: Heap, info: ThreadsInfo) {
    super(heap, info);
    this.#heap = heap;
    this.#info = info;
  }

  /** Version of the package, the build in use, and the number of threads. */
  override info(): ThreadsInfo {
    return this.#info;
  }

  /** Ends the threads. Later calls of the instance, and of all that was made by it, throw StateError. */
  dispose(): void {
    if (this.#heap instanceof SharedHeap) this.#heap.pool?.dispose();
    closeHeap(this.#heap);
  }

  /** The same as dispose(), for `using`. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
