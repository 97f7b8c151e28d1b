// One vector for a text, from the vectors of its tokens.
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { NdArray } from '../runtime/tensor.js';
import type { Ids } from './ids.js';

/** Which vectors of a text become its own: the mean of all tokens, the first token's (`cls`), or the last token's. */
export type Pooling = 'mean' | 'cls' | 'last';

const poolings = { mean: 0, cls: 1, last: 2 } as const satisfies Record<Pooling, number>;

/** Checked options of pooling. @internal */
export interface PoolingWork {
  readonly pooling: Pooling;
  readonly normalize: boolean;
  /** The tokens of each text, in ascending order, without padding. */
  readonly tokens: readonly (readonly number[])[];
}

/** @internal */
export function checkPooling(
  where: string,
  given: { pooling?: unknown; normalize?: unknown; attentionMask?: unknown },
  ids: Ids,
  mask: Uint8Array | undefined,
): PoolingWork {
  const pooling = given.pooling ?? 'mean';
  check.choice(where, 'pooling', pooling, poolings);
  const normalize = check.boolean(where, 'normalize', given.normalize ?? true);
  const tokens = Array.from({ length: ids.batch }, (_, b) => {
    const kept: number[] = [];
    for (let t = 0; t < ids.tokens; ++t) if (mask?.[b * ids.tokens + t] !== 0) kept.push(t);
    if (kept.length > 0) return kept;
    const problem = `has no 1 in row ${b}; a text without tokens has no vector`;
    throw new ArgumentRangeError(where, 'attentionMask', given.attentionMask, problem);
  });
  return { pooling: pooling as Pooling, normalize, tokens };
}

/** [B, M], or [M] for ids [T], of hidden [B, T, M]; sums are in float64. @internal */
export function pool(hidden: NdArray, ids: Ids, { pooling, normalize, tokens }: PoolingWork): NdArray {
  const size = hidden.shape.at(-1) as number;
  const data = new Float32Array(ids.batch * size);
  const sums = new Float64Array(size);
  for (const [b, kept] of tokens.entries()) {
    const used = pooling === 'mean' ? kept : pooling === 'cls' ? kept.slice(0, 1) : kept.slice(-1);
    sums.fill(0);
    for (const t of used) {
      const row = (b * ids.tokens + t) * size;
      for (let i = 0; i < size; ++i) sums[i] = (sums[i] as number) + (hidden.data[row + i] as number);
    }
    const square = sums.reduce((sum, x) => sum + x * x, 0);
    // As sentence-transformers has it: a vector of zeros stays one.
    const by = normalize ? 1 / Math.max(Math.sqrt(square), 1e-12) : 1 / used.length;
    for (let i = 0; i < size; ++i) data[b * size + i] = (sums[i] as number) * by;
  }
  return { data, shape: [...ids.shape.slice(0, -1), size] };
}
