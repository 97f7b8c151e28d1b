// A worker of ropewalk/threads that says that a share of its pool is never done, as the waiting thread does when it has
// lost its patience.
import { parentPort } from 'node:worker_threads';

const { addEventListener } = parentPort;
parentPort.addEventListener = (type, listener, options) => {
  const say = (event) => {
    const { memory, lost } = event.data;
    Atomics.store(new Int32Array(memory.buffer), lost / 4, -1);
    listener(event);
  };
  addEventListener.call(parentPort, type, say, options);
};
await import('../../../dist/thread.js');
