// What the page and its worker say to each other. Only types and no imports of the page, so that the worker loads fast.
import type { jobs } from './jobs';

export type Jobs = typeof jobs;
export type JobName = keyof Jobs;
export type JobInput<N extends JobName> = Parameters<Jobs[N]>[1];
export type JobOutput<N extends JobName> = Awaited<ReturnType<Jobs[N]>>;

export interface Request<N extends JobName = JobName> {
  readonly name: N;
  readonly input: JobInput<N>;
}

export type Answer =
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'done'; readonly output: unknown }
  | { readonly kind: 'failed'; readonly reason: string };
