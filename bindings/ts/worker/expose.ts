// The worker's side: runs the calls of the other side, and keeps the objects that cannot be cloned.
import { ArgumentRangeError, ArgumentTypeError, StateError } from '../runtime/errors.js';
import { packError } from './errors.js';
import { listen, type MessageEndpoint, pack, post, type Reply, type Request, type Stand, unpack } from './messages.js';

interface Call {
  readonly controller: AbortController;
  iterator?: AsyncIterator<unknown>;
}

type Method = (...args: unknown[]) => unknown;

function methodOf(object: object, name: string): Method {
  const method: unknown = name in Object.prototype ? undefined : (object as Record<string, unknown>)[name];
  if (typeof method === 'function') return method as Method;
  throw new ArgumentRangeError('remote', name, method, 'is not a function of what the worker exposes');
}

function hasMethod(value: unknown, name: PropertyKey): boolean {
  return (
    typeof value === 'object' && value !== null && typeof (value as Record<PropertyKey, unknown>)[name] === 'function'
  );
}

const exposing = new WeakSet<object>(); // ports

/** One exposed object on one port. */
class Exposure {
  readonly #port: MessageEndpoint;
  readonly #root: Promise<object>;
  // Objects that stay in the worker, by number; 0 is the exposed object.
  readonly #objects = new Map<number, object>();
  readonly #known = new WeakSet<object>(); // objects that the other side was given
  #made = 0;
  readonly #calls = new Map<number, Call>();

  constructor(port: MessageEndpoint, root: Promise<object>) {
    this.#port = port;
    this.#root = root;
    root.then(
      (object) => this.#objects.set(0, object),
      () => {}, // every call reports it
    );
    const unread = () => this.#send({ ropewalk: 'unread' });
    listen(port, (request: Request) => this.#hear(request), unread);
    port.on?.('close', () => this.#end());
    this.#send({ ropewalk: 'ready' });
  }

  #hear(request: Request): void {
    switch (request.ropewalk) {
      case 'hello':
        this.#send({ ropewalk: 'ready' });
        break;
      case 'call':
        void this.#answer(request.id, request.id, () => this.#call(request));
        break;
      case 'next':
      case 'return':
        void this.#answer(request.id, request.call, () => this.#step(request.id, request.call, request.ropewalk));
        break;
      case 'abort':
        this.#calls.get(request.call)?.controller.abort(new DOMException('The call was aborted', 'AbortError'));
        break;
      case 'free':
        this.#objects.delete(request.target);
        break;
    }
  }

  // The port was closed: ends all calls.
  #end(): void {
    for (const { controller, iterator } of this.#calls.values()) {
      controller.abort(new DOMException('The other side has gone', 'AbortError'));
      this.#leave(iterator);
    }
    this.#calls.clear();
    this.#objects.clear();
  }

  async #answer(id: number, call: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const { controller, iterator } = this.#calls.get(call) ?? {};
      this.#calls.delete(call);
      const aborted = controller?.signal.aborted === true && error === controller.signal.reason;
      this.#sendError(id, aborted, error);
      this.#leave(iterator); // still running if an item could not be sent
    }
  }

  // Always answers, although reading or cloning parts of an error may throw.
  #sendError(id: number, aborted: boolean, error: unknown): void {
    try {
      this.#send({ ropewalk: 'error', id, aborted, error: packError(error) });
    } catch {
      const unsent = new StateError('remote: the worker threw something that cannot go to another thread');
      this.#send({ ropewalk: 'error', id, aborted, error: packError(unsent) });
    }
  }

  #leave(iterator: AsyncIterator<unknown> | undefined): void {
    void Promise.resolve()
      .then(() => iterator?.return?.())
      .catch(() => {});
  }

  async #call({ id, target, method, args }: Request & { ropewalk: 'call' }): Promise<void> {
    const call: Call = { controller: new AbortController() };
    this.#calls.set(id, call);
    if (target === 0) await this.#root;
    const object = this.#objects.get(target);
    if (object === undefined) {
      if (method !== 'dispose') throw new StateError(`remote.${method}: this object was disposed`);
      this.#calls.delete(id);
      return this.#send({ ropewalk: 'value', id, value: undefined });
    }
    const revived = args.map((arg) => unpack(arg, (stand) => this.#revive(id, call, stand)));
    const result = await Reflect.apply(methodOf(object, method), object, revived);
    if (method === 'dispose') this.#objects.delete(target);
    if (hasMethod(result, Symbol.asyncIterator)) {
      call.iterator = (result as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      return this.#send({ ropewalk: 'iterator', id });
    }
    this.#calls.delete(id);
    this.#sendPacked('result', result, true, (value) => ({ ropewalk: 'value', id, value }));
  }

  async #step(id: number, call: number, method: 'next' | 'return'): Promise<void> {
    const iterator = this.#calls.get(call)?.iterator;
    const over = { done: true, value: undefined };
    const { done = false, value } = (await iterator?.[method]?.()) ?? over;
    if (done || method === 'return') this.#calls.delete(call); // whatever a generator yields where it is left
    this.#sendPacked('item', value, true, (packed) => ({ ropewalk: 'item', id, done, value: packed }));
  }

  #revive(id: number, { controller }: Call, stand: Stand): unknown {
    if ('ropewalk:signal' in stand) return controller.signal;
    if ('ropewalk:object' in stand) {
      const object = this.#objects.get(stand['ropewalk:object']);
      if (object === undefined) throw new StateError('remote: an argument was disposed');
      return object;
    }
    const callback = stand['ropewalk:function'];
    return (...args: unknown[]) => {
      controller.signal.throwIfAborted(); // aborted also if the function on the other side threw
      if (!this.#calls.has(id)) return; // nobody hears of it, or frees what it would keep
      // Cloned: their owner may use them again, as a buffer into which a file is read.
      const reply = (packed: unknown): Reply => ({ ropewalk: 'callback', call: id, callback, args: packed });
      this.#sendPacked('arguments', args, false, reply);
    };
  }

  // Moves arrays if `moves`, else clones them; keeps objects with a dispose() here and sends their numbers.
  #sendPacked(name: string, value: unknown, moves: boolean, reply: (packed: unknown) => Reply): void {
    const moved = new Set<Transferable>();
    const kept: number[] = [];
    const keep = (each: object) => {
      if (!hasMethod(each, 'dispose')) return undefined;
      const known = this.#known.has(each);
      this.#known.add(each);
      kept.push(++this.#made);
      this.#objects.set(this.#made, each);
      return { 'ropewalk:object': this.#made, known };
    };
    try {
      post(this.#port, reply(pack(value, keep, moved, moves)), [...moved]);
    } catch (cause) {
      for (const number of kept) this.#objects.delete(number);
      const problem = 'a value that can go to another thread';
      throw Object.assign(new ArgumentTypeError('expose', name, value, problem), { cause });
    }
  }

  #send(reply: Reply): void {
    post(this.#port, reply);
  }
}

/**
 * Exposes the functions of an object to another thread, where `wrap()` gives its proxy. Call it in the worker's file.
 * Arguments and results are cloned, and arrays in results are moved: return copies of arrays that you keep. Results
 * with a `dispose()` (tensors, layers, models, caches) stay in the worker, and the other side gets proxies of them. An
 * async iterable is iterated from the other side. Functions and signals among arguments work across threads; such a
 * function returns nothing.
 *
 * @param target the object, or a function that makes it, which runs once; calls wait for it.
 * @param port the port that receives the calls. Default: the worker's global scope; in Node pass `parentPort`.
 * @throws ArgumentTypeError for a target that is not an object or function, or an invalid port; ArgumentRangeError for one
 *   that exposes an object already.
 *
 * @example
 * import { load } from 'ropewalk';
 * import { type LoadModelOptions, loadModel } from 'ropewalk/models';
 * import { expose } from 'ropewalk/worker';
 * expose(async () => {
 *   const rw = await load();
 *   return { open: (options: LoadModelOptions) => loadModel(rw, options) };
 * });
 */
export function expose(target: object | (() => object | Promise<object>), port?: MessageEndpoint): void {
  const where = 'expose';
  if ((typeof target !== 'object' && typeof target !== 'function') || target === null) {
    throw new ArgumentTypeError(where, 'target', target, 'an object, or a function that makes one');
  }
  const made = async (): Promise<object> => {
    const object = typeof target === 'function' ? await (target as () => object | Promise<object>)() : target;
    if (typeof object === 'object' && object !== null) return object;
    throw new ArgumentTypeError(where, 'target', object, 'a function that makes an object');
  };
  const from = port ?? globalThis;
  if (from === globalThis && 'document' in from) {
    throw new ArgumentTypeError(where, 'port', port, 'a port: this is a page, and only workers call their scope one');
  }
  checkPort(where, 'port', from);
  if (exposing.has(from)) throw new ArgumentRangeError(where, 'port', port, 'exposes an object already');
  exposing.add(from);
  new Exposure(from as MessageEndpoint, made());
}

/** @internal */
export function checkPort(where: string, name: string, value: unknown): MessageEndpoint {
  const speaks = hasMethod(value, 'postMessage') || (typeof value === 'function' && 'postMessage' in value);
  if (speaks && (hasMethod(value, 'addEventListener') || hasMethod(value, 'on'))) return value as MessageEndpoint;
  const expected =
    name === 'port' ? "a worker's scope or a MessagePort; in Node, parentPort" : 'a Worker or a MessagePort';
  throw new ArgumentTypeError(where, name, value, expected);
}
