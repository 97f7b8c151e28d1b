// The position encodings that attention takes: each checks its options, then says what it adds to the core's call.
import * as calls from '../calls.js';
import { alibiVariants, writeAlibi } from '../encodings/alibi.js';
import type { BiasShape } from '../encodings/bias-shape.js';
import { checkFire, type FireParameters, fireFields } from '../encodings/fire.js';
import { checkKerple, type KerpleNumbers, writeKerple } from '../encodings/kerple.js';
import { checkSign, type RelativeSign } from '../encodings/relative.js';
import { checkSandwich, type SandwichVectors, writeSandwich } from '../encodings/sandwich.js';
import { checkT5, type T5Options, t5Table, withBuckets, writeT5Bias } from '../encodings/t5.js';
import { checkPlan, type RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError, wrongShape } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import type { HeadShape } from '../runtime/layout.js';
import { checkedPositionsOf, type PositionsInput } from '../runtime/positions.js';
import { matrix, type TensorInput } from '../runtime/tensor.js';
import { checkLast, type Distances, type Visibility } from './visibility.js';

/**
 * Position encodings of `rw.attention`. Positions of queries and keys are those of its options. All heads share a table.
 */
export type AttentionPosition =
  | {
      /** Scores do not depend on positions. */
      encoding: 'none';
    }
  | {
      /** Copies of q and k are rotated. */
      encoding: 'rope';
      /** Rotates heads of size D. */
      plan: RopePlan;
      /** Positions of the queries: the first one, or a list. Default those of the call. */
      queries?: number | PositionsInput;
      /** Positions of the keys: the first one, or a list. Default those of the call. */
      keys?: number | PositionsInput;
    }
  | {
      /** Adds -slope |i - j| (arXiv:2108.12409). */
      encoding: 'alibi';
    }
  | ({
      /** Adds `table[bucket, head]` (arXiv:1910.10683). T5 uses scale 1. */
      encoding: 't5';
      /** [numBuckets, H]. `bidirectional` is true by default unless the call is causal. */
      table: TensorInput;
    } & T5Options)
  | ({
      /** KERPLE (arXiv:2205.09921): subtracts a learned kernel of |i - j|; r1 and r2 [H]. */
      encoding: 'kerple';
    } & KerpleNumbers)
  | ({
      /** FIRE (arXiv:2310.04418): adds a learned function of ln(1 + c |i - j|) / ln(1 + c max(threshold, i)). */
      encoding: 'fire';
    } & FireParameters)
  | ({
      /** Sandwich (arXiv:2212.10356): adds the product of the sinusoidal vectors of i and j, over 8 (h + 1) / H. */
      encoding: 'sandwich';
    } & SandwichVectors)
  | {
      /** Shaw (arXiv:1803.02155): adds to keys, and to values, the row of clip(j - i). */
      encoding: 'shaw';
      /** [2 maxDistance + 1, D]. */
      keys: TensorInput;
      /** [2 maxDistance + 1, Dv]. Default: nothing is added to values. */
      values?: TensorInput;
    }
  | ({
      /**
       * BERT: adds q . table[i - j]. A distance beyond the table is an error, unless causal order, a window or padding
       * hides the key and the scores asked for do not show hidden keys (`position`, `raw` and `capped` do).
       */
      encoding: 'relative_key';
    } & BertTable)
  | ({
      /** Huang's M4 (arXiv:2009.13658): adds (q + k) . table[i - j]. */
      encoding: 'relative_key_query';
    } & BertTable)
  | ({
      /** Huang's M3 (arXiv:2009.13658): sum_d q_d k_d table[i - j]_d in place of q . k. */
      encoding: 'm3';
    } & BertTable);

/** A table with a row for each distance. */
export interface BertTable {
  /** [2 maxPositions - 1, D], from the least distance to the largest. */
  table: TensorInput;
  /** Sign of its distances. Default `query-minus-key`, as in Hugging Face's BERT. */
  sign?: RelativeSign;
}

/** Shapes of the call that an encoding may need. @internal */
export interface AttentionShapes {
  readonly q: HeadShape;
  readonly k: HeadShape;
  readonly valueDim: number;
  readonly visibility: Visibility;
  /** Whether scores are given back that show hidden keys as well. Default false. */
  readonly showsHidden?: boolean;
}

/**
 * Whether stages of the scores show keys that causal order or a window hides.
 * @internal
 */
export function showsHidden(stages: readonly string[]): boolean {
  return stages.some((stage) => stage === 'position' || stage === 'raw' || stage === 'capped');
}

/** @internal */
export type PositionPart = Pick<
  calls.AttentionOptions,
  'distanceBias' | 'distanceFirst' | 'distanceCount' | 'distanceRanges' | 'distanceRangeCount' | 'fire' | 'relative'
>;

/**
 * A checked position encoding.
 * @internal
 */
export interface AppliedPosition {
  /** Turns queries and keys where they lie in the heap; only rope does. Then they have to be copies. */
  readonly rotate?: (q: number, k: number, scratch: Scratch) => void;
  /** What is added to the options of the core. */
  part(scratch: Scratch): PositionPart;
}

type Make<P> = (heap: Heap, where: string, position: P, shapes: AttentionShapes) => AppliedPosition;

// The ranges of distances as the core takes them, each with where its biases begin.
function putRanges(heap: Heap, ranges: readonly Distances[], starts: readonly number[], scratch: Scratch): number {
  const list = ranges.map(({ first, last }, i) => ({ first, count: last - first + 1, start: starts[i] ?? 0 }));
  return heap.putCalls(scratch, calls.DistanceRange, list);
}

// A number for each head and distance of the call: the bias of one query among so many keys. `write` writes those of a
// range.
function byDistance(
  heap: Heap,
  where: string,
  shapes: AttentionShapes,
  write: (shape: Required<BiasShape>, out: number, scratch: Scratch) => void,
  heads = shapes.q.heads,
): AppliedPosition {
  const { distances } = shapes.visibility;
  if (distances === undefined || shapes.q.heads === 0) return { part: () => ({}) };
  const { first, last } = distances;
  checkLast(where, shapes.visibility.queryOffset, shapes.q.tokens);
  if (![first, last].every(Number.isSafeInteger)) {
    const problem = 'and keyPositions are more than 2^53 - 1 apart; the bias of such distances is not known';
    throw new ArgumentRangeError(where, 'queryOffset', shapes.visibility.queryOffset, problem);
  }
  return {
    part(scratch) {
      const ranges = shapes.visibility.distanceRanges();
      let size = 0;
      const starts = ranges.map(({ first, last }) => {
        size += heads * (last - first + 1);
        return size - heads * (last - first + 1);
      });
      const distanceBias = scratch(size * 4);
      for (const [i, { first, last }] of ranges.entries()) {
        const out = distanceBias + (starts[i] ?? 0) * 4;
        write({ queries: 1, keys: last - first + 1, queryOffset: -first }, out, scratch);
      }
      if (ranges.length === 1) return { distanceBias, distanceFirst: first, distanceCount: last - first + 1 };
      const distanceRanges = putRanges(heap, ranges, starts, scratch);
      return { distanceBias, distanceRanges, distanceRangeCount: ranges.length };
    },
  };
}

function checkHeads(where: string, name: string, value: unknown, heads: number, { q }: AttentionShapes): void {
  if (heads === q.heads) return;
  throw new ArgumentRangeError(where, name, value, `has ${heads} heads, q has ${q.heads}`);
}

// A table with an odd number of rows, one for each distance from -limit to limit.
function distanceTable(heap: Heap, where: string, name: string, value: TensorInput, dim: number) {
  const axes = `[an odd number of distances, ${dim}]`;
  const { input: table, rows, columns } = matrix(heap, where, name, value, axes);
  if (rows % 2 === 0 || columns !== dim) throw wrongShape(where, name, value, table.shape, axes);
  return { table, limit: (rows - 1) / 2 };
}

/**
 * The largest distance whose score someone may see; up to `limit` all count.
 * @internal
 */
export function farthestDistance(
  where: string,
  { q, visibility, showsHidden }: Omit<AttentionShapes, 'k' | 'valueDim'>,
  limit = 0,
): number {
  checkLast(where, visibility.queryOffset, q.tokens);
  const { distances } = visibility;
  const farthest = distances ? Math.max(-distances.first, distances.last) : 0;
  return farthest > limit && showsHidden !== true ? visibility.farthestSeen() : farthest;
}

// BERT's tables have a row for every distance; one outside is an error, not clipped, unless nobody sees it.
function bertRows(where: string, limit: number, sign: unknown, shapes: AttentionShapes) {
  const farthest = farthestDistance(where, shapes, limit);
  if (farthest > limit) {
    const problem = `has rows for distances up to ${limit}; this call needs ${farthest}`;
    throw new ArgumentRangeError(where, 'position.table', limit, problem);
  }
  return { limit, keyMinusQuery: checkSign(where, 'position.sign', sign ?? 'query-minus-key') === 1 };
}

type BertField = 'queryTable' | 'keyTable' | 'productTable';

function bert(...fields: BertField[]): Make<BertTable> {
  return (heap, where, position, shapes) => {
    const { table, limit } = distanceTable(heap, where, 'position.table', position.table, shapes.k.dim);
    const rows = bertRows(where, limit, position.sign, shapes);
    return {
      part(scratch) {
        const pointer = table.address(scratch);
        return { relative: { rows, ...Object.fromEntries(fields.map((field) => [field, pointer])) } };
      },
    };
  };
}

// The same position along every axis.
function onAxes(list: Float64Array, axes: number): PositionsInput {
  return axes === 1 ? list : Array.from({ length: axes }, () => list);
}

function queryPositions({ queryOffset }: Visibility, tokens: number, axes: number): number | PositionsInput {
  if (typeof queryOffset === 'number') return queryOffset;
  return onAxes(
    Float64Array.from({ length: queryOffset.length * tokens }, (_, n) => {
      return (queryOffset[Math.floor(n / tokens)] ?? 0) + (n % tokens);
    }),
    axes,
  );
}

// One entry makes an encoding known to attention.
const encodings: {
  readonly [P in AttentionPosition as P['encoding']]: {
    readonly make: Make<P>;
    readonly fields: { readonly [N in Exclude<keyof P, 'encoding'>]-?: true };
  };
} = {
  none: { fields: {}, make: () => ({ part: () => ({}) }) },
  rope: {
    fields: { plan: true, queries: true, keys: true },
    make(heap, where, { plan, queries, keys }, { q, k, visibility }) {
      checkPlan(heap, where, 'position.plan', plan, q.dim, 'q has head size');
      const at = (
        name: string,
        value: number | PositionsInput | undefined,
        shape: HeadShape,
        preset: PositionsInput | number,
      ) => checkedPositionsOf(where, `position.${name}`, value ?? preset, shape.batch, shape.tokens, plan.axes);
      const queriesAt = at('queries', queries, q, queryPositions(visibility, q.tokens, plan.axes));
      const keysAt = at('keys', keys, k, visibility.keyPositions ? onAxes(visibility.keyPositions, plan.axes) : 0);
      return {
        part: () => ({}),
        rotate(qAt, kAt, scratch) {
          plan.turnAt(where, qAt, q, queriesAt.put(heap, scratch), 'query', scratch);
          plan.turnAt(where, kAt, k, keysAt.put(heap, scratch), 'key', scratch);
        },
      };
    },
  },
  alibi: {
    fields: {},
    make(heap, where, _, shapes) {
      const { heads } = shapes.q;
      return byDistance(heap, where, shapes, (shape, out, scratch) =>
        writeAlibi(heap, where, { heads, ...shape, variant: alibiVariants.symmetric }, out, scratch),
      );
    },
  },
  t5: {
    fields: { table: true, bidirectional: true, numBuckets: true, maxDistance: true },
    make(heap, where, position, shapes) {
      const given = { ...position, bidirectional: position.bidirectional ?? !shapes.visibility.causal };
      const options = checkT5(where, given, 'position.');
      const { table, heads } = t5Table(heap, where, position.table, options.numBuckets, 'position.table');
      checkHeads(where, 'position.table', position.table, heads, shapes);
      return byDistance(heap, where, shapes, ({ queries, keys, queryOffset }, out, scratch) =>
        withBuckets(heap, where, options, (buckets) => {
          const bias = { out, table: table.address(scratch), heads, queries, keys, queryOffset };
          writeT5Bias(heap, buckets, bias, scratch);
        }),
      );
    },
  },
  shaw: {
    fields: { keys: true, values: true },
    make(heap, where, position, shapes) {
      const { table: keys, limit } = distanceTable(heap, where, 'position.keys', position.keys, shapes.k.dim);
      const values =
        position.values !== undefined
          ? distanceTable(heap, where, 'position.values', position.values, shapes.valueDim)
          : undefined;
      if (values !== undefined && values.limit !== limit) {
        const problem = `has ${2 * values.limit + 1} rows, position.keys has ${2 * limit + 1}`;
        throw new ArgumentRangeError(where, 'position.values', position.values, problem);
      }
      const rows = { limit, keyMinusQuery: true };
      return {
        part: (scratch) => ({
          relative: { rows, queryTable: keys.address(scratch), valueTable: values?.table.address(scratch) },
        }),
      };
    },
  },
  kerple: {
    fields: { r1: true, r2: true, kind: true },
    make(heap, where, position, shapes) {
      const numbers = checkKerple(where, position, 'position.');
      checkHeads(where, 'position.r1', position.r1, numbers.r1.length, shapes);
      return byDistance(heap, where, shapes, (shape, out, scratch) => {
        writeKerple(heap, where, numbers, shape, out, scratch);
      });
    },
  },
  fire: {
    fields: fireFields,
    make(heap, where, position, shapes) {
      const { heads, terms, write } = checkFire(heap, where, position, 'position.');
      checkHeads(where, 'position.outWeights', position.outWeights, heads, shapes);
      const psi = byDistance(heap, where, shapes, write, 1);
      return { part: (scratch) => ({ ...psi.part(scratch), fire: terms(scratch) }) };
    },
  },
  sandwich: {
    fields: { dim: true, base: true },
    make(heap, where, position, shapes) {
      const { heads } = shapes.q;
      const vectors = checkSandwich(where, position, 'position.');
      return byDistance(heap, where, shapes, (shape, out, scratch) =>
        writeSandwich(heap, where, { heads, ...vectors, ...shape }, out, scratch),
      );
    },
  },
  relative_key: { fields: { table: true, sign: true }, make: /* @__PURE__ */ bert('queryTable') },
  relative_key_query: { fields: { table: true, sign: true }, make: /* @__PURE__ */ bert('queryTable', 'keyTable') },
  m3: { fields: { table: true, sign: true }, make: /* @__PURE__ */ bert('productTable') },
};

/** @internal */
export function applyPosition(heap: Heap, where: string, value: unknown, shapes: AttentionShapes): AppliedPosition {
  if (value === undefined) return { part: () => ({}) };
  if (typeof value !== 'object' || value === null || !('encoding' in value)) {
    throw new ArgumentTypeError(where, 'position', value, "an object such as { encoding: 'rope', plan }");
  }
  const { make, fields } = check.choice(where, 'position.encoding', value.encoding, encodings);
  check.keys(where, 'position', value, ['encoding', ...Object.keys(fields)]);
  return (make as Make<unknown>)(heap, where, value, shapes);
}
