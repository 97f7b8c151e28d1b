#include "encodings/binary.h"

namespace ropewalk {

Status binaryCode(const BinaryOptions& options, const int64_t* positions, size_t rows, float* out) {
  if (options.bits == 0 || options.bits > 53) return Status::kInvalidArgument;
  for (size_t r = 0; r < rows; ++r) {
    if (positions[r] < 0 || positions[r] >> options.bits != 0) return Status::kPositionOutOfRange;
  }
  const float zero = options.sign ? -1.0f : 0.0f;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < options.bits; ++c) {
      const size_t bit = options.msb_first ? options.bits - 1 - c : c;
      out[r * options.bits + c] = ((positions[r] >> bit) & 1) != 0 ? 1.0f : zero;
    }
  }
  return Status::kOk;
}

}  // namespace ropewalk
