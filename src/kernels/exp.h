// e^x for four floats: Cody-Waite reduction to |r| <= ln2 / 2 and 1 + r + r^2 q(r), q of degree 4, which is
// the nearest of its kind (Remez) and within 2^-28 of e^r. Within 1.5 ulp for results that are normal
// numbers; 0 or a subnormal number below x = -87.33, and 0 below -87.69; NaN for NaN. x above 88.3 is not for
// it.
#pragma once

#include <cstddef>

#include "simd.h"

namespace ropewalk {

inline constexpr float kExpConstants[] = {
    -88.02f,                            // from here on 2^n is 0
    1.44269504f,                        // 1 / ln2
    simd::kExp2Shift,                   //
    0.693359375f,     -2.12194440e-4f,  // ln2 in two parts: the product of an integer with the first is exact
    1.3814540580e-3f,                   // q, highest power first
    8.3687454462e-3f, 4.1668388993e-2f, 1.6666521132e-1f, 4.9999994040e-1f, 1};

// The function with its constants at hand: make one before a loop.
class Exp {
 public:
  Exp() {
    const float* constants = simd::hidden(kExpConstants);
    for (size_t i = 0; i < kCount; ++i) c_[i] = simd::splat(constants[i]);
  }

  simd::f32x4 operator()(simd::f32x4 x) const {
    using namespace simd;
    const f32x4 clamped = max(c_[0], x);  // in this order NaN stays NaN
    const f32x4 shifted = mulAdd(clamped, c_[1], c_[2]);
    const f32x4 n = sub(shifted, c_[2]);
    const f32x4 r = negMulAdd(n, c_[4], negMulAdd(n, c_[3], clamped));
    // In pairs of powers, so that less has to wait for what comes before.
    const f32x4 square = mul(r, r);
    const f32x4 high = mulAdd(c_[5], square, mulAdd(c_[6], r, c_[7]));
    const f32x4 q = mulAdd(high, square, mulAdd(c_[8], r, c_[9]));
    const f32x4 e = add(mulAdd(q, square, r), c_[10]);
    return mul(e, exp2Shifted(shifted));
  }

 private:
  static constexpr size_t kCount = sizeof kExpConstants / sizeof *kExpConstants;
  simd::f32x4 c_[kCount];
};

inline simd::f32x4 exp(simd::f32x4 x) {
  return Exp()(x);
}

}  // namespace ropewalk
