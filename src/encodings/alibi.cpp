#include "encodings/alibi.h"

#include <bit>
#include <cmath>

#include "angles/real.h"
#include "memory.h"

namespace ropewalk {
namespace {

// Rounded to bfloat16, ties to even.
double toBfloat16(double x) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return static_cast<double>(std::bit_cast<float>(rounded & 0xffff0000));
}

double entry(const AlibiOptions& o, double slope, size_t i, size_t j) {
  const auto key = static_cast<double>(j);
  switch (o.variant) {
    case AlibiVariant::kBloom:
    case AlibiVariant::kFalcon:
      return slope * key;
    case AlibiVariant::kMpt:
      return slope * (key - static_cast<double>(o.keys - 1));
    default:
      return -slope * std::fabs(static_cast<double>(static_cast<int64_t>(i) + o.query_offset) - key);
  }
}

}  // namespace

Status alibiSlopes(size_t heads, double* out) {
  if (heads == 0) return Status::kInvalidShape;
  const size_t power = std::bit_floor(heads);
  // 2^(-8 numerator / denominator), rounded once.
  const auto slope = [](size_t numerator, size_t denominator) {
    return pow(2.0, -8.0 * Real(static_cast<double>(numerator)) / static_cast<double>(denominator))
        .toDouble();
  };
  for (size_t h = 0; h < heads; ++h) {
    out[h] = h < power ? slope(h + 1, power) : slope(2 * (h - power) + 1, 2 * power);
  }
  return Status::kOk;
}

Status alibiBias(const AlibiOptions& options, float* out) {
  Buffer<double> slopes;
  if (slopes.allocate(options.heads) != Status::kOk) return Status::kOutOfMemory;
  const Status status = alibiSlopes(options.heads, slopes.data());
  if (status != Status::kOk) return status;
  for (size_t h = 0; h < options.heads; ++h) {
    const double slope = options.variant == AlibiVariant::kFalcon ? toBfloat16(slopes[h]) : slopes[h];
    for (size_t i = 0; i < options.queries; ++i) {
      for (size_t j = 0; j < options.keys; ++j) *out++ = static_cast<float>(entry(options, slope, i, j));
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
