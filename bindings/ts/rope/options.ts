// Options of a rotary plan: their types, their checks, and the call that they become.
import type * as calls from '../calls.js';
import * as enums from '../enums.js';
import * as check from '../runtime/check.js';
import { boolean as flag, positive } from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';

/**
 * Which coordinates form a pair. `half`: (j, j + rotaryDim / 2), as Hugging Face LLaMA and GPT-NeoX have it;
 * `interleaved`: (2j, 2j + 1), as RoFormer, GPT-J and Meta's LLaMA. Weights trained for one give wrong results
 * with the other at every position but 0.
 */
export type Pairing = 'half' | 'interleaved';

/** How angles are formed; see RopeOptions.angles. */
export type Angles = 'exact' | 'float32';

/**
 * How frequencies are scaled for contexts longer than those trained on. Names and formulas are those of Hugging Face's
 * modeling_rope_utils.py, except for `ntk` and `custom`, which are ropewalk's. `originalLength` is
 * original_max_position_embeddings, `maxLength` max_position_embeddings, `sequenceLength` the length in use, all in tokens.
 *
 * Defaults: `factor` 1 where it may be left out (`longrope`: maxLength / originalLength), `betaFast` 32, `betaSlow` 1,
 * `truncate` true, `lowFreqFactor` 1, `highFreqFactor` 4, `attentionFactor` by the formula of the type. YaRN is
 * arXiv:2309.00071, LongRoPE arXiv:2402.13753.
 */
export type RopeScaling =
  | {
      /** Frequencies as they are, base^(-2i / rotaryDim). */
      type: 'default';
    }
  | {
      /** Position interpolation (arXiv:2306.15595): every frequency is divided by `factor`. */
      type: 'linear';
      /** Context length in use divided by that of training; above 0. */
      factor: number;
    }
  | {
      /** NTK-aware: the base becomes base * factor^(rotaryDim / (rotaryDim - 2)); rotaryDim, or an axis, at least 4. */
      type: 'ntk';
      /** Above 0. The slowest frequency is divided by it, the fastest is kept. */
      factor: number;
    }
  | {
      /** As `ntk`, with factor * length / maxLength - (factor - 1), which grows with the length in use. */
      type: 'dynamic';
      /** Above 0. */
      factor: number;
      /** Tokens up to which frequencies are not scaled. */
      maxLength: number;
      /** Tokens in use. Default, and at least, maxLength. */
      sequenceLength?: number;
    }
  | {
      /** YaRN: slow pairs are divided by `factor`, fast ones kept, those between blended. The base is above 1. */
      type: 'yarn';
      /** Above 0. */
      factor: number;
      /** Tokens of training. */
      originalLength: number;
      /** Pairs that make more turns than this within originalLength are kept. Default 32. */
      betaFast?: number;
      /** Pairs that make fewer turns than this are divided by `factor`. Default 1. */
      betaSlow?: number;
      /** Whether the ends of the blended range are rounded outwards to whole pairs. Default true. */
      truncate?: boolean;
      /**
       * With mscaleAllDim (DeepSeek): the attention factor is g(mscale) / g(mscaleAllDim), g(m) = 0.1 m ln factor + 1, or
       * 1 for a factor up to 1. Used if neither is 0.
       */
      mscale?: number;
      /** See mscale. */
      mscaleAllDim?: number;
      /**
       * Multiplies cos and sin. Default by mscale and mscaleAllDim; without them 0.1 ln factor + 1, or 1 for a factor up to
       * 1.
       */
      attentionFactor?: number;
    }
  | {
      /** LongRoPE: the frequency of each pair has a divisor of its own. */
      type: 'longrope';
      /** [rotaryDim / 2], divisors for lengths up to originalLength. */
      shortFactors: readonly number[];
      /** [rotaryDim / 2], divisors for longer ones. */
      longFactors: readonly number[];
      /** Tokens of training. */
      originalLength: number;
      /** Tokens that the model is made for; gives `factor` where that is left out. */
      maxLength?: number;
      /** The attention factor is sqrt(1 + ln factor / ln originalLength), or 1 for a factor up to 1. */
      factor?: number;
      /** Tokens in use, which choose the list. Default: not more than originalLength. */
      sequenceLength?: number;
      /** Multiplies cos and sin. Default by `factor`; one of this, `factor` and maxLength is needed. */
      attentionFactor?: number;
    }
  | {
      /** Llama 3: by the turns within originalLength a frequency is kept, divided by `factor`, or blended. */
      type: 'llama3';
      /** Above 0. */
      factor: number;
      /** Tokens of training. */
      originalLength: number;
      /** Pairs with at most so many turns are divided by `factor`. Default 1. */
      lowFreqFactor?: number;
      /** Pairs with at least so many turns are kept; above lowFreqFactor. Default 4. */
      highFreqFactor?: number;
    }
  | {
      /** Only the first pairs turn, with frequencies of the whole sequence (Gemma). */
      type: 'proportional';
      /** Fraction of the pairs that turn, from 0 to 1; their number is rounded down. */
      rotaryFraction: number;
      /** Divides their frequencies. Default 1. */
      factor?: number;
    }
  | {
      /** The caller's own frequencies. */
      type: 'custom';
      /** [rotaryDim / 2], radians per position; less than 2^60. */
      inverseFrequencies: readonly number[];
      /** Multiplies cos and sin. Default 1. */
      attentionFactor?: number;
    };

/** Positions with several axes: rows and columns of an image; time, row and column of a video. */
export type RopeAxes =
  | {
      /** Consecutive blocks of coordinates, each a RoPE of its own for one axis (Gemma's vision tower: equal blocks). */
      layout: 'axial';
      /** Coordinates of each axis, 1 to 4 of them; their sum is rotaryDim. */
      dims: readonly number[];
    }
  | {
      /** M-RoPE of Qwen2-VL: the first `sections[0]` pairs follow axis 0, the next `sections[1]` axis 1, ... */
      layout: 'sections';
      /** Pairs of each axis, 1 to 4 of them; their sum is rotaryDim / 2. */
      sections: readonly number[];
    }
  | {
      /**
       * M-RoPE of Qwen3-VL: pairs 1, 4, 7, ... follow axis 1, pairs 2, 5, 8, ... axis 2, up to 3 * sections[axis]; all
       * others axis 0.
       */
      layout: 'interleaved';
      /** Pairs of each of the three axes; their sum is rotaryDim / 2. */
      sections: readonly number[];
    }
  | {
      /** Qwen2-VL's vision tower: the first half of the pairs follows the row, the other the column. */
      layout: 'vision';
    }
  | {
      /** Rows take the even frequencies, columns the odd ones. */
      layout: 'pixtral';
    };

/**
 * xPos (Sun et al., arXiv:2212.10554): queries shrink and keys grow with n, their signed position from a fixed centre, pair
 * i of d = rotaryDim by ((2i / d + 0.4) / 1.4)^(±n / scaleBase), so that scores fall with distance. For causal models only.
 * `rotate` then needs its option `role`.
 */
export interface XPos {
  /**
   * Positions over which a pair's factor applies once. Default 512. Positions may be about 66 times as far from the
   * centre; beyond that the factors leave float32, and the call is refused.
   */
  scaleBase?: number;
  /** The position where the factor is 1; the same for all calls, or cached keys will not fit. Default 0. */
  center?: number;
}

/** Options of `rw.rope`. */
export interface RopeOptions {
  /** D, coordinates of one head, from 2 to 1048576; even unless rotaryDim is given. */
  headDim: number;
  /** Number of leading coordinates that are rotated; even, at most headDim. Default headDim. */
  rotaryDim?: number;
  /** Base of the geometric sequence of frequencies, base^(-2i / rotaryDim); or theta; above 0, not 1. Default 10000. */
  base?: number;
  /** Default `half`. */
  pairing?: Pairing;
  /** Default `{ type: 'default' }`: frequencies are not scaled. */
  scaling?: RopeScaling;
  /**
   * `exact` (the default): angles are exact at every position and cos/sin are within 0.501 ulp. `float32`: angles
   * are formed in float32 as Hugging Face does, with an error of about 6e-8 times the position, for those who must
   * match a checkpoint's own numbers digit for digit.
   */
  angles?: Angles;
  /** Axes of a position. Default one axis. */
  axes?: RopeAxes;
  /** Growth and decay with the position. Default none. */
  xpos?: XPos;
}

/** @internal */
export const pairings: check.Choices<Pairing, typeof enums.Pairing> = enums.Pairing;
const angleKinds: check.Choices<Angles, typeof enums.Angles> = enums.Angles;

type Check = (where: string, name: string, value: unknown) => number | boolean | readonly number[];

// The names of S that may be left out.
type Optional<S> = { [N in keyof S]-?: Partial<Pick<S, N>> extends Pick<S, N> ? N : never }[keyof S];

interface ScalingKind<S> {
  readonly kind: number;
  readonly required: Readonly<Record<Exclude<keyof S, Optional<S> | 'type'>, Check>>;
  readonly optional: Readonly<Record<Optional<S>, Check>>;
}

// A finite number that fits.
const number = (fits: (n: number) => boolean, expected: string) => (where: string, name: string, value: unknown) => {
  const n = check.finite(where, name, value);
  if (fits(n)) return n;
  throw new ArgumentRangeError(where, name, value, `is ${n}; expected ${expected}`);
};

/** @internal */
export const nonNegative = /* @__PURE__ */ number((n) => n >= 0, 'a number of at least 0');
const fraction = /* @__PURE__ */ number((n) => n >= 0 && n <= 1, 'a number from 0 to 1');
const frequency = /* @__PURE__ */ number((n) => Math.abs(n) < 2 ** 60, 'less than 2^60 radians per position');

function list(entry: (where: string, name: string, value: unknown) => number): Check {
  return (where, name, value) => {
    const numbers = check.list(where, name, value, 'an array of numbers');
    return Array.from(numbers, (v, i) => entry(where, `${name}[${i}]`, v));
  };
}

const factors = /* @__PURE__ */ list(positive);

// One entry makes a kind of scaling known: its number in the core and its fields.
const scalings: { readonly [S in RopeScaling as S['type']]: ScalingKind<S> } = {
  default: { kind: enums.Scaling.default, required: {}, optional: {} },
  linear: { kind: enums.Scaling.linear, required: { factor: positive }, optional: {} },
  ntk: { kind: enums.Scaling.ntk, required: { factor: positive }, optional: {} },
  dynamic: {
    kind: enums.Scaling.dynamic,
    required: { factor: positive, maxLength: positive },
    optional: { sequenceLength: nonNegative },
  },
  yarn: {
    kind: enums.Scaling.yarn,
    required: { factor: positive, originalLength: positive },
    optional: {
      betaFast: positive,
      betaSlow: positive,
      truncate: flag,
      mscale: nonNegative,
      mscaleAllDim: nonNegative,
      attentionFactor: positive,
    },
  },
  longrope: {
    kind: enums.Scaling.longrope,
    required: { shortFactors: factors, longFactors: factors, originalLength: positive },
    optional: { maxLength: positive, factor: positive, sequenceLength: nonNegative, attentionFactor: positive },
  },
  llama3: {
    kind: enums.Scaling.llama3,
    required: { factor: positive, originalLength: positive },
    optional: { lowFreqFactor: positive, highFreqFactor: positive },
  },
  proportional: {
    kind: enums.Scaling.proportional,
    required: { rotaryFraction: fraction },
    optional: { factor: positive },
  },
  custom: {
    kind: enums.Scaling.custom,
    required: { inverseFrequencies: list(frequency) },
    optional: { attentionFactor: positive },
  },
};

const defaults = { factor: 1, rotaryFraction: 1, betaFast: 32, betaSlow: 1, lowFreqFactor: 1, highFreqFactor: 4 };

type Writable<T> = { -readonly [N in keyof T]: T[N] };

type ListName = 'shortFactors' | 'longFactors' | 'inverseFrequencies';

interface Frequencies {
  readonly values: calls.FrequencyOptions;
  readonly lists: readonly { readonly field: ListName; readonly numbers: readonly number[] }[];
}

function frequencies(where: string, dim: number, base: number, scaling: RopeScaling, nameOf: NameOf): Frequencies {
  check.plainObject(where, nameOf('scaling'), scaling, 'a plain object of options');
  const { type } = scaling;
  const { kind, required, optional } = check.choice(where, nameOf('scaling.type'), type, scalings);
  const checks: Readonly<Record<string, Check>> = { ...required, ...optional };
  check.keys(where, nameOf('scaling'), scaling, ['type', ...Object.keys(checks)]);
  const given = scaling as unknown as Readonly<Record<string, unknown>>;
  const values: Writable<calls.FrequencyOptions> & Record<string, number | boolean | undefined> = {
    ...defaults,
    truncate: true,
    dim,
    base,
    scaling: kind,
  };
  const lists: { field: ListName; numbers: readonly number[] }[] = [];
  for (const [name, checkField] of Object.entries(checks)) {
    if (given[name] === undefined && !(name in required)) continue;
    const path = nameOf(`scaling.${name}`);
    const value = checkField(where, path, given[name]);
    if (typeof value !== 'object') {
      values[name] = value;
      continue;
    }
    if (value.length !== dim / 2) {
      const problem = `has ${value.length} entries; ${dim} coordinates are ${dim / 2} pairs`;
      throw new ArgumentRangeError(where, path, given[name], problem);
    }
    lists.push({ field: name as ListName, numbers: value });
  }
  if (type === 'longrope' && given.factor === undefined) {
    if (given.maxLength === undefined && given.attentionFactor === undefined) {
      const problem = 'is missing; expected it, maxLength or attentionFactor';
      throw new ArgumentRangeError(where, nameOf('scaling.factor'), undefined, problem);
    }
    // Hugging Face: a LongRoPE factor that is not given is the ratio of the two lengths.
    if (values.maxLength && values.originalLength) values.factor = values.maxLength / values.originalLength;
  }
  checkTogether(where, dim, base, type, values, nameOf);
  return { values, lists };
}

// Where the base is raised to dim / (dim - 2), each axis has two pairs.
function checkPairs(where: string, name: string, dim: number, scaling: string, least = 4): void {
  if ((scaling !== 'ntk' && scaling !== 'dynamic') || dim >= least) return;
  throw new ArgumentRangeError(where, name, dim, `is ${dim}; scaling '${scaling}' needs at least ${least}`);
}

// What no option shows on its own.
function checkTogether(
  where: string,
  dim: number,
  base: number,
  type: string,
  v: calls.FrequencyOptions,
  nameOf: NameOf,
): void {
  const refuse = (option: string, value: number, problem: string) => {
    throw new ArgumentRangeError(where, nameOf(option), value, `is ${value}; ${problem}`);
  };
  checkPairs(where, nameOf('rotaryDim'), dim, type);
  if (type === 'yarn' && base <= 1) refuse('base', base, "scaling 'yarn' needs a base above 1");
  // Its attention factor is sqrt(1 + ln factor / ln originalLength).
  const { originalLength = 0 } = v;
  if (type === 'longrope' && v.attentionFactor === undefined && v.factor > 1 && originalLength <= 1) {
    const other = nameOf('scaling.attentionFactor');
    refuse('scaling.originalLength', originalLength, `scaling 'longrope' needs more than 1, or ${other}`);
  }
  if (type === 'llama3' && v.highFreqFactor <= v.lowFreqFactor) {
    const other = nameOf('scaling.lowFreqFactor');
    refuse('scaling.highFreqFactor', v.highFreqFactor, `expected more than ${other}, ${v.lowFreqFactor}`);
  }
}

interface AxisKind<Sizes> {
  readonly kind: number;
  /** The option that holds the sizes, if there is one. */
  readonly sizes: [Sizes] extends [never] ? undefined : Sizes;
  /** How many sizes there must be. */
  readonly axes?: number;
}

// One entry makes a layout of axes known: its number in the core and its option.
const axisLayouts: { readonly [A in RopeAxes as A['layout']]: AxisKind<Exclude<keyof A, 'layout'>> } = {
  axial: { kind: enums.AxisLayout.axial, sizes: 'dims' },
  sections: { kind: enums.AxisLayout.sections, sizes: 'sections' },
  interleaved: { kind: enums.AxisLayout.interleaved, sizes: 'sections', axes: 3 },
  vision: { kind: enums.AxisLayout.vision, sizes: undefined },
  pixtral: { kind: enums.AxisLayout.pixtral, sizes: undefined },
};

const maxAxes = 4;
const oneAxis: calls.AxisOptions = { layout: enums.AxisLayout.single, axes: 1, sizes: [0, 0, 0, 0] };

const partScalings: readonly string[] = ['default', 'linear', 'ntk'];

function axisSizes(where: string, name: string, value: unknown, want: number | undefined) {
  const sizes = check.shape(where, name, value);
  if (sizes.length < 1 || sizes.length > maxAxes || (want !== undefined && sizes.length !== want)) {
    const expected = want ?? `1 to ${maxAxes}`;
    throw new ArgumentRangeError(
      where,
      name,
      value,
      `has ${sizes.length} entries; expected ${expected}, one for each axis`,
    );
  }
  return sizes;
}

function axes(
  where: string,
  value: RopeAxes | undefined,
  rotaryDim: number,
  scaling: string,
  nameOf: NameOf,
): calls.AxisOptions {
  if (value === undefined) return oneAxis;
  check.plainObject(where, nameOf('axes'), value, 'a plain object of options');
  const { layout } = value;
  const kind = check.choice(where, nameOf('axes.layout'), layout, axisLayouts);
  check.keys(where, nameOf('axes'), value, ['layout', ...(kind.sizes ? [kind.sizes] : [])]);
  const given = value as unknown as Readonly<Record<string, unknown>>;
  if (layout !== 'sections' && layout !== 'interleaved' && !partScalings.includes(scaling)) {
    const problem = `is ${JSON.stringify(scaling)}, which axes of layout '${layout}' cannot have; expected one of ${partScalings.join(', ')}`;
    throw new ArgumentRangeError(where, nameOf('scaling.type'), scaling, problem);
  }
  if (kind.sizes === undefined) {
    const dim = nameOf('rotaryDim');
    if (rotaryDim % 4 !== 0) {
      const problem = `is ${rotaryDim}; axes of layout '${layout}' need a multiple of 4`;
      throw new ArgumentRangeError(where, dim, rotaryDim, problem);
    }
    if (layout === 'vision') checkPairs(where, dim, rotaryDim, scaling, 8);
    return { ...oneAxis, layout: kind.kind, axes: 2 };
  }
  const name = nameOf(`axes.${kind.sizes}`);
  const sizes = axisSizes(where, name, given[kind.sizes], kind.axes);
  const want = kind.sizes === 'dims' ? rotaryDim : rotaryDim / 2;
  const sum = sizes.reduce((a, b) => a + b, 0);
  if (sum !== want) {
    const unit = kind.sizes === 'dims' ? `rotaryDim, ${want}` : `the number of pairs, ${want}`;
    throw new ArgumentRangeError(
      where,
      name,
      given[kind.sizes],
      `is [${sizes.join(', ')}], which adds up to ${sum}; expected ${unit}`,
    );
  }
  for (const [axis, size] of sizes.entries()) {
    const path = `${name}[${axis}]`;
    if (kind.sizes === 'dims') checkPairs(where, path, check.even(where, path, size), scaling);
  }
  const [a = 0, b = 0, c = 0, d = 0] = sizes;
  return { layout: kind.kind, axes: sizes.length, sizes: [a, b, c, d] };
}

function xpos(where: string, value: XPos | undefined, nameOf: NameOf): calls.XPosOptions | undefined {
  if (value === undefined) return undefined;
  const given = check.options(where, nameOf('xpos'), value, ['scaleBase', 'center']);
  return {
    scaleBase: positive(where, nameOf('xpos.scaleBase'), given.scaleBase ?? 512) as number,
    center: check.finite(where, nameOf('xpos.center'), given.center ?? 0),
  };
}

/**
 * Checked options: every default filled in, and what the core takes once the lists have addresses.
 * @internal
 */
export interface CheckedRopeOptions {
  /** As they were given. */
  readonly given: RopeOptions;
  readonly headDim: number;
  readonly rotaryDim: number;
  readonly base: number;
  readonly pairing: Pairing;
  readonly angles: Angles;
  readonly axes: number;
  readonly xpos: boolean;
  readonly blocks: boolean;
  readonly core: calls.RopeOptions;
  readonly lists: Frequencies['lists'];
}

/** How the caller knows an option, such as `scaling.factor`, or all of them, `options`. @internal */
export type NameOf = (option: string) => string;

/** Options within `position`. @internal */
export const inPosition: NameOf = (option) => (option === 'options' ? 'position' : `position.${option}`);

/**
 * How many coordinates a head has, and how many of them are turned. An odd head has coordinates left over, which is fine
 * only if the caller says which are turned.
 * @internal
 */
export function rotarySizes(where: string, given: Pick<RopeOptions, 'headDim' | 'rotaryDim'>, nameOf: NameOf = String) {
  const headDim =
    given.rotaryDim === undefined
      ? check.even(where, 'headDim', given.headDim, 2 ** 20)
      : check.integer(where, 'headDim', given.headDim, 2, 2 ** 20);
  const rotaryDim = check.even(where, nameOf('rotaryDim'), given.rotaryDim ?? headDim);
  if (rotaryDim <= headDim) return { headDim, rotaryDim };
  const problem = `is ${rotaryDim}; expected at most headDim, ${headDim}`;
  throw new ArgumentRangeError(where, nameOf('rotaryDim'), rotaryDim, problem);
}

/** What the core tells of frequencies, which no option shows on its own. @internal */
export function tooFast(where: string): () => Error {
  const problem = 'are out of range, or give a frequency of 2^60 or more radians per position';
  return () => new ArgumentRangeError(where, 'options', undefined, problem);
}

/** @internal */
export const ropeFields = ['headDim', 'rotaryDim', 'base', 'pairing', 'scaling', 'angles', 'axes', 'xpos'] as const;

/** @internal */
export function checkRopeOptions(where: string, options: RopeOptions, nameOf: NameOf = String): CheckedRopeOptions {
  const given = check.options(where, nameOf('options'), options, ropeFields);
  const { headDim, rotaryDim } = rotarySizes(where, given, nameOf);
  const base = check.base(where, nameOf('base'), given.base ?? 10000);
  const pairing = given.pairing ?? 'half';
  const angles = given.angles ?? 'exact';
  const scaling = given.scaling ?? { type: 'default' };
  const wanted = frequencies(where, rotaryDim, base, scaling, nameOf);
  const core: calls.RopeOptions = {
    headDim,
    frequencies: wanted.values,
    pairing: check.choice(where, nameOf('pairing'), pairing, pairings),
    angles: check.choice(where, nameOf('angles'), angles, angleKinds),
    axes: axes(where, given.axes, rotaryDim, scaling.type, nameOf),
    xpos: xpos(where, given.xpos, nameOf),
  };
  return {
    given,
    headDim,
    rotaryDim,
    base,
    pairing,
    angles,
    axes: core.axes.axes,
    xpos: core.xpos !== undefined,
    blocks: core.axes.layout === axisLayouts.axial.kind,
    core,
    lists: wanted.lists,
  };
}
