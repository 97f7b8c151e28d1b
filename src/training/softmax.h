// Softmax of a row in either precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/softmax.h"

namespace ropewalk::training {

// x[i] = e^(x[i] - max x) / sum, in place. n is not 0.
inline void softmaxRow(float* x, size_t n) {
  softmaxRows(x, n, x, n, 1, n);
}

inline void softmaxRow(double* x, size_t n) {
  const double largest = *std::max_element(x, x + n);
  double total = 0;
  for (size_t i = 0; i < n; ++i) total += x[i] = std::exp(x[i] - largest);
  for (size_t i = 0; i < n; ++i) x[i] /= total;
}

}  // namespace ropewalk::training
