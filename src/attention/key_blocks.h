// Keys and values of one head in blocks of kBlockKeys, in the order in which tiles read them. With many
// queries the whole head is packed once, for all of its query heads; with few, each block when it is met;
// with very few, keys stay where they lie.
#pragma once

#include <cstddef>

#include "kernels/tile.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

inline constexpr size_t kBlockKeys = 256;  // a multiple of kTileColumns

struct KeyBlock {
  size_t start;       // its first key
  size_t count;       // keys, up to kBlockKeys
  const float* rows;  // its keys as they lie, row_stride apart
  size_t row_stride;
  const float* keys;    // [kBlockKeys / kTileColumns][D][kTileColumns], behind the last key zeros; or null
  const float* values;  // columns p * kTileColumns ... of key j are at values + p * panel + j * stride
  size_t value_panel;
  size_t value_stride;
};

// Whole panels of tile columns that hold n columns, in columns.
inline size_t panelWidth(size_t n) {
  return (n + kTileColumns - 1) / kTileColumns * kTileColumns;
}

// out [panelWidth(count) / kTileColumns][dim][kTileColumns] = the rows `stride` apart, turned; zeros fill up.
void packPanels(float* out, const float* rows, size_t stride, size_t count, size_t dim);

// How often keys are read decides what is worth a copy.
enum class KeyPacking { kNone, kBlock, kHead };

class KeyBlocks {
 public:
  // For keys and values of these shapes. kNone still copies values whose rows are no whole panels.
  Status allocate(HeadView<const float> k, HeadView<const float> v, KeyPacking packing);

  // Turns to key head g of batch entry b.
  void startHead(size_t b, size_t g);

  size_t count() const { return (k_.tokens + kBlockKeys - 1) / kBlockKeys; }

  // Valid until the next call.
  KeyBlock block(size_t n);

 private:
  KeyBlock pack(size_t n, float* keys, float* values) const;
  // Values that are read once or twice are read where they lie, where a panel holds no more than its row.
  bool copiesValues() const { return packing_ == KeyPacking::kHead || v_.dim % kTileColumns != 0; }

  HeadView<const float> k_;
  HeadView<const float> v_;
  KeyPacking packing_ = KeyPacking::kNone;
  size_t b_ = 0;
  size_t g_ = 0;
  size_t key_size_ = 0;    // of a block, in floats
  size_t value_size_ = 0;  // of a block, in floats
  Buffer<float> keys_;
  Buffer<float> values_;
  Buffer<KeyBlock> blocks_;
};

}  // namespace ropewalk
