// A function over a row: out[i] = f(x[i]), with f of four floats at a time. Any n, including 0; out may be x.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd.h"

namespace ropewalk {

template <class F>
void mapRow(float* out, const float* x, size_t n, F f) {
  // The rest goes through the same loop, so that f is compiled once.
  float rest[simd::kLanes] = {};
  const size_t whole = n - n % simd::kLanes;
  std::copy(x + whole, x + n, rest);
  const float* from = x;
  float* to = out;
  for (size_t count = whole;; count = simd::kLanes) {
    for (size_t i = 0; i < count; i += simd::kLanes) simd::store(to + i, f(simd::load(from + i)));
    if (from == rest || whole == n) break;
    from = rest;
    to = rest;
  }
  std::copy(rest, rest + (n - whole), out + whole);
}

}  // namespace ropewalk
