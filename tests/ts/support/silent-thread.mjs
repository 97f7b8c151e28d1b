// A worker that is none of ropewalk/threads: it takes messages and says nothing.
import { parentPort } from 'node:worker_threads';

parentPort.on('message', () => undefined);
