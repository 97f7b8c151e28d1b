// Dot products of a few rows with many, which are read once and where they lie: c = a b^T. Every sum starts
// at 0 and runs over l in order, which gives the bits of tile() (kernels/tile.h) without a turned copy of b:
// four rows of b are turned in registers, four numbers of each at a time.
#pragma once

#include <cstddef>

#include "kernels/tile.h"
#include "simd.h"

namespace ropewalk {

// lanes[i] = numbers i of four rows at p, stride apart.
inline void loadTurned(simd::f32x4 (&lanes)[simd::kLanes], const float* p, size_t stride) {
  const simd::f32x4 a = simd::load(p);
  const simd::f32x4 b = simd::load(p + stride);
  const simd::f32x4 c = simd::load(p + 2 * stride);
  const simd::f32x4 d = simd::load(p + 3 * stride);
  const simd::f32x4 ac_low = simd::zipLow(a, c);
  const simd::f32x4 ac_high = simd::zipHigh(a, c);
  const simd::f32x4 bd_low = simd::zipLow(b, d);
  const simd::f32x4 bd_high = simd::zipHigh(b, d);
  lanes[0] = simd::zipLow(ac_low, bd_low);
  lanes[1] = simd::zipHigh(ac_low, bd_low);
  lanes[2] = simd::zipLow(ac_high, bd_high);
  lanes[3] = simd::zipHigh(ac_high, bd_high);
}

// c[r][j] = sum_l a[l][r] b[j][l] for r < Rows and four times Groups rows of b; a is packed [k][Rows].
template <size_t Rows, size_t Groups>
[[gnu::noinline]] void dotsOfGroups(float* c, size_t c_stride, const float* a, const float* b,
                                    size_t b_stride, size_t k) {
  using simd::f32x4;
  using simd::kLanes;
  f32x4 sums[Rows][Groups];
  for (size_t r = 0; r < Rows; ++r) {
    for (size_t g = 0; g < Groups; ++g) sums[r][g] = simd::splat(0);
  }
  size_t l = 0;
  ROPEWALK_KEEP_LOOP
  for (; l + kLanes <= k; l += kLanes) {
    for (size_t g = 0; g < Groups; ++g) {
      f32x4 x[kLanes];
      loadTurned(x, b + g * kLanes * b_stride + l, b_stride);
      for (size_t i = 0; i < kLanes; ++i) {
        for (size_t r = 0; r < Rows; ++r)
          sums[r][g] = simd::mulAdd(simd::splat(a[(l + i) * Rows + r]), x[i], sums[r][g]);
      }
    }
  }
  for (; l < k; ++l) {
    for (size_t g = 0; g < Groups; ++g) {
      float x[kLanes];
      for (size_t j = 0; j < kLanes; ++j) x[j] = b[(g * kLanes + j) * b_stride + l];
      for (size_t r = 0; r < Rows; ++r)
        sums[r][g] = simd::mulAdd(simd::splat(a[l * Rows + r]), simd::load(x), sums[r][g]);
    }
  }
  for (size_t r = 0; r < Rows; ++r) {
    for (size_t g = 0; g < Groups; ++g) simd::store(c + r * c_stride + g * kLanes, sums[r][g]);
  }
}

// The same for n rows of b. c has room for whole vectors; what lies behind the n-th number is not told.
template <size_t Rows>
void dots(float* c, size_t c_stride, const float* a, const float* b, size_t b_stride, size_t n, size_t k) {
  using simd::kLanes;
  constexpr size_t kGroups = Rows == 1 ? 4 : Rows == 2 ? 2 : 1;  // sums enough not to wait for each other
  size_t j = 0;
  for (; j + kGroups * kLanes <= n; j += kGroups * kLanes)
    dotsOfGroups<Rows, kGroups>(c + j, c_stride, a, b + j * b_stride, b_stride, k);
  for (; j + kLanes <= n; j += kLanes)
    dotsOfGroups<Rows, 1>(c + j, c_stride, a, b + j * b_stride, b_stride, k);
  for (; j < n; ++j) {
    // One row of b four times: a lane of its own is all that the order of the sum asks for.
    for (size_t r = 0; r < Rows; ++r) {
      simd::f32x4 sum = simd::splat(0);
      for (size_t l = 0; l < k; ++l)
        sum = simd::mulAdd(simd::splat(a[l * Rows + r]), simd::splat(b[j * b_stride + l]), sum);
      c[r * c_stride + j] = simd::lane0(sum);
    }
  }
}

inline void dots(size_t rows, float* c, size_t c_stride, const float* a, const float* b, size_t b_stride,
                 size_t n, size_t k) {
  withRows(rows, [&](auto r) { dots<r>(c, c_stride, a, b, b_stride, n, k); });
}

}  // namespace ropewalk
