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

// What a product with few rows reads a panel by, where nothing is to be gained: columns in their order, and
// inputs as they are.
struct PlainWeights {
  simd::f32x4 input(simd::f32x4 x) const { return x; }
  void inOrder(simd::f32x4*) const {}
};

struct Float32Weights : PlainWeights {
  using Stored = float;
  void read(const float* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; ++v) out[v] = simd::load(p + v * simd::kLanes);
  }
  void readQuickly(const float* p, PanelRow& out) const { read(p, out); }
};

struct Float16Weights : PlainWeights {
  using Stored = uint16_t;
  void read(const uint16_t* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; ++v) out[v] = simd::loadF16(p + v * simd::kLanes);
  }
  void readQuickly(const uint16_t* p, PanelRow& out) const { read(p, out); }
};

// float16 without infinity and NaN. Quickly: 2^-112 times the weights, for 2^112 times the inputs, which is
// the same product to the bit where that does not overflow.
struct FiniteFloat16Weights {
  static constexpr float kInputEnd = 0x1p15f;
  using Stored = uint16_t;
  simd::F16Constants constants;
  void read(const uint16_t* p, PanelRow& out) const {
    readQuickly(p, out);
    for (simd::f32x4& v : out) v = simd::mul(v, constants.scale);
  }
  void readQuickly(const uint16_t* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; ++v)
      out[v] = simd::loadSmallF16(p + v * simd::kLanes, constants.mask);
  }
  simd::f32x4 input(simd::f32x4 x) const { return simd::mul(x, constants.scale); }
  void inOrder(simd::f32x4*) const {}
};

// Quickly: columns 0, 2, 4, 6; 1, 3, 5, 7; and so on.
struct Bfloat16Weights {
  using Stored = uint16_t;
  simd::f32x4 mask = simd::upperHalves();
  void read(const uint16_t* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; ++v) out[v] = simd::loadBf16(p + v * simd::kLanes);
  }
  void readQuickly(const uint16_t* p, PanelRow& out) const {
    for (size_t v = 0; v < kPanelVectors; v += 2) {
      simd::f32x4 two[2];
      simd::loadBf16Split(p + v * simd::kLanes, mask, two);
      out[v] = two[0];
      out[v + 1] = two[1];
    }
  }
  simd::f32x4 input(simd::f32x4 x) const { return x; }
  void inOrder(simd::f32x4* sums) const {
    for (size_t v = 0; v < kPanelVectors; v += 2) {
      const simd::f32x4 even = sums[v];
      sums[v] = simd::zipLow(even, sums[v + 1]);
      sums[v + 1] = simd::zipHigh(even, sums[v + 1]);
    }
  }
};

// Bytes, to be multiplied by the scales of their rows.
struct Int8Weights : PlainWeights {
  using Stored = int8_t;
  void read(const int8_t* p, PanelRow& out) const { simd::loadI8(p, out); }
  void readQuickly(const int8_t* p, PanelRow& out) const { read(p, out); }
};

// f(Weights()) with the type that w is stored in. small_inputs: none is as large as
// FiniteFloat16Weights::kInputEnd, or nothing is to be read quickly.
template <class F>
void withWeightsOf(const PackedMatrix& w, bool small_inputs, F f) {
  switch (w.type()) {
    case WeightType::kFloat32:
      return f(Float32Weights());
    case WeightType::kFloat16:
      return w.finite() && small_inputs ? f(FiniteFloat16Weights()) : f(Float16Weights());
    case WeightType::kBfloat16:
      return f(Bfloat16Weights());
    case WeightType::kInt8:
      return f(Int8Weights());
  }
}

}  // namespace ropewalk
