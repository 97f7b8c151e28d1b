// The two conventions of which coordinates form a pair, and the permutation between them: (j, j + r/2) is half,
// (2j, 2j + 1) interleaved. Weights moved from one to the other give the same scores under the other.
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, wrongShape } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { checkedPositions, listed, type PositionsInput } from '../runtime/positions.js';
import { operand, type TensorInput } from '../runtime/tensor.js';
import { isDetached, kindOf, lengthOf } from '../runtime/typed-arrays.js';
import { type Pairing, type RopeOptions, rotarySizes } from './options.js';
import { RopePlan } from './rope.js';

/** What can be permuted: numbers, or bits of them (float16 and bfloat16 as Uint16Array). */
export type PairingArray =
  | Float32Array
  | Float64Array
  | Uint16Array
  | Int16Array
  | Uint8Array
  | Int8Array
  | Uint32Array
  | Int32Array;

/** From which convention to which, and the size of a head. */
export interface ConvertPairingOptions {
  /** The pairing of x. */
  from: Pairing;
  /** The pairing of the result. */
  to: Pairing;
  /** D, coordinates of one head. */
  headDim: number;
  /** How many of them turn; the others keep their place. Default headDim. */
  rotaryDim?: number;
}

/** Options of permutePairing. */
export interface PermutePairingOptions extends ConvertPairingOptions {
  /** H for query weights, the number of key heads for key weights, 1 for a norm's weights [D]. */
  heads: number;
  /** Which axis the heads lie on: `rows` (the default) of [H * D, M], or `columns` of [M, H * D]. */
  headsOn?: 'rows' | 'columns';
}

const pairings: Readonly<Record<Pairing, number>> = { interleaved: 0, half: 1 };
const headAxes: Readonly<Record<'rows' | 'columns', number>> = { rows: 0, columns: 1 };

const convertFields = ['from', 'to', 'headDim', 'rotaryDim'] as const;

const kinds = { Float32Array, Float64Array, Uint16Array, Int16Array, Uint8Array, Int8Array, Uint32Array, Int32Array };

// A new array of the same kind, from this realm; Buffer becomes a Uint8Array.
function emptyLike<T extends PairingArray>(where: string, name: string, value: T): T {
  const kind = kindOf(value);
  if (kind === undefined || !Object.hasOwn(kinds, kind) || isDetached(value)) {
    throw new ArgumentTypeError(where, name, value, `a ${Object.keys(kinds).join(', ')} that is not detached`);
  }
  return new kinds[kind as keyof typeof kinds](lengthOf(value)) as T;
}

// Where coordinate j of the result comes from.
function sources(where: string, options: ConvertPairingOptions): Int32Array {
  const { headDim, rotaryDim } = rotarySizes(where, options);
  const from = check.choice(where, 'from', options.from, pairings);
  const to = check.choice(where, 'to', options.to, pairings);
  const source = Int32Array.from({ length: headDim }, (_, j) => j);
  if (from === to) return source;
  for (let pair = 0; pair < rotaryDim / 2; ++pair) {
    const half = [pair, pair + rotaryDim / 2] as const;
    const interleaved = [2 * pair, 2 * pair + 1] as const;
    const [there, here] = from === pairings.half ? [half, interleaved] : [interleaved, half];
    source[here[0]] = there[0];
    source[here[1]] = there[1];
  }
  return source;
}

// x as [outer, heads * headDim, inner], the middle axis permuted head by head.
function permute<T extends PairingArray>(x: T, out: T, source: Int32Array, inner: number): T {
  const headDim = source.length;
  for (let row = 0; row < out.length / inner; ++row) {
    const j = row % headDim;
    const from = (row - j + (source[j] ?? j)) * inner;
    for (let i = 0; i < inner; ++i) out[row * inner + i] = x[from + i] ?? 0;
  }
  return out;
}

/**
 * Query or key projection weights [H * D, M], their biases [H * D] or the weights [D] of a per-head norm, moved to the
 * other pairing. Permute queries and keys alike, never values or output projections.
 *
 * @returns a new array of the same type; the way back gives the same bits.
 * @throws ArgumentRangeError where the weights are no multiple of heads * headDim.
 *
 * @example
 * const wk = permutePairing(meta.wk, { from: 'interleaved', to: 'half', heads: 8, headDim: 128 });   // Meta to HF LLaMA
 */
export function permutePairing<T extends PairingArray>(weights: T, options: PermutePairingOptions): T {
  const where = 'permutePairing';
  const given = check.options(where, 'options', options, [...convertFields, 'heads', 'headsOn']);
  const out = emptyLike(where, 'weights', weights);
  const source = sources(where, given);
  const heads = check.integer(where, 'heads', given.heads, 1, 2 ** 20);
  const onRows = check.choice(where, 'headsOn', given.headsOn ?? 'rows', headAxes) === headAxes.rows;
  const other = out.length / (heads * source.length);
  if (!Number.isInteger(other) || other === 0) {
    const problem = `has ${out.length} numbers, which are not ${heads} heads of ${source.length} coordinates each`;
    throw new ArgumentRangeError(where, 'weights', weights, problem);
  }
  return permute(weights, out, source, onRows ? other : 1);
}

/**
 * Queries, keys or cached keys [.., D], rotated or not, moved to the other pairing: what a plan of the other pairing
 * would have made of permuted weights.
 *
 * @returns a new array of the same type.
 * @throws ArgumentRangeError where x is no multiple of headDim.
 *
 * @example
 * const keys = convertPairing(cache, { from: 'half', to: 'interleaved', headDim: 128 });
 */
export function convertPairing<T extends PairingArray>(x: T, options: ConvertPairingOptions): T {
  const where = 'convertPairing';
  const given = check.options(where, 'options', options, convertFields);
  const out = emptyLike(where, 'x', x);
  const source = sources(where, given);
  if (out.length % source.length !== 0) {
    const problem = `has ${out.length} numbers, which is no multiple of headDim, ${source.length}`;
    throw new ArgumentRangeError(where, 'x', x, problem);
  }
  return permute(x, out, source, 1);
}

/** Options of detectPairing: those of the plan to try, and where the tokens stand. */
export interface DetectPairingOptions extends Omit<RopeOptions, 'headDim' | 'pairing'> {
  /** Positions of the queries, as in rotate; one list for each axis of the plan. Default 0, 1, 2, ... */
  positions?: PositionsInput;
  /** Positions of the keys. Default those of the queries. */
  keyPositions?: PositionsInput;
  /** The factor of q kᵀ in the scores. Default 1 / sqrt(D). */
  scale?: number;
  /**
   * The largest error of a score with which a pairing still fits. Default: the error of bfloat16 arithmetic, 2^-8 times the
   * largest possible score, scale * max |q| * max |k| * attentionFactor².
   */
  tolerance?: number;
}

const planFields = ['rotaryDim', 'base', 'scaling', 'angles', 'axes', 'xpos'] as const;

/** The result of detectPairing. */
export interface PairingDetection {
  /** The one pairing that explains the scores; undefined where neither does, or both do and more must be known. */
  readonly pairing: Pairing | undefined;
  /** The largest error of a score under each. */
  readonly errors: Readonly<Record<Pairing, number>>;
  /** The largest error that counted as a fit: the option, or its default. */
  readonly tolerance: number;
}

interface Heads {
  readonly data: Float32Array;
  readonly shape: readonly number[];
  readonly heads: number;
  readonly tokens: number;
  readonly dim: number;
}

function headsOf(heap: Heap, where: string, name: string, value: TensorInput): Heads {
  const input = check.read(value);
  const { shape, size, tensor } = operand(heap, where, name, input);
  if (shape.length !== 2 && shape.length !== 3) {
    throw wrongShape(where, name, value, shape, '[T, D] or [H, T, D]');
  }
  const data = tensor?.data() ?? check.float32(where, `${name}.data`, (input as { data: unknown }).data, size).slice();
  return { data, shape, heads: shape.at(-3) ?? 1, tokens: shape.at(-2) ?? 1, dim: shape.at(-1) ?? 1 };
}

function longest({ data, dim }: Heads): number {
  let most = 0;
  for (let row = 0; row < data.length; row += dim) {
    let square = 0;
    for (let d = 0; d < dim; ++d) square += (data[row + d] ?? 0) ** 2;
    most = Math.max(most, Math.sqrt(square));
  }
  return most;
}

// The largest difference between scale q kᵀ and the scores; masked ones (-Infinity, or the lowest float) do not count.
function largestError(q: Heads, k: Heads, scores: Float32Array, scale: number): number {
  let largest = 0;
  scores.forEach((score, at) => {
    if (score < -1e30) return;
    const [j, i] = [at % k.tokens, Math.floor(at / k.tokens) % q.tokens];
    const h = Math.floor(at / (k.tokens * q.tokens));
    const queryRow = (h * q.tokens + i) * q.dim;
    const keyRow = (Math.floor((h * k.heads) / q.heads) * k.tokens + j) * q.dim;
    let dot = 0;
    for (let d = 0; d < q.dim; ++d) dot += (q.data[queryRow + d] ?? 0) * (k.data[keyRow + d] ?? 0);
    largest = Math.max(largest, Math.abs(scale * dot - score));
  });
  return largest;
}

/**
 * `rw.detectPairing`.
 * @internal
 */
export function detectPairing(
  heap: Heap,
  queries: TensorInput,
  keys: TensorInput,
  scores: TensorInput,
  options: DetectPairingOptions,
): PairingDetection {
  const where = 'detectPairing';
  const q = headsOf(heap, where, 'q', queries);
  const k = headsOf(heap, where, 'k', keys);
  if (k.dim !== q.dim || q.heads % k.heads !== 0) {
    const problem = `has shape [${k.shape.join(', ')}]; q has [${q.shape.join(', ')}]`;
    throw new ArgumentRangeError(where, 'k', keys, problem);
  }
  const wanted = headsOf(heap, where, 'scores', scores);
  const own = ['positions', 'keyPositions', 'scale', 'tolerance'] as const;
  const given = check.options(where, 'options', options, [...planFields, ...own]);
  const { positions, keyPositions = positions, scale: givenScale, tolerance: givenTolerance, ...rope } = given;
  if (wanted.heads !== q.heads || wanted.tokens !== q.tokens || wanted.dim !== k.tokens) {
    const problem = `have shape [${wanted.shape.join(', ')}]; expected [${q.heads}, ${q.tokens}, ${k.tokens}]`;
    throw new ArgumentRangeError(where, 'scores', scores, problem);
  }
  const scale = check.positive(where, 'scale', givenScale ?? 1 / Math.sqrt(q.dim));
  const nan = wanted.data.findIndex(Number.isNaN);
  if (nan >= 0) throw new ArgumentRangeError(where, `scores[${nan}]`, Number.NaN, 'is NaN; expected a number');
  const keysName = given.keyPositions === undefined ? 'positions' : 'keyPositions';
  const errorsOf = (pairing: Pairing) => {
    const plan = new RopePlan(heap, { ...rope, headDim: q.dim, pairing }, where);
    try {
      const turn = (x: Heads, name: string, list: PositionsInput | undefined, role: 'query' | 'key') => {
        const { data, heads, tokens, dim } = x;
        const at =
          list === undefined ? checkedPositions(where, {}, 1, tokens) : listed(where, name, list, 1, tokens, plan.axes);
        return heap.scope(where, (scratch) => {
          const pointer = heap.put(scratch, data);
          const shape = { tokensFirst: false, batch: 1, heads, tokens, dim };
          plan.turnAt(where, pointer, shape, at.put(heap, scratch), role, scratch);
          return { ...x, data: heap.readFloats(pointer, data.length) };
        });
      };
      const [queriesAt, keysAt] = [turn(q, 'positions', positions, 'query'), turn(k, keysName, keyPositions, 'key')];
      const error = largestError(queriesAt, keysAt, wanted.data, scale);
      return { error, attentionFactor: plan.attentionFactor };
    } finally {
      plan.dispose();
    }
  };
  const [half, interleaved] = [errorsOf('half'), errorsOf('interleaved')];
  const most = scale * longest(q) * longest(k) * half.attentionFactor ** 2;
  const tolerance = check.positive(where, 'tolerance', givenTolerance ?? Math.max(2 ** -8 * most, Number.MIN_VALUE));
  const fits = { half: half.error <= tolerance, interleaved: interleaved.error <= tolerance };
  const errors = { half: half.error, interleaved: interleaved.error };
  if (fits.half === fits.interleaved) return { pairing: undefined, errors, tolerance };
  return { pairing: fits.half ? 'half' : 'interleaved', errors, tolerance };
}
