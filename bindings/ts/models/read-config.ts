// readModelConfig: what a config.json means, for all families. loadModel imports those that few models are of when a
// config names one; this function cannot wait.

import { type ModelConfig, type ModelConfigOptions, modelConfig } from './config.js';
import { families } from './families/families.js';

/**
 * Reads a Hugging Face config.json (the parsed object; for Gemma 3 with images, its text_config) into a description of
 * the model. Defaults are those of Hugging Face's classes.
 *
 * @throws ArgumentTypeError or ArgumentRangeError that names the field, for an unknown architecture or option, a
 *   missing size, or two fields that contradict each other.
 *
 * @example
 * const config = readModelConfig(JSON.parse(await readFile('SmolLM2-135M/config.json', 'utf8')));
 * // { architecture: 'llama', kind: 'decoder', modelDim: 576, heads: 9, kvHeads: 3, layers: [...30], ... }
 */
export function readModelConfig(
  config: Readonly<Record<string, unknown>>,
  options: ModelConfigOptions = {},
): ModelConfig {
  return modelConfig('readModelConfig', config, options, families);
}
