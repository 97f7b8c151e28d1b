// The position encoding of each layer of a model: plans that layers share, or BERT's tables of distances.

import type { LayerStack } from '../core.mjs';
import { type CheckedPosition, checkPosition } from '../layers/position.js';
import { checkRopeOptions, type RopeOptions } from '../rope/options.js';
import { RopePlan } from '../rope/rope.js';
import { ArgumentRangeError, describe } from '../runtime/errors.js';
import type { Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import { Tensor } from '../runtime/tensor.js';
import type { ModelConfig } from './config.js';
import type { ModelDescription } from './description/description.js';
import type { DistanceBiases, OtherPosition } from './description/family.js';
import { type ModelLayer, makeStack } from './stack.js';
import type { ModelParts } from './weights.js';

/** The position encodings of a model, which its weights do not include. @internal */
export interface ModelPositions {
  readonly layers: readonly ModelLayer[];
  /** Runs the layers. */
  readonly stack: LayerStack;
  /** By layer; null for a layer without rotary encoding. */
  readonly ropes: readonly (RopeOptions | null)[];
  /** Plans and tables that are freed with the model. */
  readonly owned: readonly Handle[];
  /** Maximum number of tokens for which the frequencies, or a decoder's table of positions, are valid. */
  readonly maxLength: number;
}

// The number of tokens for which a plan is valid. LongRoPE has one set of frequencies up to the training length and
// one beyond, dynamic NTK one for each length; a plan contains only one set.
function longest(rope: RopeOptions | null): number {
  const scaling = rope?.scaling;
  if (scaling?.type === 'dynamic') return Math.max(scaling.sequenceLength ?? 0, scaling.maxLength);
  if (scaling?.type !== 'longrope') return Number.POSITIVE_INFINITY;
  return (scaling.sequenceLength ?? 0) > scaling.originalLength ? Number.POSITIVE_INFINITY : scaling.originalLength;
}

/** What layers add to scores for all distances of a model, in one table. @internal */
export function sharedBiases(
  heap: Heap,
  where: string,
  config: ModelDescription,
  biases: DistanceBiases,
  learned: Float32Array | undefined,
  owned: Handle[],
): CheckedPosition {
  const { heads, maxPositions = 1, position } = config;
  const distanceFirst = 1 - maxPositions;
  const distanceCount = 2 * maxPositions - 1;
  const table = new Tensor(heap, [heads, distanceCount], where).adopted();
  owned.push(table);
  biases(heap, where, config, distanceFirst, table, learned);
  const part = { distanceBias: table.pointer, distanceFirst, distanceCount };
  return { encoding: position, rope: undefined, owned: [], part: () => part };
}

/**
 * Makes them; `biases` are those of a family whose scores have them. `others`, where given, are those of layers without a
 * rotary one, which is none if there is no entry.
 * @internal
 */
export function modelPositions(
  heap: Heap,
  where: string,
  config: ModelConfig,
  { layers, distances }: ModelParts,
  ropes: readonly (RopeOptions | null)[],
  others?: readonly OtherPosition[],
  biases?: DistanceBiases,
): ModelPositions {
  const plans = new Map<string, RopePlan>();
  const owned: Handle[] = [];
  const planOf = (options: RopeOptions) => {
    const { axes } = checkRopeOptions(where, options); // refuses fields that JSON.stringify would skip
    if (axes > 1) {
      const problem = `is ${describe(options.axes?.layout)}, of positions with ${axes} axes; a model's tokens have one`;
      throw new ArgumentRangeError(where, 'axes.layout', options.axes?.layout, problem);
    }
    const key = JSON.stringify(options);
    const plan = plans.get(key) ?? new RopePlan(heap, options, where).adopted();
    if (!plans.has(key)) owned.push(plan);
    plans.set(key, plan);
    return plan;
  };
  const isBiased = config.position === 'alibi' || config.position === 't5';
  let shared: CheckedPosition | undefined;
  const positionOf = (i: number) => {
    const rope = ropes[i];
    if (rope) return { encoding: 'rope', plan: planOf(rope) };
    const table = others === undefined ? distances[i] : undefined;
    return table === undefined
      ? { encoding: 'none' }
      : { encoding: config.position, table, sign: config.relativeSign ?? 'query-minus-key' };
  };
  try {
    const ownLayers = layers.map((layer, i): ModelLayer => {
      const { dims, sinks, captures, ...own } = layer.passLayer;
      const scores = { ...own.scores, turnValues: config.turnValues && ropes[i] !== null };
      const other = ropes[i] === null ? others?.[i] : undefined;
      const learned = distances[i]?.data;
      if (isBiased && biases && (learned || !shared)) {
        shared = sharedBiases(heap, where, config, biases, learned, owned);
      }
      const position = other?.make(dims, scores) ?? shared ?? checkPosition(heap, where, positionOf(i), dims, scores);
      owned.push(...position.owned);
      const { chunked, temperature } = config.layers[i] ?? {};
      return { block: layer.block, dims, scores, position, sinks, captures, chunked, temperature };
    });
    const stack = makeStack(heap, where, ownLayers);
    const table = config.kind === 'decoder' ? config.maxPositions : undefined;
    const lengths = [...ropes.map(longest), ...(others ?? []).map((other) => other.maxLength)];
    const maxLength = Math.min(table ?? Number.POSITIVE_INFINITY, ...lengths);
    return { layers: ownLayers, stack, ropes, owned, maxLength };
  } catch (error) {
    for (const each of owned) each.dispose();
    throw error;
  }
}

/** What decides how many tokens there may be, in errors about too many. @internal */
export const positionsFor = (tokens: number | string) =>
  `the positions of this model are for ${tokens} tokens, by its table or the sequenceLength of loadModel or its scaling`;

/** Throws for tokens beyond the length of the frequencies. @internal */
export function checkLength(
  where: string,
  { maxLength }: Pick<ModelPositions, 'maxLength'>,
  name: string,
  value: unknown,
  end: number,
): void {
  if (end <= maxLength) return;
  throw new ArgumentRangeError(where, name, value, `reaches position ${end - 1}; ${positionsFor(maxLength)}`);
}
