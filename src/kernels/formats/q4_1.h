// Q4_1: 32 codes of four bits times a float16 scale, plus a float16 minimum: d q + m.
#pragma once

#include "kernels/formats/block.h"

namespace ropewalk {

struct Q4_1Format : BlockFormat<Q4_1Format, 32, 20> {
  static constexpr WeightType kType = WeightType::kQ4_1;
  static constexpr BlockCodes kCodes = {.has_mins = true, .four_bits = true, .scale_inputs = 32};
  static constexpr float kEnd = 65520;
  static void narrow(const float* x, size_t n, unsigned char* out);

  static void decode(const BlockRows& rows, PanelRun* run) {
    setHalves(*run, rows.word(1));
    setScalesOfWords(*run, rows.word(0));
  }
};

}  // namespace ropewalk
