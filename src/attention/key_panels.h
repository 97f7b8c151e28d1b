// Keys kept in panels (attention/stored_view.h), so that attention over them transposes nothing: with one
// query, transposing rows took as long as all the rest. A key's slot is its number in the buffer; slots that
// hold none hold anything.
//
// A panel holds the blocks of its keys (kernels/weight_format.h) side by side, [D / block] of them: first the
// numbers of the kTileColumns keys, or the scales of their blocks, then the codes of a block, code by code.
#pragma once

#include <cstddef>

#include "attention/pages.h"
#include "attention/stored_view.h"
#include "kernels/tile.h"
#include "kernels/weight_type.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

class KeyPanels {
 public:
  // For `slots` keys [B, G, slots, D] in a format of which a row of D numbers is a whole number of blocks.
  Status allocate(size_t batch, size_t heads, size_t slots, size_t dim,
                  WeightType type = WeightType::kFloat32);
  // As those of Pages, for keys.
  Status prepareGrowth(size_t slots, KeyPanels* grown) const;
  void moveTo(KeyPanels* grown) { pages_.moveTo(&grown->pages_); }

  bool empty() const { return pages_.empty(); }
  size_t bytes() const { return pages_.bytes(); }

  // A key of head n of all as a row of its format in a file.
  void putRow(size_t n, size_t slot, const unsigned char* row) { putBlocks(n, slot, 0, blocks_, row); }
  void getRow(size_t n, size_t slot, unsigned char* row) const { getBlocks(n, slot, 0, blocks_, row); }

  // From slot `at` on: keys of these rows, rows of these keys.
  void put(size_t at, HeadView<const float> rows);
  void get(size_t at, HeadView<float> rows) const;

  // From slot `at` on: keys of these or other panels of the same heads and format, which may overlap.
  void copy(size_t at, const KeyPanels& from, size_t from_slot, size_t count);

  StoredView view(size_t at, size_t count) const;

 private:
  // Numbers that are narrowed or widened at a time: whole blocks.
  static constexpr size_t kPiece = 32;

  static size_t wholePanels(size_t slots) {
    return slots / kTileColumns * kTileColumns + (slots % kTileColumns == 0 ? 0 : kTileColumns);
  }
  size_t panelBytes() const { return kTileColumns * blocks_ * block_bytes_; }
  const unsigned char* panelAt(size_t n, size_t slot) const {
    return pages_.at(n, slot / kTileColumns * kTileColumns);
  }
  unsigned char* panelAt(size_t n, size_t slot) { return pages_.at(n, slot / kTileColumns * kTileColumns); }
  // The floats of a key, kTileColumns apart.
  const float* floatsAt(size_t n, size_t slot) const {
    return reinterpret_cast<const float*>(panelAt(n, slot)) + slot % kTileColumns;
  }
  float* floatsAt(size_t n, size_t slot) {
    return reinterpret_cast<float*>(panelAt(n, slot)) + slot % kTileColumns;
  }
  void clear(size_t first);
  void putBlocks(size_t n, size_t slot, size_t first, size_t count, const unsigned char* blocks);
  void getBlocks(size_t n, size_t slot, size_t first, size_t count, unsigned char* blocks) const;

  WeightType type_ = WeightType::kFloat32;
  size_t batch_ = 0;
  size_t heads_ = 0;
  size_t dim_ = 0;
  size_t blocks_ = 0;  // of a key
  size_t block_bytes_ = 0;
  size_t lead_ = 0;  // bytes of a block before its codes
  Pages pages_;
};

}  // namespace ropewalk
