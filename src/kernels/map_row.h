// A function over a row: out[i] = f(x[i]), with f of four floats at a time. Any n, including 0; out may be x.
#pragma once

#include <cstddef>

#include "simd.h"

namespace ropewalk {

template <class F>
void mapRow(float* out, const float* x, size_t n, F f) {
  size_t i = 0;
  for (; i + simd::kLanes <= n; i += simd::kLanes) simd::store(out + i, f(simd::load(x + i)));
  if (i < n) simd::storeN(out + i, f(simd::loadN(x + i, n - i)), n - i);
}

}  // namespace ropewalk
