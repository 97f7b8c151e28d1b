// Tensors in wasm memory, and the plain arrays that calls take in their place.
import * as check from './check.js';
import { ArgumentRangeError, ArgumentTypeError, wrongShape } from './errors.js';
import { Handle, releaser } from './handle.js';
import type { Heap, Scratch } from './heap.js';
import { isRevoked, lengthOf, type OwnFloats } from './typed-arrays.js';

/** A plain array with its shape: the result of functions for plain arrays. `Data` is the type of `out` where it is given. */
export interface NdArray<Data extends Float32Array = OwnFloats> {
  /** The numbers, row major. */
  readonly data: Data;
  /** Sizes, outermost first. */
  readonly shape: readonly number[];
}

/** An array of another library: onnxruntime and transformers.js say `dims`, others `shape`. */
export type ArrayLikeInput =
  | {
      /** The numbers, row major. */
      readonly data: Float32Array;
      /** Sizes, outermost first. */
      readonly shape: readonly number[];
    }
  | {
      /** The numbers, row major. */
      readonly data: Float32Array;
      /** Sizes, outermost first. */
      readonly dims: readonly number[];
    };

/** Numbers with a shape: a tensor (no copies), or a plain array (copied in, results copied out). */
export type TensorInput = Tensor | ArrayLikeInput;

/**
 * float32 numbers in wasm memory, row major. Calls on tensors copy nothing; calls on plain arrays copy in and out.
 *
 * @example
 * using q = rw.tensor([8, 128, 64]);   // [heads, tokens, headDim], zeros
 * q.set(values);                       // Float32Array(65536)
 * plan.rotate(q);
 * const result = q.data();             // a copy
 */
export class Tensor extends Handle {
  /** Sizes, outermost first. */
  readonly shape: readonly number[];
  /** How many numbers there are. */
  readonly size: number;
  /** @internal */
  readonly pointer: number;

  /** @internal */
  constructor(heap: Heap, shape: readonly number[], where: string) {
    const size = check.sizeOf(shape);
    heap.needStack();
    const pointer = heap.allocate(size * 4, where);
    super(heap, releaser(heap, pointer));
    this.shape = Object.freeze([...shape]);
    this.size = size;
    this.pointer = pointer;
    Object.freeze(this);
  }

  // What reads and writes the heap by itself is refused as a call into the core would be, where the instance is gone.
  /** @internal */
  protected override alive(where: string): void {
    super.alive(where);
    this.heap.call(Boolean);
  }

  /** A copy of the numbers: [size]. */
  data(): OwnFloats;
  /** The numbers copied into `out`: [size]. Without it the same as above. */
  data(out: Float32Array | undefined): Float32Array;
  data(out?: Float32Array): Float32Array {
    this.alive('tensor.data');
    if (out !== undefined) check.float32('tensor.data', 'out', out, this.size);
    return this.heap.readFloats(this.pointer, this.size, out);
  }

  /** Copies numbers in; the source must have as many as the tensor. */
  set(source: Float32Array): this {
    this.alive('tensor.set');
    this.heap.write(this.pointer, check.float32('tensor.set', 'source', source, this.size));
    return this;
  }

  /**
   * The numbers themselves, without a copy. The view is valid only until the next call of any function that may
   * allocate: its length becomes 0 when the heap grows, and until then it may show changed memory. Never keep it; `data()`
   * is the safe way.
   */
  view(): Float32Array {
    this.alive('tensor.view');
    return this.heap.floats(this.pointer, this.size);
  }
}

/**
 * A checked argument: its shape, and its address once `address` has copied it in (a tensor has its address already).
 * @internal
 */
export class Operand {
  readonly shape: readonly number[];
  readonly size: number;
  readonly tensor: Tensor | undefined;
  readonly #heap: Heap;
  readonly #where: string;
  readonly #name: string;
  readonly #from: Tensor | Float32Array;

  constructor(heap: Heap, where: string, name: string, from: Tensor | Float32Array, shape: readonly number[]) {
    this.shape = shape;
    this.size = check.sizeOf(shape);
    this.tensor = from instanceof Tensor ? from : undefined;
    this.#heap = heap;
    this.#where = where;
    this.#name = name;
    this.#from = from;
  }

  /** The address in the heap; a plain array is copied to memory that `scratch` gives. Not for what the call writes. */
  address(scratch: Scratch): number {
    if (this.tensor === undefined || scratch.writes !== this.tensor) return this.addressToOverwrite(scratch);
    const problem = `is ${this.#name}, which is read while the result is written; give another tensor`;
    throw new ArgumentRangeError(this.#where, 'out', this.tensor, problem);
  }

  /** The same for a call that may write its result over it. */
  addressToOverwrite(scratch: Scratch): number {
    return this.#from instanceof Tensor ? this.#from.pointer : this.#heap.put(scratch, this.#from);
  }

  /** The address of a copy that may be changed. */
  copy(scratch: Scratch): number {
    if (this.tensor === undefined) return this.address(scratch);
    const pointer = scratch(this.size * 4);
    this.#heap.move(this.address(scratch), pointer, this.size * 4);
    return pointer;
  }
}

/** @internal */
export function operand(heap: Heap, where: string, name: string, value: unknown, also = ''): Operand {
  if (value instanceof Tensor) {
    value.usableIn(heap, where, name);
    return new Operand(heap, where, name, value, value.shape);
  }
  const expected = `${also}a tensor, or an object with a Float32Array as data and its shape (or dims)`;
  if (typeof value !== 'object' || value === null || isRevoked(value) || !('data' in value)) {
    throw new ArgumentTypeError(where, name, value, expected);
  }
  const given = value as { data: unknown; shape?: unknown; dims?: unknown };
  const dims = given.shape === undefined ? given.dims : given.shape;
  if (dims === undefined) throw new ArgumentTypeError(where, name, value, expected);
  return plain(heap, where, name, given.data, check.shape(where, `${name}.shape`, dims));
}

/** Makes tensors without a finalizer, which `owned` gets. @internal */
export const tensorMaker =
  (heap: Heap, where: string, owned: Tensor[]) =>
  (...shape: readonly number[]): Tensor => {
    const made = new Tensor(heap, shape, where).adopted();
    owned.push(made);
    return made;
  };

/** A copy of an operand's numbers. @internal */
export function numbersOf(heap: Heap, where: string, input: Operand): OwnFloats {
  return heap.scope(where, (scratch) => heap.readFloats(input.address(scratch), input.size));
}

/** An operand of two axes, which are named for the error. @internal */
export function matrix(heap: Heap, where: string, name: string, value: unknown, axes: string) {
  const input = operand(heap, where, name, value);
  const [rows = 0, columns = 0] = input.shape;
  if (input.shape.length === 2) return { input, rows, columns };
  throw wrongShape(where, name, value, input.shape, axes);
}

/** @internal */
export function plain(heap: Heap, where: string, name: string, data: unknown, shape: readonly number[]): Operand {
  const size = check.sizeOf(shape);
  const floats = check.float32(where, `${name}.data`, data);
  if (lengthOf(floats) !== size) {
    const problem = `has ${lengthOf(floats)} numbers; its shape [${shape.join(', ')}] needs ${size}`;
    throw new ArgumentRangeError(where, name, data, problem);
  }
  // A view of this heap would die if the heap grows before it is copied.
  const own = heap.owns(floats) ? new Float32Array(floats) : floats;
  return new Operand(heap, where, name, own, shape);
}
