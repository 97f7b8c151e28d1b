// gelu(x) = x Phi(x), Phi the normal distribution function, for four floats; within 5 ulp on either side of 0
// (1 + erf loses what is left of 0). 0 below -13.21, where less than 1e-38 is left. NaN for NaN.
#pragma once

#include "kernels/exp.h"
#include "simd.h"

namespace ropewalk {

struct GeluConstants {
  // (Phi(x) - 1 / 2) / x by x^2 for |x| < 1, and H; highest powers first.
  float near_zero[6] = {-7.65421828e-6f, 1.13486392e-4f,  -1.18632999e-3f,
                        9.97332297e-3f,  -6.64903596e-2f, 3.98942292e-1f};
  float tail[9] = {83.047081f,  -23.8074532f, -15.6948271f,    9.04506969f,   3.0371592f,
                   -2.8869884f, -2.04308486f, -4.57816035e-1f, 3.64541829e-1f};
  float middle = 0.2f;  // of 1 / (y + 2), about
  float one = 1;
  float two = 2;
  float half = 0.5f;
  float minus_half = -0.5f;
  float sixth = 1.0f / 6;
  float splitter = 4097;  // 2^12 + 1
  float largest = 16;
};
inline constexpr GeluConstants kGeluConstants;

// y Phi(-y) for y from 1 on: e^(-y^2 / 2) H(1 / (y + 2)), H of degree 8. The exponent is made of two parts,
// one of which is exact, because y^2 itself rounds by more than e^x forgives.
inline simd::f32x4 geluTail(simd::f32x4 y, const GeluConstants& c) {
  using namespace simd;
  const f32x4 one = splat(c.one);
  const f32x4 minus_half = splat(c.minus_half);
  const f32x4 p = polynomial(c.tail, sub(div(one, add(y, splat(c.two))), splat(c.middle)));

  const f32x4 scaled = mul(y, splat(c.splitter));
  const f32x4 high = sub(scaled, sub(scaled, y));  // the upper 12 bits of y (Dekker): its square is exact
  const f32x4 rest = mul(mul(sub(y, high), add(y, high)), minus_half);
  f32x4 q = mulAdd(rest, splat(c.sixth), splat(c.half));  // e^rest, |rest| < 0.03
  q = mulAdd(mulAdd(q, rest, one), rest, one);
  return mul(mul(p, q), exp(mul(mul(high, high), minus_half)));
}

inline simd::f32x4 gelu(simd::f32x4 x) {
  using namespace simd;
  const GeluConstants& c = *hidden(&kGeluConstants);
  const f32x4 magnitude = max(x, sub(splat(0), x));
  const f32x4 p = polynomial(c.near_zero, mul(x, x));
  const f32x4 near_zero = mul(x, mulAdd(x, p, splat(c.half)));

  // x Phi(x) = x + |x| Phi(-x) for x < 0 and x - x Phi(-x) for x > 0.
  const f32x4 tail = geluTail(min(splat(c.largest), magnitude), c);
  const f32x4 far = sub(max(splat(0), x), tail);  // in this order NaN stays NaN
  return select(lessThan(magnitude, splat(c.one)), near_zero, far);
}

}  // namespace ropewalk
