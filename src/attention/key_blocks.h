// Keys and values of one head in blocks of kBlockKeys, in the order in which tiles read them. Rows of keys
// are packed: the whole head once where it is read more than once, else each block when it is met. Keys in
// panels stay where they lie, but those of a block that begins in one page and ends in another. What is
// stored in another format than float32 is widened block by block, as often as it is read: that costs little
// beside the products with a tile of queries.
#pragma once

#include <cstddef>

#include "attention/stored_view.h"
#include "kernels/tile.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

inline constexpr size_t kBlockKeys = 256;  // a multiple of kTileColumns

struct KeyBlock {
  size_t start;         // its first key
  size_t count;         // keys, up to kBlockKeys
  const float* keys;    // [panels][D][kTileColumns]
  size_t lane;          // of its first key in the first panel
  const float* values;  // columns p * kTileColumns ... of key j are at values + p * panel + j * stride
  size_t value_panel;
  size_t value_stride;
};

// From the scores of one row of a tile to those of the next: panels are multiplied whole, and may begin
// before a block and end behind it, by one panel together, which rows that are next to each other share.
inline constexpr size_t kScoreStride = kBlockKeys + kTileColumns;

// Whole panels of tile columns that hold n columns, in columns.
inline size_t panelWidth(size_t n) {
  return (n + kTileColumns - 1) / kTileColumns * kTileColumns;
}

// out [panelWidth(count) / kTileColumns][dim][kTileColumns] = the rows `stride` apart, transposed; zeros fill
// up.
void packPanels(float* out, const float* rows, size_t stride, size_t count, size_t dim);

class KeyBlocks {
 public:
  // For keys and values of these shapes, and whether a head's blocks are read more than once.
  Status allocate(const StoredView& k, const StoredView& v, bool read_again);

  // Selects key head g of batch entry b.
  void startHead(size_t b, size_t g);

  size_t count() const { return (k_.tokens + kBlockKeys - 1) / kBlockKeys; }

  // Valid until the next call.
  KeyBlock block(size_t n);

 private:
  KeyBlock pack(size_t n, size_t copy);
  KeyBlock widenBlock(size_t n);
  const float* values(size_t start) const;
  size_t head() const { return b_ * k_.heads + g_; }
  bool widens() const { return k_.pages != nullptr && k_.type != WeightType::kFloat32; }
  // Values that are read once stay where they lie, where a panel holds no more than its row.
  bool copiesValues() const { return read_again_ || v_.dim % kTileColumns != 0; }

  StoredView k_;
  StoredView v_;
  bool read_again_ = false;  // and packed once
  size_t b_ = 0;
  size_t g_ = 0;
  size_t key_size_ = 0;    // of a block, in floats
  size_t value_size_ = 0;  // of a block, in floats
  Buffer<float> keys_;
  Buffer<float> values_;
  Buffer<KeyBlock> blocks_;
};

}  // namespace ropewalk
