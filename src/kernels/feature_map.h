// Feature maps of linear attention, one row at a time: they replace the exponential of softmax.
// out and x [n], the same array or apart; any n, including 0. NaN stays NaN. ReLU is among the activations.
#pragma once

#include <cstddef>

namespace ropewalk {

// elu(x) + 1 = x + 1 above 0, e^x below. Katharopoulos et al., arXiv:2006.16236.
void elu1(float* out, const float* x, size_t n);

// e^x; infinite above 88.72, 0 below -87.33.
void exponential(float* out, const float* x, size_t n);

// x / max(|x|, 1e-12), with the length taken in double: no square overflows or vanishes.
void unitVector(float* out, const float* x, size_t n);

}  // namespace ropewalk
