// Keys that move without wear: what accumulates over many moves is their positions, which are integers, and never the
// rounding of angles.
import * as check from './check.js';
import { ArgumentRangeError } from './errors.js';
import { Handle } from './handle.js';
import { headShape, type Layout } from './layout.js';
import { type PositionsInput, placesOf } from './positions.js';
import type { RopePlan } from './rope.js';
import { operand, Tensor, type TensorInput } from './tensor.js';

/** Options of `plan.keep`. */
export interface KeepOptions {
  /** Where the keys stand: an offset, or positions as in rotate. */
  at: number | PositionsInput;
  /** Default `BHTD`. */
  layout?: Layout;
}

/**
 * Keys with the plan and the positions they were turned by, made by `plan.keep()`. Every `read()` turns the kept keys
 * once, from where they stood at first to where they stand now, so that a thousand shifts by one are as exact as one
 * shift by a thousand.
 *
 * @example
 * using keys = plan.keep(rotatedKeys, { at: 0 });
 * for (let i = 0; i < 1000; ++i) keys.shift(-1);
 * const moved = keys.read();   // as plan.rerotate(rotatedKeys, { from: 0, to: -1000 })
 */
export class KeptKeys extends Handle {
  readonly shape: readonly number[];
  readonly #kept: Tensor;
  readonly #layout: Layout;
  readonly #first: { readonly plan: RopePlan; readonly at: number | PositionsInput };
  #plan: RopePlan;
  #at: number | readonly Float64Array[];

  /** @internal */
  constructor(plan: RopePlan, keys: TensorInput, options: KeepOptions) {
    const where = 'rope.keep';
    const { at, layout = 'BHTD' } = check.options<KeepOptions>(where, 'options', options, ['at', 'layout']);
    const input = operand(plan.heap, where, 'keys', keys);
    const { batch, tokens, dim } = headShape(where, 'keys', input.shape, layout);
    if (dim !== plan.headDim) {
      const problem = `has shape [${input.shape.join(', ')}]; its last axis must be headDim, ${plan.headDim}`;
      throw new ArgumentRangeError(where, 'keys', keys, problem);
    }
    const places = placesOf(where, 'at', at, batch, tokens, plan.axes);
    const kept = new Tensor(plan.heap, input.shape, where);
    try {
      plan.heap.scope(where, (take) => plan.heap.move(input.place(take), kept.pointer, input.size * 4));
    } catch (error) {
      kept.dispose();
      throw error;
    }
    super(plan.heap, disposer(kept.adopted()));
    this.shape = kept.shape;
    this.#kept = kept;
    this.#layout = layout;
    const lists = places.values && axisLists(places.values, plan.axes);
    this.#at = lists ?? places.offset;
    this.#plan = plan;
    this.#first = { plan, at: asInput(this.#at) };
  }

  /** Moves all keys by the same distance along every axis. */
  shift(distance: number): this {
    const where = 'keptKeys.shift';
    this.alive(where);
    const by = check.position(where, 'distance', distance);
    const moved = typeof this.#at === 'number' ? this.#at + by : this.#at.map((list) => list.map((p) => p + by));
    const ends = typeof moved === 'number' ? [moved, moved + (this.#tokens() - 1)] : moved.flatMap((list) => [...list]);
    if (!ends.every(Number.isSafeInteger)) {
      throw new ArgumentRangeError(where, 'distance', distance, `is ${distance}, which moves keys beyond ±(2^53 - 1)`);
    }
    this.#at = moved;
    return this;
  }

  /** From now on the keys are read as `plan` would have turned them: another scaling or another pairing. */
  switchTo(plan: RopePlan): this {
    const where = 'keptKeys.switchTo';
    this.alive(where);
    this.#first.plan.matches(where, plan);
    this.#plan = plan;
    return this;
  }

  /** A new tensor with the keys as they are at their present positions. */
  read(): Tensor {
    const where = 'keptKeys.read';
    this.alive(where);
    this.#first.plan.usableIn(this.heap, where, 'the plan that made them');
    const tensor = new Tensor(this.heap, this.shape, where);
    try {
      this.heap.move(this.#kept.pointer, tensor.pointer, tensor.size * 4);
      const { plan, at: from } = this.#first;
      return plan.rerotate(tensor, { from, to: asInput(this.#at), plan: this.#plan, layout: this.#layout });
    } catch (error) {
      tensor.dispose();
      throw error;
    }
  }

  #tokens(): number {
    return headShape('keptKeys', 'keys', this.shape, this.#layout).tokens;
  }
}

function disposer(kept: Tensor): () => void {
  return () => kept.dispose();
}

function axisLists(values: Float64Array, axes: number): Float64Array[] {
  const count = values.length / axes;
  return Array.from({ length: axes }, (_, axis) => values.slice(axis * count, (axis + 1) * count));
}

// One axis is a flat list for callers, several are a list of lists.
function asInput(at: number | readonly Float64Array[]): number | PositionsInput {
  if (typeof at === 'number') return at;
  const [only] = at;
  return at.length === 1 && only !== undefined ? only : at;
}
