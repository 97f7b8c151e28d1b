// Makes a model with another position encoding over the same weights.

import { visibilityOf } from '../attention/visibility.js';
import type { T5Options } from '../encodings/t5.js';
import {
  attentionShapes,
  type CheckedPosition,
  checkPosition,
  type LayerHeads,
  type TransformerPosition,
} from '../layers/position.js';
import type { RopeOptions } from '../rope/options.js';
import type { RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import { orDisposed } from '../runtime/handle.js';
import type { Heap } from '../runtime/heap.js';
import { Tensor } from '../runtime/tensor.js';
import { randomAt } from '../sampling/random.js';
import { checkSeed } from '../sampling/sampling.js';
import type { DecoderModel } from './decoder.js';
import type { OtherPosition } from './description/family.js';
import type { EncoderModel } from './encoder.js';
import { Model, type ModelMaking } from './model.js';
import { modelPositions } from './positions.js';

/**
 * A position encoding of a layer, with its options as in `TransformerPosition`; parameters that are left out are drawn at
 * random.
 */
export type ModelEncoding =
  | Exclude<
      TransformerPosition,
      {
        /** Plans belong to the model. */
        plan: RopePlan;
      }
    >
  | ({
      /** With a random table [numBuckets, H]. */
      encoding: 't5';
    } & T5Options)
  | {
      /** With random tables, or random r1 and r2 from 0.5 to 1.5; FIRE with c 0.1, threshold 512 and width 32. */
      encoding: 'shaw' | 'relative_key' | 'relative_key_query' | 'm3' | 'kerple' | 'fire';
    };

/** Options of `replaceEncoding`. */
export interface ReplaceEncodingOptions {
  /**
   * The most tokens of a pass and its cache, for encodings that add to scores by distance (ALiBi, T5, KERPLE, FIRE,
   * Sandwich): those keep [H, 2 maxLength - 1] numbers for each layer. Random tables of BERT's encodings have rows for as
   * many. Default 1024.
   */
  maxLength?: number;
  /** Random tables of `shaw` have rows for distances up to this one. Default 64. */
  maxDistance?: number;
  /** An integer from 0 to 2^53 - 1; the same seed gives the same random parameters. Default 0. */
  seed?: number;
  /** Standard deviation of numbers in random tables, which are uniform around 0. Default 0.02. */
  deviation?: number;
}

const where = 'replaceEncoding';

interface Sizes {
  readonly heads: number;
  readonly headDim: number;
  readonly buckets: number;
  readonly maxDistance: number;
  readonly maxLength: number;
}

type Draw = (...shape: readonly number[]) => { data: Float32Array; shape: readonly number[] };

const bertTable = { table: (draw: Draw, { maxLength, headDim }: Sizes) => draw(2 * maxLength - 1, headDim) };

// The parameters that an encoding has; those that are not given are drawn.
const parameters: Readonly<Record<string, Readonly<Record<string, (draw: Draw, sizes: Sizes) => unknown>>>> = {
  t5: { table: (draw, { buckets, heads }) => draw(buckets, heads) },
  shaw: { keys: (draw, { maxDistance, headDim }) => draw(2 * maxDistance + 1, headDim) },
  relative_key: bertTable,
  relative_key_query: bertTable,
  m3: bertTable,
  kerple: { r1: positive, r2: positive },
  fire: {
    c: () => 0.1,
    threshold: () => 512,
    hiddenWeights: (draw) => draw(32),
    hiddenBias: (draw) => draw(32),
    outWeights: (draw, { heads }) => draw(heads, 32),
    outBias: (draw, { heads }) => draw(heads),
  },
};

// Numbers from 0.5 to 1.5, one for each head.
function positive(draw: Draw, { heads }: Sizes): Float32Array {
  const { data } = draw(heads);
  const most = data.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  return data.map((x) => 1 + x / most / 2);
}

// A copy, since layers share what is given once.
function readEncoding(source: unknown): Record<string, unknown> {
  return { ...check.plainObject(where, 'encoding', check.read(source), "options such as { encoding: 'alibi' }") };
}

const byDistance = ['alibi', 't5', 'kerple', 'fire', 'sandwich'];

// An encoding that adds to scores by distance, as a table for all distances below maxLength in the heap: the layers of a
// model are registered once, for passes of any length.
function tabulated(heap: Heap, position: CheckedPosition, dims: LayerHeads, maxLength: number): CheckedPosition {
  const heads = { tokensFirst: true, batch: 1, heads: dims.heads, tokens: maxLength, dim: dims.headDim };
  const visibility = visibilityOf(where, { causal: false, left: -1, right: -1, sinkTokens: 0 }, {}, heads, heads);
  const shapes = attentionShapes(dims, 1, maxLength, maxLength, visibility);
  return heap.scope(where, (scratch) => {
    const { distanceBias = 0, distanceCount = 0, ...rest } = position.part(shapes, scratch);
    const table = new Tensor(heap, [rest.fire ? 1 : dims.heads, distanceCount], where);
    heap.move(distanceBias, table.pointer, table.size * 4);
    const part = { ...rest, distanceBias: table.pointer, distanceCount };
    return { ...position, owned: [...position.owned, table.adopted()], part: () => part };
  });
}

/** @internal */
export function replaced<M extends EncoderModel | DecoderModel>(
  model: M,
  encoding: ModelEncoding | ((layer: number) => ModelEncoding),
  options: ReplaceEncodingOptions,
): M {
  if (!(model instanceof Model))
    throw new ArgumentTypeError(where, 'model', model, 'an encoder or a decoder, as loadModel() gives it');
  const given = check.options(where, 'options', options, ['maxLength', 'maxDistance', 'seed', 'deviation']);
  const maxLength = check.integer(where, 'maxLength', given.maxLength ?? 1024, 1, 2 ** 20);
  const maxDistance = check.integer(where, 'maxDistance', given.maxDistance ?? 64, 1, 2 ** 20);
  const seed = checkSeed(where, given.seed ?? 0);
  const deviation = check.positive(where, 'deviation', given.deviation ?? 0.02);
  const { heap, config, weights, parameters: count } = model.parts(where);
  if (config.position === 'absolute') {
    const problem = 'adds its positions to the token vectors; expected a model whose layers have them';
    throw new ArgumentRangeError(where, 'model', model, problem);
  }
  let drawn = 0;
  const draw: Draw = (...shape) => {
    const data = new Float32Array(check.sizeOf(shape));
    for (let i = 0; i < data.length; ++i) data[i] = (2 * randomAt(seed, drawn++) - 1) * Math.sqrt(3) * deviation;
    return { data, shape };
  };
  const { heads, headDim } = config;
  const shared = typeof encoding === 'function' ? undefined : readEncoding(encoding);
  const layers = config.layers.map((_, i) => {
    const { encoding: name, ...fields } = shared ?? readEncoding((encoding as (layer: number) => unknown)(i));
    if ('headDim' in fields) {
      const problem = `is ${fields.headDim}; it follows from the model and is not an option`;
      throw new ArgumentRangeError(where, 'encoding.headDim', fields.headDim, problem);
    }
    if (name === 'rope') return { rope: { ...fields, headDim } as RopeOptions };
    const isT5 = name === 't5';
    const buckets = isT5 ? check.integer(where, 'encoding.numBuckets', fields.numBuckets ?? 32, 1, 2 ** 16) : 0;
    const sizes = { heads, headDim, buckets, maxDistance, maxLength };
    const random = Object.entries(parameters).find(([other]) => other === name)?.[1] ?? {};
    for (const [field, make] of Object.entries(random)) {
      if (fields[field] === undefined) fields[field] = make(draw, sizes);
    }
    if (isT5 && fields.bidirectional === undefined) fields.bidirectional = model.kind === 'encoder';
    return { position: { encoding: name, ...fields } };
  });
  model.parts(where); // the caller's function may have disposed of it
  const ropes = layers.map(({ rope }) => rope ?? null);
  const others = layers.map(({ position = { encoding: 'none' } }): OtherPosition => {
    const limited = byDistance.includes(position.encoding as string);
    return {
      maxLength: limited ? maxLength : Number.POSITIVE_INFINITY,
      make(dims, scores) {
        const checked = checkPosition(heap, where, position, dims, scores);
        return limited ? orDisposed(checked.owned, () => tabulated(heap, checked, dims, maxLength)) : checked;
      },
    };
  });
  const positions = modelPositions(heap, where, config, weights.parts, ropes, others);
  const Made = model.constructor as new (making: ModelMaking) => M;
  return new Made({ heap, config, weights, positions, parameters: count, others });
}
