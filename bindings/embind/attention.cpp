// Attention by softmax.
#include <emscripten/bind.h>

#include "attention_call.h"

namespace ropewalk::binding {
namespace {

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

int runAttention(const AttentionCall& c) {
  return number(attention(outOf(c), queriesOf(c, c.q), keysOf(c, c.k, c.head_dim),
                          keysOf(c, c.v, c.value_dim), withSight(c.options, c.sight, c.batch, c.keys),
                          scoresOf(c)));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(attention) {
  using namespace emscripten;
  using namespace ropewalk;
  using namespace ropewalk::binding;

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
  function("relativeRows", &rowsOfRelative);
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
      .field("distanceRanges", POINTER_FIELD(AttentionOptions, DistanceRange, distance_ranges))
      .field("distanceRangeCount", &AttentionOptions::distance_range_count)
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
}
