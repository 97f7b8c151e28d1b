// Q5_K: 256 codes of five bits; each 32 have a scale and a min: (d s) q - dmin m.
#pragma once

#include "kernels/formats/super_block.h"

namespace ropewalk {

struct Q5_KFormat : BlockFormat<Q5_KFormat, kSuperBlock, 176> {
  static constexpr WeightType kType = WeightType::kQ5_K;
  static constexpr BlockCodes kCodes = {.has_mins = true, .scale_inputs = 32};
  static constexpr float kEnd = 0x1p21f;
  static void narrow(const float* x, size_t n, unsigned char* out);
  static void decode(const BlockRows& rows, PanelRun* runs);
};

}  // namespace ropewalk
