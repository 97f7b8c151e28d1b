#include "layers/linear.h"

#include <utility>

#include "kernels/weight_format.h"

namespace ropewalk {
Status Linear::create(const LinearWeights& weights, size_t n, size_t k, WeightType stored) {
  PackedMatrix packed;
  const Status status = packed.pack(weights.type, weights.weight, n, k, stored, weights.layout);
  if (status != Status::kOk) return status;
  return create(std::move(packed), weights.bias_type, weights.bias);
}

Status Linear::create(PackedMatrix&& weight, WeightType bias_type, const void* bias) {
  Buffer<float> values;
  if (bias != nullptr) {
    if (formatOf(bias_type).row_scales) return Status::kInvalidArgument;
    if (values.allocate(weight.rows()) != Status::kOk) return Status::kOutOfMemory;
    widen(bias_type, bias, weight.rows(), values.data());
  }
  weight_ = std::move(weight);
  bias_ = std::move(values);
  return Status::kOk;
}

void Linear::apply(float* out, const float* in, size_t rows, void (*activation)(float* row, size_t n)) const {
  gemm(out, weight_.rows(), in, weight_.columns(), weight_, rows, {false, bias_.data(), activation});
}

}  // namespace ropewalk
