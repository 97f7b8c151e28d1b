// The decoders: what each class of Hugging Face does with its fields, and its defaults (configuration_*.py,
// modeling_*.py).

import { agreed, type Fields, isRecord, text } from '../../checkpoints/fields.js';
import type { LayerActivation } from '../../layers/activations.js';
import * as check from '../../runtime/check.js';
import { ArgumentTypeError } from '../../runtime/errors.js';
import type { ModelDescription, ModelFeedForward, Reading } from './description.js';
import {
  flag,
  readActivation,
  readEps,
  readLayers,
  readLayerTypes,
  readSizes,
  type SizeDefaults,
  type Sizes,
  size,
  sizeOf,
} from './fields.js';

const noBiases = { attention: false, attentionOutput: false, feedForward: false };
const always = () => true;
const never = () => false;

/** What the families differ in; the rest is LLaMA's. */
interface Family {
  readonly sizes?: SizeDefaults;
  /** Whether layer i slides where there are no layer_types, and the window. */
  readonly sliding?: (sizes: Sizes) => { window: number | undefined; slides: (layer: number) => boolean };
  readonly hasRope?: (sizes: Sizes) => (layer: number) => boolean;
  /** Of layer i. */
  readonly feedForward?: (sizes: Sizes, layer: number) => ModelFeedForward;
  /** Where the file does not say it. */
  readonly tied?: boolean;
  readonly eps?: number;
  readonly part: (sizes: Sizes) => Partial<ModelDescription>;
}

function decoder(reading: Reading, family: Family): ModelDescription {
  const { fields } = reading;
  const sizes = readSizes(fields, family.sizes);
  const { window, slides } = family.sliding?.(sizes) ?? { window: undefined, slides: never };
  const types = readLayerTypes(fields, sizes.count, slides);
  const layers = readLayers(reading, types, window, sizes.headDim, family.hasRope?.(sizes));
  const { count: _, hiddenDim, ...dims } = sizes;
  return {
    ...dims,
    kind: 'decoder',
    embeddingDim: sizes.modelDim,
    layers: layers.map((layer, i) => ({
      ...layer,
      feedForward: family.feedForward?.(sizes, i) ?? { kind: 'gated', hiddenDim },
    })),
    position: 'rope',
    tokenTypes: 0,
    norms: 'pre',
    norm: 'rms',
    eps: family.eps ?? readEps(fields, 'rms_norm_eps', 1e-6),
    unitOffset: false,
    queryKeyNorm: false,
    activation: 'silu',
    biases: noBiases,
    scale: 1 / Math.sqrt(sizes.headDim),
    scaledEmbeddings: false,
    turnValues: false,
    tiedEmbeddings: flag(fields, 'tie_word_embeddings', family.tied ?? false),
    ...family.part(sizes),
  };
}

// The biases that `attention_bias` and `mlp_bias` switch on together.
function biasesOf(fields: Fields): ModelDescription['biases'] {
  const attention = flag(fields, 'attention_bias', false);
  return { attention, attentionOutput: attention, feedForward: flag(fields, 'mlp_bias', false) };
}

// A window of all layers; null switches it off, and where the field is missing the class has its own.
function windowOf(fields: Fields, fallback: number | undefined): number | undefined {
  if (!Object.hasOwn(fields.values, 'sliding_window')) return fallback;
  return fields.optional('sliding_window', size);
}

// Layers may be said to slide whether or not the class would make them so.
function everyLayer(fields: Fields, fallback: number | undefined) {
  const window = windowOf(fields, fallback);
  return { window, slides: window === undefined ? never : always };
}

/** @internal */
export function readLlama(reading: Reading): ModelDescription {
  const { fields } = reading;
  return decoder(reading, {
    part: () => ({ activation: readActivation(fields, 'silu'), biases: biasesOf(fields) }),
  });
}

/** @internal */
export function readMistral(reading: Reading): ModelDescription {
  const { fields } = reading;
  return decoder(reading, {
    sliding: () => everyLayer(fields, 4096),
    part: () => ({ activation: readActivation(fields, 'silu') }),
  });
}

// The first max_window_layers see everything, the others slide, where use_sliding_window is set.
function qwenWindow(fields: Fields) {
  const uses = flag(fields, 'use_sliding_window', false);
  const stated = windowOf(fields, 4096);
  const first =
    fields.optional('max_window_layers', (where, name, value) => check.integer(where, name, value, 0)) ?? 28;
  const window = uses ? stated : undefined;
  return { window, slides: (layer: number) => window !== undefined && layer >= first };
}

/** @internal */
export function readQwen2(reading: Reading): ModelDescription {
  const { fields } = reading;
  return decoder(reading, {
    sliding: () => qwenWindow(fields),
    part: () => ({
      activation: readActivation(fields, 'silu'),
      biases: { attention: true, attentionOutput: false, feedForward: false },
    }),
  });
}

/** @internal */
export function readQwen3(reading: Reading): ModelDescription {
  const { fields } = reading;
  return decoder(reading, {
    sizes: { headDim: 128 },
    sliding: () => qwenWindow(fields),
    part: () => ({
      activation: readActivation(fields, 'silu'),
      biases: { ...biasesOf(fields), feedForward: false },
      queryKeyNorm: true,
    }),
  });
}

// Older files say `yarn`, which Phi-3's class takes for LongRoPE and the code that came with them did not.
function refuseYarn(fields: Fields): void {
  for (const field of ['rope_parameters', 'rope_scaling']) {
    const rope = fields.peek(field);
    if (isRecord(rope) && [rope.rope_type, rope.type].includes('yarn')) {
      throw fields.misfit(field, ' of type "yarn"; expected "longrope", the only scaling of Phi-3');
    }
  }
}

/** @internal */
export function readPhi3(reading: Reading): ModelDescription {
  const { fields } = reading;
  refuseYarn(fields);
  return decoder(reading, {
    eps: readEps(fields, 'rms_norm_eps', 1e-5),
    sliding: () => everyLayer(fields, undefined),
    part: () => ({
      activation: readActivation(fields, 'silu'),
      biases: noBiases,
    }),
  });
}

// A list of 1 for each layer with a rotary encoding and 0 for one without; or every nth layer is without.
function ropeLayers(fields: Fields, { count }: Sizes): (layer: number) => boolean {
  const interval = sizeOf(fields, 'no_rope_layer_interval', 4);
  const list = fields.optional('no_rope_layers', (where, name, value) => {
    if (!Array.isArray(value)) throw new ArgumentTypeError(where, name, value, 'an array of 0 and 1');
    return value.map((entry: unknown, i) => check.integer(where, `${name}[${i}]`, entry, 0, 1));
  });
  if (list === undefined) return (layer) => (layer + 1) % interval !== 0;
  if (list.length >= count) return (layer) => list[layer] === 1;
  throw fields.misfit('no_rope_layers', `, with ${list.length} entries; num_hidden_layers is ${count}`);
}

/** @internal */
export function readSmollm3(reading: Reading): ModelDescription {
  const { fields } = reading;
  return decoder(reading, {
    sizes: { heads: 16, kvHeads: 4 },
    tied: true,
    hasRope: (sizes) => ropeLayers(fields, sizes),
    sliding: (sizes) => {
      const hasRope = ropeLayers(fields, sizes);
      const stated = windowOf(fields, undefined);
      const window = flag(fields, 'use_sliding_window', false) ? stated : undefined;
      return { window, slides: (layer) => window !== undefined && !hasRope(layer) };
    },
    part: () => ({ activation: readActivation(fields, 'silu'), biases: biasesOf(fields) }),
  });
}

// Older files say `gelu` in hidden_act and mean its approximation by tanh, which hidden_activation says.
function gemmaActivation(fields: Fields): LayerActivation {
  const stated = readActivation(fields, 'geluTanh', 'hidden_activation');
  const older = fields.optional('hidden_act', text);
  if (fields.has('hidden_activation') || older === undefined || older === 'gelu') return stated;
  return readActivation(fields, stated);
}

function gemma(fields: Fields): Partial<ModelDescription> {
  return {
    unitOffset: true,
    activation: gemmaActivation(fields),
    biases: { ...biasesOf(fields), feedForward: false },
    scaledEmbeddings: true,
  };
}

/** @internal */
export function readGemma(reading: Reading): ModelDescription {
  const { fields } = reading;
  return decoder(reading, { sizes: { headDim: 256 }, tied: true, part: () => gemma(fields) });
}

function softcap(fields: Fields, field: string, fallback: number | undefined): number | undefined {
  return Object.hasOwn(fields.values, field) ? fields.optional(field, check.positive) : fallback;
}

// What Gemma 2 and 3 have beside Gemma; softcaps that the class fills in where the file does not say null.
function sandwich(
  fields: Fields,
  attention: number | undefined,
  logits: number | undefined,
): Partial<ModelDescription> {
  const cap = softcap(fields, 'attn_logit_softcapping', attention);
  const last = softcap(fields, 'final_logit_softcapping', logits);
  return {
    ...gemma(fields),
    norms: 'sandwich',
    scale: 1 / Math.sqrt(fields.optional('query_pre_attn_scalar', check.positive) ?? 256),
    ...(cap !== undefined && { softcap: cap }),
    ...(last !== undefined && { logitSoftcap: last }),
  };
}

// Every nth layer sees everything.
function pattern(fields: Fields, fallback: number) {
  const every = agreed(fields.at('sliding_window_pattern', '_sliding_window_pattern'), size)?.value ?? fallback;
  return { window: windowOf(fields, 4096), slides: (layer: number) => (layer + 1) % every !== 0 };
}

/** @internal */
export function readGemma2(reading: Reading): ModelDescription {
  const { fields } = reading;
  return decoder(reading, {
    sizes: { headDim: 256 },
    tied: true,
    sliding: () => pattern(fields, 2),
    part: () => sandwich(fields, 50, 30),
  });
}

/** @internal */
export function readGemma3(reading: Reading): ModelDescription {
  const { fields } = reading;
  return decoder(reading, {
    sizes: { heads: 8, kvHeads: 4, headDim: 256, vocabSize: 262208 },
    tied: true,
    sliding: () => pattern(fields, 6),
    part: () => ({ ...sandwich(fields, undefined, undefined), queryKeyNorm: true }),
  });
}

/** @internal */
export function readGptNeox(reading: Reading): ModelDescription {
  const { fields } = reading;
  const parallel = flag(fields, 'use_parallel_residual', true);
  const attention = flag(fields, 'attention_bias', true);
  return decoder(reading, {
    eps: readEps(fields, 'layer_norm_eps', 1e-5),
    feedForward: ({ hiddenDim }) => ({ kind: 'dense', hiddenDim }),
    part: ({ heads, kvHeads }) => {
      if (kvHeads !== heads) throw fields.misfit('num_key_value_heads', `; expected num_attention_heads, ${heads}`);
      return {
        norms: parallel ? 'parallel' : 'pre',
        norm: 'layer',
        activation: readActivation(fields, 'gelu'),
        biases: { attention, attentionOutput: attention, feedForward: true },
      };
    },
  });
}
