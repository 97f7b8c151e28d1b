// Products with coded weights in integers: inputs are rounded to signed bytes, 32 with one scale.
#pragma once

#include <cstddef>

#include "kernels/packed_matrix.h"
#include "kernels/panel.h"

namespace ropewalk {

// out [m, n] (+)= a w^T for weights in a format of codes, as gemm has it: the columns of some panels. The
// inputs of a run of 32 are q s, where s is max |a| / 127, at least 2^-126, and q the nearest integer to a /
// s, ties to even. A run's sum is
//   s (scale . sum q (code - offset)) - (s sum q) min
// with sums in integers, which are exact, and every other operation rounded once; formats with two scales a
// run have two terms of scale. The terms of all runs are added to the total one after the other, in blocks of
// kGemmDepth. So all builds give the
// same bits. Where an input is not finite, the outputs of its row are NaN.
void multiplyCodes(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w,
                   PanelRange panels, size_t m, bool accumulate);

}  // namespace ropewalk
