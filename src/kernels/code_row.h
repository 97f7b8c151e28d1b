// Products of one row of rounded inputs with coded weights, which are read from where they are.
#pragma once

#include <cstddef>

#include "kernels/packed_matrix.h"
#include "kernels/panel.h"
#include "kernels/rounded_inputs.h"

namespace ropewalk {

// As multiplyCodes has it, with `depth` inputs from `start` on, a multiple of kGemmDepth; a has zeros up to
// whole blocks of weights. Answers whether it serves the weights: scales of blocks of 32 must be finite.
bool multiplyCodeRow(float* out, bool add, const PackedMatrix& w, PanelRange panels, size_t start,
                     size_t depth, const RoundedInputs& a);

// out [columns] (+)= sums.
void putSums(float* out, bool add, const float* sums, size_t columns);

}  // namespace ropewalk
