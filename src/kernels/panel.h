// Panels of a PackedMatrix in registers: how each stored type is read, four weights at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"
#include "simd.h"

namespace ropewalk {

struct Float32Weights {
  using Stored = float;
  static constexpr bool kScaled = false;
  static simd::f32x4 load(const float* p) { return simd::load(p); }
};

struct Float16Weights {
  using Stored = uint16_t;
  static constexpr bool kScaled = false;
  static simd::f32x4 load(const uint16_t* p) { return simd::loadF16(p); }
};

struct Bfloat16Weights {
  using Stored = uint16_t;
  static constexpr bool kScaled = false;
  static simd::f32x4 load(const uint16_t* p) { return simd::loadBf16(p); }
};

struct Int8Weights {
  using Stored = int8_t;
  static constexpr bool kScaled = true;  // each vector is to be multiplied by the scales of its rows
  static simd::f32x4 load(const int8_t* p) { return simd::loadI8(p); }
};

// f(Weights()) with the type that w is stored in.
template <class F>
void withWeightsOf(const PackedMatrix& w, F f) {
  switch (w.type()) {
    case WeightType::kFloat32:
      return f(Float32Weights());
    case WeightType::kFloat16:
      return f(Float16Weights());
    case WeightType::kBfloat16:
      return f(Bfloat16Weights());
    case WeightType::kInt8:
      return f(Int8Weights());
  }
}

}  // namespace ropewalk
