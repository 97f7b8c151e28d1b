// Features of queries and keys for linear attention: phi(x) of a block of tokens, and the same turned by
// RoPE. The weight of a key is a product of two such features, which is what makes a running sum of keys
// possible.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encodings/rope.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

// What a query and a key are compared by. The numbers cross the wasm boundary: add at the end, never
// renumber.
enum class LinearKernel : int {
  kElu1 = 0,    // phi(q) . phi(k) with elu(x) + 1
  kRelu = 1,    // with max(x, 0)
  kExp = 2,     // with e^x
  kCosine = 3,  // 1 + q/|q| . k/|k|: the 1 is a coordinate of its own, after the others
  kProduct = 4  // q . k
};

// F, coordinates of a feature of heads of size `head_dim`.
inline size_t featureDim(LinearKernel kernel, size_t head_dim) {
  return head_dim + (kernel == LinearKernel::kCosine ? 1 : 0);
}

inline constexpr size_t kLinearBlock = 64;  // tokens whose features are made at once

// Tokens [start, start + count) of one batch entry; count is at most kLinearBlock.
struct TokenBlock {
  size_t batch_entry = 0;
  size_t start = 0;
  size_t count = 0;
};

// How x [B, H, T, D] becomes features. positions are those of all of x.
struct FeatureSource {
  LinearKernel kernel = LinearKernel::kElu1;
  HeadView<const float> x;
  Positions positions;
  RopePlan* rope = nullptr;  // null: nothing is turned
  Role role = Role::kQuery;
  bool keeps_unturned = false;  // the features before RoPE are wanted as well
};

// The features of one block, for all heads.
class FeatureBlock {
 public:
  Status reserve(const FeatureSource& source);

  // After reserve for the same source; the plan's `inRange` has said yes to the positions.
  Status fill(const FeatureSource& source, const TokenBlock& block);

  size_t headStride() const { return rows_ * dim_; }
  // [count, F] of head h, contiguous.
  const float* turned(size_t h) const { return features_.data() + h * headStride(); }
  const float* unturned(size_t h) const { return (separate_ ? plain_ : features_).data() + h * headStride(); }

 private:
  size_t dim_ = 0;   // F
  size_t rows_ = 0;  // tokens that there is room for
  bool separate_ = false;
  Buffer<float> features_;
  Buffer<float> plain_;
};

}  // namespace ropewalk
