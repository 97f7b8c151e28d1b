// Keys kept in panels (attention/key_view.h), so that attention over them transposes nothing: with one
// query, transposing rows took as long as all the rest. A key's slot is its number in the buffer; slots that
// hold none hold anything.
#pragma once

#include <cstddef>

#include "attention/key_view.h"
#include "kernels/tile.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

class KeyPanels {
 public:
  // For `slots` keys [B, G, slots, D].
  Status allocate(size_t batch, size_t heads, size_t slots, size_t dim);

  bool empty() const { return data_.size() == 0; }
  size_t bytes() const { return data_.size() * sizeof(float); }

  // The numbers of a key of head n of all, kTileColumns apart.
  float* key(size_t n, size_t slot) { return data_.data() + offset(n, slot); }
  const float* key(size_t n, size_t slot) const { return data_.data() + offset(n, slot); }

  // From slot `at` on: keys of these rows, rows of these keys.
  void put(size_t at, HeadView<const float> rows);
  void get(size_t at, HeadView<float> rows) const;

  // From slot `at` on: keys of these or other panels of the same heads, which may overlap.
  void copy(size_t at, const KeyPanels& from, size_t from_slot, size_t count);

  KeyView view(size_t at, size_t count) const;

 private:
  size_t headStride() const { return panels_ * kTileColumns * dim_; }
  size_t offset(size_t n, size_t slot) const {
    const size_t lane = slot % kTileColumns;
    return n * headStride() + (slot - lane) * dim_ + lane;
  }

  size_t batch_ = 0;
  size_t heads_ = 0;
  size_t panels_ = 0;  // of a head
  size_t dim_ = 0;
  Buffer<float> data_;  // [B, G, panels, D, kTileColumns]
};

}  // namespace ropewalk
