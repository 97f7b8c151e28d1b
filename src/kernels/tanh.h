// tanh for four floats: x P(x^2) of degree 5 near 0, then 1 - 2 / (e^(2 |x|) + 1); within 2 ulp everywhere.
// NaN for NaN, +-1 from 9.02 on, infinity included, -0 for -0.
#pragma once

#include "kernels/exp.h"
#include "simd.h"

namespace ropewalk {

// P, highest power first.
inline constexpr float kTanhNearZero[] = {-5.65997884e-3f, 2.05909796e-2f, -5.37210666e-2f, 1.33311272e-1f,
                                          -3.33332598e-1f};

inline simd::f32x4 tanh(simd::f32x4 x) {
  using namespace simd;
  const f32x4 magnitude = max(x, sub(splat(0), x));
  const f32x4 z = mul(x, x);
  const f32x4 p = polynomial(*hidden(&kTanhNearZero), z);
  const f32x4 near_zero = mulAdd(mul(z, p), x, x);

  const f32x4 limited = min(splat(20), magnitude);  // in this order NaN stays NaN
  const f32x4 e = exp(add(limited, limited));
  const f32x4 far = sub(splat(1), div(splat(2), add(e, splat(1))));
  const f32x4 with_sign = select(lessThan(x, splat(0)), sub(splat(0), far), far);
  return select(lessThan(magnitude, splat(0.625f)), near_zero, with_sign);
}

}  // namespace ropewalk
