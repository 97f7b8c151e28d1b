// The contents of a cache after tokens were appended, removed and moved, and refused calls.
#include <vector>

#include "attention/cache_data.h"

namespace ropewalk::test {

TEST_CASE("Keys and values come out as they went in, in pieces of any size", "[attention]") {
  Random random(1);
  const Tokens tokens(random, 41);
  for (const size_t capacity : {size_t{0}, size_t{1}, size_t{41}}) {
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{16}, size_t{41}}) {
      KvCacheOptions options = cacheOptions();
      options.capacity = capacity;
      options.growing = capacity < 41;
      KvCache cache = cacheOf(options);
      for (size_t first = 0; first < 41; first += piece) {
        REQUIRE(tokens.appendTo(cache, first, std::min(piece, 41 - first)) == Status::kOk);
      }
      CHECK(sameBits(keysOf(cache), written(tokens.keys(0, 41))));
      CHECK(sameBits(valuesOf(cache), written(tokens.values(0, 41))));
      CHECK(cache.nextPosition() == 41);
      CHECK(cache.capacity() >= 41);
    }
  }
}

TEST_CASE("A cache tells the bytes that it holds", "[attention]") {
  RopePlan plan = planOf(ropeOptions(kDim, kDim));
  KvCacheOptions options = cacheOptions(&plan);
  options.capacity = 10;
  KvCache cache = cacheOf(options);
  const size_t keys = 16 * kBatch * kKvHeads * kDim * 4;  // whole panels
  const size_t expected =
      keys + 10 * (kBatch * kKvHeads * kValueDim * 4 + 8 + sizeof(KeyOrigin)) + sizeof(RopePlan*);
  CHECK(cache.bytes() == expected);
  Random random(2);
  const Tokens tokens(random, 4);
  REQUIRE(tokens.appendTo(cache, 0, 4) == Status::kOk);
  keysOf(cache);
  CHECK(cache.bytes() == expected);  // nothing moved: read in place
  REQUIRE(cache.shift(0, 4, 5) == Status::kOk);
  keysOf(cache);
  CHECK(cache.bytes() == expected + keys);
  REQUIRE(cache.shift(0, 4, -5) == Status::kOk);
  CHECK(cache.bytes() == expected);
}

TEST_CASE("A window that fills a fixed capacity has room for more rows, and takes no more", "[attention]") {
  struct Case {
    size_t window;
    size_t capacity;
    size_t rows;
    size_t slots;  // of keys, in whole panels
  };
  for (const auto& [window, capacity, rows, slots] :
       {Case{14, 16, 18, 24}, Case{13, 16, 17, 24}, Case{6, 16, 16, 16}, Case{1, 3, 4, 8}}) {
    KvCacheOptions options = cacheOptions();
    options.capacity = capacity;
    options.growing = false;
    options.window = {window, 2, false};
    KvCache cache = cacheOf(options);
    const size_t row = kBatch * kKvHeads * kValueDim * 4 + 8 + sizeof(KeyOrigin);
    CHECK(cache.bytes() == slots * kBatch * kKvHeads * kDim * 4 + rows * row);
    CHECK(cache.capacity() == capacity);
    Random random(21);
    const Tokens tokens(random, capacity + 1);
    CHECK(tokens.appendTo(cache, 0, capacity + 1) == Status::kFull);
    CHECK(tokens.appendTo(cache, 0, capacity) == Status::kOk);
  }
}

TEST_CASE("A full cache of fixed capacity refuses tokens and stays as it was", "[attention]") {
  Random random(3);
  const Tokens tokens(random, 6);
  KvCacheOptions options = cacheOptions();
  options.capacity = 5;
  options.growing = false;
  KvCache cache = cacheOf(options);
  CHECK(tokens.appendTo(cache, 0, 6) == Status::kFull);
  REQUIRE(tokens.appendTo(cache, 0, 4) == Status::kOk);
  const Snapshot before = snapshotOf(cache);
  CHECK(cache.room(4) == 1);
  CHECK(tokens.appendTo(cache, 4, 2) == Status::kFull);
  CHECK(cache.merge(cacheOf(cacheOptions()), 0, 0) == Status::kOk);
  CHECK(snapshotOf(cache) == before);
  REQUIRE(tokens.appendTo(cache, 4, 1) == Status::kOk);
  CHECK(sameBits(keysOf(cache), written(tokens.keys(0, 5))));
}

TEST_CASE("Dropped tokens leave a gap in the positions, from both ends and the middle", "[attention]") {
  Random random(4);
  const Tokens tokens(random, 12);
  for (size_t first = 0; first <= 10; ++first) {
    for (size_t count = 0; first + count <= 10; ++count) {
      RopePlan plan = planOf(ropeOptions(kDim, kDim));
      KvCache cache = cacheOf(cacheOptions(&plan));
      REQUIRE(tokens.appendTo(cache, 0, 10) == Status::kOk);
      REQUIRE(cache.drop(first, count) == Status::kOk);
      const bool end_left = first + count < 10 || count == 0;
      const int64_t next = end_left ? 10 : static_cast<int64_t>(first);
      CHECK(cache.nextPosition() == next);
      REQUIRE(tokens.appendTo(cache, 10, 2) == Status::kOk);
      std::vector<size_t> chosen;
      std::vector<int64_t> positions;
      for (size_t t = 0; t < 10; ++t) {
        if (t >= first && t < first + count) continue;
        chosen.push_back(t);
        positions.push_back(static_cast<int64_t>(t));
      }
      for (size_t t = 0; t < 2; ++t) {
        chosen.push_back(10 + t);
        positions.push_back(next + static_cast<int64_t>(t));
      }
      CHECK(positionsOf(cache) == positions);
      CHECK(sameBits(keysOf(cache), turnedKeys(plan, tokens, chosen, positions)));
    }
  }
}

TEST_CASE("A window keeps what the new tokens see, and the sinks", "[attention]") {
  Random random(5);
  const Tokens tokens(random, 60);
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{5}, size_t{13}}) {
    for (const bool growing : {false, true}) {
      KvCacheOptions options = cacheOptions();
      options.window = {7, 3, false};
      options.capacity = growing ? 0 : 3 + 6 + piece;
      options.growing = growing;
      KvCache cache = cacheOf(options);
      for (size_t first = 0; first + piece <= 60; first += piece) {
        REQUIRE(tokens.appendTo(cache, first, piece) == Status::kOk);
        std::vector<int64_t> expected;
        for (size_t t = 0; t < first + piece; ++t) {
          if (t < 3 || t + 7 > first) expected.push_back(static_cast<int64_t>(t));
        }
        CHECK(positionsOf(cache) == expected);
        const std::vector<float> keys = keysOf(cache);
        const float* last_head = keys.data() + keys.size() - expected.size() * kDim;
        const std::vector<float> values = valuesOf(cache);
        const float* last_values = values.data() + values.size() - expected.size() * kValueDim;
        for (size_t row = 0; row < expected.size(); ++row) {
          const auto t = static_cast<size_t>(expected[row]);
          CHECK(sameBits(last_head + row * kDim, tokens.keys(t, 1).row(1, 1, 0), kDim));
          CHECK(sameBits(last_values + row * kValueDim, tokens.values(t, 1).row(1, 1, 0), kValueDim));
        }
      }
      if (growing) CHECK(cache.capacity() <= 4 * (3 + 6 + piece) + 16);
    }
  }
}

TEST_CASE("A rebased window closes up behind the sinks", "[attention]") {
  Random random(6);
  const Tokens tokens(random, 30);
  RopePlan plan = planOf(ropeOptions(kDim, kDim));
  for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    KvCacheOptions options = cacheOptions(&plan, kept);
    options.window = {4, 2, true};
    KvCache cache = cacheOf(options);
    for (size_t t = 0; t < 30; ++t) {
      REQUIRE(tokens.appendTo(cache, t, 1) == Status::kOk);
      std::vector<size_t> chosen;
      for (size_t i = 0; i <= t; ++i) {
        if (i < 2 || i + 4 > t) chosen.push_back(i);
      }
      std::vector<int64_t> positions;
      for (size_t i = 0; i < chosen.size(); ++i) positions.push_back(static_cast<int64_t>(i));
      CHECK(positionsOf(cache) == positions);
      CHECK(largestDifference(keysOf(cache), turnedKeys(plan, tokens, chosen, positions)) <= kTurnTolerance);
    }
  }
}

TEST_CASE("A cache is not cut back to where its window has gone", "[attention]") {
  Random random(7);
  const Tokens tokens(random, 30);
  for (const bool rebased : {false, true}) {
    KvCacheOptions options = cacheOptions();
    options.window = {4, 2, rebased};
    KvCache cache = cacheOf(options);
    REQUIRE(tokens.appendTo(cache, 0, 20) == Status::kOk);
    REQUIRE(cache.truncate(12) == Status::kOk);  // nothing has left yet
    REQUIRE(tokens.appendTo(cache, 12, 3) == Status::kOk);
    // Kept: 2 sinks, the 3 before the new ones, and those.
    CHECK(cache.length() == 8);
    const Snapshot before = snapshotOf(cache);
    KvCache copy;
    for (const size_t length : {size_t{4}, size_t{3}, size_t{1}}) {
      CHECK(cache.truncate(length) == Status::kInvalidArgument);
      CHECK(cache.copyPrefix(length, &copy) == Status::kInvalidArgument);
    }
    CHECK(snapshotOf(cache) == before);
    REQUIRE(cache.copyPrefix(5, &copy) == Status::kOk);
    REQUIRE(cache.truncate(5) == Status::kOk);
    CHECK_FALSE(cache.misses(cache.nextPosition()));
    CHECK(cache.misses(cache.nextPosition() - 1));
    std::vector<float> out(kBatch * kHeads * kValueDim);
    AttentionOptions at = scaled(kDim);
    at.query_offset = cache.nextPosition() - 1;
    CHECK(cache.attend(headsFirst(out.data(), kBatch, kHeads, 1, kValueDim),
                       {tokens.queries(0, 1), false, false}, at) == Status::kInvalidArgument);
    REQUIRE(cache.truncate(0) == Status::kOk);
    CHECK(cache.nextPosition() == 0);
    CHECK_FALSE(cache.misses(0));
  }
}

TEST_CASE("Merged tokens know which keys have left their window", "[attention]") {
  Random random(8);
  const Tokens tokens(random, 6);
  for (const bool rebased : {false, true}) {
    KvCacheOptions options = cacheOptions();
    options.window = {3, 0, rebased};
    KvCache from = cacheOf(options);
    for (size_t t = 0; t < 6; ++t) REQUIRE(tokens.appendTo(from, t, 1) == Status::kOk);
    KvCache into = cacheOf(options);
    REQUIRE(into.merge(from, 0, from.length()) == Status::kOk);
    const int64_t last = into.nextPosition() - 1;
    CHECK_FALSE(into.misses(last));
    CHECK(into.misses(last - 1));
    CHECK_FALSE(into.mayEndAt(1));
    options.window = {};
    KvCache all = cacheOf(options);
    REQUIRE(all.merge(from, 0, from.length()) == Status::kOk);
    CHECK_FALSE(all.misses(0));
  }
}

TEST_CASE("Positions are given, ascend, and stay within 2^53 - 1", "[attention]") {
  Random random(8);
  const Tokens tokens(random, 8);
  RopePlan plan = planOf(ropeOptions(kDim, kDim));
  KvCache cache = cacheOf(cacheOptions(&plan));
  const std::vector<int64_t> first = {-5, 3, 900};
  REQUIRE(tokens.appendTo(cache, 0, 3, {first.data(), nullptr}) == Status::kOk);
  CHECK(sameBits(keysOf(cache), turnedKeys(plan, tokens, upTo(3), first)));
  const Snapshot before = snapshotOf(cache);
  const auto refused = [&](std::vector<int64_t> at) {
    const Status status = tokens.appendTo(cache, 3, at.size(), {at.data(), nullptr});
    CHECK(snapshotOf(cache) == before);
    return status;
  };
  CHECK(refused({900}) == Status::kInvalidArgument);
  CHECK(refused({901, 901}) == Status::kInvalidArgument);
  CHECK(refused({905, 902}) == Status::kInvalidArgument);
  CHECK(refused({901, kMaxPosition + 1}) == Status::kPositionOutOfRange);
  const std::vector<int64_t> last = {kMaxPosition};
  REQUIRE(tokens.appendTo(cache, 3, 1, {last.data(), nullptr}) == Status::kOk);
  CHECK(tokens.appendTo(cache, 4, 1) == Status::kPositionOutOfRange);
  CHECK(cache.shift(3, 1, 1) == Status::kPositionOutOfRange);
  CHECK(cache.shift(0, 4, INT64_MAX) == Status::kPositionOutOfRange);
  CHECK(cache.shift(0, 2, 897) == Status::kInvalidArgument);
  CHECK(cache.shift(1, 1, -8) == Status::kInvalidArgument);
  CHECK(cache.shift(0, 2, 896) == Status::kOk);
  CHECK(positionsOf(cache) == std::vector<int64_t>{891, 899, 900, kMaxPosition});
}

TEST_CASE("Tokens stand at the last position, and none beyond it", "[attention]") {
  Random random(21);
  const Tokens tokens(random, 4);
  KvCache cache = cacheOf(cacheOptions());
  const std::vector<int64_t> before_last = {kMaxPosition - 2};
  REQUIRE(tokens.appendTo(cache, 0, 1, {before_last.data(), nullptr}) == Status::kOk);
  CHECK(tokens.appendTo(cache, 1, 3) == Status::kPositionOutOfRange);
  REQUIRE(tokens.appendTo(cache, 1, 2) == Status::kOk);
  CHECK(positionsOf(cache).back() == kMaxPosition);

  // Of rows that are merged, the last stands where it stood from the first.
  KvCache spread = cacheOf(cacheOptions());
  const std::vector<int64_t> at = {-5, 10, 100, 1000};
  REQUIRE(tokens.appendTo(spread, 0, 4, {at.data(), nullptr}) == Status::kOk);
  KvCache merged = cacheOf(cacheOptions());
  const auto merge_at = [&](int64_t position) { return merged.merge(spread, 0, 3, &position); };
  CHECK(merge_at(kMaxPosition - 104) == Status::kPositionOutOfRange);
  CHECK(merge_at(kMaxPosition + 1) == Status::kPositionOutOfRange);
  CHECK(merge_at(INT64_MAX) == Status::kPositionOutOfRange);
  REQUIRE(merge_at(kMaxPosition - 105) == Status::kOk);
  CHECK(positionsOf(merged) == std::vector<int64_t>{kMaxPosition - 105, kMaxPosition - 90, kMaxPosition});
}

TEST_CASE("Keys that left a window move with the others, and not beyond the last position", "[attention]") {
  Random random(19);
  const Tokens tokens(random, 10);
  KvCacheOptions options = cacheOptions();
  options.window = {4, 0, false};
  KvCache cache = cacheOf(options);
  REQUIRE(tokens.appendTo(cache, 0, 9) == Status::kOk);
  REQUIRE(tokens.appendTo(cache, 9, 1) == Status::kOk);
  const Snapshot before = snapshotOf(cache);
  REQUIRE(positionsOf(cache).front() == 6);
  // The first of the window would stand at -kMaxPosition, the one before it, which has left, beyond.
  CHECK(cache.shift(0, cache.length(), -kMaxPosition - 6) == Status::kPositionOutOfRange);
  CHECK(snapshotOf(cache) == before);
  CHECK(cache.shift(0, cache.length(), -kMaxPosition - 5) == Status::kOk);
  CHECK(positionsOf(cache).front() == 1 - kMaxPosition);
  CHECK(cache.misses(3 - kMaxPosition));
  CHECK_FALSE(cache.misses(4 - kMaxPosition));
}

TEST_CASE("Sizes that do not fit are refused", "[attention]") {
  Random random(9);
  const Tokens tokens(random, 4);
  RopePlan plan = planOf(ropeOptions(kDim, kDim));
  RopePlan narrow = planOf(ropeOptions(4, 4));
  RopeOptions two_axes = ropeOptions(kDim, kDim);
  two_axes.axes = {AxisLayout::kSections, 2, {2, 2}};
  RopePlan many = planOf(two_axes);
  const auto created = [](KvCacheOptions options, auto change) {
    change(options);
    KvCache cache;
    return cache.create(options);
  };
  using O = KvCacheOptions;
  CHECK(created(cacheOptions(), [](O& o) { o.batch = 0; }) == Status::kInvalidShape);
  CHECK(created(cacheOptions(), [](O& o) { o.kv_heads = 0; }) == Status::kInvalidShape);
  CHECK(created(cacheOptions(), [](O& o) { o.head_dim = 0; }) == Status::kInvalidShape);
  CHECK(created(cacheOptions(), [](O& o) { o.value_dim = 0; }) == Status::kInvalidShape);
  CHECK(created(cacheOptions(), [](O& o) { o.capacity = SIZE_MAX / 8; }) == Status::kOutOfMemory);
  CHECK(created(cacheOptions(), [](O& o) { o.batch = SIZE_MAX; }) == Status::kOutOfMemory);
  CHECK(created(cacheOptions(), [](O& o) {
          o.storage = WeightType::kFloat16;
          o.value_dim = SIZE_MAX;
        }) == Status::kOutOfMemory);
  CHECK(created(cacheOptions(), [](O& o) { o.window = {0, 1, false}; }) == Status::kInvalidArgument);
  CHECK(created(cacheOptions(), [](O& o) { o.window = {0, 0, true}; }) == Status::kInvalidArgument);
  CHECK(created(cacheOptions(), [](O& o) {
          o.window = {4, 2, false};
          o.capacity = 5;
          o.growing = false;
        }) == Status::kInvalidArgument);
  constexpr size_t kMost = INT32_MAX;
  CHECK(created(cacheOptions(), [](O& o) { o.window = {kMost, kMost, false}; }) == Status::kOk);
  CHECK(created(cacheOptions(), [](O& o) { o.window = {kMost + 1, 0, false}; }) == Status::kInvalidArgument);
  CHECK(created(cacheOptions(), [](O& o) { o.window = {1, kMost + 1, false}; }) == Status::kInvalidArgument);
  CHECK(created(cacheOptions(), [&](O& o) { o.plan = &plan; }) == Status::kInvalidArgument);
  CHECK(created(cacheOptions(&plan), [&](O& o) { o.plan = &narrow; }) == Status::kInvalidShape);
  CHECK(created(cacheOptions(&many), [](O& o) { o.window = {4, 0, false}; }) == Status::kInvalidArgument);

  KvCache cache = cacheOf(cacheOptions(&plan));
  REQUIRE(tokens.appendTo(cache, 0, 3) == Status::kOk);
  const Snapshot before = snapshotOf(cache);
  CHECK(cache.append(tokens.keys(0, 1), tokens.values(0, 2)) == Status::kInvalidShape);
  CHECK(cache.append(tokens.queries(0, 1), tokens.values(0, 1)) == Status::kInvalidShape);
  CHECK(cache.append(tokens.values(0, 1), tokens.values(0, 1)) == Status::kInvalidShape);
  CHECK(cache.truncate(4) == Status::kInvalidShape);
  CHECK(cache.drop(2, 2) == Status::kInvalidShape);
  CHECK(cache.drop(4, 0) == Status::kInvalidShape);
  CHECK(cache.shift(1, 3, 1) == Status::kInvalidShape);
  CHECK(cache.switchTo(&narrow) == Status::kInvalidShape);
  CHECK(cache.switchTo(&many) == Status::kInvalidShape);
  CHECK(cache.switchTo(nullptr) == Status::kInvalidArgument);
  RopePlan part = planOf(ropeOptions(kDim, kDim / 2));
  CHECK(cache.switchTo(&part) == Status::kInvalidShape);
  const int64_t places[1] = {3};
  CHECK(tokens.appendTo(cache, 3, 1, {nullptr, places}) == Status::kInvalidArgument);
  CHECK(cache.merge(cache, 0, 1) == Status::kInvalidArgument);
  CHECK(cache.merge(cacheOf(cacheOptions()), 0, 0) == Status::kInvalidArgument);
  CHECK(cache.merge(cacheOf(cacheOptions(&plan)), 0, 1) == Status::kInvalidShape);
  CHECK(cacheOf(cacheOptions()).switchTo(&plan) == Status::kInvalidArgument);
  RopePlan interleaved = planOf(ropeOptions(kDim, kDim, Pairing::kInterleaved));
  KvCache unturned = cacheOf(cacheOptions(&plan, CachedKeys::kUnrotated));
  const KvCache paired = cacheOf(cacheOptions(&interleaved, CachedKeys::kUnrotated));
  REQUIRE(unturned.switchTo(&interleaved) == Status::kOk);
  REQUIRE(unturned.switchTo(&plan) == Status::kOk);
  REQUIRE(tokens.appendTo(unturned, 0, 1) == Status::kOk);
  CHECK(unturned.switchTo(&interleaved) == Status::kInvalidArgument);
  CHECK(unturned.merge(paired, 0, 0) == Status::kInvalidArgument);
  KvCache copy;
  CHECK(cache.copyPrefix(4, &copy) == Status::kInvalidShape);
  CHECK(snapshotOf(cache) == before);
  REQUIRE(cache.append(tokens.keys(3, 0), tokens.values(3, 0)) == Status::kOk);
  CHECK(snapshotOf(cache) == before);
}

}  // namespace ropewalk::test
