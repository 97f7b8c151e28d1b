// Runs the module source that a Worker was given, with this file as its base, so that `ropewalk` resolves.
import { workerData } from 'node:worker_threads';

const AsyncFunction = (async () => {}).constructor;
await new AsyncFunction(workerData)();
