#include "kernels/weight_type.h"

#include <cstring>

#include "simd.h"

namespace ropewalk {
namespace {

using simd::kLanes;

// Numbers of a file may stand at any address; four at a time they pass through a place that is aligned.
template <class T, class Load>
void widenAll(const void* values, size_t n, float* out, Load load) {
  const auto* from = static_cast<const unsigned char*>(values);
  T chunk[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    std::memcpy(chunk, from + i * sizeof(T), sizeof chunk);
    simd::store(out + i, load(chunk));
  }
  if (i == n) return;
  std::memcpy(chunk, from + i * sizeof(T), (n - i) * sizeof(T));
  simd::storeN(out + i, load(chunk), n - i);
}

}  // namespace

void widen(WeightType type, const void* values, size_t n, float* out) {
  switch (type) {
    case WeightType::kFloat32:
      if (n > 0) std::memcpy(out, values, n * sizeof(float));
      return;
    case WeightType::kFloat16:
      return widenAll<uint16_t>(values, n, out, simd::loadF16);
    case WeightType::kBfloat16:
      return widenAll<uint16_t>(values, n, out, simd::loadBf16);
    case WeightType::kInt8:
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<const int8_t*>(values)[i];
      return;
  }
}

}  // namespace ropewalk
