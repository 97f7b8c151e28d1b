// Explains a RoPE in numbers: wavelengths, turns within the training length, the band of a scaling, its factor and
// where it applies, and a warning for each known trap. Frequencies, wavelengths and the attention factor are those of
// the plan itself; turns, ratios, the base in effect, the band and the factor of the softmax scale are formed here from
// them and from the options.

import { type Angles, checkRopeOptions, type Pairing, type RopeOptions, type RopeScaling } from '../rope/options.js';
import { RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentTypeError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { configFields, type RopeConfigOptions, readRopeConfig } from './config.js';
import { isRecord } from './fields.js';
import { given, yarnBand } from './kinds.js';
import { type Explained, type RopeWarning, short, softmaxScaleFactor, warningsOf } from './warnings.js';

/** Options of explainRope; the first three are those of ropeFromConfig and are for configurations only. */
export interface ExplainOptions extends RopeConfigOptions {
  /** Number of positions in training. Default: what the configuration or the scaling says. */
  trainingLength?: number;
  /** For configurations: how the plan will form angles. Default `exact`. */
  angles?: Angles;
}

/** One pair of coordinates. */
export interface ExplainedPair {
  readonly index: number;
  /** Radians per position. */
  readonly inverseFrequency: number;
  /** Positions per turn, 2 pi / inverseFrequency; null for a pair that stands still. */
  readonly wavelength: number | null;
  /** Turns within the training length; null where that is not known. */
  readonly turns: number | null;
  /** Whether that is at least one. */
  readonly completes: boolean | null;
  /** The frequency without scaling divided by this one; null where there is none to compare or the pair stands still. */
  readonly scaledBy: number | null;
}

/** Between which pairs (YaRN) or wavelengths (Llama 3) a scaling blends. */
export interface ScalingBand {
  readonly unit: 'pair' | 'wavelength';
  /** Up to here frequencies are kept. */
  readonly low: number;
  /** From here on they are divided by the factor. */
  readonly high: number;
}

/** What explainRope gives; plain data. */
export interface RopeExplanation {
  readonly kind: RopeScaling['type'];
  readonly headDim: number;
  readonly rotaryDim: number;
  readonly base: number;
  /** The base that `ntk` and `dynamic` use instead. */
  readonly effectiveBase?: number;
  readonly pairing: Pairing;
  readonly angles: Angles;
  readonly trainingLength: number | null;
  readonly attentionFactor: number;
  readonly attentionFactorAppliesTo: 'cos and sin; scores get its square';
  /** What DeepSeek's family multiplies the softmax scale by besides; no plan does. */
  readonly softmaxScaleFactor?: number;
  readonly band?: ScalingBand;
  readonly pairs: readonly ExplainedPair[];
  /** How many pairs complete a turn within the training length. */
  readonly completePairs: number | null;
  /** Fields of the configuration that speak of RoPE and were not used. */
  readonly unusedFields: readonly string[];
  readonly warnings: readonly RopeWarning[];
  /** All of it for people, in lines. */
  readonly text: string;
}

const where = 'explainRope';

// A configuration becomes options; options stay what they are.
function read(
  config: unknown,
  options: ExplainOptions,
): Pick<Explained, 'options' | 'reading' | 'trainingLength'> | null {
  const value = check.read(config);
  if (!isRecord(value)) throw new ArgumentTypeError(where, 'config', value, 'a config.json or the options of rope()');
  const isOptions = 'headDim' in value;
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
  const plan = new RopePlan(heap, what.options);
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
      unusedFields: what.reading?.unused ?? [],
      warnings: warningsOf(explained),
    });
    return { ...explanation, text: textOf(explanation) };
  } finally {
    plan.dispose();
  }
}

// The frequencies without scaling; a list of one's own has none, unless its base is said.
function originals(heap: Heap, options: RopeOptions): Float64Array | undefined {
  if (options.scaling?.type === 'custom' && options.base === undefined) return undefined;
  const plain = new RopePlan(heap, { ...options, scaling: { type: 'default' } });
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
