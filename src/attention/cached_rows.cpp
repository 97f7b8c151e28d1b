#include "attention/cached_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/weight_format.h"

namespace ropewalk {
namespace {

constexpr size_t kSmallestCapacity = 16;  // of rows that grow

// Moves rows within every head of a buffer [heads, room, dim].
template <class T>
void moveWithin(T* data, size_t heads, size_t room, size_t dim, size_t from, size_t to, size_t count) {
  for (size_t h = 0; h < heads; ++h) {
    T* head = data + h * room * dim;
    std::memmove(head + to * dim, head + from * dim, count * dim * sizeof(T));
  }
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
  size_t heads = 0;
  size_t rows = 0;
  const WeightFormat& format = formatOf(sizes.storage);
  size_t value_bytes = 0;
  size_t values = 0;
  size_t axis_positions = 0;
  if (!multiply(sizes.batch, sizes.kv_heads, &heads) || !multiply(heads, room, &rows) ||
      !multiply(format.blocks(sizes.value_dim), format.block_bytes, &value_bytes) ||
      !multiply(rows, value_bytes, &values) || !multiply(room, sizes.axes, &axis_positions)) {
    return Status::kOutOfMemory;
  }
  CachedRows made;
  if (made.keys_.allocate(sizes.batch, sizes.kv_heads, room, sizes.head_dim, sizes.storage) != Status::kOk ||
      made.values_.allocate(values) != Status::kOk || made.positions_.allocate(room) != Status::kOk ||
      made.origins_.allocate(room) != Status::kOk ||
      (sizes.axes > 1 && made.axis_positions_.allocate(axis_positions) != Status::kOk)) {
    return Status::kOutOfMemory;
  }
  made.sizes_ = sizes;
  made.capacity_ = capacity;
  made.room_ = room;
  made.value_bytes_ = value_bytes;
  *this = std::move(made);
  return Status::kOk;
}

size_t CachedRows::bytes() const {
  return keys_.bytes() + second_keys_.bytes() + bytesOf(values_) + bytesOf(positions_) + bytesOf(origins_) +
         bytesOf(axis_positions_);
}

Status CachedRows::makeSecondKeys() {
  if (hasSecondKeys()) return Status::kOk;
  return second_keys_.allocate(sizes_.batch, sizes_.kv_heads, room_, sizes_.head_dim, sizes_.storage);
}

StoredView CachedRows::values() const {
  const HeadView<const float> shape = {
      nullptr, sizes_.batch, sizes_.kv_heads, length_, sizes_.value_dim, sizes_.kv_heads * room_, room_, 1};
  return {shape, sizes_.storage, valueRow(0, 0), value_bytes_};
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
    return grow(
        std::max({length_ + count, capacity_ > SIZE_MAX / 2 ? capacity_ : 2 * capacity_, kSmallestCapacity}));
  }
  // It fits, if need be by moving all rows to the front; that has to make room enough to be worth it.
  const bool at_the_end = length_ + count > room_ - start_;
  if (at_the_end && may_grow && 2 * (start_ + leaving) < staying) return grow(2 * capacity_);
  return Status::kOk;
}

Status CachedRows::grow(size_t capacity) {
  CachedRows grown;
  const Status status = grown.create(sizes_, capacity);
  if (status != Status::kOk) return status;
  grown.length_ = length_;
  grown.copyRows(0, *this, 0, length_);
  *this = std::move(grown);
  return Status::kOk;
}

void CachedRows::copyRows(size_t first, const CachedRows& from, size_t from_first, size_t count) {
  keys_.copy(start_ + first, from.keys_, from.start_ + from_first, count);
  for (size_t n = 0; n < sizes_.batch * sizes_.kv_heads; ++n)
    std::memcpy(valueRow(n, first), from.valueRow(n, from_first), count * value_bytes_);
  std::copy_n(from.positions() + from_first, count, positions() + first);
  std::copy_n(from.origins() + from_first, count, origins() + first);
  const size_t axes = sizes_.axes;
  if (axes > 1)
    std::copy_n(from.axisPositions() + from_first * axes, count * axes, axisPositions() + first * axes);
}

void CachedRows::moveRows(size_t from, size_t to, size_t count) {
  if (count == 0 || from == to) return;
  const size_t heads = sizes_.batch * sizes_.kv_heads;
  keys_.copy(to, keys_, from, count);
  if (hasSecondKeys()) second_keys_.copy(to, second_keys_, from, count);
  moveWithin(values_.data(), heads, room_, value_bytes_, from, to, count);
  moveWithin(positions_.data(), 1, room_, 1, from, to, count);
  moveWithin(origins_.data(), 1, room_, 1, from, to, count);
  if (sizes_.axes > 1) moveWithin(axis_positions_.data(), 1, room_, sizes_.axes, from, to, count);
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
