// Q8_0: 32 signed bytes times a float16 scale.
#pragma once

#include "kernels/formats/block.h"

namespace ropewalk {

struct Q8_0Format : BlockFormat<Q8_0Format, 32, 34> {
  static constexpr WeightType kType = WeightType::kQ8_0;
  static constexpr BlockCodes kCodes = {.is_signed = true, .scale_inputs = 32};
  static constexpr float kEnd = 65520.0f * 127;
  static void narrow(const float* x, size_t n, unsigned char* out);

  // The codes are read where they are.
  static void decode(const BlockRows& rows, PanelRun* run) {
    run->codes = rows.words;
    setScalesOfHalves(*run, rows.halves);
  }
};

}  // namespace ropewalk
