// The rows of a KV cache: a key, a value and a position for each token, in buffers with the heads outside, so
// that a decoder reads each head in one run; keys in panels, see attention/key_panels.h. Rows lie somewhere
// in the middle, [start, start + length): what leaves at the front costs no copies. The meaning of
// positions and rotations is left to the caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/key_panels.h"
#include "attention/pages.h"
#include "kernels/weight_type.h"
#include "memory.h"
#include "status.h"
#include "tensor_view.h"

namespace ropewalk {

struct RowSizes {
  size_t batch = 1;                           // B
  size_t kv_heads = 0;                        // G
  size_t head_dim = 0;                        // D
  size_t value_dim = 0;                       // Dv
  size_t axes = 1;                            // of a rotary position
  WeightType storage = WeightType::kFloat32;  // of keys and values; a row is a whole number of its blocks

  bool operator==(const RowSizes&) const = default;
};

// How a key was appended: the position of its token then, and which of the cache's plans rotated it.
struct KeyOrigin {
  int64_t position = 0;
  uint64_t plan = 0;
};

class CachedRows {
 public:
  // Leaves the rows as they were unless it answers kOk. spare: room beyond the capacity, so that
  // appending rows while others are erased at the front moves the rest only once in so many times.
  Status create(const RowSizes& sizes, size_t capacity, size_t spare = 0);

  const RowSizes& sizes() const { return sizes_; }
  size_t length() const { return length_; }
  size_t capacity() const { return capacity_; }
  size_t bytes() const;

  int64_t* positions() { return positions_.data() + start_; }  // [length]
  const int64_t* positions() const { return positions_.data() + start_; }
  KeyOrigin* origins() { return origins_.data() + start_; }  // [length]
  const KeyOrigin* origins() const { return origins_.data() + start_; }
  // The position of each token on every axis when it was appended, [length, axes]; with one axis see
  // origins().
  int64_t* axisPositions() { return axis_positions_.data() + start_ * sizes_.axes; }
  const int64_t* axisPositions() const { return axis_positions_.data() + start_ * sizes_.axes; }

  // Keys as they are kept, or a second buffer, for which makeSecondKeys() makes room.
  enum class Keys { kKept, kSecond };
  StoredView keys(Keys which) const { return buffer(which).view(start_, length_); }
  // A kept key or a value of head n of all as its format has a row.
  void putKeyRow(size_t n, size_t row, const unsigned char* from) { keys_.putRow(n, start_ + row, from); }
  void getKeyRow(size_t n, size_t row, unsigned char* to) const { keys_.getRow(n, start_ + row, to); }
  unsigned char* valueRow(size_t n, size_t row) { return values_.at(n, start_ + row); }
  const unsigned char* valueRow(size_t n, size_t row) const { return values_.at(n, start_ + row); }
  void putKeys(Keys which, size_t first, HeadView<const float> rows) {
    buffer(which).put(start_ + first, rows);
  }
  void getKeys(Keys which, size_t first, HeadView<float> rows) const {
    buffer(which).get(start_ + first, rows);
  }
  // Second keys that are those kept.
  void keepKeys(size_t first, size_t count) {
    second_keys_.copy(start_ + first, keys_, start_ + first, count);
  }
  StoredView values() const;
  void putValues(size_t first, HeadView<const float> rows);
  void getValues(HeadView<float> rows) const;  // all of them

  // With room for all rows; rows move in both. Its contents are up to the caller.
  Status makeSecondKeys();
  void dropSecondKeys() { second_keys_ = {}; }
  bool hasSecondKeys() const { return !second_keys_.empty(); }

  // From row `first` on, for which there is room: rows of another cache of the same sizes, all but its second
  // keys.
  void copyRows(size_t first, const CachedRows& from, size_t from_first, size_t count);

  // Makes sure that `count` rows fit behind these once `leaving` of them are erased; growing frees the second
  // keys. Anything but kOk (kFull where it may not grow) leaves all as it was.
  Status reserve(size_t count, size_t leaving, bool may_grow);

  void extend(size_t count);  // by rows with undefined contents, for which there is room
  void erase(size_t first, size_t count);

 private:
  KeyPanels& buffer(Keys which) { return which == Keys::kKept ? keys_ : second_keys_; }
  const KeyPanels& buffer(Keys which) const { return which == Keys::kKept ? keys_ : second_keys_; }
  Status grow(size_t least);
  Status growTo(size_t capacity);
  void moveRows(size_t from, size_t to, size_t count);  // by rows of the buffers

  RowSizes sizes_;
  size_t capacity_ = 0;
  size_t room_ = 0;  // rows that there is memory for: the capacity and the spare ones
  size_t start_ = 0;
  size_t length_ = 0;
  KeyPanels keys_;
  KeyPanels second_keys_;  // or none
  Pages values_;           // rows of Dv
  Buffer<int64_t> positions_;
  Buffer<KeyOrigin> origins_;
  Buffer<int64_t> axis_positions_;  // only of several axes
};

// Copies rows of the same shape, from one layout to another.
void copyHeads(HeadView<float> to, HeadView<const float> from);

}  // namespace ropewalk
