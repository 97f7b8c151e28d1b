#include "kernels/gemv.h"

#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"
#include "kernels/weight_format.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

// totals += the products of `Rows` rows with `Panels` panels from p on, [Rows][Panels * kPanel].
template <class Format, size_t Rows, size_t Panels, class Reader>
void multiplyPanels(float* totals, const float* a, size_t a_stride, const PackedMatrix& w, size_t p,
                    const Reader& reader) {
  constexpr size_t kWidth = Panels * kPanelVectors;
  const size_t k = w.columns();
  for (size_t start = 0; start < k; start += kGemmDepth) {
    const size_t depth = std::min(kGemmDepth, k - start);
    f32x4 sums[Rows][kWidth];
    for (size_t r = 0; r < Rows; ++r) {
      for (size_t v = 0; v < kWidth; ++v) sums[r][v] = simd::splat(0);
    }
    for (size_t run = 0; run < depth; run += Reader::kRun) {
      const typename Format::Stored* b[Panels];
      typename Reader::Scales scales[Panels];
      for (size_t q = 0; q < Panels; ++q) {
        b[q] = Format::at(w.panel(p + q), start + run);
        scales[q] = reader.scales(w.panel(p + q), start + run);
      }
      const float* x = a + start + run;
      // The first `count` of the inputs that are read at once.
      const auto multiplyStep = [&](size_t l, size_t count) {
        f32x4 inputs[Reader::kStep][Rows];
        for (size_t s = 0; s < count; ++s) {
          for (size_t r = 0; r < Rows; ++r) inputs[s][r] = reader.input(simd::splat(x[r * a_stride + l + s]));
        }
        for (size_t q = 0; q < Panels; ++q) {
          PanelRow rows[Reader::kStep];
          reader.read(b[q], l, scales[q], rows);
          for (size_t s = 0; s < count; ++s) {
            for (size_t v = 0; v < kPanelVectors; ++v) {
              for (size_t r = 0; r < Rows; ++r) {
                f32x4& sum = sums[r][q * kPanelVectors + v];
                sum = simd::mulAdd(inputs[s][r], rows[s][v], sum);
              }
            }
          }
        }
      };
      const size_t end = std::min(Reader::kRun, depth - run);
      const size_t whole = end - end % Reader::kStep;
      ROPEWALK_KEEP_LOOP
      for (size_t l = 0; l < whole; l += Reader::kStep) multiplyStep(l, Reader::kStep);
      if constexpr (Reader::kStep > 1) {
        if (whole < end) multiplyStep(whole, end - whole);
      }
    }
    for (size_t r = 0; r < Rows; ++r) {
      for (size_t q = 0; q < Panels; ++q) reader.inOrder(sums[r] + q * kPanelVectors);
      for (size_t v = 0; v < kWidth; ++v) {
        float* total = totals + (r * kWidth + v) * kLanes;
        simd::store(total, simd::add(simd::load(total), sums[r][v]));
      }
    }
  }
}

template <class Format, size_t Rows, size_t Panels, class Reader>
void multiplyColumns(float* out, size_t out_stride, bool add, const float* a, size_t a_stride,
                     const PackedMatrix& w, size_t p, const Reader& reader) {
  constexpr size_t kWidth = Panels * kPanel;
  const size_t j = p * kPanel;
  const size_t columns = std::min(kWidth, w.rows() - j);
  float totals[Rows * kWidth] = {};
  for (size_t r = 0; add && r < Rows; ++r)
    std::copy_n(out + r * out_stride + j, columns, totals + r * kWidth);
  multiplyPanels<Format, Rows, Panels>(totals, a, a_stride, w, p, reader);
  for (size_t r = 0; r < Rows; ++r) std::copy_n(totals + r * kWidth, columns, out + r * out_stride + j);
}

float largestInput(const float* a, size_t a_stride, size_t m, size_t k) {
  float largest = 0;
  for (size_t r = 0; r < m; ++r) {
    for (size_t l = 0; l < k; ++l) largest = std::max(largest, std::fabs(a[r * a_stride + l]));
  }
  return largest;
}

}  // namespace

void gemv(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w,
          PanelRange panels, size_t m, bool accumulate) {
  const auto below = [&](float end) { return largestInput(a, a_stride, m, w.columns()) < end; };
  withFormatOf(NumberFormats(), w.type(), [&](auto format) {
    using Format = decltype(format);
    Format::withQuickReader(w.finite(), below, [&](auto reader) {
      // Eight sums are in the making at a time: fewer wait for each other.
      constexpr size_t kPanels = decltype(reader)::kPanels;
      constexpr size_t kTogether = decltype(reader)::kTogether;
      const auto multiply = [&]<size_t Rows, size_t Panels>(size_t r, size_t stride, size_t p) {
        multiplyColumns<Format, Rows, Panels>(out + r * out_stride, stride * out_stride, accumulate,
                                              a + r * a_stride, stride * a_stride, w, p, reader);
      };
      for (size_t p = panels.first; p < panels.end; p += kPanels) {
        const size_t end = std::min(p + kPanels, panels.end);
        for (size_t r = 0; r < m;) {
          const bool alone = kTogether == 1 || r + 1 == m;
          if (alone && end - p == kPanels) {
            multiply.template operator()<1, kPanels>(r, 1, p);
          } else {
            // A panel that is left of one row is multiplied as that of two, which are the same.
            for (size_t q = p; q < end; ++q) multiply.template operator()<2, 1>(r, alone ? 0 : 1, q);
          }
          r += alone ? 1 : 2;
        }
      }
    });
  });
}

}  // namespace ropewalk
