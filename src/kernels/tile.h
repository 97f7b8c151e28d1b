// The innermost loop of every product: a tile of up to kTileRows x kTileColumns sums that stay in registers,
// c (+)= a b. a is packed [k][Rows] (packTile), or its rows are a distance apart that the compiler knows, so
// that one pointer walks it; b is read where it lies, one row of kTileColumns numbers per step, b_stride
// apart: a panel of a PackedMatrix (stride kPanel, two tiles side by side) or the rows of any matrix.
#pragma once

#include <cstddef>
#include <type_traits>

#include "simd.h"

namespace ropewalk {

inline constexpr size_t kTileColumns = 8;
// Sums, two vectors of b and one number of a, and a product where that needs a place, fill 15 registers: V8
// keeps the sixteenth for itself.
inline constexpr size_t kTileRows = simd::kMulAddIsOne ? 6 : 5;

// packed [k][Rows] = a [Rows, k], whose rows are a_stride apart.
template <size_t Rows>
void packTile(float* packed, const float* a, size_t a_stride, size_t k) {
  for (size_t l = 0; l < k; ++l) {
    for (size_t r = 0; r < Rows; ++r) packed[l * Rows + r] = a[r * a_stride + l];
  }
}

// c[r][j] (+)= sum_l a[l][r] b[l][j] for r < Rows, j < Vectors kLanes: added to c or written over it.
// a[l][r] is at a[l * Step + r * RowStep]. Each sum starts at 0 and runs over l in order. The loop is one
// step long on purpose: unrolled, the compiler chains the steps and more has to be kept than there are
// registers.
template <size_t Rows, size_t Step = Rows, size_t RowStep = 1, size_t Vectors = kTileColumns / simd::kLanes>
[[gnu::noinline]] void tile(float* c, size_t c_stride, bool add, const float* a, const float* b,
                            size_t b_stride, size_t k) {
  using simd::f32x4;
  f32x4 sums[Rows][Vectors];
  for (size_t r = 0; r < Rows; ++r) {
    for (size_t v = 0; v < Vectors; ++v) sums[r][v] = simd::splat(0);
  }
  ROPEWALK_KEEP_LOOP
  for (size_t l = 0; l < k; ++l) {
    f32x4 row[Vectors];
    for (size_t v = 0; v < Vectors; ++v) row[v] = simd::load(b + v * simd::kLanes);
    for (size_t r = 0; r < Rows; ++r) {
      const f32x4 x = simd::splat(a[r * RowStep]);
      for (size_t v = 0; v < Vectors; ++v) sums[r][v] = simd::mulAdd(x, row[v], sums[r][v]);
    }
    a += Step;
    b += b_stride;
  }
  for (size_t r = 0; r < Rows; ++r) {
    for (size_t v = 0; v < Vectors; ++v) {
      float* const to = c + r * c_stride + v * simd::kLanes;
      simd::store(to, add ? simd::add(simd::load(to), sums[r][v]) : sums[r][v]);
    }
  }
}

// Calls f with std::integral_constant<size_t, rows>, 1 <= rows <= kTileRows.
template <size_t Rows = kTileRows, class F>
void withRows(size_t rows, F f) {
  if constexpr (Rows > 1) {
    if (rows < Rows) return withRows<Rows - 1>(rows, f);
  }
  f(std::integral_constant<size_t, Rows>());
}

inline void packTile(float* packed, const float* a, size_t a_stride, size_t rows, size_t k) {
  withRows(rows, [&](auto r) { packTile<r>(packed, a, a_stride, k); });
}

inline void tile(size_t rows, float* c, size_t c_stride, bool add, const float* a, const float* b,
                 size_t b_stride, size_t k) {
  withRows(rows, [&](auto r) { tile<r>(c, c_stride, add, a, b, b_stride, k); });
}

// The same with a as it lies, its rows RowStep apart.
template <size_t RowStep>
void tileOfRows(size_t rows, float* c, size_t c_stride, bool add, const float* a, const float* b,
                size_t b_stride, size_t k) {
  withRows(rows, [&](auto r) { tile<r, 1, RowStep>(c, c_stride, add, a, b, b_stride, k); });
}

// The same for `columns`, whole tiles, of a b whose rows are that long: few rows are given more columns at a
// time, so that there are sums enough not to wait for each other.
template <size_t RowStep>
void tilesOfRows(size_t rows, float* c, size_t c_stride, bool add, const float* a, const float* b,
                 size_t b_stride, size_t k, size_t columns) {
  withRows(rows, [&](auto r) {
    constexpr size_t kVectors = r == 1 ? 8 : r == 2 ? 4 : kTileColumns / simd::kLanes;
    constexpr size_t kWide = kVectors * simd::kLanes;
    size_t j = 0;
    for (; j + kWide <= columns; j += kWide)
      tile<r, 1, RowStep, kVectors>(c + j, c_stride, add, a, b + j, b_stride, k);
    for (; j < columns; j += kTileColumns) tile<r, 1, RowStep>(c + j, c_stride, add, a, b + j, b_stride, k);
  });
}

}  // namespace ropewalk
