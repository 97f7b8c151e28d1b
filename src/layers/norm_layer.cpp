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
    if (!(options.eps > 0) || options.sets == 0) return Status::kInvalidArgument;
    size_t n = 0;
    if (!multiply(options.sets, options.size, &n)) return Status::kOutOfMemory;
    Status status = widened(weights.type, weights.weight, n, &made.weight_);
    if (status == Status::kOk) status = widened(weights.bias_type, weights.bias, n, &made.bias_);
    if (status != Status::kOk) return status;
  }
  *this = std::move(made);
  return Status::kOk;
}

void NormLayer::apply(float* out, const float* x, size_t rows, const NormResidual& residual) const {
  const auto [kind, size, eps, unit_offset, sets] = options_;
  if (kind == NormKind::kNone) return copyRows(out, x, rows * size, residual);
  const auto kernel = kind == NormKind::kLayer ? layerNorm : rmsNorm;
  const size_t at_once = sets == 1 ? rows : 1;
  const auto offset = [](auto* numbers, size_t by) { return numbers == nullptr ? nullptr : numbers + by; };
  for (size_t r = 0; r < rows; r += at_once) {
    const size_t set = r % sets * size;
    kernel(out + r * size, x + r * size, at_once, size,
           {offset(weight_.data(), set), offset(bias_.data(), set), eps, unit_offset},
           {offset(residual.residual, r * size), offset(residual.sum, r * size)});
  }
}

}  // namespace ropewalk
