// Normalization of rows [rows, n]: layer norm and root mean square norm, alone or with the residual sum that
// comes before them in a transformer layer. Any size, including 0; no alignment asked. NaN and infinity stay
// in their row; no finite row overflows on the way.
#pragma once

#include <cstddef>

namespace ropewalk {

struct NormOptions {
  const float* weight = nullptr;  // [n], null: 1
  const float* bias = nullptr;    // [n], null: 0
  double eps = 0;                 // above 0; added to the variance, or to the mean square
  bool unit_offset = false;       // weights are stored less 1 (Gemma): the factor is 1 + weight
};

// What is normalized is x + residual, rounded once; it is also written to sum, unless that is null.
struct NormResidual {
  const float* residual = nullptr;  // [rows, n], null: none, and no sum either
  float* sum = nullptr;             // [rows, n]
};

// out = (x - mean) / sqrt(variance + eps) weight + bias, the variance with divisor n (Ba et al.,
// arXiv:1607.06450). The mean is not rounded to float32 before it is subtracted: a row of 10000 +- 1 is as
// accurate as one of 0 +- 1. out and sum may be x or residual, but not each other.
void layerNorm(float* out, const float* x, size_t rows, size_t n, const NormOptions& options,
               const NormResidual& residual = {});

// out = x / sqrt(mean of x^2 + eps) weight + bias (Zhang and Sennrich, arXiv:1910.07467).
void rmsNorm(float* out, const float* x, size_t rows, size_t n, const NormOptions& options,
             const NormResidual& residual = {});

}  // namespace ropewalk
