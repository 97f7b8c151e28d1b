// float16: IEEE 754 binary16.
#pragma once

#include "kernels/formats/format.h"

namespace ropewalk {

struct Float16Reader : PlainReader {
  simd::F16Constants constants;
  void read(const uint16_t* p, size_t i, Scales, PanelRow (&rows)[kStep]) const {
    for (size_t v = 0; v < kPanelVectors; ++v)
      rows[0][v] = simd::loadF16(p + i * kPanel + v * simd::kLanes, constants);
  }
};

// float16 without infinity and NaN: 2^-112 times the weights, for 2^112 times the inputs, which is the same
// product to the bit where that does not overflow.
struct QuickFloat16Reader : PlainReader {
  static constexpr float kInputEnd = 0x1p15f;
  static constexpr size_t kTogether = 1;  // speed alone
  simd::F16Constants constants;
  void read(const uint16_t* p, size_t i, Scales, PanelRow (&rows)[kStep]) const {
    for (size_t v = 0; v < kPanelVectors; ++v)
      rows[0][v] = simd::loadSmallF16(p + i * kPanel + v * simd::kLanes, constants.mask);
  }
  simd::f32x4 input(simd::f32x4 x) const { return simd::mul(x, constants.scale); }
};

// The same for inputs of any size.
struct FiniteFloat16Reader : PlainReader {
  QuickFloat16Reader quick;
  void read(const uint16_t* p, size_t i, Scales scales, PanelRow (&rows)[kStep]) const {
    quick.read(p, i, scales, rows);
    for (simd::f32x4& v : rows[0]) v = simd::mul(v, quick.constants.scale);
  }
};

struct Float16Format : NumberFormat<uint16_t, Float16Reader> {
  static constexpr WeightType kType = WeightType::kFloat16;
  static constexpr float kEnd = 65520;
  static void widen(const unsigned char* from, size_t n, float* out) {
    widenNumbers<uint16_t>(from, n, out, [constants = simd::F16Constants()](const uint16_t* p) {
      return simd::loadF16(p, constants);
    });
  }
  static void narrow(const float* x, size_t n, unsigned char* out) {
    narrowNumbers(x, n, out, narrowToFloat16);
  }
  static bool finite(const unsigned char* panel, size_t l, size_t n) {
    const uint16_t* numbers = at(panel, l);
    uint16_t infinite = 0;
    // An exponent of ones carries into the sign.
    for (size_t i = 0; i < n * kPanel; ++i) infinite |= static_cast<uint16_t>((numbers[i] & 0x7c00) + 0x0400);
    return (infinite & 0x8000) == 0;
  }
  template <class F>
  static void withReader(bool finite, F f) {
    finite ? f(FiniteFloat16Reader()) : f(Float16Reader());
  }
  template <class Below, class F>
  static void withQuickReader(bool finite, Below below, F f) {
    finite&& below(QuickFloat16Reader::kInputEnd) ? f(QuickFloat16Reader()) : f(Float16Reader());
  }
};

}  // namespace ropewalk
