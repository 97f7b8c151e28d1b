// Shapes and scales of tensors, by the names of Hugging Face's classes.
//
// Each entry is [name, shape, deviation, mean]. Matrices have deviations near 1 / sqrt(inputs), so that outputs are
// near 1; those of queries and keys are larger, so that attention weights are far from equal.

export const sharper = 1.6;

export const matrix = (name, outputs, inputs, factor = 1) => [
  `${name}.weight`,
  [outputs, inputs],
  factor / Math.sqrt(inputs),
];
export const bias = (name, outputs) => [`${name}.bias`, [outputs], 0.3];
export const dense = (name, outputs, inputs, factor) => [matrix(name, outputs, inputs, factor), bias(name, outputs)];
export const scale = (name, length, mean = 1) => [name, [length], 0.3, mean];

/** The two vectors of LayerNorm, by current names or those of old TensorFlow checkpoints. */
export const layerNorm = (name, length, gamma) => [
  scale(`${name}.${gamma ? 'gamma' : 'weight'}`, length),
  [`${name}.${gamma ? 'beta' : 'bias'}`, [length], 0.3],
];
