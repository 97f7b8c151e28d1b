// A Node worker that exposes a function to load models.
import { parentPort } from 'node:worker_threads';
import { load } from 'ropewalk';
import { loadModel } from 'ropewalk/models';
import { expose } from 'ropewalk/worker';

expose(async () => {
  const rw = await load({ simd: 'deterministic' });
  return { open: (options) => loadModel(rw, options), memory: () => rw.memory() };
}, parentPort);
