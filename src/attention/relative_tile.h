// The relative terms of a tile of queries: products with a table are made once for each of its rows and
// picked by distance, and the weights of the values' table are gathered row by row (Shaw et al.; Huang et
// al., see encodings/relative.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/key_blocks.h"
#include "attention/score_stages.h"
#include "encodings/relative.h"
#include "kernels/tile.h"
#include "memory.h"
#include "status.h"

namespace ropewalk {

class RelativeTile {
 public:
  explicit RelativeTile(const AttentionOptions& options) : options_(options), terms_(options.relative) {}

  // For up to `queries` queries of head size dim, and values of size value_dim.
  Status allocate(size_t queries, size_t dim, size_t value_dim);

  // Before the first tile of head h of `heads`. Of tables that all heads share, any head's will do.
  void startHead(size_t h, size_t heads);

  // A new tile. packed: its queries, `rows` of them from row `first` of the tile on (packTile); call it for
  // each part.
  void startQueries(const float* packed, size_t first, size_t rows);

  // A new block; the queries are at positions `low` to `high`.
  void startBlock(const KeyBlock& block, int64_t low, int64_t high);

  // Whether products() replaces q . k.
  bool replacesProducts() const { return terms_.product_table != nullptr; }

  // part.x [n] = sum_d q_d k_d table_d in the order of a tile's sums; part starts a multiple of kTileColumns
  // behind the block's start.
  void products(const QueryRow& row, const KeyBlock& block, const ScorePart& part);

  // Adds the terms of row r of the tile.
  void addTo(size_t r, const QueryRow& row, const KeyBlock& block, const ScorePart& part) const;

  // The values' table: what was gathered for row r times `factor`, plus the weights p.
  void addWeights(size_t r, const QueryRow& row, const ScorePart& p, float factor);

  // out += inverse * weights * table.
  void addValues(size_t r, float inverse, float* out) const;

 private:
  // Of a row of the table, from the block's first key on.
  float* keyDots(size_t row) { return key_dots_.data() + kTileColumns + row * kScoreStride; }
  const float* keyDots(size_t row) const { return key_dots_.data() + kTileColumns + row * kScoreStride; }
  size_t rowOf(const QueryRow& row, size_t j) const { return terms_.rows.row(distanceOf(options_, row, j)); }

  const AttentionOptions& options_;
  const RelativeTerms& terms_;
  size_t dim_ = 0;
  size_t value_dim_ = 0;
  size_t head_ = 0;              // one more than that whose tables are packed
  Buffer<float> query_table_;    // as the right side of a tile: [panels][dim][kTileColumns]
  Buffer<float> key_table_;      // as its left side: [tiles][dim][kTileRows]
  Buffer<float> query_dots_;     // [queries][panelWidth(rows)]
  Buffer<float> key_dots_;       // rows kScoreStride apart, see keyDots(); only those that the block meets
  Buffer<float> product_panel_;  // [dim][kTileColumns]
  Buffer<float> weights_;        // [queries][rows]
};

}  // namespace ropewalk
