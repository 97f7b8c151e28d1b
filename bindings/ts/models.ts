/**
 * Opens safetensors and GGUF files, keeps them in storage, loads checkpoints and runs them.
 * @packageDocumentation
 * @module ropewalk/models
 */

export type { Gguf } from './gguf/file.js';
export type { OpenGgufOptions } from './gguf/files.js';
export type { GgufDtype, GgufValue } from './gguf/header.js';
export type { GgufMetadata } from './gguf/metadata.js';
export {
  type GgufChatTemplate,
  type GgufTokenizer,
  type GgufTokenizerConfig,
  tokenizerFromGguf,
} from './gguf/tokenizer.js';
export type { BeamOptions } from './models/beams.js';
export type { ModelCacheOptions, ModelKvCache } from './models/cache.js';
export {
  type ComparedTensor,
  type CompareOptions,
  type Comparison,
  compare,
  type Golden,
  type GoldenArray,
} from './models/compare.js';
export type { ModelArchitecture, ModelConfig, ModelConfigOptions } from './models/config.js';
export type { DecodeOptions, DecoderModel, Decoding, LogitsOf } from './models/decoder.js';
export type {
  DenseFeedForward,
  DisentangledDistances,
  ExpertsFeedForward,
  GatedFeedForward,
  ModelBiases,
  ModelDescription,
  ModelFeedForward,
  ModelLayerConfig,
} from './models/description/description.js';
export type { EmbedTextOptions, EncodeOptions, EncoderModel, Encoding } from './models/encoder.js';
export type {
  EncoderDecoderModel,
  SourceOptions,
  TargetGenerateOptions,
  TargetOptions,
  TargetResult,
} from './models/encoder-decoder.js';
export type {
  LengthCurve,
  LengthCurveOptions,
  LengthPoint,
  MeasureProgress,
  Measuring,
  Perplexity,
  PerplexityOptions,
} from './models/evaluate.js';
export type { GeneratedToken, GenerateOptions, GenerateProgress } from './models/generate.js';
export type { IdsInput } from './models/ids.js';
export {
  type CommonLoadOptions,
  type LoadCheckpointOptions,
  type LoadGgufOptions,
  type LoadModelOptions,
  loadModel,
} from './models/load.js';
export { lengthCurve, perplexity } from './models/measure.js';
export type { Model, ModelInfo, RopeChange } from './models/model.js';
export { openGguf } from './models/open-gguf.js';
export type { Pooling } from './models/pooling.js';
export { readModelConfig } from './models/read-config.js';
export { replaceEncoding } from './models/replace-encoding.js';
export type { ModelEncoding, ReplaceEncodingOptions } from './models/replaced.js';
export type { CapturedLayer, InspectOptions, PassOptions, PassProgress } from './models/run.js';
export { GgufError, SafetensorsError, StorageError } from './runtime/errors.js';
export type { Safetensors } from './safetensors/file.js';
export type { SafetensorsDtype } from './safetensors/header.js';
export { type OpenSafetensorsOptions, openSafetensors } from './safetensors/open.js';
export { firstJson } from './sampling/json.js';
export { type LogitBias, type SampleOptions, type SamplingOptions, sample } from './sampling/sampling.js';
export { type CachedOptions, cached, type StoredFile, storedFiles } from './sources/cached.js';
export type { StoredArray } from './sources/numbers.js';
export type { FileSource } from './sources/open-source.js';
export type { OpenOptions } from './sources/opening.js';
export type { CachedFile } from './sources/source.js';
export type {
  ReadIntoOptions,
  ReadOptions,
  ReadProgress,
  ReadSliceOptions,
  ReadTensorOptions,
  TensorFile,
  TensorInfo,
} from './sources/tensor-file.js';
