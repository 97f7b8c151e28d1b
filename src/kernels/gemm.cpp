#include "kernels/gemm.h"

#include <algorithm>

#include "kernels/code_products.h"
#include "kernels/gemv.h"
#include "kernels/panel.h"
#include "kernels/tile.h"
#include "kernels/weight_format.h"
#include "parallel.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::kLanes;

constexpr size_t kRowBlock = 10 * kTileRows;  // rows of a that are packed at a time, 60 KiB at most
// Panels of a part that packs its rows for itself: that is next to nothing for so many, a twelfth for so few.
constexpr size_t kWidePart = 16;
constexpr size_t kNarrowPart = 4;

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

// Some rows of out and a, and the columns of out that some panels give.
struct Part {
  float* out;  // from column 0 on
  size_t out_stride;
  const float* a;
  size_t a_stride;
  size_t rows;
  PanelRange panels;
  size_t n;  // columns of all panels

  size_t firstColumn() const { return panels.first * kPanel; }
  size_t columns() const { return std::min(n, panels.end * kPanel) - firstColumn(); }
};

[[gnu::noinline]] void finishRows(const Part& part, const GemmOptions& options) {
  const size_t first = part.firstColumn();
  for (size_t i = 0; i < part.rows; ++i) {
    float* row = part.out + i * part.out_stride + first;
    if (options.bias != nullptr) addTo(row, options.bias + first, part.columns());
    if (options.activation != nullptr) options.activation(row, part.columns());
  }
}

[[gnu::noinline]] void clearRows(const Part& part) {
  for (size_t i = 0; i < part.rows; ++i)
    std::fill_n(part.out + i * part.out_stride + part.firstColumn(), part.columns(), 0.0f);
}

// multiply(part) for all of a product with k inputs, split over threads: by columns, each part of which packs
// all rows, but for few, so that it has many where there are many rows; by rows where there are too few
// columns for that.
template <class Multiply>
void inParts(const Part& all, size_t k, size_t few_rows, const Multiply& multiply) {
  const size_t panels = all.panels.end;
  const size_t fair = std::clamp(panels / threadsFor(panels, 1), kNarrowPart, kWidePart);
  const size_t panel_grain = std::max(grainOf(all.rows, k, kPanel), all.rows > few_rows ? fair : 1);
  const size_t row_grain = std::max(grainOf(all.n, k), kRowBlock);  // speed alone
  const bool by_rows =
      kHasThreads && panels / panel_grain < std::min(threadsFor(panels, 1), all.rows / row_grain);
  parallelFor(by_rows ? all.rows : panels, by_rows ? row_grain : panel_grain, [&](const Share& share) {
    Part part = all;
    const size_t first_row = by_rows ? share.first : 0;
    part.out += first_row * all.out_stride;
    part.a += first_row * all.a_stride;
    part.rows = by_rows ? share.end - first_row : all.rows;
    if (!by_rows) part.panels = {share.first, share.end};
    multiply(part);
  });
}

// Inputs first .. end of a part's rows, in tiles of kGemmDepth inputs: [blocks][rows * depth].
[[gnu::noinline]] void packRows(float* packed, const Part& part, const Tiles& tiles, size_t first,
                                size_t end) {
  for (size_t l = first; l < end; l += kGemmDepth) {
    const size_t depth = std::min(kGemmDepth, end - l);
    for (size_t t = 0; t < tiles.count; ++t) {
      const size_t start = tiles.start(t);
      packTile(packed + (l - first) * part.rows + start * depth, part.a + start * part.a_stride + l,
               part.a_stride, tiles.start(t + 1) - start, depth);
    }
  }
}

// panels(p, l, depth, scratch) is panel p from l on as floats [depth][kPanel], in scratch or wherever they
// are. As many inputs of the rows are packed as there is room for, so that a panel is read far along at a
// time.
template <class Panels>
void multiplyRows(const Part& part, size_t k, bool accumulate, const Panels& panels) {
  alignas(kAlignment) float packed[kRowBlock * kGemmDepth];
  alignas(kAlignment) float scratch[kPanel * kGemmDepth];
  const Tiles tiles(part.rows);
  const size_t room = kRowBlock / part.rows * kGemmDepth;  // speed alone
  for (size_t first = 0; first < k; first += room) {
    const size_t end = std::min(k, first + room);
    packRows(packed, part, tiles, first, end);
    for (size_t p = part.panels.first; p < part.panels.end; ++p) {
      for (size_t l = first; l < end; l += kGemmDepth) {
        const size_t depth = std::min(kGemmDepth, end - l);
        multiplyPanel(part.out + p * kPanel, part.out_stride, accumulate || l > 0, tiles,
                      packed + (l - first) * part.rows, panels(p, l, depth, scratch), depth,
                      std::min(kPanel, part.n - p * kPanel));
      }
    }
  }
}

// block(part) for blocks of at most kRowBlock rows.
template <class Block>
void inRowBlocks(const Part& part, const Block& block) {
  for (size_t i = 0; i < part.rows; i += kRowBlock) {
    Part rows = part;
    rows.out += i * part.out_stride;
    rows.a += i * part.a_stride;
    rows.rows = std::min(kRowBlock, part.rows - i);
    block(rows);
  }
}

}  // namespace

void gemm(float* out, size_t out_stride, const float* a, size_t a_stride, const PackedMatrix& w, size_t m,
          const GemmOptions& options) {
  const size_t k = w.columns();
  const auto panels = [&](size_t p, size_t l, size_t depth, float* scratch) {
    return w.floats(p, l, depth, scratch);
  };
  const WeightFormat& format = formatOf(w.type());
  const size_t few = format.few_rows;
  inParts({out, out_stride, a, a_stride, m, {0, w.panels()}, w.rows()}, k, few, [&](const Part& part) {
    if (!w.inFloats() && k > 0) {
      multiplyCodes(part.out, out_stride, part.a, a_stride, w, part.panels, part.rows, options.accumulate);
      finishRows(part, options);
      return;
    }
    inRowBlocks(part, [&](const Part& rows) {
      if (k == 0) {
        if (!options.accumulate) clearRows(rows);
      } else if (rows.rows <= few && !format.hasCodes()) {
        gemv(rows.out, out_stride, rows.a, a_stride, w, rows.panels, rows.rows, options.accumulate);
      } else {
        multiplyRows(rows, k, options.accumulate, panels);
      }
      finishRows(rows, options);
    });
  });
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
  const PanelRange all = {0, (n + kPanel - 1) / kPanel};
  inParts({out, out_stride, a, a_stride, m, all, n}, b.rows, 0, [&](const Part& part) {
    inRowBlocks(part, [&](const Part& rows) {
      if (b.rows == 0 && !options.accumulate) clearRows(rows);
      multiplyRows(rows, b.rows, options.accumulate, panels);
      finishRows(rows, options);
    });
  });
}

}  // namespace ropewalk
