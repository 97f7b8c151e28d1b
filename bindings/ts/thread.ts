// A worker of ropewalk/threads: instantiates the module with the memory of the others, and works for the pool until it
// is ended. Shipped as a file of its own, dist/thread.js, which imports nothing.
import type { ThreadStart } from './threads/pool.js';

interface Port {
  postMessage(message: unknown): void;
  addEventListener(type: 'message', listener: (event: { data: ThreadStart }) => void, options: { once: true }): void;
}

// The core calls nothing out of a thread.
function calledOut(): never {
  throw new Error('the core called JavaScript out of a thread');
}

function run(port: Port, { module, memory, entry, thread, stack, stackEnd, lost }: ThreadStart): void {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = kind === 'memory' ? memory : calledOut;
  }
  const { exports } = new WebAssembly.Instance(module, imports);
  const table = Object.values(exports).find((value) => value instanceof WebAssembly.Table);
  port.postMessage('ready');
  try {
    table?.get(entry)(stackEnd, thread);
  } catch (error) {
    // The calling thread may be waiting for this one.
    const why = new TextEncoder().encode(`${String(error).slice(0, 200)}\0`);
    new Uint8Array(memory.buffer).set(why, stack);
    Atomics.store(new Int32Array(memory.buffer), lost / 4, thread);
    throw error;
  }
}

const start = (port: Port): void => port.addEventListener('message', ({ data }) => run(port, data), { once: true });

const name = 'node:worker_threads';
// No await at the top: bundlers make scripts of workers, which cannot have it.
if ('WorkerGlobalScope' in globalThis) start(globalThis as unknown as Port);
else void import(/* @vite-ignore */ /* webpackIgnore: true */ name).then(({ parentPort }) => start(parentPort));
