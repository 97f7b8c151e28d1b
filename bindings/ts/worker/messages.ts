// The messages between the two sides of a worker, and how values are packed for sending. Plain data is cloned, arrays
// that a side gives away are moved, and objects with a dispose() are sent as a number.
import { ArgumentTypeError } from '../runtime/errors.js';
import { copyOf, isArrayBuffer, isDetached, kindOf } from '../runtime/typed-arrays.js';
import { isA } from '../sources/platform.js';
import type { SentError } from './errors.js';

/** One end of a channel: a Worker, a MessagePort, the global scope of a worker, or Node's parentPort. */
export interface MessageEndpoint {
  /** Sends a message to the other end; the objects of `transfer` are moved. */
  postMessage(message: unknown, transfer: object[]): void;
  /** Calls listener for each event of a type: `message`, `messageerror`, `error`. */
  addEventListener?(type: string, listener: (event: Event) => void): void;
  /** Node's variant of addEventListener. */
  on?(type: string, listener: (value: never) => void): unknown;
  /** Begins to deliver messages; a MessagePort needs it. */
  start?(): void;
  /** Closes a MessagePort. */
  close?(): void;
  /** Ends a Worker. */
  terminate?(): unknown;
  /** Of a Worker of Node: -1 once it has ended. */
  readonly threadId?: number;
}

/** From wrap() to expose(). `id` is repeated in the answer; `call` is the id of an earlier call. @internal */
export type Request =
  | { readonly ropewalk: 'hello' }
  | {
      readonly ropewalk: 'call';
      readonly id: number;
      readonly target: number;
      readonly method: string;
      readonly args: readonly unknown[];
    }
  | { readonly ropewalk: 'next' | 'return'; readonly id: number; readonly call: number }
  | { readonly ropewalk: 'abort'; readonly call: number }
  | { readonly ropewalk: 'free'; readonly target: number };

/** From expose() to wrap(). @internal */
export type Reply =
  | { readonly ropewalk: 'ready' }
  | { readonly ropewalk: 'unread' }
  | { readonly ropewalk: 'value'; readonly id: number; readonly value: unknown }
  | { readonly ropewalk: 'iterator'; readonly id: number }
  | { readonly ropewalk: 'item'; readonly id: number; readonly done: boolean; readonly value: unknown }
  | { readonly ropewalk: 'error'; readonly id: number; readonly aborted: boolean; readonly error: SentError }
  | { readonly ropewalk: 'callback'; readonly call: number; readonly callback: number; readonly args: unknown };

/** The placeholder for a value that cannot be cloned. @internal */
export type Stand =
  /** `known`: the other side was given this object before. */
  | { readonly 'ropewalk:object': number; readonly known?: boolean }
  | { readonly 'ropewalk:function': number }
  | { readonly 'ropewalk:signal': true };

// Data of the caller that would read as a placeholder travels within this one.
const plain = 'ropewalk:plain';
// A URL, which would be empty, or refused, travels as its text.
const url = 'ropewalk:url';

const readsAsStand = (value: object) => Object.keys(value)[0]?.startsWith('ropewalk:') ?? false;

const given = new WeakSet<object>();

/**
 * Marks an array, or its buffer, to be moved: a call with it moves it to the worker instead of copying it, and leaves it empty
 * here. For a view of part of a buffer a copy is moved. Results of a worker are always moved.
 *
 * @throws ArgumentTypeError for anything else, such as an object that holds arrays.
 *
 * @example
 * await remote.openModel(transfer(bytes)); // bytes.length is now 0
 */
export function transfer<T extends ArrayBufferView | ArrayBuffer>(array: T): T {
  if (!ArrayBuffer.isView(array) && !isArrayBuffer(array)) {
    throw new ArgumentTypeError('transfer', 'array', array, 'a typed array or an ArrayBuffer');
  }
  given.add(array);
  return array;
}

/** Listens for our messages, ignoring others; calls `unread` if one could not be deserialized. @internal */
export function listen(port: MessageEndpoint, hear: (message: never) => void, unread: () => void): void {
  const receive = (data: unknown) => {
    if (typeof data === 'object' && data !== null && 'ropewalk' in data) hear(data as never);
  };
  if (port.on !== undefined) {
    port.on('message', receive);
    port.on('messageerror', unread);
  } else {
    port.addEventListener?.('message', (event) => receive((event as MessageEvent).data));
    port.addEventListener?.('messageerror', unread);
  }
  port.start?.(); // required for a MessagePort in browsers
}

/** Sends what moves along, or copies of all if one of it cannot be moved (WebAssembly memory). @internal */
export function moving<T>(moved: Transferable[], send: (moved: Transferable[]) => T): T {
  try {
    return send(moved);
  } catch (error) {
    if (moved.length === 0) throw error;
    return send([]);
  }
}

/** Posts a message. @internal */
export function post(port: MessageEndpoint, message: Request | Reply, moved: Transferable[] = []): void {
  moving(moved, (each) => port.postMessage(message, each));
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * A value ready for sending: `stand` gives the placeholder of a value that cannot be cloned, `moved` collects what is
 * moved. With `all` every whole array is moved, otherwise those that transfer() marked. A view is sent without the rest
 * of its buffer.
 * @internal
 */
export function pack(
  value: unknown,
  stand: (value: object) => Stand | undefined,
  moved: Set<Transferable>,
  all: boolean,
): unknown {
  const seen = new Map<object, unknown>();
  const visit = (each: unknown): unknown => {
    if ((typeof each !== 'object' && typeof each !== 'function') || each === null) return each;
    const known = seen.get(each);
    if (known !== undefined) return known;
    const other = stand(each);
    if (other !== undefined) return other;
    if (ArrayBuffer.isView(each)) return packArray(each, moved, all);
    if (isArrayBuffer(each)) {
      refuseDetached(each, each);
      if (all || given.has(each)) moved.add(each);
    }
    if (each instanceof Map) {
      const map = new Map<unknown, unknown>();
      seen.set(each, map);
      for (const [key, entry] of each) map.set(visit(key), visit(entry));
      return map;
    }
    if (each instanceof Set) {
      const set = new Set<unknown>();
      seen.set(each, set);
      for (const entry of each) set.add(visit(entry));
      return set;
    }
    if (Array.isArray(each)) {
      const list: unknown[] = [];
      seen.set(each, list);
      for (const entry of each) list.push(visit(entry));
      return list;
    }
    if (isA('URL', each, 'href')) return { [url]: each.href };
    if (!isPlain(each)) return each;
    const object: Record<string, unknown> = Object.create(null); // in which __proto__ is an ordinary name
    const sent = readsAsStand(each) ? { [plain]: object } : object;
    seen.set(each, sent);
    for (const [key, entry] of Object.entries(each)) object[key] = visit(entry);
    return sent;
  };
  return visit(value);
}

// Without this check it would arrive empty.
function refuseDetached(value: object, buffer: ArrayBufferLike): void {
  if (!isDetached(buffer)) return;
  throw new ArgumentTypeError('remote', 'array', value, 'one that still has its memory: it was given away before');
}

function packArray(array: ArrayBufferView, moved: Set<Transferable>, all: boolean): ArrayBufferView {
  const { buffer } = array;
  refuseDetached(array, buffer);
  const { byteOffset, byteLength } = array;
  if (byteLength < buffer.byteLength) {
    const isDataView = kindOf(array) === undefined;
    const part = isDataView
      ? new DataView(new Uint8Array(buffer, byteOffset, byteLength).slice().buffer)
      : copyOf(array);
    moved.add(part.buffer as ArrayBuffer);
    return part;
  }
  if (isArrayBuffer(buffer) && (all || given.has(array) || given.has(buffer))) moved.add(buffer);
  return array;
}

/** The inverse of pack: replaces each placeholder by `revive` of it. @internal */
export function unpack(value: unknown, revive: (stand: Stand) => unknown): unknown {
  const seen = new Map<object, unknown>();
  const visit = (each: unknown): unknown => {
    if (typeof each !== 'object' || each === null) return each;
    if (seen.has(each)) return seen.get(each);
    const isStand = isPlain(each) && readsAsStand(each);
    if (isStand && url in each) return new URL(each[url] as string);
    if (isStand && !(plain in each)) return revive(each as Stand);
    const own = isStand ? ((each as Record<string, object>)[plain] as object) : each;
    seen.set(each, own);
    if (Array.isArray(own)) {
      for (const [i, entry] of own.entries()) own[i] = visit(entry);
    } else if (own instanceof Map) {
      const entries = [...own];
      own.clear();
      for (const [key, entry] of entries) own.set(visit(key), visit(entry));
    } else if (own instanceof Set) {
      const entries = [...own];
      own.clear();
      for (const entry of entries) own.add(visit(entry));
    } else if (isPlain(own)) {
      for (const [name, entry] of Object.entries(own)) (own as Record<string, unknown>)[name] = visit(entry);
    }
    return own;
  };
  return visit(value);
}
