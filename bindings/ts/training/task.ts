// What tasks have in common: a batch is made one sequence at a time.
import * as check from '../runtime/check.js';
import type { OwnFloats, OwnIntegers } from '../runtime/typed-arrays.js';
import { Random } from './random.js';

/** Ids with their shape. */
export interface TaskIds {
  /** Row major. */
  readonly data: OwnIntegers;
  /** [B, T] */
  readonly shape: readonly [number, number];
}

/** A batch as `trainer.step` and `trainer.evaluate` take it. */
export interface TaskBatch {
  /** What the model reads. */
  readonly ids: TaskIds;
  /** What is right. */
  readonly targets: TaskIds;
  /** [B, T], 1 where a target counts and 0 where none is known. */
  readonly weights: OwnFloats;
}

/** A source of batches. */
export interface Task {
  /** Ids are below it. */
  readonly vocab: number;
  /** T, of every sequence. */
  readonly tokens: number;
  /** The least loss that a model can reach, in nats; undefined where that is not known. */
  readonly bestLoss: number | undefined;
  /** The next batch of so many sequences. All numbers depend on the options of the task and on the batches before. */
  batch(size: number): TaskBatch;
}

/** Options that all tasks have. */
export interface TaskOptions {
  /** T. Default 32. */
  tokens?: number;
  /** Of the task and its sequences; below 2^53. Default 0. */
  seed?: number;
  /** Another number gives other sequences of the same task. Default 0. */
  stream?: number;
}

/** @internal */
export const taskFields = ['tokens', 'seed', 'stream'] as const;

/** @internal */
export interface CheckedTask {
  readonly tokens: number;
  readonly seed: number;
  readonly random: Random;
}

/** @internal */
export function checkTask(where: string, given: TaskOptions, fewest: number): CheckedTask {
  const tokens = check.integer(where, 'tokens', given.tokens ?? 32, fewest, 2 ** 14);
  const seed = check.integer(where, 'seed', given.seed ?? 0, 0);
  const stream = check.integer(where, 'stream', given.stream ?? 0, 0);
  return { tokens, seed, random: new Random(seed, stream, 1) };
}

/** A sequence to be filled: zeros. @internal */
export interface Sequence {
  readonly ids: OwnIntegers;
  readonly targets: OwnIntegers;
  readonly weights: OwnFloats;
}

/** A task from what fills one sequence. @internal */
export function taskOf(
  where: string,
  vocab: number,
  tokens: number,
  bestLoss: number | undefined,
  fill: (sequence: Sequence) => void,
): Task {
  return {
    vocab,
    tokens,
    bestLoss,
    batch(size) {
      const count = check.integer(`${where}.batch`, 'size', size, 1, Math.min(2 ** 20, Math.floor(2 ** 28 / tokens)));
      const shape = [count, tokens] as const;
      const [ids, targets] = [new Int32Array(count * tokens), new Int32Array(count * tokens)];
      const weights = new Float32Array(count * tokens);
      for (let at = 0; at < ids.length; at += tokens) {
        const end = at + tokens;
        fill({ ids: ids.subarray(at, end), targets: targets.subarray(at, end), weights: weights.subarray(at, end) });
      }
      return { ids: { data: ids, shape }, targets: { data: targets, shape }, weights };
    },
  };
}

/** Targets are the next ids, from place `first` on. @internal */
export function aimAtNext({ ids, targets, weights }: Sequence, first: number): void {
  targets.set(ids.subarray(1));
  weights.fill(1, first, ids.length - 1);
}
