// The TypeScript side of the pool of threads (src/thread_pool.h): workers that share the memory of one instance.
import { ArgumentTypeError, InstanceLostError, UnsupportedError } from '../runtime/errors.js';
import { createFinalizer } from '../runtime/finalizer.js';

/** A worker of the web or of Node's `worker_threads`. */
export interface ThreadWorker {
  /** Sends a message. */
  postMessage(message: unknown): void;
  /** Ends it. */
  terminate(): unknown;
  /** Of the web: calls `listener` for each event of this type. */
  addEventListener?(type: string, listener: (event: object) => void): void;
  /** Of Node: the same. */
  on?(type: string, listener: (value: unknown) => void): unknown;
  /** Of Node: lets the process exit while the worker lives. */
  unref?(): void;
}

/** What a worker is sent; ts/thread.ts reads it. @internal */
export interface ThreadStart {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** Of the function that a thread runs, in the table of functions. */
  readonly entry: number;
  readonly thread: number;
  /** The addresses of the thread's stack, which grows from its end. */
  readonly stack: number;
  readonly stackEnd: number;
  /** The address of the word that a thread sets to its number if it fails. Why is a text at the address of its stack. */
  readonly lost: number;
}

const finalizer = /* @__PURE__ */ createFinalizer();

/** What makes the threads leave the core, also one that is lost: addresses of words. @internal */
export interface Exit {
  readonly memory: WebAssembly.Memory;
  /** 1 where the pool is closed. */
  readonly closed: number;
  /** A number that grows, on which threads sleep. */
  readonly wake: number;
}

// Deno does not end a worker that sleeps in the core.
function ender(workers: ThreadWorker[], { memory, closed, wake }: Exit): () => void {
  return () => {
    const words = new Int32Array(memory.buffer);
    Atomics.store(words, closed / 4, 1);
    Atomics.add(words, wake / 4, 1);
    Atomics.notify(words, wake / 4);
    // Not before the running call is left: at the end of the stack terminate() fails.
    void Promise.resolve().then(() => {
      for (const worker of workers.splice(0)) void worker.terminate();
    });
  };
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

function isWorker(value: unknown): value is ThreadWorker {
  const { postMessage, terminate } = (value ?? {}) as Partial<ThreadWorker>;
  return typeof postMessage === 'function' && typeof terminate === 'function';
}

// Of either kind of worker: its first message, and what ends it.
function listen(worker: ThreadWorker, message: () => void, failed: (cause: unknown) => void): void {
  if (worker.on !== undefined) {
    worker.on('message', message);
    worker.on('error', failed);
    worker.on('exit', (code: unknown) => failed(new Error(`it exited with code ${code}`)));
    return;
  }
  worker.addEventListener?.('message', message);
  worker.addEventListener?.('error', (event: { message?: string }) =>
    failed(new Error(event.message || 'its file cannot be loaded')),
  );
}

const mostMilliseconds = 30_000;

// Rejected where that long no worker gives its sign; many that start at once may take longer together.
async function inTime(started: readonly Promise<void>[]): Promise<void> {
  const why = `it says nothing for ${mostMilliseconds / 1000} s; its file has to be ropewalk/thread.js`;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const late = new Promise<never>((_, reject) => {
    const wait = () => {
      clearTimeout(timer);
      if (!isOver) timer = setTimeout(() => reject(new Error(why)), mostMilliseconds);
    };
    wait();
    for (const each of started) each.then(wait, () => {});
  });
  await Promise.race([Promise.all(started), late]).finally(() => {
    isOver = true;
    clearTimeout(timer);
  });
}

/** The workers of one instance. @internal */
export class Pool {
  readonly #end: () => void;
  readonly #starts: readonly ThreadStart[];
  #lost: InstanceLostError | undefined;
  #isDisposed = false;

  /** The workers end with `owner`, at the latest. */
  private constructor(owner: object, end: () => void, starts: readonly ThreadStart[]) {
    this.#starts = starts;
    this.#end = end;
    finalizer?.register(owner, this.#end, this);
  }

  /**
   * Starts a worker for each message. All of them run, or none and the promise is rejected: with ArgumentTypeError where
   * `make` gives something else.
   */
  static async start(
    owner: object,
    make: () => ThreadWorker,
    starts: readonly ThreadStart[],
    exit: Exit,
  ): Promise<Pool> {
    const workers: ThreadWorker[] = [];
    const pool = new Pool(owner, ender(workers, exit), starts);
    const weak = new WeakRef(pool); // what a worker's listeners hold is never collected
    try {
      const started = starts.map(
        (start) =>
          new Promise<void>((resolve, reject) => {
            const worker: unknown = make();
            if (!isWorker(worker) || workers.includes(worker)) {
              throw new ArgumentTypeError('load', 'worker()', worker, 'a new Worker each time');
            }
            workers.push(worker);
            listen(worker, resolve, (cause) => {
              reject(cause);
              weak.deref()?.lose(reasonOf(cause), cause);
            });
            worker.postMessage(start);
          }),
      );
      await inTime(started);
      for (const worker of workers) worker.unref?.(); // not before, or Node might exit meanwhile
    } catch (cause) {
      pool.dispose();
      if (cause instanceof ArgumentTypeError) throw cause;
      throw new UnsupportedError(`load: a worker does not start (${reasonOf(cause)})`, { cause });
    }
    return pool;
  }

  /** Throws if a thread has ended that should not have. */
  check(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** Ends the threads after a trap of the calling one, and throws the reason if that is the failure of another. */
  trapped(cause: unknown): void {
    const [start] = this.#starts;
    if (start === undefined) return;
    const { memory, lost } = start;
    const thread = Atomics.load(new Int32Array(memory.buffer), lost / 4);
    const failed = this.#starts.find((each) => each.thread === thread);
    if (failed !== undefined) this.lose(textAt(memory, failed.stack), cause);
    else if (thread !== 0) this.lose('it does not finish its work', cause);
    this.dispose();
    this.check();
  }

  private lose(why: string, cause: unknown): void {
    if (this.#isDisposed || this.#lost !== undefined) return;
    const problem = `a thread of this instance failed: ${why}; load() gives a new one`;
    this.#lost = new InstanceLostError(problem, { cause });
    this.dispose();
  }

  /** Ends the threads. */
  dispose(): void {
    this.#isDisposed = true;
    finalizer?.unregister(this);
    this.#end();
  }
}

// A text that ends with a zero.
function textAt(memory: WebAssembly.Memory, address: number): string {
  const bytes = new Uint8Array(memory.buffer).slice(address, address + 1000); // a copy: none is decoded of shared memory
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}
