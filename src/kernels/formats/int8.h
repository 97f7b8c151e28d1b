// Signed bytes times a float32 scale of their row. A row has the scale s = max |w| / 127 (2^-126 at least)
// and keeps round(w / s); a product and PackedMatrix::row() read the float32 number q s, within s / 2
// of w. The error of an output is then at most s / 2 sum |a|, and about s / sqrt(12) |a| (Euclidean) for
// weights that have nothing to do with a. A panel begins with the scales of its rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/formats/format.h"

namespace ropewalk {

struct Int8Reader : PlainReader {
  static constexpr size_t kPanels = 1;  // speed alone
  struct Scales {
    PanelRow of_rows;
  };
  Scales scales(const unsigned char* panel, size_t) const {
    Scales scales;
    for (size_t v = 0; v < kPanelVectors; ++v)
      scales.of_rows[v] = simd::load(reinterpret_cast<const float*>(panel) + v * simd::kLanes);
    return scales;
  }
  void read(const int8_t* p, size_t i, const Scales& scales, PanelRow (&rows)[kStep]) const {
    simd::loadI8(p + i * kPanel, rows[0]);
    for (size_t v = 0; v < kPanelVectors; ++v) rows[0][v] = simd::mul(rows[0][v], scales.of_rows[v]);
  }
};

struct Int8Format : NumberFormat<int8_t, Int8Reader> {
  static constexpr WeightType kType = WeightType::kInt8;
  static constexpr float kEnd = std::numeric_limits<float>::infinity();
  static constexpr bool kHoldsInfinity = false;
  static constexpr size_t kHeadBytes = kPanel * sizeof(float);
  static constexpr bool kRowScales = true;
  // The quotient may be rounded up, and 127 times it must not become infinite.
  static float scaleFor(float largest) {
    if (largest == 0) return 0;
    const float scale = std::max(largest / 127, std::numeric_limits<float>::min());
    return std::isfinite(scale * 127) ? scale : std::nextafter(scale, 0.0f);
  }
  static void widen(const unsigned char* from, size_t n, float* out) {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<int8_t>(from[i]);
  }
  static void narrow(const float* x, size_t n, unsigned char* out) {
    narrowNumbers(x, n, out, [](float v) { return static_cast<int8_t>(std::nearbyint(v)); });
  }
  static void pack(unsigned char* panel, size_t r, size_t rows, size_t l, size_t n, const unsigned char* from,
                   size_t stride) {
    NumberFormat::pack(panel + kHeadBytes, r, rows, l, n, from, stride);
  }
  static const int8_t* at(const unsigned char* panel, size_t l) {
    return NumberFormat::at(panel + kHeadBytes, l);
  }
};

}  // namespace ropewalk
