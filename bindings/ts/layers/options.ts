// Options of all layers with attention: sizes, weights, and how scores are formed.

import { type Bounds, boundsOf, type VisibilityOptions } from '../attention/visibility.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { LayerHeads } from './position.js';
import type { WeightArithmetic, WeightInput, WeightStorage } from './weights.js';

/** Sizes of a layer with attention. */
export interface LayerSizeOptions {
  /** M, width of the input and the output. */
  modelDim: number;
  /** H, query heads. */
  heads: number;
  /** G, key/value heads; consecutive query heads share one. Default heads. */
  kvHeads?: number;
  /** D. Default modelDim / heads. */
  headDim?: number;
  /** Dv, size of a value. Default headDim. */
  valueDim?: number;
}

/** How a layer's scores are formed, and how it keeps its weights. */
export interface LayerAttentionOptions extends Pick<VisibilityOptions, 'causal' | 'window' | 'sinkTokens'> {
  /** Multiplies q . k. Default 1 / sqrt(headDim). */
  scale?: number;
  /** c tanh(score / c); above 0. Default none. */
  softcap?: number;
  /** `rope` turns the values as well (`rotary_value` of RoFormer); the layer takes no cache. Default false. */
  turnValues?: boolean;
  /** How the matrices are kept. Default `as given`. */
  storage?: WeightStorage;
  /** How products with matrices in blocks are computed. Default `int8`. */
  arithmetic?: WeightArithmetic;
}

/** Weights of attention [out, in], row major; biases may be left out. They are copied. */
export interface AttentionLayerWeights {
  /** [heads * headDim, modelDim] */
  query: WeightInput;
  /** [kvHeads * headDim, modelDim] */
  key: WeightInput;
  /** [kvHeads * valueDim, modelDim] */
  value: WeightInput;
  /** [modelDim, heads * valueDim] */
  output: WeightInput;
  /** [heads * headDim]. Default none. */
  queryBias?: WeightInput;
  /** [kvHeads * headDim]. Default none. */
  keyBias?: WeightInput;
  /** [kvHeads * valueDim]. Default none. */
  valueBias?: WeightInput;
  /** [modelDim]. Default none. */
  outputBias?: WeightInput;
}

/** @internal */
export const sizeFields = ['modelDim', 'heads', 'kvHeads', 'headDim', 'valueDim'] as const;
/** @internal */
export const scoreFields = [
  'causal',
  'window',
  'sinkTokens',
  'scale',
  'softcap',
  'turnValues',
  'storage',
  'arithmetic',
] as const;

/** Checked sizes. @internal */
export interface LayerDims extends LayerHeads {
  readonly modelDim: number;
}

/** @internal */
export function checkDims(where: string, options: LayerSizeOptions): LayerDims {
  const modelDim = check.integer(where, 'modelDim', options.modelDim, 1, 2 ** 16);
  const heads = check.integer(where, 'heads', options.heads, 1, 2 ** 12);
  const kvHeads = check.integer(where, 'kvHeads', options.kvHeads ?? heads, 1, heads);
  if (heads % kvHeads !== 0) {
    throw new ArgumentRangeError(where, 'kvHeads', kvHeads, `is ${kvHeads}, which does not divide heads, ${heads}`);
  }
  if (options.headDim === undefined && modelDim % heads !== 0) {
    const problem = `is ${heads}, which does not divide modelDim, ${modelDim}; give headDim`;
    throw new ArgumentRangeError(where, 'heads', heads, problem);
  }
  const headDim = check.integer(where, 'headDim', options.headDim ?? modelDim / heads, 1, 2 ** 16);
  const valueDim = check.integer(where, 'valueDim', options.valueDim ?? headDim, 1, 2 ** 16);
  return { modelDim, heads, kvHeads, headDim, valueDim };
}

/** Checked options of a layer's scores. @internal */
export interface LayerScores {
  readonly visibility: Bounds;
  readonly scale: number;
  readonly softcap: number;
  readonly turnValues: boolean;
}

/** @internal */
export function checkScores(
  where: string,
  options: LayerAttentionOptions,
  dims: LayerDims,
  causal: boolean,
): LayerScores {
  const softcap = options.softcap === undefined ? 0 : check.positiveFloat32(where, 'softcap', options.softcap);
  return {
    visibility: boundsOf(where, options, causal),
    scale: check.float32Number(where, 'scale', options.scale ?? 1 / Math.sqrt(dims.headDim)),
    softcap,
    turnValues: check.boolean(where, 'turnValues', options.turnValues ?? false),
  };
}
