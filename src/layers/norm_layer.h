// A norm with its own weights, or none at all, as a transformer layer has them.
#pragma once

#include <cstddef>

#include "kernels/norm.h"
#include "kernels/weight_type.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class NormKind : int {
  kNone = 0,   // out = x
  kLayer = 1,  // layer norm
  kRms = 2     // root mean square norm
};

struct NormLayerOptions {
  NormKind kind = NormKind::kNone;
  size_t size = 0;  // numbers of a row
  double eps = 0;
  bool unit_offset = false;  // the factor is 1 + weight (Gemma)
  size_t sets = 1;  // of weights: row r has set r % sets, as heads with weights of their own (Cohere)
};

// As the caller holds them, at any address; null: ones, and zeros.
struct NormWeights {
  WeightType type = WeightType::kFloat32;
  const void* weight = nullptr;  // [sets, size]
  WeightType bias_type = WeightType::kFloat32;
  const void* bias = nullptr;  // [sets, size]
};

class NormLayer {
 public:
  // The weights are widened and not kept. Leaves the norm as it was unless it answers kOk. kInvalidArgument:
  // eps not above 0, no set, or weights in a format with scales of rows.
  Status create(const NormLayerOptions& options, const NormWeights& weights = {});

  // x [rows, size] -> out; as layerNorm and rmsNorm, the residual included.
  void apply(float* out, const float* x, size_t rows, const NormResidual& residual = {}) const;

  NormKind kind() const { return options_.kind; }
  size_t size() const { return options_.size; }
  size_t sets() const { return options_.sets; }
  size_t bytes() const { return (weight_.size() + bias_.size()) * sizeof(float); }

 private:
  NormLayerOptions options_;
  Buffer<float> weight_;  // empty: ones
  Buffer<float> bias_;    // empty: zeros
};

}  // namespace ropewalk
