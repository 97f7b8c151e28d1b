// The typed array of each dtype, and the widening of float16 and bfloat16 to float32, which is exact.
import { WeightType } from '../enums.js';
import type { Heap } from '../runtime/heap.js';
import type { SafetensorsDtype } from './header.js';

/** The numbers of a tensor. F16 and BF16 are their bits in a Uint16Array, BOOL is a byte each. */
export type SafetensorsArray =
  | Float64Array
  | Float32Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** The kind of array of each dtype; the others have none. */
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
 * Takes 2-byte numbers in pieces that may end within one, and has the core widen them, a part at a time. Holds memory
 * of the heap until it is released.
 * @internal
 */
export class Widener {
  readonly #heap: Heap;
  readonly #type: number;
  readonly #pointer: number; // of a part, after what the last one left
  #left = 0; // 1 where a number's first byte has come and its second has not
  /** Where the numbers go that have no address of their own. */
  readonly #floats: number;
  #written = 0;

  constructor(heap: Heap, where: string, dtype: 'F16' | 'BF16') {
    this.#heap = heap;
    this.#type = weightTypes[dtype];
    // One allocation: the floats, and behind them the bytes.
    this.#floats = heap.allocate(2 * atOnce + 4 + atOnce + 1, where);
    this.#pointer = this.#floats + 2 * atOnce + 4;
  }

  /** `out` is the address of the first number of all, in the heap, or an array of the caller's. */
  widen(bytes: Uint8Array, out: number | Float32Array): void {
    for (let at = 0; at < bytes.length; at += atOnce) this.#widenPart(bytes.subarray(at, at + atOnce), out);
  }

  #widenPart(part: Uint8Array, out: number | Float32Array): void {
    this.#heap.write(this.#pointer + this.#left, part);
    const bytes = this.#left + part.length;
    const count = bytes >> 1;
    const to = typeof out === 'number' ? out + 4 * this.#written : this.#floats;
    this.#heap.call((core) => core.widen(this.#type, this.#pointer, count, to));
    // The floats lie before the bytes, so what is left of these is still there.
    if (typeof out !== 'number') out.set(this.#heap.floats(to, count), this.#written);
    this.#left = bytes & 1;
    if (this.#left === 1) this.#heap.move(this.#pointer + bytes - 1, this.#pointer, 1);
    this.#written += count;
  }

  release(): void {
    this.#heap.release(this.#floats);
  }
}
