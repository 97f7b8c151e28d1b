#include "kernels/rounded_inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

// The scale of a run; NaN where a number is not finite.
float scaleOf(const float* x) {
  f32x4 largest = simd::splat(0);
  f32x4 nothing = simd::splat(0);  // unless a number is not finite
  for (size_t i = 0; i < kRunInputs; i += kLanes) {
    const f32x4 v = simd::load(x + i);
    largest = simd::max(largest, simd::max(v, simd::sub(simd::splat(0), v)));
    nothing = simd::add(nothing, simd::mul(v, simd::splat(0)));
  }
  const float scale = std::max(simd::maxLane(largest) / 127, std::numeric_limits<float>::min());
  return scale + simd::sum(nothing);
}

// Run `run` of a row.
void roundRun(const float* x, InputForm form, RoundedInputs& to, size_t row, size_t row_runs, size_t run) {
  const size_t pairs_at = row / kPairRows * row_runs + run;
  const size_t at = form == InputForm::kPairs ? pairs_at * kPairRows + row % kPairRows : row * row_runs + run;
  const float scale = scaleOf(x);
  to.scales[at] = scale;
  int32_t codes[kRunInputs] = {};
  if (!std::isnan(scale)) {
    // Adding 1.5 * 2^23 leaves the nearest integer in the lowest bits.
    constexpr float kShift = 12582912;
    float shifted[kRunInputs];
    for (size_t i = 0; i < kRunInputs; i += kLanes) {
      const f32x4 q = simd::div(simd::load(x + i), simd::splat(scale));
      simd::store(shifted + i, simd::add(q, simd::splat(kShift)));
    }
    for (size_t i = 0; i < kRunInputs; ++i)
      codes[i] = std::bit_cast<int32_t>(shifted[i]) - std::bit_cast<int32_t>(kShift);
  }
  const bool signs_apart = form == InputForm::kSignsApart;
  if (form == InputForm::kPairs) {
    RunPairs& pairs = to.pairs[pairs_at];
    ROPEWALK_KEEP_LOOP
    for (size_t i = 0; i < kRunInputs; ++i)
      pairs[i / 4 * 2 + i % 2][row % kPairRows][i % 4 / 2] = static_cast<int16_t>(codes[i]);
  } else {
    RunBytes& bytes = to.bytes[at];
    ROPEWALK_KEEP_LOOP
    for (size_t i = 0; i < kRunInputs; ++i) {
      const int32_t sign = signs_apart && codes[i] < 0 ? -1 : 0;
      bytes.signs[i] = static_cast<int8_t>(sign);
      bytes.codes[i] = static_cast<int8_t>((codes[i] ^ sign) - sign);
      if (signs_apart) codes[i] &= sign;
    }
  }
  constexpr size_t kPart = kRunInputs / kMostParts;
  for (size_t part = 0; part < kMostParts; ++part) {
    int32_t sum = 0;
    for (size_t i = 0; i < kPart; ++i) sum += codes[part * kPart + i];
    to.sums[at][part] = signs_apart ? -sum : sum;
  }
  to.scaled_sums[at] = scale * static_cast<float>(to.sum(at));
}

}  // namespace

void roundRows(const float* a, size_t a_stride, size_t rows, size_t depth, size_t row_runs, InputForm form,
               RoundedInputs& to) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t run = 0; run < row_runs; ++run) {
      const float* x = a + r * a_stride + run * kRunInputs;
      float last[kRunInputs] = {};
      const size_t count = std::min(kRunInputs, depth - std::min(depth, run * kRunInputs));
      if (count < kRunInputs) x = std::copy_n(x, count, last) - count;
      roundRun(x, form, to, r, row_runs, run);
    }
  }
}

}  // namespace ropewalk
