#include "kernels/gemv.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/gemm.h"
#include "kernels/panel.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

constexpr size_t kPanel = PackedMatrix::kPanel;

template <class Weights>
constexpr bool kScaled = std::is_same_v<Weights, Int8Weights>;

// totals (+)= the products of `Rows` rows with `Panels` panels from p on, [Rows][Panels * kPanel].
template <class Weights, size_t Rows, size_t Panels>
void multiplyPanels(float* totals, bool add, const float* a, size_t a_stride, const PackedMatrix& w,
                    size_t p) {
  using Stored = typename Weights::Stored;
  constexpr size_t kWidth = Panels * kPanelVectors;
  const size_t k = w.columns();
  const Weights weights;
  for (size_t start = 0; start < k; start += kGemmDepth) {
    const size_t depth = std::min(kGemmDepth, k - start);
    const Stored* b[Panels];
    f32x4 sums[Rows][kWidth];
    f32x4 scales[kWidth];
    for (size_t q = 0; q < Panels; ++q) b[q] = w.panel<Stored>(p + q, start);
    for (size_t v = 0; v < kWidth; ++v) {
      for (size_t r = 0; r < Rows; ++r) sums[r][v] = simd::splat(0);
      if constexpr (kScaled<Weights>) scales[v] = simd::load(w.scales(p) + v * kLanes);
    }
    const float* x = a + start;
    ROPEWALK_KEEP_LOOP
    for (size_t l = 0; l < depth; ++l) {
      f32x4 inputs[Rows];
      for (size_t r = 0; r < Rows; ++r) inputs[r] = weights.input(simd::splat(x[r * a_stride + l]));
      for (size_t q = 0; q < Panels; ++q) {
        PanelRow row;
        weights.readQuickly(b[q] + l * kPanel, row);
        for (size_t v = 0; v < kPanelVectors; ++v) {
          const size_t column = q * kPanelVectors + v;
          if constexpr (kScaled<Weights>) row[v] = simd::mul(row[v], scales[column]);
          for (size_t r = 0; r < Rows; ++r) {
            sums[r][column] = simd::mulAdd(inputs[r], row[v], sums[r][column]);
          }
        }
      }
    }
    for (size_t r = 0; r < Rows; ++r) {
      for (size_t q = 0; q < Panels; ++q) weights.inOrder(sums[r] + q * kPanelVectors);
      for (size_t v = 0; v < kWidth; ++v) {
        float* total = totals + (r * kWidth + v) * kLanes;
        simd::store(total, add || start > 0 ? simd::add(simd::load(total), sums[r][v]) : sums[r][v]);
      }
    }
  }
}

template <class Weights, size_t Rows, size_t Panels>
void multiplyColumns(float* out, size_t out_stride, bool add, const float* a, size_t a_stride,
                     const PackedMatrix& w, size_t p) {
  constexpr size_t kWidth = Panels * kPanel;
  const size_t j = p * kPanel;
  const size_t columns = std::min(kWidth, w.rows() - j);
  float totals[Rows * kWidth] = {};
  for (size_t r = 0; add && r < Rows; ++r)
    std::copy_n(out + r * out_stride + j, columns, totals + r * kWidth);
  multiplyPanels<Weights, Rows, Panels>(totals, add, a, a_stride, w, p);
  for (size_t r = 0; r < Rows; ++r) std::copy_n(totals + r * kWidth, columns, out + r * out_stride + j);
}

bool smallInputs(const float* a, size_t a_stride, size_t m, size_t k) {
  float largest = 0;
  for (size_t r = 0; r < m; ++r) {
    for (size_t l = 0; l < k; ++l) largest = std::max(largest, std::fabs(a[r * a_stride + l]));
  }
  return largest < FiniteFloat16Weights::kInputEnd;
}

}  // namespace

void gemv(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w, size_t m,
          bool accumulate) {
  const bool small = w.type() != WeightType::kFloat16 || smallInputs(a, a_stride, m, w.columns());
  withWeightsOf(w, small, [&](auto weights) {
    using Weights = decltype(weights);
    // Eight sums are in the making at a time: fewer wait for each other.
    constexpr size_t kPair = kScaled<Weights> ? 1 : 2;
    size_t p = 0;
    if (m == 1) {
      for (; p + kPair <= w.panels(); p += kPair)
        multiplyColumns<Weights, 1, kPair>(out, out_stride, accumulate, a, a_stride, w, p);
      for (; p < w.panels(); ++p)
        multiplyColumns<Weights, 1, 1>(out, out_stride, accumulate, a, a_stride, w, p);
    } else {
      for (; p < w.panels(); ++p)
        multiplyColumns<Weights, 2, 1>(out, out_stride, accumulate, a, a_stride, w, p);
    }
  });
}

}  // namespace ropewalk
