// gelu(x) = x Phi(x), Phi the normal distribution function, for four floats; within 5 ulp on either side of 0
// (1 + erf loses what is left of 0). -0 below -13.21, where less than 1e-38 is left. NaN for NaN.
#pragma once

#include "kernels/exp.h"
#include "simd.h"

namespace ropewalk {

// y Phi(-y) for y from 1 on: e^(-y^2 / 2) H(1 / (y + 2)), H of degree 8. The exponent is made of two parts,
// one of which is exact, because y^2 itself rounds by more than e^x forgives.
inline simd::f32x4 geluTail(simd::f32x4 y) {
  using namespace simd;
  const f32x4 t = sub(div(splat(1), add(y, splat(2))), splat(0.2f));
  f32x4 p = splat(83.047081f);
  p = mulAdd(p, t, splat(-23.8074532f));
  p = mulAdd(p, t, splat(-15.6948271f));
  p = mulAdd(p, t, splat(9.04506969f));
  p = mulAdd(p, t, splat(3.0371592f));
  p = mulAdd(p, t, splat(-2.8869884f));
  p = mulAdd(p, t, splat(-2.04308486f));
  p = mulAdd(p, t, splat(-4.57816035e-1f));
  p = mulAdd(p, t, splat(3.64541829e-1f));

  const f32x4 scaled = mul(y, splat(4097));
  const f32x4 high = sub(scaled, sub(scaled, y));  // the upper 12 bits of y (Dekker): its square is exact
  const f32x4 rest = mul(mul(sub(y, high), add(y, high)), splat(-0.5f));
  f32x4 q = mulAdd(rest, splat(1.0f / 6), splat(0.5f));  // e^rest, |rest| < 0.03
  q = mulAdd(mulAdd(q, rest, splat(1)), rest, splat(1));
  return mul(mul(p, q), exp(mul(mul(high, high), splat(-0.5f))));
}

inline simd::f32x4 gelu(simd::f32x4 x) {
  using namespace simd;
  const f32x4 magnitude = max(x, sub(splat(0), x));
  const f32x4 z = mul(x, x);
  f32x4 p = splat(-7.65421828e-6f);
  p = mulAdd(p, z, splat(1.13486392e-4f));
  p = mulAdd(p, z, splat(-1.18632999e-3f));
  p = mulAdd(p, z, splat(9.97332297e-3f));
  p = mulAdd(p, z, splat(-6.64903596e-2f));
  p = mulAdd(p, z, splat(3.98942292e-1f));
  const f32x4 near_zero = mul(x, mulAdd(x, p, splat(0.5f)));

  // x Phi(x) = x + |x| Phi(-x) for x < 0 and x - x Phi(-x) for x > 0.
  const f32x4 tail = geluTail(min(splat(16), magnitude));
  const f32x4 far = sub(max(splat(0), x), tail);  // in this order NaN stays NaN
  return select(lessThan(magnitude, splat(1)), near_zero, far);
}

}  // namespace ropewalk
