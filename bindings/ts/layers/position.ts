// The position encoding of a layer: checked once, with copies of its tables, and applied in each pass.
import {
  type AttentionPosition,
  type AttentionShapes,
  applyPosition,
  type PositionPart,
} from '../attention/position.js';
import { type Bounds, type Visibility, visibilityOf } from '../attention/visibility.js';
import { inPosition, type RopeOptions } from '../rope/options.js';
import { checkPlan, RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import { type Handle, orDisposed } from '../runtime/handle.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { operand, Tensor } from '../runtime/tensor.js';

/**
 * The position encodings of a layer, each with its own options; sizes follow from the layer. `rope` takes the options of
 * a plan, or a plan that other layers share, which the layer does not free. The others are those of `rw.attention`.
 */
export type TransformerPosition =
  | {
      /** Scores do not depend on positions. */
      encoding: 'none';
    }
  | ({
      /** Queries and keys are rotated by a plan of the layer's own. */
      encoding: 'rope';
    } & Omit<RopeOptions, 'headDim'>)
  | {
      /** Queries and keys are rotated by the caller's plan. */
      encoding: 'rope';
      /** Rotates heads of size headDim. Dispose of it after the layer. */
      plan: RopePlan;
    }
  | Exclude<
      AttentionPosition,
      {
        /** Those above. */
        encoding: 'none' | 'rope';
      }
    >;

/** A checked position encoding. @internal */
export interface CheckedPosition {
  readonly encoding: string;
  readonly rope: RopePlan | undefined;
  /** What the layer frees. */
  readonly owned: readonly Handle[];
  /** Addresses of what XLNet adds to scores by token types. */
  readonly segments?: { readonly segmentTable: number; readonly segmentBias: number };
  /** What is added to the options of the core. */
  part(shapes: AttentionShapes, scratch: Scratch): PositionPart;
}

/** Sizes that an encoding may need. @internal */
export interface LayerHeads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
}

/** @internal */
export function attentionShapes(dims: LayerHeads, batch: number, tokens: number, keys: number, visibility: Visibility) {
  const heads = (count: number, length: number) => {
    return { tokensFirst: true, batch, heads: count, tokens: length, dim: dims.headDim };
  };
  return { q: heads(dims.heads, tokens), k: heads(dims.kvHeads, keys), valueDim: dims.valueDim, visibility };
}

/** @internal */
export function positionObject(where: string, value: unknown): { encoding: unknown } {
  const position = value === undefined ? { encoding: 'none' } : value;
  return check.plainObject(where, 'position', position, "a plain object such as { encoding: 'rope' }") as {
    encoding: unknown;
  };
}

function ropeOf(heap: Heap, where: string, own: object, headDim: number): { rope: RopePlan; owned: Handle[] } {
  if (!('plan' in own)) {
    if ('headDim' in own) {
      throw new ArgumentRangeError(where, 'position.headDim', own, 'is not an option; it follows from the layer');
    }
    const rope = new RopePlan(heap, { ...own, headDim } as RopeOptions, where, inPosition).adopted();
    return { rope, owned: [rope] };
  }
  const { plan } = check.options(where, 'position', own as { plan: RopePlan }, ['plan']);
  checkPlan(heap, where, 'position.plan', plan, headDim, 'the layer has heads of size');
  return { rope: plan, owned: [] };
}

// Tables as tensors of the layer, lists as copies: the caller's may change.
function copied(heap: Heap, where: string, own: object, owned: Handle[]): object {
  return Object.fromEntries(
    Object.entries(own).map(([name, value]) => {
      if (check.isTypedArray(value, 'Float32Array')) return [name, new Float32Array(value)];
      if (typeof value !== 'object' || value === null) return [name, value];
      const table = operand(heap, where, `position.${name}`, value);
      const tensor = new Tensor(heap, table.shape, where);
      owned.push(tensor.adopted());
      heap.scope(where, (scratch) => heap.move(table.address(scratch), tensor.pointer, table.size * 4));
      return [name, tensor];
    }),
  );
}

// Refuses values that are to be turned where nothing turns them.
function checkTurnedValues(where: string, { encoding, rope }: CheckedPosition, dims: LayerHeads): void {
  const problem =
    rope === undefined
      ? `encoding ${encoding} turns nothing`
      : rope.xpos
        ? 'xpos turns queries and keys differently'
        : `valueDim is ${dims.valueDim} and the plan turns heads of size ${rope.headDim}`;
  if (rope !== undefined && !rope.xpos && dims.valueDim === rope.headDim) return;
  throw new ArgumentRangeError(where, 'turnValues', true, `is true, but ${problem}`);
}

/** @internal */
export function checkPosition(
  heap: Heap,
  where: string,
  value: unknown,
  dims: LayerHeads,
  scores: { readonly turnValues: boolean; readonly visibility: Bounds },
): CheckedPosition {
  const checked = anyPosition(heap, where, value, dims, scores.visibility);
  if (scores.turnValues) orDisposed(checked.owned, () => checkTurnedValues(where, checked, dims));
  return checked;
}

function anyPosition(heap: Heap, where: string, value: unknown, dims: LayerHeads, bounds: Bounds): CheckedPosition {
  const { encoding, ...own } = positionObject(where, value);
  if (encoding === 'rope') {
    const { rope, owned } = ropeOf(heap, where, own, dims.headDim);
    return { encoding, rope, owned, part: () => ({}) };
  }
  const owned: Handle[] = [];
  return orDisposed(owned, () => {
    // The options are checked now, not at the first pass.
    const one = { tokensFirst: true, batch: 1, heads: dims.heads, tokens: 1, dim: dims.headDim };
    const visibility = visibilityOf(where, bounds, {}, one, one);
    applyPosition(heap, where, { encoding, ...own }, attentionShapes(dims, 1, 1, 1, visibility));
    const position = { encoding, ...copied(heap, where, own, owned) };
    const part: CheckedPosition['part'] = (shapes, scratch) =>
      applyPosition(heap, where, position, shapes).part(scratch);
    return { encoding: encoding as string, rope: undefined, owned, part };
  });
}
