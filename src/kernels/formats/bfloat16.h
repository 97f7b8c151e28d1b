// bfloat16: the upper half of a float32.
#pragma once

#include "kernels/formats/format.h"

namespace ropewalk {

struct Bfloat16Reader : PlainReader {
  void read(const uint16_t* p, size_t i, Scales, PanelRow (&rows)[kStep]) const {
    for (size_t v = 0; v < kPanelVectors; ++v) rows[0][v] = simd::loadBf16(p + i * kPanel + v * simd::kLanes);
  }
};

// Columns 0, 2, 4, 6; 1, 3, 5, 7; and so on.
struct QuickBfloat16Reader : PlainReader {
  simd::f32x4 mask = simd::upperHalves();
  void read(const uint16_t* p, size_t i, Scales, PanelRow (&rows)[kStep]) const {
    for (size_t v = 0; v < kPanelVectors; v += 2) {
      simd::f32x4 two[2];
      simd::loadBf16Split(p + i * kPanel + v * simd::kLanes, mask, two);
      rows[0][v] = two[0];
      rows[0][v + 1] = two[1];
    }
  }
  void inOrder(simd::f32x4* sums) const {
    for (size_t v = 0; v < kPanelVectors; v += 2) {
      const simd::f32x4 even = sums[v];
      sums[v] = simd::zipLow(even, sums[v + 1]);
      sums[v + 1] = simd::zipHigh(even, sums[v + 1]);
    }
  }
};

struct Bfloat16Format : NumberFormat<uint16_t, Bfloat16Reader> {
  static constexpr WeightType kType = WeightType::kBfloat16;
  static constexpr size_t kFewRows = 16;  // speed alone
  static constexpr float kEnd = 0x1.ffp127f;
  static void widen(const unsigned char* from, size_t n, float* out) {
    widenNumbers<uint16_t>(from, n, out, simd::loadBf16);
  }
  static void narrow(const float* x, size_t n, unsigned char* out) {
    narrowNumbers(x, n, out, narrowToBfloat16);
  }
  template <class Below, class F>
  static void withQuickReader(bool, Below, F f) {
    f(QuickBfloat16Reader());
  }
};

}  // namespace ropewalk
