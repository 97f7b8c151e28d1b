// Random tiny models of every architecture, the same for the same seed, made in milliseconds.
import { variantOf } from './configs.mjs';
import { encode, normals, seedOf } from './numbers.mjs';
import { tensorShapes } from './shapes.mjs';

export { variants } from './configs.mjs';

// What old checkpoints hold beside their weights, and every reader ignores.
function buffersOf(config) {
  const length = config.max_position_embeddings;
  const lower = Uint8Array.from({ length: length ** 2 }, (_, i) => (i % length <= Math.floor(i / length) ? 1 : 0));
  const frequencies = encode('F32', Array(2).fill(0.123));
  return Array.from({ length: config.num_hidden_layers }, (_, i) => [
    [`gpt_neox.layers.${i}.attention.bias`, { dtype: 'BOOL', shape: [1, 1, length, length], data: lower }],
    [`gpt_neox.layers.${i}.attention.masked_bias`, { dtype: 'F32', shape: [], data: encode('F32', [-1e9]) }],
    [`gpt_neox.layers.${i}.attention.rotary_emb.inv_freq`, { dtype: 'F32', shape: [2], data: frequencies }],
  ]).flat();
}

function idsOf(config) {
  const data = BigInt64Array.from({ length: config.max_position_embeddings }, (_, i) => BigInt(i));
  return [['embeddings.position_ids', { dtype: 'I64', shape: [1, data.length], data }]];
}

/**
 * A model: { name, config, tensors }, where tensors is { name: { dtype, shape, data } } with the stored bytes in typed
 * arrays. `dtype` (F32, F16 or BF16) replaces the one of the variant.
 */
export function tinyModel(name, { seed = 1, dtype } = {}) {
  const variant = variantOf(name, dtype);
  const type = variant.dtype;
  const tensors = tensorShapes(variant.config, variant.file).map(([tensor, shape, deviation, mean = 0]) => {
    const size = shape.reduce((product, n) => product * n, 1);
    const values = normals(size, seedOf(`${name}/${tensor}`, seed)).map((x) => mean + deviation * x);
    return [tensor, { dtype: type, shape, data: encode(type, values) }];
  });
  const buffers = variant.file.buffers ? buffersOf(variant.config) : variant.file.bare ? idsOf(variant.config) : [];
  return { name, config: variant.config, tensors: Object.fromEntries([...tensors, ...buffers]) };
}
