// Q4_K: 256 codes of four bits; each 32 have a scale and a min: (d s) q - dmin m.
#pragma once

#include "kernels/formats/super_block.h"

namespace ropewalk {

struct Q4_KFormat : BlockFormat<Q4_KFormat, kSuperBlock, 144> {
  static constexpr WeightType kType = WeightType::kQ4_K;
  static constexpr BlockCodes kCodes = {.has_mins = true, .four_bits = true, .scale_inputs = 32};
  static constexpr float kEnd = 0x1p21f;
  static void narrow(const float* x, size_t n, unsigned char* out);

  static void decode(const BlockRows& rows, PanelRun* runs) {
    setSuperCodes(runs, rows.word(4));
    setSuperScales(rows, runs);
  }
};

}  // namespace ropewalk
