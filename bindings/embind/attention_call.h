// How attention is called, by itself, over a cache and within a layer: what a query sees, which scores are
// kept, and where everything lies.
#pragma once

#include "attention/attention.h"
#include "calls.h"

namespace ropewalk::binding {

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

inline SightCall sightCall(Fields& f) {
  return {f, f, f, f, f, f, f, f};
}
inline ScoresCall scoresCall(Fields& f) {
  return {f, f, f, f, f, f, f, f, f, f};
}
template <class T>
MaskView<T> maskView(Fields& f) {
  return {f, f, f, f, f};
}
inline RelativeRows relativeRows(Fields& f) {
  return {.limit = f, .key_minus_query = f};
}
inline RelativeTerms relativeTerms(Fields& f) {
  return {relativeRows(f), f, f, f, f};
}
// All but what a SightCall tells.
inline AttentionOptions attentionOptions(Fields& f) {
  AttentionOptions options;
  options.scale = f;
  options.softcap = f;
  options.keep = maskView<uint8_t>(f);
  options.bias = maskView<float>(f);
  options.sinks = f;
  options.distance_bias = f;
  options.distance_first = f;
  options.distance_count = f;
  options.distance_ranges = f;
  options.distance_range_count = f;
  options.relative = relativeTerms(f);
  return options;
}
inline AttentionCall attentionCall(Fields f) {
  return {f, f, f, f, f, f, f, f, f, f, f, f, sightCall(f), attentionOptions(f), scoresCall(f)};
}

inline AttentionOptions withSight(AttentionOptions options, const SightCall& s, size_t batch, size_t keys) {
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

inline HeadView<const float> queriesOf(const AttentionCall& c, Pointer p) {
  return heads<const float>(p, c.tokens_first, c.batch, c.heads, c.queries, c.head_dim);
}
inline HeadView<const float> keysOf(const AttentionCall& c, Pointer p, size_t dim) {
  return heads<const float>(p, c.tokens_first, c.batch, c.kv_heads, c.keys, dim);
}
inline HeadView<float> outOf(const AttentionCall& c) {
  return heads<float>(c.out, c.tokens_first, c.batch, c.heads, c.queries, c.value_dim);
}

inline ScoreOutputs scoreOutputs(const ScoresCall& s, HeadView<const float> plain_q,
                                 HeadView<const float> plain_k) {
  return {at<float>(s.content),
          at<float>(s.position),
          at<float>(s.raw),
          at<float>(s.capped),
          at<float>(s.biased),
          at<float>(s.probabilities),
          plain_q,
          plain_k,
          at<int32_t>(s.slots),
          s.slot_count};
}
inline ScoreOutputs scoresOf(const AttentionCall& c) {
  return scoreOutputs(c.scores, queriesOf(c, c.scores.plain_q), keysOf(c, c.scores.plain_k, c.head_dim));
}

}  // namespace ropewalk::binding
