#include "kernels/softmax.h"

#include <algorithm>
#include <limits>

#include "kernels/exp.h"
#include "simd.h"

namespace ropewalk {

using simd::f32x4;
using simd::kLanes;

float dot(const float* a, const float* b, size_t n) {
  f32x4 sum0 = simd::splat(0);
  f32x4 sum1 = simd::splat(0);
  size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    sum0 = simd::mulAdd(simd::load(a + i), simd::load(b + i), sum0);
    sum1 = simd::mulAdd(simd::load(a + i + kLanes), simd::load(b + i + kLanes), sum1);
  }
  for (; i + kLanes <= n; i += kLanes) sum0 = simd::mulAdd(simd::load(a + i), simd::load(b + i), sum0);
  sum1 = simd::mulAdd(simd::loadN(a + i, n - i), simd::loadN(b + i, n - i), sum1);
  return simd::sum(simd::add(sum0, sum1));
}

bool softmax(float* x, size_t n) {
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  const size_t whole = n - n % kLanes;

  f32x4 largest = simd::splat(kMinusInfinity);
  for (size_t i = 0; i < whole; i += kLanes) largest = simd::max(simd::load(x + i), largest);
  float row_max = simd::maxLane(largest);
  bool has_nan = false;
  for (size_t i = whole; i < n; ++i) row_max = std::max(row_max, x[i]);
  if (row_max == kMinusInfinity) {
    // Comparisons pass NaN by: a row of NaN and -infinity is not an empty one.
    for (size_t i = 0; i < n; ++i) has_nan = has_nan || x[i] != x[i];
    if (!has_nan) {
      std::fill_n(x, n, 0.0f);
      return false;
    }
    row_max = 0;
  }

  // Sums of float32 numbers wear out as they grow: each block has its own, and the blocks add up in double.
  constexpr size_t kBlock = 1024;
  const f32x4 shift = simd::splat(row_max);
  double sum = 0;
  for (size_t start = 0; start < whole; start += kBlock) {
    f32x4 sums = simd::splat(0);
    for (size_t i = start; i < std::min(whole, start + kBlock); i += kLanes) {
      const f32x4 e = exp(simd::sub(simd::load(x + i), shift));
      simd::store(x + i, e);
      sums = simd::add(sums, e);
    }
    sum += static_cast<double>(simd::sum(sums));
  }
  if (whole < n) {
    float tail[kLanes];
    simd::store(tail, exp(simd::sub(simd::loadN(x + whole, n - whole), shift)));
    for (size_t i = whole; i < n; ++i) {
      x[i] = tail[i - whole];
      sum += static_cast<double>(x[i]);
    }
  }

  const auto scale = static_cast<float>(1 / sum);
  const f32x4 inverse = simd::splat(scale);
  for (size_t i = 0; i < whole; i += kLanes) simd::store(x + i, simd::mul(simd::load(x + i), inverse));
  for (size_t i = whole; i < n; ++i) x[i] *= scale;
  return true;
}

void addScaled(float* out, float s, const float* x, size_t n) {
  const f32x4 scale = simd::splat(s);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    simd::store(out + i, simd::mulAdd(scale, simd::load(x + i), simd::load(out + i)));
  }
  for (; i < n; ++i) out[i] += s * x[i];
}

}  // namespace ropewalk
