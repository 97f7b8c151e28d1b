// A KV cache from the bytes that save() gave.

import type { MainModule } from '../core.mjs';
import { nameOf, SavedProblem } from '../enums.js';
import { checkPlan, type RopePlan } from '../rope/rope.js';
import * as check from '../runtime/check.js';
import { ArgumentRangeError, ArgumentTypeError } from '../runtime/errors.js';
import type { Heap } from '../runtime/heap.js';
import { bytesGiven } from '../runtime/typed-arrays.js';
import { KvCache } from './kv-cache.js';
import { formOf } from './options.js';

/** Options of `rw.restoreKvCache`. */
export interface RestoreOptions {
  /** The plan of the cache, and any others that turned its keys; plans of the same options. Default none. */
  plan?: RopePlan | readonly RopePlan[];
}

function checkPlans(heap: Heap, where: string, value: RestoreOptions['plan']): readonly RopePlan[] {
  if (value === undefined) return [];
  const plans: readonly RopePlan[] = Array.isArray(value) ? value : [value];
  for (const [i, plan] of plans.entries()) checkPlan(heap, where, Array.isArray(value) ? `plan[${i}]` : 'plan', plan);
  return plans;
}

// Bytes that no cache has.
const damaged = ['buffer', 'was cut or altered'] as const;

const savedProblems: Readonly<
  Record<keyof typeof SavedProblem, readonly [argument: 'buffer' | 'plan', problem: string] | undefined>
> = {
  none: undefined,
  noCache: ['buffer', 'holds no saved KV cache'],
  version: ['buffer', 'was saved by a version of ropewalk that this one does not know'],
  damaged,
  plans: ['plan', 'is missing, or is not the one that turned the keys; every plan that did is needed'],
};

// Bytes of a saved cache, as a view of this realm's own class.
function checkBuffer(heap: Heap, where: string, value: unknown): Uint8Array {
  const bytes = bytesGiven(value);
  if (bytes === undefined) {
    throw new ArgumentTypeError(where, 'buffer', value, 'an ArrayBuffer or a Uint8Array that is not detached');
  }
  // A view of this heap would die if the heap grows before it is copied.
  return heap.owns(bytes) ? bytes.slice() : bytes;
}

// Throws what the number of a SavedProblem stands for.
function checkSaved(where: string, problem: number, buffer: unknown, plan: unknown): void {
  const known = savedProblems[nameOf(SavedProblem, problem) ?? 'none'];
  if (known === undefined) return;
  throw new ArgumentRangeError(where, known[0], known[0] === 'plan' ? plan : buffer, known[1]);
}

/** @internal */
export function restoreKvCache(heap: Heap, buffer: ArrayBuffer | Uint8Array, options: RestoreOptions): KvCache {
  const where = 'restoreKvCache';
  const given = check.options(where, 'options', options, ['plan']);
  const bytes = checkBuffer(heap, where, buffer);
  const plans = checkPlans(heap, where, given.plan);
  return heap.scope(where, (scratch) => {
    const at = heap.put(scratch, bytes);
    const addresses = plans.map(({ plan }) => plan.address);
    const list = heap.put(scratch, new Uint8Array(Uint32Array.from(addresses).buffer));
    checkSaved(
      where,
      heap.call((core) => core.checkSavedKvCache(at, bytes.length, list, plans.length)),
      buffer,
      given.plan,
    );
    const make = (core: MainModule) => new core.KvCache();
    return heap.made(where, make, (cache) => {
      heap.run(
        where,
        () => cache.restore(at, bytes.length, list, plans.length),
        () => new ArgumentRangeError(where, damaged[0], buffer, damaged[1]),
      );
      const current = plans.find(({ plan }) => plan.address === cache.planAddress);
      return new KvCache(heap, cache, formOf(heap, where, cache), current, plans);
    });
  });
}
