// Workers of threads that a test can end.
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';

export const threadFile = new URL('../../../dist/thread.js', import.meta.url);

/** What `load` of an entry gives with several threads whose workers run a file, and the workers. */
export async function loadWith(load, file, threads) {
  const workers = [];
  const worker = () => {
    workers.push(new Worker(file));
    return workers.at(-1);
  };
  const rw = await load({ threads, worker });
  assert.equal(rw.info().threads, threads, rw.info().why);
  return { rw, workers };
}

export const exitOf = (worker) => new Promise((resolve) => worker.once('exit', resolve));
