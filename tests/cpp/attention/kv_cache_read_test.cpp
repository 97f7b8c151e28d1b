// Keys of a cache at their current positions, and attention over them.
#include <memory>
#include <vector>

#include "attention/cache_data.h"

namespace ropewalk::test {
namespace {

RopeOptions yarn() {
  RopeOptions options = ropeOptions(kDim, kDim);
  options.frequencies.scaling = Scaling::kYarn;
  options.frequencies.factor = 4;
  options.frequencies.original_length = 64;
  return options;
}

RopeOptions xpos() {
  RopeOptions options = ropeOptions(kDim, 6);
  options.xpos.scale_base = 64;
  return options;
}

std::vector<int64_t> from(int64_t first, size_t count) {
  std::vector<int64_t> list(count);
  for (size_t i = 0; i < count; ++i) list[i] = first + static_cast<int64_t>(i);
  return list;
}

}  // namespace

TEST_CASE("Keys that did not move are read where they lie", "[attention]") {
  Random random(1);
  const Tokens tokens(random, 40);
  RopePlan plan = planOf(yarn());
  KvCache cache = cacheOf(cacheOptions(&plan));
  REQUIRE(tokens.appendTo(cache, 0, 40) == Status::kOk);
  const size_t bytes = cache.bytes();
  REQUIRE(cache.drop(3, 5) == Status::kOk);  // gaps turn nothing
  std::vector<size_t> left = upTo(40);
  left.erase(left.begin() + 3, left.begin() + 8);
  const std::vector<int64_t> at(left.begin(), left.end());
  CHECK(sameBits(keysOf(cache), turnedKeys(plan, tokens, left, at)));
  CHECK(cache.bytes() == bytes);  // no second buffer
}

TEST_CASE("Some of the keys are those of all, and a cache has no others", "[attention]") {
  Random random(20);
  const Tokens tokens(random, 41);
  RopePlan plan = planOf(yarn());
  for (const int64_t by : {0, 3}) {
    KvCache cache = cacheOf(cacheOptions(&plan));
    REQUIRE(tokens.appendTo(cache, 0, 41) == Status::kOk);
    REQUIRE(cache.shift(0, 41, by) == Status::kOk);
    const std::vector<float> all = keysOf(cache);
    for (const auto& [first, count] : {std::pair<size_t, size_t>{0, 1}, {5, 11}, {33, 8}, {41, 0}}) {
      std::vector<float> part(kBatch * kKvHeads * count * kDim, kNaN);
      const HeadView<float> out = headsFirst(part.data(), kBatch, kKvHeads, count, kDim);
      REQUIRE(cache.copyKeys(first, out) == Status::kOk);
      for (size_t head = 0; head < kBatch * kKvHeads; ++head) {
        CHECK(sameBits(part.data() + head * count * kDim, all.data() + (head * 41 + first) * kDim,
                       count * kDim));
      }
    }
    std::vector<float> room(kBatch * kKvHeads * 42 * kDim);
    const auto view = [&](size_t batch, size_t heads, size_t count, size_t dim) {
      return headsFirst(room.data(), batch, heads, count, dim);
    };
    CHECK(cache.copyKeys(0, view(kBatch, kKvHeads, 42, kDim)) == Status::kInvalidShape);
    CHECK(cache.copyKeys(40, view(kBatch, kKvHeads, 2, kDim)) == Status::kInvalidShape);
    CHECK(cache.copyKeys(42, view(kBatch, kKvHeads, 0, kDim)) == Status::kInvalidShape);
    CHECK(cache.copyKeys(0, view(kBatch + 1, kKvHeads, 1, kDim)) == Status::kInvalidShape);
    CHECK(cache.copyKeys(0, view(kBatch, kKvHeads - 1, 1, kDim)) == Status::kInvalidShape);
    CHECK(cache.copyKeys(0, view(kBatch, kKvHeads, 1, kDim - 1)) == Status::kInvalidShape);
  }
}

TEST_CASE("A thousand shifts by one are one shift by a thousand, bit for bit", "[attention]") {
  Random random(2);
  const Tokens tokens(random, 37);
  for (const RopeOptions& options : {ropeOptions(kDim, kDim, Pairing::kInterleaved), yarn(), xpos()}) {
    for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
      RopePlan plan = planOf(options);
      KvCache often = cacheOf(cacheOptions(&plan, kept));
      KvCache once = cacheOf(cacheOptions(&plan, kept));
      const std::vector<int64_t> at = from(1000, 37);
      REQUIRE(tokens.appendTo(often, 0, 37, {at.data(), nullptr}) == Status::kOk);
      REQUIRE(tokens.appendTo(once, 0, 37, {at.data(), nullptr}) == Status::kOk);
      for (int i = 0; i < 1000; ++i) {
        REQUIRE(often.shift(0, 37, -1) == Status::kOk);
        if (i % 100 == 0) keysOf(often);
      }
      REQUIRE(once.shift(0, 37, -1000) == Status::kOk);
      CHECK(sameBits(keysOf(often), keysOf(once)));
      // xPos divides by what it multiplied with, up to a factor of 2^16 between.
      const std::vector<float> expected = turnedKeys(plan, tokens, upTo(37), from(0, 37));
      CHECK(largestDifference(keysOf(once), expected) <= 2 * kTurnTolerance);
      REQUIRE(once.shift(0, 37, 1000) == Status::kOk);
      CHECK(sameBits(keysOf(once), turnedKeys(plan, tokens, upTo(37), at)));
    }
  }
}

TEST_CASE("A shift does not apply the attention factor again", "[attention]") {
  Random random(3);
  const Tokens tokens(random, 5);
  RopePlan plan = planOf(yarn());
  REQUIRE(plan.attentionFactor() > 1.1);
  KvCache cache = cacheOf(cacheOptions(&plan));
  REQUIRE(tokens.appendTo(cache, 0, 5) == Status::kOk);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(cache.shift(0, 5, 7) == Status::kOk);
    CHECK(largestDifference(keysOf(cache), turnedKeys(plan, tokens, upTo(5), from(7 * (i + 1), 5))) <=
          2 * kTurnTolerance);
  }
}

TEST_CASE("Keys of several plans are read as the last of them has it", "[attention]") {
  Random random(4);
  const Tokens tokens(random, 70);
  for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    RopePlan first = planOf(ropeOptions(kDim, kDim));
    RopePlan second = planOf(yarn());
    RopeOptions other_base = ropeOptions(kDim, kDim);
    other_base.frequencies.base = 100;
    RopePlan third = planOf(other_base);
    KvCache cache = cacheOf(cacheOptions(&first, kept));
    REQUIRE(tokens.appendTo(cache, 0, 40) == Status::kOk);
    const std::vector<float> before = keysOf(cache);
    REQUIRE(cache.switchTo(&second) == Status::kOk);
    REQUIRE(tokens.appendTo(cache, 40, 20) == Status::kOk);
    CHECK(largestDifference(keysOf(cache), turnedKeys(second, tokens, upTo(60), from(0, 60))) <=
          2 * kTurnTolerance);
    REQUIRE(cache.switchTo(&third) == Status::kOk);
    REQUIRE(tokens.appendTo(cache, 60, 10) == Status::kOk);
    REQUIRE(cache.shift(50, 20, 9) == Status::kOk);
    std::vector<int64_t> at = from(0, 70);
    for (size_t t = 50; t < 70; ++t) at[t] += 9;
    CHECK(largestDifference(keysOf(cache), turnedKeys(third, tokens, upTo(70), at)) <= 2 * kTurnTolerance);
    const bool rotated = kept == CachedKeys::kRotated;
    CHECK(cache.holdsKeysOf(&first) == rotated);
    CHECK(cache.holdsKeysOf(&third) == rotated);
    REQUIRE(cache.truncate(40) == Status::kOk);
    CHECK_FALSE(cache.holdsKeysOf(&second));
    REQUIRE(cache.switchTo(&first) == Status::kOk);
    CHECK(sameBits(keysOf(cache), before));
  }
}

TEST_CASE("Many plans in turn take no more memory than those in use", "[attention]") {
  Random random(5);
  const Tokens tokens(random, 1);
  std::vector<RopePlan> plans;
  for (size_t i = 0; i < 20; ++i) plans.push_back(planOf(ropeOptions(kDim, kDim)));
  KvCache cache = cacheOf(cacheOptions(&plans[0]));
  REQUIRE(tokens.appendTo(cache, 0, 1) == Status::kOk);
  const size_t bytes = cache.bytes();
  for (RopePlan& plan : plans) REQUIRE(cache.switchTo(&plan) == Status::kOk);
  CHECK(cache.bytes() <= bytes + 4 * sizeof(RopePlan*));
  CHECK(cache.holdsKeysOf(&plans[0]));
}

TEST_CASE("A plan that turned none of the keys may be gone when another takes its place", "[attention]") {
  Random random(12);
  const Tokens tokens(random, 4);
  RopeOptions others = ropeOptions(kDim, kDim);
  others.frequencies.base = 500;
  RopePlan next = planOf(others);
  for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    KvCache cache;
    {
      auto first = std::make_unique<RopePlan>(planOf(ropeOptions(kDim, kDim)));
      cache = cacheOf(cacheOptions(first.get(), kept));
      REQUIRE(tokens.appendTo(cache, 0, 2) == Status::kOk);
      if (kept == CachedKeys::kRotated) cache.reset();
    }
    const size_t staying = cache.length();
    const size_t bytes = cache.bytes();
    REQUIRE(cache.switchTo(&next) == Status::kOk);
    CHECK(cache.bytes() == bytes);
    REQUIRE(tokens.appendTo(cache, staying, 4 - staying) == Status::kOk);
    KvCache expected = cacheOf(cacheOptions(&next, kept));
    REQUIRE(tokens.appendTo(expected, 0, 4) == Status::kOk);
    CHECK(sameBits(keysOf(cache), keysOf(expected)));
  }
}

TEST_CASE("Merged and copied keys are turned to where they now stand", "[attention]") {
  Random random(6);
  const Tokens tokens(random, 50);
  RopePlan plan = planOf(ropeOptions(kDim, kDim));
  RopePlan long_plan = planOf(yarn());
  for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    KvCache cache = cacheOf(cacheOptions(&plan, kept));
    KvCache other = cacheOf(cacheOptions(&long_plan, kept));
    REQUIRE(tokens.appendTo(cache, 0, 10) == Status::kOk);
    REQUIRE(tokens.appendTo(other, 10, 30) == Status::kOk);
    REQUIRE(other.drop(5, 10) == Status::kOk);
    REQUIRE(cache.merge(other, 2, 18) == Status::kOk);
    std::vector<size_t> chosen = upTo(10);
    std::vector<int64_t> at = from(0, 10);
    for (size_t t = 2; t < 30; ++t) {
      if (t >= 5 && t < 15) continue;
      chosen.push_back(10 + t);
      at.push_back(10 + static_cast<int64_t>(t) - 2);
    }
    CHECK(positionsOf(cache) == at);
    CHECK(largestDifference(keysOf(cache), turnedKeys(plan, tokens, chosen, at)) <= 2 * kTurnTolerance);
    const int64_t far = 4000;
    REQUIRE(cache.merge(other, 0, 1, &far) == Status::kOk);
    CHECK(cache.nextPosition() == 4001);
    CHECK(cache.merge(other, 0, 1, &far) == Status::kInvalidArgument);

    KvCache copy;
    REQUIRE(cache.copyPrefix(20, &copy) == Status::kOk);
    const std::vector<float> whole = keysOf(cache);
    REQUIRE(cache.truncate(20) == Status::kOk);
    CHECK(largestDifference(keysOf(copy), keysOf(cache)) <= kTurnTolerance);
    CHECK(positionsOf(copy) == positionsOf(cache));
    REQUIRE(tokens.appendTo(copy, 40, 5) == Status::kOk);
    CHECK(cache.length() == 20);
  }
}

TEST_CASE("Keys are given back as they were before any turn", "[attention]") {
  Random random(7);
  const Tokens tokens(random, 40);
  RopePlan plan = planOf(yarn());
  for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    KvCache cache = cacheOf(cacheOptions(&plan, kept));
    REQUIRE(tokens.appendTo(cache, 0, 40) == Status::kOk);
    REQUIRE(cache.shift(7, 33, 100) == Status::kOk);
    std::vector<float> out(kBatch * kKvHeads * 40 * kDim);
    REQUIRE(cache.unturnedKeys(headsFirst(out.data(), kBatch, kKvHeads, 40, kDim)) == Status::kOk);
    CHECK(largestDifference(out, written(tokens.keys(0, 40))) <= kTurnTolerance);
    CHECK(cache.unturnedKeys(headsFirst(out.data(), kBatch, kKvHeads, 39, kDim)) == Status::kInvalidShape);
  }
}

TEST_CASE("Keys of one pairing are given back in the order of the plan in force", "[attention]") {
  Random random(17);
  const Tokens tokens(random, 40);
  RopePlan halves = planOf(yarn());
  RopeOptions options = yarn();
  options.pairing = Pairing::kInterleaved;
  RopePlan interleaved = planOf(options);
  KvCache cache = cacheOf(cacheOptions(&halves));
  REQUIRE(tokens.appendTo(cache, 0, 40) == Status::kOk);
  REQUIRE(cache.switchTo(&interleaved) == Status::kOk);
  std::vector<float> out(kBatch * kKvHeads * 40 * kDim);
  REQUIRE(cache.unturnedKeys(headsFirst(out.data(), kBatch, kKvHeads, 40, kDim)) == Status::kOk);
  const std::vector<float> keys = written(tokens.keys(0, 40));
  std::vector<float> expected(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t d = i % kDim;
    expected[i - d + (d < kDim / 2 ? 2 * d : 2 * d - kDim + 1)] = keys[i];
  }
  CHECK(largestDifference(out, expected) <= kTurnTolerance);
}

TEST_CASE("A plan with several axes turns tokens at their places, however they move", "[attention]") {
  Random random(8);
  const Tokens tokens(random, 45);
  RopeOptions options = ropeOptions(kDim, kDim);
  options.axes = {AxisLayout::kSections, 3, {2, 1, 1}};
  RopePlan plan = planOf(options);
  for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    KvCache cache = cacheOf(cacheOptions(&plan, kept));
    REQUIRE(tokens.appendTo(cache, 0, 2) == Status::kOk);
    std::vector<int64_t> image(3 * 40);  // 5 rows of 8
    for (size_t t = 0; t < 40; ++t) {
      image[t] = 2;
      image[40 + t] = 2 + static_cast<int64_t>(t / 8);
      image[80 + t] = 2 + static_cast<int64_t>(t % 8);
    }
    REQUIRE(tokens.appendTo(cache, 2, 40, {nullptr, image.data()}) == Status::kOk);
    REQUIRE(tokens.appendTo(cache, 42, 3) == Status::kOk);  // text: behind the widest row
    CHECK(positionsOf(cache) == from(0, 45));
    REQUIRE(cache.shift(2, 43, 30) == Status::kOk);
    std::vector<int64_t> at(3 * 45);
    for (size_t a = 0; a < 3; ++a) {
      for (size_t t = 0; t < 45; ++t) {
        const int64_t place = t < 2    ? static_cast<int64_t>(t)
                              : t < 42 ? image[a * 40 + t - 2] + 30
                                       : 40 + static_cast<int64_t>(t) - 42;
        at[a * 45 + t] = place;
      }
    }
    CHECK(largestDifference(keysOf(cache), turnedKeys(plan, tokens, upTo(45), at)) <= kTurnTolerance);
    KvCache copy;
    REQUIRE(cache.copyPrefix(44, &copy) == Status::kOk);
    REQUIRE(tokens.appendTo(copy, 44, 1) == Status::kOk);  // behind the farthest of those that were copied
    CHECK(largestDifference(keysOf(copy), keysOf(cache)) <= kTurnTolerance);

    // Queries stand where their keys do: with themselves as keys their own scores are |q|^2.
    HeadView<const float> all = tokens.queries(0, 45);
    std::vector<float> out(kBatch * kHeads * 45 * kValueDim);
    AttentionOptions explicit_offset = scaled(kDim);
    CHECK(cache.attend(headsFirst(out.data(), kBatch, kHeads, 45, kValueDim), {all, false, false},
                       explicit_offset) == Status::kInvalidArgument);
    std::vector<float> q(kBatch * kHeads * 45 * kDim);
    const HeadView<float> turned = headsFirst(q.data(), kBatch, kHeads, 45, kDim);
    copyHeads(turned, all);
    REQUIRE(plan.rotate(turned, {at.data(), false, 0}) == Status::kOk);
    const std::vector<float> keys = turnedKeys(plan, tokens, upTo(45), at);
    const std::vector<float> values = valuesOf(cache);
    // The gap in the sequence is one in the positions as well, and the last 45 tokens do not stand in a row.
    AttentionOptions order = scaled(kDim);
    order.causal = true;
    const NaiveAttention naive =
        naiveAttention(turned.readOnly(), headsFirst<const float>(keys.data(), kBatch, kKvHeads, 45, kDim),
                       headsFirst<const float>(values.data(), kBatch, kKvHeads, 45, kValueDim), order);
    const std::vector<float> got = attended(cache, tokens.queries(42, 3));
    Worst worst;
    for (size_t h = 0; h < kBatch * kHeads; ++h) {
      for (size_t i = 0; i < 3 * kValueDim; ++i) {
        const size_t n = (h * 45 + 42) * kValueDim + i;
        worst.add(got[h * 3 * kValueDim + i], naive.out[n], 8 * naive.out_tolerance[n]);
      }
    }
    CHECK(worst.share() <= 1);
  }
}

TEST_CASE("Attention in pieces is attention in one call", "[attention]") {
  Random random(9);
  const Tokens tokens(random, 50);
  RopePlan plan = planOf(yarn());
  for (const CachedKeys kept : {CachedKeys::kPlain, CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    for (const CacheWindow window : {CacheWindow{}, CacheWindow{6, 0, false}, CacheWindow{5, 3, false}}) {
      const auto fresh = [&] {
        KvCacheOptions options = cacheOptions(kept == CachedKeys::kPlain ? nullptr : &plan, kept);
        options.window = window;
        return cacheOf(options);
      };
      KvCache whole = fresh();
      REQUIRE(tokens.appendTo(whole, 0, 50) == Status::kOk);
      const std::vector<float> expected = attended(whole, tokens.queries(0, 50));
      for (const size_t piece : {size_t{1}, size_t{7}, size_t{49}}) {
        KvCache cache = fresh();
        Worst worst;
        for (size_t first = 0; first < 50; first += piece) {
          const size_t n = std::min(piece, 50 - first);
          REQUIRE(tokens.appendTo(cache, first, n) == Status::kOk);
          const std::vector<float> got = attended(cache, tokens.queries(first, n));
          for (size_t h = 0; h < kBatch * kHeads; ++h) {
            for (size_t i = 0; i < n * kValueDim; ++i) {
              worst.add(got[h * n * kValueDim + i], expected[(h * 50 + first) * kValueDim + i], 2e-6);
            }
          }
        }
        CHECK(worst.share() <= 1);
      }
    }
  }
}

TEST_CASE("Queries that were turned already, and where they stand", "[attention]") {
  Random random(10);
  const Tokens tokens(random, 20);
  RopePlan plan = planOf(ropeOptions(kDim, kDim));
  KvCache cache = cacheOf(cacheOptions(&plan));
  REQUIRE(tokens.appendTo(cache, 0, 20) == Status::kOk);
  REQUIRE(cache.shift(0, 20, 1'000'000'007) == Status::kOk);  // far off, and no list of positions needed
  const std::vector<float> expected = attended(cache, tokens.queries(15, 5));
  std::vector<float> q = written(tokens.queries(15, 5));
  const HeadView<float> view = headsFirst(q.data(), kBatch, kHeads, 5, kDim);
  REQUIRE(plan.rotate(view, {nullptr, false, 1'000'000'022}) == Status::kOk);
  AttentionOptions options = scaled(kDim);
  options.causal = true;
  std::vector<float> out(expected.size());
  const HeadView<float> result = headsFirst(out.data(), kBatch, kHeads, 5, kValueDim);
  REQUIRE(cache.attend(result, {view.readOnly(), true, true}, options) == Status::kOk);
  CHECK(sameBits(out, expected));
  options.query_offset = 1'000'000'022;
  CHECK(sameBits(attended(cache, tokens.queries(15, 5), options, false), expected));
  const std::vector<int64_t> offsets(kBatch, 1'000'000'022);
  options.query_offsets = offsets.data();
  CHECK(sameBits(attended(cache, tokens.queries(15, 5), options, false), expected));
  REQUIRE(cache.drop(17, 1) == Status::kOk);
  CHECK(cache.attend(result, {tokens.queries(15, 5), true, false}, options) == Status::kInvalidArgument);
  CHECK(cache.attend(result, {tokens.keys(0, 5), false, false}, options) == Status::kInvalidShape);
}

TEST_CASE("Content and position of scores are told apart over a cache", "[attention]") {
  Random random(11);
  const Tokens tokens(random, 9);
  RopePlan plan = planOf(yarn());
  for (const CachedKeys kept : {CachedKeys::kRotated, CachedKeys::kUnrotated}) {
    KvCache cache = cacheOf(cacheOptions(&plan, kept));
    REQUIRE(tokens.appendTo(cache, 0, 9) == Status::kOk);
    const size_t n = kBatch * kHeads * 9;
    std::vector<float> out(kBatch * kHeads * kValueDim);
    std::vector<float> content(n);
    std::vector<float> position(n);
    std::vector<float> raw(n);
    ScoreOutputs scores;
    scores.content = content.data();
    scores.position = position.data();
    scores.raw = raw.data();
    REQUIRE(cache.attend(headsFirst(out.data(), kBatch, kHeads, 1, kValueDim),
                         {tokens.queries(8, 1), true, false}, scaled(kDim), scores) == Status::kOk);
    Worst worst;
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t h = 0; h < kHeads; ++h) {
        for (size_t j = 0; j < 9; ++j) {
          double sum = 0;
          for (size_t d = 0; d < kDim; ++d) {
            sum += static_cast<double>(tokens.queries(8, 1).row(b, h, 0)[d]) *
                   tokens.keys(0, 9).row(b, h / (kHeads / kKvHeads), j)[d];
          }
          const size_t at = (b * kHeads + h) * 9 + j;
          worst.add(content[at], sum / std::sqrt(8.0), 64 * kUnit * 12);
          worst.add(content[at] + position[at], raw[at], 4 * kUnit * 24);
        }
      }
    }
    CHECK(worst.share() <= 1);
  }
}

}  // namespace ropewalk::test
