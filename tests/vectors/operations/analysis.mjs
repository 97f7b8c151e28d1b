// The algebra of sinusoids.
import { choose, operation } from './operation.mjs';

const layouts = { interleaved: 'interleaved', concat: 'concatenated' };
const curve = { params: ['dim', 'base'], inputs: ['distances'] };

export const analysis = {
  shift_matrix: operation(
    { params: ['k', 'dim', 'base', 'layout'] },
    (rw, { k, dim, base = 10000, layout = 'interleaved' }) => ({
      out: rw.analysis.shiftMatrix({ k, dim, base, layout: choose('layout', layout, layouts) }),
    }),
  ),

  pe_dot_curve: operation(curve, (rw, { dim, base = 10000 }, { distances: { shape, data } }) => ({
    out: { shape, data: rw.analysis.dotCurve({ dim, base, distances: data }) },
  })),

  decay_curve: operation(curve, (rw, { dim, base = 10000 }, { distances: { shape, data } }) => ({
    out: { shape, data: rw.analysis.decayCurve({ dim, base, distances: data }) },
  })),
};
