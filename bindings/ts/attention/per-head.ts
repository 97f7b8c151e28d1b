// Attention whose heads have a table of distances each. All heads share a table of the core, so that each head is a call
// of its own, on copies of its queries and keys that have further coordinates.
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import type { HeadShape } from '../runtime/layout.js';
import { type Named, type Out, outputs, type ResultOf } from '../runtime/outputs.js';
import type { ScoreStage } from '../runtime/score-stages.js';
import { type NdArray, numbersOf, plain, type TensorInput } from '../runtime/tensor.js';
import {
  type AttentionInputs,
  type AttentionOptions,
  type AttentionResult,
  attend,
  inputsOf,
  requested,
  resultOf,
  type ScoreRequest,
} from './attention.js';
import type { KeepMaskInput } from './mask.js';
import { farthestDistance, showsHidden } from './position.js';
import { boundsOf, type Visibility, visibilityOf } from './visibility.js';

/** Options of attention whose heads have a table of distances each: those of `rw.attention` that they take. */
export interface PerHeadOptions<S extends ScoreRequest = ScoreRequest, O extends Out = undefined>
  extends Omit<AttentionOptions<S, O>, 'position' | 'bias' | 'softcap' | 'sinks' | 'scoreHeads'> {
  /** Which keys each query may attend to, the same ones in all heads: broadcasts to [B, 1, Tq, Tk]. Default all. */
  mask?: KeepMaskInput;
}

/** @internal */
export const perHeadFields = [
  'scale',
  'mask',
  'returnScores',
  'causal',
  'queryOffset',
  'keyPositions',
  'keyLengths',
  'window',
  'sinkTokens',
  'layout',
  'heads',
  'kvHeads',
  'out',
] as const;

/** A call whose inputs and positions are checked. @internal */
export interface PerHeadCall<S extends ScoreRequest, O extends Out> {
  readonly where: string;
  readonly heap: Heap;
  readonly inputs: AttentionInputs & Required<Pick<AttentionInputs, 'k' | 'v'>>;
  readonly given: Readonly<PerHeadOptions<S, O>>;
  readonly visibility: Visibility;
  /** The largest distance that needs a row. */
  readonly farthest: number;
}

/** @internal */
export function perHeadCall<S extends ScoreRequest, O extends Out>(
  heap: Heap,
  where: string,
  [q, k, v]: readonly [TensorInput, TensorInput, TensorInput],
  given: Readonly<PerHeadOptions<S, O>>,
): PerHeadCall<S, O> {
  const inputs = inputsOf(heap, where, [check.read(q), check.read(k), check.read(v)], given);
  const visibility = visibilityOf(where, boundsOf(where, given), given, inputs.qs, inputs.ks);
  const stages = requested(where, given.returnScores);
  const shapes = { q: inputs.qs, visibility, showsHidden: showsHidden(stages) };
  return { where, heap, inputs, given, visibility, farthest: farthestDistance(where, shapes) };
}

/** One head. @internal */
export interface HeadTable {
  /** [rows, width], from the distance i - j = -(rows - 1) / 2 to (rows - 1) / 2. */
  readonly table: Float32Array<ArrayBuffer>;
  /** Writes the further coordinates of a query, [width], which are 0, and may change its own, the first D. */
  widen(query: Float32Array): void;
  /** The same of a key. Default: they stay 0. */
  widenKey?(key: Float32Array): void;
}

// Where token `row` of all the batch's, [B * T], of head h lies among the rows of all heads.
function rowOf({ tokensFirst, heads, tokens }: HeadShape, h: number, row: number): number {
  return tokensFirst ? row * heads + h : (Math.floor(row / tokens) * heads + h) * tokens + (row % tokens);
}

// [B, T, width]: the numbers of head h, then what `widen` writes.
function headOf(
  numbers: Float32Array,
  shape: HeadShape,
  h: number,
  width: number,
  widen?: (row: Float32Array) => void,
): Float32Array<ArrayBuffer> {
  const rows = shape.batch * shape.tokens;
  const head = new Float32Array(rows * width);
  for (let row = 0; row < rows; ++row) {
    const from = rowOf(shape, h, row) * shape.dim;
    head.set(numbers.subarray(from, from + shape.dim), row * width);
    widen?.(head.subarray(row * width, (row + 1) * width));
  }
  return head;
}

// The other way around: puts the numbers of head h in their place.
function putHead(all: Float32Array, head: Float32Array, shape: HeadShape, h: number): void {
  for (let row = 0; row < shape.batch * shape.tokens; ++row) {
    all.set(head.subarray(row * shape.dim, (row + 1) * shape.dim), rowOf(shape, h, row) * shape.dim);
  }
}

/**
 * Scores are scale (q' . k' + q' . table[i - j]), with `relative_key_query` also scale k' . table[i - j], where q' and k' have
 * `width` coordinates.
 * @internal
 */
export function attendPerHead<X extends TensorInput, S extends ScoreRequest, O extends Out>(
  { where, heap, inputs, given, visibility }: PerHeadCall<S, O>,
  encoding: 'relative_key' | 'relative_key_query',
  scale: number,
  width: number,
  tableOf: (h: number) => HeadTable,
): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
  const { qs, ks, vs } = inputs;
  const stages = requested(where, given.returnScores);
  const scoreShape = [qs.batch, qs.heads, qs.tokens, ks.tokens];
  const [q, k, v] = [inputs.q, inputs.k, inputs.v].map((input) => numbersOf(heap, where, input)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  const oneOf = (name: string, data: Float32Array, { batch, tokens }: HeadShape, dim: number) => ({
    operand: plain(heap, where, name, data, [batch, 1, tokens, dim]),
    shape: { tokensFirst: false, batch, heads: 1, tokens, dim },
  });
  const attendHead = (h: number) => {
    const { table, widen, widenKey } = tableOf(h);
    const group = Math.floor(h / (qs.heads / ks.heads));
    const query = oneOf('q', headOf(q, qs, h, width, widen), qs, width);
    const key = oneOf('k', headOf(k, ks, group, width, widenKey), ks, width);
    const value = oneOf('v', headOf(v, vs, group, vs.dim), vs, vs.dim);
    const one = {
      ...{ q: query.operand, qs: query.shape, k: key.operand, ks: key.shape, v: value.operand, vs: value.shape },
      tokensFirst: false,
      outShape: [qs.batch, 1, qs.tokens, vs.dim],
    };
    const position = { encoding, table: { data: table, shape: [table.length / width, width] } };
    const options = { scale, position, returnScores: stages, ...(given.mask !== undefined && { mask: given.mask }) };
    return attend<NdArray, readonly ScoreStage[], undefined>(heap, where, one, options, visibility, (fields) =>
      heap.call((core) => core.attention(fields)),
    );
  };
  const asked: { readonly [S in ScoreStage]?: readonly number[] } = Object.fromEntries(
    stages.map((stage) => [stage, scoreShape]),
  );
  const shapes: Named<ScoreStage, readonly number[]> = { out: inputs.outShape, ...asked };
  const results = outputs(heap, where, inputs.q.tensor !== undefined, shapes, given.out, (at) => {
    for (let h = 0; h < qs.heads; ++h) {
      const { out, scores } = attendHead(h);
      const put = (pointer: number, head: Float32Array, shape: HeadShape) =>
        putHead(heap.floats(pointer, head.length * qs.heads), head, shape, h);
      put(at.out, out.data, { ...qs, dim: vs.dim });
      const rows = { ...qs, tokensFirst: false, tokens: 1, dim: qs.tokens * ks.tokens };
      for (const stage of stages) put(at[stage] ?? 0, scores[stage].data, rows);
    }
  });
  return resultOf<X, S, O>(given.returnScores, stages, results);
}

/** The largest distance of a table that is made for a call. */
const largest = 2 ** 16;

/** Refuses calls with distances that a table of the call's own is not made for. @internal */
export function checkFarthest<S extends ScoreRequest, O extends Out>({ where, given, farthest }: PerHeadCall<S, O>) {
  if (farthest <= largest) return;
  const problem = `puts keys ${farthest} positions from queries; at most ${largest} fit`;
  const name = given.queryOffset === undefined && given.keyPositions !== undefined ? 'keyPositions' : 'queryOffset';
  throw new ArgumentRangeError(where, name, given[name], problem);
}
