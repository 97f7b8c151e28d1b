#include "kernels/gemm.h"

#include <algorithm>

#include "kernels/code_products.h"
#include "kernels/gemv.h"
#include "kernels/panel.h"
#include "kernels/tile.h"
#include "kernels/weight_format.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::kLanes;

constexpr size_t kRowBlock = 10 * kTileRows;  // rows of a that are packed at a time, 60 KiB at most

// The rows of a block in tiles of nearly the same height: 5 and 4, not 6 and 3.
struct Tiles {
  size_t rows;
  size_t count;

  explicit Tiles(size_t all_rows) : rows(all_rows), count((all_rows + kTileRows - 1) / kTileRows) {}
  size_t start(size_t t) const { return rows * t / count; }
};

// c [tiles.rows, columns <= kPanel] (+)= the packed rows times one panel.
void multiplyPanel(float* c, size_t c_stride, bool add, const Tiles& tiles, const float* packed,
                   const float* panel, size_t depth, size_t columns) {
  for (size_t t = 0; t < tiles.count; ++t) {
    const size_t start = tiles.start(t);
    const size_t rows = tiles.start(t + 1) - start;
    const float* a = packed + start * depth;
    for (size_t j = 0; j < columns; j += kTileColumns) {
      float* to = c + start * c_stride + j;
      const size_t width = std::min(kTileColumns, columns - j);
      if (width == kTileColumns) {
        tile(rows, to, c_stride, add, a, panel + j, kPanel, depth);
        continue;
      }
      float whole[kTileRows * kTileColumns];
      tile(rows, whole, kTileColumns, false, a, panel + j, kPanel, depth);
      for (size_t r = 0; r < rows; ++r) {
        for (size_t i = 0; i < width; ++i) {
          const float sum = whole[r * kTileColumns + i];
          to[r * c_stride + i] = add ? to[r * c_stride + i] + sum : sum;
        }
      }
    }
  }
}

void addTo(float* out, const float* x, size_t n) {
  size_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    simd::store(out + j, simd::add(simd::load(out + j), simd::load(x + j)));
  for (; j < n; ++j) out[j] += x[j];
}

void finishRows(float* out, size_t out_stride, size_t rows, size_t n, const GemmOptions& options) {
  for (size_t i = 0; i < rows; ++i) {
    float* row = out + i * out_stride;
    if (options.bias != nullptr) addTo(row, options.bias, n);
    if (options.activation != nullptr) options.activation(row, n);
  }
}

void clearRows(float* out, size_t out_stride, size_t rows, size_t n) {
  for (size_t i = 0; i < rows; ++i) std::fill_n(out + i * out_stride, n, 0.0f);
}

// One block of rows. panels(p, l, depth, scratch) is panel p from l on as floats [depth][kPanel], in scratch
// or wherever they are.
template <class Panels>
void multiplyRows(float* out, size_t out_stride, const float* a, size_t a_stride, size_t rows, size_t n,
                  size_t k, bool accumulate, const Panels& panels) {
  alignas(kAlignment) float packed[kRowBlock * kGemmDepth];
  alignas(kAlignment) float scratch[kPanel * kGemmDepth];
  const Tiles tiles(rows);
  for (size_t l = 0; l < k; l += kGemmDepth) {
    const size_t depth = std::min(kGemmDepth, k - l);
    for (size_t t = 0; t < tiles.count; ++t) {
      const size_t start = tiles.start(t);
      packTile(packed + start * depth, a + start * a_stride + l, a_stride, tiles.start(t + 1) - start, depth);
    }
    for (size_t p = 0; p * kPanel < n; ++p) {
      const float* panel = panels(p, l, depth, scratch);
      multiplyPanel(out + p * kPanel, out_stride, accumulate || l > 0, tiles, packed, panel, depth,
                    std::min(kPanel, n - p * kPanel));
    }
  }
}

}  // namespace

void gemm(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w, size_t m,
          const GemmOptions& options) {
  const size_t n = w.rows();
  const size_t k = w.columns();
  if (!w.inFloats() && k > 0) {
    multiplyCodes(out, out_stride, a, a_stride, w, m, options.accumulate);
    finishRows(out, out_stride, m, n, options);
    return;
  }
  const auto panels = [&](size_t p, size_t l, size_t depth, float* scratch) {
    return w.floats(p, l, depth, scratch);
  };
  for (size_t i = 0; i < m; i += kRowBlock) {
    const size_t rows = std::min(kRowBlock, m - i);
    float* to = out + i * out_stride;
    const float* from = a + i * a_stride;
    if (k == 0) {
      if (!options.accumulate) clearRows(to, out_stride, rows, n);
    } else if (rows <= kGemvRows && !formatOf(w.type()).hasCodes()) {
      gemv(to, out_stride, from, a_stride, w, rows, options.accumulate);
    } else {
      multiplyRows(to, out_stride, from, a_stride, rows, n, k, options.accumulate, panels);
    }
    finishRows(to, out_stride, rows, n, options);
  }
}

void gemm(float* out, size_t out_stride, const float* a, size_t a_stride, const MatrixView& b, size_t m,
          const GemmOptions& options) {
  const size_t n = b.columns;
  const auto panels = [&](size_t p, size_t l, size_t depth, float* scratch) {
    const size_t columns = std::min(kPanel, n - p * kPanel);
    for (size_t i = 0; i < depth; ++i) {
      float* row = scratch + i * kPanel;
      const float* from = b.data + (l + i) * b.stride + p * kPanel;
      if (columns == kPanel) {
        for (size_t j = 0; j < kPanel; j += kLanes) simd::store(row + j, simd::load(from + j));
        continue;
      }
      std::copy_n(from, columns, row);
      std::fill(row + columns, row + kPanel, 0.0f);
    }
    return static_cast<const float*>(scratch);
  };
  for (size_t i = 0; i < m; i += kRowBlock) {
    const size_t rows = std::min(kRowBlock, m - i);
    float* to = out + i * out_stride;
    if (b.rows == 0 && !options.accumulate) clearRows(to, out_stride, rows, n);
    multiplyRows(to, out_stride, a + i * a_stride, a_stride, rows, n, b.rows, options.accumulate, panels);
    finishRows(to, out_stride, rows, n, options);
  }
}

}  // namespace ropewalk
