// The numbers of tensors in files: the typed array of each dtype, and the conversion to float32.
import { WeightType } from '../enums.js';
import type { Heap } from '../runtime/heap.js';
import type { Own, OwnBytes, OwnDoubles, OwnFloats, OwnIntegers } from '../runtime/typed-arrays.js';

/**
 * The numbers of a tensor as they are stored. F16 and BF16 are bits in a Uint16Array, BOOL is one byte each, and blocks of a
 * GGUF file are bytes.
 */
export type StoredArray =
  | OwnDoubles
  | OwnFloats
  | Own<Int8ArrayConstructor>
  | OwnBytes
  | Own<Int16ArrayConstructor>
  | Own<Uint16ArrayConstructor>
  | OwnIntegers
  | Own<Uint32ArrayConstructor>
  | Own<BigInt64ArrayConstructor>
  | Own<BigUint64ArrayConstructor>;

/** How a dtype stores numbers. @internal */
export interface NumberForm {
  /** Of a number, or of a block of several. */
  readonly bytes: number;
  readonly count: number;
  readonly array?: { new (buffer: ArrayBuffer): StoredArray };
  /** Of what becomes float32. */
  readonly weightType?: number;
}

/** The dtypes that all formats of files have. @internal */
export const plainForms = {
  F32: { bytes: 4, count: 1, array: Float32Array, weightType: WeightType.float32 },
  F16: { bytes: 2, count: 1, array: Uint16Array, weightType: WeightType.float16 },
  BF16: { bytes: 2, count: 1, array: Uint16Array, weightType: WeightType.bfloat16 },
  F64: { bytes: 8, count: 1, array: Float64Array },
  I8: { bytes: 1, count: 1, array: Int8Array },
  I16: { bytes: 2, count: 1, array: Int16Array },
  I32: { bytes: 4, count: 1, array: Int32Array },
  I64: { bytes: 8, count: 1, array: BigInt64Array },
} satisfies Record<string, NumberForm>;

const atOnce = 2 ** 16;

/**
 * Converts numbers to float32 in the core, from pieces that may end within a number or a block. Holds memory of the heap
 * until release().
 * @internal
 */
export class Widener {
  readonly #heap: Heap;
  readonly #form: NumberForm;
  readonly #pointer: number; // of the bytes of a part
  #left = 0; // bytes of a number or block within which the last piece ended
  /** Address of the floats if `out` is an array. */
  readonly #floats: number;
  #written = 0;

  constructor(heap: Heap, where: string, form: NumberForm) {
    this.#heap = heap;
    this.#form = form;
    const { bytes, count } = form;
    // One allocation: the floats, then the bytes, of which less than one number or block is left over.
    const floatBytes = 4 * count * Math.ceil((atOnce + bytes) / bytes);
    this.#floats = heap.allocate(floatBytes + atOnce + bytes, where);
    this.#pointer = this.#floats + floatBytes;
  }

  /** `out` is the heap address of the first of all numbers, or the caller's array. */
  widen(bytes: Uint8Array, out: number | Float32Array): void {
    for (let at = 0; at < bytes.length; at += atOnce) this.#widenPart(bytes.subarray(at, at + atOnce), out);
  }

  #widenPart(part: Uint8Array, out: number | Float32Array): void {
    const { bytes, count, weightType = WeightType.float32 } = this.#form;
    this.#heap.write(this.#pointer + this.#left, part);
    const all = this.#left + part.length;
    this.#left = all % bytes;
    const numbers = ((all - this.#left) / bytes) * count;
    const to = typeof out === 'number' ? out + 4 * this.#written : this.#floats;
    this.#heap.call((core) => core.widen(weightType, this.#pointer, numbers, to));
    if (typeof out !== 'number') out.set(this.#heap.floats(to, numbers), this.#written);
    // The floats do not overlap the bytes, so those that are left over are still there.
    this.#heap.move(this.#pointer + all - this.#left, this.#pointer, this.#left);
    this.#written += numbers;
  }

  release(): void {
    this.#heap.release(this.#floats);
  }
}
