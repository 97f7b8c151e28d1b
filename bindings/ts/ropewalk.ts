// One instance of ropewalk, as load() makes it.

import { type AttentionOptions, type AttentionResult, attention, type ScoreRequest } from './attention/attention.js';
import { type ExplainOptions, explainRope, type RopeExplanation } from './checkpoints/explain.js';
import { type AlibiOptions, alibiBias, alibiSlopes } from './encodings/alibi.js';
import { Analysis } from './encodings/analysis.js';
import { type BinaryOptions, binary } from './encodings/binary.js';
import { type FireOptions, fireBias } from './encodings/fire.js';
import { type KerpleOptions, kerpleBias } from './encodings/kerple.js';
import { type ExtendLearnedOptions, extendLearned, type LearnedOptions, learned } from './encodings/learned.js';
import { type RelativeRowsOptions, relativeRows } from './encodings/relative.js';
import { type SandwichOptions, sandwichBias } from './encodings/sandwich.js';
import { type SinusoidalOptions, type SinusoidalTable, sinusoidal } from './encodings/sinusoidal.js';
import { type T5BiasOptions, type T5Options, t5Bias, t5Buckets } from './encodings/t5.js';
import { createKvCache, type KvCache } from './kv-cache/kv-cache.js';
import type { KvCacheOptions } from './kv-cache/options.js';
import { type RestoreOptions, restoreKvCache } from './kv-cache/restore.js';
import { type GeluOptions, gelu, silu, softmax } from './layers/activations.js';
import { AttentionLayer, type AttentionLayerOptions } from './layers/attention-layer.js';
import { type EmbedOptions, type EmbedResult, embed } from './layers/embedding.js';
import { Linear, type LinearOptions } from './layers/linear.js';
import { type LayerNormOptions, layerNorm, type RmsNormOptions, rmsNorm } from './layers/norms.js';
import { TransformerLayer, type TransformerLayerOptions } from './layers/transformer-layer.js';
import type { StoredWeight } from './layers/weights.js';
import {
  type LinearAttentionOptions,
  type LinearAttentionResult,
  linearAttention,
} from './linear-attention/linear-attention.js';
import {
  type RecurrentAttentionOptions,
  type RecurrentAttentionResult,
  recurrentAttention,
} from './linear-attention/recurrent-attention.js';
import { LinearAttentionState, type LinearAttentionStateOptions } from './linear-attention/state.js';
import type { RopeOptions } from './rope/options.js';
import { type DetectPairingOptions, detectPairing, type PairingDetection } from './rope/pairing.js';
import { RopePlan } from './rope/rope.js';
import { type RotaryEmbeddingOptions, rotaryEmbedding } from './rope/rotary-embedding.js';
import type { IntegersInput } from './runtime/check.js';
import * as check from './runtime/check.js';
import type { Heap } from './runtime/heap.js';
import type { FloatsOf } from './runtime/in-place.js';
import { type Info, type Instance, type Memory, memoryOf, shareHeap } from './runtime/instance.js';
import type { Out, OutOption, ResultOf } from './runtime/outputs.js';
import { type ArrayLikeInput, type NdArray, Tensor, type TensorInput } from './runtime/tensor.js';
import type { OwnDoubles, OwnFloats, OwnIntegers } from './runtime/typed-arrays.js';

/**
 * An instance with a heap of its own. Tensors, plans and layers work only with the instance that made them. Its methods
 * throw ArgumentTypeError or ArgumentRangeError for wrong arguments, StateError for objects that were disposed of or
 * belong to another instance, and OutOfMemoryError where the heap cannot grow.
 */
export class Ropewalk implements Instance {
  readonly #heap: Heap;
  readonly #info: Info;
  /** Measures encodings: shift matrices, decay with distance, similarity of positions. */
  readonly analysis: Analysis;

  /** @internal */
  constructor(heap: Heap, info: Info) {
    this.#heap = heap;
    this.#info = Object.freeze(info);
    this.analysis = new Analysis(heap);
    shareHeap(this, heap);
  }

  /** Version of the package, and the build in use. */
  info(): Info {
    return this.#info;
  }

  /** Memory in use, in bytes, and the number of live objects. */
  memory(): Memory {
    return memoryOf(this.#heap);
  }

  /**
   * Resets `memory().peak` to the memory in use now.
   *
   * @example
   * rw.resetPeak();
   * rw.attention(q, k, v);
   * const { peak } = rw.memory();
   */
  resetPeak(): void {
    this.#heap.call((core) => core.resetPeak());
  }

  /**
   * A tensor in wasm memory: zeros, or a copy of `data`.
   *
   * @param shape sizes, outermost first; fewer than 2^30 numbers in all: the heap has at most 4 GiB.
   *
   * @example
   * using x = rw.tensor([2, 3], Float32Array.of(1, 2, 3, 4, 5, 6));
   */
  tensor(shape: readonly number[], data?: Float32Array): Tensor {
    const dims = check.shape('tensor', 'shape', shape);
    if (data !== undefined) check.float32('tensor', 'data', data, check.sizeOf(dims));
    const source = data && this.#heap.owns(data) ? new Float32Array(data) : data;
    const tensor = new Tensor(this.#heap, dims, 'tensor');
    if (source !== undefined) return tensor.set(source);
    tensor.view().fill(0);
    return tensor;
  }

  /**
   * A plan of rotary position embedding.
   *
   * @example
   * const plan = rw.rope({ headDim: 128, base: 500000, scaling: { type: 'llama3', factor: 8, originalLength: 8192 } });
   */
  rope(options: RopeOptions): RopePlan {
    return new RopePlan(this.#heap, options);
  }

  /**
   * Explains a RoPE, as numbers and as text: wavelengths, turns within the training length, the pairs that a scaling
   * blends, the attention factor, and a warning for each known trap. Gives null for layers without RoPE.
   *
   * @param config a Hugging Face config.json, parsed, or the options of `rope()`.
   *
   * @example
   * console.log(rw.explainRope({ headDim: 128, scaling: { type: 'yarn', factor: 4, originalLength: 32768 } })?.text);
   */
  explainRope(
    config: RopeOptions | Readonly<Record<string, unknown>>,
    options: ExplainOptions = {},
  ): RopeExplanation | null {
    return explainRope(this.#heap, config, options);
  }

  /**
   * Finds the pairing that another program used, from its scores before softmax. Needs tokens at several positions: at
   * position 0 both pairings agree.
   *
   * @param q [T, D] or [H, T, D], not rotated
   * @param k [T, D] or [G, T, D], not rotated; G divides H
   * @param scores [Tq, Tk] or [H, Tq, Tk]; -Infinity where masked.
   *
   * @example
   * const { pairing } = rw.detectPairing(q, k, scores, { base: 500000 });   // 'half', 'interleaved' or undefined
   */
  detectPairing(
    q: TensorInput,
    k: TensorInput,
    scores: TensorInput,
    options: DetectPairingOptions = {},
  ): PairingDetection {
    return detectPairing(this.#heap, q, k, scores, options);
  }

  /**
   * Rotates by the caller's cos and sin tables: ONNX RotaryEmbedding (opset 23). A plan of `rope()` needs no tables and
   * is exact at every position. A tensor is rotated in place; a plain array gives a new one.
   *
   * @param x [.., T, D], with the axes in the order of `layout`.
   *
   * @example
   * const y = rw.rotaryEmbedding({ data, shape: [1, 4, 3, 8] }, { cos, sin, positions: [0, 1, 2] });
   */
  rotaryEmbedding(x: Tensor, options: RotaryEmbeddingOptions): Tensor;
  rotaryEmbedding<O extends Float32Array | undefined = undefined>(
    x: Float32Array,
    options: RotaryEmbeddingOptions<O>,
  ): FloatsOf<O>;
  rotaryEmbedding<O extends Float32Array | undefined = undefined>(
    x: ArrayLikeInput,
    options: RotaryEmbeddingOptions<O>,
  ): NdArray<FloatsOf<O>>;
  rotaryEmbedding(x: TensorInput, options: RotaryEmbeddingOptions): Tensor | NdArray<Float32Array>;
  rotaryEmbedding(
    x: Tensor | Float32Array | ArrayLikeInput,
    options: RotaryEmbeddingOptions,
  ): Tensor | Float32Array | NdArray<Float32Array> {
    return rotaryEmbedding(this.#heap, x, options);
  }

  /**
   * The sinusoidal table (Vaswani et al., arXiv:1706.03762), [positions, dim] row major, within 0.501 ulp at every
   * position up to ±(2^53 - 1).
   *
   * @example
   * const table = rw.sinusoidal({ dim: 512, positions: { length: 8192 } });   // Float32Array(8192 * 512)
   */
  sinusoidal<O extends Out = undefined>(options: SinusoidalOptions<O>): SinusoidalTable<O> {
    return sinusoidal(this.#heap, options);
  }

  /**
   * Binary position code: the bits of each position, [positions, bits]. A position that needs more bits is refused.
   *
   * @example
   * rw.binary({ bits: 4, positions: [7, 8] });   // 1 1 1 0, 0 0 0 1: neighbours that differ in every bit
   */
  binary(options: BinaryOptions): OwnFloats {
    return binary(this.#heap, options);
  }

  /**
   * Merges learned absolute positions with token vectors.
   *
   * @param x [T, dim] or [B, T, dim]
   *
   * @example
   * const { data } = rw.learned({ data: tokens, shape: [10, 64] }, { table: { data: weights, shape: [512, 64] } });
   */
  learned(x: TensorInput, options: LearnedOptions): NdArray {
    return learned(this.#heap, x, options);
  }

  /**
   * Extends a learned table of n rows to up to n² rows (Su 2020), each a mix of a coarse and a fine position; the first
   * n rows do not change.
   *
   * @param table [n, dim]
   *
   * @example
   * const longer = rw.extendLearned({ data: weights, shape: [512, 64] }, { length: 2048 });
   */
  extendLearned(table: TensorInput, options: ExtendLearnedOptions): NdArray {
    return extendLearned(this.#heap, table, options);
  }

  /**
   * ALiBi's slope of each head (Press et al., arXiv:2108.12409), for 1 to 65536 heads, a power of two or not.
   *
   * @example
   * rw.alibiSlopes(8);   // 0.5, 0.25, ... 0.00390625
   */
  alibiSlopes(heads: number): OwnDoubles {
    return alibiSlopes(this.#heap, heads);
  }

  /**
   * ALiBi as a bias for attention scores, [H, Tq, Tk].
   *
   * @example
   * const bias = rw.alibiBias({ heads: 8, queries: 1, keys: 100 });   // one new token after 99
   */
  alibiBias<O extends Out = undefined>(options: AlibiOptions<O>): ResultOf<NdArray, O> {
    return alibiBias(this.#heap, options);
  }

  /**
   * T5's bucket of each relative position, key minus query (Raffel et al., arXiv:1910.10683).
   *
   * @example
   * rw.t5Buckets([-1, 0, 1, 200]);   // 1, 0, 17, 31
   */
  t5Buckets(relativePositions: IntegersInput, options: T5Options = {}): OwnIntegers {
    return t5Buckets(this.#heap, relativePositions, options);
  }

  /**
   * T5's bias for attention scores, [H, Tq, Tk].
   *
   * @example
   * const bias = rw.t5Bias({ table: { data: weights, shape: [32, 8] }, queries: 10, keys: 10 });
   */
  t5Bias<O extends Out = undefined>(options: T5BiasOptions<O>): ResultOf<NdArray, O> {
    return t5Bias(this.#heap, options);
  }

  /**
   * KERPLE as a bias for attention scores (Chi et al., arXiv:2205.09921), [H, Tq, Tk].
   *
   * @example
   * const bias = rw.kerpleBias({ r1: Float32Array.of(1, 1), r2: Float32Array.of(0.5, 2), queries: 1, keys: 100 });
   */
  kerpleBias<O extends Out = undefined>(options: KerpleOptions<O>): ResultOf<NdArray, O> {
    return kerpleBias(this.#heap, options);
  }

  /**
   * FIRE as a bias for attention scores (Li et al., arXiv:2310.04418), [H, Tq, Tk].
   *
   * @example
   * const network = { hiddenWeights, hiddenBias, outWeights, outBias };
   * const bias = rw.fireBias({ c: 0.1, threshold: 512, ...network, queries: 1, keys: 100 });
   */
  fireBias<O extends Out = undefined>(options: FireOptions<O>): ResultOf<NdArray, O> {
    return fireBias(this.#heap, options);
  }

  /**
   * Sandwich as a bias for attention scores (Chi et al., arXiv:2212.10356), [H, Tq, Tk]: products of sinusoidal vectors,
   * divided by 8 (h + 1) / H for head h.
   *
   * @example
   * const bias = rw.sandwichBias({ heads: 8, queries: 1, keys: 100 });   // one new token after 99
   */
  sandwichBias<O extends Out = undefined>(options: SandwichOptions<O>): ResultOf<NdArray, O> {
    return sandwichBias(this.#heap, options);
  }

  /**
   * The row of a relative table for each query and key, [Tq, Tk]: the clipped distance, shifted to start at 0.
   *
   * @example
   * rw.relativeRows({ queries: 5, keys: 5, maxDistance: 2 });   // row 0: 2 3 4 4 4
   */
  relativeRows(options: RelativeRowsOptions): OwnIntegers {
    return relativeRows(this.#heap, options);
  }

  /**
   * Scaled dot-product attention, softmax(scale q kᵀ + bias) v, with any of the position encodings.
   *
   * @param q [B, H, Tq, D]
   * @param k [B, G, Tk, D]; G divides H, and consecutive query heads share a key head.
   * @param v [B, G, Tk, Dv]
   *
   * @example
   * const { out, scores } = rw.attention(q, k, v, { causal: true, returnScores: 'probabilities' });
   * const rotated = rw.attention(q, k, v, { causal: true, position: { encoding: 'rope', plan } });
   */
  attention<const S extends ScoreRequest = 'none', X extends TensorInput = TensorInput, O extends Out = undefined>(
    q: X,
    k: TensorInput,
    v: TensorInput,
    options: AttentionOptions<S, O> = {},
  ): AttentionResult<ResultOf<X>, S, ResultOf<X, O>> {
    return attention(this.#heap, q, k, v, options);
  }

  /**
   * A cache of the keys and values that one layer has computed so far.
   *
   * @example
   * using cache = rw.kvCache({ kvHeads: 8, headDim: 64, rope: { plan }, window: { size: 4096, sinkTokens: 4 } });
   * const { out } = cache.append(k, v).attend(q);   // the new tokens' keys, values and queries, not rotated yet
   */
  kvCache(options: KvCacheOptions): KvCache {
    return createKvCache(this.#heap, options);
  }

  /**
   * Restores a cache from the bytes of `cache.save()`; attention over it gives the same bits.
   *
   * @throws ArgumentRangeError for a buffer that holds no saved cache or was cut or altered, and where a plan that
   *   rotated its keys is not given.
   *
   * @example
   * using cache = rw.restoreKvCache(buffer, { plan });
   */
  restoreKvCache(buffer: ArrayBuffer | Uint8Array, options: RestoreOptions = {}): KvCache {
    return restoreKvCache(this.#heap, buffer, options);
  }

  /**
   * Layer norm over the last axis, (x - mean) / sqrt(variance + eps) * weight + bias with the biased variance
   * (Ba et al., arXiv:1607.06450). Tensors give a tensor, plain arrays a plain array.
   *
   * @param x [.., n]; NaN and infinity stay in their row. As a tensor it may be `out`.
   *
   * @example
   * const { data } = rw.layerNorm({ data: hidden, shape: [10, 768] }, { weight, bias, eps: 1e-12 });
   */
  layerNorm<X extends TensorInput, O extends Out = undefined>(x: X, options: LayerNormOptions<O> = {}): ResultOf<X, O> {
    return layerNorm(this.#heap, x, options);
  }

  /**
   * Root mean square norm over the last axis, x / sqrt(mean(x²) + eps) * weight (Zhang and Sennrich,
   * arXiv:1910.07467). Tensors give a tensor, plain arrays a plain array.
   *
   * @param x [.., n]; a norm of each head's q or k takes them as [B, T, H, D] or [B, H, T, D], with weight [D].
   *   As a tensor it may be `out`.
   *
   * @example
   * const { data } = rw.rmsNorm({ data: hidden, shape: [10, 2048] }, { weight, eps: 1e-5 });
   */
  rmsNorm<X extends TensorInput, O extends Out = undefined>(x: X, options: RmsNormOptions<O> = {}): ResultOf<X, O> {
    return rmsNorm(this.#heap, x, options);
  }

  /**
   * GELU, x Φ(x) with Φ the normal distribution function (Hendrycks and Gimpel, arXiv:1606.08415), within 5 ulp, and
   * 0 below -13.2442, where the exact value is within 1e-38 of 0; or its approximation by tanh.
   *
   * @param x any shape; as a tensor it may be `out`.
   *
   * @example
   * const { data } = rw.gelu({ data: Float32Array.of(-1, 0, 1), shape: [3] });   // -0.15865525, 0, 0.8413447
   */
  gelu<X extends TensorInput, O extends Out = undefined>(x: X, options: GeluOptions<O> = {}): ResultOf<X, O> {
    return gelu(this.#heap, x, options);
  }

  /**
   * SiLU (swish), x / (1 + e^-x), within 4 ulp for x >= -87.33; below that within 4e-36, and -0 below -87.7 (Elfwing et
   * al., arXiv:1702.03118).
   *
   * @param x any shape; as a tensor it may be `out`.
   *
   * @example
   * const { data } = rw.silu({ data: Float32Array.of(-1, 0, 1), shape: [3] });   // -0.26894143, 0, 0.7310586
   */
  silu<X extends TensorInput, O extends Out = undefined>(x: X, options: OutOption<O> = {}): ResultOf<X, O> {
    return silu(this.#heap, x, options);
  }

  /**
   * Softmax over the last axis. -Infinity gives exactly 0, and a row of only -Infinity gives zeros, as in `attention`;
   * NaN and Infinity make their row NaN.
   *
   * @param x [.., n]; as a tensor it may be `out`.
   *
   * @example
   * const { data } = rw.softmax({ data: Float32Array.of(0, 0, -Infinity), shape: [1, 3] });   // 0.5, 0.5, 0
   * rw.softmax(scores, { out: scores });   // a tensor, in place
   */
  softmax<X extends TensorInput, O extends Out = undefined>(x: X, options: OutOption<O> = {}): ResultOf<X, O> {
    return softmax(this.#heap, x, options);
  }

  /**
   * Rows of an embedding table, [.., M]. A plain table is copied for each call; keep a large one as a tensor. Of a table in
   * the format of a checkpoint only the rows of the ids are copied and widened.
   *
   * @param table [V, M]: numbers, a tensor, or `{ type, data, shape }` with float16, bfloat16 or blocks of a GGUF file.
   * @param ids integers from 0 to V - 1; others throw ArgumentRangeError.
   *
   * @example
   * using table = rw.tensor([30522, 768], weights);
   * using x = rw.embed(table, [101, 7592, 102]);   // [3, 768]
   * rw.embed(table, [1012, 102, 0], { out: x });   // the next three in the same memory
   */
  embed<X extends TensorInput | StoredWeight, O extends Out = undefined>(
    table: X,
    ids: IntegersInput,
    options: EmbedOptions<O> = {},
  ): EmbedResult<X, O> {
    return embed(this.#heap, table, ids, options);
  }

  /**
   * Linear attention (Katharopoulos et al., arXiv:2006.16236): out_i = sum_j w_ij v_j / sum_j w_ij with w_ij a product
   * of features, in time proportional to T rather than T². Causal results are computed in blocks of tokens, and equal
   * the recurrence up to rounding. NaN in a query stays in its row, in a key or value in the rows that attend to it.
   *
   * @param q [B, H, Tq, D]
   * @param k [B, G, Tk, D]; G divides H, and consecutive query heads share a key head.
   * @param v [B, G, Tk, Dv]
   *
   * @example
   * const { out, denominator } = rw.linearAttention(q, k, v, {
   *   causal: true,
   *   featureMap: 'relu',
   *   position: { encoding: 'rope', plan, form: 'both' },
   * });
   * console.log(denominator?.minimum, denominator?.negative);   // how near 0 the sums of weights came
   */
  linearAttention<X extends TensorInput, O extends Out = undefined>(
    q: X,
    k: TensorInput,
    v: TensorInput,
    options: LinearAttentionOptions<O> = {},
  ): LinearAttentionResult<ResultOf<X>, ResultOf<X, O>> {
    return linearAttention(this.#heap, q, k, v, options);
  }

  /**
   * Causal linear attention that continues from call to call, with a state of fixed size in place of cached keys and
   * values.
   *
   * @example
   * using state = rw.linearAttentionState({ headDim: 64, kvHeads: 8 });
   * const { out } = state.append(q, k, v);   // [8, T, 64] each, T = 1 when decoding
   * console.log(state.bytes, state.tokens);  // bytes stay constant, tokens grow
   */
  linearAttentionState(options: LinearAttentionStateOptions): LinearAttentionState {
    return new LinearAttentionState(this.#heap, options);
  }

  /**
   * Linear attention as a recurrence that may forget (gates) and correct (delta rule): ONNX LinearAttention (opset 27).
   * Nothing is divided, keys are used without a feature map, and the state is float32.
   *
   * @param q [B, H, T, D]
   * @param k [B, G, T, D]; G divides H, and consecutive query heads share a state.
   * @param v [B, G, T, Dv]
   * @throws ArgumentRangeError for a gate that the rule does not use; ArgumentTypeError for a missing one.
   *
   * @example
   * const first = rw.recurrentAttention(q, k, v, { updateRule: 'gated', decay });   // decay [G, T], logarithms
   * const next = rw.recurrentAttention(q1, k1, v1, { updateRule: 'gated', decay: decay1, state: first.state });
   */
  recurrentAttention<X extends TensorInput, O extends Out = undefined>(
    q: X,
    k: TensorInput,
    v: TensorInput,
    options: RecurrentAttentionOptions<O> = {},
  ): RecurrentAttentionResult<ResultOf<X>, ResultOf<X, O>> {
    return recurrentAttention(this.#heap, q, k, v, options);
  }

  /**
   * An affine map y = f(x W^T + b) with weights packed once: a projection, repeated products with one matrix, or a
   * matrix times a vector.
   *
   * @throws ArgumentRangeError where weight and bias do not fit or a number is outside the range of the storage.
   *
   * @example
   * using query = rw.linear({ weight: { data: w, shape: [512, 768], type: 'bfloat16' } });
   * const q = query.apply(x);   // x [128, 768], q [128, 512]
   * using small = rw.linear({ weight: { data: w, shape: [512, 768], type: 'bfloat16' }, storage: 'q8_0' });
   * small.bytes;                // 417792, 34 for 32 weights
   */
  linear(options: LinearOptions): Linear {
    return new Linear(this.#heap, options);
  }

  /**
   * A multi-head self-attention layer with projections, with given weights or seeded ones.
   *
   * @example
   * const layer = rw.attentionLayer({ modelDim: 64, heads: 4, position: { encoding: 'sinusoidal' }, seed: 1 });
   */
  attentionLayer(options: AttentionLayerOptions): AttentionLayer {
    return new AttentionLayer(this.#heap, options);
  }

  /**
   * An encoder layer: a norm after each residual sum, full attention, GELU. BERT with any position type, RoFormer.
   *
   * @example
   * const layer = rw.encoderLayer({
   *   modelDim: 768, heads: 12, hiddenDim: 3072, position: { encoding: 'rope', pairing: 'interleaved' }, weights,
   * });
   * const { out } = layer.forward(x, { mask: { data: padding, shape: [batch, 1, 1, tokens] } });
   */
  encoderLayer(options: TransformerLayerOptions): TransformerLayer {
    return new TransformerLayer(this.#heap, 'encoderLayer', options);
  }

  /**
   * A decoder layer: root mean square norms before each part, causal attention, a gated feed-forward part. The LLaMA
   * family, and with other `norms` Gemma 2 and 3 or GPT-NeoX.
   *
   * @example
   * const layer = rw.decoderLayer({
   *   modelDim: 576, heads: 9, kvHeads: 3, hiddenDim: 1536, position: { encoding: 'rope', plan }, weights,
   * });
   * const { out, captured } = layer.forward(x, { capture: ['probabilities'] });
   */
  decoderLayer(options: TransformerLayerOptions): TransformerLayer {
    return new TransformerLayer(this.#heap, 'decoderLayer', options);
  }
}
