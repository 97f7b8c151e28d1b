// The typed array of each dtype, and the exact widening of float16 and bfloat16 to float32.
import { WeightType } from '../enums.js';
import type { Heap } from '../runtime/heap.js';
import type { Own, OwnBytes, OwnDoubles, OwnFloats, OwnIntegers } from '../runtime/typed-arrays.js';
import type { SafetensorsDtype } from './header.js';

/** The numbers of a tensor. F16 and BF16 are stored as bits in a Uint16Array, BOOL as one byte each. */
export type SafetensorsArray =
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

/** The constructor of the array for each dtype that has one. */
export const arrayOf: Partial<
  Record<SafetensorsDtype, { new (buffer: ArrayBuffer): SafetensorsArray; readonly BYTES_PER_ELEMENT: number }>
> = {
  BOOL: Uint8Array,
  U8: Uint8Array,
  I8: Int8Array,
  I16: Int16Array,
  U16: Uint16Array,
  F16: Uint16Array,
  BF16: Uint16Array,
  I32: Int32Array,
  U32: Uint32Array,
  F32: Float32Array,
  F64: Float64Array,
  I64: BigInt64Array,
  U64: BigUint64Array,
};

const weightTypes = { F16: WeightType.float16, BF16: WeightType.bfloat16 } as const;

const atOnce = 2 ** 16;

/**
 * Widens 2-byte numbers in the core, from pieces that may end within a number. Holds memory of the heap until
 * release().
 * @internal
 */
export class Widener {
  readonly #heap: Heap;
  readonly #type: number;
  readonly #pointer: number; // of the bytes of a part
  #left = 0; // 1 if a piece ended between a number's two bytes
  /** Address of the widened numbers if `out` is an array. */
  readonly #floats: number;
  #written = 0;

  constructor(heap: Heap, where: string, dtype: 'F16' | 'BF16') {
    this.#heap = heap;
    this.#type = weightTypes[dtype];
    // One allocation: the floats, then the bytes.
    this.#floats = heap.allocate(2 * atOnce + 4 + atOnce + 1, where);
    this.#pointer = this.#floats + 2 * atOnce + 4;
  }

  /** `out` is the heap address of the first of all numbers, or the caller's array. */
  widen(bytes: Uint8Array, out: number | Float32Array): void {
    for (let at = 0; at < bytes.length; at += atOnce) this.#widenPart(bytes.subarray(at, at + atOnce), out);
  }

  #widenPart(part: Uint8Array, out: number | Float32Array): void {
    this.#heap.write(this.#pointer + this.#left, part);
    const bytes = this.#left + part.length;
    const count = bytes >> 1;
    const to = typeof out === 'number' ? out + 4 * this.#written : this.#floats;
    this.#heap.call((core) => core.widen(this.#type, this.#pointer, count, to));
    // The floats do not overlap the bytes, so the leftover byte is still there.
    if (typeof out !== 'number') out.set(this.#heap.floats(to, count), this.#written);
    this.#left = bytes & 1;
    if (this.#left === 1) this.#heap.move(this.#pointer + bytes - 1, this.#pointer, 1);
    this.#written += count;
  }

  release(): void {
    this.#heap.release(this.#floats);
  }
}
