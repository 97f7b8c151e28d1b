// Rotary embedding with several position axes.
import { choose, operation } from './operation.mjs';

const layouts = { sections: 'sections', interleaved: 'interleaved' };

function rotateWith(rw, options, x, positions) {
  const plan = rw.rope({ headDim: x.shape.at(-1), ...options });
  try {
    return { out: plan.rotate(x, { positions }) };
  } finally {
    plan.dispose();
  }
}

// [S, axes] as one list for each axis.
function byAxis({ shape: [tokens, axes], data }) {
  return Array.from({ length: axes }, (_, a) => Array.from({ length: tokens }, (_, t) => data[t * axes + a]));
}

export const axes = {
  rope_axial: operation(
    { params: ['axis_dims', 'base', 'style'], inputs: ['x', 'positions'] },
    (rw, { axis_dims: dims, base = 10000, style: pairing }, { x, positions }) => {
      const rotaryDim = dims.reduce((sum, dim) => sum + dim, 0);
      return rotateWith(rw, { rotaryDim, base, pairing, axes: { layout: 'axial', dims } }, x, byAxis(positions));
    },
  ),

  rope_vision_2d: operation(
    { params: ['base'], inputs: ['x', 'positions'] },
    (rw, { base = 10000 }, { x, positions }) =>
      rotateWith(rw, { base, axes: { layout: 'vision' } }, x, byAxis(positions)),
  ),

  mrope: operation(
    { params: ['sections', 'layout', 'base'], inputs: ['x', 'positions'] },
    (rw, { sections, layout, base = 10000 }, { x, positions }) => {
      const count = positions.data.length / 3;
      const lists = [0, 1, 2].map((axis) => Array.from(positions.data.slice(axis * count, (axis + 1) * count)));
      return rotateWith(rw, { base, axes: { layout: choose('layout', layout, layouts), sections } }, x, lists);
    },
  ),
};
