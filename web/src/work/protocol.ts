// The messages between the page and its worker. Only types and no imports of the page, so that the worker loads fast.
import type { Ropewalk } from 'ropewalk';

/** Work for the worker: it gets the core and its input, and reports its progress. */
export type Job = (core: Ropewalk, input: never, tell: (share: number) => void) => unknown;
export type JobInput<J extends Job> = Parameters<J>[1];
export type JobOutput<J extends Job> = Awaited<ReturnType<J>>;

export interface Request {
  readonly name: string;
  readonly input: unknown;
}

export type Answer =
  | { readonly kind: 'thread' }
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'done'; readonly output: unknown }
  | { readonly kind: 'failed'; readonly reason: string };

/** On the port that comes with a worker's wish for a thread. */
export type ToThread = { readonly kind: 'start'; readonly start: unknown } | { readonly kind: 'end' };
export interface FromThread {
  readonly type: 'message' | 'error';
  readonly message?: string;
}
