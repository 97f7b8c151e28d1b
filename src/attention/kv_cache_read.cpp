// Reading a KV cache: keys rotated to their present positions, and attention over them.
#include <algorithm>
#include <iterator>

#include "attention/kv_cache.h"
#include "attention/visible_keys.h"

namespace ropewalk {
namespace {

template <class T>
HeadView<T> tokensOf(HeadView<T> x, size_t first, size_t count) {
  x.data += first * x.token_stride;
  x.tokens = count;
  return x;
}

template <class T>
HeadView<T> batchEntry(HeadView<T> x, size_t b) {
  x.data += b * x.batch_stride;
  x.batch = 1;
  return x;
}

bool ascendByOne(const int64_t* positions, size_t count) {
  return count == 0 || positions[count - 1] - positions[0] == static_cast<int64_t>(count) - 1;
}

}  // namespace

bool KvCache::readsElsewhere(size_t row) const {
  const KeyOrigin& origin = rows_.origins()[row];
  switch (options_.keys) {
    case CachedKeys::kPlain:
      return false;
    case CachedKeys::kRotated:
      return origin.position != positions()[row] || slotAt(row) != current_;
    case CachedKeys::kUnrotated:
      break;
  }
  return true;
}

void KvCache::noteMoves() {
  if (rows_.sizes().axes > 1) next_axis_position_ = findNextAxisPosition();
  moved_ = false;
  for (size_t row = 0; row < length() && !moved_; ++row) moved_ = readsElsewhere(row);
  if (moved_) return;
  rows_.dropSecondKeys();
  ready_ = 0;
}

// How many keys from `first` on are rotated the same way, at most a block.
size_t KvCache::blockFrom(size_t first) const {
  const size_t end = std::min(length(), first + kBlock);
  size_t row = first + 1;
  while (row < end && readsElsewhere(row) == readsElsewhere(first) && slotAt(row) == slotAt(first)) {
    ++row;
  }
  return row - first;
}

Status KvCache::allocateBlock(size_t tokens, Buffer<float>* block) const {
  const RowSizes& sizes = rows_.sizes();
  return block->allocate(sizes.batch * sizes.kv_heads * std::min(tokens, kBlock) * sizes.head_dim);
}

HeadView<float> KvCache::blockOf(float* block, size_t count) const {
  const RowSizes& sizes = rows_.sizes();
  return headsFirst(block, sizes.batch, sizes.kv_heads, count, sizes.head_dim);
}

// Keys as they are appended, from row `first` on; `at`: their positions, as their rows have them.
Status KvCache::putTurned(size_t first, HeadView<const float> k, const Positions& at, float* block) {
  Status status = Status::kOk;
  plan()->expect(at, k.tokens);
  for (size_t t = 0; t < k.tokens && status == Status::kOk; t += kBlock) {
    const size_t count = std::min(kBlock, k.tokens - t);
    const HeadView<float> keys = blockOf(block, count);
    copyHeads(keys, tokensOf(k, t, count));
    Positions positions = {nullptr, false, at.offset + static_cast<int64_t>(t)};
    int64_t then[kMaxAxes * kBlock];
    if (at.values != nullptr) {
      axisPositionsOf(first + t, count, When::kThen, then);
      positions = {then, false, 0};
    }
    status = plan()->rotate(keys, positions, Turn::kForward, Role::kKey);
    rows_.putKeys(Keys::kKept, first + t, keys.readOnly());
  }
  return status;
}

// Makes second keys of keys.
Status KvCache::turnBlock(size_t first, HeadView<float> block) {
  if (!readsElsewhere(first)) {
    rows_.keepKeys(first, block.tokens);
    return Status::kOk;
  }
  rows_.getKeys(Keys::kKept, first, block);
  int64_t now[kMaxAxes * kBlock];
  axisPositionsOf(first, block.tokens, When::kNow, now);
  Status status = Status::kOk;
  if (options_.keys == CachedKeys::kUnrotated) {
    status = plan()->rotate(block, {now, false, 0}, Turn::kForward, Role::kKey);
  } else {
    int64_t then[kMaxAxes * kBlock];
    axisPositionsOf(first, block.tokens, When::kThen, then);
    status = plans_[slotAt(first)].plan->rerotate(block, {then, false, 0}, *plan(), {now, false, 0});
  }
  if (status == Status::kOk) rows_.putKeys(Keys::kSecond, first, block.readOnly());
  return status;
}

// All keys as copyKeys() gives them, where they lie; valid until the next call.
Status KvCache::readKeys(StoredView* view) {
  if (!moved_) {
    *view = rows_.keys(Keys::kKept);
    return Status::kOk;
  }
  Buffer<float> block;
  Status status = rows_.makeSecondKeys();
  if (status == Status::kOk && ready_ < length()) status = allocateBlock(length() - ready_, &block);
  while (status == Status::kOk && ready_ < length()) {
    const size_t count = blockFrom(ready_);
    status = turnBlock(ready_, blockOf(block.data(), count));
    if (status == Status::kOk) ready_ += count;
  }
  if (status == Status::kOk) *view = rows_.keys(Keys::kSecond);
  return status;
}

Status KvCache::copyKeys(size_t first, HeadView<float> out) {
  const RowSizes& sizes = rows_.sizes();
  if (out.batch != sizes.batch || out.heads != sizes.kv_heads || out.dim != sizes.head_dim ||
      first > length() || out.tokens > length() - first) {
    return Status::kInvalidShape;
  }
  StoredView ready;
  const Status status = readKeys(&ready);
  if (status == Status::kOk) rows_.getKeys(moved_ ? Keys::kSecond : Keys::kKept, first, out);
  return status;
}

Status KvCache::unturnedKeys(HeadView<float> out) const {
  const RowSizes& sizes = rows_.sizes();
  if (out.batch != sizes.batch || out.heads != sizes.kv_heads || out.tokens != length() ||
      out.dim != sizes.head_dim) {
    return Status::kInvalidShape;
  }
  rows_.getKeys(Keys::kKept, 0, out);
  if (options_.keys != CachedKeys::kRotated) return Status::kOk;
  for (size_t first = 0; first < length();) {
    const size_t count = blockFrom(first);
    const HeadView<float> block = tokensOf(out, first, count);
    int64_t at[kMaxAxes * kBlock];
    axisPositionsOf(first, count, When::kThen, at);
    RopePlan* by = plans_[slotAt(first)].plan;
    Status status = Status::kOk;
    if (by->pairing() != plan()->pairing()) {  // first to where the plan in force would have them begin
      const int64_t origin[kMaxAxes * kBlock] = {};
      status = by->rerotate(block, {at, false, 0}, *plan(), {origin, false, 0});
      by = plan();
      std::copy(std::begin(origin), std::end(origin), at);
    }
    if (status == Status::kOk) status = by->rotate(block, {at, false, 0}, Turn::kBack, Role::kKey);
    if (status != Status::kOk) return status;
    first += count;
  }
  return Status::kOk;
}

// Positions of queries: from query_offset on, or query_offsets.
Status KvCache::positionQueries(const CacheQueries& queries, AttentionOptions* options) const {
  const size_t tokens = queries.q.tokens;
  if (queries.at_end) {
    const size_t rows = std::min(tokens, length());
    if (!ascendByOne(positions() + length() - rows, rows)) return Status::kInvalidArgument;
    options->query_offset = nextPosition() - static_cast<int64_t>(tokens);
    options->query_offsets = nullptr;
  }
  // Several axes: only tokens that came in have positions on them.
  if (rows_.sizes().axes > 1 && !queries.turned && (!queries.at_end || tokens > length())) {
    return Status::kInvalidArgument;
  }
  for (size_t b = 0; b < queries.q.batch; ++b) {
    const int64_t first =
        options->query_offsets == nullptr ? options->query_offset : options->query_offsets[b];
    if (tokens != 0 && misses(first)) return Status::kInvalidArgument;
  }
  return Status::kOk;
}

Status KvCache::turnQueries(HeadView<float> q, bool at_end, const AttentionOptions& options) const {
  Status status = Status::kOk;
  if (at_end && rows_.sizes().axes > 1) {
    for (size_t t = 0; t < q.tokens && status == Status::kOk; t += kBlock) {
      const size_t count = std::min(kBlock, q.tokens - t);
      int64_t now[kMaxAxes * kBlock];
      axisPositionsOf(length() - q.tokens + t, count, When::kNow, now);
      status = plan()->rotate(tokensOf(q, t, count), {now, false, 0}, Turn::kForward, Role::kQuery);
    }
    return status;
  }
  if (options.query_offsets == nullptr) {
    return plan()->rotate(q, {nullptr, false, options.query_offset}, Turn::kForward, Role::kQuery);
  }
  for (size_t b = 0; b < q.batch && status == Status::kOk; ++b) {
    status = plan()->rotate(batchEntry(q, b), {nullptr, false, options.query_offsets[b]}, Turn::kForward,
                            Role::kQuery);
  }
  return status;
}

Status KvCache::attend(HeadView<float> out, const CacheQueries& queries, const AttentionOptions& given,
                       const ScoreOutputs& wanted) {
  HeadView<const float> q = queries.q;
  if (q.dim != rows_.sizes().head_dim || q.batch != rows_.sizes().batch) return Status::kInvalidShape;
  AttentionOptions options = given;
  Status status = positionQueries(queries, &options);
  StoredView k;
  if (status == Status::kOk) status = readKeys(&k);
  if (status != Status::kOk) return status;

  ScoreOutputs scores = wanted;
  Buffer<float> turned_queries;
  Buffer<float> plain_keys;
  const size_t q_size = q.batch * q.heads * q.tokens * q.dim;
  if (plan() != nullptr && !queries.turned) {
    if (turned_queries.allocate(q_size) != Status::kOk) return Status::kOutOfMemory;
    const HeadView<float> turned = headsFirst(turned_queries.data(), q.batch, q.heads, q.tokens, q.dim);
    copyHeads(turned, q);
    status = turnQueries(turned, queries.at_end, options);
    if (status != Status::kOk) return status;
    if (scores.plain_q.data == nullptr) scores.plain_q = q;
    q = turned.readOnly();
  }
  if (plan() != nullptr && scores.plain_k.data == nullptr &&
      (scores.content != nullptr || scores.position != nullptr)) {
    if (plain_keys.allocate(k.batch * k.heads * k.tokens * k.dim) != Status::kOk) return Status::kOutOfMemory;
    const HeadView<float> plain = headsFirst(plain_keys.data(), k.batch, k.heads, k.tokens, k.dim);
    status = unturnedKeys(plain);
    if (status != Status::kOk) return status;
    scores.plain_k = plain.readOnly();
  }

  if (options_.window.size != 0) {
    options.window_left = static_cast<int64_t>(options_.window.size) - 1;
    options.sink_tokens = options_.window.sink_tokens;
  }
  // Where distances are all that counts, keys at consecutive positions need no list.
  options.key_positions = nullptr;
  const int64_t first = length() == 0 ? 0 : positions()[0];
  const int64_t ahead = options.query_offset - first;
  const bool listed = !ascendByOne(positions(), length()) ||
                      (first != 0 && (options.query_offsets != nullptr || countsPositions(options))) ||
                      !isPosition(ahead);
  if (listed) {
    options.key_positions = positions();
  } else {
    options.query_offset = ahead;
  }
  return attention(out, q, k, rows_.values(), options, scores);
}

}  // namespace ropewalk
