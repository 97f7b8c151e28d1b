// Q6_K: 256 codes of six bits; each 16 have an 8-bit multiple of the float16 scale: (d s) (q - 32).
#pragma once

#include "kernels/formats/super_block.h"

namespace ropewalk {

struct Q6_KFormat : BlockFormat<Q6_KFormat, kSuperBlock, 210> {
  static constexpr WeightType kType = WeightType::kQ6_K;
  static constexpr BlockCodes kCodes = {.offset = 32, .scale_inputs = 16};
  static constexpr float kEnd = 0x1p18f;
  static constexpr size_t kHalf = 208;
  static void narrow(const float* x, size_t n, unsigned char* out);
  static void decode(const BlockRows& rows, PanelRun* runs);
};

}  // namespace ropewalk
