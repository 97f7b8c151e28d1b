// Multi-head self-attention with projections.
import type { AttentionResult } from '../attention/attention.js';
import { LearnedCall, SelfAttentionOptions } from '../calls.js';
import type { MainModule, SelfAttention } from '../core.mjs';
import { type CheckedTable, checkTable, type SinusoidalOptions, writeTable } from '../encodings/sinusoidal.js';
import { LearnedMode, NormKind } from '../enums.js';
import { inPosition } from '../rope/options.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import { destroyer, orDisposed } from '../runtime/handle.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import type { Out, ResultOf } from '../runtime/outputs.js';
import type { CheckedPositions } from '../runtime/positions.js';
import { type NdArray, type Operand, Tensor, type TensorInput } from '../runtime/tensor.js';
import { type AttentionCaptureName, attentionCaptures, type LayerResult } from './capture.js';
import { Layer } from './layer.js';
import { checkWeights, type WeightPlan, withParts } from './layer-weights.js';
import {
  type AttentionLayerWeights,
  checkDims,
  checkScores,
  type LayerAttentionOptions,
  type LayerDims,
  type LayerScores,
  type LayerSizeOptions,
  scoreFields,
  sizeFields,
} from './options.js';
import { type ForwardOptions, forwardFields } from './pass.js';
import { type CheckedPosition, checkPosition, positionObject, type TransformerPosition } from './position.js';
import { checkKeeping } from './weights.js';

/** Position encodings of an attention layer: those of every layer, and sinusoids, which are added to x. */
export type LayerPosition =
  | TransformerPosition
  | ({
      /** Adds the sinusoids of its position to each token of x. */
      encoding: 'sinusoidal';
    } & Pick<SinusoidalOptions, 'base' | 'layout' | 'scale'>);

/** Options of `rw.attentionLayer`. */
export interface AttentionLayerOptions extends LayerSizeOptions, LayerAttentionOptions {
  /** Default `{ encoding: 'none' }`. */
  position?: LayerPosition;
  /** Trained weights. Without them, uniform ones from `seed`, with standard deviation 1 / sqrt(inputs). */
  weights?: AttentionLayerWeights;
  /** An integer from 0 to 2^53 - 1; the same seed gives the same weights everywhere. Default 0. */
  seed?: number;
}

/** Options of one pass through an attention layer. */
export interface AttentionForwardOptions<
  S extends 'none' | 'probabilities' = 'none' | 'probabilities',
  C extends readonly AttentionCaptureName[] = readonly AttentionCaptureName[],
  O extends Out = undefined,
> extends ForwardOptions<C, O> {
  /** `probabilities`: return the attention weights of every head, as `scores`; not beside `capture`. Default `none`. */
  returnScores?: S;
}

const noNorm = { kind: NormKind.none, eps: 0, unitOffset: false };

// Shapes of the weights, in the order of their streams.
function planOf({ modelDim, heads, kvHeads, headDim, valueDim }: LayerDims) {
  const linears = {
    query: [heads * headDim, modelDim],
    key: [kvHeads * headDim, modelDim],
    value: [kvHeads * valueDim, modelDim],
    output: [modelDim, heads * valueDim],
  } as const;
  return { linears, norms: {}, optional: [] } satisfies WeightPlan<AttentionLayerWeights>;
}

// Seeded weights, and the tensors that they are: the caller's to free.
function seeded(heap: Heap, where: string, plan: ReturnType<typeof planOf>, seed: number) {
  const made: Tensor[] = [];
  const weights = orDisposed(made, () =>
    Object.entries(plan.linears).map(([name, [rows, inputs]], i) => {
      const tensor = new Tensor(heap, [rows, inputs], where);
      made.push(tensor);
      // Each weight has a stream of its own; sqrt(3 / n) is the bound of a uniform spread of 1 / sqrt(n).
      heap.call((core) => core.fillUniform(seed, i, Math.sqrt(3 / inputs), tensor.pointer, tensor.size));
      return [name, tensor];
    }),
  );
  return { weights: Object.fromEntries(weights) as Record<keyof typeof plan.linears, Tensor>, made };
}

function create(heap: Heap, where: string, options: AttentionLayerOptions, dims: LayerDims): SelfAttention {
  const plan = planOf(dims);
  const keeping = checkKeeping(where, options);
  if (options.weights !== undefined && options.seed !== undefined) {
    throw new ArgumentRangeError(where, 'seed', options.seed, 'and weights exclude each other; give one of them');
  }
  const seed = check.integer(where, 'seed', options.seed ?? 0, 0);
  const own = options.weights === undefined ? seeded(heap, where, plan, seed) : undefined;
  const weights = options.weights ?? (own?.weights as AttentionLayerWeights);
  try {
    const checked = checkWeights<AttentionLayerWeights, []>(heap, where, weights, plan, []);
    const make = (core: MainModule) => new core.SelfAttention();
    return heap.made(where, make, (layer) => {
      withParts(heap, where, checked, keeping, noNorm, (parts, scratch) => {
        const fields = heap.putCall(scratch, SelfAttentionOptions, dims);
        heap.run(where, () => layer.create(fields, parts));
      });
      return layer;
    });
  } finally {
    for (const tensor of own?.made ?? []) tensor.dispose();
  }
}

// A table that is added to x, and nothing else.
function sinusoids(
  heap: Heap,
  where: string,
  own: object,
  dims: LayerDims,
  scores: LayerScores,
): { table: CheckedTable; position: CheckedPosition } {
  const given = check.options(where, 'position', own as Pick<SinusoidalOptions, 'base' | 'layout' | 'scale'>, [
    'base',
    'layout',
    'scale',
  ]);
  const table = checkTable(where, { ...given, dim: dims.modelDim }, inPosition);
  return { table, position: { ...checkPosition(heap, where, undefined, dims, scores), encoding: 'sinusoidal' } };
}

/**
 * Multi-head self-attention with its four projections, made by `rw.attentionLayer()`.
 *
 * @example
 * using layer = rw.attentionLayer({ modelDim: 64, heads: 4, position: { encoding: 'rope' }, causal: true, seed: 7 });
 * const { out, scores } = layer.forward({ data, shape: [1, 10, 64] }, { returnScores: 'probabilities' });
 * // out.shape [1, 10, 64], scores.shape [1, 4, 10, 10]
 * const { captured } = layer.forward(x, { capture: ['qRotated', 'content'], captureHeads: [2] });
 * // captured.qRotated.shape [1, 10, 4, 16], captured.content.shape [1, 1, 10, 10]
 */
export class AttentionLayer extends Layer {
  /** Which encoding the layer was made with. */
  readonly encoding: LayerPosition['encoding'];

  /** @internal */
  constructor(heap: Heap, options: AttentionLayerOptions) {
    const where = 'attentionLayer';
    const known = [...sizeFields, ...scoreFields, 'position', 'weights', 'seed'] as const;
    const given = check.options(where, 'options', options, known);
    const dims = checkDims(where, given);
    const scores = checkScores(where, given, dims, false);
    const { encoding, ...own } = positionObject(where, given.position);
    const added = encoding === 'sinusoidal' ? sinusoids(heap, where, own, dims, scores) : undefined;
    const position = added?.position ?? checkPosition(heap, where, given.position, dims, scores);
    const layer = orDisposed(position.owned, () => create(heap, where, given, dims));
    super(heap, where, {
      dims,
      scores,
      position,
      sinks: 0,
      captures: attentionCaptures,
      bytes: layer.bytes,
      free: destroyer(heap, layer, ...position.owned),
      ...(added && { enter: (x, shape, scratch) => addTable(heap, added.table, x, shape, scratch) }),
      run: (fields, rope, cache) => layer.forward(fields, rope, cache),
    });
    this.encoding = position.encoding as LayerPosition['encoding'];
    Object.freeze(this);
  }

  /**
   * One pass. `out` has x's shape; `scores` [B, H, T, T] are the attention weights, if asked for.
   *
   * @param x [T, modelDim] or [B, T, modelDim]; it is not changed, unless as a tensor it is `out`.
   * @throws ArgumentRangeError where sizes do not fit; StateError after dispose().
   */
  forward<
    const S extends 'none' | 'probabilities' = 'none',
    const C extends readonly AttentionCaptureName[] = [],
    X extends TensorInput = TensorInput,
    O extends Out = undefined,
  >(
    x: X,
    options?: AttentionForwardOptions<S, C, O>,
  ): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> & LayerResult<ResultOf<X>, C, ResultOf<X, O>>;
  forward(
    x: TensorInput,
    options: AttentionForwardOptions<'none' | 'probabilities', readonly AttentionCaptureName[], Out> = {},
  ): LayerResult<Tensor | NdArray, [], Tensor | NdArray<Float32Array>> {
    const { where, heap } = this;
    const { changes } = heap;
    const given = check.options(where, 'options', options, [...forwardFields, 'returnScores']);
    const { returnScores = 'none', ...rest } = given;
    const choices = { none: 0, probabilities: 1 };
    if (check.choice(where, 'returnScores', returnScores, choices) === 0) return this.pass(x, rest, changes);
    if (rest.capture !== undefined || rest.captureHeads !== undefined) {
      const problem = "is not for calls with capture, which gives 'probabilities' by that name";
      throw new ArgumentRangeError(where, 'returnScores', returnScores, problem);
    }
    const { out, captured } = this.pass(x, { ...rest, capture: ['probabilities'] }, changes);
    return { out, scores: captured?.probabilities } as AttentionResult<Tensor | NdArray, 'probabilities'>;
  }
}

// x with the sinusoids of its tokens added, in memory that `scratch` gives.
function addTable(
  heap: Heap,
  options: CheckedTable,
  x: Operand,
  { batch, tokens, at }: { batch: number; tokens: number; at: CheckedPositions },
  scratch: Scratch,
): number {
  const where = 'attentionLayer.forward';
  const { dim } = options;
  const positions = at.values ?? Float64Array.from({ length: tokens }, (_, token) => at.offset + token);
  const { length } = positions; // of all rows, or of each
  const tableAt = scratch(length * dim * 4);
  writeTable(heap, where, options, positions, tableAt, scratch);
  const rows = Float64Array.from({ length: batch * tokens }, (_, row) => row % length);
  const out = scratch(x.size * 4);
  const call = {
    out,
    x: x.addressToOverwrite(scratch),
    xDim: dim,
    table: { data: tableAt, positions: length, dim },
    mode: LearnedMode.add,
    positions: heap.put(scratch, rows),
    rows: rows.length,
  };
  const fields = heap.putCall(scratch, LearnedCall, call);
  heap.run(where, (c) => c.learnedPositions(fields));
  return out;
}
