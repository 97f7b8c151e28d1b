#include "kernels/compensated_sum.h"

#include "simd.h"

namespace ropewalk {

using simd::f32x4;
using simd::kLanes;

void addCompensated(float* sum, float* rest, const float* x, size_t n) {
  const auto step = [](f32x4& s, f32x4& r, f32x4 term) {
    const f32x4 y = simd::add(term, r);
    const f32x4 total = simd::add(s, y);
    const f32x4 taken = simd::sub(total, s);
    const f32x4 lost = simd::add(simd::sub(s, simd::sub(total, taken)), simd::sub(y, taken));
    s = total;
    // Infinity minus infinity: an infinite sum has lost nothing, and stays infinite.
    r = simd::select(simd::lessThan(simd::mul(lost, simd::splat(0)), simd::splat(1)), lost, simd::splat(0));
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    f32x4 s = simd::load(sum + i);
    f32x4 r = simd::load(rest + i);
    step(s, r, simd::load(x + i));
    simd::store(sum + i, s);
    simd::store(rest + i, r);
  }
  f32x4 s = simd::loadN(sum + i, n - i);
  f32x4 r = simd::loadN(rest + i, n - i);
  step(s, r, simd::loadN(x + i, n - i));
  simd::storeN(sum + i, s, n - i);
  simd::storeN(rest + i, r, n - i);
}

}  // namespace ropewalk
