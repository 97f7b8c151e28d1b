// A worker of Node around the exposed object.
import { parentPort } from 'node:worker_threads';
import { expose } from 'ropewalk/worker';
import { made } from './exposed.mjs';

expose(made, parentPort);
