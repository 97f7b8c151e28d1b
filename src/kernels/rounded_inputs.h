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

// How products take the codes of inputs.
enum class InputForm : uint8_t {
  kBytes,
  kSignsApart,  // bytes: magnitudes, and signs that are -1 where a code is negative, 0 elsewhere
  kPairs,       // int16 numbers
};

inline constexpr size_t kPairRows = 4;  // whose pairs lie side by side

// The codes of a run, and those of a run of kPairRows rows.
struct RunBytes {
  int8_t codes[kRunInputs];
  int8_t signs[kRunInputs];
};
// The first has inputs 0 and 2, the second 1 and 3, the third 4 and 6, and so on.
using RunPairs = int16_t[kRunInputs / 2][kPairRows][2];

// Rows of inputs, rounded: [row][run]. In pairs: [row / kPairRows][run], and scales and scaled sums
// [row / kPairRows][run][row % kPairRows].
struct RoundedInputs {
  union {
    RunBytes bytes[kMostRuns];
    RunPairs pairs[kMostRuns / kPairRows];
  };
  float scales[kMostRuns];
  float scaled_sums[kMostRuns];         // scale times sum
  int32_t sums[kMostRuns][kMostParts];  // of the codes; of the magnitudes of negative ones with signs apart

  int32_t sum(size_t run) const { return sums[run][0] + sums[run][1]; }
};

// Rounds `depth` inputs of each row, and fills up the last of row_runs runs, and those behind it, with zeros.
void roundRows(const float* a, size_t a_stride, size_t rows, size_t depth, size_t row_runs, InputForm form,
               RoundedInputs& to);

}  // namespace ropewalk
