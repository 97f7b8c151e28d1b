#include "encodings/kerple.h"

#include <cmath>

namespace ropewalk {

Status kerpleBias(const KerpleOptions& options, const float* r1, const float* r2, float* out) {
  const bool power = options.kind == KerpleKind::kPower;
  for (size_t h = 0; h < options.heads; ++h) {
    const bool positive = r1[h] > 0 && r2[h] > 0 && std::isfinite(r1[h]) && std::isfinite(r2[h]);
    if (!positive || (power && r2[h] > 2)) return Status::kInvalidArgument;
  }
  for (size_t h = 0; h < options.heads; ++h) {
    const auto scale = static_cast<double>(r1[h]);
    const auto shape = static_cast<double>(r2[h]);
    for (size_t i = 0; i < options.queries; ++i) {
      for (size_t j = 0; j < options.keys; ++j) {
        const auto distance = std::fabs(
            static_cast<double>(static_cast<int64_t>(j) - static_cast<int64_t>(i) - options.query_offset));
        const double fall = power ? std::pow(distance, shape) : std::log1p(shape * distance);
        *out++ = static_cast<float>(-scale * fall);
      }
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
