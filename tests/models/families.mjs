// The families by model_type. Every file in tests/models/families/ is one, and exports
// - variants, by name: [dtype of the weights, config.json, options of the file];
// - tensors(config, file): [name, shape, deviation, mean] of each, see tiny/shapes.mjs;
// - reference, for a decoder: how its class reads a config.json, and the names of the weights of a layer;
// - encoder, for an encoder that is no BERT: the whole model in float64, as in reference/encoders.mjs;
// - pairs, as variants, and encoderDecoder, for models of encoder and decoder: the whole model in float64.
import { readdirSync } from 'node:fs';

const folder = new URL('./families/', import.meta.url);
const all = await Promise.all(readdirSync(folder).map((file) => import(new URL(file, folder))));

/** Whether a model with this config.json is an encoder. */
export function isEncoder({ config }) {
  const { reference } = families[(config.text_config ?? config).model_type];
  return reference === undefined || reference.seesBoth?.(config) === true;
}

export const families = Object.fromEntries(all.map((family) => [family.modelType, family]));
