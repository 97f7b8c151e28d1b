/**
 * Files of weights, and the models that they are.
 * @packageDocumentation
 */

export { SafetensorsError } from './errors.js';
export type { Model, ModelInfo, RopeChange } from './model.js';
export type { ModelCacheOptions, ModelKvCache } from './model-cache.js';
export {
  type ComparedTensor,
  type CompareOptions,
  type Comparison,
  compare,
  type Golden,
  type GoldenArray,
} from './model-compare.js';
export {
  type ModelArchitecture,
  type ModelBiases,
  type ModelConfig,
  type ModelConfigOptions,
  type ModelLayerConfig,
  readModelConfig,
} from './model-config.js';
export type { DecodeOptions, DecoderModel, Decoding, LogitsOf } from './model-decoder.js';
export type { EncodeOptions, EncoderModel, Encoding } from './model-encoder.js';
export type { GeneratedToken, GenerateOptions, GenerateProgress } from './model-generate.js';
export type { IdsInput } from './model-ids.js';
export { type LoadModelOptions, loadModel } from './model-load.js';
export type { CapturedLayer, InspectOptions, PassOptions, PassProgress } from './model-run.js';
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
export { type SampleOptions, type SamplingOptions, sample } from './sampling.js';
