#include "attention/cached_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/weight_format.h"

namespace ropewalk {
namespace {

constexpr size_t kSmallestCapacity = 16;  // of rows that grow

template <class T>
void moveWithin(Buffer<T>& buffer, size_t from, size_t to, size_t count) {
  std::memmove(buffer.data() + to, buffer.data() + from, count * sizeof(T));
}

// Makes *grown where `from` is too small. It lies in one piece, and few bytes beside keys and values: beyond
// a page it gets twice the size, so that the holes which it leaves in the heap stay few.
template <class T>
Status growBuffer(const Buffer<T>& from, size_t size, Buffer<T>* grown) {
  if (size <= from.size()) return Status::kOk;
  if ((size <= kPageSlots || grown->allocate(2 * size) != Status::kOk) &&
      grown->allocate(size) != Status::kOk)
    return Status::kOutOfMemory;
  std::copy_n(from.data(), from.size(), grown->data());
  return Status::kOk;
}

template <class T>
size_t bytesOf(const Buffer<T>& buffer) {
  return buffer.size() * sizeof(T);
}

}  // namespace

void copyHeads(HeadView<float> to, HeadView<const float> from) {
  for (size_t b = 0; b < from.batch; ++b) {
    for (size_t h = 0; h < from.heads; ++h) {
      for (size_t t = 0; t < from.tokens; ++t) std::copy_n(from.row(b, h, t), from.dim, to.row(b, h, t));
    }
  }
}

Status CachedRows::create(const RowSizes& sizes, size_t capacity, size_t spare) {
  if (spare > SIZE_MAX - capacity) return Status::kOutOfMemory;
  const size_t room = capacity + spare;
  const WeightFormat& format = formatOf(sizes.storage);
  size_t heads = 0;
  size_t value_bytes = 0;
  if (!multiply(sizes.batch, sizes.kv_heads, &heads) ||
      !multiply(format.blocks(sizes.value_dim), format.block_bytes, &value_bytes)) {
    return Status::kOutOfMemory;
  }
  CachedRows made;
  if (made.keys_.allocate(sizes.batch, sizes.kv_heads, room, sizes.head_dim, sizes.storage) != Status::kOk ||
      made.values_.allocate(heads, room, value_bytes) != Status::kOk ||
      made.positions_.allocate(room) != Status::kOk || made.origins_.allocate(room) != Status::kOk ||
      (sizes.axes > 1 && made.axis_positions_.allocate(room, sizes.axes) != Status::kOk)) {
    return Status::kOutOfMemory;
  }
  made.sizes_ = sizes;
  made.capacity_ = capacity;
  made.room_ = room;
  *this = std::move(made);
  return Status::kOk;
}

size_t CachedRows::bytes() const {
  return keys_.bytes() + second_keys_.bytes() + values_.bytes() + bytesOf(positions_) + bytesOf(origins_) +
         bytesOf(axis_positions_);
}

Status CachedRows::makeSecondKeys() {
  if (hasSecondKeys()) return Status::kOk;
  return second_keys_.allocate(sizes_.batch, sizes_.kv_heads, room_, sizes_.head_dim, sizes_.storage);
}

StoredView CachedRows::values() const {
  return {
      {nullptr, sizes_.batch, sizes_.kv_heads, length_, sizes_.value_dim}, sizes_.storage, &values_, start_};
}

void CachedRows::putValues(size_t first, HeadView<const float> rows) {
  const auto narrow = methodsOf(sizes_.storage).narrow;
  for (size_t n = 0; n < sizes_.batch * sizes_.kv_heads; ++n) {
    for (size_t t = 0; t < rows.tokens; ++t)
      narrow(rows.row(n / sizes_.kv_heads, n % sizes_.kv_heads, t), rows.dim, valueRow(n, first + t));
  }
}

void CachedRows::getValues(HeadView<float> rows) const {
  for (size_t n = 0; n < sizes_.batch * sizes_.kv_heads; ++n) {
    for (size_t t = 0; t < rows.tokens; ++t)
      widen(sizes_.storage, valueRow(n, t), rows.dim, rows.row(n / sizes_.kv_heads, n % sizes_.kv_heads, t));
  }
}

Status CachedRows::reserve(size_t count, size_t leaving, bool may_grow) {
  const size_t staying = length_ - leaving;
  if (count > SIZE_MAX - length_) return Status::kOutOfMemory;
  if (count > capacity_ || staying > capacity_ - count) {
    if (!may_grow) return Status::kFull;
    return grow(length_ + count);
  }
  // It fits, if need be by moving all rows to the front; that has to make room enough to be worth it.
  const bool at_the_end = length_ + count > room_ - start_;
  // Where memory is short, they move.
  if (at_the_end && may_grow && 2 * (start_ + leaving) < staying)
    static_cast<void>(grow(start_ + length_ + count));
  return Status::kOk;
}

// Doubles the capacity up to a page, then adds whole pages, or what memory still holds of one.
Status CachedRows::grow(size_t least) {
  const size_t page = (least - 1) / kPageSlots * kPageSlots + kPageSlots;
  size_t capacity = least;
  if (page > least) capacity = std::min(page, std::max({least, 2 * capacity_, kSmallestCapacity}));
  Status status = growTo(capacity);
  while (status != Status::kOk && least > kPageSlots && capacity > least) {
    capacity = least + (capacity - least) / 2;
    status = growTo(capacity);
  }
  return status;
}

Status CachedRows::growTo(size_t capacity) {
  CachedRows grown;
  const size_t axis_positions = sizes_.axes > 1 ? capacity * sizes_.axes : 0;
  Status status = keys_.prepareGrowth(capacity, &grown.keys_);
  if (status == Status::kOk) status = values_.prepareGrowth(capacity, &grown.values_);
  if (status == Status::kOk) status = growBuffer(positions_, capacity, &grown.positions_);
  if (status == Status::kOk) status = growBuffer(origins_, capacity, &grown.origins_);
  if (status == Status::kOk) status = growBuffer(axis_positions_, axis_positions, &grown.axis_positions_);
  if (status != Status::kOk) return status;
  keys_.moveTo(&grown.keys_);
  values_.moveTo(&grown.values_);
  keys_ = std::move(grown.keys_);
  values_ = std::move(grown.values_);
  if (positions_.size() < capacity) positions_ = std::move(grown.positions_);
  if (origins_.size() < capacity) origins_ = std::move(grown.origins_);
  if (axis_positions_.size() < axis_positions) axis_positions_ = std::move(grown.axis_positions_);
  dropSecondKeys();
  capacity_ = capacity;
  room_ = capacity;
  return Status::kOk;
}

void CachedRows::copyRows(size_t first, const CachedRows& from, size_t from_first, size_t count) {
  keys_.copy(start_ + first, from.keys_, from.start_ + from_first, count);
  values_.copy(start_ + first, from.values_, from.start_ + from_first, count);
  std::copy_n(from.positions() + from_first, count, positions() + first);
  std::copy_n(from.origins() + from_first, count, origins() + first);
  const size_t axes = sizes_.axes;
  if (axes > 1)
    std::copy_n(from.axisPositions() + from_first * axes, count * axes, axisPositions() + first * axes);
}

void CachedRows::moveRows(size_t from, size_t to, size_t count) {
  if (count == 0 || from == to) return;
  keys_.copy(to, keys_, from, count);
  if (hasSecondKeys()) second_keys_.copy(to, second_keys_, from, count);
  values_.copy(to, values_, from, count);
  moveWithin(positions_, from, to, count);
  moveWithin(origins_, from, to, count);
  const size_t axes = sizes_.axes;
  if (axes > 1) moveWithin(axis_positions_, from * axes, to * axes, count * axes);
}

void CachedRows::extend(size_t count) {
  if (length_ + count > room_ - start_) {
    moveRows(start_, 0, length_);
    start_ = 0;
  }
  length_ += count;
}

void CachedRows::erase(size_t first, size_t count) {
  const size_t behind = length_ - first - count;
  if (first < behind) {
    moveRows(start_, start_ + count, first);
    start_ += count;
  } else {
    moveRows(start_ + first + count, start_ + first, behind);
  }
  length_ -= count;
  if (length_ == 0) start_ = 0;
}

}  // namespace ropewalk
