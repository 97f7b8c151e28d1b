#include "kernels/gemm.h"

#include <algorithm>
#include <utility>

#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;

constexpr size_t kPanel = PackedMatrix::kPanel;
constexpr size_t kRows = 6;  // 6 x 8 sums fill 12 vector registers and leave room for a row of w

// One tile of `Rows` rows by one panel. columns <= kPanel are stored.
template <size_t Rows>
void tile(float* out, size_t out_stride, const float* a, const float* panel, const float* bias, size_t k,
          size_t columns) {
  f32x4 low[Rows];
  f32x4 high[Rows];
  for (size_t r = 0; r < Rows; ++r) low[r] = high[r] = simd::splat(0);
  for (size_t l = 0; l < k; ++l) {
    const f32x4 w_low = simd::load(panel + l * kPanel);
    const f32x4 w_high = simd::load(panel + l * kPanel + 4);
    for (size_t r = 0; r < Rows; ++r) {
      const f32x4 x = simd::splat(a[r * k + l]);
      low[r] = simd::mulAdd(x, w_low, low[r]);
      high[r] = simd::mulAdd(x, w_high, high[r]);
    }
  }
  float bias_lanes[kPanel] = {};
  if (bias != nullptr) std::copy_n(bias, columns, bias_lanes);
  for (size_t r = 0; r < Rows; ++r) {
    float* row = out + r * out_stride;
    const f32x4 sum_low = simd::add(low[r], simd::load(bias_lanes));
    const f32x4 sum_high = simd::add(high[r], simd::load(bias_lanes + 4));
    if (columns == kPanel) {
      simd::store(row, sum_low);
      simd::store(row + 4, sum_high);
    } else if (columns >= 4) {
      simd::store(row, sum_low);
      simd::storeN(row + 4, sum_high, columns - 4);
    } else {
      simd::storeN(row, sum_low, columns);
    }
  }
}

using Tile = void (*)(float*, size_t, const float*, const float*, const float*, size_t, size_t);
constexpr Tile kTiles[kRows + 1] = {nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>};

}  // namespace

Status PackedMatrix::pack(const float* w, size_t n, size_t k) {
  const size_t panels = n / kPanel + (n % kPanel != 0 ? 1 : 0);
  size_t rows = 0;
  size_t size = 0;
  if (!multiply(panels, kPanel, &rows) || !multiply(rows, k, &size)) return Status::kOutOfMemory;
  Buffer<float> data;
  const Status status = data.allocate(size);
  if (status != Status::kOk) return status;
  for (size_t p = 0; p < panels; ++p) {
    for (size_t l = 0; l < k; ++l) {
      for (size_t j = 0; j < kPanel; ++j) {
        const size_t row = p * kPanel + j;
        data[(p * k + l) * kPanel + j] = row < n ? w[row * k + l] : 0;
      }
    }
  }
  data_ = std::move(data);
  n_ = n;
  k_ = k;
  return Status::kOk;
}

void gemm(float* out, const float* a, const PackedMatrix& w, const float* bias, size_t m) {
  const size_t n = w.rows();
  const size_t k = w.columns();
  // A panel stays in the cache while all rows of a pass by it.
  for (size_t j = 0; j < n; j += kPanel) {
    const size_t columns = std::min(kPanel, n - j);
    const float* panel_bias = bias == nullptr ? nullptr : bias + j;
    for (size_t i = 0; i < m; i += kRows) {
      kTiles[std::min(kRows, m - i)](out + i * n + j, n, a + i * k, w.panel(j / kPanel), panel_bias, k,
                                     columns);
    }
  }
}

}  // namespace ropewalk
