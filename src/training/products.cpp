#include "training/products.h"

#include <algorithm>

#include "kernels/tile.h"
#include "kernels/transpose.h"
#include "memory.h"
#include "parallel.h"
#include "training/lanes.h"

namespace ropewalk::training {
namespace {

constexpr size_t kDepth = 128;       // of b that are packed at a time
constexpr size_t kColumns = 64;      // of b that are packed at a time
constexpr size_t kVectors = 2;       // of a tile's row
constexpr size_t kTilesOfShare = 8;  // for which packing all of b is little work

template <class T>
constexpr size_t kWidth = kVectors * Lanes<T>::kCount;  // columns of a tile, and of a panel of b

// out[r][j] (+)= sum_l a[r][l] panel[l][j] for r < Rows, j < kWidth; panel is [k][kWidth]. a[r][l] is at
// a[r a_stride + l] if Across, else at a[l a_stride + r].
template <size_t Rows, bool Across, class T>
[[gnu::noinline]] void tile(T* out, size_t out_stride, bool add, const T* a, size_t a_stride, const T* panel,
                            size_t k) {
  using L = Lanes<T>;
  typename L::Vector sums[Rows][kVectors];
  for (auto& row : sums) {
    for (auto& sum : row) sum = L::splat(0);
  }
  ROPEWALK_KEEP_LOOP
  for (size_t l = 0; l < k; ++l) {
    typename L::Vector row[kVectors];
    for (size_t v = 0; v < kVectors; ++v) row[v] = L::load(panel + v * L::kCount);
    for (size_t r = 0; r < Rows; ++r) {
      const auto x = L::splat(a[Across ? r * a_stride : r]);
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = L::mulAdd(x, row[v], sums[r][v]);
    }
    a += Across ? 1 : a_stride;
    panel += kWidth<T>;
  }
  for (size_t r = 0; r < Rows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      T* const to = out + r * out_stride + v * L::kCount;
      L::store(to, add ? L::add(L::load(to), sums[r][v]) : sums[r][v]);
    }
  }
}

template <class T>
void tileOf(size_t rows, T* out, size_t out_stride, bool add, const Operand<T>& a, const T* from,
            const T* panel, size_t k) {
  withRows(rows, [&](auto r) {
    if (a.transposed) {
      tile<r, false>(out, out_stride, add, from, a.stride, panel, k);
    } else {
      tile<r, true>(out, out_stride, add, from, a.stride, panel, k);
    }
  });
}

void transposeBlock(float* out, size_t out_stride, const float* in, size_t in_stride, size_t rows,
                    size_t columns) {
  transpose(out, out_stride, in, in_stride, rows, columns);
}

void transposeBlock(double* out, size_t out_stride, const double* in, size_t in_stride, size_t rows,
                    size_t columns) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

// Rows l .. l + depth - 1 and columns j .. j + columns - 1 of b as panels [depth][kWidth], the last one
// filled up with zeros.
template <class T>
void packPanels(T* panels, const Operand<T>& b, size_t l, size_t depth, size_t j, size_t columns) {
  constexpr size_t kPanelWidth = kWidth<T>;
  for (size_t c = 0; c < columns; c += kPanelWidth, panels += depth * kPanelWidth) {
    const size_t width = std::min(kPanelWidth, columns - c);
    if (width < kPanelWidth) std::fill_n(panels, depth * kPanelWidth, T{0});
    if (b.transposed) {
      transposeBlock(panels, kPanelWidth, b.data + (j + c) * b.stride + l, b.stride, width, depth);
      continue;
    }
    const T* from = b.data + l * b.stride + j + c;
    if (width == kPanelWidth) {
      for (size_t i = 0; i < depth; ++i)
        std::copy_n(from + i * b.stride, kPanelWidth, panels + i * kPanelWidth);
    } else {
      for (size_t i = 0; i < depth; ++i) std::copy_n(from + i * b.stride, width, panels + i * kPanelWidth);
    }
  }
}

// A block of b, packed, and where it comes from.
template <class T>
struct Block {
  const T* panels;
  size_t l;
  size_t depth;
  size_t j;
  size_t columns;
};

// Rows first .. first + rows - 1 of out, from one block.
template <class T>
void multiplyRows(T* out, size_t out_stride, const Operand<T>& a, const Block<T>& block, size_t first,
                  size_t rows, bool add, Triangle triangle, size_t diagonal) {
  constexpr size_t kPanelWidth = kWidth<T>;
  size_t begin = block.l;
  size_t end = block.l + block.depth;
  const size_t last = first + rows + diagonal;
  if (triangle == Triangle::kLower) end = std::clamp(last, begin, end);
  if (triangle == Triangle::kUpper) begin = std::clamp(first - std::min(first, diagonal), begin, end);
  if (begin == end && add) return;
  const T* const from = a.data + (a.transposed ? begin * a.stride + first : first * a.stride + begin);
  for (size_t c = 0; c < block.columns; c += kPanelWidth) {
    if (triangle == Triangle::kOut && block.j + c >= last) break;
    const T* const panel = block.panels + c * block.depth + (begin - block.l) * kPanelWidth;
    T* const to = out + first * out_stride + block.j + c;
    const size_t width = std::min(kPanelWidth, block.columns - c);
    if (width == kPanelWidth) {
      tileOf(rows, to, out_stride, add, a, from, panel, end - begin);
      continue;
    }
    T whole[kTileRows * kPanelWidth];
    tileOf(rows, whole, kPanelWidth, false, a, from, panel, end - begin);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < width; ++i) {
        const T sum = whole[r * kPanelWidth + i];
        to[r * out_stride + i] = add ? to[r * out_stride + i] + sum : sum;
      }
    }
  }
}

// Some rows and columns of out, whole tiles but for the last.
struct Part {
  size_t row;
  size_t rows_end;
  size_t column;
  size_t columns_end;
};

template <class T>
void multiplyPart(T* out, size_t out_stride, const Operand<T>& a, const Operand<T>& b, const Part& part,
                  size_t k, bool add, Triangle triangle, size_t diagonal) {
  alignas(kAlignment) T panels[kDepth * kColumns];
  if (k == 0 && !add) {
    for (size_t i = part.row; i < part.rows_end; ++i)
      std::fill(out + i * out_stride + part.column, out + i * out_stride + part.columns_end, T{0});
  }
  for (size_t l = 0; l < k; l += kDepth) {
    const size_t depth = std::min(kDepth, k - l);
    for (size_t j = part.column; j < part.columns_end; j += kColumns) {
      const size_t columns = std::min(kColumns, part.columns_end - j);
      packPanels(panels, b, l, depth, j, columns);
      const Block<T> block = {panels, l, depth, j, columns};
      for (size_t i = part.row; i < part.rows_end; i += kTileRows)
        multiplyRows(out, out_stride, a, block, i, std::min(kTileRows, part.rows_end - i), add || l > 0,
                     triangle, diagonal);
    }
  }
}

}  // namespace

template <class T>
void product(T* out, size_t out_stride, Operand<T> a, Operand<T> b, size_t m, size_t n, size_t k, bool add,
             Triangle triangle, size_t diagonal) {
  constexpr size_t kPanelWidth = kWidth<T>;
  const size_t tiles = (m + kTileRows - 1) / kTileRows;
  const size_t panels = (n + kPanelWidth - 1) / kPanelWidth;
  // By rows, each share of which packs all of b; by columns where there are too few rows for that.
  const size_t tile_grain = std::max(grainOf(kTileRows, n, k), kTilesOfShare);
  const size_t panel_grain = grainOf(kPanelWidth, m, k);
  const bool by_rows = !kHasThreads || tiles / tile_grain >= std::min(panels / panel_grain,
                                                                      2 * threadsFor(panels, panel_grain));
  parallelFor(by_rows ? tiles : panels, by_rows ? tile_grain : panel_grain, [&](const Share& share) {
    Part part = {0, m, 0, n};
    if (by_rows) {
      part.row = share.first * kTileRows;
      part.rows_end = std::min(m, share.end * kTileRows);
    } else {
      part.column = share.first * kPanelWidth;
      part.columns_end = std::min(n, share.end * kPanelWidth);
    }
    multiplyPart(out, out_stride, a, b, part, k, add, triangle, diagonal);
  });
}

template void product(float*, size_t, Operand<float>, Operand<float>, size_t, size_t, size_t, bool, Triangle,
                      size_t);
template void product(double*, size_t, Operand<double>, Operand<double>, size_t, size_t, size_t, bool,
                      Triangle, size_t);

}  // namespace ropewalk::training
