// float32, as it is.
#pragma once

#include <limits>

#include "kernels/formats/format.h"

namespace ropewalk {

struct Float32Reader : PlainReader {
  void read(const float* p, size_t i, Scales, PanelRow (&rows)[kStep]) const {
    for (size_t v = 0; v < kPanelVectors; ++v) rows[0][v] = simd::load(p + i * kPanel + v * simd::kLanes);
  }
};

struct Float32Format : NumberFormat<float, Float32Reader> {
  static constexpr WeightType kType = WeightType::kFloat32;
  static constexpr size_t kFewRows = 8;  // speed alone
  static constexpr float kEnd = std::numeric_limits<float>::infinity();
  static void widen(const unsigned char* from, size_t n, float* out) {
    if (n > 0) std::memcpy(out, from, n * sizeof(float));
  }
  static void narrow(const float* x, size_t n, unsigned char* out) { std::memcpy(out, x, n * sizeof(float)); }
};

}  // namespace ropewalk
