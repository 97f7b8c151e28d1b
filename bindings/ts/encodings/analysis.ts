// Analysis of position encodings: their algebra, their decay with distance, the similarity of their rows.
import { DecayBoundCall, RowPair } from '../calls.js';
import * as enums from '../enums.js';
import { tooFast } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { checkStatus } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { matrix, type NdArray, type TensorInput } from '../runtime/tensor.js';
import type { OwnDoubles, OwnFloats } from '../runtime/typed-arrays.js';

/** The encoding that is analysed, by its frequencies base^(-2i / dim). */
export interface FrequencySet {
  /** Width of the encoding; even. */
  dim: number;
  /** Above 0. Default 10000. */
  base?: number;
}

/** How two rows are compared. */
export type Measure = 'dot' | 'cosine' | 'euclidean' | 'hamming';

const measures: check.Choices<Measure, typeof enums.Measure> = enums.Measure;
const { interleaved, concatenated } = enums.SinusoidLayout;

/**
 * Analysis of encodings; `rw.analysis`.
 */
export class Analysis {
  readonly #heap: Heap;

  /** @internal */
  constructor(heap: Heap) {
    this.#heap = heap;
  }

  /**
   * The matrix M_k with PE(p + k) = M_k PE(p) for every p: a shift of a sinusoidal encoding is a rotation.
   *
   * @returns [dim, dim]
   *
   * @example
   * const m = rw.analysis.shiftMatrix({ dim: 4, k: 1 });   // blocks [[cos w, sin w], [-sin w, cos w]]
   */
  shiftMatrix(options: FrequencySet & { k: number; layout?: 'interleaved' | 'concatenated' }): NdArray {
    const where = 'analysis.shiftMatrix';
    const given = check.options(where, 'options', options, ['dim', 'base', 'k', 'layout']);
    const { dim, base } = frequencySet(where, given);
    const k = check.position(where, 'k', given.k);
    const layout = check.choice(where, 'layout', given.layout ?? 'interleaved', { interleaved, concatenated });
    const data = this.#floats(where, dim * dim, (out) =>
      this.#heap.call((c) => c.shiftMatrix(dim, base, layout, k, out)),
    );
    return { data, shape: [dim, dim] };
  }

  /**
   * PE(p) . PE(p + k) of a sinusoidal encoding, which depends on k only: sum_i cos(k w_i). It is even in k: the dot
   * product cannot see direction.
   *
   * @example
   * const curve = rw.analysis.dotCurve({ dim: 128, distances: [0, 1, 2, 10] });   // Float64Array, 64 at distance 0
   */
  dotCurve(options: FrequencySet & { distances: check.IntegersInput }): OwnDoubles {
    return this.#ofDistances('dotCurve', options);
  }

  /**
   * Su's decay curve of RoPE, (2 / dim) sum_j |S_j|, S_j = sum_{i<j} e^(I m w_i) (arXiv:2104.09864, 3.4.3). It is the
   * shape of an upper bound: scores of given queries and keys oscillate below it and need not fall.
   *
   * @example
   * const curve = rw.analysis.decayCurve({ dim: 128, distances: [0, 1, 256] });   // 32.5, 31.54, 6.54
   */
  decayCurve(options: FrequencySet & { distances: check.IntegersInput }): OwnDoubles {
    return this.#ofDistances('decayCurve', options);
  }

  #ofDistances(name: 'dotCurve' | 'decayCurve', options: FrequencySet & { distances: check.IntegersInput }) {
    const where = `analysis.${name}`;
    const given = check.options(where, 'options', options, ['dim', 'base', 'distances']);
    const { dim, base } = frequencySet(where, given);
    return this.#curve(where, given.distances, (at, n, out) => this.#heap.call((c) => c[name](dim, base, at, n, out)));
  }

  /**
   * Su's bound on the score of one query and key at each distance: max_i |h_(i+1) - h_i| sum_j |S_j|, with
   * h_i = q_i conj(k_i) over interleaved pairs, 0 behind the last.
   *
   * @param options.q and options.k [dim], not rotated.
   *
   * @example
   * const bound = rw.analysis.decayBound({ dim: 64, q, k, distances: [0, 10, 100] });
   */
  decayBound(options: FrequencySet & { q: Float32Array; k: Float32Array; distances: check.IntegersInput }): OwnDoubles {
    const where = 'analysis.decayBound';
    const given = check.options(where, 'options', options, ['dim', 'base', 'q', 'k', 'distances']);
    const { dim, base } = frequencySet(where, given);
    const q = check.float32(where, 'q', given.q, dim);
    const k = check.float32(where, 'k', given.k, dim);
    const h = new Float64Array(dim);
    for (let i = 0; i < dim; i += 2) {
      const [a = 0, b = 0, c = 0, d = 0] = [q[i], q[i + 1], k[i], k[i + 1]];
      h[i] = a * c + b * d;
      h[i + 1] = b * c - a * d;
    }
    return this.#curve(where, given.distances, (at, n, out, scratch) => {
      const bound = { out, dim, base, products: this.#heap.put(scratch, h), distances: at, count: n };
      const fields = this.#heap.putCall(scratch, DecayBoundCall, bound);
      return this.#heap.call((c) => c.decayBound(fields));
    });
  }

  /**
   * Every pair of rows compared.
   *
   * @param x [rows, dim]
   * @returns [rows, rows]
   *
   * @example
   * const hamming = rw.analysis.pairwise({ data: codes, shape: [16, 4] }, 'hamming');   // 7 and 8 differ in 4 bits
   */
  pairwise(x: TensorInput, measure: Measure): NdArray {
    const where = 'analysis.pairwise';
    const kind = check.choice(where, 'measure', measure, measures);
    const { input, rows: count, columns: dim } = matrix(this.#heap, where, 'x', x, '[rows, dim]');
    const data = this.#floats(where, count * count, (out, scratch) => {
      const from = input.address(scratch);
      return this.#heap.call((c) => c.pairwise(kind, from, count, dim, out));
    });
    return { data, shape: [count, count] };
  }

  /**
   * The first two rows that are the same, or undefined: whether an encoding tells all its positions apart.
   *
   * @param x [rows, dim]
   *
   * @example
   * rw.analysis.firstDuplicate({ data: rw.sinusoidal({ dim: 8, positions: { length: 1000 } }), shape: [1000, 8] });
   */
  firstDuplicate(x: TensorInput): readonly [number, number] | undefined {
    const where = 'analysis.firstDuplicate';
    const { input, rows, columns } = matrix(this.#heap, where, 'x', x, '[rows, dim]');
    return this.#heap.scope(where, (scratch) => {
      const out = scratch(RowPair.doubles * 8);
      const from = input.address(scratch);
      const found = this.#heap.call((c) => c.firstDuplicate(from, rows, columns, out));
      const { first, second } = this.#heap.readResult(RowPair, out);
      return found ? ([first, second] as const) : undefined;
    });
  }

  #floats(where: string, size: number, run: (out: number, scratch: Scratch) => number): OwnFloats {
    return this.#heap.floatsOf(where, size, (out, scratch) => checkStatus(run(out, scratch), where, tooFast(where)));
  }

  #curve(
    where: string,
    distances: unknown,
    run: (at: number, n: number, out: number, scratch: Scratch) => number,
  ): OwnDoubles {
    const list = check.positions(where, 'distances', distances);
    return this.#heap.doublesOf(where, list.length, (out, scratch) => {
      const at = this.#heap.put(scratch, list);
      checkStatus(run(at, list.length, out, scratch), where, tooFast(where));
    });
  }
}

function frequencySet(where: string, given: FrequencySet): Required<FrequencySet> {
  return {
    dim: check.even(where, 'dim', given.dim, 2 ** 20),
    base: check.positive(where, 'base', given.base ?? 10000),
  };
}
