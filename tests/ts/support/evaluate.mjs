// A worker that runs the module source in its workerData, with this file as base so that `ropewalk` resolves.
import { workerData } from 'node:worker_threads';

const AsyncFunction = (async () => {}).constructor;
await new AsyncFunction(workerData)();
