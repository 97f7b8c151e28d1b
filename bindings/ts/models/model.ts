/// <reference lib="esnext.disposable" preserve="true" />
// What encoders and decoders have in common: shared weights, a position encoding of its own, and what they are.
import type { CaptureName } from '../layers/capture.js';
import { type RopeOptions, ropeFields } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import type { ModelArchitecture, ModelConfig } from './config.js';
import { ModelMath } from './pass.js';
import { type ModelPositions, modelPositions } from './positions.js';
import type { ModelWeights } from './weights.js';

/** What a model is. */
export interface ModelInfo {
  readonly architecture: ModelArchitecture;
  /** How many numbers the weights are; tied ones count once. */
  readonly parameters: number;
  /** Bytes of the weights as they are kept, which models made by `withRope` share. */
  readonly bytes: number;
}

/**
 * Another position encoding: options in place of those that the model has, for every layer with a rotary encoding, or
 * what to make of each layer's own; null is none.
 */
export type RopeChange = Partial<RopeOptions> | ((rope: RopeOptions | null, layer: number) => RopeOptions | null);

/** What a model is made from. @internal */
export interface ModelMaking {
  readonly heap: Heap;
  readonly config: ModelConfig;
  readonly weights: ModelWeights;
  readonly positions: ModelPositions;
  readonly parameters: number;
}

function freer({ heap, weights, positions }: ModelMaking): () => void {
  return () => {
    heap.destroy(positions.stack);
    for (const each of positions.owned) each.dispose();
    weights.release();
  };
}

// Sizes of memory follow from the config.
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const entry of Object.values(value)) frozen(entry);
  return Object.freeze(value);
}

/** A loaded model, an `EncoderModel` or a `DecoderModel`. */
export abstract class Model extends Handle {
  /** What its config.json says; frozen. */
  readonly config: ModelConfig;
  readonly info: ModelInfo;
  /** @internal */
  protected readonly making: ModelMaking;
  /** @internal */
  protected readonly math: ModelMath;

  /** @internal */
  protected constructor(making: ModelMaking) {
    super(making.heap, freer(making));
    const { heap, config, weights, parameters } = making;
    weights.retain();
    this.making = making;
    this.config = frozen(config);
    this.info = Object.freeze({ architecture: config.architecture, parameters, bytes: weights.bytes });
    this.math = new ModelMath(heap, config, weights.parts);
  }

  /** What its layers capture. @internal */
  get captureNames(): readonly CaptureName[] {
    return this.making.positions.layers[0]?.captures ?? [];
  }

  /** The rotary encoding of each layer as it is in force; null where a layer has none. */
  get ropes(): readonly (RopeOptions | null)[] {
    return this.making.positions.ropes;
  }

  /** @internal */
  protected changed(change: RopeChange): ModelMaking {
    const where = 'model.withRope';
    this.alive(where);
    const { heap, config, weights, parameters } = this.making;
    if (config.position !== 'rope') {
      const problem = `is for models with a rotary encoding; this one has ${config.position}`;
      throw new ArgumentRangeError(where, 'change', change, problem);
    }
    const ropes = changedRopes(where, config, this.ropes, change);
    this.alive(where); // the caller's function may have disposed of it
    const positions = modelPositions(heap, where, config, weights.parts, ropes);
    return { heap, config, weights, positions, parameters };
  }
}

function changedRopes(
  where: string,
  { headDim }: ModelConfig,
  ropes: readonly (RopeOptions | null)[],
  change: RopeChange,
): (RopeOptions | null)[] {
  if (typeof change === 'function') {
    return ropes.map((rope, i) => {
      const next: unknown = check.read(change(rope, i));
      if (next === null) return null;
      if (typeof next !== 'object') throw new ArgumentTypeError(where, `change(rope, ${i})`, next, 'options, or null');
      return { ...(next as RopeOptions), headDim };
    });
  }
  const given = check.options(where, 'change', change, ropeFields);
  if (given.headDim !== undefined && given.headDim !== headDim) {
    throw new ArgumentRangeError(
      where,
      'change.headDim',
      given.headDim,
      `is ${given.headDim}; the model has ${headDim}`,
    );
  }
  return ropes.map((rope) => rope && { ...rope, ...given });
}
