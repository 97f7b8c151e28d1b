// What the numbers of a file are in JavaScript, and float16 and bfloat16 widened: every one of their values is a float32.
import type { SafetensorsDtype } from './safetensors-header.js';

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

/** float16 bits -> float32 bits; the payload of a NaN is kept. */
export function widenF16(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >> 10) & 31;
  const mantissa = half & 0x3ff;
  if (exponent === 31) return sign | 0x7f800000 | (mantissa << 13);
  if (exponent > 0) return sign | ((exponent + 112) << 23) | (mantissa << 13);
  if (mantissa === 0) return sign;
  // Subnormal there, normal here: the leading bit goes to where it is not written.
  const shift = Math.clz32(mantissa) - 8;
  return sign | ((126 - shift) << 23) | ((mantissa << shift) & 0x7fffff);
}

/** bfloat16 bits -> float32 bits. */
export function widenBf16(half: number): number {
  return half << 16;
}

/** Takes 2-byte numbers in pieces that may end within one, and writes their float32 bits. */
export class Widener {
  readonly #widen: (half: number) => number;
  #low: number | undefined; // the first byte of a number whose second has not come
  /** Numbers that were written. */
  written = 0;

  constructor(dtype: 'F16' | 'BF16') {
    this.#widen = dtype === 'F16' ? widenF16 : widenBf16;
  }

  /** `out` gives a place for this many numbers from the number `at` on. */
  take(bytes: Uint8Array, out: (at: number, count: number) => Uint32Array): void {
    const carried = this.#low === undefined ? 0 : 1;
    const count = (bytes.length + carried) >> 1;
    const bits = out(this.written, count);
    const widen = this.#widen;
    let at = 0;
    let i = 0;
    if (count > 0 && this.#low !== undefined) {
      bits[at++] = widen(this.#low | ((bytes[i++] ?? 0) << 8));
      this.#low = undefined;
    }
    for (; at < count; i += 2) bits[at++] = widen((bytes[i] ?? 0) | ((bytes[i + 1] ?? 0) << 8));
    if (i < bytes.length) this.#low = bytes[i];
    this.written += count;
  }
}
