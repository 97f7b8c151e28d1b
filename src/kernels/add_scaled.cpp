#include "kernels/add_scaled.h"

#include "simd.h"

namespace ropewalk {

using simd::kLanes;

void addScaled(float* out, float s, const float* x, size_t n) {
  const simd::f32x4 scale = simd::splat(s);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    simd::store(out + i, simd::mulAdd(scale, simd::load(x + i), simd::load(out + i)));
  }
  for (; i < n; ++i) out[i] += s * x[i];
}

}  // namespace ropewalk
