// What a typed array is by its own making: kind, length, buffer and offset, read by the getters that all typed arrays of
// all realms share. A subclass, an own property or another toStringTag can tell the caller otherwise, not these.

/**
 * A typed array in memory of its own, as Blob and WebSocket take it: `Float32Array<ArrayBuffer>` for
 * Float32ArrayConstructor, and before TypeScript 5.7, where it has no type parameter, Float32Array.
 */
export type Own<
  Kind extends {
    /** Gives the array; its type is the result. */
    of(...numbers: never[]): unknown;
  },
> = ReturnType<Kind['of']>;

/** Numbers in memory of their own. */
export type OwnFloats = Own<Float32ArrayConstructor>;

/** The same in double precision. */
export type OwnDoubles = Own<Float64ArrayConstructor>;

/** Integers in memory of their own. */
export type OwnIntegers = Own<Int32ArrayConstructor>;

/** Bytes in memory of their own. */
export type OwnBytes = Own<Uint8ArrayConstructor>;

type TypedArrayPrototype = Record<PropertyKey, unknown>;
const prototype = /* @__PURE__ */ Object.getPrototypeOf(Uint8Array.prototype) as TypedArrayPrototype;

function getter<T>(name: string | symbol): (this: unknown) => T {
  return Object.getOwnPropertyDescriptor(prototype, name)?.get as (this: unknown) => T;
}

const tag = /* @__PURE__ */ getter<string | undefined>(Symbol.toStringTag);
const length = /* @__PURE__ */ getter<number>('length');
const byteLength = /* @__PURE__ */ getter<number>('byteLength');
const byteOffset = /* @__PURE__ */ getter<number>('byteOffset');
const buffer = /* @__PURE__ */ getter<ArrayBufferLike>('buffer');
const { set } = Float32Array.prototype;
const slice = prototype.slice as <T>(this: T) => T;
const keys = prototype.keys as (this: unknown) => unknown; // of no array without memory
const bufferLength = /* @__PURE__ */ Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get as (
  this: unknown,
) => number;

/** The name of a typed array's own kind, `Float32Array`; undefined for any other value. */
export function kindOf(value: unknown): string | undefined {
  return tag.call(value);
}

/** How many numbers it has now: 0 where its memory was taken from it. */
export function lengthOf(array: ArrayBufferView): number {
  return length.call(array);
}

/** The same in bytes. */
export function byteLengthOf(array: ArrayBufferView): number {
  return byteLength.call(array);
}

/** The buffer that it is a view of. */
export function bufferOf(array: ArrayBufferView): ArrayBufferLike {
  return buffer.call(array);
}

/** Where in its buffer it begins, in bytes. */
export function offsetOf(array: ArrayBufferView): number {
  return byteOffset.call(array);
}

/** Whether two arrays have a byte in common. */
export function overlap(a: ArrayBufferView, b: ArrayBufferView): boolean {
  const [aStart, bStart] = [offsetOf(a), offsetOf(b)];
  const apart = aStart >= bStart + byteLengthOf(b) || bStart >= aStart + byteLengthOf(a);
  return !apart && bufferOf(a) === bufferOf(b);
}

/** Its bytes from `start` on, as a view of this realm's own class. */
export function bytesOf(array: ArrayBufferView, start = 0, count = byteLengthOf(array) - start): Uint8Array {
  return new Uint8Array(bufferOf(array), byteOffset.call(array) + start, count);
}

// Whether the engine refuses the work with a TypeError. Any other error, such as that of the end of the stack, is thrown on.
function isRefused(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch (error) {
    if (error instanceof TypeError) return true;
    throw error;
  }
}

/** Whether the value is a proxy that was revoked, of which nothing can be asked. */
export function isRevoked(value: unknown): boolean {
  return isRefused(() => Array.isArray(value));
}

/** Whether the value is an array, and no proxy that was revoked. */
export function isArray(value: unknown): value is unknown[] {
  return !isRevoked(value) && Array.isArray(value);
}

/** Whether the value is an ArrayBuffer, of any realm and whatever its toStringTag says; detached ones are, too. */
export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  return !isRefused(() => bufferLength.call(value));
}

/**
 * Whether the memory of a typed array or a buffer was taken from it (transferred, or its buffer resized to less than it
 * needs), which leaves it with no numbers.
 */
export function isDetached(data: ArrayBufferView | ArrayBufferLike): boolean {
  return isRefused(() => {
    if (kindOf(data) === undefined) new Uint8Array(data as ArrayBufferLike);
    else if (byteLengthOf(data as ArrayBufferView) === 0) keys.call(data);
  });
}

/** The bytes of an ArrayBuffer or a Uint8Array that has its memory, as a view of this realm's own class. */
export function bytesGiven(value: unknown): Uint8Array | undefined {
  const isBuffer = isArrayBuffer(value);
  if (!(isBuffer || kindOf(value) === 'Uint8Array') || isDetached(value as Uint8Array)) return undefined;
  return isBuffer ? new Uint8Array(value) : bytesOf(value as Uint8Array);
}

/** A copy with memory of its own, of the same kind: slice() of Node's Buffer is a view. */
export function copyOf<T extends ArrayBufferView>(array: T): T {
  return slice.call(array) as T;
}

/** Copies numbers to the beginning of an array that has room for them. */
export function fill(array: Float32Array, from: Float32Array): void {
  set.call(array, from);
}
