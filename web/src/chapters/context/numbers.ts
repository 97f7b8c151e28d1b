// The numbers of the figures on longer contexts. Know nothing of the DOM.
import type { RopeScaling, Ropewalk } from 'ropewalk';
import { contextHead } from './programs';

const pairs = contextHead / 2;

/** A model that was trained on `length` tokens and shall read `factor` times as many. */
export interface Stretch {
  readonly base: number;
  readonly length: number;
  readonly factor: number;
}

// LongRoPE's lists come out of a search on each model. This one is made up: from 1 for the fastest pair, in equal ratios,
// to the factor for the first pair whose wavelength is longer than the training length, and for all behind it.
function madeUpFactors({ base, length }: Stretch, factor: number): number[] {
  const incomplete = Math.ceil((pairs * Math.log(length / (2 * Math.PI))) / Math.log(base));
  return Array.from({ length: pairs }, (_, i) => Number((factor ** Math.min(1, i / incomplete)).toFixed(4)));
}

// One entry makes a method appear in the menu, in the address and in the figure.
export const methods = {
  none: () => ({ type: 'default' }),
  linear: ({ factor }) => ({ type: 'linear', factor }),
  ntk: ({ factor }) => ({ type: 'ntk', factor }),
  yarn: ({ factor, length }) => ({ type: 'yarn', factor, originalLength: length }),
  longrope: (stretch) => ({
    type: 'longrope',
    shortFactors: madeUpFactors(stretch, 1),
    longFactors: madeUpFactors(stretch, stretch.factor),
    originalLength: stretch.length,
    maxLength: stretch.length * stretch.factor,
    sequenceLength: stretch.length * stretch.factor,
  }),
  llama3: ({ factor, length }) => ({ type: 'llama3', factor, originalLength: length }),
} as const satisfies Record<string, (stretch: Stretch) => RopeScaling>;

export type Method = keyof typeof methods;
export const methodNames = Object.keys(methods) as Method[];

/** How many pairs make a whole turn within the training length. */
export function completePairs(core: Ropewalk, { base, length }: Stretch): number {
  const explained = core.explainRope({ headDim: contextHead, base }, { trainingLength: length });
  return explained?.completePairs ?? 0;
}

export interface Reach {
  /** Radians that the pair turns within the training length. */
  readonly seen: number;
  /** Radians that it turns within the longer text, with the method. */
  readonly used: number;
}

/** How far a pair turned in training and how far it turns now. */
export function reachOf(trained: number, scaled: number, { length, factor }: Stretch): Reach {
  return { seen: (2 * Math.PI * length) / trained, used: (2 * Math.PI * length * factor) / scaled };
}
