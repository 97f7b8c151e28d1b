#include "kernels/softmax.h"

#include <algorithm>
#include <limits>

#include "kernels/exp.h"
#include "parallel.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

// Multiplications that take as long as one number.
constexpr size_t kElementWork = 32;  // speed alone
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// The largest of n entries; -infinity if there is none. NaN is ignored.
float largestOf(const float* x, size_t n) {
  f32x4 largest[4];
  for (f32x4& v : largest) v = simd::splat(kMinusInfinity);
  size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (size_t v = 0; v < 4; ++v) largest[v] = simd::max(simd::load(x + i + v * kLanes), largest[v]);
  }
  for (; i + kLanes <= n; i += kLanes) largest[0] = simd::max(simd::load(x + i), largest[0]);
  float result =
      simd::maxLane(simd::max(simd::max(largest[0], largest[1]), simd::max(largest[2], largest[3])));
  for (; i < n; ++i) result = std::max(result, x[i]);
  return result;
}

// out = e^(x - shift); their sum. Sums of float32 numbers lose accuracy as they grow: each block has its own,
// and the blocks add up in double. exp_of comes by value, so that its constants may stay in registers (stores
// to out could change what lies in memory), and those leave room for one vector at a time.
double exponentials(float* out, const float* x, size_t n, float shift, Exp exp_of) {
  constexpr size_t kBlock = 256;
  const size_t whole = n - n % kLanes;
  const f32x4 shifts = simd::splat(shift);
  double sum = 0;
  for (size_t start = 0; start < whole; start += kBlock) {
    const size_t end = std::min(whole, start + kBlock);
    f32x4 sums = simd::splat(0);
    ROPEWALK_KEEP_LOOP
    for (size_t i = start; i < end; i += kLanes) {
      const f32x4 e = exp_of(simd::sub(simd::load(x + i), shifts));
      simd::store(out + i, e);
      sums = simd::add(sums, e);
    }
    sum += static_cast<double>(simd::sum(sums));
  }
  if (whole < n) {
    simd::storeN(out + whole, exp_of(simd::sub(simd::loadN(x + whole, n - whole), shifts)), n - whole);
    for (size_t i = whole; i < n; ++i) sum += static_cast<double>(out[i]);
  }
  return sum;
}

void softmaxRow(float* out, const float* x, size_t n, const Exp& exp_of) {
  float largest = largestOf(x, n);
  if (largest == kMinusInfinity) {
    // Comparisons ignore NaN: a row of NaN and -infinity is not an empty one.
    if (std::none_of(x, x + n, [](float v) { return v != v; })) {
      std::fill_n(out, n, 0.0f);
      return;
    }
    largest = 0;
  }
  const auto scale = static_cast<float>(1 / exponentials(out, x, n, largest, exp_of));
  const f32x4 scales = simd::splat(scale);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) simd::store(out + i, simd::mul(simd::load(out + i), scales));
  for (; i < n; ++i) out[i] *= scale;
}

}  // namespace

void softmaxRows(float* out, size_t out_stride, const float* in, size_t in_stride, size_t rows, size_t n) {
  const Exp exp_of;
  parallelFor(rows, grainOf(kElementWork, n), [&](const Share& share) {
    for (size_t r = share.first; r < share.end; ++r)
      softmaxRow(out + r * out_stride, in + r * in_stride, n, exp_of);
  });
}

}  // namespace ropewalk
