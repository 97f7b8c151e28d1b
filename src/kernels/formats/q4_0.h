// Q4_0: 32 codes of four bits times a float16 scale: d (q - 8).
#pragma once

#include "kernels/formats/block.h"

namespace ropewalk {

struct Q4_0Format : BlockFormat<Q4_0Format, 32, 18> {
  static constexpr WeightType kType = WeightType::kQ4_0;
  static constexpr BlockCodes kCodes = {.four_bits = true, .offset = 8, .scale_inputs = 32};
  static constexpr float kEnd = 65520.0f * 8;
  static void narrow(const float* x, size_t n, unsigned char* out);

  static void decode(const BlockRows& rows, PanelRun* run) {
    setHalves(*run, rows.words);
    setScalesOfHalves(*run, rows.halves);
  }
};

}  // namespace ropewalk
