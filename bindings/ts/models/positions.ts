// The position encoding of each layer of a model: plans that layers share, or BERT's tables of distances.

import type { LayerStack } from '../core.mjs';
import { checkPosition } from '../layers/position.js';
import { checkRopeOptions, type RopeOptions } from '../rope/options.js';
import { RopePlan } from '../rope/rope.js';
import { ArgumentRangeError, describe } from '../runtime/errors.js';
import type { Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import type { ModelConfig } from './config.js';
import { type ModelLayer, makeStack } from './stack.js';
import type { ModelParts } from './weights.js';

/** What a model adds to the weights it shares. @internal */
export interface ModelPositions {
  readonly layers: readonly ModelLayer[];
  /** What runs them. */
  readonly stack: LayerStack;
  /** By layer; null where it has no rotary encoding. */
  readonly ropes: readonly (RopeOptions | null)[];
  /** To be freed with the model. */
  readonly owned: readonly Handle[];
  /** The most tokens that the scaling of the frequencies is for. */
  readonly maxLength: number;
}

// LongRoPE has one set of frequencies up to the length of training and one beyond, and dynamic NTK one for each length:
// a plan is for one of them.
function longest(rope: RopeOptions | null): number {
  const scaling = rope?.scaling;
  if (scaling?.type === 'dynamic') return Math.max(scaling.sequenceLength ?? 0, scaling.maxLength);
  if (scaling?.type !== 'longrope') return Number.POSITIVE_INFINITY;
  return (scaling.sequenceLength ?? 0) > scaling.originalLength ? Number.POSITIVE_INFINITY : scaling.originalLength;
}

/** @internal */
export function modelPositions(
  heap: Heap,
  where: string,
  config: ModelConfig,
  { layers, distances }: ModelParts,
  ropes: readonly (RopeOptions | null)[],
): ModelPositions {
  const plans = new Map<string, RopePlan>();
  const owned: Handle[] = [];
  const planOf = (options: RopeOptions) => {
    const { axes } = checkRopeOptions(where, options); // what is no option has no JSON either
    if (axes > 1) {
      const problem = `is ${describe(options.axes?.layout)}, of positions with ${axes} axes; a model's tokens have one`;
      throw new ArgumentRangeError(where, 'axes.layout', options.axes?.layout, problem);
    }
    const key = JSON.stringify(options);
    const plan = plans.get(key) ?? new RopePlan(heap, options).adopted();
    if (!plans.has(key)) owned.push(plan);
    plans.set(key, plan);
    return plan;
  };
  const positionOf = (i: number) => {
    const rope = ropes[i];
    if (rope) return { encoding: 'rope', plan: planOf(rope) };
    const table = distances[i];
    return table === undefined
      ? { encoding: 'none' }
      : { encoding: config.position, table, sign: config.relativeSign ?? 'query-minus-key' };
  };
  try {
    const ownLayers = layers.map((layer, i): ModelLayer => {
      const { dims, sinks, captures, ...own } = layer.passLayer;
      const scores = { ...own.scores, turnValues: config.turnValues && ropes[i] !== null };
      const position = checkPosition(heap, where, positionOf(i), dims, scores);
      owned.push(...position.owned);
      return { block: layer.block, dims, scores, position, sinks, captures };
    });
    const stack = makeStack(heap, where, ownLayers);
    return { layers: ownLayers, stack, ropes, owned, maxLength: Math.min(...ropes.map(longest)) };
  } catch (error) {
    for (const each of owned) each.dispose();
    throw error;
  }
}

/** What to do where frequencies are for fewer tokens than are wanted. @internal */
export const longer = 'give loadModel a sequenceLength for more';

/** Refuses tokens beyond what the frequencies are for. @internal */
export function checkLength(
  where: string,
  { maxLength }: Pick<ModelPositions, 'maxLength'>,
  name: string,
  value: unknown,
  end: number,
): void {
  if (end <= maxLength) return;
  const problem = `reaches position ${end - 1}; the frequencies are for ${maxLength} tokens, ${longer}`;
  throw new ArgumentRangeError(where, name, value, problem);
}
