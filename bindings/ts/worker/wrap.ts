/// <reference lib="esnext.disposable" preserve="true" />
// The calling side: proxies of objects in a worker.

import { ArgumentRangeError, ArgumentTypeError, StateError } from '../runtime/errors.js';
import { createFinalizer } from '../runtime/finalizer.js';
import { isA } from '../sources/platform.js';
import { unpackError } from './errors.js';
import { checkPort } from './expose.js';
import {
  listen,
  type MessageEndpoint,
  moving,
  pack,
  post,
  type Reply,
  type Request,
  type Stand,
  unpack,
} from './messages.js';

/** What is sent as it is: copied, or moved if it is marked by transfer(). */
type Cloned =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | ArrayBufferView
  | ArrayBuffer
  | AbortSignal
  | Blob
  | URL
  | Date
  | RegExp
  | Error
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ((...args: never[]) => unknown);

/** A value that is sent to a worker or received from one: each object of the worker is replaced by its proxy. */
export type RemoteArgument<A> = A extends Cloned
  ? A
  : A extends {
        /** What it has stays in the worker. */
        dispose(): void;
      }
    ? Remote<A>
    : A extends object
      ? { [K in keyof A]: RemoteArgument<A[K]> }
      : A;

type RemoteArguments<A extends readonly unknown[]> = { [I in keyof A]: RemoteArgument<A[I]> };

/** A result as the caller gets it: a proxy of an object with a `dispose()`, a copy of everything else. */
export type RemoteResult<R> = R extends AsyncIterable<infer T> ? AsyncIterableIterator<T> : RemoteArgument<R>;

type RemoteCall<A extends readonly unknown[], R> = (
  ...args: RemoteArguments<A>
) => Promise<RemoteResult<Awaited<R>>> & (R extends AsyncIterable<infer I> ? AsyncIterable<I> : unknown);

// Each of up to three overloads. If there are fewer, TypeScript infers the first for the missing ones.
type RemoteMethod<F> = F extends {
  (...args: infer A): infer P;
  (...args: infer B): infer Q;
  (...args: infer C): infer R;
}
  ? [(...args: A) => P, (...args: C) => R] extends [(...args: C) => R, (...args: A) => P]
    ? RemoteCall<C, R>
    : RemoteCall<A, P> & RemoteCall<B, Q> & RemoteCall<C, R>
  : never;

/**
 * The proxy of an object in a worker: each of its functions gives a promise. The result of a function that gives an
 * async iterable can be iterated without awaiting it first. `dispose()` disposes of the object; on the proxy from
 * wrap(), it ends the worker. Up to three overloads are kept; type parameters are replaced by their constraints.
 */
export type Remote<T> = {
  readonly [K in Exclude<keyof T, 'dispose' | symbol> as T[K] extends (...args: never[]) => unknown
    ? K
    : never]: RemoteMethod<T[K]>;
} & {
  /** Disposes of the object; on the proxy from wrap(), ends the worker. */
  dispose(): Promise<void>;
} & AsyncDisposable;

interface Waiting {
  resolve(reply: Reply & { readonly id: number }): void;
  reject(error: unknown): void;
}

/** The state of a call until it ends. */
interface Call {
  readonly id: number;
  readonly callbacks: ((...args: unknown[]) => void)[];
  readonly signals: AbortSignal[];
  readonly abort: () => void;
  /** The error that a callback threw. */
  failure?: { readonly error: unknown };
}

const links = new WeakMap<object, readonly Link[]>(); // by port
const proxies = new WeakMap<object, { readonly link: Link; readonly target: number }>();
const forgotten = /* @__PURE__ */ createFinalizer();
let ids = 0; // of all links, since several may be on one port

function freer(link: Link, target: number): () => void {
  return () => link.free(target);
}

function leaver(link: Link, call: Call): () => void {
  return () => link.leave(call);
}

/** The connection to one worker. */
class Link {
  readonly #port: MessageEndpoint;
  #ready = false;
  #queue: (() => void)[] = [];
  #lost: StateError | undefined;
  readonly #waiting = new Map<number, Waiting>();
  readonly #calls = new Map<number, Call>();

  constructor(port: MessageEndpoint) {
    this.#port = port;
    const others = links.get(port) ?? [];
    links.set(port, [...others, this]);
    for (const other of others) this.#lost ??= other.#lost; // of an end before, the port says nothing
    const unread = () => this.#rejectAll(new StateError('remote: a message could not be read in the other thread'));
    listen(port, (reply: Reply) => (reply.ropewalk === 'unread' ? unread() : this.#hear(reply)), unread);
    this.#watch();
    post(port, { ropewalk: 'hello' });
  }

  call(target: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const call = this.#begin();
    const result = this.#start(call, target, method, args);
    // If the result is iterated without being awaited, the iterator handles the promise.
    return Object.assign(result, { [Symbol.asyncIterator]: () => iterate(result, method) });
  }

  free(target: number): void {
    if (this.#lost === undefined) post(this.#port, { ropewalk: 'free', target });
  }

  /** Ends an iteration, if it goes on. */
  leave(call: Call): void {
    if (this.#calls.has(call.id))
      this.#iterator(call)
        .return?.()
        .catch(() => {});
  }

  /** Ends the worker. A browser tells no other link to it. */
  async end(): Promise<void> {
    for (const link of links.get(this.#port) ?? []) link.#lose(new StateError('remote: the worker was disposed'));
    await (this.#port.terminate ?? this.#port.close)?.call(this.#port);
  }

  async #start(call: Call, target: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const reply = await this.#during(call, () => {
      const moved = new Set<Transferable>();
      const packed = args.map((arg) => pack(arg, (each) => this.#stand(call, each), moved, false));
      for (const signal of call.signals) {
        signal.throwIfAborted();
        signal.addEventListener('abort', call.abort);
      }
      return this.#ask(call.id, { ropewalk: 'call', id: call.id, target, method, args: packed }, [...moved]);
    });
    if (reply.ropewalk === 'iterator') return this.#iterator(call);
    const { value } = reply as Reply & { ropewalk: 'value' };
    this.#finish(call, value);
    return this.#unpack(value);
  }

  #iterator(call: Call): AsyncIterableIterator<unknown> {
    const state = { over: false };
    const step = async (kind: 'next' | 'return'): Promise<IteratorResult<unknown>> => {
      if (state.over) return { done: true, value: undefined };
      state.over = kind === 'return';
      const id = ++ids;
      const ask = () => this.#ask(id, { ropewalk: kind, id, call: call.id }, []);
      const reply = await this.#during(call, ask).catch((error) => {
        state.over = true;
        throw error;
      });
      const { value, ...item } = reply as Reply & { ropewalk: 'item' };
      const done = item.done || kind === 'return';
      if (!done && call.failure !== undefined) {
        this.#disposeOf(value);
        return step('return'); // which throws the failure
      }
      if (done) {
        state.over = true;
        this.#finish(call, value);
      }
      return { done, value: this.#unpack(value) };
    };
    forgotten?.register(state, leaver(this, call));
    return {
      next: () => step('next'),
      return: () => step('return'),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  #begin(): Call {
    const id = ++ids;
    const abort = () => {
      if (this.#lost !== undefined) return;
      if (this.#ready) post(this.#port, { ropewalk: 'abort', call: id });
      else this.#settle(id)?.reject(new Aborted(undefined));
    };
    const call: Call = { id, callbacks: [], signals: [], abort };
    this.#calls.set(id, call);
    return call;
  }

  #finish(call: Call, given?: unknown): void {
    this.#calls.delete(call.id);
    for (const signal of call.signals) signal.removeEventListener('abort', call.abort);
    if (call.failure === undefined) return;
    this.#disposeOf(given);
    throw call.failure.error;
  }

  // Disposes of the objects in a result that the caller does not get, but of none that it has already.
  #disposeOf(value: unknown): void {
    unpack(value, (stand) => {
      if (!('ropewalk:object' in stand)) return;
      const { 'ropewalk:object': target, known } = stand;
      if (known) this.free(target);
      else this.call(target, 'dispose', []).catch(() => {});
    });
  }

  // The reply to a request of a call; an error ends the call.
  async #during(call: Call, ask: () => Promise<Reply>): Promise<Reply> {
    try {
      return await ask();
    } catch (error) {
      this.#finish(call);
      if (!(error instanceof Aborted)) throw error;
      const signal = call.signals.find(({ aborted }) => aborted);
      throw signal === undefined ? error.error : signal.reason;
    }
  }

  #ask(id: number, request: Request, moved: Transferable[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) return reject(this.#lost);
      this.#waiting.set(id, { resolve, reject });
      try {
        // A call before the worker listens is queued, with its arguments as they are now.
        const sent = this.#ready ? request : moving(moved, (transfer) => structuredClone(request, { transfer }));
        const arrays = this.#ready ? moved : buffersOf(sent);
        const send = () => post(this.#port, sent, arrays);
        // Queued until the worker listens, since earlier messages may be lost; then sent unless it was aborted.
        if (this.#ready) send();
        else this.#queue.push(() => this.#waiting.has(id) && send());
      } catch (cause) {
        const { method = request.ropewalk, args = [] } = request as Partial<Request & { ropewalk: 'call' }>;
        const at = args.findIndex((arg) => !travels(arg));
        const problem = 'a value that can go to another thread';
        const error = new ArgumentTypeError(`remote.${method}`, `argument ${at + 1}`, args[at], problem);
        this.#settle(id)?.reject(Object.assign(error, { cause }));
      }
    });
  }

  #hear(reply: Exclude<Reply, { ropewalk: 'unread' }>): void {
    switch (reply.ropewalk) {
      case 'ready': {
        this.#ready = true;
        const queue = this.#queue;
        this.#queue = [];
        for (const send of queue) send();
        break;
      }
      case 'callback':
        this.#callBack(reply);
        break;
      case 'error': {
        const error = unpackError(reply.error);
        this.#settle(reply.id)?.reject(reply.aborted ? new Aborted(error) : error);
        break;
      }
      // What is none of these is a request to an object that this side exposes on the same port.
      case 'value':
      case 'iterator':
      case 'item':
        this.#settle(reply.id)?.resolve(reply);
    }
  }

  #callBack({ call: id, callback, args }: Reply & { ropewalk: 'callback' }): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    const given = this.#unpack(args) as unknown[]; // also if nobody gets them: the finalizers of proxies free them
    if (call.failure !== undefined) return;
    try {
      call.callbacks[callback]?.(...given);
    } catch (error) {
      call.failure = { error };
      call.abort();
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #stand(call: Call, value: object): Stand | undefined {
    if (typeof value === 'function') {
      const number = call.callbacks.push(value as () => void) - 1;
      return { 'ropewalk:function': number };
    }
    if (isA('AbortSignal', value, 'aborted', 'addEventListener')) {
      call.signals.push(value);
      return { 'ropewalk:signal': true };
    }
    const known = proxies.get(value);
    if (known === undefined) return undefined;
    if (known.link === this) return { 'ropewalk:object': known.target };
    throw new ArgumentRangeError('remote', 'argument', value, 'is an object of another worker');
  }

  #unpack(value: unknown): unknown {
    return unpack(value, (stand) => ('ropewalk:object' in stand ? proxyOf(this, stand['ropewalk:object']) : undefined));
  }

  // Rejects all calls if the worker could not start or has ended.
  #watch(): void {
    const port = this.#port;
    const { on, addEventListener, threadId } = port;
    const fail = (cause: unknown) => this.#lose(new StateError('remote: the worker failed', { cause }));
    if (on !== undefined) {
      on.call(port, 'error', fail);
      const ended = () => this.#lose(new StateError('remote: the worker has ended'));
      on.call(port, 'exit', ended);
      if (threadId === -1) ended(); // it tells nobody any more
      on.call(port, 'close', () => this.#lose(new StateError('remote: the port was closed')));
    } else {
      addEventListener?.call(port, 'error', (event) => {
        if (!this.#ready) fail((event as ErrorEvent).error ?? (event as ErrorEvent).message ?? event);
      });
    }
  }

  #lose(error: StateError): void {
    this.#lost ??= error;
    this.#queue = [];
    this.#rejectAll(this.#lost);
  }

  #rejectAll(error: StateError): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}

function travels(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

function buffersOf(value: unknown): Transferable[] {
  const buffers = new Set<Transferable>();
  pack(value, () => undefined, buffers, true);
  return [...buffers];
}

/** The worker's error for an aborted call. */
class Aborted {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

async function* iterate(result: Promise<unknown>, method: string): AsyncGenerator<unknown, void, undefined> {
  const iterable = (await result) as Partial<AsyncIterable<unknown>> | undefined;
  if (iterable?.[Symbol.asyncIterator] === undefined) {
    throw new ArgumentRangeError('remote', method, iterable, 'gave nothing that can be iterated');
  }
  yield* iterable as AsyncIterable<unknown>;
}

// The proxy of the object with this number in the worker; 0 is the exposed one.
function proxyOf(link: Link, target: number): object {
  const dispose = () => (target === 0 ? link.end() : link.call(target, 'dispose', []));
  const methods = new Map<PropertyKey, (...args: unknown[]) => unknown>([
    ['dispose', dispose],
    [Symbol.asyncDispose ?? 'dispose', dispose],
  ]);
  const get = (_: object, name: PropertyKey) => {
    const known = methods.get(name);
    // With a `then`, a promise of the proxy would treat it as another promise.
    if (known !== undefined || typeof name !== 'string' || name === 'then') return known;
    const method = (...args: unknown[]) => {
      const result = link.call(target, name, args);
      // JavaScript itself calls these, for a text or JSON of the proxy, and leaves their promises alone.
      if (name in Object.prototype || name === 'toJSON') result.catch(() => {});
      return result;
    };
    methods.set(name, method);
    return method;
  };
  const proxy = new Proxy(Object.freeze({}), { get });
  proxies.set(proxy, { link, target });
  if (target !== 0) forgotten?.register(proxy, freer(link, target));
  return proxy;
}

/**
 * Gives the proxy of the object that a worker exposes. Errors keep their class; an error of one call does not affect
 * the others. A signal among the arguments, alone or in an object of options, reaches the worker: a function that heeds it
 * ends the call with the signal's reason. Functions there (`onProgress`) are called in this thread, and an error that they
 * throw ends the call. Arguments are copied unless `transfer()` marks them.
 *
 * @param worker a Worker of the browser or of Node, or a MessagePort.
 * @throws ArgumentTypeError where `worker` is neither; every call throws StateError once the worker has ended.
 *
 * @example
 * import { wrap } from 'ropewalk/worker';
 * const remote = wrap<WorkerApi>(new Worker(new URL('./model-worker.js', import.meta.url), { type: 'module' }));
 * const model = await remote.open({ config, weights: url, signal, onProgress });
 * for await (const { token } of model.generate(ids, { maxTokens: 64, seed: 1, signal })) show(token);
 * await remote.dispose(); // ends the worker
 */
export function wrap<T extends object>(worker: MessageEndpoint): Remote<T> {
  return proxyOf(new Link(checkPort('wrap', 'worker', worker)), 0) as Remote<T>;
}
