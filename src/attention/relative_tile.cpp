#include "attention/relative_tile.h"

#include <algorithm>

#include "kernels/add_scaled.h"
#include "kernels/dots.h"
#include "simd.h"

namespace ropewalk {
namespace {

using simd::f32x4;
using simd::kLanes;

}  // namespace

Status RelativeTile::allocate(size_t queries, size_t dim, size_t value_dim) {
  dim_ = dim;
  value_dim_ = value_dim;
  const size_t rows = terms_.rows.rows();
  Status status = Status::kOk;
  if (terms_.query_table != nullptr) {
    status = query_table_.allocate(panelWidth(rows), dim);
    if (status == Status::kOk) status = query_dots_.allocate(queries, panelWidth(rows));
  }
  if (status == Status::kOk && terms_.key_table != nullptr) {
    status = key_table_.allocate(rows, dim);
    if (status == Status::kOk) status = key_dots_.allocate(rows + 1, kScoreStride);
  }
  if (status == Status::kOk && terms_.product_table != nullptr)
    status = product_panel_.allocate(dim, kTileColumns);
  if (status == Status::kOk && terms_.value_table != nullptr) {
    status = weights_.allocate(queries, rows);
  }
  return status;
}

void RelativeTile::startHead(size_t h, size_t heads) {
  if (head_ == h + 1 || (head_ != 0 && !terms_.own_tables)) return;
  head_ = h + 1;
  const size_t rows = terms_.rows.rows();
  const size_t tables = terms_.own_tables ? heads : 1;
  const size_t stride = tables * dim_;
  const size_t first = h % tables * dim_;
  if (terms_.query_table != nullptr)
    packPanels(query_table_.data(), terms_.query_table + first, stride, rows, dim_);
  for (size_t r = 0; terms_.key_table != nullptr && r < rows; r += kTileRows) {
    packTile(key_table_.data() + r * dim_, terms_.key_table + first + r * stride, stride,
             std::min(kTileRows, rows - r), dim_);
  }
}

void RelativeTile::startQueries(const float* packed, size_t first, size_t rows) {
  const size_t table_rows = terms_.rows.rows();
  if (terms_.query_table != nullptr) {
    const size_t stride = panelWidth(table_rows);
    for (size_t r = 0; r < table_rows; r += kTileColumns) {
      tile(rows, query_dots_.data() + first * stride + r, stride, false, packed,
           query_table_.data() + r * dim_, kTileColumns, dim_);
    }
  }
  if (terms_.value_table != nullptr)
    std::fill_n(weights_.data() + first * table_rows, rows * table_rows, 0.0f);
}

void RelativeTile::startBlock(const KeyBlock& block, int64_t low, int64_t high) {
  if (terms_.key_table == nullptr) return;
  const size_t one = terms_.rows.row(keyPosition(options_, block.start) - high);
  const size_t other = terms_.rows.row(keyPosition(options_, block.start + block.count - 1) - low);
  const auto [from, to] = std::minmax(one, other);
  const size_t rows = terms_.rows.rows();
  for (size_t r = from - from % kTileRows; r <= to; r += kTileRows) {
    dotsOfPanels(std::min(kTileRows, rows - r), keyDots(r) - block.lane, kScoreStride,
                 key_table_.data() + r * dim_, block.keys,
                 panelWidth(block.lane + block.count) / kTileColumns, dim_);
  }
}

void RelativeTile::products(const QueryRow& row, const KeyBlock& block, const ScorePart& part) {
  float* const panel = product_panel_.data();
  const float* keys = block.keys + (part.keys.first - block.start) * dim_;
  float* x = part.x - block.lane;  // of the first number of the panel
  size_t next = 0;                 // key of the part
  for (size_t lane = block.lane; next < part.size(); lane = 0) {
    std::fill_n(panel, dim_ * kTileColumns, 0.0f);
    for (; lane < kTileColumns && next < part.size(); ++lane, ++next) {
      const float* table = terms_.product_table + rowOf(row, part.keys.first + next) * dim_;
      for (size_t d = 0; d < dim_; ++d) panel[d * kTileColumns + lane] = table[d];
    }
    for (size_t half = 0; half < kTileColumns; half += kLanes) {
      f32x4 sum = simd::splat(0);
      for (size_t d = 0; d < dim_; ++d) {
        const size_t at = d * kTileColumns + half;
        const f32x4 query = simd::splat(row.temperature * row.q[d]);
        sum = simd::mulAdd(simd::mul(query, simd::load(panel + at)), simd::load(keys + at), sum);
      }
      simd::store(x + half, sum);
    }
    keys += dim_ * kTileColumns;
    x += kTileColumns;
  }
}

void RelativeTile::addTo(size_t r, const QueryRow& row, const KeyBlock& block, const ScorePart& part) const {
  const bool of_query = terms_.query_table != nullptr;
  const bool of_key = terms_.key_table != nullptr;
  if (!of_query && !of_key) return;
  const float* dots = of_query ? query_dots_.data() + r * panelWidth(terms_.rows.rows()) : nullptr;
  for (size_t n = 0; n < part.size(); ++n) {
    const size_t j = part.keys.first + n;
    const size_t table_row = rowOf(row, j);
    if (of_query) part.x[n] += dots[table_row];
    if (of_key) part.x[n] += keyDots(table_row)[j - block.start];
  }
}

void RelativeTile::addWeights(size_t r, const QueryRow& row, const ScorePart& p, float factor) {
  if (terms_.value_table == nullptr) return;
  const size_t rows = terms_.rows.rows();
  float* weights = weights_.data() + r * rows;
  if (factor != 1) {
    for (size_t t = 0; t < rows; ++t) weights[t] *= factor;
  }
  for (size_t n = 0; n < p.size(); ++n) weights[rowOf(row, p.keys.first + n)] += p.x[n];
}

void RelativeTile::addValues(size_t r, float inverse, float* out) const {
  if (terms_.value_table == nullptr) return;
  const size_t rows = terms_.rows.rows();
  const float* weights = weights_.data() + r * rows;
  for (size_t t = 0; t < rows; ++t) {
    // A row that nothing points at is not read.
    if (weights[t] != 0)
      addScaled(out, inverse * weights[t], terms_.value_table + t * value_dim_, value_dim_);
  }
}

}  // namespace ropewalk
