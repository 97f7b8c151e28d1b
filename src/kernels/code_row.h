// Products of a few rows of rounded inputs with coded weights, which are read from where they are for each
// row.
#pragma once

#include <cstddef>

#include "kernels/packed_matrix.h"
#include "kernels/panel.h"
#include "kernels/rounded_inputs.h"

namespace ropewalk {

// As multiplyCodes has it, row by row, for weights that are finite, with `depth` inputs from `start` on, a
// multiple of kGemmDepth; rows of a have row_runs runs, with zeros up to whole blocks of weights.
void multiplyCodeRows(float* out, size_t out_stride, bool add, const PackedMatrix& w, PanelRange panels,
                      size_t rows, size_t row_runs, size_t start, size_t depth, const RoundedInputs& a);

// out [columns] (+)= sums.
void putSums(float* out, bool add, const float* sums, size_t columns);

}  // namespace ropewalk
