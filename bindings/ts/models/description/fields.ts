// Fields of a config.json that several architectures have: sizes, activations, kinds of layers, rotary encodings.

import { readRopeConfig } from '../../checkpoints/config.js';
import { type Fields, isRecord, text } from '../../checkpoints/fields.js';
import { isPerLayer } from '../../checkpoints/kinds.js';
import { defaultsOf } from '../../checkpoints/models.js';
import type { LayerActivation } from '../../layers/activations.js';
import type { RopeOptions } from '../../rope/options.js';
import * as check from '../../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, describe } from '../../runtime/errors.js';
import type { ModelLayerConfig, Reading } from './description.js';

/** A count of at least 1. @internal */
export function size(where: string, name: string, value: unknown): number {
  return check.integer(where, name, value, 1, 2 ** 24);
}

/** A size that has to be there, or has the default of its class. @internal */
export function sizeOf(fields: Fields, field: string, fallback?: number): number {
  return fallback === undefined ? fields.need(field, size) : (fields.optional(field, size) ?? fallback);
}

/** A flag; Hugging Face's null is the default. @internal */
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

/** Sizes that a class fills in where the file does not say them. @internal */
export interface SizeDefaults {
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly headDim?: number;
  readonly vocabSize?: number;
}

/** @internal */
export function readSizes(fields: Fields, defaults: SizeDefaults = {}): Sizes {
  const modelDim = sizeOf(fields, 'hidden_size');
  const heads = sizeOf(fields, 'num_attention_heads', defaults.heads);
  const kvHeads = fields.optional('num_key_value_heads', size) ?? defaults.kvHeads ?? heads;
  if (heads % kvHeads !== 0) {
    throw fields.misfit('num_key_value_heads', `, which does not divide num_attention_heads, ${heads}`);
  }
  const stated = fields.optional('head_dim', size) ?? defaults.headDim;
  if (stated === undefined && modelDim % heads !== 0) {
    throw fields.misfit('hidden_size', `, no multiple of num_attention_heads, ${heads}; expected that, or head_dim`);
  }
  return {
    modelDim,
    hiddenDim: sizeOf(fields, 'intermediate_size'),
    heads,
    kvHeads,
    headDim: stated ?? modelDim / heads,
    vocabSize: sizeOf(fields, 'vocab_size', defaults.vocabSize),
    // Each layer is described before the file is looked at.
    count: fields.need('num_hidden_layers', (where, name, value) => check.integer(where, name, value, 1, 2 ** 12)),
  };
}

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

function activation(where: string, name: string, value: unknown): LayerActivation {
  const known = text(where, name, value);
  const found = Object.hasOwn(activations, known) ? activations[known] : undefined;
  if (found !== undefined) return found;
  const expected = Object.keys(activations).map(describe).join(', ');
  throw new ArgumentRangeError(where, name, value, `is ${describe(value)}; expected one of ${expected}`);
}

/** @internal */
export function readActivation(fields: Fields, fallback: LayerActivation, field = 'hidden_act'): LayerActivation {
  return fields.optional(field, activation) ?? fallback;
}

/** The type of a layer in `layer_types`. @internal */
export type LayerType = 'full_attention' | 'sliding_attention';

function layerTypes(where: string, name: string, value: unknown): readonly LayerType[] {
  if (!Array.isArray(value)) throw new ArgumentTypeError(where, name, value, 'an array of names');
  return value.map((entry: unknown, i) => {
    if (entry === 'full_attention' || entry === 'sliding_attention') return entry;
    const problem = `is ${describe(entry)}; expected "full_attention" or "sliding_attention"`;
    throw new ArgumentRangeError(where, `${name}[${i}]`, entry, problem);
  });
}

/** `layer_types`, or what the class makes of its other fields: whether layer i slides. @internal */
export function readLayerTypes(
  fields: Fields,
  count: number,
  slides: (layer: number) => boolean,
): readonly LayerType[] {
  const stated = fields.optional('layer_types', layerTypes);
  if (stated === undefined) {
    return Array.from({ length: count }, (_, i) => (slides(i) ? 'sliding_attention' : 'full_attention'));
  }
  if (stated.length === count) return stated;
  throw fields.misfit('layer_types', `, with ${stated.length} entries; num_hidden_layers is ${count}`);
}

/** The layers: windows by type, and the rotary encoding of each type. @internal */
export function readLayers(
  reading: Reading,
  types: readonly LayerType[],
  window: number | undefined,
  headDim: number,
  hasRope: (layer: number) => boolean = () => true,
): readonly Omit<ModelLayerConfig, 'feedForward'>[] {
  const { fields } = reading;
  if (window === undefined && types.includes('sliding_attention')) {
    throw new ArgumentTypeError(
      fields.where,
      fields.name('sliding_window'),
      undefined,
      'a size, for layers that slide',
    );
  }
  const ropes = new Map<string, RopeOptions | null>();
  for (const type of new Set(types)) ropes.set(type, readRope(reading, type, headDim));
  return types.map((type, i) => ({
    ...(type === 'sliding_attention' && window !== undefined && { window }),
    rope: hasRope(i) ? (ropes.get(type) ?? null) : null,
  }));
}

// Options of the rope of a type of layer. The other reader knows every spelling there has been.
/** @internal */
export function readRope(
  { fields, architecture, sequenceLength }: Reading,
  type: LayerType,
  headDim: number,
): RopeOptions | null {
  const { where } = fields;
  const values = { ...fields.values, model_type: architecture };
  const nested = ['rope_parameters', 'rope_scaling'].some((field) => {
    const object = fields.peek(field);
    return isRecord(object) && isPerLayer(object);
  });
  const perType = nested || defaultsOf(architecture).localBase !== undefined;
  const asked = {
    ...(perType && { layerType: type }),
    ...(sequenceLength !== undefined && { sequenceLength }),
  };
  const reading = readRopeConfig(where, values, asked);
  if (reading === null) return null;
  const ropeFields = Object.keys(values).filter((field) => /rope|rotary|partial_rotary|^original_max_pos/.test(field));
  const unread = reading.unused.find((field) => ropeFields.includes(field) && fields.peek(field) !== false);
  fields.use(...ropeFields.filter((field) => field !== unread));
  if (reading.options.headDim !== headDim) {
    const problem = `is ${headDim}, but its rotary encoding is for heads of ${reading.options.headDim}`;
    throw new ArgumentRangeError(where, fields.name('head_dim'), headDim, problem);
  }
  if (reading.options.axes !== undefined) {
    throw new ArgumentRangeError(
      where,
      fields.name('mrope_section'),
      values,
      'is for positions with several axes; expected text',
    );
  }
  return reading.options;
}

/** @internal */
export function readEps(fields: Fields, field: string, fallback: number): number {
  return fields.optional(field, check.positive) ?? fallback;
}
