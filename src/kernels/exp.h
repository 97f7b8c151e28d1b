// e^x for four floats: Cody-Waite reduction to |r| <= ln2 / 2 and a polynomial of degree 6 (Cephes' expf);
// within 1.5 ulp for results that are normal numbers, 0 below x = -87.33, NaN for NaN. x above 88.3 is not
// for it.
#pragma once

#include "simd.h"

namespace ropewalk {

inline simd::f32x4 exp(simd::f32x4 x) {
  using namespace simd;
  const f32x4 lowest = splat(-87.33f);   // e^x leaves the normal numbers below
  const f32x4 clamped = max(lowest, x);  // in this order NaN stays NaN
  const f32x4 n = round(mul(clamped, splat(1.44269504f)));
  f32x4 r = negMulAdd(n, splat(0.693359375f), clamped);  // ln2 in two parts: the first product is exact
  r = negMulAdd(n, splat(-2.12194440e-4f), r);
  f32x4 p = splat(1.9875691500e-4f);
  p = mulAdd(p, r, splat(1.3981999507e-3f));
  p = mulAdd(p, r, splat(8.3334519073e-3f));
  p = mulAdd(p, r, splat(4.1665795894e-2f));
  p = mulAdd(p, r, splat(1.6666665459e-1f));
  p = mulAdd(p, r, splat(5.0000001201e-1f));
  const f32x4 e = add(mulAdd(p, mul(r, r), r), splat(1));
  return select(lessThan(x, lowest), splat(0), mul(e, exp2Int(n)));
}

}  // namespace ropewalk
