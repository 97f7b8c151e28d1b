// Scaled dot-product attention.
import { type AttentionPosition, applyPosition } from './attention-position.js';
import * as check from './check.js';
import { ArgumentRangeError, checkStatus } from './errors.js';
import type { Heap } from './heap.js';
import { headShape, type Layout } from './layout.js';
import { biasMask, type KeepMaskInput, keepMask } from './mask.js';
import { type NdArray, operand, Tensor, type TensorInput } from './tensor.js';

/** Options of `rw.attention`: the names and the order of steps of ONNX Attention (opset 25). */
export interface AttentionOptions {
  /** Multiplies q . k. Default 1 / sqrt(D). */
  scale?: number;
  /** Query i sees key j only if j <= i + causalOffset. Default false. */
  causal?: boolean;
  /**
   * Default Tk - Tq: the last query stands at the last key, as when decoding with cached keys. 0 aligns the first ones,
   * as PyTorch's is_causal does.
   */
  causalOffset?: number;
  /** Which keys may be attended to. */
  mask?: KeepMaskInput;
  /** Added to the scaled scores; broadcasts to [B, H, Tq, Tk]. -Infinity hides a key. */
  bias?: TensorInput;
  /** Default `BHTD`, for all of q, k, v and the result. */
  layout?: Layout;
  /** The position encoding. Default none. */
  position?: AttentionPosition;
  /** Give scores back as well, from this stage. Default `none`. */
  returnScores?: ScoreStage;
}

/**
 * A stage of the scores: `raw` scaled, with the relative terms, before any bias or mask; `biased` what the softmax
 * sees, hidden keys at -Infinity; `probabilities` after the softmax.
 */
export type ScoreStage = 'none' | 'raw' | 'biased' | 'probabilities';

/** What `rw.attention` gives: tensors for tensors, plain arrays for plain arrays. */
export interface AttentionResult<T extends Tensor | NdArray> {
  /** The queries' shape with the values' head size. */
  readonly out: T;
  /** [B, H, Tq, Tk], if `returnScores` asked for them. A query that may attend to nothing has probabilities of 0. */
  readonly scores?: T;
}

const stages: Readonly<Record<ScoreStage, number>> = { none: 0, raw: 1, biased: 2, probabilities: 3 };

/** @internal */
export function attention(
  heap: Heap,
  qInput: TensorInput,
  kInput: TensorInput,
  vInput: TensorInput,
  options: AttentionOptions,
): AttentionResult<Tensor | NdArray> {
  const where = 'attention';
  check.options(where, 'options', options, [
    'scale',
    'causal',
    'causalOffset',
    'mask',
    'bias',
    'layout',
    'position',
    'returnScores',
  ]);
  const q = operand(heap, where, 'q', qInput);
  const k = operand(heap, where, 'k', kInput);
  const v = operand(heap, where, 'v', vInput);
  const layout = options.layout ?? 'BHTD';
  const qs = headShape(where, 'q', q.shape, layout);
  const ks = headShape(where, 'k', k.shape, layout);
  const vs = headShape(where, 'v', v.shape, layout);
  const mismatch = (name: string, value: unknown, what: string): never => {
    throw new ArgumentRangeError(where, name, value, what);
  };
  if (qs.dim === 0) mismatch('q', qInput, 'has heads of size 0; expected at least 1');
  if (ks.dim !== qs.dim) mismatch('k', kInput, `has head size ${ks.dim}, q has ${qs.dim}`);
  if (ks.batch !== qs.batch) mismatch('k', kInput, `has batch size ${ks.batch}, q has ${qs.batch}`);
  if (vs.batch !== qs.batch) mismatch('v', vInput, `has batch size ${vs.batch}, q has ${qs.batch}`);
  if (vs.tokens !== ks.tokens) mismatch('v', vInput, `has ${vs.tokens} tokens, k has ${ks.tokens}`);
  if (vs.heads !== ks.heads) mismatch('v', vInput, `has ${vs.heads} heads, k has ${ks.heads}`);
  if (ks.heads === 0 || qs.heads % ks.heads !== 0)
    mismatch('k', kInput, `has ${ks.heads} heads, which do not divide q's ${qs.heads}`);
  if (qs.tokensFirst !== ks.tokensFirst && ks.heads > 1) mismatch('k', kInput, 'has another number of axes than q');

  const scores = [qs.batch, qs.heads, qs.tokens, ks.tokens] as const;
  const keep = keepMask(heap, where, options.mask, scores);
  const bias = biasMask(heap, where, options.bias, scores);
  const core = {
    scale: check.float32Number(where, 'scale', options.scale ?? 1 / Math.sqrt(qs.dim)),
    causal: check.boolean(where, 'causal', options.causal ?? false),
    causalOffset: check.position(where, 'causalOffset', options.causalOffset ?? ks.tokens - qs.tokens),
  };
  const stage = check.choice(where, 'returnScores', options.returnScores ?? 'none', stages);
  const position = applyPosition(heap, where, options.position, {
    q: qs,
    k: ks,
    valueDim: vs.dim,
    causal: core.causal,
  });
  const outShape = [...q.shape.slice(0, -1), vs.dim];

  const tokensFirst = qs.tokensFirst || ks.tokensFirst;
  const run = (out: number, scoresAt: number, take: (bytes: number) => number): void => {
    const [qAt, kAt] = position.rotate ? [q.copy(take), k.copy(take)] : [q.place(take), k.place(take)];
    position.rotate?.(qAt, kAt, take);
    const call = {
      out,
      scores: scoresAt,
      stage,
      q: qAt,
      k: kAt,
      v: v.place(take),
      batch: qs.batch,
      heads: qs.heads,
      kvHeads: ks.heads,
      queries: qs.tokens,
      keys: ks.tokens,
      headDim: qs.dim,
      valueDim: vs.dim,
      tokensFirst,
      options: { ...core, keep: keep(take), bias: bias(take), ...position.part(take) },
    };
    checkStatus(
      heap.call((c) => c.attention(call)),
      where,
    );
  };
  return results(heap, where, q.tensor !== undefined, outShape, stage === stages.none ? undefined : scores, run);
}

/**
 * Runs work that writes an output and, if a shape is given, scores: to new tensors, or to memory that is copied to
 * plain arrays. Nothing is left behind if it throws.
 * @internal
 */
export function results(
  heap: Heap,
  where: string,
  asTensors: boolean,
  outShape: readonly number[],
  scoresShape: readonly number[] | undefined,
  run: (out: number, scores: number, take: (bytes: number) => number) => void,
): AttentionResult<Tensor | NdArray> {
  if (asTensors) {
    const out = new Tensor(heap, outShape, where);
    let scores: Tensor | undefined;
    try {
      scores = scoresShape && new Tensor(heap, scoresShape, where);
      heap.scope(where, (take) => run(out.pointer, scores?.pointer ?? 0, take));
    } catch (error) {
      out.dispose();
      scores?.dispose();
      throw error;
    }
    return scores ? { out, scores } : { out };
  }
  return heap.scope(where, (take) => {
    const array = (shape: readonly number[]) => {
      const size = check.sizeOf(shape);
      const pointer = take(size * 4);
      return { pointer, read: (): NdArray => ({ data: heap.readFloats(pointer, size), shape: [...shape] }) };
    };
    const out = array(outShape);
    const scores = scoresShape && array(scoresShape);
    run(out.pointer, scores?.pointer ?? 0, take);
    return scores ? { out: out.read(), scores: scores.read() } : { out: out.read() };
  });
}
