// Scaled dot-product attention: out_i = sum_j softmax_j(scale q_i . k_j + bias) v_j.
// Names and order of steps are those of ONNX Attention (opset 25).
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/stored_view.h"
#include "encodings/fire.h"
#include "encodings/relative.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

// A mask that broadcasts to [B, H, Tq, Tk]: a stride of 0 repeats the axis. Null data: no mask.
template <class T>
struct MaskView {
  const T* data = nullptr;
  size_t batch_stride = 0;
  size_t head_stride = 0;
  size_t query_stride = 0;
  size_t key_stride = 0;

  const T* row(size_t b, size_t h, size_t i) const {
    return data + b * batch_stride + h * head_stride + i * query_stride;
  }
};

// Distances from first on, key minus query, with a bias each.
struct DistanceRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t start = 0;  // where the [H, count] biases begin in distance_bias
};

// Multiplies queries at position p by 1 + scale ln(1 + floor((p + 1) / step)), so that attention over long
// texts stays sharp (Llama 4; Nakanishi, arXiv:2501.19399).
struct QueryTemperature {
  int64_t step = 0;  // positions that share a factor; 0: no factors
  float scale = 0;
};

// What XLNet adds to q_i . k_j for the types of two tokens: q_i . table[n] + bias[n] with n 0 where they are
// the same, else 1. Queries and keys are the same tokens.
struct SegmentTerms {
  const float* table = nullptr;   // [2, H, D]
  const float* bias = nullptr;    // [2, H]
  const double* types = nullptr;  // [B, T]; null: no terms
};

struct AttentionOptions {
  float scale = 0;  // multiplies q . k and the relative terms; the usual value is 1 / sqrt(D)

  // Positions, within 2^53 of 0: query i at i + query_offset, key j at key_positions[j], or at j.
  int64_t query_offset = 0;                // Tk - Tq puts the last query at the last key
  const int64_t* query_offsets = nullptr;  // [B], in place of query_offset
  const int64_t* key_positions = nullptr;  // [Tk], ascending

  // Which keys are visible to a query.
  bool causal = false;                   // hides keys at later positions
  int64_t window_left = -1;              // hides keys more than this before it; -1: no bound
  bool chunked = false;                  // in its place keys before the last multiple of window_left + 1
  int64_t window_right = -1;             // hides keys more than this after it; -1: no bound
  size_t sink_tokens = 0;                // first keys that every left window keeps visible
  const int64_t* key_lengths = nullptr;  // [B]: keys from there on are padding
  MaskView<uint8_t> keep;                // 1 = may be attended to

  QueryTemperature temperature;
  SegmentTerms segments;

  // The stages that the scores pass, in this order.
  RelativeTerms relative;
  float softcap = 0;     // c tanh(score / c); 0: none
  MaskView<float> bias;  // -infinity hides a key
  // A bias that depends on the distance only (ALiBi, T5): [H, distance_count], the first for
  // key position - query position = distance_first. Null: none.
  const float* distance_bias = nullptr;
  int64_t distance_first = 0;
  size_t distance_count = 0;
  // Instead, where key positions are far apart: the distances that occur, in ascending ranges; null: that one
  // range.
  const DistanceRange* distance_ranges = nullptr;
  size_t distance_range_count = 0;
  FireTerms fire;                // with it distance_bias is psi of the distances, without an axis of heads
  const float* sinks = nullptr;  // [H]: a logit beside those of the keys, which has no value to give
};

// Scores to give back: each [B, heads asked for, Tq, Tk], contiguous, or null.
struct ScoreOutputs {
  float* content = nullptr;        // scale plain_q . plain_k
  float* position = nullptr;       // what the position encoding adds to it
  float* raw = nullptr;            // scaled, with the relative terms, of hidden keys as well
  float* capped = nullptr;         // after the softcap
  float* biased = nullptr;         // the input of softmax: hidden keys are -infinity
  float* probabilities = nullptr;  // after the softmax

  // Queries and keys before the rotary encoding; null data: q and k themselves.
  HeadView<const float> plain_q;
  HeadView<const float> plain_k;

  const int32_t* slots =
      nullptr;            // [H]: the index of each head's scores, -1 for none; null: all heads in order
  size_t slot_count = 0;  // heads asked for, where slots are given

  bool any() const {
    return content != nullptr || position != nullptr || raw != nullptr || capped != nullptr ||
           biased != nullptr || probabilities != nullptr;
  }
};

// q [B, H, Tq, D], k [B, G, Tk, D], v [B, G, Tk, Dv] -> out [B, H, Tq, Dv]; G divides H and query head h
// reads key head h / (H / G). A query that may attend to nothing gives zeros; one whose scores all overflow
// float32 gives NaN. out may not overlap an input. A hidden key's values are not read: NaN there does not
// spread.
Status attention(HeadView<float> out, HeadView<const float> q, const StoredView& k, const StoredView& v,
                 const AttentionOptions& options, const ScoreOutputs& scores = {});

}  // namespace ropewalk
