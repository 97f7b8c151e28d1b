// Scaled dot-product attention: out_i = sum_j softmax_j(scale q_i . k_j + bias) v_j.
// Names and order of steps are those of ONNX Attention (opset 25).
#pragma once

#include <cstddef>
#include <cstdint>

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

// Which scores are given back. The numbers cross the wasm boundary: add at the end, never renumber.
enum class ScoreStage : int {
  kNone = 0,
  kRaw = 1,           // scaled, with the relative terms, before any bias or mask
  kBiased = 2,        // what the softmax sees: hidden keys are -infinity
  kProbabilities = 3  // after the softmax
};

struct AttentionOptions {
  float scale = 0;            // multiplies q . k and the relative terms; the usual value is 1 / sqrt(D)
  bool causal = false;        // key j is seen by query i only if j <= i + causal_offset
  int64_t causal_offset = 0;  // Tk - Tq aligns the last query with the last key
  MaskView<uint8_t> keep;     // 1 = may be attended to
  MaskView<float> bias;       // added after scaling; -infinity hides a key
  // A bias that depends on the distance only (ALiBi, T5): [H, Tq + Tk - 1] at j - i + Tq - 1, or null.
  const float* distance_bias = nullptr;
  RelativeTerms relative;
};

// q [B, H, Tq, D], k [B, G, Tk, D], v [B, G, Tk, Dv] -> out [B, H, Tq, Dv]; G divides H and query head h
// reads key head h / (H / G). scores [B, H, Tq, Tk] contiguous, or null for kNone. A query that may attend to
// nothing gives zeros. out may not overlap an input. A hidden key's values are not read: NaN there does not
// spread.
Status attention(HeadView<float> out, HeadView<const float> q, HeadView<const float> k,
                 HeadView<const float> v, const AttentionOptions& options,
                 ScoreStage stage = ScoreStage::kNone, float* scores = nullptr);

}  // namespace ropewalk
