/**
 * Trains small transformers with every position encoding, by a WebAssembly core of its own.
 * @packageDocumentation
 * @module ropewalk/training
 */

import { buildFor, compiledOnce, inflate, instantiate, refusal } from './instance.js';
import * as check from './runtime/check.js';
import { Training } from './training/training.js';
import createTrainingCore from './training-core.mjs';
import { packedTraining, size } from './training-inline.js';
import { version } from './version.js';

export type { IdsInput } from './models/ids.js';
export { TrainingError } from './runtime/errors.js';
export type { TrainingBatch } from './training/batch.js';
export { type CharactersOptions, type CharactersTask, charactersTask } from './training/characters.js';
export type { ExportedModel, ExportOptions } from './training/export.js';
export type { OptimizerOptions, TrainedLinearAttention, TrainerOptions } from './training/options.js';
export type { TrainedRope, TrainedTable, TrainerPosition, VectorOptions } from './training/position.js';
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

/**
 * Makes an instance that trains. Nothing is fetched: the WebAssembly is inside. Every call makes a new instance with a
 * heap of its own; the compiled code is shared. There are no options yet.
 *
 * @throws UnsupportedError where WebAssembly SIMD is missing or a Content-Security-Policy forbids WebAssembly.
 *
 * @example
 * import { load } from 'ropewalk/training';
 * const rw = await load();
 */
export async function load(options: object = {}): Promise<Training> {
  check.options('load', 'options', options, []);
  buildFor('deterministic');
  try {
    return new Training(await instantiate(await compiled(), createTrainingCore), version);
  } catch (error) {
    throw refusal(error, 'ropewalk/training has no other form') ?? error;
  }
}
