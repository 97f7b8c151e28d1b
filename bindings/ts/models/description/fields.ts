// Readers for fields that several families share: sizes, activations, types of layers.

import { agreed, type FieldCheck, type Fields, listOf, oneOf } from '../../checkpoints/fields.js';
import type { LayerActivation } from '../../layers/activations.js';
import type { RopeOptions } from '../../rope/options.js';
import * as check from '../../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, describe } from '../../runtime/errors.js';
import type { ModelBiases, ModelLayerConfig } from './description.js';
import type { LayerType, Reading } from './family.js';

/** A count of at least 1. @internal */
export function size(where: string, name: string, value: unknown): number {
  return check.integer(where, name, value, 1, 2 ** 24);
}

/** A size; required unless its class has a default. @internal */
export function sizeOf(fields: Fields, field: string, fallback?: number): number {
  return fallback === undefined ? fields.need(field, size) : (fields.optional(field, size) ?? fallback);
}

/** A flag; null means the default. @internal */
export function flag(fields: Fields, field: string, fallback: boolean): boolean {
  return fields.optional(field, check.boolean) ?? fallback;
}

/** The sizes of a model's body. @internal */
export interface Sizes {
  readonly modelDim: number;
  readonly hiddenDim: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly vocabSize: number;
  readonly count: number;
}

/** A class's own names of fields. @internal */
export type SizeNames = Readonly<
  Partial<Record<'hidden_size' | 'num_attention_heads' | 'num_hidden_layers' | 'intermediate_size', string>>
>;

/** Default sizes of a class. @internal */
export interface SizeDefaults {
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly vocabSize?: number;
  /** N, by M. */
  readonly hiddenDim?: (modelDim: number) => number;
  /** Files may have these names, or the usual ones. */
  readonly names?: SizeNames;
}

// The name under which the file has a field.
function spelled(fields: Fields, field: keyof SizeNames, { [field]: own = field }: SizeNames): string {
  if (own === field) return field;
  agreed(fields.at(own, field), size);
  return fields.has(field) && !fields.has(own) ? field : own;
}

/** @internal */
export function readSizes({ fields, headDim }: Reading, defaults: SizeDefaults = {}): Sizes {
  const { names = {} } = defaults;
  const [widthName, headsName] = [spelled(fields, 'hidden_size', names), spelled(fields, 'num_attention_heads', names)];
  const modelDim = sizeOf(fields, widthName);
  const heads = sizeOf(fields, headsName, defaults.heads);
  const kvHeads = fields.optional('num_key_value_heads', size) ?? defaults.kvHeads ?? heads;
  if (heads % kvHeads !== 0) {
    throw fields.misfit('num_key_value_heads', `, which does not divide ${headsName}, ${heads}`);
  }
  const stated = fields.optional('head_dim', size) ?? headDim;
  if (stated === undefined && modelDim % heads !== 0) {
    throw fields.misfit(widthName, `, no multiple of ${headsName}, ${heads}; expected that, or head_dim`);
  }
  const wide = spelled(fields, 'intermediate_size', names);
  return {
    modelDim,
    hiddenDim: sizeOf(fields, wide, defaults.hiddenDim?.(modelDim)),
    heads,
    kvHeads,
    headDim: stated ?? modelDim / heads,
    vocabSize: sizeOf(fields, 'vocab_size', defaults.vocabSize),
    // Bounded, because every layer is described before the file is read.
    count: fields.need(spelled(fields, 'num_hidden_layers', names), integerFrom(1, 2 ** 12)),
  };
}

/** @internal */
export const integerFrom =
  (least: number, most?: number): FieldCheck<number> =>
  (...at) =>
    check.integer(...at, least, most);

/** A list of integers from 0 on. @internal */
export const integers = (of: string, most?: number): FieldCheck<readonly number[]> => listOf(of, integerFrom(0, most));

// Names of ACT2FN in Hugging Face's activations.py.
const activations: Readonly<Record<string, LayerActivation>> = {
  gelu: 'gelu',
  gelu_python: 'gelu',
  gelu_new: 'geluTanh',
  gelu_fast: 'geluTanh',
  gelu_pytorch_tanh: 'geluTanh',
  gelu_python_tanh: 'geluTanh',
  silu: 'silu',
  swish: 'silu',
  relu: 'relu',
  tanh: 'tanh',
};

/** @internal */
export function readActivation(fields: Fields, fallback: LayerActivation, field = 'hidden_act'): LayerActivation {
  return fields.optional(field, oneOf(activations)) ?? fallback;
}

/** The sliding window, and which layers have it if there are no layer_types. @internal */
export interface Sliding {
  readonly window: number | undefined;
  readonly slides: (layer: number) => boolean;
  /** Its name in layer_types, where windows are chunks; absent: sliding_attention. */
  readonly type?: 'chunked_attention';
  /** The field with its size. Default sliding_window. */
  readonly field?: string;
}

/** `layer_types`, or by default the types from `slides`. @internal */
export function readLayerTypes(fields: Fields, count: number, { slides, type }: Sliding): readonly LayerType[] {
  const sliding = type ?? 'sliding_attention';
  const typeOf: FieldCheck<LayerType> = (where, name, entry) => {
    if (entry === 'full_attention') return entry;
    if (entry === sliding) return 'sliding_attention';
    const problem = `is ${describe(entry)}; expected "full_attention" or "${sliding}"`;
    throw new ArgumentRangeError(where, name, entry, problem);
  };
  const stated = fields.optional('layer_types', listOf('names', typeOf));
  if (stated === undefined) {
    return Array.from({ length: count }, (_, i) => (slides(i) ? 'sliding_attention' : 'full_attention'));
  }
  if (stated.length === count) return stated;
  throw fields.misfit('layer_types', `, with ${stated.length} entries; num_hidden_layers is ${count}`);
}

/** The layers, with the window and the rotary encoding of their type. @internal */
export function readLayers(
  reading: Reading,
  types: readonly LayerType[],
  { window, type, field = 'sliding_window' }: Omit<Sliding, 'slides'>,
  headDim: number,
  hasRope: (layer: number) => boolean = () => true,
): readonly Omit<ModelLayerConfig, 'feedForward'>[] {
  const { fields } = reading;
  if (window === undefined && types.includes('sliding_attention')) {
    throw new ArgumentTypeError(fields.where, fields.name(field), undefined, 'a size, for layers that slide');
  }
  const ropes = new Map<string, RopeOptions | null>();
  const rotated = types.filter((_, i) => hasRope(i));
  for (const kind of new Set(rotated)) ropes.set(kind, reading.rope(kind, headDim));
  return types.map((kind, i) => ({
    ...(kind === 'sliding_attention' && window !== undefined && { window, ...(type && { chunked: true }) }),
    rope: hasRope(i) ? (ropes.get(kind) ?? null) : null,
  }));
}

/** The biases by `attention_bias` and `mlp_bias`. @internal */
export function readBiases(fields: Fields): ModelBiases {
  const attention = flag(fields, 'attention_bias', false);
  return { attention, attentionOutput: attention, feedForward: flag(fields, 'mlp_bias', false) };
}

/** A setting that null switches off; a missing field means the default of the class. @internal */
export function unlessNull<T>(
  fields: Fields,
  field: string,
  one: FieldCheck<T>,
  fallback: T | undefined,
): T | undefined {
  return Object.hasOwn(fields.values, field) ? fields.optional(field, one) : fallback;
}

/** The sliding window. @internal */
export function readWindow(fields: Fields, fallback: number | undefined): number | undefined {
  return unlessNull(fields, 'sliding_window', size, fallback);
}

/** @internal */
export function readEps(fields: Fields, field: string, fallback: number): number {
  return fields.optional(field, check.positive) ?? fallback;
}
