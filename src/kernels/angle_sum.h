// Sines and cosines of sums of two angles, in double, rounded to float32:
//   cos(a + b) = cos a cos b - sin a sin b, sin(a + b) = sin a cos b + cos a sin b.
// Nothing is rounded unseen: the caller's bound of the error tells whether another float could have been the
// nearest one.
#pragma once

#include <cstddef>

#include "simd.h"

namespace ropewalk {

// Cosines and sines of the angles of one row of a table, each [n].
struct AngleRow {
  const double* cos;
  const double* sin;
};

// Two rows of floats.
struct SeparateSinCos {
  float* sin;
  float* cos;

  void store(size_t j, simd::f32x4 s, simd::f32x4 c) const {
    simd::store(sin + j, s);
    simd::store(cos + j, c);
  }
  void storeOne(size_t j, float s, float c) const {
    sin[j] = s;
    cos[j] = c;
  }
};

// One row: sin, cos, sin, cos, ...
struct InterleavedSinCos {
  float* row;

  void store(size_t j, simd::f32x4 s, simd::f32x4 c) const {
    simd::store(row + 2 * j, simd::zipLow(s, c));
    simd::store(row + 2 * j + 4, simd::zipHigh(s, c));
  }
  void storeOne(size_t j, float s, float c) const {
    row[2 * j] = s;
    row[2 * j + 1] = c;
  }
};

// The row of a + b in double, [n].
inline void addAngles(double* cos, double* sin, AngleRow a, AngleRow b, size_t n) {
  for (size_t j = 0; j < n; ++j) {
    const double c = a.cos[j] * b.cos[j] - a.sin[j] * b.sin[j];
    sin[j] = a.sin[j] * b.cos[j] + a.cos[j] * b.sin[j];
    cos[j] = c;
  }
}

// Entries first .. end - 1 of the row of a + b. True where for each of them all numbers within `error` of the
// sum round to the same float, which is then the one stored. Any count, including 0.
template <class Out>
inline bool sumAngles(const Out& out, AngleRow a, AngleRow b, size_t first, size_t end, double error) {
  const simd::f64x2 margin = simd::splatDouble(error);
  simd::f32x4 doubt = simd::splat(0.0f);
  size_t j = first;
  for (; j + simd::kLanes <= end; j += simd::kLanes) {
    simd::f64x2 s[2];
    simd::f64x2 c[2];
    for (size_t half = 0; half < 2; ++half) {
      const size_t i = j + 2 * half;
      const simd::f64x2 a_cos = simd::load(a.cos + i);
      const simd::f64x2 a_sin = simd::load(a.sin + i);
      const simd::f64x2 b_cos = simd::load(b.cos + i);
      const simd::f64x2 b_sin = simd::load(b.sin + i);
      c[half] = simd::sub(simd::mul(a_cos, b_cos), simd::mul(a_sin, b_sin));
      s[half] = simd::add(simd::mul(a_sin, b_cos), simd::mul(a_cos, b_sin));
    }
    const simd::f32x4 s_low = simd::narrow(simd::sub(s[0], margin), simd::sub(s[1], margin));
    const simd::f32x4 s_high = simd::narrow(simd::add(s[0], margin), simd::add(s[1], margin));
    const simd::f32x4 c_low = simd::narrow(simd::sub(c[0], margin), simd::sub(c[1], margin));
    const simd::f32x4 c_high = simd::narrow(simd::add(c[0], margin), simd::add(c[1], margin));
    // Never negative, and 0 for equal floats only: a sum of these hides none.
    doubt = simd::add(doubt, simd::add(simd::sub(s_high, s_low), simd::sub(c_high, c_low)));
    out.store(j, s_low, c_low);
  }
  bool sure = simd::sum(doubt) == 0;
  for (; j < end; ++j) {
    const double c = a.cos[j] * b.cos[j] - a.sin[j] * b.sin[j];
    const double s = a.sin[j] * b.cos[j] + a.cos[j] * b.sin[j];
    const auto s_low = static_cast<float>(s - error);
    const auto c_low = static_cast<float>(c - error);
    sure = sure && s_low == static_cast<float>(s + error) && c_low == static_cast<float>(c + error);
    out.storeOne(j, s_low, c_low);
  }
  return sure;
}

}  // namespace ropewalk
