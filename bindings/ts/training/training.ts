// The instance of 'ropewalk/training'.
import type { Heap } from '../runtime/heap.js';
import { type Info, type Instance, type Memory, memoryOf } from '../runtime/instance.js';
import type { TrainerOptions } from './options.js';
import { Trainer } from './trainer.js';

/** An instance that trains, with a heap of its own. */
export class Training implements Instance {
  readonly #heap: Heap;
  readonly #info: Info;

  /** @internal */
  constructor(heap: Heap, version: string) {
    this.#heap = heap;
    this.#info = Object.freeze({ version, simd: 'simd128' });
  }

  /** Version of the package, and the build in use, which is always the deterministic one. */
  info(): Info {
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
}
