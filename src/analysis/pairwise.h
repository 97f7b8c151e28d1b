// How the rows of a table relate: every pair's similarity or distance.
#pragma once

#include <cstddef>

#include "status.h"

namespace ropewalk {

// The numbers cross the wasm boundary: add at the end, never renumber.
enum class Measure : int {
  kDot = 0,        // x_i . x_j
  kCosine = 1,     // x_i . x_j / (|x_i| |x_j|), 0 where a row is zero
  kEuclidean = 2,  // |x_i - x_j|
  kHamming = 3     // how many entries differ
};

// x [rows, dim] -> out [rows, rows], summed in double.
Status pairwise(Measure measure, const float* x, size_t rows, size_t dim, float* out);

// The first two rows that are equal in every entry, as first < second; false if all rows differ (NaN
// differs).
bool firstDuplicate(const float* x, size_t rows, size_t dim, size_t* first, size_t* second);

}  // namespace ropewalk
