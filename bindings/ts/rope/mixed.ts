// RoPE-Mixed: rotary embedding of positions with several axes by learned frequencies (Heo et al., arXiv:2403.13298).
import { RotateByTablesCall } from '../calls.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, wrongShape } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { type FloatsOf, type HeadOptions, inPlace } from '../runtime/in-place.js';
import { heapOf, type Instance } from '../runtime/instance.js';
import { type RowsInput, rows } from '../runtime/positions.js';
import {
  type ArrayLikeInput,
  type NdArray,
  numbersOf,
  operand,
  type Tensor,
  type TensorInput,
} from '../runtime/tensor.js';
import { type Pairing, pairings } from './options.js';

/** Options of mixedRope. */
export interface MixedRopeOptions {
  /** `[axes, H, pairs]`: radians for each step along each axis; of an image [2, H, D / 2], first those of x. */
  frequencies: TensorInput;
  /** A list of T positions for each axis, all integers; those of an image: the column of each patch, then its row. */
  positions: RowsInput;
  /** Default `interleaved`, as in the paper's code. */
  pairing?: Pairing;
}

/** Turns heads by learned frequencies, made by `mixedRope`. It has memory of JavaScript only: nothing is to be disposed of. */
export class MixedRope {
  /** H. */
  readonly heads: number;
  /** T. */
  readonly tokens: number;
  /** Which coordinates form a pair. */
  readonly pairing: Pairing;
  readonly #heap: Heap;
  readonly #pairs: number;
  // [H, T, pairs].
  readonly #cos: Float32Array;
  readonly #sin: Float32Array;

  /** @internal */
  constructor(heap: Heap, options: MixedRopeOptions) {
    const where = 'mixedRope';
    const given = check.options(where, 'options', options, ['frequencies', 'positions', 'pairing']);
    this.pairing = given.pairing ?? 'interleaved';
    check.choice(where, 'pairing', this.pairing, pairings);
    const input = operand(heap, where, 'frequencies', given.frequencies);
    const [axes = 0, heads = 0, pairs = 0] = input.shape;
    if (input.shape.length !== 3 || input.size === 0) {
      throw wrongShape(where, 'frequencies', given.frequencies, input.shape, '[axes, H, pairs], none of them 0');
    }
    const frequencies = numbersOf(heap, where, input);
    const positions = rows(where, given.positions, heads * pairs, axes);
    const tokens = positions.length / axes;
    const size = check.sizeOf(check.shape(where, 'the shape of the tables', [heads, tokens, pairs]));
    this.#cos = new Float32Array(size);
    this.#sin = new Float32Array(size);
    for (let at = 0; at < size; ++at) {
      const t = Math.floor(at / pairs) % tokens;
      const ofHead = Math.floor(at / (pairs * tokens)) * pairs + (at % pairs);
      let angle = 0;
      for (let axis = 0; axis < axes; ++axis) {
        angle += (positions[axis * tokens + t] ?? 0) * (frequencies[axis * heads * pairs + ofHead] ?? 0);
      }
      this.#cos[at] = Math.cos(angle);
      this.#sin[at] = Math.sin(angle);
    }
    this.#heap = heap;
    this.heads = heads;
    this.tokens = tokens;
    this.#pairs = pairs;
    Object.freeze(this);
  }

  /**
   * Turns x, queries or keys of all heads. A tensor is turned in place and given back; a plain array is left alone and the
   * result is a new one of the same form (or `out`). Coordinates without a pair are kept as they are.
   *
   * @param x [.., H, T, D] in the order that `layout` names.
   * @throws ArgumentRangeError where x has other heads or tokens, or heads of less than 2 pairs coordinates.
   *
   * @example
   * rope.rotate(q);
   * rope.rotate(k);
   * const { out } = rw.attention(q, k, v);
   */
  rotate(x: Tensor, options?: HeadOptions): Tensor;
  rotate<O extends Float32Array | undefined = undefined>(x: Float32Array, options: HeadOptions<O>): FloatsOf<O>;
  rotate<O extends Float32Array | undefined = undefined>(
    x: ArrayLikeInput,
    options?: HeadOptions<O>,
  ): NdArray<FloatsOf<O>>;
  rotate(
    x: Tensor | Float32Array | ArrayLikeInput,
    options: HeadOptions = {},
  ): Tensor | Float32Array | NdArray<Float32Array> {
    const where = 'mixedRope.rotate';
    const heap = this.#heap;
    const pairs = this.#pairs;
    const given = check.options(where, 'options', options, ['shape', 'layout', 'out']);
    return inPlace(heap, where, check.read(x), given, undefined, (shape, scratch) => {
      const { tokensFirst, batch, heads, tokens, dim } = shape;
      if (heads !== this.heads || tokens !== this.tokens || dim < 2 * pairs) {
        const problem = `has ${heads} heads, ${tokens} tokens and head size ${dim}`;
        const expected = `${this.heads} heads, ${this.tokens} tokens and at least ${2 * pairs}`;
        throw new ArgumentRangeError(where, 'x', x, `${problem}; expected ${expected}`);
      }
      // To the core each row is a token of a single head.
      const tableRows = Float64Array.from({ length: batch * tokens * heads }, (_, row) => {
        return tokensFirst ? (row % heads) * tokens + (Math.floor(row / heads) % tokens) : row % (heads * tokens);
      });
      const tables = {
        cos: heap.put(scratch, this.#cos),
        sin: heap.put(scratch, this.#sin),
        rows: heads * tokens,
        pairs,
      };
      const call = { headDim: dim, tables, tableRows: heap.put(scratch, tableRows), pairing: pairings[this.pairing] };
      return (pointer) => {
        const all = { x: pointer, tokensFirst: false, batch: 1, heads: 1, tokens: tableRows.length };
        const fields = heap.putCall(scratch, RotateByTablesCall, { heads: all, ...call });
        return heap.call((core) => core.rotateByTables(fields));
      };
    });
  }
}

/**
 * RoPE-Mixed (Heo et al., arXiv:2403.13298): turns pair p of head h at position (x, y) by x times its frequency along x plus
 * y times that along y, so that scores depend on how far apart two patches are along both axes. Any number of axes will do.
 * Angles are formed in double precision.
 *
 * @throws ArgumentRangeError where there are other axes of positions than of frequencies.
 *
 * @example
 * const columns = Array.from({ length: 16 }, (_, i) => i % 4);
 * const rows = Array.from({ length: 16 }, (_, i) => Math.floor(i / 4));
 * const rope = mixedRope(rw, { frequencies: { data: learned, shape: [2, 8, 32] }, positions: [columns, rows] });
 * rope.rotate(q);   // [8, 16, 64]
 */
export function mixedRope(rw: Instance, options: MixedRopeOptions): MixedRope {
  return new MixedRope(heapOf('mixedRope', rw), options);
}
