// The weights of a layer by name, and how they become its parts in the core: checked all together, then packed one by
// one.

import { NormCall } from '../calls.js';
import type { BlockParts } from '../core.mjs';
import { BlockLinear, BlockNorm, WeightType } from '../enums.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError } from '../runtime/errors.js';
import type { Heap, Scratch } from '../runtime/heap.js';
import { type Keeping, vectorAddress, type Weight, weight, withPacked } from './weights.js';

/** @internal */
export type LinearName = keyof typeof BlockLinear;
/** @internal */
export type NormName = keyof typeof BlockNorm;

type WeightName = LinearName | NormName | `${LinearName | NormName}Bias`;

/**
 * Which of the weights W a layer has: matrices [rows, columns], and norms by how many numbers they may have.
 * @internal
 */
export interface WeightPlan<W> {
  readonly linears: { readonly [N in LinearName & keyof W]?: readonly [rows: number, columns: number] };
  readonly norms: { readonly [N in NormName & keyof W]?: readonly number[] };
  /** Numbers of a row, of norms that have weights for each of several rows. */
  readonly rowSizes?: { readonly [N in NormName & keyof W]?: number };
  /** Those that may be left out. */
  readonly optional: readonly (LinearName | NormName)[];
}

/** How norms are computed. @internal */
export interface NormOptions {
  readonly kind: number;
  readonly eps: number;
  readonly unitOffset: boolean;
}

interface CheckedLinear {
  readonly which: number;
  readonly matrix: Weight;
  readonly bias: Weight | undefined;
}

interface CheckedNorm {
  readonly which: number;
  readonly factor: Weight;
  readonly bias: Weight | undefined;
  readonly size: number;
}

/** Checked weights. @internal */
export interface LayerWeights {
  readonly linears: readonly CheckedLinear[];
  readonly norms: readonly CheckedNorm[];
}

// How many numbers a weight seems to have; what is wrong with it is told elsewhere.
function lengthOf(value: unknown): number {
  const given = value as { length?: unknown; size?: unknown; data?: { length?: unknown } } | null | undefined;
  try {
    return Number(given?.length ?? given?.size ?? given?.data?.length);
  } catch {
    return Number.NaN; // a getter without its object
  }
}

/** `more` are the names of W that stand for neither a matrix nor a norm. @internal */
export function checkWeights<W extends object, const M extends readonly Exclude<keyof W, WeightName>[]>(
  heap: Heap,
  where: string,
  value: W,
  plan: WeightPlan<W>,
  more: M & check.AllOf<Omit<W, WeightName>, M>,
) {
  const names = [...Object.keys(plan.linears), ...Object.keys(plan.norms)];
  check.keys(where, 'weights', value, [...names, ...names.map((name) => `${name}Bias`), ...more]);
  const given = value as Readonly<Record<string, unknown>>;
  const biasOf = (name: string, length: number) => {
    const bias = given[`${name}Bias`];
    return bias === undefined ? undefined : weight(heap, where, `weights.${name}Bias`, bias, [1, length]);
  };
  const isAbsent = (name: string) => {
    if (given[name] !== undefined || !(plan.optional as readonly string[]).includes(name)) return false;
    if (given[`${name}Bias`] === undefined) return true;
    throw new ArgumentRangeError(where, `weights.${name}Bias`, given[`${name}Bias`], `needs weights.${name}`);
  };
  const checked: { linears: CheckedLinear[]; norms: CheckedNorm[] } = { linears: [], norms: [] };
  for (const [name, shape] of Object.entries<readonly [number, number] | undefined>(plan.linears)) {
    if (shape === undefined || isAbsent(name)) continue;
    const matrix = weight(heap, where, `weights.${name}`, given[name], shape, shape);
    checked.linears.push({ which: BlockLinear[name as LinearName], matrix, bias: biasOf(name, shape[0]) });
  }
  for (const [name, lengths] of Object.entries<readonly number[] | undefined>(plan.norms)) {
    if (lengths === undefined || isAbsent(name)) continue;
    const length = lengths.find((n) => n === lengthOf(given[name])) ?? lengths[0] ?? 0;
    const factor = weight(heap, where, `weights.${name}`, given[name], [1, length]);
    const size = plan.rowSizes?.[name as NormName & keyof W] ?? length;
    checked.norms.push({ which: BlockNorm[name as NormName], factor, bias: biasOf(name, length), size });
  }
  return checked;
}

/**
 * Runs work with the parts of a layer, which are gone when it ends unless work moved them on, and memory for its time.
 * @internal
 */
export function withParts(
  heap: Heap,
  where: string,
  weights: LayerWeights,
  keeping: Keeping,
  norm: NormOptions,
  work: (parts: BlockParts, scratch: Scratch) => void,
): void {
  const parts = heap.construct(where, (core) => new core.BlockParts());
  try {
    for (const { which, matrix, bias } of weights.linears) {
      withPacked(heap, where, matrix, keeping, (packed) =>
        heap.scope(where, (scratch) => {
          const biasAt = bias === undefined ? 0 : vectorAddress(bias, scratch);
          heap.run(where, () => parts.setLinear(which, packed, bias?.type ?? WeightType.float32, biasAt));
        }),
      );
    }
    for (const { which, factor, bias, size } of weights.norms) {
      heap.scope(where, (scratch) => {
        const weights = {
          type: factor.type,
          weight: vectorAddress(factor, scratch),
          biasType: bias?.type,
          bias: bias && vectorAddress(bias, scratch),
        };
        const fields = heap.putCall(scratch, NormCall, {
          options: { ...norm, size, sets: factor.columns / size },
          weights,
        });
        heap.run(where, () => parts.setNorm(which, fields));
      });
    }
    heap.scope(where, (scratch) => work(parts, scratch));
  } finally {
    heap.destroy(parts);
  }
}
