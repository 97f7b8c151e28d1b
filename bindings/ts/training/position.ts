// The position encodings that a trainer takes: each checks its options, then says what it adds to the core's call.
import type * as calls from '../calls.js';
import { checkSandwich, type SandwichVectors } from '../encodings/sandwich.js';
import { checkT5 } from '../encodings/t5.js';
import { LearnedMode, Pairing as PairingNumber, Scaling, TrainedPosition } from '../enums.js';
import { checkRopeOptions, inPosition, type Pairing, pairings, type RopeScaling } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';

/** How vectors of positions and of tokens become one. */
export interface VectorOptions {
  /** `add` (the default), or `concatenate`: the last positionDim coordinates are the position's. */
  mode?: 'add' | 'concatenate';
  /** Of mode `concatenate`: from 1 to modelDim - 1. */
  positionDim?: number;
}

/** RoPE of a trainer. */
export interface TrainedRope {
  /** Queries and keys are turned, or the features of linear attention. */
  encoding: 'rope';
  /** How many coordinates of a head are turned; even. Default all. */
  rotaryDim?: number;
  /** Default 10000. */
  base?: number;
  /** Default `half`. */
  pairing?: Pairing;
  /** Default none. */
  scaling?: RopeScaling;
}

/** Tables of distances from -(maxPositions - 1) to maxPositions - 1, query minus key, a table for each layer. */
export interface TrainedTable {
  /** Default: the trainer's context. */
  maxPositions?: number;
}

/** Tokens that fill a grid row by row. */
export interface TrainedGrid {
  /** Token t stands in row floor(t / columns), column t % columns. */
  columns: number;
}

/** Position encodings of a trainer. What an encoding learns is trained with the rest. */
export type TrainerPosition =
  | {
      /** The model knows no positions; causal order alone tells it of them. */
      encoding: 'none';
    }
  | ({
      /** Adds sines and cosines to token vectors. */
      encoding: 'sinusoidal';
      /** Default 10000. */
      base?: number;
      /** Multiplies them. Default 1. */
      scale?: number;
    } & VectorOptions)
  | ({
      /** Adds the bits of the position as -1 and 1, then zeros. */
      encoding: 'binary';
      /** Number of positions with a code. Default: the trainer's context. */
      maxPositions?: number;
      /** Multiplies them. Default 1. */
      scale?: number;
    } & VectorOptions)
  | ({
      /** Adds a learned vector for each position, or multiplies by it. */
      encoding: 'learned';
      /** Rows of the table. Default: the trainer's context. */
      maxPositions?: number;
      /** `add` (the default), `multiply` or `concatenate`. */
      mode?: VectorOptions['mode'] | 'multiply';
    } & Pick<VectorOptions, 'positionDim'>)
  | ({
      /**
       * Learned positions of a grid (arXiv:2001.04451): adds a vector for the row and one for the column, of `axial.rows` `[rows,
       * modelDim]` and `axial.columns` `[columns, modelDim]`, as `axialTable`.
       */
      encoding: 'axial';
      /** Default: as many as context needs. */
      rows?: number;
    } & TrainedGrid)
  | TrainedRope
  | {
      /** Adds -slope |j - i| to scores (arXiv:2108.12409). */
      encoding: 'alibi';
      /** [heads]. Default the paper's. */
      slopes?: readonly number[];
      /** Whether slopes are learned, `alibi.slopes`. Default false. */
      trainable?: boolean;
    }
  | {
      /** Adds a learned number for each bucket of distances and head (arXiv:1910.10683); scores are scaled. */
      encoding: 't5';
      /** Default 32; both directions together where the model is not causal. */
      numBuckets?: number;
      /** Default 128. */
      maxDistance?: number;
    }
  | {
      /** KERPLE (arXiv:2205.09921): subtracts r1 ln(1 + r2 |j - i|). Each head learns both; a step leaves them at least 0.01. */
      encoding: 'kerple';
    }
  | {
      /** Shaw (arXiv:1803.02155): learned vectors for keys and values by clip(j - i). */
      encoding: 'shaw';
      /** Distances with rows of their own. Default 16. */
      maxDistance?: number;
    }
  | ({
      /** BERT: adds q . table[i - j]. */
      encoding: 'relative_key';
    } & TrainedTable)
  | ({
      /** Huang's M4 (arXiv:2009.13658): adds (q + k) . table[i - j]. */
      encoding: 'relative_key_query';
    } & TrainedTable)
  | ({
      /** Huang's M3 (arXiv:2009.13658): sum_d q_d k_d table[i - j]_d in place of q . k. */
      encoding: 'm3';
    } & TrainedTable)
  | {
      /** PoPE (arXiv:2509.10534): magnitudes by softplus, angles by position and a learned phase. */
      encoding: 'pope';
      /** Default 10000. */
      base?: number;
    }
  | {
      /** FoX (arXiv:2503.02130): learned gates by which a head forgets. Causal models only. */
      encoding: 'forget';
    }
  | {
      /**
       * FIRE (arXiv:2310.04418): adds a learned function of ln(1 + c |i - j|) / ln(1 + c max(L, i)), the same for all
       * layers. Of its parameters `fire.threshold_factor` begins as 1 and is multiplied by `threshold` to L; it and c count by
       * their absolute values.
       */
      encoding: 'fire';
      /** W, numbers of the hidden layer. Default 32. */
      width?: number;
      /** L at first. Default a quarter of the context, as the paper's 512 is of 2048. */
      threshold?: number;
    }
  | ({
      /** Sandwich (arXiv:2212.10356): adds the products of the sinusoidal vectors of both positions, as `rw.sandwichBias`. */
      encoding: 'sandwich';
    } & SandwichVectors)
  | {
      /**
       * Transformer-XL (arXiv:1901.02860): scores are (q_i + u) . k_j + (q_i + v) . R s, with s the sinusoidal vector of i - j,
       * sines before cosines. Each layer learns `relative_projection`, which is R, `content_bias`, u, and `position_bias`, v.
       */
      encoding: 'transformer_xl';
      /** Default 10000. */
      base?: number;
    }
  | {
      /**
       * DeBERTa (arXiv:2006.03654): scores are q_i . k_j + q_i . W_k p + k_j . W_q p, over sqrt(3 D), with p the row of i - j in
       * `relative_embeddings` `[2 span, modelDim]`, which all layers share, and each layer's own maps of queries and keys.
       */
      encoding: 'deberta';
      /** Half of the rows. Default 16. */
      span?: number;
      /**
       * Distances beyond span / 2 fall into logarithmic buckets; from this distance on they share the last (versions 2 and 3).
       * At least span / 2 + 2. Default: each distance has its row, and those that have none share the outermost.
       */
      maxDistance?: number;
    }
  | {
      /**
       * CoPE (arXiv:2405.18719): adds q_i . e[p], with p the sum of the gates sigmoid(q_i . k_t / sqrt(D)) from key j on, as
       * `copeBias`. Each layer learns e, `cope` `[positions, D]`, which begins as zeros.
       */
      encoding: 'cope';
      /** Rows of e. Positions beyond the last row use the last row. Default 64. */
      positions?: number;
    }
  | ({
      /**
       * RoPE-Mixed (arXiv:2403.13298): queries and keys turn by their column times one frequency plus their row times another,
       * as `mixedRope`. Each layer learns them for each head and pair, `frequencies_x` and `frequencies_y`. They begin as
       * base^(-4i / D), for half of the pairs in one direction of the plane, for the others at a right angle to it.
       */
      encoding: 'rope_mixed';
      /** Default 10, the paper's. */
      base?: number;
      /** Default `interleaved`, as in the paper's code. */
      pairing?: Pairing;
    } & TrainedGrid);

/** Sizes of the model that an encoding may need. @internal */
export interface ModelSizes {
  readonly modelDim: number;
  readonly heads: number;
  readonly context: number;
  readonly causal: boolean;
}

type Fields = calls.TrainedPositionOptions;
type Encoding = TrainerPosition['encoding'];
type Given<E extends Encoding> = Extract<TrainerPosition, { readonly encoding: E }>;

/** A checked encoding. @internal */
export interface CheckedPosition {
  /** As it was given. */
  readonly given: TrainerPosition;
  /** Tokens of the longest sequence that it takes. */
  readonly longest: number;
  /** What the core takes, its lists in memory that `scratch` gives. */
  fields(heap: Heap, scratch: Scratch): Fields;
}

const frequencies: calls.FrequencyOptions = {
  dim: 0, // the core's own default
  base: 10000,
  scaling: Scaling.default,
  factor: 1,
  betaFast: 32,
  betaSlow: 1,
  truncate: true,
  lowFreqFactor: 1,
  highFreqFactor: 4,
  rotaryFraction: 1,
};
const defaults: Fields = {
  kind: TrainedPosition.none,
  length: 0,
  mode: LearnedMode.add,
  positionDim: 0,
  scale: 1,
  base: 10000,
  frequencies,
  pairing: PairingNumber.half,
  trainable: false,
  numBuckets: 32,
  maxDistance: 128,
  maxRelative: 16,
  width: 32,
  columns: 0,
  threshold: 512,
};

// What an encoding adds to the defaults.
interface Part {
  readonly fields?: Partial<Fields>;
  readonly longest?: number;
  readonly slopes?: readonly number[];
  readonly lists?: ReturnType<typeof checkRopeOptions>['lists'];
}

interface EncodingKind<E extends Encoding> {
  readonly options: readonly Exclude<keyof Given<E>, 'encoding'>[];
  read(where: string, given: Given<E>, sizes: ModelSizes): Part;
}

const { add, multiply, concatenate } = LearnedMode;
const fixedModes = { add, concatenate };

function vectors(
  where: string,
  given: { readonly mode?: string | undefined; readonly positionDim?: number },
  sizes: ModelSizes,
  modes: Readonly<Record<string, number>> = fixedModes,
): Pick<Fields, 'mode' | 'positionDim'> {
  const mode = check.choice(where, 'position.mode', given.mode ?? 'add', modes);
  if (mode === concatenate) {
    const most = sizes.modelDim - 1;
    return { mode, positionDim: check.integer(where, 'position.positionDim', given.positionDim, 1, most) };
  }
  if (given.positionDim === undefined) return { mode, positionDim: 0 };
  const problem = "has no place here; only mode 'concatenate' keeps coordinates for positions";
  throw new ArgumentRangeError(where, 'position.positionDim', given.positionDim, problem);
}

function maxPositions(where: string, given: { readonly maxPositions?: number }, { context }: ModelSizes): number {
  return check.integer(where, 'position.maxPositions', given.maxPositions ?? context, context, 2 ** 20);
}

const scale = (where: string, given: { readonly scale?: number }) =>
  check.float32Number(where, 'position.scale', given.scale ?? 1);
const base = (where: string, given: { readonly base?: number }) =>
  check.base(where, 'position.base', given.base ?? 10000);

const nothing = { options: [], read: () => ({}) } as const;
const table = {
  options: ['maxPositions'],
  read: (where: string, given: TrainedTable, sizes: ModelSizes) => {
    const length = maxPositions(where, given, sizes);
    return { fields: { length }, longest: length };
  },
} as const;

const columns = (where: string, given: { readonly columns?: number }) =>
  check.integer(where, 'position.columns', given.columns, 1, 2 ** 20);

// Refuses heads of which a coordinate would be left over.
function checkPairs(
  where: string,
  { encoding }: Pick<TrainerPosition, 'encoding'>,
  { modelDim, heads }: Pick<ModelSizes, 'modelDim' | 'heads'>,
) {
  const dim = modelDim / heads;
  if (dim % 2 === 0) return;
  const problem = `is '${encoding}', which turns pairs; heads have ${dim} coordinates, expected an even number`;
  throw new ArgumentRangeError(where, 'position.encoding', encoding, problem);
}

const byBase = {
  options: ['base'],
  read: (where: string, given: { readonly base?: number }) => ({ fields: { base: base(where, given) } }),
} as const;

function slopesOf(where: string, value: readonly number[] | undefined, heads: number): readonly number[] | undefined {
  if (value === undefined) return undefined;
  const expected = `${heads} numbers, one for each head`;
  if (!Array.isArray(value)) throw new ArgumentTypeError(where, 'position.slopes', value, expected);
  if (value.length !== heads) {
    throw new ArgumentRangeError(where, 'position.slopes', value, `has ${value.length} entries; expected ${expected}`);
  }
  return value.map((slope, h) => check.float32Number(where, `position.slopes[${h}]`, slope));
}

// One entry makes an encoding known.
const encodings: { readonly [E in Encoding]: EncodingKind<E> } = {
  none: nothing,
  sinusoidal: {
    options: ['base', 'scale', 'mode', 'positionDim'],
    read: (where, given, sizes) => ({
      fields: { ...vectors(where, given, sizes), base: base(where, given), scale: scale(where, given) },
    }),
  },
  binary: {
    options: ['maxPositions', 'scale', 'mode', 'positionDim'],
    read: (where, given, sizes) => {
      const length = maxPositions(where, given, sizes);
      const mode = vectors(where, given, sizes);
      const [bits, room] = [Math.ceil(Math.log2(length)), mode.positionDim || sizes.modelDim];
      if (bits <= room) return { fields: { ...mode, length, scale: scale(where, given) }, longest: length };
      const problem = `is ${length}, which takes ${bits} bits; there are ${room} coordinates for them`;
      throw new ArgumentRangeError(where, 'position.maxPositions', length, problem);
    },
  },
  learned: {
    options: ['maxPositions', 'mode', 'positionDim'],
    read: (where, given, sizes) => {
      const length = maxPositions(where, given, sizes);
      return { fields: { ...vectors(where, given, sizes, { add, multiply, concatenate }), length }, longest: length };
    },
  },
  rope: {
    options: ['rotaryDim', 'base', 'pairing', 'scaling'],
    read: (where, { encoding, ...given }, { modelDim, heads }) => {
      if (given.rotaryDim === undefined) checkPairs(where, { encoding }, { modelDim, heads });
      const options = { ...given, headDim: modelDim / heads };
      const { core, lists } = checkRopeOptions(where, options, inPosition);
      return { fields: { frequencies: core.frequencies, pairing: core.pairing }, lists };
    },
  },
  alibi: {
    options: ['slopes', 'trainable'],
    read: (where, given, { heads }) => {
      const trainable = check.boolean(where, 'position.trainable', given.trainable ?? false);
      const slopes = slopesOf(where, given.slopes, heads);
      return slopes === undefined ? { fields: { trainable } } : { fields: { trainable }, slopes };
    },
  },
  t5: {
    options: ['numBuckets', 'maxDistance'],
    read: (where, { numBuckets = 32, maxDistance = 128 }, { causal }) => ({
      fields: checkT5(where, { bidirectional: !causal, numBuckets, maxDistance }, 'position.'),
    }),
  },
  kerple: nothing,
  shaw: {
    options: ['maxDistance'],
    read: (where, given) => ({
      fields: { maxRelative: check.integer(where, 'position.maxDistance', given.maxDistance ?? 16, 0, 2 ** 16) },
    }),
  },
  relative_key: table,
  relative_key_query: table,
  m3: table,
  pope: byBase,
  forget: {
    options: [],
    read: (where, given, { causal }) => {
      if (causal) return {};
      const problem = "is 'forget', whose gates lie between a key and a later query; it needs causal: true";
      throw new ArgumentRangeError(where, 'position.encoding', given.encoding, problem);
    },
  },
  fire: {
    options: ['width', 'threshold'],
    read: (where, given, { context }) => ({
      fields: {
        width: check.integer(where, 'position.width', given.width ?? 32, 1, 4096),
        threshold: check.positiveFloat32(where, 'position.threshold', given.threshold ?? context / 4),
      },
    }),
  },
  sandwich: {
    options: ['dim', 'base'],
    read: (where, given) => {
      const { dim: width, base } = checkSandwich(where, given, 'position.');
      return { fields: { width, base } };
    },
  },
  transformer_xl: byBase,
  axial: {
    options: ['columns', 'rows'],
    read: (where, given, { context }) => {
      const fields = { columns: columns(where, given) };
      const least = Math.ceil(context / fields.columns);
      const length = check.integer(where, 'position.rows', given.rows ?? least, least, 2 ** 20);
      return { fields: { ...fields, length }, longest: length * fields.columns };
    },
  },
  rope_mixed: {
    options: ['columns', 'base', 'pairing'],
    read: (where, given, sizes) => {
      const pairing = check.choice(where, 'position.pairing', given.pairing ?? 'interleaved', pairings);
      checkPairs(where, given, sizes);
      const base = check.base(where, 'position.base', given.base ?? 10);
      return { fields: { columns: columns(where, given), base, pairing } };
    },
  },
  cope: {
    options: ['positions'],
    read: (where, given) => ({
      fields: { length: check.integer(where, 'position.positions', given.positions ?? 64, 1, 2 ** 20) },
    }),
  },
  deberta: {
    options: ['span', 'maxDistance'],
    read: (where, given) => {
      const maxRelative = check.integer(where, 'position.span', given.span ?? 16, 1, 2 ** 16);
      if (given.maxDistance === undefined) return { fields: { maxRelative, maxDistance: 0 } };
      const middle = Math.floor(maxRelative / 2);
      if (middle === 0) {
        const problem = 'is for a span of at least 2, which has buckets';
        throw new ArgumentRangeError(where, 'position.maxDistance', given.maxDistance, problem);
      }
      const maxDistance = check.integer(where, 'position.maxDistance', given.maxDistance, middle + 2, 2 ** 30);
      return { fields: { maxRelative, maxDistance } };
    },
  },
};

/** Checks an encoding. @internal */
export function checkPosition(where: string, given: TrainerPosition, sizes: ModelSizes): CheckedPosition {
  check.plainObject(where, 'position', given, "an object such as { encoding: 'rope' }");
  const kind = check.choice(where, 'position.encoding', given.encoding, encodings) as EncodingKind<Encoding>;
  check.keys(where, 'position', given, ['encoding', ...kind.options]);
  const { fields, longest = Number.MAX_SAFE_INTEGER, slopes, lists = [] } = kind.read(where, given, sizes);
  return {
    given,
    longest,
    fields: (heap, scratch) => {
      const put = (numbers: readonly number[]) => heap.put(scratch, Float64Array.from(numbers));
      const addresses = Object.fromEntries(lists.map(({ field, numbers }) => [field, put(numbers)]));
      return {
        ...defaults,
        ...fields,
        kind: TrainedPosition[given.encoding],
        frequencies: { ...frequencies, ...fields?.frequencies, ...addresses },
        slopes: slopes && put(slopes),
      };
    },
  };
}
