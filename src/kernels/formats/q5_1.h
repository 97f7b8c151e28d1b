// Q5_1: 32 codes of five bits times a float16 scale, plus a float16 minimum: d q + m.
#pragma once

#include "kernels/formats/block.h"

namespace ropewalk {

struct Q5_1Format : BlockFormat<Q5_1Format, 32, 24> {
  static constexpr WeightType kType = WeightType::kQ5_1;
  static constexpr BlockCodes kCodes = {.has_mins = true, .scale_inputs = 32};
  static constexpr float kEnd = 65520;
  static constexpr size_t kFifthBits = 1;
  static void narrow(const float* x, size_t n, unsigned char* out);

  static void decode(const BlockRows& rows, PanelRun* run) {
    setFiveBits(*run, rows.word(2), rows.word(1));
    setScalesOfWords(*run, rows.word(0));
  }
};

}  // namespace ropewalk
