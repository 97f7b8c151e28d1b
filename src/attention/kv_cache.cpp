// What a KV cache holds: tokens that come, go and move.
#include "attention/kv_cache.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "kernels/weight_format.h"

namespace ropewalk {
namespace {

Status check(const KvCacheOptions& o) {
  if (o.batch == 0 || o.kv_heads == 0 || o.head_dim == 0 || o.value_dim == 0) return Status::kInvalidShape;
  if ((o.plan != nullptr) != (o.keys != CachedKeys::kPlain)) return Status::kInvalidArgument;
  if (o.plan != nullptr && o.plan->headDim() != o.head_dim) return Status::kInvalidShape;
  const bool is_cached = o.storage == WeightType::kFloat32 || o.storage == WeightType::kFloat16 ||
                         o.storage == WeightType::kQ8_0;
  if (!is_cached) return Status::kInvalidArgument;
  const size_t block = formatOf(o.storage).block;
  if (o.head_dim % block != 0 || o.value_dim % block != 0) return Status::kInvalidShape;
  const CacheWindow& w = o.window;
  if (w.size == 0) return w.sink_tokens == 0 && !w.rebased ? Status::kOk : Status::kInvalidArgument;
  // Positions of several axes do not follow one another, so that a window would have no meaning.
  if (o.plan != nullptr && o.plan->axes() > 1) return Status::kInvalidArgument;
  constexpr size_t kMost = INT32_MAX;
  if (w.size > kMost || w.sink_tokens > kMost) return Status::kInvalidArgument;
  const bool fits = o.growing || (w.size <= o.capacity && w.sink_tokens <= o.capacity - w.size);
  return fits ? Status::kOk : Status::kInvalidArgument;
}

// A window that fills a fixed capacity would move all of its rows with every token. With the room that is
// left there is an eighth of the capacity, and one row at least.
size_t spareRows(const KvCacheOptions& o) {
  if (o.window.size == 0 || o.growing) return 0;
  const size_t left = o.capacity - o.window.size - o.window.sink_tokens;
  const size_t wanted = std::max(o.capacity / 8, size_t{1});
  return wanted - std::min(wanted, left);
}

// Positions of tokens that come behind `next - 1`, and whether they ascend from there.
Status checkAscent(const int64_t* positions, size_t tokens, int64_t next) {
  const auto count = static_cast<int64_t>(tokens);
  if (positions == nullptr) {
    return count <= kMaxPosition && next <= kMaxPosition - count + 1 ? Status::kOk
                                                                     : Status::kPositionOutOfRange;
  }
  if (!std::all_of(positions, positions + tokens, isPosition)) return Status::kPositionOutOfRange;
  const bool ascends =
      std::adjacent_find(positions, positions + tokens, std::greater_equal<>()) == positions + tokens;
  return ascends ? Status::kOk : Status::kInvalidArgument;
}

}  // namespace

Status KvCache::create(const KvCacheOptions& options) {
  Status status = check(options);
  if (status != Status::kOk) return status;
  KvCache made;
  made.options_ = options;
  const size_t axes = options.plan == nullptr ? 1 : options.plan->axes();
  status = made.rows_.create(
      {options.batch, options.kv_heads, options.head_dim, options.value_dim, axes, options.storage},
      options.capacity, spareRows(options));
  if (status == Status::kOk && options.plan != nullptr) status = made.reservePlans(1);
  if (status != Status::kOk) return status;
  if (options.plan != nullptr) {
    made.current_ = made.slotOf(options.plan);
    made.pairing_ = options.plan->pairing();
  }
  *this = std::move(made);
  return Status::kOk;
}

size_t KvCache::bytes() const {
  return rows_.bytes() + plans_.size() * sizeof(KnownPlan);
}

size_t KvCache::room(int64_t first_position) const {
  if (options_.growing) return SIZE_MAX;
  return capacity() - (length() - leavingBefore(first_position).count);
}

bool KvCache::misses(int64_t position) const {
  return some_left_ && last_left_ > position - static_cast<int64_t>(options_.window.size);
}

bool KvCache::turnedAny(size_t slot) const {
  if (options_.keys != CachedKeys::kRotated) return false;
  for (size_t row = 0; row < length(); ++row) {
    if (slotAt(row) == slot) return true;
  }
  return false;
}

bool KvCache::holdsKeysOf(const RopePlan* plan) const {
  for (size_t slot = 0; slot < plan_count_; ++slot) {
    if (plans_[slot].plan == plan && turnedAny(slot)) return true;
  }
  return false;
}

Status KvCache::reservePlans(size_t more) {
  const size_t needed = plan_count_ + more;
  if (needed <= plans_.size()) return Status::kOk;
  Buffer<KnownPlan> grown;
  if (grown.allocate(std::max(needed, 2 * plan_count_)) != Status::kOk) return Status::kOutOfMemory;
  std::copy_n(plans_.data(), plan_count_, grown.data());
  plans_ = std::move(grown);
  return Status::kOk;
}

size_t KvCache::findPlan(const RopePlan* plan) const {
  size_t slot = 0;
  while (slot < plan_count_ && plans_[slot].plan != plan) ++slot;
  return slot;
}

size_t KvCache::slotOf(RopePlan* plan) {
  const size_t slot = findPlan(plan);
  if (slot == plan_count_) plans_[plan_count_++].plan = plan;
  return slot;
}

KvCache::Leaving KvCache::leavingBefore(int64_t next) const {
  const CacheWindow& window = options_.window;
  if (window.size == 0 || length() <= window.sink_tokens) return {};
  const int64_t* begin = positions() + window.sink_tokens;
  const int64_t* end = positions() + length();
  // window.size positions are visible to the first query, its own included.
  const int64_t* staying = std::upper_bound(begin, end, next - static_cast<int64_t>(window.size));
  if (staying == begin) return {};
  const int64_t closed = *begin - (staying == end ? next : *staying);
  return {window.sink_tokens, static_cast<size_t>(staying - begin), window.rebased ? closed : 0};
}

void KvCache::leave(const Leaving& leaving) {
  if (leaving.count == 0) return;
  some_left_ = true;
  last_left_ = positions()[leaving.first + leaving.count - 1] + leaving.by;
  erase(leaving.first, leaving.count);
  if (leaving.by == 0) return;
  for (size_t row = leaving.first; row < length(); ++row) rows_.positions()[row] += leaving.by;
  ready_ = std::min(ready_, leaving.first);
  noteMoves();
}

void KvCache::erase(size_t first, size_t count) {
  if (ready_ > first) ready_ -= std::min(count, ready_ - first);
  rows_.erase(first, count);
}

int64_t KvCache::findNextAxisPosition() const {
  int64_t next = 0;
  for (size_t row = 0; row < length(); ++row) {
    int64_t at[kMaxAxes] = {};
    axisPositionsOf(row, 1, When::kNow, at);
    const int64_t farthest = *std::max_element(at, at + rows_.sizes().axes);
    next = row == 0 ? farthest + 1 : std::max(next, farthest + 1);
  }
  return next;
}

// out [axes, count]
void KvCache::axisPositionsOf(size_t first, size_t count, When when, int64_t* out) const {
  const size_t axes = rows_.sizes().axes;
  for (size_t t = 0; t < count; ++t) {
    const size_t row = first + t;
    const int64_t origin = rows_.origins()[row].position;
    const int64_t moved = when == When::kNow ? positions()[row] - origin : 0;
    for (size_t a = 0; a < axes; ++a) {
      out[a * count + t] = (axes == 1 ? origin : rows_.axisPositions()[row * axes + a]) + moved;
    }
  }
}

bool KvCache::inReach(const RopePlan* plan, size_t row, When when, int64_t by) const {
  if (!isPosition(positions()[row] + by)) return false;
  if (plan == nullptr) return true;
  int64_t at[kMaxAxes] = {};
  axisPositionsOf(row, 1, when, at);
  for (int64_t& position : at) position += by;
  return plan->inRange({at, false, 0}, 1, 1);
}

Status KvCache::append(HeadView<const float> k, HeadView<const float> v, const AppendPositions& at) {
  const RowSizes& sizes = rows_.sizes();
  const size_t tokens = k.tokens;
  if (k.batch != sizes.batch || v.batch != sizes.batch || k.heads != sizes.kv_heads ||
      v.heads != sizes.kv_heads || k.dim != sizes.head_dim || v.dim != sizes.value_dim ||
      v.tokens != tokens) {
    return Status::kInvalidShape;
  }
  const bool listed = at.positions != nullptr;
  if ((listed && options_.window.rebased) || (at.axis_positions != nullptr && sizes.axes == 1)) {
    return Status::kInvalidArgument;
  }
  if (tokens == 0) return Status::kOk;
  Status status = checkAscent(at.positions, tokens, nextPosition());
  if (status != Status::kOk) return status;
  const int64_t first_position = listed ? at.positions[0] : nextPosition();
  if (length() != 0 && first_position < nextPosition()) return Status::kInvalidArgument;

  const Leaving leaving = leavingBefore(first_position);
  const int64_t next = first_position + leaving.by;
  Positions turn_at = {at.positions, false, next};
  if (sizes.axes > 1)
    turn_at = {at.axis_positions, false, at.axis_positions == nullptr ? next_axis_position_ : 0};
  if (plan() != nullptr && !plan()->inRange(turn_at, 1, tokens)) return Status::kPositionOutOfRange;
  const bool rotated = options_.keys == CachedKeys::kRotated;
  Buffer<float> block;
  if (rotated) status = allocateBlock(tokens, &block);
  if (status == Status::kOk) status = rows_.reserve(tokens, leaving.count, options_.growing);
  if (status != Status::kOk) return status;

  if (!rows_.hasSecondKeys()) ready_ = 0;
  leave(leaving);
  const size_t row = length();
  rows_.extend(tokens);
  rows_.putValues(row, v);
  for (size_t t = 0; t < tokens; ++t) {
    const int64_t position = listed ? at.positions[t] : next + static_cast<int64_t>(t);
    rows_.positions()[row + t] = position;
    rows_.origins()[row + t] = {position, current_};
    for (size_t a = 0; sizes.axes > 1 && a < sizes.axes; ++a) {
      const int64_t on_axis = at.axis_positions == nullptr ? turn_at.offset + static_cast<int64_t>(t)
                                                           : at.axis_positions[a * tokens + t];
      rows_.axisPositions()[(row + t) * sizes.axes + a] = on_axis;
      next_axis_position_ = row + t + a == 0 ? on_axis + 1 : std::max(next_axis_position_, on_axis + 1);
    }
  }
  if (rotated) return putTurned(row, k, turn_at, block.data());
  rows_.putKeys(Keys::kKept, row, k);
  moved_ = moved_ || options_.keys == CachedKeys::kUnrotated;
  return Status::kOk;
}

Status KvCache::merge(const KvCache& other, size_t first, size_t count, const int64_t* at) {
  if (!(other.rows_.sizes() == rows_.sizes()) || first > other.length() || count > other.length() - first) {
    return Status::kInvalidShape;
  }
  if (&other == this || other.options_.keys != options_.keys || rows_.sizes().axes > 1 ||
      (plan() != nullptr && !other.plan()->agreesWith(*plan())) ||
      (options_.keys == CachedKeys::kUnrotated && other.pairing_ != pairing_) ||
      (at != nullptr && options_.window.rebased)) {
    return Status::kInvalidArgument;
  }
  if (count == 0) return Status::kOk;
  const int64_t* from = other.positions() + first;
  const int64_t first_position = at == nullptr ? nextPosition() : *at;
  if (!isPosition(first_position)) return Status::kPositionOutOfRange;
  if (length() != 0 && first_position < nextPosition()) return Status::kInvalidArgument;
  const Leaving leaving = leavingBefore(first_position);
  const int64_t by = first_position + leaving.by - from[0];
  for (size_t t = 0; t < count; ++t) {
    if (!other.inReach(plan(), first + t, When::kNow, by)) return Status::kPositionOutOfRange;
  }

  Status status = reservePlans(other.plan_count_);
  if (status == Status::kOk) status = rows_.reserve(count, leaving.count, options_.growing);
  if (status != Status::kOk) return status;

  if (!rows_.hasSecondKeys()) ready_ = 0;
  leave(leaving);
  const size_t row = length();
  rows_.extend(count);
  rows_.copyRows(row, other.rows_, first, count);
  const bool rotated = options_.keys == CachedKeys::kRotated;
  for (size_t t = 0; t < count; ++t) {
    const KeyOrigin& origin = other.rows_.origins()[first + t];
    rows_.positions()[row + t] = from[t] + by;
    rows_.origins()[row + t] = {origin.position,
                                rotated ? slotOf(other.plans_[other.slotAt(first + t)].plan) : current_};
  }
  if (other.some_left_ && options_.window.size != 0) {
    const int64_t left = std::clamp(other.last_left_ + by, -kMaxPosition, kMaxPosition);
    last_left_ = some_left_ ? std::max(last_left_, left) : left;
    some_left_ = true;
  }
  noteMoves();
  return Status::kOk;
}

bool KvCache::mayEndAt(size_t length_kept) const {
  return length_kept == 0 || length_kept == length() || !misses(positions()[length_kept - 1] + 1);
}

Status KvCache::truncate(size_t length_kept) {
  if (length_kept > length()) return Status::kInvalidShape;
  if (!mayEndAt(length_kept)) return Status::kInvalidArgument;
  return drop(length_kept, length() - length_kept);
}

Status KvCache::drop(size_t first, size_t count) {
  if (first > length() || count > length() - first) return Status::kInvalidShape;
  erase(first, count);
  if (length() == 0) some_left_ = false;
  noteMoves();
  return Status::kOk;
}

void KvCache::reset() {
  erase(0, length());
  some_left_ = false;
  noteMoves();
}

Status KvCache::shift(size_t first, size_t count, int64_t by) {
  if (first > length() || count > length() - first) return Status::kInvalidShape;
  if (count == 0 || by == 0) return Status::kOk;
  if (by < -2 * kMaxPosition || by > 2 * kMaxPosition) return Status::kPositionOutOfRange;
  const size_t end = first + count;
  for (size_t row = first; row < end; ++row) {
    if (!inReach(plan(), row, When::kNow, by)) return Status::kPositionOutOfRange;
  }
  int64_t* at = rows_.positions();
  if ((first > 0 && at[first] + by <= at[first - 1]) || (end < length() && at[end - 1] + by >= at[end])) {
    return Status::kInvalidArgument;
  }
  // Keys that left were after the sink tokens, and move with the keys that follow them.
  if (some_left_ && first <= options_.window.sink_tokens && options_.window.sink_tokens < end) {
    if (!isPosition(last_left_ + by)) return Status::kPositionOutOfRange;
    last_left_ += by;
  }
  for (size_t row = first; row < end; ++row) at[row] += by;
  ready_ = std::min(ready_, first);
  noteMoves();
  return Status::kOk;
}

Status KvCache::switchTo(RopePlan* to) {
  if (to == nullptr || options_.keys == CachedKeys::kPlain) return Status::kInvalidArgument;
  if (to->headDim() != rows_.sizes().head_dim || to->axes() != rows_.sizes().axes)
    return Status::kInvalidShape;
  if (options_.keys == CachedKeys::kRotated && length() != 0 && !plans_[slotAt(0)].plan->agreesWith(*to)) {
    return Status::kInvalidShape;
  }
  // Keys as they came are in the order of one pairing.
  if (options_.keys == CachedKeys::kUnrotated && length() != 0 && to->pairing() != pairing_) {
    return Status::kInvalidArgument;
  }
  for (size_t row = 0; row < length(); ++row) {
    if (!inReach(to, row, When::kNow, 0)) return Status::kPositionOutOfRange;
  }
  size_t slot = findPlan(to);
  if (slot == plan_count_) {  // the position of a plan that turned none of the keys, if there is one
    slot = 0;
    while (slot < plan_count_ && turnedAny(slot)) ++slot;
  }
  if (slot == plan_count_) {
    const Status status = reservePlans(1);
    if (status != Status::kOk) return status;
    ++plan_count_;
  }
  plans_[slot].plan = to;
  options_.plan = to;
  pairing_ = to->pairing();
  current_ = slot;
  ready_ = 0;
  noteMoves();
  return Status::kOk;
}

Status KvCache::copyPrefix(size_t length_kept, KvCache* copy) const {
  if (length_kept > length()) return Status::kInvalidShape;
  if (!mayEndAt(length_kept)) return Status::kInvalidArgument;
  KvCache made;
  KvCacheOptions options = options_;
  if (options.growing) options.capacity = std::max(options.capacity, length_kept);
  Status status = made.create(options);
  if (status == Status::kOk) status = made.reservePlans(plan_count_);
  if (status != Status::kOk) return status;
  std::copy_n(plans_.data(), plan_count_, made.plans_.data());
  made.plan_count_ = plan_count_;
  made.current_ = current_;
  made.options_.capacity = options_.capacity;

  made.rows_.extend(length_kept);
  made.rows_.copyRows(0, rows_, 0, length_kept);
  made.some_left_ = some_left_ && length_kept != 0;
  made.last_left_ = last_left_;
  made.noteMoves();
  *copy = std::move(made);
  return Status::kOk;
}

}  // namespace ropewalk
