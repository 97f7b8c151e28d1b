// All contenders. A contender: id, title, nodeOnly, and open(environment), which gives { version, operations, close } or
// undefined where this runtime cannot run it. An operation takes a work's sizes and inputs and gives { op, io, result,
// form, close }: op and io run it once, with data inside or as a caller sees it. What is missing is reported as missing.
import { contenders as jax } from './jax.mjs';
import { contenders as kernels } from './kernels.mjs';
import { contenders as onnxruntime } from './onnxruntime.mjs';
import { contenders as plain } from './plain.mjs';
import { contenders as ropewalk } from './ropewalk.mjs';
import { contenders as tensorflow } from './tensorflow.mjs';

export const contenders = [...ropewalk, ...onnxruntime, ...tensorflow, ...jax, ...plain, ...kernels];

/** Opens those that are wanted and that this runtime can run; `say` hears of the others. */
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
