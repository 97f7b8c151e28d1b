/**
 * Calls the functions of objects in a worker from the page or the main thread.
 * @packageDocumentation
 * @module ropewalk/worker
 */

export { expose } from './worker/expose.js';
export { type MessageEndpoint, transfer } from './worker/messages.js';
export { type Remote, type RemoteArgument, type RemoteResult, wrap } from './worker/wrap.js';
