/**
 * Loads safetensors checkpoints and runs them.
 * @packageDocumentation
 * @module ropewalk/models
 */

export type { ModelCacheOptions, ModelKvCache } from './models/cache.js';
export {
  type ComparedTensor,
  type CompareOptions,
  type Comparison,
  compare,
  type Golden,
  type GoldenArray,
} from './models/compare.js';
export { type ModelArchitecture, type ModelConfig, type ModelConfigOptions, readModelConfig } from './models/config.js';
export type { DecodeOptions, DecoderModel, Decoding, LogitsOf } from './models/decoder.js';
export type {
  DenseFeedForward,
  GatedFeedForward,
  ModelBiases,
  ModelFeedForward,
  ModelLayerConfig,
} from './models/description/description.js';
export type { EmbedTextOptions, EncodeOptions, EncoderModel, Encoding } from './models/encoder.js';
export type { GeneratedToken, GenerateOptions, GenerateProgress } from './models/generate.js';
export type { IdsInput } from './models/ids.js';
export { type LoadModelOptions, loadModel } from './models/load.js';
export type { Model, ModelInfo, RopeChange } from './models/model.js';
export type { Pooling } from './models/pooling.js';
export type { CapturedLayer, InspectOptions, PassOptions, PassProgress } from './models/run.js';
export { SafetensorsError } from './runtime/errors.js';
export type {
  Safetensors,
  SafetensorsInfo,
  SafetensorsIntoOptions,
  SafetensorsProgress,
  SafetensorsReadOptions,
  SafetensorsSliceOptions,
  SafetensorsTensorOptions,
} from './safetensors/file.js';
export type { SafetensorsDtype } from './safetensors/header.js';
export { type OpenSafetensorsOptions, openSafetensors } from './safetensors/open.js';
export type { SafetensorsArray } from './safetensors/tensors.js';
export { firstJson } from './sampling/json.js';
export { type LogitBias, type SampleOptions, type SamplingOptions, sample } from './sampling/sampling.js';
export type { SafetensorsSource } from './sources/open-source.js';
