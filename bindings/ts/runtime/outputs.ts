// Results of a call into the core: new tensors, memory that is copied to new plain arrays, or what the caller gave as
// `out`.
import * as check from './check.js';
import { ArgumentRangeError, ArgumentTypeError } from './errors.js';
import { orDisposed } from './handle.js';
import type { Heap, Scratch } from './heap.js';
import { type NdArray, Tensor, type TensorInput } from './tensor.js';

/** Memory that a result may be written to; undefined: new memory. */
export type Out = Float32Array | Tensor | undefined;

/** Where the result of a call goes. */
export interface OutOption<O extends Out = undefined> {
  /**
   * Memory for the result: a Float32Array of exactly its length, or a tensor of its shape. A tensor then is the result, without
   * a copy or new memory. A tensor that the call reads is refused, unless the call may write over it. Default: new memory,
   * of x's kind.
   */
  out?: O;
}

/** The result of a call: of the kind of `out`, O, if given; otherwise a tensor for a tensor X, else a plain array. */
export type ResultOf<X extends TensorInput, O extends Out = undefined> = O extends Tensor
  ? Tensor
  : O extends Float32Array
    ? NdArray<NoInfer<O>>
    : X extends Tensor
      ? Tensor
      : NdArray;

/** Something for `out`, of type R, and for each further result that a call was asked for. @internal */
export type Named<N extends string, T, R = T> = { readonly out: R } & { readonly [name in N]?: T };

function checkOut(
  heap: Heap,
  where: string,
  out: unknown,
  shape: readonly number[],
): Tensor | Float32Array | undefined {
  if (out === undefined) return undefined;
  if (out instanceof Tensor) {
    out.usableIn(heap, where, 'out');
    if (out.shape.length === shape.length && out.shape.every((size, axis) => size === shape[axis])) return out;
    const problem = `has shape [${out.shape.join(', ')}]; the result has [${shape.join(', ')}]`;
    throw new ArgumentRangeError(where, 'out', out, problem);
  }
  if (!check.isTypedArray(out, 'Float32Array')) {
    throw new ArgumentTypeError(where, 'out', out, 'a Float32Array or a tensor');
  }
  checkPlainOut(heap, where, 'out', out, check.sizeOf(shape));
  return out;
}

/**
 * Checks an array for a result of so many numbers: the heap, where it grows, would take its own views away.
 * @internal
 */
export function checkPlainOut(heap: Heap, where: string, name: string, out: Float32Array, size: number): void {
  check.float32(where, name, out, size);
  if (!heap.owns(out)) return;
  throw new ArgumentRangeError(where, name, out, 'is a view of the WebAssembly heap; give the tensor itself');
}

// Memory of one result, and the result once it is written there.
interface Destination {
  readonly at: number;
  finish(): Tensor | NdArray<Float32Array>;
}

function destinationOf(
  heap: Heap,
  where: string,
  shape: readonly number[],
  out: Tensor | Float32Array | undefined,
  made: Tensor[] | undefined,
  scratch: Scratch,
): Destination {
  if (out instanceof Tensor) return { at: out.pointer, finish: () => out };
  if (made !== undefined && out === undefined) {
    const tensor = new Tensor(heap, shape, where);
    made.push(tensor);
    return { at: tensor.pointer, finish: () => tensor };
  }
  const size = check.sizeOf(shape);
  const at = scratch(size * 4);
  return { at, finish: () => ({ data: heap.readFloats(at, size, out), shape: [...shape] }) };
}

// The same memory, for operands to know which tensor the call writes.
function writing(scratch: Scratch, writes: Tensor): Scratch {
  return Object.assign((bytes: number) => scratch(bytes), { writes });
}

// Runs work with a way to make destinations of results; nothing that it made is left behind if it throws.
function withDestinations<R>(
  heap: Heap,
  where: string,
  asTensors: boolean,
  out: Tensor | Float32Array | undefined,
  work: (destination: (shape: readonly number[], isOut: boolean) => Destination, scratch: Scratch) => R,
): R {
  const made: Tensor[] = [];
  return orDisposed(made, () =>
    heap.scope(where, (scratch) =>
      work(
        (shape, isOut) =>
          destinationOf(heap, where, shape, isOut ? out : undefined, asTensors ? made : undefined, scratch),
        out instanceof Tensor ? writing(scratch, out) : scratch,
      ),
    ),
  );
}

/**
 * Runs work that writes a result of the given shape, to `out` where the caller gave one. Nothing is left behind if it
 * throws, and an array of the caller's is then as it was.
 * @internal
 */
export function output<X extends TensorInput, O extends Out>(
  heap: Heap,
  where: string,
  asTensor: boolean,
  shape: readonly number[],
  out: O | undefined,
  run: (at: number, scratch: Scratch) => void,
): ResultOf<X, O> {
  return withDestinations(heap, where, asTensor, checkOut(heap, where, out, shape), (destination, scratch) => {
    const result = destination(shape, true);
    run(result.at, scratch);
    return result.finish() as ResultOf<X, O>;
  });
}

/**
 * The same for several results by name; `out` is where the first goes.
 * @internal
 */
export function outputs<N extends string>(
  heap: Heap,
  where: string,
  asTensors: boolean,
  shapes: Named<N, readonly number[]>,
  out: unknown,
  run: (at: Named<N, number>, scratch: Scratch) => void,
): Named<N, Tensor | NdArray, Tensor | NdArray<Float32Array>> {
  const byName = <F, T>(from: Named<N, F>, value: (each: F, name: string) => T) =>
    Object.fromEntries(Object.entries(from).map(([name, each]) => [name, value(each as F, name)])) as Named<N, T>;
  return withDestinations(heap, where, asTensors, checkOut(heap, where, out, shapes.out), (destination, scratch) => {
    const results = byName(shapes, (shape, name) => destination(shape, name === 'out'));
    run(
      byName(results, ({ at }) => at),
      scratch,
    );
    // All but `out` are in memory of their own.
    return byName(results, (result) => result.finish()) as Named<N, Tensor | NdArray, Tensor | NdArray<Float32Array>>;
  });
}
