/// <reference lib="esnext.disposable" preserve="true" />
// The base of encoders and decoders: weights, position encoding, token vectors and logits.
import { TokenVectorsCall } from '../calls.js';
import type { LogitsHead } from '../core.mjs';
import type { CaptureName } from '../layers/capture.js';
import { type RopeOptions, ropeFields } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, describe, OutOfMemoryError } from '../runtime/errors.js';
import { Handle } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import type { NdArray } from '../runtime/tensor.js';
import type { ModelArchitecture, ModelConfig } from './config.js';
import type { OtherPosition } from './description/family.js';
import type { Ids } from './ids.js';
import { type ModelPositions, modelPositions } from './positions.js';
import type { Steps } from './run.js';
import type { ModelWeights } from './weights.js';

/** The size and architecture of a model. */
export interface ModelInfo {
  /** `model_type` of its config.json, without `_text`. */
  readonly architecture: ModelArchitecture;
  /** Number of weights; tied ones count once. */
  readonly parameters: number;
  /** Memory of the weights, in bytes, shared with models made by `withRope`. */
  readonly bytes: number;
}

/**
 * A change of rotary encoding: options that replace those of every layer with a rotary encoding, or a function from
 * each layer's options to new ones; null is no encoding.
 */
export type RopeChange = Partial<RopeOptions> | ((rope: RopeOptions | null, layer: number) => RopeOptions | null);

/** The parts of a model. @internal */
export interface ModelMaking {
  readonly heap: Heap;
  readonly config: ModelConfig;
  readonly weights: ModelWeights;
  readonly positions: ModelPositions;
  readonly parameters: number;
  /** Encodings of layers without a rotary one, in place of the model's own. */
  readonly others?: readonly OtherPosition[];
}

/** Rows [count, M] in the heap, at the address `at`. @internal */
export interface Rows {
  readonly at: number;
  readonly count: number;
}

// Numbers, 16 MiB in all.
const logitsAtOnce = 2 ** 22;

function freer({ heap, weights, positions }: ModelMaking): () => void {
  return () => {
    heap.destroy(positions.stack);
    for (const each of positions.owned) each.dispose();
    weights.release();
  };
}

// Frozen, since sizes of memory follow from the config.
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const entry of Object.values(value)) frozen(entry);
  return Object.freeze(value);
}

/** A loaded model, an `EncoderModel` or a `DecoderModel`. */
export abstract class Model extends Handle {
  /** The description from its config.json; frozen. */
  readonly config: ModelConfig;
  /** Its architecture and size. */
  readonly info: ModelInfo;
  /** Whether the checkpoint has a head that gives logits. */
  readonly hasLogits: boolean;
  /** @internal */
  protected readonly making: ModelMaking;

  /** @internal */
  constructor(making: ModelMaking) {
    super(making.heap, freer(making));
    const { config, weights, parameters } = making;
    weights.retain();
    this.making = making;
    this.config = frozen(config);
    this.info = Object.freeze({ architecture: config.architecture, parameters, bytes: weights.bytes });
    this.hasLogits = weights.parts.head !== undefined;
  }

  /** The names that its layers can capture. @internal */
  get captureNames(): readonly CaptureName[] {
    return this.making.positions.layers[0]?.captures ?? [];
  }

  /** The rotary encoding in use in each layer; null for a layer without one. */
  get ropes(): readonly (RopeOptions | null)[] {
    return this.making.positions.ropes;
  }

  /** @internal */
  parts(where: string): ModelMaking {
    this.alive(where);
    return this.making;
  }

  /** What a model with another rotary encoding is made of; errors name `where`. @internal */
  changed(change: RopeChange, where = 'model.withRope'): ModelMaking {
    const { heap, config, weights, parameters, others } = this.parts(where);
    const ropes = changedRopes(where, config, this.ropes, change);
    const isFunction = typeof change === 'function';
    const position = config.position === 'rope' ? 'none' : config.position;
    if (isFunction ? position !== 'none' && others === undefined : ropes.every((rope) => rope === null)) {
      const problem = `is for models with a rotary encoding; this one has ${position}`;
      throw new ArgumentRangeError(where, 'change', change, problem);
    }
    this.alive(where); // the caller's function may have disposed of it
    // A function tells the encoding of every layer, null for none.
    const rest = isFunction ? others && [] : others;
    const positions = modelPositions(heap, where, config, weights.parts, ropes, rest);
    return { heap, config, weights, positions, parameters, ...(rest && { others: rest }) };
  }

  /** Writes the input of the first layer, token vectors [B, T, M]. @internal */
  protected embed(where: string, out: number, ids: Ids, tokenTypes?: Float64Array, positions?: Float64Array): void {
    const { heap, making } = this;
    const { batch, tokens, values } = ids;
    heap.scope(where, (scratch) => {
      const fields = heap.putCall(scratch, TokenVectorsCall, {
        out,
        batch,
        tokens,
        ids: heap.put(scratch, values),
        types: tokenTypes && heap.put(scratch, tokenTypes),
        positions: positions && heap.put(scratch, positions),
      });
      heap.run(where, () => making.weights.parts.vectors.embed(fields));
    });
  }

  /** @internal */
  protected logits(where: string, rows: Rows, out: Float32Array, first: number): Steps<void> {
    return headLogits(this.heap, where, this.making.weights.parts.head, this.config, rows, out, first);
  }
}

/** Writes the logits of rows to an array from index `first`, a bounded number in each step. @internal */
export function* headLogits(
  heap: Heap,
  where: string,
  head: LogitsHead | undefined,
  { modelDim, vocabSize }: Pick<ModelConfig, 'modelDim' | 'vocabSize'>,
  { at, count }: Rows,
  out: Float32Array,
  first: number,
): Steps<void> {
  const most = Math.max(1, Math.min(count, Math.floor(logitsAtOnce / vocabSize)));
  for (let row = 0; row < count; row += most) {
    const rows = Math.min(most, count - row);
    heap.scope(where, (scratch) => {
      const to = scratch(rows * vocabSize * 4);
      heap.run(where, () => head?.apply(to, at + row * modelDim * 4, rows) ?? 0);
      out.set(heap.floats(to, rows * vocabSize), first + row * vocabSize);
    });
    yield;
  }
}

/** Allocates an array for results, or throws OutOfMemoryError. @internal */
export function room(where: string, shape: readonly number[]): NdArray {
  const size = check.sizeOf(shape);
  try {
    return { data: new Float32Array(size), shape: [...shape] };
  } catch (cause) {
    throw Object.assign(new OutOfMemoryError(`${where}: no room for an array of ${size} numbers`), { cause });
  }
}

function changedRopes(
  where: string,
  { headDim }: ModelConfig,
  ropes: readonly (RopeOptions | null)[],
  change: RopeChange,
): (RopeOptions | null)[] {
  const checked = (name: string, options: Partial<RopeOptions>) => {
    const given = check.options(where, name, options, ropeFields);
    if (given.headDim === undefined || given.headDim === headDim) return { ...given, headDim };
    const problem = `is ${describe(given.headDim)}; the model has ${headDim}`;
    throw new ArgumentRangeError(where, `${name}.headDim`, given.headDim, problem);
  };
  if (typeof change !== 'function') {
    const given = checked('change', change);
    return ropes.map((rope) => rope && { ...rope, ...given });
  }
  return ropes.map((rope, i) => {
    const next = change(rope, i);
    return next === null ? null : checked(`change(rope, ${i})`, next);
  });
}
