/**
 * Files of weights.
 * @packageDocumentation
 */

export { SafetensorsError } from './errors.js';
export type {
  Safetensors,
  SafetensorsInfo,
  SafetensorsIntoOptions,
  SafetensorsProgress,
  SafetensorsReadOptions,
  SafetensorsSliceOptions,
  SafetensorsTensorOptions,
} from './safetensors.js';
export type { SafetensorsArray } from './safetensors-arrays.js';
export type { SafetensorsDtype } from './safetensors-header.js';
export { type OpenSafetensorsOptions, openSafetensors } from './safetensors-open.js';
export type { SafetensorsSource } from './safetensors-source.js';
