// Panels of a PackedMatrix in registers: how each stored type is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"
#include "simd.h"

namespace ropewalk {

inline constexpr size_t kPanelVectors = PackedMatrix::kPanel / simd::kLanes;

// One row of a panel, the weights of one input.
using PanelRow = simd::f32x4[kPanelVectors];

struct Float32Weights {
  using Stored = float;
  void read(const float* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; ++v) out[v] = simd::load(p + v * simd::kLanes);
  }
};

struct Float16Weights {
  using Stored = uint16_t;
  void read(const uint16_t* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; ++v) out[v] = simd::loadF16(p + v * simd::kLanes);
  }
};

// float16 without infinity and NaN, at half the price.
struct FiniteFloat16Weights {
  using Stored = uint16_t;
  simd::F16Constants constants;
  void read(const uint16_t* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; ++v) {
      out[v] = simd::loadFiniteF16(p + v * simd::kLanes, constants.mask, constants.scale);
    }
  }
};

struct Bfloat16Weights {
  using Stored = uint16_t;
  void read(const uint16_t* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; ++v) out[v] = simd::loadBf16(p + v * simd::kLanes);
  }
};

// Bytes, to be multiplied by the scales of their rows.
struct Int8Weights {
  using Stored = int8_t;
  void read(const int8_t* p, PanelRow& out) const { simd::loadI8(p, out); }
};

// f(Weights()) with the type that w is stored in.
template <class F>
void withWeightsOf(const PackedMatrix& w, F f) {
  switch (w.type()) {
    case WeightType::kFloat32:
      return f(Float32Weights());
    case WeightType::kFloat16:
      return w.finite() ? f(FiniteFloat16Weights()) : f(Float16Weights());
    case WeightType::kBfloat16:
      return f(Bfloat16Weights());
    case WeightType::kInt8:
      return f(Int8Weights());
  }
}

}  // namespace ropewalk
