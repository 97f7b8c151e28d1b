// A KV cache as bytes: a header of 64-bit words, fingerprints of plans, positions, origins, positions on
// several axes, keys, values; all little-endian, [B, G, length] rows in the format of the cache. A checksum
// covers every byte.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "attention/kv_cache.h"
#include "checksum.h"
#include "kernels/weight_format.h"

namespace ropewalk {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kMagic = 0x00766b65706f7200;  // "\0ropekv\0"
constexpr uint64_t kVersion = 2;
constexpr uint64_t kNoPlan = 0;  // in place of the fingerprint of a plan that turned none of the keys

struct Header {
  uint64_t magic = kMagic;
  uint64_t version = kVersion;
  uint64_t bytes = 0;  // of everything, this header included
  uint64_t batch = 0, kv_heads = 0, head_dim = 0, value_dim = 0, axes = 0;
  uint64_t capacity = 0, growing = 0, keys = 0;
  uint64_t window_size = 0, window_sink_tokens = 0, window_rebased = 0;
  uint64_t length = 0, plan_count = 0, current_plan = 0;
  uint64_t some_left = 0;
  int64_t last_left = 0;
  uint64_t storage = 0;
  uint64_t checksum = 0;  // of all bytes but its own
};
static_assert(sizeof(Header) == size_t{21} * 8);

// The size that a header's numbers ask for; false where it does not fit 64 bits.
bool sizeOf(const Header& h, uint64_t* bytes) {
  if (h.storage >= kWeightFormats.size() || h.head_dim > SIZE_MAX || h.value_dim > SIZE_MAX) return false;
  const WeightFormat& format = kWeightFormats[static_cast<size_t>(h.storage)];
  uint64_t blocks = 0;
  uint64_t rows = 0;
  uint64_t positions = 0;
  uint64_t numbers = 0;  // their bytes
  uint64_t words = 0;
  const bool fits = !__builtin_mul_overflow(h.batch, h.kv_heads, &rows) &&
                    !__builtin_mul_overflow(rows, h.length, &rows) &&
                    !__builtin_add_overflow(format.blocks(static_cast<size_t>(h.head_dim)),
                                            format.blocks(static_cast<size_t>(h.value_dim)), &blocks) &&
                    !__builtin_mul_overflow(rows, blocks, &numbers) &&
                    !__builtin_mul_overflow(numbers, uint64_t{format.block_bytes}, &numbers) &&
                    !__builtin_mul_overflow(h.length, 3 + (h.axes > 1 ? h.axes : 0), &positions) &&
                    !__builtin_add_overflow(h.plan_count, positions, &words) &&
                    !__builtin_add_overflow(words, numbers / 8 + (numbers % 8 != 0 ? 1 : 0), &words);
  return fits && !__builtin_mul_overflow(words, uint64_t{8}, bytes) &&
         !__builtin_add_overflow(*bytes, sizeof(Header), bytes);
}

uint64_t checksumOf(const Header& header, const uint8_t* body) {
  uint8_t words[sizeof(Header)];
  std::memcpy(words, &header, sizeof(Header));
  Checksum sum;
  sum.add(words, sizeof(Header) - 8);
  sum.add(body, static_cast<size_t>(header.bytes) - sizeof(Header));
  return sum.value();
}

// Writes or reads arrays one after the other.
template <class Byte>
class Cursor {
 public:
  explicit Cursor(Byte* at) : at_(at) {}

  template <class T>
  void put(const T* from, size_t count) {
    at_ = std::copy_n(reinterpret_cast<const Byte*>(from), count * sizeof(T), at_);
  }
  template <class T>
  void get(T* to, size_t count) {
    std::copy_n(at_, count * sizeof(T), reinterpret_cast<uint8_t*>(to));
    at_ += count * sizeof(T);
  }

  // Where that many bytes begin.
  Byte* next(size_t bytes) {
    at_ += bytes;
    return at_ - bytes;
  }

 private:
  Byte* at_;
};

// Calls f(head, row) for the rows [B, G, length].
template <class F>
void eachRow(const CachedRows& rows, F f) {
  if (rows.length() == 0) return;
  for (size_t head = 0; head < rows.sizes().batch * rows.sizes().kv_heads; ++head) {
    for (size_t row = 0; row < rows.length(); ++row) f(head, row);
  }
}

// Whether the numbers of a header are such as a cache has, and fit this machine.
bool isPlausible(const Header& h) {
  const auto is_flag = [](uint64_t word) { return word <= 1; };
  for (const uint64_t size : {h.batch, h.kv_heads, h.head_dim, h.value_dim, h.capacity, h.window_size,
                              h.window_sink_tokens, h.length, h.plan_count}) {
    if (size > SIZE_MAX) return false;
  }
  return is_flag(h.growing) && is_flag(h.window_rebased) && is_flag(h.some_left) &&
         h.keys <= static_cast<uint64_t>(CachedKeys::kUnrotated) && h.axes >= 1 && h.axes <= kMaxAxes &&
         h.length <= h.capacity && isPosition(h.last_left) && (h.window_size != 0 || h.some_left == 0) &&
         (h.keys == 0 ? h.plan_count == 0 && h.current_plan == 0 && h.axes == 1
                      : h.current_plan < h.plan_count);
}

RopePlan* planOf(uint64_t fingerprint, RopePlan* const* plans, size_t plan_count) {
  RopePlan* const* end = plans + plan_count;
  RopePlan* const* match =
      std::find_if(plans, end, [&](const RopePlan* p) { return p->fingerprint() == fingerprint; });
  return match == end ? nullptr : *match;
}

KvCacheOptions optionsOf(const Header& h) {
  KvCacheOptions options;
  options.batch = static_cast<size_t>(h.batch);
  options.kv_heads = static_cast<size_t>(h.kv_heads);
  options.head_dim = static_cast<size_t>(h.head_dim);
  options.value_dim = static_cast<size_t>(h.value_dim);
  options.capacity = static_cast<size_t>(h.capacity);
  options.growing = h.growing != 0;
  options.keys = static_cast<CachedKeys>(h.keys);
  options.storage = static_cast<WeightType>(h.storage);
  options.window = {static_cast<size_t>(h.window_size), static_cast<size_t>(h.window_sink_tokens),
                    h.window_rebased != 0};
  return options;
}

}  // namespace

size_t KvCache::savedSize() const {
  Header header;
  const RowSizes& sizes = rows_.sizes();
  header.batch = sizes.batch;
  header.kv_heads = sizes.kv_heads;
  header.head_dim = sizes.head_dim;
  header.value_dim = sizes.value_dim;
  header.axes = sizes.axes;
  header.length = length();
  header.plan_count = plan_count_;
  header.storage = static_cast<uint64_t>(options_.storage);
  uint64_t bytes = 0;
  sizeOf(header, &bytes);  // less than the cache has in memory
  return static_cast<size_t>(bytes);
}

void KvCache::save(uint8_t* out) const {
  const RowSizes& sizes = rows_.sizes();
  const CacheWindow& window = options_.window;
  Header header;
  header.bytes = savedSize();
  header.batch = sizes.batch;
  header.kv_heads = sizes.kv_heads;
  header.head_dim = sizes.head_dim;
  header.value_dim = sizes.value_dim;
  header.axes = sizes.axes;
  header.capacity = capacity();
  header.growing = options_.growing;
  header.keys = static_cast<uint64_t>(options_.keys);
  header.storage = static_cast<uint64_t>(options_.storage);
  header.window_size = window.size;
  header.window_sink_tokens = window.sink_tokens;
  header.window_rebased = window.rebased;
  header.length = length();
  header.plan_count = plan_count_;
  header.current_plan = current_;
  header.some_left = some_left_;
  header.last_left = some_left_ ? last_left_ : 0;

  Cursor<uint8_t> body(out + sizeof(Header));
  for (size_t slot = 0; slot < plan_count_; ++slot) {
    const bool needed = slot == current_ || turnedAny(slot);
    const uint64_t fingerprint = needed ? plans_[slot].plan->fingerprint() : kNoPlan;
    body.put(&fingerprint, 1);
  }
  body.put(positions(), length());
  body.put(rows_.origins(), length());
  if (sizes.axes > 1) body.put(rows_.axisPositions(), length() * sizes.axes);
  const WeightFormat& format = formatOf(options_.storage);
  const size_t key_bytes = format.rowBytes(sizes.head_dim);
  const size_t value_bytes = format.rowBytes(sizes.value_dim);
  eachRow(rows_, [&](size_t head, size_t row) { rows_.getKeyRow(head, row, body.next(key_bytes)); });
  eachRow(rows_, [&](size_t head, size_t row) { body.put(rows_.valueRow(head, row), value_bytes); });
  uint8_t* const end = body.next(0);
  std::fill(end, out + header.bytes, uint8_t{0});
  header.checksum = checksumOf(header, out + sizeof(Header));
  std::memcpy(out, &header, sizeof(Header));
}

SavedProblem KvCache::checkSaved(const uint8_t* bytes, size_t size, RopePlan* const* plans,
                                 size_t plan_count) {
  Header header;
  if (size < 8 || std::memcmp(bytes, &header.magic, 8) != 0) return SavedProblem::kNoCache;
  if (size < sizeof(Header)) return SavedProblem::kDamaged;
  std::memcpy(&header, bytes, sizeof(Header));
  if (header.version != kVersion) return SavedProblem::kVersion;
  uint64_t expected = 0;
  const bool whole = header.bytes == size && sizeOf(header, &expected) && expected == size &&
                     checksumOf(header, bytes + sizeof(Header)) == header.checksum;
  if (!whole || !isPlausible(header)) return SavedProblem::kDamaged;
  Cursor<const uint8_t> body(bytes + sizeof(Header));
  for (uint64_t slot = 0; slot < header.plan_count; ++slot) {
    uint64_t fingerprint = 0;
    body.get(&fingerprint, 1);
    if (fingerprint != kNoPlan && planOf(fingerprint, plans, plan_count) == nullptr)
      return SavedProblem::kPlans;
  }
  return SavedProblem::kNone;
}

Status KvCache::restore(const uint8_t* bytes, size_t size, RopePlan* const* plans, size_t plan_count) {
  if (checkSaved(bytes, size, plans, plan_count) != SavedProblem::kNone) return Status::kInvalidArgument;
  Header header;
  std::memcpy(&header, bytes, sizeof(Header));
  Cursor<const uint8_t> body(bytes + sizeof(Header));

  Buffer<KnownPlan> found;
  if (found.allocate(static_cast<size_t>(header.plan_count)) != Status::kOk) return Status::kOutOfMemory;
  for (size_t slot = 0; slot < found.size(); ++slot) {
    uint64_t fingerprint = 0;
    body.get(&fingerprint, 1);
    found[slot].plan = planOf(fingerprint, plans, plan_count);
  }
  KvCacheOptions options = optionsOf(header);
  if (options.keys != CachedKeys::kPlain) {
    options.plan = found[static_cast<size_t>(header.current_plan)].plan;
    if (options.plan == nullptr || options.plan->axes() != header.axes) return Status::kInvalidArgument;
  }
  KvCache made;
  const Status status = made.create(options);
  if (status != Status::kOk) return status == Status::kOutOfMemory ? status : Status::kInvalidArgument;

  const auto length = static_cast<size_t>(header.length);
  CachedRows& rows = made.rows_;
  rows.extend(length);
  body.get(rows.positions(), length);
  body.get(rows.origins(), length);
  if (rows.sizes().axes > 1) body.get(rows.axisPositions(), length * rows.sizes().axes);
  const WeightFormat& format = formatOf(options.storage);
  const size_t key_bytes = format.rowBytes(options.head_dim);
  const size_t value_bytes = format.rowBytes(options.value_dim);
  eachRow(rows, [&](size_t head, size_t row) { rows.putKeyRow(head, row, body.next(key_bytes)); });
  eachRow(rows, [&](size_t head, size_t row) { body.get(rows.valueRow(head, row), value_bytes); });
  made.plans_ = std::move(found);
  made.plan_count_ = made.plans_.size();
  made.current_ = static_cast<size_t>(header.current_plan);
  made.some_left_ = header.some_left != 0;
  made.last_left_ = header.last_left;
  if (!made.isSound()) return Status::kInvalidArgument;
  made.noteMoves();
  *this = std::move(made);
  return Status::kOk;
}

// The invariants that append() and the moves keep, checked for rows from a file.
bool KvCache::isSound() const {
  const bool rotated = options_.keys == CachedKeys::kRotated;
  const size_t axes = rows_.sizes().axes;
  for (size_t row = 0; row < length(); ++row) {
    const KeyOrigin& origin = rows_.origins()[row];
    if (!isPosition(positions()[row]) || (row > 0 && positions()[row] <= positions()[row - 1])) return false;
    if (!isPosition(origin.position)) return false;
    for (size_t a = 0; axes > 1 && a < axes; ++a) {
      if (!isPosition(rows_.axisPositions()[row * axes + a])) return false;
    }
    if (!inReach(plan(), row, When::kNow, 0)) return false;
    if (!rotated) continue;
    const RopePlan* turned_by = origin.plan < plan_count_ ? plans_[slotAt(row)].plan : nullptr;
    if (turned_by == nullptr || !turned_by->agreesWith(*plan()) || turned_by->axes() != axes ||
        !inReach(turned_by, row, When::kThen, 0)) {
      return false;
    }
  }
  return true;
}

}  // namespace ropewalk
