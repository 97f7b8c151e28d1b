// A Node worker that exposes the object of exposed.mjs.
import { parentPort } from 'node:worker_threads';
import { expose } from 'ropewalk/worker';
import { made } from './exposed.mjs';

expose(made, parentPort);
