// Multi-head self-attention with its four projections: out = O(attention(rope(Q x), rope(K x), V x)).
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attention.h"
#include "encodings/rope.h"
#include "layers/linear.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

struct AttentionLayerOptions {
  size_t model_dim = 0;  // M
  size_t heads = 0;      // H
  size_t kv_heads = 0;   // G, divides H
  size_t head_dim = 0;   // D
};

// Weights [out, in] row major; a null bias is none. Copied (packed) by create.
struct AttentionLayerWeights {
  const float* query = nullptr;   // [H * D, M]
  const float* key = nullptr;     // [G * D, M]
  const float* value = nullptr;   // [G * D, M]
  const float* output = nullptr;  // [M, H * D]
  const float* query_bias = nullptr;
  const float* key_bias = nullptr;
  const float* value_bias = nullptr;
  const float* output_bias = nullptr;
};

struct AttentionLayerInput {
  const float* x = nullptr;  // [B, T, M]
  size_t batch = 0;
  size_t tokens = 0;
  const float* added = nullptr;  // absolute position encoding [T, M] added to x before projecting, or null
  RopePlan* rope = nullptr;      // turns queries and keys, or null
  Positions positions;           // for rope
  bool causal = false;
  MaskView<uint8_t> keep;
};

class AttentionLayer {
 public:
  // Leaves the layer as it was unless it answers kOk.
  Status create(const AttentionLayerOptions& options, const AttentionLayerWeights& weights);

  const AttentionLayerOptions& options() const { return options_; }

  // out [B, T, M]; probabilities [B, H, T, T] or null.
  Status forward(const AttentionLayerInput& input, float* out, float* probabilities) const;

 private:
  AttentionLayerOptions options_;
  Linear query_;
  Linear key_;
  Linear value_;
  Linear output_;
};

}  // namespace ropewalk
