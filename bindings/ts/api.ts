// What every entry of the package gives beside its load().
export type { GeluOptions, LayerActivation } from './activations.js';
export type { AlibiOptions, AlibiVariant } from './alibi.js';
export type { Analysis, FrequencySet, Measure } from './analysis.js';
export type { AttentionOptions, AttentionResult, ScoreRequest } from './attention.js';
export type {
  AttentionForwardOptions,
  AttentionLayer,
  AttentionLayerOptions,
  LayerPosition,
} from './attention-layer.js';
export type { AttentionPosition, BertTable } from './attention-position.js';
export type { BiasShape } from './bias-shape.js';
export type { BinaryOptions } from './binary.js';
export type { AttentionCaptureName, CaptureName, LayerResult } from './capture.js';
export type { IntegersInput } from './check.js';
export { type RopeConfigOptions, ropeFromConfig } from './config.js';
export { type GgmlRope, type MlxRope, ropeFromGgml, ropeFromMlx } from './config-runtimes.js';
export type { EmbedOptions } from './embedding.js';
export { type EncodingFamily, type EncodingInfo, type EncodingName, encodings } from './encodings.js';
export {
  ArgumentRangeError,
  ArgumentTypeError,
  InstanceLostError,
  OutOfMemoryError,
  StateError,
  UnsupportedError,
} from './errors.js';
export type { ExplainedPair, ExplainOptions, RopeExplanation, ScalingBand } from './explain.js';
export type { RopeWarning } from './explain-warnings.js';
export type { Handle } from './handle.js';
export type { HeadOptions } from './in-place.js';
export type { LoadOptions } from './instance.js';
export type { KerpleKind, KerpleNumbers, KerpleOptions } from './kerple.js';
export type { KvCache, MergeOptions, TokenRange } from './kv-cache.js';
export type { CacheAttentionOptions, CachePosition } from './kv-cache-attend.js';
export type { AppendOptions, CacheRope, CacheWindow, KvCacheOptions } from './kv-cache-options.js';
export type { RestoreOptions } from './kv-cache-restore.js';
export type { Layer } from './layer.js';
export type { LayerCacheOptions } from './layer-cache.js';
export type { AttentionLayerWeights, LayerAttentionOptions, LayerSizeOptions } from './layer-options.js';
export type { ForwardOptions } from './layer-pass.js';
export type { TransformerPosition } from './layer-position.js';
export type { Layout } from './layout.js';
export type { ExtendLearnedOptions, LearnedOptions } from './learned.js';
export type { Linear, LinearOptions } from './linear.js';
export type {
  DenominatorReport,
  LinearAttentionOptions,
  LinearAttentionResult,
  LinearPosition,
} from './linear-attention.js';
export type {
  LinearAppendOptions,
  LinearAttentionState,
  LinearAttentionStateOptions,
  LinearStatePosition,
} from './linear-attention-state.js';
export type { FeatureMap, LinearForm, OutputNorm, RopeForm } from './linear-form.js';
export type { KeepMaskInput } from './mask.js';
export {
  type MropeAdvance,
  type MropeOptions,
  type MropePositions,
  type MropeSegment,
  mropePositions,
} from './mrope.js';
export type { LayerNormOptions, RmsNormOptions } from './norms.js';
export type { Out, OutOption, ResultOf } from './outputs.js';
export {
  type ConvertPairingOptions,
  convertPairing,
  type DetectPairingOptions,
  type PairingArray,
  type PairingDetection,
  type PermutePairingOptions,
  permutePairing,
} from './pairing.js';
export type { PositionOptions, PositionsInput, RowsInput } from './positions.js';
export type { RecurrentAttentionOptions, RecurrentAttentionResult, UpdateRule } from './recurrent-attention.js';
export type { RelativeRowsOptions, RelativeSign } from './relative.js';
export type {
  RerotateOptions,
  RopePlan,
  RopeTables,
  RotateBothOptions,
  Rotated,
  RotateOptions,
  TableWidth,
} from './rope.js';
export type { Angles, Pairing, RopeAxes, RopeOptions, RopeScaling, XPos } from './rope-options.js';
export type { Info, Memory, Ropewalk } from './ropewalk.js';
export type { RotaryEmbeddingOptions } from './rotary-embedding.js';
export type { ScoreStage } from './score-stages.js';
export type { SightOptions } from './sight.js';
export type { SinusoidalOptions, SinusoidLayout } from './sinusoidal.js';
export type { T5BiasOptions, T5Options } from './t5.js';
export type { ArrayLikeInput, NdArray, Tensor, TensorInput } from './tensor.js';
export type {
  NormPlacement,
  TransformerLayer,
  TransformerLayerOptions,
  TransformerLayerWeights,
} from './transformer-layer.js';
export type { WeightInput, WeightShape, WeightStorage, WeightType } from './weights.js';
