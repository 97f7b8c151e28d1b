// The instance that load() gives, as an argument of functions beside it: openSafetensors(rw, ..), loadModel(rw, ..).
import { ArgumentTypeError } from './errors.js';
import type { Heap } from './heap.js';

/** The build in use, as `rw.info()` tells it. */
export interface Info {
  /** Version of the package. */
  readonly version: string;
  /** `relaxed` builds may differ in the last bit between machines; `simd128` gives the same bits everywhere. */
  readonly simd: 'relaxed' | 'simd128';
}

/** The build in use and its threads, as `rw.info()` tells them. */
export interface ThreadsInfo extends Info {
  /** How many threads take part in long calls, the calling one among them. */
  readonly threads: number;
  /** Where that is one: why it is not more. */
  readonly why: string | undefined;
}

/** Memory of the instance, as `rw.memory()` tells it. */
export interface Memory {
  /** Size of the WebAssembly heap. It grows on demand and never shrinks. */
  readonly heapBytes: number;
  /** Bytes of it that are in use now. */
  readonly usedBytes: number;
  /** The most bytes that were in use at once since `load()` or the last `resetPeak()`. */
  readonly peak: number;
  /** Tensors, plans, layers, models, caches and states that were made and not yet freed; open files are not counted. */
  readonly liveObjects: number;
}

/** An instance, as load() gives it. */
export interface Instance {
  /** Which build runs. */
  info(): Info;
  /** How much memory is in use. */
  memory(): Memory;
}

/** @internal */
export function memoryOf(heap: Heap): Memory {
  return {
    heapBytes: heap.byteLength,
    usedBytes: heap.call((core) => core.bytesInUse()),
    peak: heap.call((core) => core.peakBytes()),
    liveObjects: heap.liveObjects,
  };
}

const heaps = new WeakMap<object, Heap>();

/**
 * Lets `heapOf` find the heap of an instance.
 * @internal
 */
export function shareHeap(instance: object, heap: Heap): void {
  heaps.set(instance, heap);
}

/**
 * The heap of the instance that a function outside of it was given.
 * @internal
 */
export function heapOf(where: string, value: unknown): Heap {
  const heap = typeof value === 'object' && value !== null ? heaps.get(value) : undefined;
  if (heap === undefined) throw new ArgumentTypeError(where, 'rw', value, 'what await load() gives');
  return heap;
}
