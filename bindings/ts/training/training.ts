/// <reference lib="esnext.disposable" preserve="true" />
// The instance of 'ropewalk/training'.
import { closeHeap, type Heap } from '../runtime/heap.js';
import { type Instance, type Memory, memoryOf, type ThreadsInfo } from '../runtime/instance.js';
import type { TrainerOptions } from './options.js';
import { Trainer } from './trainer.js';

/** An instance that trains, with a heap of its own. */
export class Training implements Instance, Disposable {
  readonly #heap: Heap;
  readonly #info: ThreadsInfo;
  readonly #pool: { dispose(): void } | undefined;

  /** @internal */
  constructor(heap: Heap, info: ThreadsInfo, pool?: { dispose(): void }) {
    this.#heap = heap;
    this.#info = Object.freeze(info);
    this.#pool = pool;
  }

  /** Version of the package, the build in use, which is always a deterministic one, and the number of threads. */
  info(): ThreadsInfo {
    return this.#info;
  }

  /** Memory in use, in bytes, and the number of live trainers. */
  memory(): Memory {
    return memoryOf(this.#heap);
  }

  /** Resets `memory().peak` to the memory in use now. */
  resetPeak(): void {
    this.#heap.call((core) => core.resetPeak());
  }

  /**
   * A small transformer to train.
   *
   * @throws ArgumentTypeError and ArgumentRangeError for options that do not fit; OutOfMemoryError.
   *
   * @example
   * import { load } from 'ropewalk/training';
   * const rw = await load();
   * using trainer = rw.trainer({
   *   layers: 2, modelDim: 32, heads: 2, vocab: 32, context: 48,
   *   position: { encoding: 'rope' },
   *   optimizer: { learningRate: 3e-3, betas: [0.9, 0.98], warmup: 50, totalSteps: 500 },
   * });
   */
  trainer(options: TrainerOptions): Trainer {
    return new Trainer(this.#heap, options);
  }

  /** Ends the threads. Later calls of the instance, and of its trainers, throw StateError. */
  dispose(): void {
    this.#pool?.dispose();
    closeHeap(this.#heap);
  }

  /** The same as dispose(), for `using`. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
