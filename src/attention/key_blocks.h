// Keys and values of one head in blocks of kBlockKeys, in the order in which tiles read them. With many
// queries the whole head is packed once, for all of its query heads; with few, each block when it is met.
#pragma once

#include <cstddef>

#include "kernels/tile.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

inline constexpr size_t kBlockKeys = 128;  // a multiple of kTileColumns

struct KeyBlock {
  size_t start;         // its first key
  size_t count;         // keys, up to kBlockKeys
  const float* keys;    // [kBlockKeys / kTileColumns][D][kTileColumns], behind the last key zeros
  const float* values;  // columns p * kTileColumns ... of key j are at values + p * panel + j * stride
  size_t value_panel;
  size_t value_stride;
  bool finite;  // no value is NaN or infinite
};

// Whole panels of tile columns that hold n columns, in columns.
inline size_t panelWidth(size_t n) {
  return (n + kTileColumns - 1) / kTileColumns * kTileColumns;
}

// out [panelWidth(count) / kTileColumns][dim][kTileColumns] = the rows `stride` apart, turned; zeros fill up.
void packPanels(float* out, const float* rows, size_t stride, size_t count, size_t dim);

class KeyBlocks {
 public:
  // For keys and values of these shapes; `whole` packs a head at a time, else a block.
  Status allocate(HeadView<const float> k, HeadView<const float> v, bool whole);

  // Turns to key head g of batch entry b.
  void startHead(size_t b, size_t g);

  size_t count() const { return (k_.tokens + kBlockKeys - 1) / kBlockKeys; }

  // Valid until the next call.
  KeyBlock block(size_t n);

 private:
  KeyBlock pack(size_t n, float* keys, float* values) const;

  HeadView<const float> k_;
  HeadView<const float> v_;
  bool whole_ = false;
  size_t b_ = 0;
  size_t g_ = 0;
  size_t key_size_ = 0;    // of a block, in floats
  size_t value_size_ = 0;  // of a block, in floats
  Buffer<float> keys_;
  Buffer<float> values_;
  Buffer<KeyBlock> blocks_;
};

}  // namespace ropewalk
