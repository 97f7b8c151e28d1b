// A core of training with threads, made of the one without by the steps to it. Apart, so that only who asks for threads
// loads it.
import { compiledOnce, fromSteps, inflate } from '../instance.js';
import { openHeap, type ThreadsRequest } from '../threads/open.js';
import { packedTraining, size } from '../training-inline.js';
import createCore from '../training-threads-core.mjs';
import { counts, packedSteps, sizes } from '../training-threads-inline.js';

const compiled = /* @__PURE__ */ compiledOnce(async () => {
  const parts = [inflate(packedTraining, size), inflate(packedSteps, sizes.steps)] as const;
  return WebAssembly.compile(fromSteps(...(await Promise.all(parts)), sizes.threads, counts));
});

/** A heap of training with threads, or why there is but one. @internal */
export const openThreadedHeap = (request: ThreadsRequest) =>
  openHeap(request, { isRelaxed: false, compiled, createCore });
