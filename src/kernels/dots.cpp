#include "kernels/dots.h"

#include "simd.h"

namespace ropewalk {
namespace {

// Panels next to each other at a time. For few rows, which have sums enough then not to wait for each other;
// more are tile()'s.
template <size_t Rows, size_t Panels>
[[gnu::noinline]] void dotsOfPanels(float* c, size_t c_stride, const float* a, const float* b, size_t k) {
  using simd::f32x4;
  constexpr size_t kVectors = kTileColumns / simd::kLanes;
  const size_t panel = k * kTileColumns;
  f32x4 sums[Rows][Panels * kVectors];
  for (size_t r = 0; r < Rows; ++r) {
    for (f32x4& sum : sums[r]) sum = simd::splat(0);
  }
  ROPEWALK_KEEP_LOOP
  for (size_t l = 0; l < k; ++l) {
    f32x4 x[Rows];
    for (size_t r = 0; r < Rows; ++r) x[r] = simd::splat(a[r]);
    for (size_t v = 0; v < Panels * kVectors; ++v) {
      const f32x4 row = simd::load(b + v / kVectors * panel + v % kVectors * simd::kLanes);
      for (size_t r = 0; r < Rows; ++r) sums[r][v] = simd::mulAdd(x[r], row, sums[r][v]);
    }
    a += Rows;
    b += kTileColumns;
  }
  for (size_t r = 0; r < Rows; ++r) {
    for (size_t v = 0; v < Panels * kVectors; ++v)
      simd::store(c + r * c_stride + v * simd::kLanes, sums[r][v]);
  }
}

}  // namespace

void dotsOfPanels(size_t rows, float* c, size_t c_stride, const float* a, const float* b, size_t n,
                  size_t k) {
  withRows(rows, [&](auto r) {
    constexpr size_t kPanels = r == 1 ? 4 : r == 2 ? 2 : 1;
    const size_t panel = k * kTileColumns;
    size_t p = 0;
    if constexpr (kPanels > 1) {
      for (; p + kPanels <= n; p += kPanels)
        dotsOfPanels<r, kPanels>(c + p * kTileColumns, c_stride, a, b + p * panel, k);
    }
    ROPEWALK_KEEP_LOOP
    for (; p < n; ++p) tile<r>(c + p * kTileColumns, c_stride, false, a, b + p * panel, kTileColumns, k);
  });
}

}  // namespace ropewalk
