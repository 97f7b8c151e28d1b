#include "kernels/norm.h"

#include <algorithm>
#include <cmath>

#include "parallel.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

constexpr size_t kElementWork = 16;  // multiplications that take as long as one number of a row

// y = ((x - shift) - delta) scale: the center as a float and what that float lacks.
struct Moments {
  float shift = 0;
  double delta = 0;
  double spread = 0;  // variance + eps
};

struct Sums {
  double first = 0;   // of x - shift
  double second = 0;  // of its square
};

// Float32 sums lose accuracy as they grow: each block has its own, and the blocks add up in double.
Sums sumsAround(const float* x, size_t n, float shift) {
  constexpr size_t kBlock = 1024;
  constexpr size_t kStep = 4 * kLanes;
  const f32x4 center = simd::splat(shift);
  Sums sums;
  for (size_t start = 0; start < n; start += kBlock) {
    const size_t end = std::min(n, start + kBlock);
    f32x4 first[4];
    f32x4 second[4];
    for (size_t a = 0; a < 4; ++a) first[a] = second[a] = simd::splat(0);
    size_t i = start;
    for (; i + kStep <= end; i += kStep) {
      for (size_t a = 0; a < 4; ++a) {
        const f32x4 d = simd::sub(simd::load(x + i + a * kLanes), center);
        first[a] = simd::add(first[a], d);
        second[a] = simd::mulAdd(d, d, second[a]);
      }
    }
    for (; i + kLanes <= end; i += kLanes) {
      const f32x4 d = simd::sub(simd::load(x + i), center);
      first[0] = simd::add(first[0], d);
      second[0] = simd::mulAdd(d, d, second[0]);
    }
    const auto total = [](const f32x4* a) {
      return simd::sum(simd::add(simd::add(a[0], a[1]), simd::add(a[2], a[3])));
    };
    float tail_first = 0;
    float tail_second = 0;
    for (; i < end; ++i) {
      const float d = x[i] - shift;
      tail_first += d;
      tail_second += d * d;
    }
    sums.first += static_cast<double>(total(first) + tail_first);
    sums.second += static_cast<double>(total(second) + tail_second);
  }
  return sums;
}

// The first pass finds the float nearest to the mean, or almost; the second measures from there. What rows of
// float32 vary by is never so much less than the distance of that float from the mean that the difference of
// squares would cancel.
Moments layerMoments(const float* x, size_t n, double eps) {
  const auto count = static_cast<double>(n);
  Moments m;
  m.shift = x[0];
  m.shift += static_cast<float>(sumsAround(x, n, m.shift).first / count);
  const Sums sums = sumsAround(x, n, m.shift);
  m.delta = sums.first / count;
  m.spread = sums.second / count - m.delta * m.delta + eps;
  return m;
}

Moments rmsMoments(const float* x, size_t n, double eps) {
  Moments m;
  m.spread = sumsAround(x, n, 0).second / static_cast<double>(n) + eps;
  return m;
}

void writeRow(float* out, const float* x, size_t n, const NormOptions& options, const Moments& m) {
  const f32x4 shift = simd::splat(m.shift);
  const f32x4 delta = simd::splat(static_cast<float>(m.delta));
  const f32x4 scale = simd::splat(static_cast<float>(1 / std::sqrt(m.spread)));
  const f32x4 offset = simd::splat(options.unit_offset ? 1 : 0);
  const auto normalized = [&](f32x4 v) { return simd::mul(simd::sub(simd::sub(v, shift), delta), scale); };
  const float* weight = options.weight;
  const float* bias = options.bias;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    f32x4 y = normalized(simd::load(x + i));
    if (weight != nullptr) y = simd::mul(y, simd::add(simd::load(weight + i), offset));
    if (bias != nullptr) y = simd::add(y, simd::load(bias + i));
    simd::store(out + i, y);
  }
  const size_t rest = n - i;
  f32x4 y = normalized(simd::loadN(x + i, rest));
  if (weight != nullptr) y = simd::mul(y, simd::add(simd::loadN(weight + i, rest), offset));
  if (bias != nullptr) y = simd::add(y, simd::loadN(bias + i, rest));
  simd::storeN(out + i, y, rest);
}

// The same in double, for rows whose squares leave float32, and for NaN and infinity.
void rowInDouble(float* out, const float* x, size_t n, const NormOptions& options, bool centered) {
  const auto count = static_cast<double>(n);
  double mean = 0;
  if (centered) {
    for (size_t i = 0; i < n; ++i) mean += static_cast<double>(x[i]);
    mean /= count;
  }
  double squares = 0;
  for (size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    squares += d * d;
  }
  const double scale = 1 / std::sqrt(squares / count + options.eps);
  const double offset = options.unit_offset ? 1 : 0;
  for (size_t i = 0; i < n; ++i) {
    double y = (static_cast<double>(x[i]) - mean) * scale;
    if (options.weight != nullptr) y *= static_cast<double>(options.weight[i]) + offset;
    if (options.bias != nullptr) y += static_cast<double>(options.bias[i]);
    out[i] = static_cast<float>(y);
  }
}

void add(float* out, const float* a, const float* b, size_t n) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) simd::store(out + i, simd::add(simd::load(a + i), simd::load(b + i)));
  for (; i < n; ++i) out[i] = a[i] + b[i];
}

void normRow(float* out, const float* x, size_t r, size_t n, const NormOptions& options,
             const NormResidual& residual, bool centered) {
  float* out_row = out + r * n;
  const float* row = x + r * n;
  if (residual.residual != nullptr) {
    float* sum = residual.sum == nullptr ? out_row : residual.sum + r * n;
    add(sum, row, residual.residual + r * n, n);
    row = sum;
  }
  const Moments m = centered ? layerMoments(row, n, options.eps) : rmsMoments(row, n, options.eps);
  // Within these bounds no square that matters was lost, and the scale is a normal float. False for NaN.
  if (m.spread >= 0x1p-96 && m.spread <= 0x1p100) {
    writeRow(out_row, row, n, options, m);
  } else {
    rowInDouble(out_row, row, n, options, centered);
  }
}

void normRows(float* out, const float* x, size_t rows, size_t n, const NormOptions& options,
              const NormResidual& residual, bool centered) {
  if (n == 0) return;
  parallelFor(rows, grainOf(kElementWork, n), [&](const Share& share) {
    for (size_t r = share.first; r < share.end; ++r) normRow(out, x, r, n, options, residual, centered);
  });
}

}  // namespace

void layerNorm(float* out, const float* x, size_t rows, size_t n, const NormOptions& options,
               const NormResidual& residual) {
  normRows(out, x, rows, n, options, residual, true);
}

void rmsNorm(float* out, const float* x, size_t rows, size_t n, const NormOptions& options,
             const NormResidual& residual) {
  normRows(out, x, rows, n, options, residual, false);
}

}  // namespace ropewalk
