// Converts attention calls to the core's options: for attention alone, over a cache and within a layer.
#pragma once

#include "attention/attention.h"
#include "calls.h"

namespace ropewalk::binding {

// Adds the visibility of a call to `options`. Converts its lists from doubles to the core's types in place.
inline AttentionOptions withVisibility(AttentionOptions options, const VisibilityCall& s, size_t batch,
                                       size_t keys) {
  const auto list = [](Pointer p, size_t n) { return p == 0 ? nullptr : integers(p, n); };
  const auto ranges = reinterpret_cast<Pointer>(options.distance_ranges);
  if (ranges != 0) options.distance_ranges = readCalls<DistanceRange>(ranges, options.distance_range_count);
  options.causal = s.causal;
  options.window_left = s.left;
  options.window_right = s.right;
  options.sink_tokens = s.sink_tokens;
  options.query_offset = s.query_offset;
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
