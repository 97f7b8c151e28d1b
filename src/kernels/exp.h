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
    return mul(exponentialOf(r), exp2Shifted(shifted));
  }

 private:
  // e^r. In pairs of powers less has to wait for what comes before; one after the other there is an operation
  // less where a product and a sum are one.
  simd::f32x4 exponentialOf(simd::f32x4 r) const {
    using namespace simd;
    if constexpr (kMulAddIsOne) {
      const f32x4 q = mulAdd(mulAdd(mulAdd(mulAdd(c_[5], r, c_[6]), r, c_[7]), r, c_[8]), r, c_[9]);
      return mulAdd(mulAdd(q, r, c_[10]), r, c_[10]);
    }
    const f32x4 square = mul(r, r);
    const f32x4 high = mulAdd(c_[5], square, mulAdd(c_[6], r, c_[7]));
    const f32x4 q = mulAdd(high, square, mulAdd(c_[8], r, c_[9]));
    return add(mulAdd(q, square, r), c_[10]);
  }

  static constexpr size_t kCount = sizeof kExpConstants / sizeof *kExpConstants;
  simd::f32x4 c_[kCount];
};

inline simd::f32x4 exp(simd::f32x4 x) {
  return Exp()(x);
}

inline constexpr float kExp2Constants[] = {
    simd::kExp2Shift,                     //
    1.5577841259e-4f, -1.3389060041e-3f,  // 2^-g for |g| <= 1 / 2, highest power first
    9.6178483218e-3f, -5.5503599346e-2f, 2.4022647738e-1f, -6.9314718246e-1f, 1};

// e^(scale x) for scale in [2^-100, 2^100] and x <= 0, as 2^y with y = scale log2(e) x: cheaper than Exp, and
// as close but for the rounding of y, 2^-23 |scale x| at most. 0 where Exp is.
class ScaledExp {
 public:
  explicit ScaledExp(float scale) {
    const float* constants = simd::hidden(kExp2Constants);
    for (size_t i = 0; i < kCount; ++i) c_[i] = simd::splat(constants[i]);
    const float factor = scale * 1.44269504f;
    factor_ = simd::splat(factor);
    lowest_ = simd::splat(-127 / factor);
  }

  simd::f32x4 operator()(simd::f32x4 x) const {
    using namespace simd;
    const f32x4 clamped = max(lowest_, x);  // in this order NaN stays NaN
    const f32x4 shifted = mulAdd(clamped, factor_, c_[0]);
    const f32x4 n = sub(shifted, c_[0]);
    const f32x4 g = negMulAdd(clamped, factor_, n);
    const f32x4 square = mul(g, g);
    const f32x4 high = mulAdd(c_[1], square, mulAdd(c_[2], g, c_[3]));
    const f32x4 middle = mulAdd(high, square, mulAdd(c_[4], g, c_[5]));
    const f32x4 e = mulAdd(middle, square, mulAdd(c_[6], g, c_[7]));
    return mul(e, exp2Shifted(shifted));
  }

 private:
  static constexpr size_t kCount = sizeof kExp2Constants / sizeof *kExp2Constants;
  simd::f32x4 c_[kCount];
  simd::f32x4 factor_;
  simd::f32x4 lowest_;
};

}  // namespace ropewalk
