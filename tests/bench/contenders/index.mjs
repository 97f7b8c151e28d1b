// All contenders. A contender has id, title, nodeOnly, and open(environment), which gives { version, operations,
// close } or undefined if this runtime cannot run it. An operation is a function of a work's sizes and inputs and gives
// { op, io, result, form, close }: op runs it once on data inside the library, io from and to the caller's arrays.
// Operations that a contender lacks are reported as missing.
import { contenders as jax } from './jax.mjs';
import { contenders as kernels } from './kernels.mjs';
import { contenders as onnxruntime } from './onnxruntime.mjs';
import { contenders as plain } from './plain.mjs';
import { contenders as ropewalk } from './ropewalk.mjs';
import { contenders as tensorflow } from './tensorflow.mjs';

export const contenders = [...ropewalk, ...onnxruntime, ...tensorflow, ...jax, ...plain, ...kernels];

/** Opens the wanted contenders that this runtime can run; reports the others to `say`. */
export async function openAll(environment, say) {
  const opened = [];
  for (const contender of contenders) {
    if ((contender.nodeOnly && !environment.node) || !environment.wanted(contender.id)) continue;
    try {
      const inside = await contender.open(environment);
      if (inside) opened.push({ ...contender, ...inside });
      else say(`${contender.title}: not available in this runtime`);
    } catch (error) {
      say(`${contender.title}: not available: ${error.message.split('\n')[0]}`);
    }
  }
  return opened;
}
