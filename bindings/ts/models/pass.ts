// The passes of a model: token vectors, layer after layer in wasm memory, norms and heads. Nothing but what was asked
// for is copied out.
import { activations } from '../layers/activations.js';
import * as check from '../runtime/check.js';
import { checkStatus, OutOfMemoryError } from '../runtime/errors.js';
import type { Heap, Take } from '../runtime/heap.js';
import { type NdArray, Tensor } from '../runtime/tensor.js';
import type { ModelConfig } from './config.js';
import type { Ids } from './ids.js';
import type { LinearMap, Matrix, ModelHead, ModelParts, NormNumbers } from './weights.js';

/** rows [n, dim] that lie in the heap. */
interface Rows {
  readonly at: number;
  readonly count: number;
}

/** One model's computations. @internal */
export class ModelMath {
  readonly heap: Heap;
  readonly where: string;
  readonly config: ModelConfig;
  readonly parts: ModelParts;

  constructor(heap: Heap, where: string, config: ModelConfig, parts: ModelParts) {
    this.heap = heap;
    this.where = where;
    this.config = config;
    this.parts = parts;
  }

  /** Token vectors [B, T, M] as they enter the first layer. The caller's to dispose of. */
  embed(ids: Ids, tokenTypes?: Float64Array, positions?: Float64Array): Tensor {
    const { heap, where, config, parts } = this;
    const { batch, tokens } = ids;
    const rows = batch * tokens;
    const x = new Tensor(heap, [batch, tokens, config.modelDim], where);
    try {
      heap.scope(where, (take) => {
        const { projection, embeddingNorm } = parts;
        const at = projection === undefined ? x.pointer : take(rows * config.embeddingDim * 4);
        this.#gather(parts.tokens, at, ids.values, parts.tokenScale, false, take);
        if (parts.tokenTypes !== undefined) {
          this.#gather(parts.tokenTypes, at, tokenTypes ?? new Float64Array(rows), 1, true, take);
        }
        if (parts.positions !== undefined) {
          const inTurn = () => Float64Array.from({ length: rows }, (_, i) => i % tokens);
          this.#gather(parts.positions, at, positions ?? inTurn(), 1, true, take);
        }
        if (embeddingNorm !== undefined)
          this.norm(embeddingNorm, { at, count: rows }, at, config.embeddingDim, config.eps);
        if (projection !== undefined) this.#multiply(projection, { at, count: rows }, x.pointer);
      });
      return x;
    } catch (error) {
      x.dispose();
      throw error;
    }
  }

  #gather(table: Matrix, out: number, ids: Float64Array, scale: number, accumulate: boolean, take: Take): void {
    const at = this.heap.put(take, ids);
    checkStatus(
      this.heap.call(() => table.packed.embed(out, at, ids.length, scale, accumulate)),
      this.where,
    );
  }

  #multiply({ matrix, bias }: LinearMap, from: Rows, out: number): void {
    this.heap.call(() => matrix.packed.multiply(out, from.at, from.count, bias?.pointer ?? 0));
  }

  /** out may be where the rows are. */
  norm({ weight, bias }: NormNumbers, rows: Rows, out: number, dim: number, eps: number): void {
    const { norm, unitOffset } = this.config;
    this.heap.call((core) => {
      if (norm === 'rms') core.rmsNorm(out, rows.at, rows.count, dim, weight.pointer, eps, unitOffset);
      else core.layerNorm(out, rows.at, rows.count, dim, weight.pointer, bias?.pointer ?? 0, eps);
    });
  }

  /** The last norm, in place. */
  finish(x: Tensor): void {
    const { finalNorm } = this.parts;
    const { modelDim, eps } = this.config;
    if (finalNorm !== undefined)
      this.norm(finalNorm, { at: x.pointer, count: x.size / modelDim }, x.pointer, modelDim, eps);
  }

  /** tanh of an affine map of each batch entry's first row: [B, M]. */
  pooled(x: Tensor, pooler: LinearMap, shape: readonly number[]): NdArray {
    const { heap, where, config } = this;
    const { modelDim } = config;
    const [batch = 1, tokens = 1] = x.shape;
    return heap.scope(where, (take) => {
      const [firsts, out] = [take(batch * modelDim * 4), take(batch * modelDim * 4)];
      for (let b = 0; b < batch; ++b) {
        heap.move(x.pointer + b * tokens * modelDim * 4, firsts + b * modelDim * 4, modelDim * 4);
      }
      this.#multiply(pooler, { at: firsts, count: batch }, out);
      heap.call((core) => core.activate(activations.tanh, out, out, batch * modelDim));
      return { data: heap.readFloats(out, batch * modelDim), shape: [...shape] };
    });
  }

  /** Logits of rows [count, M] from `at` on, into an array from `first` on; a bounded number of them in each step. */
  *logits(head: ModelHead, rows: Rows, out: Float32Array, first: number): Generator<undefined, void, undefined> {
    const { rows: vocab } = head.matrix;
    const most = Math.max(1, Math.min(rows.count, Math.floor(logitsAtOnce / vocab)));
    for (let row = 0; row < rows.count; row += most) {
      const count = Math.min(most, rows.count - row);
      const from = { at: rows.at + row * this.config.modelDim * 4, count };
      this.#logitsOf(head, from, out, first + row * vocab);
      yield;
    }
  }

  #logitsOf(head: ModelHead, rows: Rows, out: Float32Array, first: number): void {
    const { heap, where, config } = this;
    const { rows: vocab } = head.matrix;
    heap.scope(where, (take) => {
      const to = take(rows.count * vocab * 4);
      let from = rows;
      if (head.transform !== undefined) {
        from = { at: take(rows.count * config.embeddingDim * 4), count: rows.count };
        this.#transform(head, rows, from.at);
      }
      this.#multiply({ matrix: head.matrix, bias: head.bias }, from, to);
      this.#softcap(to, rows.count * vocab);
      out.set(heap.floats(to, rows.count * vocab), first);
    });
  }

  #transform(head: ModelHead, from: Rows, out: number): void {
    const { embeddingDim, activation, eps } = this.config;
    this.#multiply(head.transform as LinearMap, from, out);
    const size = from.count * embeddingDim;
    this.heap.call((core) => core.activate(activations[activation], out, out, size));
    if (head.norm !== undefined) this.norm(head.norm, { at: out, count: from.count }, out, embeddingDim, eps);
  }

  // c tanh(x / c)
  #softcap(at: number, size: number): void {
    const c = this.config.logitSoftcap;
    if (c === undefined) return;
    const scale = (by: number) => {
      const floats = this.heap.floats(at, size);
      for (let i = 0; i < size; ++i) floats[i] = (floats[i] as number) * by;
    };
    scale(1 / c);
    this.heap.call((core) => core.activate(activations.tanh, at, at, size));
    scale(c);
  }
}

// Numbers: 16 MiB.
const logitsAtOnce = 2 ** 22;

/** An array for results, or OutOfMemoryError. @internal */
export function room(where: string, shape: readonly number[]): NdArray {
  const size = check.sizeOf(shape);
  try {
    return { data: new Float32Array(size), shape: [...shape] };
  } catch (cause) {
    throw Object.assign(new OutOfMemoryError(`${where}: no room for an array of ${size} numbers`), { cause });
  }
}
