// The core as JavaScript sees it: a table of contents. Converts, never computes, never checks: the TypeScript
// package (ts/) has checked every argument before it comes here, because Embind itself turns NaN and 'abc' to
// 0. Pointers are numbers (bytes into the heap), results are Status numbers, arrays lie in the heap.
#include <emscripten/bind.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/pairwise.h"
#include "analysis/sinusoid_algebra.h"
#include "attention/attention.h"
#include "attention/kv_cache.h"
#include "attention/linear_attention.h"
#include "attention/linear_recurrence.h"
#include "encodings/alibi.h"
#include "encodings/binary.h"
#include "encodings/kerple.h"
#include "encodings/learned.h"
#include "encodings/registry.h"
#include "encodings/rope.h"
#include "encodings/rope_tables.h"
#include "encodings/sinusoidal.h"
#include "encodings/t5.h"
#include "heap_meter.h"
#include "kernels/activation.h"
#include "kernels/norm.h"
#include "kernels/softmax.h"
#include "kernels/weight_type.h"
#include "layers/embedding.h"
#include "layers/init.h"
#include "layers/transformer_block.h"
#include "memory.h"
#include "models/safetensors.h"
#include "simd.h"

namespace {

using namespace ropewalk;
using Pointer = uintptr_t;

template <class T>
T* at(Pointer p) {
  return reinterpret_cast<T*>(p);
}

int number(Status s) {
  return static_cast<int>(s);
}

// --- memory

Pointer allocate(size_t bytes) {
  return reinterpret_cast<Pointer>(alignedAllocate(bytes));
}
void release(Pointer p) {
  alignedFree(at<void>(p));
}

// --- positions: JavaScript writes doubles, which hold every position exactly; the core takes int64, in place

int64_t* integers(Pointer doubles, size_t n) {
  const double* from = at<double>(doubles);
  auto* to = at<int64_t>(doubles);
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<int64_t>(from[i]);
  return to;
}

struct PositionsCall {
  Pointer values;  // 0: offset, offset + 1, ...
  size_t count;    // entries at values
  bool per_batch;
  double offset;
};

Positions positions(const PositionsCall& p) {
  if (p.values == 0) return {nullptr, false, static_cast<int64_t>(p.offset)};
  return {integers(p.values, p.count), p.per_batch, 0};
}

// --- encodings

template <class T>
HeadView<T> heads(Pointer p, bool tokens_first, size_t b, size_t h, size_t t, size_t d) {
  return tokens_first ? tokensFirst(at<T>(p), b, h, t, d) : headsFirst(at<T>(p), b, h, t, d);
}

// In 32 bits, which a number of JavaScript holds.
unsigned fingerprintOf(const RopePlan& plan) {
  const uint64_t whole = plan.fingerprint();
  return static_cast<unsigned>(whole ^ whole >> 32);
}

int createRope(RopePlan& plan, const RopeOptions& options) {
  return number(plan.create(options));
}

struct HeadsCall {
  Pointer x;
  bool tokens_first;
  size_t batch, heads, tokens;
};

// The call of every decoding step: plain numbers cost a microsecond less than objects.
int rotateRope(RopePlan& plan, Pointer x, bool tokens_first, size_t batch, size_t head_count, size_t tokens,
               Pointer values, size_t count, bool per_batch, double offset, int turn, int role) {
  return number(plan.rotate(heads<float>(x, tokens_first, batch, head_count, tokens, plan.headDim()),
                            positions({values, count, per_batch, offset}), static_cast<Turn>(turn),
                            static_cast<Role>(role)));
}

int rerotateRope(const RopePlan& plan, const HeadsCall& x, const PositionsCall& from, const RopePlan& target,
                 const PositionsCall& to) {
  return number(plan.rerotate(heads<float>(x.x, x.tokens_first, x.batch, x.heads, x.tokens, plan.headDim()),
                              positions(from), target, positions(to)));
}

struct TablesCall {
  Pointer cos, sin;
  size_t rows, pairs;
  Pointer places;  // [batch, tokens]
  int pairing;
};

int rotateByGivenTables(const HeadsCall& x, size_t head_dim, const TablesCall& t) {
  return number(rotateByTables(heads<float>(x.x, x.tokens_first, x.batch, x.heads, x.tokens, head_dim),
                               {at<float>(t.cos), at<float>(t.sin), t.rows, t.pairs},
                               integers(t.places, x.batch * x.tokens), static_cast<Pairing>(t.pairing)));
}

// places: [axes][rows]
int ropeTables(const RopePlan& plan, Pointer places, size_t rows, Pointer cos, Pointer sin) {
  return number(plan.tables(integers(places, plan.axes() * rows), rows, at<float>(cos), at<float>(sin)));
}

void ropeFrequencies(const RopePlan& plan, Pointer out) {
  std::copy_n(plan.frequencies(), plan.pairs(), at<double>(out));
}

int encodeSinusoidal(const SinusoidalOptions& options, Pointer places, size_t rows, Pointer out) {
  return number(sinusoidal(options, integers(places, rows), rows, at<float>(out)));
}

int encodeBinary(const BinaryOptions& options, Pointer places, size_t rows, Pointer out) {
  return number(binaryCode(options, integers(places, rows), rows, at<float>(out)));
}

int mergeLearned(int mode, Pointer table, size_t table_rows, size_t dim, Pointer x, size_t x_dim,
                 Pointer places, size_t rows, Pointer out) {
  return number(learnedPositions(static_cast<LearnedMode>(mode), {at<float>(table), table_rows, dim},
                                 at<float>(x), x_dim, integers(places, rows), rows, at<float>(out)));
}

int extendLearnedTable(Pointer table, size_t table_rows, size_t dim, double alpha, size_t rows, Pointer out) {
  return number(extendLearned({at<float>(table), table_rows, dim}, alpha, rows, at<float>(out)));
}

int slopesOfAlibi(size_t head_count, Pointer out) {
  return number(alibiSlopes(head_count, at<double>(out)));
}
int biasOfAlibi(const AlibiOptions& options, Pointer out) {
  return number(alibiBias(options, at<float>(out)));
}

int createT5(T5Buckets& buckets, const T5Options& options) {
  return number(buckets.create(options));
}
void bucketsOfT5(const T5Buckets& buckets, Pointer relative, size_t n, Pointer out) {
  const int64_t* distances = integers(relative, n);
  std::transform(distances, distances + n, at<double>(out),
                 [&](int64_t d) { return static_cast<double>(buckets.bucket(d)); });
}
void biasOfT5(const T5Buckets& buckets, Pointer table, size_t head_count, size_t queries, size_t keys,
              double query_offset, Pointer out) {
  buckets.bias(at<float>(table), head_count, queries, keys, static_cast<int64_t>(query_offset),
               at<float>(out));
}

int biasOfKerple(const KerpleOptions& options, Pointer r1, Pointer r2, Pointer out) {
  return number(kerpleBias(options, at<float>(r1), at<float>(r2), at<float>(out)));
}

void rowsOfRelative(const RelativeRows& rows, size_t queries, size_t keys, double query_offset, Pointer out) {
  auto* row = at<double>(out);
  const auto offset = static_cast<int64_t>(query_offset);
  for (size_t i = 0; i < queries; ++i) {
    for (size_t j = 0; j < keys; ++j) {
      const int64_t distance = static_cast<int64_t>(j) - static_cast<int64_t>(i) - offset;
      *row++ = static_cast<double>(rows.row(distance));
    }
  }
}

// --- analysis

int shiftMatrixAt(size_t dim, double base, int layout, double k, Pointer out) {
  return number(
      shiftMatrix(dim, base, static_cast<SinusoidLayout>(layout), static_cast<int64_t>(k), at<float>(out)));
}
int dotCurveAt(size_t dim, double base, Pointer distances, size_t n, Pointer out) {
  return number(dotCurve(dim, base, integers(distances, n), n, at<double>(out)));
}
int decayCurveAt(size_t dim, double base, Pointer distances, size_t n, Pointer out) {
  return number(decayCurve(dim, base, integers(distances, n), n, at<double>(out)));
}
int decayBoundAt(size_t dim, double base, Pointer h, Pointer distances, size_t n, Pointer out) {
  return number(decayBound(dim, base, at<double>(h), integers(distances, n), n, at<double>(out)));
}
int pairwiseAt(int measure, Pointer x, size_t rows, size_t dim, Pointer out) {
  return number(pairwise(static_cast<Measure>(measure), at<float>(x), rows, dim, at<float>(out)));
}
// The pair is written to out as two doubles; false: all rows differ.
bool firstDuplicateAt(Pointer x, size_t rows, size_t dim, Pointer out) {
  size_t first = 0;
  size_t second = 0;
  const bool found = firstDuplicate(at<float>(x), rows, dim, &first, &second);
  at<double>(out)[0] = static_cast<double>(first);
  at<double>(out)[1] = static_cast<double>(second);
  return found;
}

// "name:family" of every encoding, separated by spaces
std::string encodingList() {
  std::string list;
  for (const Encoding& e : kEncodings) {
    if (!list.empty()) list += ' ';
    list += std::string(e.name) + ':' + std::to_string(static_cast<int>(e.family));
  }
  return list;
}

// --- attention

// Lists lie in the heap as doubles; null: none.
struct SightCall {
  bool causal;
  double left, right;
  size_t sink_tokens;
  double query_offset;
  Pointer query_offsets, key_positions, key_lengths;
};

// Results [B, heads asked for, Tq, Tk], and queries and keys before a rotary encoding; null: none.
struct ScoresCall {
  Pointer content, position, raw, capped, biased, probabilities, plain_q, plain_k, slots;
  size_t slot_count;
};

struct AttentionCall {
  Pointer out, q, k, v;
  size_t batch, heads, kv_heads, queries, keys, head_dim, value_dim;
  bool tokens_first;
  SightCall sight;
  AttentionOptions options;
  ScoresCall scores;
};

AttentionOptions withSight(AttentionOptions options, const SightCall& s, size_t batch, size_t keys) {
  const auto list = [](Pointer p, size_t n) { return p == 0 ? nullptr : integers(p, n); };
  options.causal = s.causal;
  options.window_left = static_cast<int64_t>(s.left);
  options.window_right = static_cast<int64_t>(s.right);
  options.sink_tokens = s.sink_tokens;
  options.query_offset = static_cast<int64_t>(s.query_offset);
  options.query_offsets = list(s.query_offsets, batch);
  options.key_positions = list(s.key_positions, keys);
  options.key_lengths = list(s.key_lengths, batch);
  return options;
}

HeadView<const float> queriesOf(const AttentionCall& c, Pointer p) {
  return heads<const float>(p, c.tokens_first, c.batch, c.heads, c.queries, c.head_dim);
}
HeadView<const float> keysOf(const AttentionCall& c, Pointer p, size_t dim) {
  return heads<const float>(p, c.tokens_first, c.batch, c.kv_heads, c.keys, dim);
}
HeadView<float> outOf(const AttentionCall& c) {
  return heads<float>(c.out, c.tokens_first, c.batch, c.heads, c.queries, c.value_dim);
}

ScoreOutputs scoresOf(const AttentionCall& c) {
  const ScoresCall& s = c.scores;
  return {at<float>(s.content),    at<float>(s.position),
          at<float>(s.raw),        at<float>(s.capped),
          at<float>(s.biased),     at<float>(s.probabilities),
          queriesOf(c, s.plain_q), keysOf(c, s.plain_k, c.head_dim),
          at<int32_t>(s.slots),    s.slot_count};
}

int runAttention(const AttentionCall& c) {
  return number(attention(outOf(c), queriesOf(c, c.q), keysOf(c, c.k, c.head_dim),
                          keysOf(c, c.v, c.value_dim), withSight(c.options, c.sight, c.batch, c.keys),
                          scoresOf(c)));
}

// --- the KV cache

int createKvCache(KvCache& cache, KvCacheOptions options, RopePlan* plan) {
  options.plan = plan;
  return number(cache.create(options));
}

Pointer addressOf(const RopePlan& plan) {
  return reinterpret_cast<Pointer>(&plan);
}
Pointer planAddress(const KvCache& cache) {
  return reinterpret_cast<Pointer>(cache.plan());
}
bool holdsKeysOf(const KvCache& cache, Pointer plan) {
  return cache.holdsKeysOf(at<RopePlan>(plan));
}

double positionAt(const KvCache& cache, size_t token) {
  return static_cast<double>(cache.positions()[token]);
}
void positionsOf(const KvCache& cache, Pointer out) {
  std::copy_n(cache.positions(), cache.length(), at<double>(out));
}
double nextPosition(const KvCache& cache) {
  return static_cast<double>(cache.nextPosition());
}
bool misses(const KvCache& cache, double position) {
  return cache.misses(static_cast<int64_t>(position));
}
double room(const KvCache& cache, double first_position) {
  return static_cast<double>(cache.room(static_cast<int64_t>(first_position)));
}

// k [B, G, T, D] and v [B, G, T, Dv]; positions [T] and places [axes, T] as doubles, or null.
struct AppendCall {
  Pointer k, v, positions, places;
  size_t tokens;
  bool tokens_first;
};

int appendToKvCache(KvCache& cache, const AppendCall& c) {
  const KvCacheOptions& o = cache.options();
  const size_t axes = o.plan == nullptr ? 1 : o.plan->axes();
  const AppendPositions positions = {c.positions == 0 ? nullptr : integers(c.positions, c.tokens),
                                     c.places == 0 ? nullptr : integers(c.places, axes * c.tokens)};
  return number(cache.append(
      heads<const float>(c.k, c.tokens_first, o.batch, o.kv_heads, c.tokens, o.head_dim),
      heads<const float>(c.v, c.tokens_first, o.batch, o.kv_heads, c.tokens, o.value_dim), positions));
}

int mergeKvCaches(KvCache& cache, const KvCache& other, size_t first, size_t count, bool placed,
                  double position) {
  const auto first_position = static_cast<int64_t>(position);
  return number(cache.merge(other, first, count, placed ? &first_position : nullptr));
}

int truncateKvCache(KvCache& cache, size_t length) {
  return number(cache.truncate(length));
}
int dropFromKvCache(KvCache& cache, size_t first, size_t count) {
  return number(cache.drop(first, count));
}
int shiftKvCache(KvCache& cache, size_t first, size_t count, double by) {
  return number(cache.shift(first, count, static_cast<int64_t>(by)));
}
int switchKvCache(KvCache& cache, RopePlan& plan) {
  return number(cache.switchTo(&plan));
}
int copyPrefixOfKvCache(const KvCache& cache, size_t length, KvCache& copy) {
  return number(cache.copyPrefix(length, &copy));
}

int keysOfKvCache(KvCache& cache, Pointer out) {
  HeadView<const float> view;
  const Status status = cache.keys(&view);
  if (status == Status::kOk) {
    copyHeads(headsFirst(at<float>(out), view.batch, view.heads, view.tokens, view.dim), view);
  }
  return number(status);
}
void valuesOfKvCache(const KvCache& cache, Pointer out) {
  const HeadView<const float> view = cache.values();
  copyHeads(headsFirst(at<float>(out), view.batch, view.heads, view.tokens, view.dim), view);
}

// c.k and c.v are the cache's.
int attendOverKvCache(KvCache& cache, const AttentionCall& c, bool at_end) {
  return number(cache.attend(outOf(c), {queriesOf(c, c.q), at_end, false},
                             withSight(c.options, c.sight, c.batch, c.keys), scoresOf(c)));
}

void saveKvCache(const KvCache& cache, Pointer out) {
  cache.save(at<uint8_t>(out));
}
// plans: addresses of plans
int checkSavedKvCache(Pointer bytes, size_t size, Pointer plans, size_t plan_count) {
  return static_cast<int>(KvCache::checkSaved(at<uint8_t>(bytes), size, at<RopePlan*>(plans), plan_count));
}
int restoreKvCache(KvCache& cache, Pointer bytes, size_t size, Pointer plans, size_t plan_count) {
  return number(cache.restore(at<uint8_t>(bytes), size, at<RopePlan*>(plans), plan_count));
}

// --- parts of layers

void layerNormAt(Pointer out, Pointer x, size_t rows, size_t n, Pointer weight, Pointer bias, double eps) {
  layerNorm(at<float>(out), at<float>(x), rows, n, {at<float>(weight), at<float>(bias), eps, false});
}
void rmsNormAt(Pointer out, Pointer x, size_t rows, size_t n, Pointer weight, double eps, bool unit_offset) {
  rmsNorm(at<float>(out), at<float>(x), rows, n, {at<float>(weight), nullptr, eps, unit_offset});
}
void activateAt(int activation, Pointer out, Pointer x, size_t n) {
  activate(static_cast<Activation>(activation), at<float>(out), at<float>(x), n);
}
void softmaxRowsAt(Pointer x, size_t rows, size_t n) {
  softmaxRows(at<float>(x), n, at<float>(x), n, rows, n);
}
int embedAt(Pointer out, Pointer table, size_t rows, size_t dim, Pointer ids, size_t n, float scale) {
  return number(embed(at<float>(out), at<float>(table), rows, dim, integers(ids, n), n, scale));
}

// --- linear attention

struct LinearAttentionCall {
  Pointer out, q, k, v, keep, rms_weight, denominators;
  Pointer report;  // four doubles: minimum, negative, zero, not finite
  size_t keep_batch_stride, keep_key_stride;
  size_t batch, heads, kv_heads, queries, keys, head_dim, value_dim;
  bool tokens_first, causal, rms_norm;
  float rms_eps;
  PositionsCall query_positions, key_positions;
};

template <class Run>
int withLinearCall(const LinearAttentionCall& c, RopePlan* rope, Run run) {
  LinearAttentionInput input;
  input.q = heads<const float>(c.q, c.tokens_first, c.batch, c.heads, c.queries, c.head_dim);
  input.k = heads<const float>(c.k, c.tokens_first, c.batch, c.kv_heads, c.keys, c.head_dim);
  input.v = heads<const float>(c.v, c.tokens_first, c.batch, c.kv_heads, c.keys, c.value_dim);
  input.rope = rope;
  input.query_positions = positions(c.query_positions);
  input.key_positions = positions(c.key_positions);
  input.keep = at<uint8_t>(c.keep);
  input.keep_batch_stride = c.keep_batch_stride;
  input.keep_key_stride = c.keep_key_stride;
  DenominatorReport report;
  LinearAttentionOutput output;
  output.out = heads<float>(c.out, c.tokens_first, c.batch, c.heads, c.queries, c.value_dim);
  output.denominators = at<float>(c.denominators);
  output.report = &report;
  output.rms_norm = c.rms_norm;
  output.rms_eps = c.rms_eps;
  output.rms_weight = at<float>(c.rms_weight);
  const Status status = run(input, output);
  const double numbers[] = {report.minimum, static_cast<double>(report.negative),
                            static_cast<double>(report.zero), static_cast<double>(report.non_finite)};
  std::copy_n(numbers, 4, at<double>(c.report));
  return number(status);
}

int runLinearAttention(const LinearAttentionOptions& options, const LinearAttentionCall& call,
                       RopePlan* rope) {
  return withLinearCall(call, rope, [&](const LinearAttentionInput& in, const LinearAttentionOutput& out) {
    return linearAttention(options, call.causal, in, out);
  });
}

int createLinearState(LinearAttentionState& state, const LinearAttentionOptions& options,
                      const LinearStateShape& shape) {
  return number(state.create(options, shape));
}
int appendToLinearState(LinearAttentionState& state, const LinearAttentionCall& call, RopePlan* rope) {
  return withLinearCall(call, rope, [&](const LinearAttentionInput& in, const LinearAttentionOutput& out) {
    return state.append(in, out);
  });
}
void saveLinearState(const LinearAttentionState& state, Pointer bytes) {
  state.save(at<void>(bytes));
}
void restoreLinearState(LinearAttentionState& state, Pointer bytes) {
  state.restore(at<void>(bytes));
}

struct LinearRecurrenceCall {
  Pointer out, q, k, v, decay, beta, past, present;
  int rule;
  float scale;
  size_t batch, heads, kv_heads, tokens, head_dim, value_dim, decay_dim, beta_heads;
  bool tokens_first;
};

int runLinearRecurrence(const LinearRecurrenceCall& c) {
  const auto view = [&](Pointer p, size_t head_count, size_t dim) {
    return heads<const float>(p, c.tokens_first, c.batch, head_count, c.tokens, dim);
  };
  LinearRecurrenceInput input;
  input.rule = static_cast<UpdateRule>(c.rule);
  input.scale = c.scale;
  input.q = view(c.q, c.heads, c.head_dim);
  input.k = view(c.k, c.kv_heads, c.head_dim);
  input.v = view(c.v, c.kv_heads, c.value_dim);
  input.decay = view(c.decay, c.kv_heads, c.decay_dim);
  input.beta = view(c.beta, c.beta_heads, c.beta_heads == 0 ? 0 : 1);
  input.past = at<float>(c.past);
  return number(linearRecurrence(input,
                                 heads<float>(c.out, c.tokens_first, c.batch, c.heads, c.tokens, c.value_dim),
                                 at<float>(c.present)));
}

// --- layers

// Weights come one matrix at a time, in slices of rows; the parts of a layer take each over when it is whole.

int allocateMatrix(PackedMatrix& matrix, size_t n, size_t k, int stored) {
  return number(matrix.allocate(n, k, static_cast<WeightType>(stored)));
}
int packRowsOf(PackedMatrix& matrix, size_t first, size_t count, int type, Pointer w) {
  return number(matrix.packRows(first, count, static_cast<WeightType>(type), at<void>(w)));
}

// The numbers of a layer's maps and norms in ts/layer-weights.ts.
int setLinear(BlockParts& parts, int which, PackedMatrix& matrix, int bias_type, Pointer bias) {
  Linear* const all[] = {&parts.attention.query,  &parts.attention.key,     &parts.attention.value,
                         &parts.attention.output, &parts.feed_forward.gate, &parts.feed_forward.up,
                         &parts.feed_forward.down};
  return number(
      all[which]->create(std::move(matrix), static_cast<WeightType>(bias_type), at<const void>(bias)));
}
int setNorm(BlockParts& parts, int which, const NormLayerOptions& options, const NormWeights& weights) {
  NormLayer* const all[] = {&parts.attention_norm,       &parts.feed_forward_norm,
                            &parts.attention_after_norm, &parts.feed_forward_after_norm,
                            &parts.attention.query_norm, &parts.attention.key_norm};
  return number(all[which]->create(options, weights));
}

int createSelfAttention(SelfAttention& layer, const SelfAttentionOptions& options, BlockParts& parts) {
  return number(layer.create(options, std::move(parts.attention)));
}
int createBlock(TransformerBlock& block, const BlockOptions& options, BlockParts& parts) {
  return number(block.create(options, std::move(parts)));
}

// Where to write what a layer computes on its way; null: not wanted.
struct CaptureCall {
  Pointer q, k, v, q_rotated, k_rotated, v_rotated, context, normed, attention_out, hidden, mlp;
  ScoresCall scores;
};

struct LayerCall {
  Pointer out, x;
  size_t batch, tokens;
  PositionsCall positions;
  bool turn_values;
  SightCall sight;
  AttentionOptions options;
  CaptureCall capture;
};

SelfAttentionInput inputOf(const LayerCall& c, RopePlan* rope, KvCache* cache) {
  SelfAttentionInput input;
  input.batch = c.batch;
  input.tokens = c.tokens;
  input.rope = rope;
  input.positions = positions(c.positions);
  input.turn_values = c.turn_values;
  input.attention = withSight(c.options, c.sight, c.batch, c.tokens);
  input.cache = cache;
  return input;
}

BlockCapture captureOf(const CaptureCall& c) {
  BlockCapture capture;
  AttentionCapture& a = capture.attention;
  a.q = at<float>(c.q);
  a.k = at<float>(c.k);
  a.v = at<float>(c.v);
  a.q_rotated = at<float>(c.q_rotated);
  a.k_rotated = at<float>(c.k_rotated);
  a.v_rotated = at<float>(c.v_rotated);
  a.context = at<float>(c.context);
  const ScoresCall& s = c.scores;
  a.scores = {at<float>(s.content),
              at<float>(s.position),
              at<float>(s.raw),
              at<float>(s.capped),
              at<float>(s.biased),
              at<float>(s.probabilities),
              {},
              {},
              at<int32_t>(s.slots),
              s.slot_count};
  capture.normed = at<float>(c.normed);
  capture.attention_out = at<float>(c.attention_out);
  capture.hidden = at<float>(c.hidden);
  capture.mlp = at<float>(c.mlp);
  return capture;
}

int forwardSelfAttention(const SelfAttention& layer, const LayerCall& c, RopePlan* rope, KvCache* cache) {
  return number(layer.forward(at<float>(c.out), at<float>(c.x), inputOf(c, rope, cache),
                              captureOf(c.capture).attention));
}
int forwardBlock(const TransformerBlock& block, const LayerCall& c, RopePlan* rope, KvCache* cache) {
  return number(
      block.forward(at<float>(c.out), at<float>(c.x), inputOf(c, rope, cache), captureOf(c.capture)));
}

void fillUniformAt(double seed, unsigned stream, float bound, Pointer out, size_t n) {
  fillUniform(static_cast<uint64_t>(seed), stream, bound, at<float>(out), n);
}

// --- models

// Sizes of files come as doubles; a negative one is unknown.
uint64_t fileSize(double bytes) {
  return bytes < 0 ? kUnknownBytes : static_cast<uint64_t>(bytes);
}

// Six doubles: reason, at, key_at, key_bytes, wanted, found.
int writeFault(Status status, const SafetensorsFault& fault, Pointer out) {
  const double fields[] = {static_cast<double>(static_cast<int>(fault.reason)),
                           static_cast<double>(fault.at),
                           static_cast<double>(fault.key_at),
                           static_cast<double>(fault.key_bytes),
                           static_cast<double>(fault.wanted),
                           static_cast<double>(fault.found)};
  std::copy(std::begin(fields), std::end(fields), at<double>(out));
  return number(status);
}

// The length goes to the place after the fault.
int headerBytesOfSafetensors(Pointer first, double file_bytes, Pointer out) {
  SafetensorsFault fault;
  size_t bytes = 0;
  const Status status = safetensorsHeaderBytes(at<uint8_t>(first), fileSize(file_bytes), &bytes, &fault);
  at<double>(out)[6] = static_cast<double>(bytes);
  return writeFault(status, fault, out);
}

int parseSafetensors(SafetensorsHeader& header, Pointer text, size_t bytes, double data_bytes, Pointer out) {
  SafetensorsFault fault;
  const Status status = header.parse(at<char>(text), bytes, fileSize(data_bytes), &fault);
  return writeFault(status, fault, out);
}

// Six doubles: address and bytes of the name, dtype, rank, begin, end.
void tensorOfSafetensors(const SafetensorsHeader& header, size_t i, Pointer out) {
  const SafetensorsTensor& t = header[i];
  const double fields[] = {static_cast<double>(reinterpret_cast<Pointer>(t.name)),
                           static_cast<double>(t.name_bytes),
                           static_cast<double>(static_cast<int>(t.dtype)),
                           static_cast<double>(t.rank),
                           static_cast<double>(t.begin),
                           static_cast<double>(t.end)};
  std::copy(std::begin(fields), std::end(fields), at<double>(out));
}

void shapeOfSafetensors(const SafetensorsHeader& header, size_t i, Pointer out) {
  const SafetensorsTensor& t = header[i];
  std::transform(t.shape, t.shape + t.rank, at<double>(out),
                 [](uint64_t n) { return static_cast<double>(n); });
}

// Four doubles: address and bytes of the key, then of the value.
void pairOfMap(const TextMap& map, size_t i, Pointer out) {
  const TextPair& pair = map[i];
  const double fields[] = {
      static_cast<double>(reinterpret_cast<Pointer>(pair.key)), static_cast<double>(pair.key_bytes),
      static_cast<double>(reinterpret_cast<Pointer>(pair.value)), static_cast<double>(pair.value_bytes)};
  std::copy(std::begin(fields), std::end(fields), at<double>(out));
}

size_t metadataSizeOfSafetensors(const SafetensorsHeader& header) {
  return header.metadata().size();
}
void metadataOfSafetensors(const SafetensorsHeader& header, size_t i, Pointer out) {
  pairOfMap(header.metadata(), i, out);
}

void widenAt(int type, Pointer values, size_t n, Pointer out) {
  widen(static_cast<WeightType>(type), at<void>(values), n, at<float>(out));
}

int readWeightMapAt(TextMap& map, Pointer text, size_t bytes, Pointer out) {
  SafetensorsFault fault;
  const Status status = readWeightMap(at<char>(text), bytes, &map, &fault);
  return writeFault(status, fault, out);
}

// --- fields whose C++ type JavaScript has no word for

template <class Class, class Enum, Enum Class::* member>
int enumField(const Class& c) {
  return static_cast<int>(c.*member);
}
template <class Class, class Enum, Enum Class::* member>
void setEnumField(Class& c, int v) {
  c.*member = static_cast<Enum>(v);
}
template <class Class, class T, const T* Class::* member>
Pointer pointerField(const Class& c) {
  return reinterpret_cast<Pointer>(c.*member);
}
template <class Class, class T, const T* Class::* member>
void setPointerField(Class& c, Pointer p) {
  c.*member = at<const T>(p);
}
template <class Class, int64_t Class::* member>
double integerField(const Class& c) {
  return static_cast<double>(c.*member);
}
template <class Class, int64_t Class::* member>
void setIntegerField(Class& c, double v) {
  c.*member = static_cast<int64_t>(v);
}

}  // namespace

#define ENUM_FIELD(Class, Enum, member) \
  &enumField<Class, Enum, &Class::member>, &setEnumField<Class, Enum, &Class::member>
#define POINTER_FIELD(Class, T, member) \
  &pointerField<Class, T, &Class::member>, &setPointerField<Class, T, &Class::member>
#define INTEGER_FIELD(Class, member) \
  &integerField<Class, &Class::member>, &setIntegerField<Class, &Class::member>

EMSCRIPTEN_BINDINGS(ropewalk) {
  using namespace emscripten;

  constant("backend", std::string(simd::kBackend));
  constant("encodings", encodingList());
  function("allocate", &allocate);
  function("release", &release);
  function("bytesInUse", &bytesInUse);
  function("peakBytes", &peakBytes);
  function("resetPeak", &resetPeak);

  value_object<FrequencyOptions>("FrequencyOptions")
      .field("dim", &FrequencyOptions::dim)
      .field("base", &FrequencyOptions::base)
      .field("scaling", ENUM_FIELD(FrequencyOptions, Scaling, scaling))
      .field("factor", &FrequencyOptions::factor)
      .field("originalLength", &FrequencyOptions::original_length)
      .field("maxLength", &FrequencyOptions::max_length)
      .field("sequenceLength", &FrequencyOptions::sequence_length)
      .field("attentionFactor", &FrequencyOptions::attention_factor)
      .field("betaFast", &FrequencyOptions::beta_fast)
      .field("betaSlow", &FrequencyOptions::beta_slow)
      .field("mscale", &FrequencyOptions::mscale)
      .field("mscaleAllDim", &FrequencyOptions::mscale_all_dim)
      .field("truncate", &FrequencyOptions::truncate)
      .field("lowFreqFactor", &FrequencyOptions::low_freq_factor)
      .field("highFreqFactor", &FrequencyOptions::high_freq_factor)
      .field("rotaryFraction", &FrequencyOptions::rotary_fraction)
      .field("shortFactors", POINTER_FIELD(FrequencyOptions, double, short_factors))
      .field("longFactors", POINTER_FIELD(FrequencyOptions, double, long_factors))
      .field("custom", POINTER_FIELD(FrequencyOptions, double, custom));
  value_array<std::array<size_t, kMaxAxes>>("AxisSizes")
      .element(emscripten::index<0>())
      .element(emscripten::index<1>())
      .element(emscripten::index<2>())
      .element(emscripten::index<3>());
  value_object<AxisOptions>("AxisOptions")
      .field("layout", ENUM_FIELD(AxisOptions, AxisLayout, layout))
      .field("axes", &AxisOptions::axes)
      .field("sizes", &AxisOptions::sizes);
  value_object<XPosOptions>("XPosOptions")
      .field("scaleBase", &XPosOptions::scale_base)
      .field("center", &XPosOptions::center);
  value_object<PositionsCall>("PositionsCall")
      .field("values", &PositionsCall::values)
      .field("count", &PositionsCall::count)
      .field("perBatch", &PositionsCall::per_batch)
      .field("offset", &PositionsCall::offset);
  value_object<HeadsCall>("HeadsCall")
      .field("x", &HeadsCall::x)
      .field("tokensFirst", &HeadsCall::tokens_first)
      .field("batch", &HeadsCall::batch)
      .field("heads", &HeadsCall::heads)
      .field("tokens", &HeadsCall::tokens);
  value_object<RopeOptions>("RopeOptions")
      .field("headDim", &RopeOptions::head_dim)
      .field("frequencies", &RopeOptions::frequencies)
      .field("pairing", ENUM_FIELD(RopeOptions, Pairing, pairing))
      .field("angles", ENUM_FIELD(RopeOptions, Angles, angles))
      .field("axes", &RopeOptions::axes)
      .field("xpos", &RopeOptions::xpos);
  class_<RopePlan>("RopePlan")
      .constructor<>()
      .property("pairs", &RopePlan::pairs)
      .property("attentionFactor", &RopePlan::attentionFactor)
      .property("address", &addressOf)
      .property("fingerprint", &fingerprintOf)
      .function("create", &createRope)
      .function("rotate", &rotateRope)
      .function("rerotate", &rerotateRope)
      .function("tables", &ropeTables)
      .function("frequencies", &ropeFrequencies);

  value_object<TablesCall>("TablesCall")
      .field("cos", &TablesCall::cos)
      .field("sin", &TablesCall::sin)
      .field("rows", &TablesCall::rows)
      .field("pairs", &TablesCall::pairs)
      .field("places", &TablesCall::places)
      .field("pairing", &TablesCall::pairing);
  function("rotateByTables", &rotateByGivenTables);

  value_object<SinusoidalOptions>("SinusoidalOptions")
      .field("dim", &SinusoidalOptions::dim)
      .field("base", &SinusoidalOptions::base)
      .field("layout", ENUM_FIELD(SinusoidalOptions, SinusoidLayout, layout))
      .field("scale", &SinusoidalOptions::scale);
  function("sinusoidal", &encodeSinusoidal);

  value_object<BinaryOptions>("BinaryOptions")
      .field("bits", &BinaryOptions::bits)
      .field("msbFirst", &BinaryOptions::msb_first)
      .field("sign", &BinaryOptions::sign);
  function("binaryCode", &encodeBinary);

  function("learnedPositions", &mergeLearned);
  function("extendLearned", &extendLearnedTable);

  value_object<AlibiOptions>("AlibiOptions")
      .field("heads", &AlibiOptions::heads)
      .field("queries", &AlibiOptions::queries)
      .field("keys", &AlibiOptions::keys)
      .field("queryOffset", INTEGER_FIELD(AlibiOptions, query_offset))
      .field("variant", ENUM_FIELD(AlibiOptions, AlibiVariant, variant));
  function("alibiSlopes", &slopesOfAlibi);
  function("alibiBias", &biasOfAlibi);

  value_object<T5Options>("T5Options")
      .field("bidirectional", &T5Options::bidirectional)
      .field("numBuckets", &T5Options::num_buckets)
      .field("maxDistance", INTEGER_FIELD(T5Options, max_distance));
  class_<T5Buckets>("T5Buckets")
      .constructor<>()
      .function("create", &createT5)
      .function("buckets", &bucketsOfT5)
      .function("bias", &biasOfT5);

  value_object<KerpleOptions>("KerpleOptions")
      .field("kind", ENUM_FIELD(KerpleOptions, KerpleKind, kind))
      .field("heads", &KerpleOptions::heads)
      .field("queries", &KerpleOptions::queries)
      .field("keys", &KerpleOptions::keys)
      .field("queryOffset", INTEGER_FIELD(KerpleOptions, query_offset));
  function("kerpleBias", &biasOfKerple);

  function("relativeRows", &rowsOfRelative);

  function("shiftMatrix", &shiftMatrixAt);
  function("dotCurve", &dotCurveAt);
  function("decayCurve", &decayCurveAt);
  function("decayBound", &decayBoundAt);
  function("pairwise", &pairwiseAt);
  function("firstDuplicate", &firstDuplicateAt);

  value_object<MaskView<uint8_t>>("KeepMask")
      .field("data", POINTER_FIELD(MaskView<uint8_t>, uint8_t, data))
      .field("batchStride", &MaskView<uint8_t>::batch_stride)
      .field("headStride", &MaskView<uint8_t>::head_stride)
      .field("queryStride", &MaskView<uint8_t>::query_stride)
      .field("keyStride", &MaskView<uint8_t>::key_stride);
  value_object<MaskView<float>>("BiasMask")
      .field("data", POINTER_FIELD(MaskView<float>, float, data))
      .field("batchStride", &MaskView<float>::batch_stride)
      .field("headStride", &MaskView<float>::head_stride)
      .field("queryStride", &MaskView<float>::query_stride)
      .field("keyStride", &MaskView<float>::key_stride);
  value_object<RelativeRows>("RelativeRows")
      .field("limit", INTEGER_FIELD(RelativeRows, limit))
      .field("keyMinusQuery", &RelativeRows::key_minus_query);
  value_object<RelativeTerms>("RelativeTerms")
      .field("rows", &RelativeTerms::rows)
      .field("queryTable", POINTER_FIELD(RelativeTerms, float, query_table))
      .field("keyTable", POINTER_FIELD(RelativeTerms, float, key_table))
      .field("productTable", POINTER_FIELD(RelativeTerms, float, product_table))
      .field("valueTable", POINTER_FIELD(RelativeTerms, float, value_table));
  value_object<AttentionOptions>("AttentionOptions")
      .field("scale", &AttentionOptions::scale)
      .field("softcap", &AttentionOptions::softcap)
      .field("keep", &AttentionOptions::keep)
      .field("bias", &AttentionOptions::bias)
      .field("sinks", POINTER_FIELD(AttentionOptions, float, sinks))
      .field("distanceBias", POINTER_FIELD(AttentionOptions, float, distance_bias))
      .field("distanceFirst", INTEGER_FIELD(AttentionOptions, distance_first))
      .field("distanceCount", &AttentionOptions::distance_count)
      .field("relative", &AttentionOptions::relative);
  value_object<SightCall>("SightCall")
      .field("causal", &SightCall::causal)
      .field("left", &SightCall::left)
      .field("right", &SightCall::right)
      .field("sinkTokens", &SightCall::sink_tokens)
      .field("queryOffset", &SightCall::query_offset)
      .field("queryOffsets", &SightCall::query_offsets)
      .field("keyPositions", &SightCall::key_positions)
      .field("keyLengths", &SightCall::key_lengths);
  value_object<ScoresCall>("ScoresCall")
      .field("content", &ScoresCall::content)
      .field("position", &ScoresCall::position)
      .field("raw", &ScoresCall::raw)
      .field("capped", &ScoresCall::capped)
      .field("biased", &ScoresCall::biased)
      .field("probabilities", &ScoresCall::probabilities)
      .field("plainQ", &ScoresCall::plain_q)
      .field("plainK", &ScoresCall::plain_k)
      .field("slots", &ScoresCall::slots)
      .field("slotCount", &ScoresCall::slot_count);
  value_object<AttentionCall>("AttentionCall")
      .field("out", &AttentionCall::out)
      .field("q", &AttentionCall::q)
      .field("k", &AttentionCall::k)
      .field("v", &AttentionCall::v)
      .field("batch", &AttentionCall::batch)
      .field("heads", &AttentionCall::heads)
      .field("kvHeads", &AttentionCall::kv_heads)
      .field("queries", &AttentionCall::queries)
      .field("keys", &AttentionCall::keys)
      .field("headDim", &AttentionCall::head_dim)
      .field("valueDim", &AttentionCall::value_dim)
      .field("tokensFirst", &AttentionCall::tokens_first)
      .field("sight", &AttentionCall::sight)
      .field("options", &AttentionCall::options)
      .field("scores", &AttentionCall::scores);
  function("attention", &runAttention);

  value_object<CacheWindow>("CacheWindow")
      .field("size", &CacheWindow::size)
      .field("sinks", &CacheWindow::sinks)
      .field("rebased", &CacheWindow::rebased);
  value_object<KvCacheOptions>("KvCacheOptions")
      .field("batch", &KvCacheOptions::batch)
      .field("kvHeads", &KvCacheOptions::kv_heads)
      .field("headDim", &KvCacheOptions::head_dim)
      .field("valueDim", &KvCacheOptions::value_dim)
      .field("capacity", &KvCacheOptions::capacity)
      .field("growing", &KvCacheOptions::growing)
      .field("storage", ENUM_FIELD(KvCacheOptions, KeyStorage, storage))
      .field("window", &KvCacheOptions::window);
  value_object<AppendCall>("AppendCall")
      .field("k", &AppendCall::k)
      .field("v", &AppendCall::v)
      .field("positions", &AppendCall::positions)
      .field("places", &AppendCall::places)
      .field("tokens", &AppendCall::tokens)
      .field("tokensFirst", &AppendCall::tokens_first);
  class_<KvCache>("KvCache")
      .constructor<>()
      .property("options", &KvCache::options)
      .property("length", &KvCache::length)
      .property("capacity", &KvCache::capacity)
      .property("bytes", &KvCache::bytes)
      .property("nextPosition", &nextPosition)
      .property("planAddress", &planAddress)
      .function("create", &createKvCache, allow_raw_pointers())
      .function("holdsKeysOf", &holdsKeysOf)
      .function("positionAt", &positionAt)
      .function("positions", &positionsOf)
      .function("misses", &misses)
      .function("room", &room)
      .function("mayEndAt", &KvCache::mayEndAt)
      .function("append", &appendToKvCache)
      .function("merge", &mergeKvCaches)
      .function("truncate", &truncateKvCache)
      .function("drop", &dropFromKvCache)
      .function("shift", &shiftKvCache)
      .function("switchTo", &switchKvCache)
      .function("reset", &KvCache::reset)
      .function("copyPrefix", &copyPrefixOfKvCache)
      .function("keys", &keysOfKvCache)
      .function("values", &valuesOfKvCache)
      .function("attend", &attendOverKvCache)
      .function("savedSize", &KvCache::savedSize)
      .function("save", &saveKvCache)
      .function("restore", &restoreKvCache);
  function("checkSavedKvCache", &checkSavedKvCache);

  function("layerNorm", &layerNormAt);
  function("rmsNorm", &rmsNormAt);
  function("activate", &activateAt);
  function("softmaxRows", &softmaxRowsAt);
  function("embed", &embedAt);

  value_object<LinearAttentionOptions>("LinearAttentionOptions")
      .field("kernel", ENUM_FIELD(LinearAttentionOptions, LinearKernel, kernel))
      .field("normalize", &LinearAttentionOptions::normalize)
      .field("rotateNormalizer", &LinearAttentionOptions::rotate_normalizer)
      .field("scale", &LinearAttentionOptions::scale);
  value_object<LinearStateShape>("LinearStateShape")
      .field("batch", &LinearStateShape::batch)
      .field("kvHeads", &LinearStateShape::kv_heads)
      .field("headDim", &LinearStateShape::head_dim)
      .field("valueDim", &LinearStateShape::value_dim);
  value_object<LinearAttentionCall>("LinearAttentionCall")
      .field("out", &LinearAttentionCall::out)
      .field("q", &LinearAttentionCall::q)
      .field("k", &LinearAttentionCall::k)
      .field("v", &LinearAttentionCall::v)
      .field("keep", &LinearAttentionCall::keep)
      .field("rmsWeight", &LinearAttentionCall::rms_weight)
      .field("denominators", &LinearAttentionCall::denominators)
      .field("report", &LinearAttentionCall::report)
      .field("keepBatchStride", &LinearAttentionCall::keep_batch_stride)
      .field("keepKeyStride", &LinearAttentionCall::keep_key_stride)
      .field("batch", &LinearAttentionCall::batch)
      .field("heads", &LinearAttentionCall::heads)
      .field("kvHeads", &LinearAttentionCall::kv_heads)
      .field("queries", &LinearAttentionCall::queries)
      .field("keys", &LinearAttentionCall::keys)
      .field("headDim", &LinearAttentionCall::head_dim)
      .field("valueDim", &LinearAttentionCall::value_dim)
      .field("tokensFirst", &LinearAttentionCall::tokens_first)
      .field("causal", &LinearAttentionCall::causal)
      .field("rmsNorm", &LinearAttentionCall::rms_norm)
      .field("rmsEps", &LinearAttentionCall::rms_eps)
      .field("queryPositions", &LinearAttentionCall::query_positions)
      .field("keyPositions", &LinearAttentionCall::key_positions);
  function("linearAttention", &runLinearAttention, allow_raw_pointers());
  class_<LinearAttentionState>("LinearAttentionState")
      .constructor<>()
      .property("bytes", &LinearAttentionState::bytes)
      .function("create", &createLinearState)
      .function("append", &appendToLinearState, allow_raw_pointers())
      .function("reset", &LinearAttentionState::reset)
      .function("save", &saveLinearState)
      .function("restore", &restoreLinearState);
  value_object<LinearRecurrenceCall>("LinearRecurrenceCall")
      .field("out", &LinearRecurrenceCall::out)
      .field("q", &LinearRecurrenceCall::q)
      .field("k", &LinearRecurrenceCall::k)
      .field("v", &LinearRecurrenceCall::v)
      .field("decay", &LinearRecurrenceCall::decay)
      .field("beta", &LinearRecurrenceCall::beta)
      .field("past", &LinearRecurrenceCall::past)
      .field("present", &LinearRecurrenceCall::present)
      .field("rule", &LinearRecurrenceCall::rule)
      .field("scale", &LinearRecurrenceCall::scale)
      .field("batch", &LinearRecurrenceCall::batch)
      .field("heads", &LinearRecurrenceCall::heads)
      .field("kvHeads", &LinearRecurrenceCall::kv_heads)
      .field("tokens", &LinearRecurrenceCall::tokens)
      .field("headDim", &LinearRecurrenceCall::head_dim)
      .field("valueDim", &LinearRecurrenceCall::value_dim)
      .field("decayDim", &LinearRecurrenceCall::decay_dim)
      .field("betaHeads", &LinearRecurrenceCall::beta_heads)
      .field("tokensFirst", &LinearRecurrenceCall::tokens_first);
  function("linearRecurrence", &runLinearRecurrence);

  class_<PackedMatrix>("PackedMatrix")
      .constructor<>()
      .function("allocate", &allocateMatrix)
      .function("packRows", &packRowsOf);
  value_object<NormLayerOptions>("NormLayerOptions")
      .field("kind", ENUM_FIELD(NormLayerOptions, NormKind, kind))
      .field("size", &NormLayerOptions::size)
      .field("eps", &NormLayerOptions::eps)
      .field("unitOffset", &NormLayerOptions::unit_offset);
  value_object<NormWeights>("NormWeights")
      .field("type", ENUM_FIELD(NormWeights, WeightType, type))
      .field("weight", POINTER_FIELD(NormWeights, void, weight))
      .field("biasType", ENUM_FIELD(NormWeights, WeightType, bias_type))
      .field("bias", POINTER_FIELD(NormWeights, void, bias));
  class_<BlockParts>("BlockParts")
      .constructor<>()
      .function("setLinear", &setLinear)
      .function("setNorm", &setNorm);
  value_object<SelfAttentionOptions>("SelfAttentionOptions")
      .field("modelDim", &SelfAttentionOptions::model_dim)
      .field("heads", &SelfAttentionOptions::heads)
      .field("kvHeads", &SelfAttentionOptions::kv_heads)
      .field("headDim", &SelfAttentionOptions::head_dim)
      .field("valueDim", &SelfAttentionOptions::value_dim);
  value_object<BlockOptions>("BlockOptions")
      .field("attention", &BlockOptions::attention)
      .field("place", ENUM_FIELD(BlockOptions, NormPlace, place))
      .field("activation", ENUM_FIELD(BlockOptions, Activation, activation));
  value_object<CaptureCall>("CaptureCall")
      .field("q", &CaptureCall::q)
      .field("k", &CaptureCall::k)
      .field("v", &CaptureCall::v)
      .field("qRotated", &CaptureCall::q_rotated)
      .field("kRotated", &CaptureCall::k_rotated)
      .field("vRotated", &CaptureCall::v_rotated)
      .field("context", &CaptureCall::context)
      .field("normed", &CaptureCall::normed)
      .field("attentionOut", &CaptureCall::attention_out)
      .field("hidden", &CaptureCall::hidden)
      .field("mlp", &CaptureCall::mlp)
      .field("scores", &CaptureCall::scores);
  value_object<LayerCall>("LayerCall")
      .field("out", &LayerCall::out)
      .field("x", &LayerCall::x)
      .field("batch", &LayerCall::batch)
      .field("tokens", &LayerCall::tokens)
      .field("positions", &LayerCall::positions)
      .field("turnValues", &LayerCall::turn_values)
      .field("sight", &LayerCall::sight)
      .field("options", &LayerCall::options)
      .field("capture", &LayerCall::capture);
  class_<SelfAttention>("SelfAttention")
      .constructor<>()
      .property("bytes", &SelfAttention::bytes)
      .function("create", &createSelfAttention)
      .function("forward", &forwardSelfAttention, allow_raw_pointers());
  class_<TransformerBlock>("TransformerBlock")
      .constructor<>()
      .property("bytes", &TransformerBlock::bytes)
      .function("create", &createBlock)
      .function("forward", &forwardBlock, allow_raw_pointers());
  function("fillUniform", &fillUniformAt);

  function("widen", &widenAt);
  function("safetensorsHeaderBytes", &headerBytesOfSafetensors);
  class_<SafetensorsHeader>("SafetensorsHeader")
      .constructor<>()
      .property("size", &SafetensorsHeader::size)
      .property("metadataSize", &metadataSizeOfSafetensors)
      .function("parse", &parseSafetensors)
      .function("tensor", &tensorOfSafetensors)
      .function("shape", &shapeOfSafetensors)
      .function("metadata", &metadataOfSafetensors);
  class_<TextMap>("TextMap")
      .constructor<>()
      .property("size", &TextMap::size)
      .function("readWeightMap", &readWeightMapAt)
      .function("pair", &pairOfMap);
}
