// The families of tests/models/families/, by model_type: every file there is one, and has
// - variants, by name: [dtype of the weights, config.json, what else the file does];
// - tensors(config, file): [name, shape, deviation, mean] of each, see tiny/shapes.mjs;
// - reference, for a decoder: what its class makes of a config.json, and where the weights of a layer stand.
import { readdirSync } from 'node:fs';

const folder = new URL('./families/', import.meta.url);
const all = await Promise.all(readdirSync(folder).map((file) => import(new URL(file, folder))));

export const families = Object.fromEntries(all.map((family) => [family.modelType, family]));
