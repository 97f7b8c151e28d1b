/// <reference lib="esnext.disposable" preserve="true" />
// Base of all objects with memory in the heap. dispose() or `using` frees it, the garbage collector only as a safety net;
// a freed object is refused.

import { StateError } from './errors.js';
import type { Heap } from './heap.js';

// What a finalizer holds must not hold the object itself. A closure made in a constructor shares its scope with every
// other closure there, and so may hold `this`: these functions make theirs outside.
function counted(heap: Heap, count: { readonly value: number }, free: () => void): () => void {
  return () => {
    heap.liveObjects -= count.value;
    free();
  };
}

/** @internal */
export function destroyer(heap: Heap, object: { delete(): void }, ...parts: (Handle | undefined)[]): () => void {
  return () => {
    heap.destroy(object);
    for (const part of parts) part?.dispose();
  };
}

/** @internal */
export function releaser(heap: Heap, pointer: number): () => void {
  return () => heap.release(pointer);
}

/** Gives what work gives; the handles, which work may add to, are disposed of where it throws. @internal */
export function orDisposed<T>(handles: readonly Handle[], work: () => T): T {
  try {
    return work();
  } catch (error) {
    for (const handle of handles) handle.dispose();
    throw error;
  }
}

/** An object with memory in the WebAssembly heap. */
export abstract class Handle implements Disposable {
  // Private, so that whoever prints an object, or an error that holds one, is not shown all of the memory.
  readonly #heap: Heap;
  #free: (() => void) | undefined;
  readonly #count: { value: number };

  /**
   * Whether the value was made by this class, not only given its prototype; and no trap of a proxy is called.
   * @internal
   */
  static [Symbol.hasInstance](value: unknown): boolean {
    return (
      typeof value === 'object' &&
      value !== null &&
      #heap in value &&
      // biome-ignore lint/complexity/noThisInStatic: a class derived from this asks for its own prototype
      Object.prototype.isPrototypeOf.call(this.prototype, value)
    );
  }

  /** @internal */
  protected constructor(heap: Heap, free: () => void) {
    this.#heap = heap;
    this.#count = { value: 1 };
    this.#free = counted(heap, this.#count, free);
    heap.liveObjects += 1;
    heap.finalizer?.register(this, this.#free, this);
  }

  /** @internal */
  get heap(): Heap {
    return this.#heap;
  }

  /**
   * Makes this a part of another handle, which frees it: not counted, and not the garbage collector's business.
   * @internal
   */
  adopted(): this {
    this.#heap.finalizer?.unregister(this);
    this.#heap.liveObjects -= this.#count.value;
    this.#count.value = 0;
    return this;
  }

  /** True once dispose() ran. */
  get disposed(): boolean {
    return this.#free === undefined;
  }

  /** Frees the memory at once. A second call does nothing; any other use afterwards throws StateError. */
  dispose(): void {
    if (this.#free === undefined) return;
    const free = this.#free;
    this.#heap.whole(() => {
      this.#heap.finalizer?.unregister(this);
      free();
    });
    this.#free = undefined;
  }

  /** The same for `using`, on engines that have Symbol.dispose. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @internal */
  protected alive(where: string): void {
    if (this.disposed) throw new StateError(`${where}: this object was disposed`);
  }

  /**
   * Refuses an argument that was disposed or that lives in another instance's heap.
   * @internal
   */
  usableIn(heap: Heap, where: string, name: string): void {
    if (this.disposed) throw new StateError(`${where}: ${name} was disposed`);
    if (this.heap !== heap) throw new StateError(`${where}: ${name} belongs to another instance of ropewalk`);
  }
}
