// Input sequences and their targets.
import { BatchCall } from '../calls.js';
import { checkWithin, type Ids, type IdsInput, likeIds, readIds } from '../models/ids.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { bytesOf } from '../runtime/typed-arrays.js';

/** Input sequences and their targets. */
export interface TrainingBatch {
  /** Token ids [B, T], or [T] of one sequence. */
  ids: IdsInput;
  /** In the shape of ids: the id that is to come out of each. Default in causal models the next id of the sequence. */
  targets?: IdsInput;
  /**
   * [B, T] row major, 0 or above. Weight of each target. The loss is the weighted mean. Where it is 0 a target may be any
   * integer. Default 1. Without targets the last of each sequence counts 0 whatever is given.
   */
  weights?: Float32Array;
}

/** A checked batch. @internal */
export interface CheckedBatch {
  readonly batch: number;
  readonly tokens: number;
  /** Copies of all that the core reads. */
  readonly ids: Int32Array;
  readonly targets: Int32Array;
  readonly weights: Float32Array;
}

/** What a trainer's batches have to fit. @internal */
export interface BatchLimits {
  readonly vocab: number;
  /** Tokens of a sequence at most, and what sets that. */
  readonly longest: number;
  readonly because: string;
  readonly causal: boolean;
}

/** @internal */
export function checkIds(where: string, value: unknown, limits: BatchLimits): Ids {
  const ids = readIds(where, value, limits.vocab);
  if (ids.tokens <= limits.longest) return ids;
  const problem = `has sequences of ${ids.tokens} tokens; ${limits.because}, ${limits.longest}`;
  throw new ArgumentRangeError(where, 'ids', value, problem);
}

function nextIds({ values, tokens }: Ids): Int32Array {
  return Int32Array.from(values, (_, i) => ((i + 1) % tokens === 0 ? 0 : (values[i + 1] as number)));
}

function checkWeights(where: string, value: unknown, { values, tokens }: Ids, hasTargets: boolean): Float32Array {
  if (value === undefined) {
    return Float32Array.from(values, (_, i) => (hasTargets || (i + 1) % tokens !== 0 ? 1 : 0));
  }
  const weights = new Float32Array(check.float32(where, 'weights', value, values.length));
  const bad = weights.findIndex((weight) => !(weight >= 0 && weight < Infinity));
  if (bad >= 0) {
    const problem = `is ${weights[bad]}; expected a finite number of at least 0`;
    throw new ArgumentRangeError(where, `weights[${bad}]`, weights[bad], problem);
  }
  // Nothing follows the last token.
  return hasTargets ? weights : weights.map((weight, i) => ((i + 1) % tokens === 0 ? 0 : weight));
}

/** @internal */
export function checkBatch(where: string, value: TrainingBatch, limits: BatchLimits): CheckedBatch {
  const given = check.options(where, 'batch', value, ['ids', 'targets', 'weights']);
  const ids = checkIds(where, given.ids, limits);
  if (given.targets === undefined && !limits.causal) {
    const expected = 'an id for each of ids; this model sees all tokens, so the next is none to predict';
    throw new ArgumentTypeError(where, 'targets', undefined, expected);
  }
  const weights = checkWeights(where, given.weights, ids, given.targets !== undefined);
  if (!weights.some((weight) => weight > 0)) {
    const none = 'has sequences of one token, after which nothing is to predict; expected two, or targets';
    if (given.weights === undefined) throw new ArgumentRangeError(where, 'ids', given.ids, none);
    throw new ArgumentRangeError(
      where,
      'weights',
      given.weights,
      given.targets === undefined
        ? 'are 0 wherever a token follows; expected one above 0'
        : 'are all 0; expected one above 0',
    );
  }
  if (given.targets === undefined) return { ...batchOf(ids), targets: nextIds(ids), weights };
  const targets = likeIds(where, 'targets', given.targets, ids);
  for (let i = 0; i < targets.length; ++i) if (weights[i] === 0) targets[i] = 0;
  checkWithin(where, 'targets', targets, limits.vocab, 'the vocabulary');
  return { ...batchOf(ids), targets: new Int32Array(targets), weights };
}

const batchOf = ({ values, batch, tokens }: Ids) => ({ ids: new Int32Array(values), batch, tokens });

/** The fields of a batch as the core takes it. @internal */
export function batchCall(
  heap: Heap,
  scratch: Scratch,
  { batch, tokens, ids, targets, weights }: CheckedBatch,
): BatchCall {
  return {
    ids: heap.put(scratch, bytesOf(ids)),
    targets: heap.put(scratch, bytesOf(targets)),
    weights: heap.put(scratch, weights),
    batch,
    tokens,
  };
}

/** The fields of sequences alone. @internal */
export function putIds(heap: Heap, scratch: Scratch, { values, batch, tokens }: Ids): number {
  const ids = heap.put(scratch, bytesOf(new Int32Array(values)));
  return heap.putCall(scratch, BatchCall, { ids, targets: 0, weights: 0, batch, tokens });
}
