// The product for few rows, as in decoding: bound by how fast weights are read, as they lie there.
#pragma once

#include <cstddef>

#include "kernels/packed_matrix.h"
#include "kernels/panel.h"

namespace ropewalk {

// gemm's sums, to the bit, for m > 0 rows and the columns of out of some panels: out[i, j] (+)= sum_l a[i, l]
// w[j, l], added if `accumulate`. k > 0, and w in a format of numbers, up to whose few_rows this is the
// faster way.
void gemv(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w,
          PanelRange panels, size_t m, bool accumulate);

}  // namespace ropewalk
