/**
 * Trains small transformers with every position encoding but xPos, RoPE of several axes and KERPLE's `power` kind, by a
 * WebAssembly core of its own, on one thread or several.
 * @packageDocumentation
 * @module ropewalk/training
 */

import { buildFor, compiledOnce, inflate, instantiate, refusal } from './instance.js';
import * as check from './runtime/check.js';
import type { ThreadWorker } from './threads/pool.js';
import { Training } from './training/training.js';
import createTrainingCore from './training-core.mjs';
import { packedTraining, size } from './training-inline.js';
import { version } from './version.js';

export type { IdsInput } from './models/ids.js';
export { TrainingError } from './runtime/errors.js';
export type { ThreadsInfo } from './runtime/instance.js';
export type { ThreadWorker } from './threads/pool.js';
export type { TrainingBatch } from './training/batch.js';
export { type CharactersOptions, type CharactersTask, charactersTask } from './training/characters.js';
export type { ExportedModel, ExportOptions } from './training/export.js';
export type { OptimizerOptions, TrainedLinearAttention, TrainerOptions } from './training/options.js';
export type { TrainedGrid, TrainedRope, TrainedTable, TrainerPosition, VectorOptions } from './training/position.js';
export type { Task, TaskBatch, TaskIds, TaskOptions } from './training/task.js';
export {
  type CopyOptions,
  copyTask,
  type FetchByContentOptions,
  type FetchByPositionOptions,
  fetchByContentTask,
  fetchByPositionTask,
  type InductionOptions,
  inductionTask,
  type RandomIdsOptions,
  reverseTask,
  skipLanguageTask,
  sortTask,
} from './training/tasks.js';
export type { EvaluateOptions, EvaluateResult, StepResult, Trainer } from './training/trainer.js';
export type { Training } from './training/training.js';

const compiled = /* @__PURE__ */ compiledOnce(async () => WebAssembly.compile(await inflate(packedTraining, size)));

/** Options of load() of 'ropewalk/training'. */
export interface TrainingLoadOptions {
  /**
   * How many threads take part, the calling one among them: 1 (the default) to 64. `auto` is one less than there are
   * processors, at most 8. The results have the same bits with any number.
   */
  threads?: number | 'auto';
  /** Makes a worker that runs `ropewalk/thread.js`, as for 'ropewalk/threads'. */
  worker?: () => ThreadWorker;
}

/**
 * Makes an instance that trains. Nothing is fetched: the WebAssembly is inside; only threads need their worker's file,
 * `thread.js`. Every call makes a new instance with a heap of its own; the compiled code is shared. What forbids threads is
 * no error: the instance then has one, and `rw.info().why` tells the reason.
 *
 * @throws ArgumentTypeError and ArgumentRangeError for options that do not fit; UnsupportedError where WebAssembly SIMD is
 *   missing or a Content-Security-Policy forbids WebAssembly.
 *
 * @example
 * import { load } from 'ropewalk/training';
 * const rw = await load();
 */
export async function load(options: TrainingLoadOptions = {}): Promise<Training> {
  const { threads = 1, worker } = check.options('load', 'options', options, ['threads', 'worker']);
  buildFor('deterministic');
  let why = 'one thread was asked for';
  if (threads !== 1 || worker !== undefined) {
    const { openThreadedHeap } = await import('./threads/threaded-training.js');
    const opened = await openThreadedHeap({ threads, worker });
    if ('heap' in opened) {
      const { heap, threads: count } = opened;
      return new Training(heap, { version, simd: 'simd128', threads: count, why: undefined }, heap.pool);
    }
    why = opened.why;
  }
  try {
    const heap = await instantiate(await compiled(), createTrainingCore);
    return new Training(heap, { version, simd: 'simd128', threads: 1, why });
  } catch (error) {
    throw refusal(error, 'ropewalk/training has no other form') ?? error;
  }
}
