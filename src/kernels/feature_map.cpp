#include "kernels/feature_map.h"

#include <algorithm>
#include <cmath>

#include "kernels/exp.h"
#include "kernels/map_row.h"
#include "simd.h"

namespace ropewalk {

using simd::f32x4;

void elu1(float* out, const float* x, size_t n) {
  const f32x4 zero = simd::splat(0);
  // min in this order keeps NaN.
  mapRow(out, x, n, [&](f32x4 v) {
    return simd::select(simd::lessThan(zero, v), simd::add(v, simd::splat(1)), exp(simd::min(zero, v)));
  });
}

void exponential(float* out, const float* x, size_t n) {
  constexpr float kEnd = 88.3f;  // where exp of kernels/exp.h ends; e^x does at 88.72
  constexpr size_t kPart = 64;
  for (size_t start = 0; start < n; start += kPart) {
    const size_t count = std::min(kPart, n - start);
    float given[kPart];  // out may be x
    std::copy_n(x + start, count, given);
    mapRow(out + start, given, count, [](f32x4 v) { return exp(simd::min(simd::splat(kEnd), v)); });
    for (size_t i = 0; i < count; ++i) {
      if (given[i] > kEnd) out[start + i] = std::exp(given[i]);
    }
  }
}

void unitVector(float* out, const float* x, size_t n) {
  double squares = 0;
  for (size_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const double length = std::sqrt(squares);
  const double inverse = 1 / (length < 1e-12 ? 1e-12 : length);  // NaN stays NaN
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(static_cast<double>(x[i]) * inverse);
}

}  // namespace ropewalk
