// Results of a call into the core: new tensors, or memory that is copied to plain arrays.
import * as check from './check.js';
import type { Heap } from './heap.js';
import { type NdArray, Tensor } from './tensor.js';

/** Something for `out`, and for each further result that a call was asked for. @internal */
export type Named<N extends string, T> = { readonly out: T } & { readonly [name in N]?: T };

/**
 * Runs work that writes results of the given shapes. Nothing is left behind if it throws.
 * @internal
 */
export function outputs<N extends string>(
  heap: Heap,
  where: string,
  asTensors: boolean,
  shapes: Named<N, readonly number[]>,
  run: (at: Named<N, number>, take: (bytes: number) => number) => void,
): Named<N, Tensor | NdArray> {
  const byName = <F, T>(from: Named<N, F>, value: (each: F) => T) =>
    Object.fromEntries(Object.entries(from).map(([name, each]) => [name, value(each as F)])) as Named<N, T>;
  if (asTensors) {
    const made: Tensor[] = [];
    try {
      const tensors = byName(shapes, (shape) => {
        const tensor = new Tensor(heap, shape, where);
        made.push(tensor);
        return tensor;
      });
      const at = byName(tensors, (tensor) => tensor.pointer);
      heap.scope(where, (take) => run(at, take));
      return tensors;
    } catch (error) {
      for (const tensor of made) tensor.dispose();
      throw error;
    }
  }
  return heap.scope(where, (take) => {
    const arrays = byName(shapes, (shape) => ({ shape, at: take(check.sizeOf(shape) * 4) }));
    const at = byName(arrays, (array) => array.at);
    run(at, take);
    return byName(
      arrays,
      ({ shape, at }): NdArray => ({ data: heap.readFloats(at, check.sizeOf(shape)), shape: [...shape] }),
    );
  });
}
