// All works. A work has id, title, operation (its name in the contenders), sizes, flops and bytes where meaningful,
// inputs(), and reference(inputs), a float64 sample of the result.
import { works as attention } from './attention.mjs';
import { works as growth } from './growth.mjs';
import { works as layers } from './layers.mjs';
import { works as limits } from './limits.mjs';
import { works as linear } from './linear.mjs';
import { works as rope } from './rope.mjs';
import { works as sinusoid } from './sinusoid.mjs';
import { works as softmax } from './softmax.mjs';

export const works = [...limits, ...rope, ...sinusoid, ...linear, ...softmax, ...attention, ...layers];

/** Any work by its id, including those of growth.mjs. */
export const workOf = (id) => [...works, ...growth].find((work) => work.id === id);

export { growth };
