// What a pass does before and after the layers: token vectors, the last norm, heads. Nothing but what was asked for is
// copied out.
import { activations } from '../layers/activations.js';
import * as check from '../runtime/check.js';
import { OutOfMemoryError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import type { NdArray } from '../runtime/tensor.js';
import type { ModelConfig } from './config.js';
import type { Ids } from './ids.js';
import type { ModelParts } from './weights.js';

/** rows [count, M] that lie in the heap. @internal */
export interface Rows {
  readonly at: number;
  readonly count: number;
}

/** One model's computations around its layers. @internal */
export class ModelMath {
  readonly heap: Heap;
  readonly config: ModelConfig;
  readonly parts: ModelParts;

  constructor(heap: Heap, config: ModelConfig, parts: ModelParts) {
    this.heap = heap;
    this.config = config;
    this.parts = parts;
  }

  /** Writes token vectors [B, T, M] as they enter the first layer. */
  embed(where: string, out: number, ids: Ids, tokenTypes?: Float64Array, positions?: Float64Array): void {
    const { heap, parts } = this;
    const { batch, tokens, values } = ids;
    heap.scope(where, (scratch) => {
      const put = (list: Float64Array | undefined) => (list === undefined ? 0 : heap.put(scratch, list));
      const [at, types, positionsAt] = [put(values), put(tokenTypes), put(positions)];
      heap.run(where, () => parts.vectors.embed(out, batch, tokens, at, types, positionsAt));
    });
  }

  /** The last norm, in place. */
  finish(rows: Rows): void {
    this.heap.call(() => this.parts.finalNorm?.apply(rows.at, rows.at, rows.count));
  }

  /** tanh of an affine map of each batch entry's first row: [B, M]. */
  pooled(where: string, x: number, { batch, tokens }: Ids, shape: readonly number[]): NdArray {
    const { heap, parts } = this;
    const { modelDim } = this.config;
    const bytes = modelDim * 4;
    return heap.scope(where, (scratch) => {
      const [firsts, out] = [scratch(batch * bytes), scratch(batch * bytes)];
      for (let b = 0; b < batch; ++b) heap.move(x + b * tokens * bytes, firsts + b * bytes, bytes);
      heap.call(() => parts.pooler?.apply(out, firsts, batch, activations.tanh));
      return { data: heap.readFloats(out, batch * modelDim), shape: [...shape] };
    });
  }

  /** Logits of rows, into an array from `first` on; a bounded number of them in each step. */
  *logits(where: string, rows: Rows, out: Float32Array, first: number): Generator<undefined, void, undefined> {
    const { modelDim, vocabSize } = this.config;
    const most = Math.max(1, Math.min(rows.count, Math.floor(logitsAtOnce / vocabSize)));
    for (let row = 0; row < rows.count; row += most) {
      const count = Math.min(most, rows.count - row);
      this.#logitsOf(where, { at: rows.at + row * modelDim * 4, count }, out, first + row * vocabSize);
      yield;
    }
  }

  #logitsOf(where: string, rows: Rows, out: Float32Array, first: number): void {
    const { heap, parts } = this;
    const size = rows.count * this.config.vocabSize;
    heap.scope(where, (scratch) => {
      const to = scratch(size * 4);
      heap.run(where, () => parts.head?.apply(to, rows.at, rows.count) ?? 0);
      out.set(heap.floats(to, size), first);
    });
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
