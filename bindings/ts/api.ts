// The exports that all entries of the package share; each adds its own load().

export type { AttentionOptions, AttentionResult, Scored, ScoreRequest } from './attention/attention.js';
export { type CopeOptions, copeBias } from './attention/cope.js';
export { type DebertaOptions, debertaAttention } from './attention/deberta.js';
export type { KeepMaskInput } from './attention/mask.js';
export type { PerHeadOptions } from './attention/per-head.js';
export type { AttentionPosition, BertTable } from './attention/position.js';
export { type TransformerXlOptions, transformerXlAttention } from './attention/transformer-xl.js';
export type { VisibilityOptions } from './attention/visibility.js';
export { type RopeConfigOptions, type RopeFactSource, type RopeSources, ropeFromConfig } from './checkpoints/config.js';
export type { ExplainedPair, ExplainOptions, RopeExplanation, ScalingBand } from './checkpoints/explain.js';
export { type GgmlRope, type MlxRope, ropeFromGgml, ropeFromMlx } from './checkpoints/runtimes.js';
export type { RopeWarning } from './checkpoints/warnings.js';
export type { AlibiOptions, AlibiVariant } from './encodings/alibi.js';
export type { Analysis, FrequencySet, Measure } from './encodings/analysis.js';
export { type AxialTableOptions, axialTable } from './encodings/axial.js';
export type { BiasShape } from './encodings/bias-shape.js';
export type { BinaryOptions } from './encodings/binary.js';
export { type EncodingFamily, type EncodingInfo, type EncodingName, encodings } from './encodings/encodings.js';
export type { FireOptions, FireParameters } from './encodings/fire.js';
export type { KerpleKind, KerpleNumbers, KerpleOptions } from './encodings/kerple.js';
export type { ExtendLearnedOptions, LearnedOptions } from './encodings/learned.js';
export type { RelativeRowsOptions, RelativeSign } from './encodings/relative.js';
export type { SandwichOptions, SandwichVectors } from './encodings/sandwich.js';
export type { SinusoidalOptions, SinusoidalTable, SinusoidLayout } from './encodings/sinusoidal.js';
export type { T5BiasOptions, T5Options } from './encodings/t5.js';
export type { LoadOptions } from './instance.js';
export type { CacheAttentionOptions, CachePosition } from './kv-cache/attend.js';
export type { KvCache, MergeOptions, TokenRange } from './kv-cache/kv-cache.js';
export type { AppendOptions, CacheRope, CacheStorage, CacheWindow, KvCacheOptions } from './kv-cache/options.js';
export type { RestoreOptions } from './kv-cache/restore.js';
export type { GeluOptions, LayerActivation } from './layers/activations.js';
export type {
  AttentionForwardOptions,
  AttentionLayer,
  AttentionLayerOptions,
  LayerPosition,
} from './layers/attention-layer.js';
export type { LayerCacheOptions } from './layers/cache.js';
export type { AttentionCaptureName, CaptureName, LayerResult } from './layers/capture.js';
export type { EmbedOptions, EmbedResult } from './layers/embedding.js';
export type { Layer } from './layers/layer.js';
export type { Linear, LinearOptions } from './layers/linear.js';
export type { LayerNormOptions, RmsNormOptions } from './layers/norms.js';
export type { AttentionLayerWeights, LayerAttentionOptions, LayerSizeOptions } from './layers/options.js';
export type { ForwardOptions } from './layers/pass.js';
export type { TransformerPosition } from './layers/position.js';
export type {
  NormPlacement,
  TransformerLayer,
  TransformerLayerOptions,
  TransformerLayerWeights,
} from './layers/transformer-layer.js';
export type {
  BlockType,
  StoredWeight,
  WeightArithmetic,
  WeightInput,
  WeightShape,
  WeightStorage,
  WeightType,
} from './layers/weights.js';
export type { FeatureMap, LinearForm, OutputNorm, RopeForm } from './linear-attention/form.js';
export type {
  DenominatorReport,
  LinearAttentionOptions,
  LinearAttentionResult,
  LinearPosition,
} from './linear-attention/linear-attention.js';
export type {
  RecurrentAttentionOptions,
  RecurrentAttentionResult,
  UpdateRule,
} from './linear-attention/recurrent-attention.js';
export type {
  LinearAppendOptions,
  LinearAttentionState,
  LinearAttentionStateOptions,
  LinearStatePosition,
} from './linear-attention/state.js';
export { type MixedRope, type MixedRopeOptions, mixedRope } from './rope/mixed.js';
export {
  type MropeAdvance,
  type MropeOptions,
  type MropePositions,
  type MropeSegment,
  mropePositions,
} from './rope/mrope.js';
export type { Angles, Pairing, RopeAxes, RopeOptions, RopeScaling, XPos } from './rope/options.js';
export {
  type ConvertPairingOptions,
  convertPairing,
  type DetectPairingOptions,
  type PairingArray,
  type PairingDetection,
  type PermutePairingOptions,
  permutePairing,
} from './rope/pairing.js';
export type {
  RerotateOptions,
  RopePlan,
  RopeTables,
  RotateBothOptions,
  Rotated,
  RotateOptions,
  TableWidth,
} from './rope/rope.js';
export type { RotaryEmbeddingOptions } from './rope/rotary-embedding.js';
export type { Ropewalk } from './ropewalk.js';
export type { IntegersInput } from './runtime/check.js';
export {
  ArgumentRangeError,
  ArgumentTypeError,
  InstanceLostError,
  OutOfMemoryError,
  StateError,
  UnsupportedError,
} from './runtime/errors.js';
export type { Handle } from './runtime/handle.js';
export type { FloatsOf, HeadOptions } from './runtime/in-place.js';
export type { Info, Instance, Memory } from './runtime/instance.js';
export type { Layout } from './runtime/layout.js';
export type { Out, OutOption, ResultOf } from './runtime/outputs.js';
export type { PositionOptions, PositionsInput, RowsInput, RowsRange } from './runtime/positions.js';
export type { ScoreStage } from './runtime/score-stages.js';
export type { ArrayLikeInput, NdArray, Tensor, TensorInput } from './runtime/tensor.js';
export type { Own, OwnBytes, OwnDoubles, OwnFloats, OwnIntegers } from './runtime/typed-arrays.js';
