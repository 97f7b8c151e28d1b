// Absolute encodings other than sinusoidal: binary codes and learned tables.
import { choose, operation } from './operation.mjs';

const modes = { add: 'add', mul: 'multiply', concat: 'concatenate' };

export const absolute = {
  binary: operation({ params: ['num_bits', 'msb_first'], inputs: ['positions'] }, (rw, params, { positions }) => {
    const { num_bits: bits, msb_first: msbFirst = false } = params;
    return {
      out: { shape: [...positions.shape, bits], data: rw.binary({ bits, msbFirst, positions: positions.data }) },
    };
  }),

  learned_absolute: operation(
    { params: ['mode'], inputs: ['x', 'table', 'positions'] },
    (rw, params, { x, table, positions }) => ({
      out: rw.learned(x, { table, mode: choose('mode', params.mode, modes), positions: positions.data }),
    }),
  ),
};
