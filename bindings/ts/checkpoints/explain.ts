// Explains a RoPE: wavelengths, turns within the training length, the pairs that a scaling blends, the attention
// factor, and a warning for each known trap. Frequencies, wavelengths and the attention factor come from the plan; the
// rest is computed here from them and from the options.

import { type Angles, checkRopeOptions, type Pairing, type RopeOptions, type RopeScaling } from '../rope/options.js';
import { RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import type { Heap } from '../runtime/heap.js';
import { configFields, type RopeConfigOptions, type RopeSources, readRopeConfig } from './config.js';
import { configOf } from './fields.js';
import { given, yarnBand } from './kinds.js';
import { type Explained, type RopeWarning, short, softmaxScaleFactor, warningsOf } from './warnings.js';

/** Options of explainRope. With the options of `rope()`, only `trainingLength` is accepted. */
export interface ExplainOptions extends RopeConfigOptions {
  /** Number of positions in training. Default: from the configuration or the scaling. */
  trainingLength?: number;
  /** How the plan computes angles. Default `exact`. */
  angles?: Angles;
}

/** One pair of coordinates. */
export interface ExplainedPair {
  /** Counted from 0, in the order of the plan's `inverseFrequencies`. */
  readonly index: number;
  /** Radians per position. */
  readonly inverseFrequency: number;
  /** Positions per turn, 2 pi / inverseFrequency; null for a pair that does not rotate. */
  readonly wavelength: number | null;
  /** Turns within the training length; null where that is unknown. */
  readonly turns: number | null;
  /** Whether `turns` is at least 1. */
  readonly completes: boolean | null;
  /** The unscaled frequency divided by this one; null where there is none or the pair does not rotate. */
  readonly scaledBy: number | null;
}

/** The pairs (YaRN) or wavelengths (Llama 3) between which a scaling blends. */
export interface ScalingBand {
  /** What low and high count: pairs, or positions per turn. */
  readonly unit: 'pair' | 'wavelength';
  /** Where blending begins: frequencies up to it are kept. With `truncate: false` a fraction. */
  readonly low: number;
  /** Where blending ends: frequencies from it on are divided by the factor. With `truncate: false` a fraction. */
  readonly high: number;
}

/** The result of explainRope; plain data. */
export interface RopeExplanation {
  /** How frequencies are scaled. */
  readonly kind: RopeScaling['type'];
  /** D, coordinates of one head. */
  readonly headDim: number;
  /** How many of them turn. */
  readonly rotaryDim: number;
  /** Base of the frequencies before scaling. */
  readonly base: number;
  /** The base that `ntk` and `dynamic` use in place of `base`. */
  readonly effectiveBase?: number;
  /** Which coordinates form a pair. */
  readonly pairing: Pairing;
  /** How angles are formed. */
  readonly angles: Angles;
  /** Number of positions in training: the option, that of the configuration or of the scaling; null if unknown. */
  readonly trainingLength: number | null;
  /** What cos and sin are multiplied by; 1 except for `yarn`, `longrope` and `custom`. */
  readonly attentionFactor: number;
  /** What attentionFactor multiplies. */
  readonly attentionFactorAppliesTo: 'cos and sin; scores get its square';
  /** A further factor of the softmax scale in DeepSeek's models, which plans do not apply. */
  readonly softmaxScaleFactor?: number;
  /** Where `yarn` and `llama3` blend; absent for other scalings. */
  readonly band?: ScalingBand;
  /** [rotaryDim / 2], one entry for each pair. */
  readonly pairs: readonly ExplainedPair[];
  /** Number of pairs that complete a turn within the training length; null where that is unknown. */
  readonly completePairs: number | null;
  /** Source of each fact that a config.json may omit; absent where options were explained. */
  readonly sources?: RopeSources;
  /** Fields of the configuration about RoPE that were not used. */
  readonly unusedFields: readonly string[];
  /** One for each known trap that the options or the configuration meet. */
  readonly warnings: readonly RopeWarning[];
  /** A report of all of it, in lines. */
  readonly text: string;
}

const where = 'explainRope';

// Converts a configuration to options; options are only checked.
function read(
  config: unknown,
  options: ExplainOptions,
): Pick<Explained, 'options' | 'reading' | 'trainingLength'> | null {
  const value = configOf(where, config);
  // Fields of a config.json are of several words, with underscores.
  const isOptions = 'headDim' in value || !Object.keys(value).some((name) => name.includes('_'));
  const all = check.options(where, 'options', options, [...configFields, 'trainingLength', 'angles']);
  if (isOptions) check.keys(where, 'options', all, ['trainingLength']);
  const { trainingLength, angles, ...asked } = all;
  if (trainingLength !== undefined) check.positive(where, 'trainingLength', trainingLength);
  if (isOptions) {
    const { given: rope } = checkRopeOptions(where, value as unknown as RopeOptions);
    return { options: rope, reading: undefined, trainingLength };
  }
  const reading = readRopeConfig(where, value, asked);
  if (reading === null) return null;
  const rope = angles === undefined ? reading.options : { ...reading.options, angles };
  checkRopeOptions(where, rope);
  return { options: rope, reading, trainingLength: trainingLength ?? reading.kind.trainingLength };
}

function lengthIn(scaling: RopeScaling): number | undefined {
  if ('originalLength' in scaling) return scaling.originalLength;
  return scaling.type === 'dynamic' ? scaling.maxLength : undefined;
}

/** `rw.explainRope`. @internal */
export function explainRope(heap: Heap, config: unknown, options: ExplainOptions): RopeExplanation | null {
  const what = read(config, options);
  if (what === null) return null;
  const scaling = what.options.scaling ?? { type: 'default' };
  const trainingLength = what.trainingLength ?? lengthIn(scaling);
  const plan = new RopePlan(heap, what.options, where);
  try {
    const explained: Explained = { ...what, scaling, trainingLength, attentionFactor: plan.attentionFactor };
    const pairs = pairsOf(plan, originals(heap, what.options), trainingLength);
    const explanation = given<Omit<RopeExplanation, 'text'>>({
      kind: scaling.type,
      headDim: plan.headDim,
      rotaryDim: plan.rotaryDim,
      base: plan.base,
      effectiveBase: effectiveBase(plan, what.options),
      pairing: plan.pairing,
      angles: plan.angles,
      trainingLength: trainingLength ?? null,
      attentionFactor: plan.attentionFactor,
      attentionFactorAppliesTo: 'cos and sin; scores get its square',
      softmaxScaleFactor: softmaxScaleFactor(explained),
      band: bandOf(scaling, plan),
      pairs,
      completePairs: trainingLength === undefined ? null : pairs.filter(({ completes }) => completes).length,
      sources: what.reading?.sources,
      unusedFields: what.reading?.unused ?? [],
      warnings: warningsOf(explained),
    });
    return { ...explanation, text: textOf(explanation) };
  } finally {
    plan.dispose();
  }
}

// The frequencies without scaling; undefined for custom frequencies without a base.
function originals(heap: Heap, options: RopeOptions): Float64Array | undefined {
  if (options.scaling?.type === 'custom' && options.base === undefined) return undefined;
  const plain = new RopePlan(heap, { ...options, scaling: { type: 'default' } }, where);
  try {
    return plain.inverseFrequencies;
  } finally {
    plain.dispose();
  }
}

function pairsOf(plan: RopePlan, original: Float64Array | undefined, length: number | undefined): ExplainedPair[] {
  return Array.from(plan.inverseFrequencies, (w, index) => {
    const wavelength = plan.wavelengths[index] ?? Number.POSITIVE_INFINITY;
    const turns = length === undefined ? null : length / wavelength;
    return {
      index,
      inverseFrequency: w,
      wavelength: w === 0 ? null : wavelength,
      turns,
      completes: turns === null ? null : turns >= 1,
      scaledBy: original === undefined || w === 0 ? null : (original[index] ?? 0) / w,
    };
  });
}

// The last frequency of one geometric sequence, base^(-(dim - 2) / dim), gives its base.
function effectiveBase(plan: RopePlan, { scaling, axes }: RopeOptions): number | undefined {
  if (scaling?.type !== 'ntk' && scaling?.type !== 'dynamic') return undefined;
  if (axes !== undefined && axes.layout !== 'sections' && axes.layout !== 'interleaved') return undefined;
  return (plan.inverseFrequencies.at(-1) ?? 1) ** (-plan.rotaryDim / (plan.rotaryDim - 2));
}

function bandOf(scaling: RopeScaling, { rotaryDim, base }: RopePlan): ScalingBand | undefined {
  if (scaling.type === 'llama3') {
    const { originalLength, lowFreqFactor = 1, highFreqFactor = 4 } = scaling;
    return { unit: 'wavelength', low: originalLength / highFreqFactor, high: originalLength / lowFreqFactor };
  }
  if (scaling.type !== 'yarn') return undefined;
  const [low, high] = yarnBand(rotaryDim, base, scaling);
  return { unit: 'pair', low, high };
}

const rowsShown = 12;

function textOf(e: Omit<RopeExplanation, 'text'>): string {
  const lines = [
    `RoPE of kind '${e.kind}': ${e.rotaryDim} of ${e.headDim} coordinates turn in ${e.pairs.length} pairs (${e.pairing}), angles ${e.angles}`,
    `base ${short(e.base)}${e.effectiveBase === undefined ? '' : `, in effect ${short(e.effectiveBase)}`}`,
    e.trainingLength === null
      ? 'training length not known'
      : `training length ${short(e.trainingLength)}: ${e.completePairs} of ${e.pairs.length} pairs complete a turn`,
    `attention factor ${short(e.attentionFactor)} on ${e.attentionFactorAppliesTo} (${short(e.attentionFactor ** 2)})`,
  ];
  if (e.softmaxScaleFactor !== undefined)
    lines.push(`softmax scale times ${short(e.softmaxScaleFactor)}, by the model`);
  if (e.band !== undefined) {
    const [low, high] = [short(e.band.low), short(e.band.high)];
    lines.push(`kept up to ${e.band.unit} ${low}, divided by the factor from ${e.band.unit} ${high}, blended between`);
  }
  const every = Math.max(1, Math.ceil(e.pairs.length / rowsShown));
  const cells = [
    ['pair', 'radians', 'wavelength', 'turns', 'scaled by'],
    ...e.pairs
      .filter(({ index }) => index % every === 0 || index === e.pairs.length - 1)
      .map((p) => [p.index, p.inverseFrequency, p.wavelength, p.turns, p.scaledBy])
      .map((row) => row.map((cell) => (cell === null ? '-' : short(cell)))),
  ];
  lines.push(...cells.map((row) => row.map((cell, i) => cell.padStart(i === 0 ? 4 : 13)).join('')));
  lines.push(...e.warnings.map(({ code, message }) => `${code}: ${message}`));
  return lines.join('\n');
}
