// Shapes and sizes of tensors under the names that Hugging Face's classes give them.
//
// Each entry is [name, shape, deviation, mean]: matrices near 1 / sqrt(inputs) keep numbers about 1; queries and keys
// are larger, so that scores spread and the weights of attention are far from equal.

export const sharper = 1.6;

export const matrix = (name, outputs, inputs, factor = 1) => [
  `${name}.weight`,
  [outputs, inputs],
  factor / Math.sqrt(inputs),
];
export const bias = (name, outputs) => [`${name}.bias`, [outputs], 0.3];
export const dense = (name, outputs, inputs, factor) => [matrix(name, outputs, inputs, factor), bias(name, outputs)];
export const scale = (name, length, mean = 1) => [name, [length], 0.3, mean];

/** LayerNorm's two, by the names of today or of old TensorFlow checkpoints. */
export const layerNorm = (name, length, gamma) => [
  scale(`${name}.${gamma ? 'gamma' : 'weight'}`, length),
  [`${name}.${gamma ? 'beta' : 'bias'}`, [length], 0.3],
];
