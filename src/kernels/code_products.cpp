#include "kernels/code_products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/panel.h"
#include "kernels/weight_format.h"
#include "simd.h"
#include "simd/byte_dots.h"

namespace ropewalk {
namespace {

using simd::ByteDots;
using simd::f32x4;
using simd::kLanes;

constexpr size_t kMostRows = 64;      // that are rounded at a time
constexpr size_t kMostInputs = 2048;  // of a few rows
constexpr size_t kFewRows = kMostRows * kGemmDepth / kMostInputs;
constexpr size_t kMostRuns = kMostRows * kGemmDepth / kRunInputs;
constexpr size_t kMostParts = 2;  // of a run, which may have a scale each

// Rows of inputs, rounded: [row][run][..].
struct RoundedInputs {
  int8_t codes[kMostRuns][kRunInputs];
  float scales[kMostRuns];
  int32_t sums[kMostRuns][kMostParts];  // of the codes
};

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

void roundRun(const float* x, RoundedInputs& to, size_t at) {
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
  for (size_t i = 0; i < kRunInputs; ++i) to.codes[at][i] = static_cast<int8_t>(codes[i]);
  constexpr size_t kPart = kRunInputs / kMostParts;
  for (size_t part = 0; part < kMostParts; ++part) {
    int32_t sum = 0;
    for (size_t i = 0; i < kPart; ++i) sum += codes[part * kPart + i];
    to.sums[at][part] = sum;
  }
}

void roundRows(const float* a, size_t a_stride, size_t rows, size_t depth, size_t row_runs,
               RoundedInputs& to) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t run = 0; run < row_runs; ++run) {
      const float* x = a + r * a_stride + run * kRunInputs;
      float last[kRunInputs] = {};
      const size_t count = std::min(kRunInputs, depth - run * kRunInputs);
      if (count < kRunInputs) x = std::copy_n(x, count, last) - count;
      roundRun(x, to, r * row_runs + run);
    }
  }
}

// sums [kPanel] = the products of `count` runs with those of a row, the first of which is number `at`.
template <size_t Parts>
void multiplyRuns(float* sums, const PanelRun* runs, size_t count, const BlockCodes& codes,
                  const RoundedInputs& a, size_t at) {
  constexpr size_t kWords = kRunWords / Parts;
  f32x4 totals[kPanelVectors];
  for (f32x4& total : totals) total = simd::splat(0);
  for (size_t run = 0; run < count; ++run, ++at) {
    const PanelRun& weights = runs[run];
    const int32_t sum = a.sums[at][0] + a.sums[at][1];
    for (size_t part = 0; part < Parts; ++part) {
      const int32_t start = -static_cast<int32_t>(codes.offset) * (Parts == 1 ? sum : a.sums[at][part]);
      ByteDots dots[kPanelVectors];
      for (ByteDots& each : dots) each = ByteDots(start);
      ROPEWALK_KEEP_LOOP
      for (size_t w = part * kWords; w < (part + 1) * kWords; ++w) {
        for (size_t v = 0; v < kPanelVectors; ++v)
          dots[v].add(a.codes[at] + w * 4, weights.codes + w * kPanel + v * kLanes);
      }
      const f32x4 s = simd::splat(a.scales[at]);
      for (size_t v = 0; v < kPanelVectors; ++v) {
        const f32x4 scaled = simd::mul(simd::load(weights.scales[part] + v * kLanes), dots[v].floats());
        totals[v] = simd::add(totals[v], simd::mul(s, scaled));
      }
    }
    if (!codes.has_mins) continue;
    const f32x4 s = simd::splat(a.scales[at] * static_cast<float>(sum));
    for (size_t v = 0; v < kPanelVectors; ++v)
      totals[v] = simd::sub(totals[v], simd::mul(s, simd::load(weights.mins + v * kLanes)));
  }
  for (size_t v = 0; v < kPanelVectors; ++v) simd::store(sums + v * kLanes, totals[v]);
}

// Some rows and inputs of a product.
struct Piece {
  float* out;
  size_t out_stride;
  bool add;
  size_t rows;
  size_t row_runs;
};

template <size_t Parts>
void multiplyPiece(const Piece& piece, const PackedMatrix& w, size_t start, size_t depth,
                   const RoundedInputs& a) {
  const BlockCodes& codes = formatOf(w.type()).codes;
  PanelRun runs[kGemmDepth / kRunInputs];
  for (size_t p = 0; p < w.panels(); ++p) {
    const size_t columns = std::min(kPanel, w.rows() - p * kPanel);
    for (size_t l = 0; l < depth; l += kGemmDepth) {
      const size_t count = w.unpack(p, start + l, std::min(kGemmDepth, depth - l), runs);
      const bool add = piece.add || l > 0;
      for (size_t row = 0; row < piece.rows; ++row) {
        float sums[kPanel];
        multiplyRuns<Parts>(sums, runs, count, codes, a, row * piece.row_runs + l / kRunInputs);
        float* out = piece.out + row * piece.out_stride + p * kPanel;
        for (size_t j = 0; j < columns; ++j) out[j] = add ? out[j] + sums[j] : sums[j];
      }
    }
  }
}

}  // namespace

void multiplyCodes(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w,
                   size_t m, bool accumulate) {
  const size_t k = w.columns();
  const BlockCodes& codes = formatOf(w.type()).codes;
  RoundedInputs rounded;
  for (size_t i = 0; i < m; i += kMostRows) {
    const size_t rows = std::min(kMostRows, m - i);
    const size_t most = rows <= kFewRows ? kMostInputs : kGemmDepth;
    for (size_t l = 0; l < k; l += most) {
      const size_t depth = std::min(most, k - l);
      const size_t row_runs = (depth + kRunInputs - 1) / kRunInputs;
      roundRows(a + i * a_stride + l, a_stride, rows, depth, row_runs, rounded);
      const Piece piece = {out + i * out_stride, out_stride, accumulate || l > 0, rows, row_runs};
      if (codes.scale_inputs < kRunInputs) {
        multiplyPiece<2>(piece, w, l, depth, rounded);
      } else {
        multiplyPiece<1>(piece, w, l, depth, rounded);
      }
    }
  }
}

}  // namespace ropewalk
