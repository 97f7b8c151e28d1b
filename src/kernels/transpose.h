// A matrix with rows and columns exchanged.
#pragma once

#include <cstddef>

namespace ropewalk {

// out[c][r] = in[r][c]; the strides are from row to row.
void transpose(float* out, size_t out_stride, const float* in, size_t in_stride, size_t rows, size_t columns);

}  // namespace ropewalk
