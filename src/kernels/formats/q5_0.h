// Q5_0: 32 codes of five bits times a float16 scale: d (q - 16).
#pragma once

#include "kernels/formats/block.h"

namespace ropewalk {

struct Q5_0Format : BlockFormat<Q5_0Format, 32, 22> {
  static constexpr WeightType kType = WeightType::kQ5_0;
  static constexpr BlockCodes kCodes = {.offset = 16, .scale_inputs = 32};
  static constexpr float kEnd = 65520.0f * 16;
  static constexpr size_t kFifthBits = 0;
  static void narrow(const float* x, size_t n, unsigned char* out);

  static void decode(const BlockRows& rows, PanelRun* run) {
    setFiveBits(*run, rows.word(1), rows.word(0));
    setScalesOfHalves(*run, rows.halves);
  }
};

}  // namespace ropewalk
