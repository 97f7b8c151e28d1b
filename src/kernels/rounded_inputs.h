// Inputs of products with coded weights, rounded to signed bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/formats/block.h"
#include "kernels/panel.h"

namespace ropewalk {

inline constexpr size_t kMostRows = 64;      // that are rounded at a time
inline constexpr size_t kMostInputs = 2048;  // of a few rows
inline constexpr size_t kFewRows = kMostRows * kGemmDepth / kMostInputs;
inline constexpr size_t kMostRuns = kMostRows * kGemmDepth / kRunInputs;
inline constexpr size_t kMostParts = 2;  // of a run, which may have a scale each

// Rows of inputs, rounded: [row][run][..].
struct RoundedInputs {
  int8_t codes[kMostRuns][kRunInputs];  // their magnitudes where products take the signs apart
  int8_t signs[kMostRuns][kRunInputs];  // then -1 where a code is negative, 0 elsewhere
  float scales[kMostRuns];
  int32_t sums[kMostRuns][kMostParts];  // of the codes; then of the magnitudes of negative ones

  int32_t sum(size_t run) const { return sums[run][0] + sums[run][1]; }
};

// Rounds `depth` inputs of each row, and fills up the last of row_runs runs, and those behind it, with zeros.
void roundRows(const float* a, size_t a_stride, size_t rows, size_t depth, size_t row_runs, bool signs_apart,
               RoundedInputs& to);

}  // namespace ropewalk
