// The numbers of the figures on longer contexts. Know nothing of the DOM.
import type { RopeOptions, RopeScaling, Ropewalk } from 'ropewalk';
import { literal } from '../../programs/literal';

export const contextHead = 64;
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

const optionsOf = (method: Method, stretch: Stretch): RopeOptions => ({
  headDim: contextHead,
  base: stretch.base,
  scaling: methods[method](stretch),
});

export interface Waves {
  /** Positions of one turn, for each pair, as trained and with the method. */
  readonly trained: Float64Array;
  readonly scaled: Float64Array;
  readonly attentionFactor: number;
  /** How many pairs make a whole turn within the training length. */
  readonly complete: number;
}

export function waves(core: Ropewalk, method: Method, stretch: Stretch): Waves {
  const trained = core.rope(optionsOf('none', stretch));
  const scaled = core.rope(optionsOf(method, stretch));
  try {
    const explained = core.explainRope(optionsOf('none', stretch), { trainingLength: stretch.length });
    return {
      trained: trained.wavelengths,
      scaled: scaled.wavelengths,
      attentionFactor: scaled.attentionFactor,
      complete: explained?.completePairs ?? 0,
    };
  } finally {
    trained.dispose();
    scaled.dispose();
  }
}

export function wavesCode(method: Method, stretch: Stretch): string {
  const { scaling } = optionsOf(method, stretch);
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const head = { headDim: ${contextHead}, base: ${stretch.base} };
const trained = rw.rope(head);
const scaled = rw.rope({
  ...head,
  scaling: ${literal(scaling)},
});
const result = Array.from(trained.wavelengths, (wave, i) => [wave, scaled.wavelengths[i]]).flat();
`;
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

export const errorHead = 128;
const window = 16;
export const exponents = Array.from({ length: 21 }, (_, i) => i + 4);

/** The largest error of cos and sin over all pairs and the 16 positions that end at 2^exponent, angles in float32. */
export function angleErrors(core: Ropewalk, base: number): number[] {
  const exact = core.rope({ headDim: errorHead, base });
  const rounded = core.rope({ headDim: errorHead, base, angles: 'float32' });
  try {
    return exponents.map((exponent) => {
      const at = { length: window, offset: 2 ** exponent - window };
      const [a, b] = [exact.tables(at), rounded.tables(at)];
      const worst = (p: Float32Array, q: Float32Array): number =>
        p.reduce((most, value, i) => Math.max(most, Math.abs(value - (q[i] ?? 0))), 0);
      return Math.max(worst(a.cos, b.cos), worst(a.sin, b.sin));
    });
  } finally {
    exact.dispose();
    rounded.dispose();
  }
}

export interface Hands {
  /** Where each of some pairs points at a position, exactly and with angles in float32. */
  readonly exact: readonly (readonly [x: number, y: number])[];
  readonly rounded: readonly (readonly [x: number, y: number])[];
}

export const shownPairs = 8;

export function angleHands(core: Ropewalk, base: number, position: number): Hands {
  const hands = (angles: 'exact' | 'float32') => {
    const plan = core.rope({ headDim: errorHead, base, angles });
    try {
      const { cos, sin } = plan.tables([position]);
      return Array.from({ length: shownPairs }, (_, i) => [cos[i] ?? 1, sin[i] ?? 0] as const);
    } finally {
      plan.dispose();
    }
  };
  return { exact: hands('exact'), rounded: hands('float32') };
}

export function angleErrorsCode(base: number): string {
  return `import { load } from 'ropewalk';

const rw = await load({ simd: 'deterministic' });
const exact = rw.rope({ headDim: ${errorHead}, base: ${base} });
const rounded = rw.rope({ headDim: ${errorHead}, base: ${base}, angles: 'float32' });
const worst = (p, q) => p.reduce((most, value, i) => Math.max(most, Math.abs(value - q[i])), 0);

const result = [];   // around 2^${exponents[0]}, .. 2^${exponents.at(-1)}
for (let exponent = ${exponents[0]}; exponent <= ${exponents.at(-1)}; ++exponent) {
  const at = { length: ${window}, offset: 2 ** exponent - ${window} };
  const [a, b] = [exact.tables(at), rounded.tables(at)];
  result.push(Math.max(worst(a.cos, b.cos), worst(a.sin, b.sin)));
}
`;
}
