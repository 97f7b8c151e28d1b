#include "layers/norm_layer.h"

#include <algorithm>
#include <utility>

#include "kernels/add_scaled.h"
#include "kernels/weight_format.h"

namespace ropewalk {
namespace {

Status widened(WeightType type, const void* values, size_t n, Buffer<float>* out) {
  if (values == nullptr) return Status::kOk;
  if (formatOf(type).row_scales) return Status::kInvalidArgument;
  if (out->allocate(n) != Status::kOk) return Status::kOutOfMemory;
  widen(type, values, n, out->data());
  return Status::kOk;
}

void copyRows(float* out, const float* x, size_t n, const NormResidual& residual) {
  if (out != x) std::copy_n(x, n, out);
  if (residual.residual == nullptr) return;
  addScaled(out, 1, residual.residual, n);
  if (residual.sum != nullptr) std::copy_n(out, n, residual.sum);
}

}  // namespace

Status NormLayer::create(const NormLayerOptions& options, const NormWeights& weights) {
  NormLayer made;
  made.options_ = options;
  if (options.kind != NormKind::kNone) {
    if (!(options.eps > 0)) return Status::kInvalidArgument;
    Status status = widened(weights.type, weights.weight, options.size, &made.weight_);
    if (status == Status::kOk) status = widened(weights.bias_type, weights.bias, options.size, &made.bias_);
    if (status != Status::kOk) return status;
  }
  *this = std::move(made);
  return Status::kOk;
}

void NormLayer::apply(float* out, const float* x, size_t rows, const NormResidual& residual) const {
  const NormOptions options = {weight_.data(), bias_.data(), options_.eps, options_.unit_offset};
  switch (options_.kind) {
    case NormKind::kNone:
      return copyRows(out, x, rows * options_.size, residual);
    case NormKind::kLayer:
      return layerNorm(out, x, rows, options_.size, options, residual);
    case NormKind::kRms:
      return rmsNorm(out, x, rows, options_.size, options, residual);
  }
}

}  // namespace ropewalk
