#include "encodings/kerple.h"

#include <cmath>
#include <cstddef>

#include "angles/power.h"

namespace ropewalk {

Status kerpleBias(const KerpleOptions& options, const float* r1, const float* r2, float* out) {
  const bool power_law = options.kind == KerpleKind::kPower;
  for (size_t h = 0; h < options.heads; ++h) {
    const bool positive = r1[h] > 0 && r2[h] > 0 && std::isfinite(r1[h]) && std::isfinite(r2[h]);
    if (!positive || (power_law && r2[h] > 2)) return Status::kInvalidArgument;
  }
  for (size_t h = 0; h < options.heads; ++h) {
    const auto scale = static_cast<double>(r1[h]);
    const auto shape = static_cast<double>(r2[h]);
    for (size_t i = 0; i < options.queries; ++i, out += options.keys) {
      for (size_t j = 0; j < options.keys; ++j) {
        if (i > 0 && j > 0) {  // the same distance as one row above
          out[j] = *(out + j - options.keys - 1);
          continue;
        }
        const auto distance = std::fabs(
            static_cast<double>(static_cast<int64_t>(j) - static_cast<int64_t>(i) - options.query_offset));
        const double fall = power_law ? power(distance, shape) : std::log1p(shape * distance);
        out[j] = static_cast<float>(-scale * fall);
      }
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
