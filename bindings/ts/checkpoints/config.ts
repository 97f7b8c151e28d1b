// Reads RoPE options from a Hugging Face config.json of any version: rope_scaling or rope_parameters, type or
// rope_type, one object for all layers or one for each type of layer.

import {
  checkRopeOptions,
  type Pairing,
  pairings,
  type RopeAxes,
  type RopeOptions,
  type RopeScaling,
} from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, describe } from '../runtime/errors.js';
import { agreed, configOf, Fields, isRecord, sizes, text } from './fields.js';
import { checkSame, fieldName, given, isPerLayer, type KindName, type KindReading, kindOf, kinds } from './kinds.js';
import { type ClassDefaults, classOf, interleaveFields, modelName } from './models.js';
import { headSize } from './sizes.js';

/** Options of ropeFromConfig, for settings that a config.json lacks. */
export interface RopeConfigOptions {
  /** The type of layer, such as `full_attention`; required where each type has its own RoPE. No default. */
  layerType?: string;
  /** The length in use, in tokens; `dynamic` and `longrope` depend on it. Default: the training length. */
  sequenceLength?: number;
  /**
   * Default: the pairing of the model_type; for an unknown one `half`, or `interleaved` with latent attention.
   * `rw.explainRope` tells what is known and what is assumed.
   */
  pairing?: Pairing;
}

/**
 * Where a fact is from: an option, a field of the file, what is known of the model's class, or nowhere, since the
 * model_type is not known.
 */
export type RopeFactSource = 'option' | 'file' | 'class' | 'assumed';

/** Where the facts are from that a config.json may leave to the code of the model. */
export interface RopeSources {
  /** Which coordinates form a pair. */
  readonly pairing: RopeFactSource;
  /** The base of the frequencies. */
  readonly base: RopeFactSource;
  /** How many coordinates of a head turn. */
  readonly rotaryDim: RopeFactSource;
  /** Which types of layers turn at all. */
  readonly layers: RopeFactSource;
}

/** The options of a configuration, and how they were found. @internal */
export interface ConfigReading {
  readonly options: RopeOptions;
  /** The model_type, without `_text`; '' where there is none. */
  readonly model: string;
  readonly known: ClassDefaults;
  readonly sources: RopeSources;
  readonly kindName: KindName;
  readonly kind: KindReading;
  readonly perLayer: boolean;
  /** Fields about RoPE that the options do not depend on. */
  readonly unused: readonly string[];
}

const lengthFields = ['max_position_embeddings', 'n_positions'] as const;
const trained = ['max_trained_positions', 'max_position_embeddings'] as const;
const baseFields = ['rope_theta', 'rotary_emb_base', 'rope_embedding_base'] as const;

// Bases of sliding and full attention layers in files older than rope_parameters.
const layerBases = [
  { sliding_attention: 'rope_local_base_freq', full_attention: 'rope_theta' },
  { sliding_attention: 'local_rope_theta', full_attention: 'global_rope_theta' },
] as const;

const speaksOfRope = /rope|rotary|yarn|^original_max_position/;

// Where models with images or sound keep the fields of their text model.
const textFields = ['text_config', 'llm_config', 'language_config', 'thinker_config'] as const;

// Types of layers that are no softmax attention, and fields that are false where no layer has RoPE.
const withoutAttention = /^(linear_attention|conv|mamba\d?|recurrent|moe|mlp)$/;
const switches = ['use_rope', 'use_mem_rope'] as const;

/**
 * Options of `rw.rope()` from a Hugging Face config.json (the parsed object; of a multimodal model, its text_config is
 * read), or null for layers without RoPE. Defaults and fallbacks are Hugging Face's.
 *
 * @throws ArgumentTypeError or ArgumentRangeError that names the field, where one is missing, is of an unknown kind, or
 *   contradicts another.
 *
 * @example
 * const config = { model_type: 'qwen2', hidden_size: 896, num_attention_heads: 14, rope_theta: 1000000 };
 * const options = ropeFromConfig(config);   // { headDim: 64, base: 1000000, pairing: 'half' }
 */
export function ropeFromConfig(
  config: Readonly<Record<string, unknown>>,
  options: RopeConfigOptions = {},
): RopeOptions | null {
  return readRopeConfig('ropeFromConfig', config, options)?.options ?? null;
}

/** @internal */
export const configFields = ['layerType', 'sequenceLength', 'pairing'] as const;

function askedOf(where: string, options: RopeConfigOptions): RopeConfigOptions {
  const asked = check.options(where, 'options', options, configFields);
  if (asked.layerType !== undefined) text(where, 'layerType', asked.layerType);
  if (asked.sequenceLength !== undefined) check.integer(where, 'sequenceLength', asked.sequenceLength, 0);
  if (asked.pairing !== undefined) check.choice(where, 'pairing', asked.pairing, pairings);
  return asked;
}

/** Gives null for layers without RoPE. @internal */
export function readRopeConfig(where: string, source: unknown, options: RopeConfigOptions): ConfigReading | null {
  const outer = new Fields(where, '', configOf(where, source));
  const asked = askedOf(where, options);
  const config = textConfig(outer);
  if (isRecord(config.peek('encoder')) && isRecord(config.peek('decoder'))) {
    throw config.misfit('decoder', '; give it, or the encoder');
  }
  const modelType = config.optional('model_type', text) ?? outer.optional('model_type', text);
  const model = modelName(modelType ?? '');
  // Without latent attention (DeepSeek-OCR, DeepSeek-VL2 tiny) a model is not what its class is otherwise.
  const known = config.peek('qk_rope_head_dim') === 0 ? undefined : classOf(model);
  refuseUnlike(config, model, known);
  const defaults: ClassDefaults = known ?? {};
  const layer = ropeOfLayer(config, asked.layerType, defaults);
  if (layer === null || hasNoRope(config, model, asked.layerType, defaults)) return null;

  const kindName = kindOf(layer.rope);
  // rope_scaling always names its kind; rope_parameters may omit `default`.
  const oldSpelling = layer.rope.path.endsWith('rope_scaling') && Object.keys(layer.rope.values).length > 0;
  if (oldSpelling && kindName.fields.length === 0) layer.rope.need('rope_type', text);
  const stated = agreed(layer.base, check.base);
  // ChatGLM multiplies the base.
  const ratio = config.optional('rope_ratio', check.positive) ?? 1;
  const base = ratio * (stated?.value ?? layer.fallback ?? 10000);
  const size = headSize(config, layer.rope, asked.layerType, kindName.kind, defaults);
  const kind: KindReading = {
    rope: layer.rope,
    config,
    pairs: size.rotaryDim / 2,
    rotaryFraction: size.fraction,
    sequenceLength: asked.sequenceLength,
    // Nomic's files have n_positions too: how far a scaling that is not theirs would reach.
    maxLength: agreed(config.at(...(config.has('max_trained_positions') ? trained : lengthFields)), check.positive)
      ?.value,
    classLength: defaults.originalLength,
  };
  let scaling = kinds[kindName.kind]?.(kind) ?? { type: 'default' };
  if (model === 'qwen' && config.optional('use_dynamic_ntk', check.boolean)) scaling = steppedNtk(kind);
  if (defaults.reversed) scaling = backwards(layer.rope, kindName, base, size.rotaryDim);
  if (kind.trainingLength === undefined && kind.maxLength !== undefined) kind.trainingLength = kind.maxLength;
  const [pairing, pairingSource] = pairingOf(config, asked, defaults);
  const fromFile = (given: boolean): RopeFactSource => {
    if (given && !layer.ofClass) return 'file';
    return known === undefined ? 'assumed' : 'class';
  };
  const ropeOptions = given<RopeOptions>({
    headDim: size.headDim,
    rotaryDim: size.rotaryDim === size.headDim ? undefined : size.rotaryDim,
    base,
    pairing,
    scaling: scaling.type === 'default' ? undefined : scaling,
    axes: mropeAxes(layer.rope, defaults, kindName, size.rotaryDim / 2),
  });
  checkRopeOptions(where, ropeOptions, (option) =>
    option === 'base' ? (stated?.name ?? 'rope_theta') : fieldName(kind, option),
  );
  const tops = [...new Set([outer, config])];
  const unusedTop = tops.flatMap((fields) => {
    const unused = fields.unused().filter((field) => speaksOfRope.test(field));
    return unused.map((field) => fields.name(field));
  });
  return {
    options: ropeOptions,
    model,
    known: defaults,
    sources: {
      pairing: pairingSource,
      base: fromFile(stated !== undefined),
      rotaryDim: fromFile(size.stated),
      layers: fromFile(layer.perLayer),
    },
    kindName,
    kind,
    perLayer: layer.perLayer,
    unused: [...layer.rope.unused().map((field) => layer.rope.name(field)), ...unusedTop],
  };
}

function mentionsRope(config: Fields): boolean {
  if (config.inner('attn_config').peek('rope') === true) return true;
  return Object.keys(config.values).some((field) => speaksOfRope.test(field) && config.has(field));
}

function textConfig(fields: Fields): Fields {
  const name = textFields.find((field) => isRecord(fields.values[field]));
  return name === undefined ? fields : textConfig(fields.inner(name));
}

function refuseUnlike(config: Fields, model: string, known: ClassDefaults | undefined): void {
  if (known?.unlike !== undefined) throw config.misfit('model_type', `, ${known.unlike}; give rope() its options`);
  if (config.peek('position_encoding_2d') === true) {
    throw config.misfit('position_encoding_2d', '; expected positions of one axis');
  }
  if (model === '' || known !== undefined) return;
  if (mentionsRope(config) || config.has('position_embedding_type') || config.has('alibi')) return;
  throw config.misfit('model_type', ', which is not known, and no field speaks of RoPE; expected rope_theta');
}

// Qwen 1: beyond the training length the base grows with each doubling of the length.
function steppedNtk(kind: KindReading): RopeScaling {
  const trained = kind.config.need('seq_length', check.positive);
  kind.trainingLength = trained;
  const doublings = Math.ceil(Math.log2((kind.sequenceLength ?? trained) / trained));
  return doublings > 0 ? { type: 'ntk', factor: 2 ** (doublings + 1) - 1 } : { type: 'default' };
}

// Pairs that turn by the negated angle.
function backwards(rope: Fields, { kind, fields }: KindName, base: number, dim: number): RopeScaling {
  if (kind !== 'default')
    throw rope.misfit(fields[0] ?? 'rope_type', ', for pairs that turn backwards; expected "default"');
  const inverseFrequencies = Array.from({ length: dim / 2 }, (_, i) => -(base ** ((-2 * i) / dim)));
  return { type: 'custom', inverseFrequencies };
}

function hasNoRope(
  config: Fields,
  model: string,
  layerType: string | undefined,
  { positionType, withoutRope, alibiFrom }: ClassDefaults,
): boolean {
  if (layerType !== undefined) {
    if (withoutAttention.test(layerType)) return true;
    // Llama 4's no_rope_layers has a 1 for a layer that rotates, whatever its type.
    const types = config.peek('layer_types');
    const rotates = config.peek('no_rope_layers') as readonly unknown[] | null | undefined;
    const some = Array.isArray(types) && types.some((type, i) => type === layerType && rotates?.[i]);
    if (layerType === withoutRope && config.values.sliding_window !== null && !some) return true;
  }
  if (switches.some((field) => config.peek(field) === false)) return true;
  const hidden = config.peek('hidden_size');
  const isLarge = alibiFrom !== undefined && Number.isInteger(hidden) && Number(hidden) >= alibiFrom;
  if (config.peek('alibi') === true || isLarge) return true;
  const type = config.peek('position_embedding_type') ?? positionType;
  if (type === 'nope' || type === 'alibi') return true;
  return (
    typeof type === 'string' &&
    /^(absolute|relative|learned)/.test(type) &&
    !mentionsRope(config) &&
    model !== 'roformer'
  );
}

/** The RoPE parameters of one type of layer, and the fields that may give its base. */
interface LayerRope {
  readonly rope: Fields;
  readonly perLayer: boolean;
  readonly base: readonly (readonly [Fields, string])[];
  /** The base if no field gives it. */
  readonly fallback: number | undefined;
  /** Whether the parameters are those of the class. */
  readonly ofClass: boolean;
}

function known(where: string, layerType: string | undefined, types: readonly string[]): string {
  const expected = `one of ${types.map(describe).join(', ')}`;
  if (layerType === undefined) throw new ArgumentTypeError(where, 'layerType', layerType, expected);
  if (types.includes(layerType)) return layerType;
  throw new ArgumentRangeError(where, 'layerType', layerType, `is ${describe(layerType)}; expected ${expected}`);
}

// The defaults of the class where the file has neither object; fields of the file take precedence.
function parametersOfClass(config: Fields, { parameters }: ClassDefaults): Fields | undefined {
  if (parameters === undefined || config.has('rope_parameters') || config.has('rope_scaling')) return undefined;
  const values = Object.fromEntries(Object.entries(parameters).filter(([field]) => !config.has(field)));
  return new Fields(config.where, config.name('rope_parameters'), values);
}

// InternLM's own object; other models have a flag of that name.
function rotaryOf(config: Fields): Fields | undefined {
  if (!isRecord(config.peek('rotary'))) return undefined;
  const { path, values } = config.inner('rotary');
  const { base, type, scaling_factor = 1 } = values;
  const kind = type === 'origin' ? {} : { rope_type: type, factor: scaling_factor };
  return new Fields(config.where, path, { base, ...kind });
}

function ropeOfLayer(config: Fields, layerType: string | undefined, defaults: ClassDefaults): LayerRope | null {
  const { where } = config;
  const objects = ['rope_parameters', 'rope_scaling']
    .map((field) => config.inner(field))
    .filter((fields) => Object.keys(fields.values).length > 0);
  const own = rotaryOf(config);
  const [now = own ?? parametersOfClass(config, defaults), old] = objects;
  const ofClass = objects.length === 0 && own === undefined && now !== undefined;
  const nested = [now, old].find((fields) => fields !== undefined && isPerLayer(fields.values));
  if (now !== undefined && old !== undefined) {
    if (nested !== undefined) throw config.misfit('rope_scaling', ', beside a rope_parameters; expected one of them');
    checkSame(old, now);
  }
  if (nested === undefined && config.has('compress_rope_theta')) {
    throw config.misfit('compress_rope_theta', '; expected rope_parameters for each type of layer');
  }
  const top = [...config.at(...baseFields), ...config.inner('attn_config').at('rope_theta')];
  if (nested !== undefined) {
    const type = known(where, layerType, Object.keys(nested.values));
    if (nested.values[type] === null) return null;
    const rope = nested.inner(type);
    const older = type === 'sliding_attention' ? layerBases.flatMap((names) => config.at(names.sliding_attention)) : [];
    // The first of: the entry's own base, the older field for this type, the base of all layers.
    const sources = [...rope.at('rope_theta'), ...older, ...top];
    const base = sources.filter(([fields, field]) => fields.has(field)).slice(0, 1);
    return { rope, perLayer: true, base, fallback: baseOfClass(type, defaults), ofClass };
  }
  const rope = now ?? new Fields(where, config.name('rope_parameters'), {});
  const ofAll = [...objects.flatMap((fields) => fields.at('rope_theta')), ...(own?.at('base') ?? []), ...top];
  const names = namesOfBases(config, defaults);
  if (names !== undefined || (defaults.slidingUnscaled && kindOf(rope).kind !== 'default')) {
    const type = known(where, layerType, ['full_attention', 'sliding_attention']) as keyof (typeof layerBases)[number];
    if (names !== undefined) config.use(...Object.values(names));
    return {
      // rope_scaling applies only to layers with full attention.
      rope: type === 'sliding_attention' ? new Fields(where, rope.path, {}) : rope,
      perLayer: true,
      base: names === undefined ? ofAll : config.at(names[type]),
      fallback: baseOfClass(type, defaults),
      ofClass,
    };
  }
  const types = config.peek('layer_types');
  if (layerType !== undefined && Array.isArray(types)) known(where, layerType, [...new Set(types)]);
  return { rope, perLayer: false, base: ofAll, fallback: defaults.base, ofClass };
}

function baseOfClass(type: string, { base, localBase }: ClassDefaults): number | undefined {
  return type === 'sliding_attention' ? (localBase ?? base) : base;
}

// The fields for the bases of the two types of layer, if there are two.
function namesOfBases(config: Fields, { localBase }: ClassDefaults): (typeof layerBases)[number] | undefined {
  const spelled = (type: keyof (typeof layerBases)[number]) => layerBases.find((names) => config.has(names[type]));
  return (
    spelled('sliding_attention') ?? (localBase === undefined ? undefined : (spelled('full_attention') ?? layerBases[0]))
  );
}

function pairingOf(
  config: Fields,
  asked: RopeConfigOptions,
  known: ClassDefaults,
): readonly [pairing: Pairing, source: RopeFactSource] {
  const says = agreed(config.at(...interleaveFields), check.boolean)?.value;
  if (asked.pairing !== undefined) return [asked.pairing, 'option'];
  if (says !== undefined) return [says ? 'interleaved' : 'half', 'file'];
  if (known.pairing !== undefined) return [known.pairing, 'class'];
  // All known classes with latent attention but MiniCPM3's pair neighbours.
  return [config.peek('qk_rope_head_dim') ? 'interleaved' : 'half', 'assumed'];
}

function mropeAxes(rope: Fields, known: ClassDefaults, kind: KindName, pairs: number): RopeAxes | undefined {
  const flag = rope.optional('mrope_interleaved', check.boolean);
  const field = 'mrope_section';
  if (!rope.has(field) && !kind.mrope && !flag) return undefined;
  const sections = rope.need(field, sizes);
  const sum = sections.reduce((a, b) => a + b, 0);
  if (sum !== pairs) throw rope.misfit(field, `, which adds up to ${sum}; ${2 * pairs} coordinates are ${pairs} pairs`);
  const interleaved = flag ?? known.interleavedAxes;
  if (sections.length !== 3)
    throw rope.misfit(field, `, with ${sections.length} entries; expected 3: time, row, column`);
  return { layout: interleaved ? 'interleaved' : 'sections', sections };
}
