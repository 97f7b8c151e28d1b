// Random tiny models of every architecture, made in milliseconds, the same for the same seed.
import { families } from '../families.mjs';
import { encode, normals, seedOf } from './numbers.mjs';

const torch = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' };

const tableOf = (kind) => Object.assign({}, ...Object.values(families).map((family) => family[kind]));
const [single, paired] = [tableOf('variants'), tableOf('pairs')];
const table = { ...single, ...paired };

/** The names of all encoders and decoders. */
export const variants = Object.keys(single);

/** Of all models that have both. */
export const pairs = Object.keys(paired);

/** { dtype, config, file } of a variant: the type of its weights, its config.json, and options of its file. */
function variantOf(name, dtypeAsked, replaced) {
  const entry = table[name];
  if (entry === undefined) throw new RangeError(`no model named ${name}; expected one of ${variants.join(', ')}`);
  const [usual, fields, file = {}] = entry;
  const dtype = dtypeAsked ?? usual;
  // As JSON holds it: no field without a value.
  const config = JSON.parse(JSON.stringify({ ...fields, ...replaced, torch_dtype: torch[dtype] }));
  return { dtype, config, file };
}

// [name, shape, deviation, mean] of every tensor of a model.
function tensorShapes(config, file = {}) {
  if (config.text_config !== undefined) {
    const text = tensorShapes(config.text_config).map(([name, ...rest]) => [`language_model.${name}`, ...rest]);
    return [
      ['multi_modal_projector.mm_soft_emb_norm.weight', [8], 0.3],
      ...text,
      ['vision_tower.vision_model.post_layernorm.weight', [8], 0.3],
    ];
  }
  return families[config.model_type].tensors(config, file);
}

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
 * arrays. `dtype` (F32, F16 or BF16) replaces the one of the variant, `fields` those of its config.
 */
export function tinyModel(name, { seed = 1, dtype, fields } = {}) {
  const variant = variantOf(name, dtype, fields);
  const type = variant.dtype;
  const tensors = tensorShapes(variant.config, variant.file).map(([tensor, shape, deviation, mean = 0]) => {
    const size = shape.reduce((product, n) => product * n, 1);
    const values = normals(size, seedOf(`${name}/${tensor}`, seed)).map((x) => mean + deviation * x);
    return [tensor, { dtype: type, shape, data: encode(type, values) }];
  });
  const buffers = variant.file.buffers ? buffersOf(variant.config) : variant.file.bare ? idsOf(variant.config) : [];
  return { name, config: variant.config, tensors: Object.fromEntries([...tensors, ...buffers]) };
}
