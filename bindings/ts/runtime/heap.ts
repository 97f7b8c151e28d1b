// The WebAssembly heap of one instance: allocation, copies in and out, and the watch over traps. No view of the
// heap leaves this file except where a caller asked for one, because growth detaches every view without a word.
import type { CallFields, ResultFields } from '../calls.js';
import type { MainModule } from '../core.mjs';
import { checkStatus, InstanceLostError, OutOfMemoryError, StateError } from './errors.js';
import { createFinalizer } from './finalizer.js';
import {
  bufferOf,
  byteLengthOf,
  bytesOf,
  fill,
  kindOf,
  type OwnDoubles,
  type OwnFloats,
  offsetOf,
} from './typed-arrays.js';

// More than any object of the core takes.
const roomOfAnObject = 4096;

// Kept for the pieces of small calls, so that they need not be allocated and freed: two heads of a decoding step fit.
const stagingBytes = 65536;
const alignment = 64;

/**
 * Gives memory of so many bytes for the time of a call, and tells which of the caller's tensors the call writes.
 * @internal
 */
export interface Scratch {
  (bytes: number): number;
  readonly writes?: object;
}

/** Makes every later call of an instance, and of all that was made by it, throw StateError. @internal */
export function closeHeap(heap: Heap): void {
  heap.call = () => {
    throw new StateError('this instance was disposed of; load() gives a new one');
  };
}

// What bindings/embind/library.js keeps of the calls into a core.
interface CallState {
  /** Whether a call runs, or one was left other than by its own return. */
  lost: boolean;
  /** Makes the error of later calls. */
  error?: () => Error;
}

const lost = 'this instance trapped or ran out of stack; load() gives a new one';

// Told by the words of V8 and WebKit, and of Firefox: the class is another in each engine. No regular expression: V8 ends
// the whole process where its compiler has no stack.
function isEndOfStack(error: unknown): boolean {
  const isOfEngine = error instanceof Error && !Object.hasOwn(error, 'name');
  return isOfEngine && (error.message.includes('call stack') || error.message === 'too much recursion');
}

// Words on the stack that the makers of objects ask for.
const stackWords = 2048;
const nothing = () => {};

/** @internal */
export class Heap {
  readonly core: MainModule;
  readonly #memory: WebAssembly.Memory;
  readonly #state: CallState;
  readonly #words: 0[] = new Array(stackWords).fill(0);
  /** All of the memory. Empty where this and other views have to be made anew. */
  protected allBytes: Uint8Array<ArrayBuffer> = new Uint8Array();
  #floats!: Float32Array; // made with it, as doubles are
  #doubles!: Float64Array;
  #cause: unknown; // of the loss
  readonly #staging: number;
  #staged = 0; // bytes of it that scopes have taken
  #scopes = 0; // that are open
  /** Objects that JavaScript holds in this heap: tensors, plans, layers, models, caches, states. */
  liveObjects = 0;
  /**
   * Frees what the objects that are gone had. It runs only when the event loop turns, and not at any promised time:
   * dispose() is the way to free memory. It is the heap's own, so that it holds none that nobody else does.
   */
  readonly finalizer = createFinalizer();
  /** How often caches and states were changed. */
  changes = 0;

  constructor(core: MainModule, memory: WebAssembly.Memory) {
    this.core = core;
    this.#memory = memory;
    this.#state = (core as unknown as { readonly state: CallState }).state;
    this.#state.error = () => new InstanceLostError(lost, { cause: this.#cause });
    this.#staging = this.allocate(stagingBytes, 'load');
  }

  /**
   * Runs a call into the core. After a trap, or where JavaScript's stack ended within, the state of the heap is unknown, so
   * every later call is refused.
   */
  call<T>(run: (core: MainModule) => T): T {
    const state = this.#state;
    if (state.lost) throw state.error?.();
    try {
      return run(this.core);
    } catch (error) {
      if (!state.lost) throw error;
      this.#cause = error;
      throw state.error?.();
    }
  }

  /**
   * Runs steps that belong together and nothing of the caller's. Where JavaScript's stack ends between two of them, the
   * instance is lost.
   */
  whole<T>(steps: () => T): T {
    const state = this.#state;
    try {
      return steps();
    } catch (error) {
      const before = state.lost;
      state.lost = true; // and stays so if the stack ends here, too
      state.lost = before || isEndOfStack(error);
      if (state.lost) this.#cause ??= error;
      throw error;
    }
  }

  /** Refuses a call whose arguments changed a cache or a state while they were read; there were `before` changes then. */
  unchanged(where: string, what: string, before: number): void {
    if (this.changes === before) return;
    throw new StateError(`${where}: a ${what} was changed while the arguments of the call were read`);
  }

  /** The same of a call that answers a Status: throws the error that it stands for. */
  run(where: string, call: (core: MainModule) => number, invalid?: () => Error): void {
    checkStatus(this.call(call), where, invalid);
  }

  /** Reserves bytes, 64-byte aligned, or throws OutOfMemoryError. */
  allocate(bytes: number, where: string): number {
    // Beyond 2^32 the number would wrap on its way to a 32-bit core.
    const pointer = bytes < 2 ** 32 ? this.call((core) => core.allocate(bytes)) : 0;
    if (pointer === 0) throw new OutOfMemoryError(`${where}: no room for ${bytes} bytes in the WebAssembly heap`);
    return pointer;
  }

  /** Frees what allocate gave. Never throws: it runs in finally blocks and finalizers. */
  release(pointer: number): void {
    if (!this.#state.lost) this.core.release(pointer);
  }

  /**
   * Asks for room on the stack, without which the maker of an object might not come to keep or to free it: throws the
   * engine's error where there is none.
   */
  needStack(): void {
    nothing.apply(undefined, this.#words as []);
  }

  /** Makes an object of the core. Its own `new` would abort where memory is short, so room for it is asked for first. */
  construct<T>(where: string, make: (core: MainModule) => T): T {
    this.needStack();
    this.release(this.allocate(roomOfAnObject, where));
    return this.call(make);
  }

  /** Makes an object of the core and gives what work makes of it; the object is deleted where work throws. */
  made<T extends { delete(): void }, R>(where: string, make: (core: MainModule) => T, work: (object: T) => R): R {
    const object = this.construct(where, make);
    try {
      return work(object);
    } catch (error) {
      this.destroy(object);
      throw error;
    }
  }

  /** Deletes an object of the core. Never throws either. */
  destroy(object: { delete(): void }): void {
    if (!this.#state.lost) object.delete();
  }

  /**
   * Runs work that needs memory for its own time: every pointer that `scratch` gives is freed when it ends.
   */
  scope<T>(where: string, work: (scratch: Scratch) => T): T {
    return this.whole(() => {
      let allocated: number[] | undefined;
      this.#scopes += 1;
      try {
        return work((bytes) => {
          const start = this.#staged;
          if (bytes <= stagingBytes - start) {
            this.#staged = start + Math.ceil(bytes / alignment) * alignment;
            return this.#staging + start;
          }
          const pointer = this.allocate(bytes, where);
          allocated ??= [];
          allocated.push(pointer);
          return pointer;
        });
      } finally {
        this.#scopes -= 1;
        // Not before the outermost ends: an outer one may have taken more within an inner one.
        if (this.#scopes === 0) this.#staged = 0;
        if (allocated !== undefined) for (const pointer of allocated) this.release(pointer);
      }
    });
  }

  /** Runs a call that writes so many float32 numbers from `out` on, and gives a copy of them. */
  floatsOf(where: string, count: number, run: (out: number, scratch: Scratch) => void): OwnFloats {
    return this.scope(where, (scratch) => {
      const out = scratch(count * 4);
      run(out, scratch);
      return this.readFloats(out, count);
    });
  }

  /** The same for doubles. */
  doublesOf(where: string, count: number, run: (out: number, scratch: Scratch) => void): OwnDoubles {
    return this.scope(where, (scratch) => {
      const out = scratch(count * 8);
      run(out, scratch);
      return this.readDoubles(out, count);
    });
  }

  /** Copies a typed array into the heap. */
  write(pointer: number, data: Float32Array | Float64Array | Uint8Array): void {
    const view = this.#view(); // makes both anew
    // By its own kind, not by class: an array of another realm is of another class.
    if (kindOf(data) === 'Float32Array') this.#floats.set(data, pointer / 4);
    else view.set(bytesOf(data), pointer);
  }

  /** The address of a copy of data, in memory that `scratch` gives. */
  put(scratch: Scratch, data: Float32Array | Float64Array | Uint8Array): number {
    const pointer = scratch(byteLengthOf(data));
    this.write(pointer, data);
    return pointer;
  }

  /** The address of a call's fields. Objects would cost a call into the core for each field. */
  putCall<C>(scratch: Scratch, fields: CallFields<C>, call: NoInfer<C>): number {
    const pointer = scratch(fields.doubles * 8);
    this.#view(); // makes it anew
    fields.write(this.#doubles, pointer / 8, call);
    return pointer;
  }

  /** The same for several, one after the other. */
  putCalls<C>(scratch: Scratch, fields: CallFields<C>, list: readonly NoInfer<C>[]): number {
    const pointer = scratch(list.length * fields.doubles * 8);
    this.#view();
    for (const [i, call] of list.entries()) fields.write(this.#doubles, pointer / 8 + i * fields.doubles, call);
    return pointer;
  }

  /** What the core wrote at an address. */
  readResult<R>(fields: ResultFields<R>, pointer: number): R {
    this.#view(); // makes it anew
    return fields.read(this.#doubles, pointer / 8);
  }

  /** Whether the data is a view of something in this heap, where nothing lies at 0. */
  owns(data: ArrayBufferView): boolean {
    return offsetOf(data) !== 0 && bufferOf(data) === this.#view().buffer;
  }

  /** Copies bytes within the heap. */
  move(from: number, to: number, bytes: number): void {
    this.#view().copyWithin(to, from, from + bytes);
  }

  /** A live view: dead after the next call that may grow the heap. */
  floats(pointer: number, length: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#view().buffer, pointer, length);
  }

  /** The same for bytes. */
  bytes(pointer: number, length: number): Uint8Array<ArrayBuffer> {
    return this.#view().subarray(pointer, pointer + length);
  }

  /** A copy of n floats, or the caller's array filled with them. */
  readFloats(pointer: number, length: number): OwnFloats;
  readFloats(pointer: number, length: number, out: Float32Array | undefined): Float32Array;
  readFloats(pointer: number, length: number, out?: Float32Array): Float32Array {
    const view = this.floats(pointer, length);
    if (out === undefined) return new Float32Array(view); // sooner than slice(), which clears what it fills
    fill(out, view);
    return out;
  }

  readDoubles(pointer: number, length: number): OwnDoubles {
    return new Float64Array(new Float64Array(this.#view().buffer, pointer, length));
  }

  get byteLength(): number {
    return this.#memory.buffer.byteLength;
  }

  // Growth takes the memory from its views, which tells sooner than asking for the buffer, a call out of JavaScript.
  #view(): Uint8Array<ArrayBuffer> {
    if (this.allBytes.length === 0) {
      const { buffer } = this.#memory;
      this.allBytes = new Uint8Array(buffer);
      this.#floats = new Float32Array(buffer);
      this.#doubles = new Float64Array(buffer);
    }
    return this.allBytes;
  }
}
