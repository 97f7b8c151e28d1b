// An affine map with its own weights: out = in w^T + b.
#pragma once

#include <cstddef>

#include "kernels/gemm.h"
#include "kernels/packed_matrix.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

// Weights as the caller holds them, at any address.
struct LinearWeights {
  WeightType type = WeightType::kFloat32;
  const void* weight = nullptr;
  WeightLayout layout = WeightLayout::kOutIn;
  WeightType bias_type = WeightType::kFloat32;
  const void* bias = nullptr;  // [n], or null: none
};

class Linear {
 public:
  // n outputs, k inputs; the weights are packed as `stored` and not kept. Leaves the map as it was unless it
  // answers kOk; see PackedMatrix for what is refused. A bias whose format has
  // scales of rows is kInvalidArgument.
  Status create(const LinearWeights& weights, size_t n, size_t k, WeightType stored = WeightType::kFloat32);

  // With a matrix that was packed elsewhere, slice by slice.
  Status create(PackedMatrix&& weight, WeightType bias_type, const void* bias);

  // out [rows, n], in [rows, k], apart; the activation changes each finished row in place.
  void apply(float* out, const float* in, size_t rows,
             void (*activation)(float* row, size_t n) = nullptr) const;

  const PackedMatrix& weight() const { return weight_; }
  size_t bytes() const { return weight_.bytes() + bias_.size() * sizeof(float); }

 private:
  PackedMatrix weight_;
  Buffer<float> bias_;  // empty: none
};

}  // namespace ropewalk
