// Rotary position embedding: RopePlan (Su et al., arXiv:2104.09864).

import * as calls from '../calls.js';
import type { RopePlan as CoreRopePlan, MainModule } from '../core.mjs';
import { Role, Turn } from '../enums.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, checkStatus } from '../runtime/errors.js';
import { destroyer, Handle } from '../runtime/handle.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { checkHeads, type FloatsOf, type HeadOptions, type Heads, inPlace, turned } from '../runtime/in-place.js';
import type { HeadShape, Layout } from '../runtime/layout.js';
import {
  checkedPositions,
  checkedPositionsOf,
  type PositionOptions,
  type PositionsInput,
  type RowsInput,
  rows,
} from '../runtime/positions.js';
import type { ArrayLikeInput, NdArray, Tensor } from '../runtime/tensor.js';
import { type OwnFloats, overlap } from '../runtime/typed-arrays.js';
import { type Angles, checkRopeOptions, type NameOf, type Pairing, type RopeOptions, tooFast } from './options.js';

/** Options of rotate and unrotate. */
export interface RotateOptions<O extends Float32Array | undefined = Float32Array | undefined>
  extends PositionOptions,
    HeadOptions<O> {
  /** Whether x holds queries or keys. An xPos plan needs it, others do not use it. */
  role?: 'query' | 'key';
}

/** Options of rotateBoth. */
export interface RotateBothOptions<
  OQ extends Float32Array | undefined = Float32Array | undefined,
  OK extends Float32Array | undefined = Float32Array | undefined,
> extends PositionOptions {
  /** Of both. Default `BHTD`. */
  layout?: Layout;
  /** Plain arrays only: where to write the queries and the keys, q and k themselves included. Default new arrays. */
  out?: readonly [q: NonNullable<OQ>, k: NonNullable<OK>];
}

/** The result for an x: the tensor itself, a Float32Array for a Float32Array, an NdArray for other arrays. O is `out`. */
export type Rotated<X, O extends Float32Array | undefined = undefined> = X extends Tensor
  ? Tensor
  : X extends Float32Array
    ? FloatsOf<O>
    : NdArray<FloatsOf<O>>;

// rotate, unrotate and rerotate have overloads in place of one signature with Rotated: in Remote<RopePlan>, of
// ropewalk/worker, a type parameter becomes its constraint, and every result a union of all three kinds.

/** Options of rerotate. */
export interface RerotateOptions<O extends Float32Array | undefined = Float32Array | undefined> extends HeadOptions<O> {
  /** The positions at which this plan turned the keys: an offset, or a list as in rotate. */
  from: number | PositionsInput;
  /** The new positions of the keys: an offset, or a list. */
  to: number | PositionsInput;
  /** The plan for the new positions. Default this one. */
  plan?: RopePlan;
}

/** How wide a row of a table is: a number for each pair, or one for each coordinate. */
export type TableWidth = 'pairs' | 'coordinates';

const tableWidths: Readonly<Record<TableWidth, number>> = { pairs: 0, coordinates: 1 };

/** cos and sin at some positions, row major. */
export interface RopeTables {
  /** [positions, rotaryDim / 2], or [positions, rotaryDim] of width `coordinates`; times attentionFactor. */
  readonly cos: OwnFloats;
  /** As cos. */
  readonly sin: OwnFloats;
}

const names = { q: { x: 'q', out: 'out[0]' }, k: { x: 'k', out: 'out[1]' } } as const;

// Where the results of two inputs go.
function pairOf(where: string, out: unknown): readonly [Float32Array | undefined, Float32Array | undefined] {
  if (out === undefined) return [undefined, undefined];
  if (!Array.isArray(out) || out.length !== 2) {
    throw new ArgumentTypeError(where, 'out', out, 'two Float32Arrays, for q and for k');
  }
  const pair = [check.float32(where, names.q.out, out[0]), check.float32(where, names.k.out, out[1])] as const;
  if (overlap(...pair)) {
    throw new ArgumentRangeError(
      where,
      names.k.out,
      pair[1],
      'shares memory with out[0]; the keys would hide the queries',
    );
  }
  return pair;
}

function agree(where: string, queries: Heads, keys: Heads, k: unknown): void {
  if (keys.batch !== queries.batch || keys.tokens !== queries.tokens) {
    const problem = `has ${keys.batch} x ${keys.tokens} tokens (batch x T), q has ${queries.batch} x ${queries.tokens}`;
    throw new ArgumentRangeError(where, 'k', k, problem);
  }
  if (keys.input.tensor !== undefined && keys.input.tensor === queries.input.tensor) {
    throw new ArgumentRangeError(where, 'k', k, 'is q itself, which would be turned twice');
  }
}

// Turning multiplies by the factor, turning back by its inverse.
function checkAttentionFactor(where: string, { scaling }: RopeOptions, factor: number): void {
  const isHeld = (number: number): boolean => Math.fround(number) > 0 && Number.isFinite(Math.fround(number));
  if (isHeld(factor) && isHeld(1 / factor)) return;
  const problem = `makes cos and sin ${factor} times what they are, and float32 cannot hold that or its inverse`;
  throw new ArgumentRangeError(where, 'scaling', scaling, problem);
}

/**
 * Rotary position embedding (Su et al., arXiv:2104.09864): turns pairs of a head's coordinates by angles that grow
 * with the position, so that the score of a query and a key depends on their distance only. Made by `rw.rope()`.
 *
 * @example
 * using plan = rw.rope({ headDim: 64, base: 500000 });
 * plan.rotate(q, { offset: 1024 });   // q: tensor [heads, tokens, 64], turned in place
 */
export class RopePlan extends Handle {
  /** D, coordinates of one head. */
  readonly headDim: number;
  /** How many of them are turned. */
  readonly rotaryDim: number;
  /** Base of the frequencies before scaling. */
  readonly base: number;
  /** Which coordinates form a pair. */
  readonly pairing: Pairing;
  /** How angles are formed. */
  readonly angles: Angles;
  /** How many axes a position has; 1 for text. */
  readonly axes: number;
  /** What cos and sin are multiplied by (YaRN, LongRoPE, `custom`); scores get its square. 1 otherwise. */
  readonly attentionFactor: number;
  /** Frequency of each pair in radians per position, [rotaryDim / 2], the exact value rounded to double. */
  readonly inverseFrequencies: Float64Array;
  /** Positions in which each pair makes a full turn, 2 pi / frequency; Infinity for a pair that never turns. */
  readonly wavelengths: Float64Array;
  /** @internal */
  readonly plan: CoreRopePlan;
  /** @internal */
  readonly xpos: boolean;
  /** Whether the pairs lie in several blocks (axial axes). */
  readonly #blocks: boolean;

  /** @internal */
  constructor(heap: Heap, options: RopeOptions, where = 'rope', nameOf?: NameOf) {
    const checked = checkRopeOptions(where, options, nameOf);
    const make = (core: MainModule) => new core.RopePlan();
    const plan = heap.made(where, make, (made) =>
      heap.scope(where, (scratch) => {
        const lists = checked.lists.map(({ field, numbers }) => [field, heap.put(scratch, Float64Array.from(numbers))]);
        const frequencies = { ...checked.core.frequencies, ...Object.fromEntries(lists) };
        const fields = heap.putCall(scratch, calls.RopeOptions, { ...checked.core, frequencies });
        heap.run(where, () => made.create(fields), tooFast(where));
        checkAttentionFactor(where, checked.given, made.attentionFactor);
        return made;
      }),
    );
    super(heap, destroyer(heap, plan));
    this.plan = plan;
    this.headDim = checked.headDim;
    this.rotaryDim = checked.rotaryDim;
    this.base = checked.base;
    this.pairing = checked.pairing;
    this.angles = checked.angles;
    this.axes = checked.axes;
    this.xpos = checked.xpos;
    this.#blocks = checked.blocks;
    this.attentionFactor = plan.attentionFactor;
    const frequencies = (out: number) => heap.call(() => plan.frequencies(out));
    this.inverseFrequencies = heap.doublesOf(where, this.rotaryDim / 2, frequencies);
    this.wavelengths = this.inverseFrequencies.map((w) => (2 * Math.PI) / Math.abs(w));
    Object.freeze(this);
  }

  /**
   * Turns x by its positions. A tensor is turned in place and given back; a plain array is left alone and the
   * result is a new one of the same form (or `out`). Coordinates from rotaryDim on are kept as they are.
   *
   * @param x [.., T, headDim] in the order that `layout` names.
   * @throws ArgumentRangeError where sizes do not fit each other or a position is no integer in ±(2^53 - 1); x is
   *   then as it was.
   *
   * @example
   * plan.rotate(q, { offset: 17 });                                  // decoding: the next token stands at 17
   * plan.rotate({ data, shape: [2, 8, 3, 64] }, { positions: [0, 5, 9, 2, 3, 4] });   // positions per batch entry
   */
  rotate(x: Tensor, options?: RotateOptions): Tensor;
  rotate<O extends Float32Array | undefined = undefined>(x: Float32Array, options?: RotateOptions<O>): FloatsOf<O>;
  rotate<O extends Float32Array | undefined = undefined>(
    x: ArrayLikeInput,
    options?: RotateOptions<O>,
  ): NdArray<FloatsOf<O>>;
  rotate(
    x: Tensor | Float32Array | ArrayLikeInput,
    options: RotateOptions = {},
  ): Tensor | Float32Array | NdArray<Float32Array> {
    return this.#turn('rope.rotate', x, options, Turn.forward);
  }

  /** Undoes rotate at the same positions: the opposite turn, divided by the attention factor. */
  unrotate(x: Tensor, options?: RotateOptions): Tensor;
  unrotate<O extends Float32Array | undefined = undefined>(x: Float32Array, options?: RotateOptions<O>): FloatsOf<O>;
  unrotate<O extends Float32Array | undefined = undefined>(
    x: ArrayLikeInput,
    options?: RotateOptions<O>,
  ): NdArray<FloatsOf<O>>;
  unrotate(
    x: Tensor | Float32Array | ArrayLikeInput,
    options: RotateOptions = {},
  ): Tensor | Float32Array | NdArray<Float32Array> {
    return this.#turn('rope.unrotate', x, options, Turn.back);
  }

  /**
   * Rotates queries and keys of the same tokens in one call, to the same bits as two calls of rotate; one call is faster when
   * decoding. Each may have its own number of heads and be of its own kind; both have the same batch and tokens. An xPos plan
   * turns each by its role. An error leaves both as they were.
   *
   * @param q [.., T, headDim] in the order that `layout` names; a Float32Array is [T, headDim].
   * @param k as q.
   * @returns queries and keys, as rotate gives them.
   * @throws ArgumentRangeError where sizes do not fit each other, a position is no integer in ±(2^53 - 1), q and k are one
   *   tensor, or both of `out` share memory.
   *
   * @example
   * plan.rotateBoth(q, k, { offset: 17 });   // tensors [32, 1, 128] and [8, 1, 128], turned in place
   * const [turnedQ, turnedK] = plan.rotateBoth({ data, shape: [2, 8, 3, 128] }, { data: keys, shape: [2, 2, 3, 128] });
   */
  rotateBoth<
    Q extends Tensor | Float32Array | ArrayLikeInput,
    K extends Tensor | Float32Array | ArrayLikeInput,
    OQ extends Float32Array | undefined = undefined,
    OK extends Float32Array | undefined = undefined,
  >(q: Q, k: K, options: RotateBothOptions<OQ, OK> = {}): [q: Rotated<Q, OQ>, k: Rotated<K, OK>] {
    const where = 'rope.rotateBoth';
    const given = check.options(where, 'options', options, ['offset', 'positions', 'layout', 'out']);
    const { layout } = given;
    const [qInput, kInput] = [check.read(q), check.read(k)];
    this.alive(where);
    const [outQ, outK] = pairOf(where, given.out);
    const queries = checkHeads(this.heap, where, names.q, qInput, { layout, out: outQ }, this.headDim);
    const keys = checkHeads(this.heap, where, names.k, kInput, { layout, out: outK }, this.headDim);
    agree(where, queries, keys, k);
    const { batch, tokens } = queries;
    const at = checkedPositions(where, given, batch, tokens, this.axes);
    return this.heap.scope(where, (scratch) => {
      const positions = at.put(this.heap, scratch);
      const [qAt, kAt] = [queries.input.address(scratch), keys.input.address(scratch)];
      const tokensFirst = queries.tokensFirst || keys.tokensFirst; // one head is the same in both orders
      const call = { q: qAt, k: kAt, tokensFirst, batch, qHeads: queries.heads, kHeads: keys.heads, tokens, positions };
      const fields = this.heap.putCall(scratch, calls.RotateBothCall, call);
      this.heap.run(where, () => this.plan.rotateBoth(fields));
      return [turned(this.heap, queries, qAt) as Rotated<Q, OQ>, turned(this.heap, keys, kAt) as Rotated<K, OK>];
    });
  }

  /**
   * Moves keys that this plan has turned already to other positions, another scaling or another pairing, in one
   * step: the two phases are subtracted exactly and the attention factor is exchanged once. Covers cache shifts,
   * merged caches, and the switches of dynamic NTK and LongRoPE, without computing the keys again.
   *
   * Under another pairing a pair's two numbers change places as well, as permuted weights would have made them.
   *
   * Every call rounds to float32. For keys that move often use a cache, `rw.kvCache()`: positions add up there, not roundings.
   *
   * @throws ArgumentRangeError where the plans do not turn the same coordinates; x is then as it was.
   *
   * @example
   * plan.rerotate(keys, { from: 100, to: 36 });                    // the first 64 tokens were dropped
   * plan.rerotate(keys, { from: 0, to: 0, plan: longPlan });       // the same positions under another scaling
   */
  rerotate(x: Tensor, options: RerotateOptions): Tensor;
  rerotate<O extends Float32Array | undefined = undefined>(x: Float32Array, options: RerotateOptions<O>): FloatsOf<O>;
  rerotate<O extends Float32Array | undefined = undefined>(
    x: ArrayLikeInput,
    options: RerotateOptions<O>,
  ): NdArray<FloatsOf<O>>;
  rerotate(
    x: Tensor | Float32Array | ArrayLikeInput,
    options: RerotateOptions,
  ): Tensor | Float32Array | NdArray<Float32Array> {
    const where = 'rope.rerotate';
    const given = check.options(where, 'options', options, ['from', 'to', 'plan', 'shape', 'layout', 'out']);
    const input = check.read(x);
    this.alive(where);
    const target = given.plan ?? this;
    this.matches(where, target);
    return inPlace(this.heap, where, input, given, this.headDim, ({ tokensFirst, batch, heads, tokens }, scratch) => {
      const from = checkedPositionsOf(where, 'from', given.from, batch, tokens, this.axes);
      const to = checkedPositionsOf(where, 'to', given.to, batch, tokens, target.axes);
      const [old, fresh] = [from.put(this.heap, scratch), to.put(this.heap, scratch)];
      return (pointer) => {
        const call = { keys: { x: pointer, tokensFirst, batch, heads, tokens }, from: old, to: fresh };
        const fields = this.heap.putCall(scratch, calls.RerotateCall, call);
        return this.heap.call(() => this.plan.rerotate(fields, target.plan));
      };
    });
  }

  /**
   * Refuses a plan that cannot take over keys of this one.
   * @internal
   */
  matches(where: string, plan: unknown): asserts plan is RopePlan {
    checkPlan(this.heap, where, 'plan', plan);
    const sizes = (p: RopePlan) => `headDim ${p.headDim} and rotaryDim ${p.rotaryDim}`;
    if (plan.headDim !== this.headDim || plan.rotaryDim !== this.rotaryDim) {
      throw new ArgumentRangeError(where, 'plan', plan, `has ${sizes(plan)}; expected ${sizes(this)}`);
    }
    if (plan.xpos !== this.xpos || plan.#blocks !== this.#blocks) {
      throw new ArgumentRangeError(where, 'plan', plan, 'must use xPos and axial blocks exactly if this plan does');
    }
  }

  /**
   * cos and sin of all pairs at some positions, times the attention factor.
   *
   * @param positions a list (a plan with several axes: one list for each), or `{ length, offset }` for consecutive
   *   ones.
   * @param width `pairs` (the default): [rows, rotaryDim / 2], as the caches of ONNX RotaryEmbedding and onnxruntime
   *   have it; `coordinates`: [rows, rotaryDim], each pair's number at both of its coordinates, as Hugging Face has it.
   *
   * @example
   * const { cos, sin } = plan.tables({ length: 4096 });   // each Float32Array(4096 * rotaryDim / 2)
   */
  tables(positions: RowsInput, width: TableWidth = 'pairs'): RopeTables {
    const where = 'rope.tables';
    const given = check.read(positions);
    this.alive(where);
    if (this.xpos) {
      throw new ArgumentRangeError(where, 'plan', this, 'uses xPos, which turns queries and keys by different tables');
    }
    const wide = check.choice(where, 'width', width, tableWidths) === tableWidths.coordinates;
    if (wide && this.#blocks) {
      throw new ArgumentRangeError(where, 'width', width, "is 'coordinates', a layout that axial blocks do not have");
    }
    const at = rows(where, given, this.rotaryDim, this.axes);
    const count = at.length / this.axes;
    const size = (count * this.rotaryDim) / 2;
    return this.heap.scope(where, (scratch) => {
      const pointer = scratch(at.byteLength);
      const cos = scratch(size * 4);
      const sin = scratch(size * 4);
      this.heap.write(pointer, at);
      this.heap.run(where, () => this.plan.tables(pointer, count, cos, sin));
      const read = (from: number) => {
        const table = this.heap.readFloats(from, size);
        return wide ? this.#atBothCoordinates(table) : table;
      };
      return { cos: read(cos), sin: read(sin) };
    });
  }

  #atBothCoordinates(table: OwnFloats): OwnFloats {
    const pairs = this.rotaryDim / 2;
    const interleaved = this.pairing === 'interleaved';
    return Float32Array.from({ length: 2 * table.length }, (_, i) => {
      const row = Math.floor(i / this.rotaryDim);
      const coordinate = i % this.rotaryDim;
      return table[row * pairs + (interleaved ? coordinate >> 1 : coordinate % pairs)] ?? 0;
    });
  }

  /**
   * Turns what lies in the heap at x.
   * @internal
   */
  turnAt(
    where: string,
    x: number,
    shape: HeadShape,
    at: calls.PositionsCall,
    role: 'query' | 'key',
    scratch: Scratch,
  ): void {
    checkStatus(this.#rotate(x, shape, at, Turn.forward, Role[role], scratch), where);
  }

  #rotate(
    x: number,
    shape: HeadShape,
    positions: calls.PositionsCall,
    turn: number,
    role: number,
    scratch: Scratch,
  ): number {
    const { tokensFirst, batch, heads, tokens } = shape;
    const call = { heads: { x, tokensFirst, batch, heads, tokens }, positions, turn, role };
    const fields = this.heap.putCall(scratch, calls.RotateCall, call);
    return this.heap.call(() => this.plan.rotate(fields));
  }

  #turn(
    where: string,
    x: unknown,
    options: RotateOptions,
    turn: number,
  ): Tensor | Float32Array | NdArray<Float32Array> {
    const known = ['offset', 'positions', 'role', 'shape', 'layout', 'out'] as const;
    const given = check.options(where, 'options', options, known);
    const input = check.read(x);
    this.alive(where);
    const { any, ...roles } = Role;
    const role = given.role === undefined && !this.xpos ? any : check.choice(where, 'role', given.role, roles);
    return inPlace(this.heap, where, input, given, this.headDim, (shape, scratch) => {
      const at = checkedPositions(where, given, shape.batch, shape.tokens, this.axes).put(this.heap, scratch);
      return (pointer) => this.#rotate(pointer, shape, at, turn, role, scratch);
    });
  }
}

/**
 * Checks that a value is a plan of this heap that was not disposed of, for heads of size `headDim`; `whose` says in the
 * error what has that size.
 * @internal
 */
export function checkPlan(
  heap: Heap,
  where: string,
  name: string,
  plan: unknown,
  headDim?: number,
  whose = '',
): asserts plan is RopePlan {
  if (!(plan instanceof RopePlan)) throw new ArgumentTypeError(where, name, plan, 'a RopePlan');
  plan.usableIn(heap, where, name);
  if (headDim === undefined || plan.headDim === headDim) return;
  throw new ArgumentRangeError(where, name, plan, `has headDim ${plan.headDim}, ${whose} ${headDim}`);
}
