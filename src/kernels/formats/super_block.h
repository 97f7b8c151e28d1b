// What Q4_K and Q5_K have in common: blocks of 256 weights in eight runs. A run's scale and min are 6-bit
// multiples of the block's float16 numbers d and dmin. Words: 0 has d and dmin, 1 to 3 the multiples in 12
// bytes.
#pragma once

#include "kernels/formats/block.h"

namespace ropewalk {

inline constexpr size_t kSuperBlock = 256;
inline constexpr size_t kSuperRuns = kSuperBlock / kRunInputs;

void setSuperScales(const BlockRows& rows, PanelRun* runs);

// The four lower bits: runs 2 i and 2 i + 1 share 32 bytes.
void setSuperCodes(PanelRun* runs, const uint32_t* words);

}  // namespace ropewalk
