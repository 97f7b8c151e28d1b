// The build with threads, made of the relaxed one by the steps to it. Apart, so that a page loads both only where it may
// have threads.
import { packedRelaxed, sizes as sizesOfBoth } from '../inline.js';
import { compiledOnce, fromSteps, inflate } from '../instance.js';
import { counts, packedSteps, sizes } from '../threads-inline.js';

/** The compiled build. @internal */
export const compiled = /* @__PURE__ */ compiledOnce(async () => {
  const parts = [inflate(packedRelaxed, sizesOfBoth.relaxed), inflate(packedSteps, sizes.steps)] as const;
  return WebAssembly.compile(fromSteps(...(await Promise.all(parts)), sizes.threads, counts));
});
