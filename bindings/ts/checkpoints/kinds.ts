// Reads each of Hugging Face's kinds of RoPE (rope_type) from its fields. Names, fallbacks and precedence follow
// modeling_rope_utils.py.

import { nonNegative, type RopeScaling } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { describe } from '../runtime/errors.js';
import { agreed, type Fields, isRecord, numbers, text } from './fields.js';

/** The input of a kind's reader, and what it finds besides the scaling. */
export interface KindReading {
  readonly rope: Fields;
  readonly config: Fields;
  readonly pairs: number;
  /** partial_rotary_factor */
  readonly rotaryFraction: number | undefined;
  readonly sequenceLength: number | undefined;
  /** max_position_embeddings */
  readonly maxLength: number | undefined;
  /** The original length of the model's class. */
  readonly classLength: number | undefined;
  /** Number of positions in training. */
  trainingLength?: number;
  /** The field that gives it. */
  lengthName?: string;
  /** True where max_position_embeddings is used because no field gives it. */
  lengthAssumed?: boolean;
  /** The factor, if given. */
  factor?: number;
  /** True where an explicit attention_factor makes an mscale ineffective. */
  mscaleOverridden?: boolean;
}

type Kind<T extends RopeScaling['type']> = Extract<RopeScaling, { type: T }>;

/** An object without its undefined fields. */
export function given<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as T;
}

// Python's `x or default`: a zero counts as not given.
function orDefault(rope: Fields, field: string): number | undefined {
  return rope.optional(field, nonNegative) || undefined;
}

function originalLength(r: KindReading): number {
  const field = 'original_max_position_embeddings';
  const stated = agreed([...r.rope.at(field), ...r.config.at(field)], check.positive);
  r.lengthAssumed = stated === undefined && r.classLength === undefined;
  r.lengthName = stated?.name ?? r.config.name(r.lengthAssumed ? 'max_position_embeddings' : field);
  r.trainingLength = stated?.value ?? r.classLength ?? r.maxLength ?? r.rope.need(field, check.positive);
  return r.trainingLength;
}

function optionalFactor(r: KindReading): number | undefined {
  const factor = r.rope.optional('factor', check.positive);
  if (factor !== undefined) r.factor = factor;
  return factor;
}

function neededFactor(r: KindReading): number {
  r.factor = r.rope.need('factor', check.positive);
  return r.factor;
}

function linear(r: KindReading): RopeScaling {
  return { type: 'linear', factor: neededFactor(r) };
}

function dynamic(r: KindReading): RopeScaling {
  // Hunyuan: one base for every length, which is static NTK.
  const alpha = r.rope.optional('alpha', check.positive);
  if (alpha !== undefined) return { type: 'ntk', factor: alpha };
  const maxLength = r.maxLength ?? r.config.need('max_position_embeddings', check.positive);
  return given<Kind<'dynamic'>>({
    type: 'dynamic',
    factor: neededFactor(r),
    maxLength,
    sequenceLength: r.sequenceLength,
  });
}

function yarn(r: KindReading): RopeScaling {
  const original = originalLength(r);
  const ratio = r.maxLength === undefined || r.lengthAssumed ? undefined : r.maxLength / original;
  const factor = optionalFactor(r) ?? ratio ?? neededFactor(r);
  const attentionFactor = r.rope.optional('attention_factor', check.positive);
  const both = r.rope.peek('mscale') && r.rope.peek('mscale_all_dim');
  r.mscaleOverridden = attentionFactor !== undefined && r.rope.has('mscale');
  const useMscale = both && attentionFactor === undefined;
  return given<Kind<'yarn'>>({
    type: 'yarn',
    factor,
    originalLength: original,
    betaFast: orDefault(r.rope, 'beta_fast'),
    betaSlow: orDefault(r.rope, 'beta_slow'),
    truncate: r.rope.optional('truncate', check.boolean),
    mscale: useMscale ? r.rope.need('mscale', nonNegative) : undefined,
    mscaleAllDim: useMscale ? r.rope.need('mscale_all_dim', nonNegative) : undefined,
    attentionFactor,
  });
}

/** The pairs between which YaRN blends: up to `low` frequencies are kept, from `high` on divided by the factor. */
export function yarnBand(
  rotaryDim: number,
  base: number,
  scaling: Pick<Kind<'yarn'>, 'originalLength' | 'betaFast' | 'betaSlow' | 'truncate'>,
): [low: number, high: number] {
  const { originalLength, betaFast = 32, betaSlow = 1, truncate = true } = scaling;
  const pairOf = (turns: number) =>
    (rotaryDim * Math.log(originalLength / (2 * Math.PI * turns))) / (2 * Math.log(base));
  const [low, high] = [pairOf(betaFast), pairOf(betaSlow)];
  return [Math.max(truncate ? Math.floor(low) : low, 0), Math.min(truncate ? Math.ceil(high) : high, rotaryDim - 1)];
}

function factorList(r: KindReading, field: string): readonly number[] {
  const list = r.rope.need(field, numbers);
  if (list.length !== r.pairs) {
    throw r.rope.misfit(field, `, with ${list.length} entries; ${2 * r.pairs} coordinates are ${r.pairs} pairs`);
  }
  return list;
}

function longrope(r: KindReading): RopeScaling {
  const original = originalLength(r);
  const factor = optionalFactor(r);
  // Phi-3.5-MoE has one attention factor for the short list and one for the long.
  const side = r.sequenceLength !== undefined && r.sequenceLength > original ? 'long_mscale' : 'short_mscale';
  const other = side === 'long_mscale' ? 'short_mscale' : 'long_mscale';
  const stated = r.rope.has('attention_factor') ? 'attention_factor' : r.rope.has(side) ? side : undefined;
  const attentionFactor = stated && r.rope.need(stated, check.positive);
  if (stated === side) r.rope.use(other);
  if (factor === undefined && attentionFactor === undefined && r.maxLength === undefined) neededFactor(r);
  return given<Kind<'longrope'>>({
    type: 'longrope',
    shortFactors: factorList(r, 'short_factor'),
    longFactors: factorList(r, 'long_factor'),
    originalLength: original,
    maxLength: r.maxLength,
    factor,
    sequenceLength: r.sequenceLength,
    attentionFactor,
  });
}

function llama3(r: KindReading): RopeScaling {
  const lowFreqFactor = r.rope.need('low_freq_factor', check.positive);
  const high = r.rope.need('high_freq_factor', check.positive);
  return {
    type: 'llama3',
    factor: neededFactor(r),
    originalLength: originalLength(r),
    lowFreqFactor,
    // Llama 4: both are 1, and no pair is blended. The next number leaves none between them either.
    highFreqFactor: high === lowFreqFactor ? high * (1 + Number.EPSILON) : high,
  };
}

function proportional(r: KindReading): RopeScaling {
  return given<Kind<'proportional'>>({
    type: 'proportional',
    rotaryFraction: r.rotaryFraction ?? 1,
    factor: optionalFactor(r),
  });
}

/** To support another kind, add an entry. */
export const kinds: Readonly<Record<string, (r: KindReading) => RopeScaling>> = {
  default: () => ({ type: 'default' }),
  linear,
  dynamic,
  yarn,
  longrope,
  llama3,
  proportional,
};

const scalingFields: Readonly<Record<string, string>> = {
  'scaling.attentionFactor': 'attention_factor',
  'scaling.lowFreqFactor': 'low_freq_factor',
  'scaling.highFreqFactor': 'high_freq_factor',
};

/** The field for an option, where checkRopeOptions reports options that do not fit together. */
export function fieldName(r: KindReading, option: string): string {
  if (option === 'rotaryDim') return r.config.name('head_dim');
  if (option === 'scaling.originalLength' && r.lengthName !== undefined) return r.lengthName;
  return r.rope.name(scalingFields[option] ?? option);
}

// Older names. The type 'mrope' means only that there is an mrope_section.
const aliases: Readonly<Record<string, string>> = { su: 'longrope', mrope: 'default' };

/** The kind named by an object of RoPE parameters. */
export interface KindName {
  readonly kind: string;
  /** The fields that name it. */
  readonly fields: readonly string[];
  readonly mrope: boolean;
}

function kindIn(rope: Fields, field: string): string | undefined {
  const name = rope.optional(field, text);
  if (name === undefined) return undefined;
  const kind = Object.hasOwn(aliases, name) ? aliases[name] : name;
  if (kind === undefined || !Object.hasOwn(kinds, kind)) {
    const known = [...Object.keys(kinds), ...Object.keys(aliases)].map(describe).join(', ');
    throw rope.misfit(field, `; expected one of ${known}`);
  }
  return kind;
}

/** @internal */
export function kindOf(rope: Fields): KindName {
  const [now, old] = [kindIn(rope, 'rope_type'), kindIn(rope, 'type')];
  const [nowMrope, oldMrope] = [rope.peek('rope_type') === 'mrope', rope.peek('type') === 'mrope'];
  if (now !== undefined && old !== undefined && now !== old && !nowMrope && !oldMrope) {
    throw rope.misfit('type', `, but ${rope.name('rope_type')} is ${describe(rope.peek('rope_type'))}`);
  }
  const kind = (nowMrope ? old : now) ?? (oldMrope ? now : old) ?? 'default';
  const fields = [...(now === undefined ? [] : ['rope_type']), ...(old === undefined ? [] : ['type'])];
  return { kind, fields, mrope: nowMrope || oldMrope };
}

// Fields that rope_scaling or rope_parameters may lack although the other has them.
const elsewhere: readonly string[] = ['rope_theta', 'partial_rotary_factor'];

/** Throws where rope_scaling and rope_parameters differ. */
export function checkSame(old: Fields, now: Fields): void {
  const refuse = (oldField: string, nowField: string) => {
    const other = `${now.name(nowField)} is ${describe(now.peek(nowField))}`;
    throw old.misfit(oldField, `, but ${other}; they must agree`);
  };
  const [oldKind, nowKind] = [kindOf(old), kindOf(now)];
  if (oldKind.kind !== nowKind.kind) refuse(oldKind.fields[0] ?? 'rope_type', nowKind.fields[0] ?? 'rope_type');
  for (const field of [...Object.keys(old.values), ...Object.keys(now.values)]) {
    const mayLack = elsewhere.includes(field) && !(old.has(field) && now.has(field));
    if (field === 'type' || field === 'rope_type' || mayLack) continue;
    if (JSON.stringify(old.peek(field)) !== JSON.stringify(now.peek(field))) refuse(field, field);
  }
}

/** Whether an object holds RoPE parameters (or null) for each type of layer. */
export function isPerLayer(values: Readonly<Record<string, unknown>>): boolean {
  const entries = Object.entries(values);
  const isLayer = ([name, entry]: [string, unknown]) =>
    isRecord(entry) || (entry === null && name.endsWith('_attention'));
  return entries.length > 0 && entries.every(isLayer);
}
