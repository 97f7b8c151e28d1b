// Sinusoidal tables.
import { choose, operation } from './operation.mjs';

const layouts = { interleaved: 'interleaved', concat: 'concatenated' };

export const sinusoidal = {
  sinusoidal: operation({ params: ['dim', 'base', 'layout'], inputs: ['positions'] }, (rw, params, { positions }) => {
    const { dim, base = 10000, layout = 'interleaved' } = params;
    const data = rw.sinusoidal({ dim, base, layout: choose('layout', layout, layouts), positions: positions.data });
    return { out: { shape: [...positions.shape, dim], data } };
  }),
};
