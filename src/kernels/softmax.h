// Softmax of rows. Any size, including 0; no alignment asked.
#pragma once

#include <cstddef>

namespace ropewalk {

// out[i] = e^(in[i] - max in) / sum for each of `rows` rows of n, their strides apart; out and in are the
// same or apart. -infinity gives exactly 0; where every entry is that, nothing may be attended to: zeros.
void softmaxRows(float* out, size_t out_stride, const float* in, size_t in_stride, size_t rows, size_t n);

}  // namespace ropewalk
