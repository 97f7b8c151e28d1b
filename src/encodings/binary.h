// Binary position code: the bits of the position. Unique, but neighbours may differ in every bit (7 and 8).
#pragma once

#include <cstddef>
#include <cstdint>

#include "status.h"

namespace ropewalk {

struct BinaryOptions {
  size_t bits = 0;         // 1 to 53; positions are below 2^bits
  bool msb_first = false;  // the highest bit first
  bool sign = false;       // -1 and 1 instead of 0 and 1
};

// out [rows, bits]. A position that needs more bits is kPositionOutOfRange, never wrapped.
Status binaryCode(const BinaryOptions& options, const int64_t* positions, size_t rows, float* out);

}  // namespace ropewalk
