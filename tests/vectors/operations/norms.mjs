// Norms and activations.
import { given, operation } from './operation.mjs';

const activation = (run) => operation({ inputs: ['x'] }, (rw, _, { x }) => ({ out: run(rw, x) }));

export const norms = {
  layer_norm: operation({ params: ['eps'], inputs: ['x', 'w', 'b'] }, (rw, { eps }, { x, w, b }) => ({
    out: rw.layerNorm(x, given({ weight: w, bias: b, eps })),
  })),
  rms_norm: operation({ params: ['eps'], inputs: ['x', 'w'] }, (rw, { eps }, { x, w }) => ({
    out: rw.rmsNorm(x, given({ weight: w, eps })),
  })),
  gelu_erf: activation((rw, x) => rw.gelu(x)),
  gelu_tanh: activation((rw, x) => rw.gelu(x, { approximate: 'tanh' })),
  silu: activation((rw, x) => rw.silu(x)),
};
