// Q8_0: 32 signed bytes times a float16 scale.
#pragma once

#include "kernels/formats/block.h"

namespace ropewalk {

struct Q8_0Format : BlockFormat<Q8_0Format, 32, 34> {
  static constexpr WeightType kType = WeightType::kQ8_0;
  static constexpr BlockCodes kCodes = {.is_signed = true, .scale_inputs = 32};
  static constexpr float kEnd = 65520.0f * 127;
  // A block with a number that is not finite becomes NaN.
  static void narrow(const float* x, size_t n, unsigned char* out);
  // Row by row, to the bits of widenBlocks(): the product of a code and a float16 is exact.
  static void widen(const unsigned char* from, size_t n, float* out) {
    for (size_t l = 0; l < n; l += kBlock, from += kBlockBytes) {
      uint16_t half = 0;
      std::memcpy(&half, from, sizeof half);
      const simd::f32x4 scale = simd::splat(widenFloat16(half));
      float last[kBlock];
      float* const to = n - l < kBlock ? last : out + l;
      for (size_t i = 0; i < kBlock; i += 4 * simd::kLanes) {
        simd::f32x4 x[4];
        simd::loadI8(reinterpret_cast<const int8_t*>(from + sizeof half + i), x);
        for (size_t v = 0; v < 4; ++v) simd::store(to + i + v * simd::kLanes, simd::mul(x[v], scale));
      }
      if (to == last) std::memcpy(out + l, last, (n - l) * sizeof(float));
    }
  }

  // The codes are read where they are.
  static void decode(const BlockRows& rows, PanelRun* run) {
    run->codes[0] = rows.words;
    run->codes[1] = rows.word(kRunWords / 2);
    setScalesOfHalves(*run, rows.halves);
  }
};

}  // namespace ropewalk
