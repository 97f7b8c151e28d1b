// A token is rotated by the rows of tables() for its position, whatever rows were cached before.
#include <limits>
#include <vector>

#include "catch.h"
#include "encodings/rope_plan.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr Positions from(int64_t offset) {
  return {nullptr, false, offset};
}

std::vector<int64_t> run(int64_t first, size_t count) {
  std::vector<int64_t> positions(count);
  for (size_t t = 0; t < count; ++t) positions[t] = first + static_cast<int64_t>(t);
  return positions;
}

// Turns the unit vectors (1, 0) of every pair, which leaves cos and sin themselves behind: [tokens, cos then
// sin].
std::vector<float> rowsMet(RopePlan& plan, const Positions& positions, size_t tokens) {
  const size_t dim = plan.headDim();
  std::vector<float> x(tokens * dim);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % dim < dim / 2 ? 1.0f : 0.0f;
  REQUIRE(plan.rotate(headsFirst(x.data(), 1, 1, tokens, dim), positions) == Status::kOk);
  return x;
}

std::vector<float> rowsMet(RopePlan& plan, const std::vector<int64_t>& positions) {
  return rowsMet(plan, {positions.data(), false, 0}, positions.size());
}

// The same from tables().
std::vector<float> rowsOf(const RopePlan& plan, const std::vector<int64_t>& positions) {
  const Tables tables = tablesOf(plan, positions);
  const size_t pairs = plan.pairs();
  std::vector<float> rows;
  for (size_t r = 0; r < positions.size(); ++r) {
    rows.insert(rows.end(), tables.cos.begin() + static_cast<ptrdiff_t>(r * pairs),
                tables.cos.begin() + static_cast<ptrdiff_t>((r + 1) * pairs));
    rows.insert(rows.end(), tables.sin.begin() + static_cast<ptrdiff_t>(r * pairs),
                tables.sin.begin() + static_cast<ptrdiff_t>((r + 1) * pairs));
  }
  return rows;
}

}  // namespace

TEST_CASE("One call, chunks of any size and explicit positions meet the same rows", "[encodings]") {
  constexpr size_t kTokens = 200;
  for (const Angles angles : {Angles::kExact, Angles::kFloat32}) {
    RopeOptions options = ropeOptions(16, 16);
    options.angles = angles;
    const RopePlan reference = planOf(options);
    const std::vector<float> expected = rowsOf(reference, run(0, kTokens));

    RopePlan whole = planOf(options);
    CHECK(sameBits(rowsMet(whole, from(0), kTokens), expected));
    CHECK(sameBits(rowsMet(whole, from(0), kTokens), expected));  // now from the cache
    CHECK(sameBits(rowsMet(whole, run(0, kTokens)), expected));

    for (const size_t chunk : std::initializer_list<size_t>{1, 7, 32, 33, 150}) {
      RopePlan plan = planOf(options);
      std::vector<float> rows;
      for (size_t t = 0; t < kTokens; t += chunk) {
        const std::vector<float> part =
            rowsMet(plan, from(static_cast<int64_t>(t)), std::min(chunk, kTokens - t));
        rows.insert(rows.end(), part.begin(), part.end());
      }
      INFO("chunk = " << chunk);
      CHECK(sameBits(rows, expected));
    }
  }
}

TEST_CASE("Calls in any order meet the rows of their own positions", "[encodings]") {
  Random random(1);
  RopePlan plan = planOf(ropeOptions(10, 10));
  for (int call = 0; call < 300; ++call) {
    const auto size = int64_t{1} << random.between(1, call % 3 == 0 ? 52 : 10);
    const int64_t offset = random.between(call % 2 == 0 ? 0 : -size, size);
    const auto tokens = static_cast<size_t>(random.between(0, 70));
    INFO("call " << call << ": offset = " << offset << ", tokens = " << tokens);
    CHECK(sameBits(rowsMet(plan, from(offset), tokens), rowsOf(plan, run(offset, tokens))));
  }
}

TEST_CASE("Explicit positions may repeat, go backwards, be negative and be huge", "[encodings]") {
  RopePlan plan = planOf(ropeOptions(12, 12));
  const std::vector<int64_t> positions = {5, 5, 4, -1, 0, kMaxPosition, -kMaxPosition, 31, 32, 1 << 20, 5};
  const std::vector<float> expected = rowsOf(plan, positions);
  CHECK(sameBits(rowsMet(plan, positions), expected));
  REQUIRE(rowsMet(plan, from(0), 40).size() == 40 * 12);  // fills the cache
  CHECK(sameBits(rowsMet(plan, positions), expected));
}

TEST_CASE("A run meets the right rows across 0 and at both ends of the range", "[encodings]") {
  RopePlan plan = planOf(ropeOptions(8, 8));
  for (const int64_t offset : {int64_t{-20}, kMaxPosition - 39, -kMaxPosition}) {
    CHECK(sameBits(rowsMet(plan, from(offset), 40), rowsOf(plan, run(offset, 40))));
  }
}

TEST_CASE("Rows beyond the cache's limit are right", "[encodings]") {
  // 16 KiB a row: the cache of 16 MiB ends at position 1024.
  RopePlan plan = planOf(ropeOptions(4096, 4096));
  for (const int64_t offset : {0, 600, 1000, 1023, 1024, 1030}) {
    INFO("offset = " << offset);
    CHECK(sameBits(rowsMet(plan, from(offset), 30), rowsOf(plan, run(offset, 30))));
  }
  CHECK(sameBits(rowsMet(plan, from(0), 1024), rowsOf(plan, run(0, 1024))));
  CHECK(sameBits(rowsMet(plan, from(900), 200), rowsOf(plan, run(900, 200))));
  RopePlan fresh = planOf(ropeOptions(4096, 4096));
  CHECK(sameBits(rowsMet(fresh, from(0), 1100), rowsOf(fresh, run(0, 1100))));
}

TEST_CASE("Every batch and head meets the rows of its tokens, in both layouts", "[encodings]") {
  constexpr size_t kBatch = 2;
  constexpr size_t kHeads = 3;
  constexpr size_t kTokens = 70;  // more than two blocks of tokens
  constexpr size_t kDim = 12;
  Random random(2);
  std::vector<int64_t> positions(kBatch * kTokens);
  for (int64_t& p : positions) p = random.between(-100, 1000);
  RopePlan plan = planOf(ropeOptions(kDim, kDim));
  for (const bool per_batch : {true, false}) {
    for (const bool heads_first : {true, false}) {
      std::vector<float> x(kBatch * kHeads * kTokens * kDim);
      for (size_t i = 0; i < x.size(); ++i) x[i] = i % kDim < kDim / 2 ? 1.0f : 0.0f;
      const auto view = heads_first ? headsFirst(x.data(), kBatch, kHeads, kTokens, kDim)
                                    : tokensFirst(x.data(), kBatch, kHeads, kTokens, kDim);
      REQUIRE(plan.rotate(view, {positions.data(), per_batch, 0}) == Status::kOk);
      int misses = 0;
      for (size_t b = 0; b < kBatch; ++b) {
        for (size_t t = 0; t < kTokens; ++t) {
          const std::vector<float> row = rowsOf(plan, {positions[per_batch ? b * kTokens + t : t]});
          for (size_t h = 0; h < kHeads; ++h) misses += !sameBits(view.row(b, h, t), row.data(), kDim);
        }
      }
      CHECK(misses == 0);
    }
  }
}

TEST_CASE("A row kept from the last call is used for its position, direction and role only", "[encodings]") {
  constexpr int64_t kFar = 5000;  // never cached: nothing before it was asked for
  for (const double scale_base : {0.0, 512.0}) {
    RopeOptions options = ropeOptions(12, 12);
    options.frequencies.scaling = Scaling::kYarn;  // an attention factor, which turning back divides by
    options.frequencies.factor = 4;
    options.frequencies.original_length = 64;
    options.xpos.scale_base = scale_base;
    RopePlan plan = planOf(options);
    Random random(3);
    for (int call = 0; call < 200; ++call) {
      const Positions at = from(kFar + random.between(0, 2));
      const auto turn = static_cast<Turn>(random.between(0, 1));
      const Role role = random.between(0, 1) == 0 ? Role::kQuery : Role::kKey;
      const auto tokens = static_cast<size_t>(random.between(1, 3));
      std::vector<float> x(tokens * 12, 1.0f);
      std::vector<float> expected = x;
      RopePlan fresh = planOf(options);
      REQUIRE(plan.rotate(headsFirst(x.data(), 1, 1, tokens, 12), at, turn, role) == Status::kOk);
      REQUIRE(fresh.rotate(headsFirst(expected.data(), 1, 1, tokens, 12), at, turn, role) == Status::kOk);
      INFO("scale_base = " << scale_base << ", call " << call);
      REQUIRE(sameBits(x, expected));
    }
  }
}

TEST_CASE("Single tokens of more sequences than rows are kept find their own", "[encodings]") {
  constexpr size_t kBatch = 70;
  RopePlan plan = planOf(ropeOptions(6, 6));
  for (int call = 0; call < 3; ++call) {
    std::vector<int64_t> positions(kBatch);
    for (size_t b = 0; b < kBatch; ++b) positions[b] = 7000 + 13 * static_cast<int64_t>(b) + call / 2;
    std::vector<float> x(kBatch * 6);
    for (size_t i = 0; i < x.size(); ++i) x[i] = i % 6 < 3 ? 1.0f : 0.0f;
    const Positions each = {positions.data(), true, 0};
    REQUIRE(plan.rotate(headsFirst(x.data(), kBatch, 1, 1, 6), each) == Status::kOk);
    CHECK(sameBits(x, rowsOf(plan, positions)));
  }
}

TEST_CASE("Turning back does not depend on what is cached", "[encodings]") {
  RopeOptions options = ropeOptions(8, 8);
  options.frequencies.scaling = Scaling::kYarn;
  options.frequencies.original_length = 64;
  options.frequencies.attention_factor = 1.25;
  RopePlan used = planOf(options);
  REQUIRE(rowsMet(used, from(0), 50).size() == 400);
  RopePlan fresh = planOf(options);
  Random random(3);
  std::vector<float> a = random.floats(50 * 8);
  std::vector<float> b = a;
  REQUIRE(used.rotate(headsFirst(a.data(), 1, 1, 50, 8), from(0), Turn::kBack) == Status::kOk);
  REQUIRE(fresh.rotate(headsFirst(b.data(), 1, 1, 50, 8), from(0), Turn::kBack) == Status::kOk);
  CHECK(sameBits(a, b));
}

TEST_CASE("Nothing to turn is no error", "[encodings]") {
  RopePlan plan = planOf(ropeOptions(8, 8));
  std::vector<float> x(8, 3.0f);
  CHECK(plan.rotate(headsFirst(x.data(), 1, 1, 0, 8), from(0)) == Status::kOk);
  CHECK(plan.rotate(headsFirst(x.data(), 0, 1, 1, 8), from(5)) == Status::kOk);
  CHECK(plan.rotate(headsFirst(x.data(), 1, 0, 1, 8), from(5)) == Status::kOk);
  CHECK(plan.rotate(headsFirst(x.data(), 1, 1, 0, 8), from(kMaxPosition)) == Status::kOk);
  CHECK(plan.rotate(headsFirst(x.data(), 1, 1, 0, 8), from(-kMaxPosition)) == Status::kOk);
  CHECK(plan.rotate(headsFirst<float>(nullptr, 0, 0, 0, 8), {nullptr, true, 0}) == Status::kOk);
  CHECK(plan.tables(nullptr, 0, nullptr, nullptr) == Status::kOk);
  CHECK(x == std::vector<float>(8, 3.0f));
}

TEST_CASE("A position out of range or another head size leaves x as it was", "[encodings]") {
  RopePlan plan = planOf(ropeOptions(4, 4));
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> before = x;
  const auto view = headsFirst(x.data(), 1, 1, 2, 4);
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
  for (const int64_t offset :
       {kMaxPosition, kMaxPosition + 1, -kMaxPosition - 1, kSmallest, kLargest - 1, kLargest}) {
    INFO("offset = " << offset);
    CHECK(plan.rotate(view, from(offset)) == Status::kPositionOutOfRange);
  }
  for (const int64_t wrong : {kMaxPosition + 1, -kMaxPosition - 1, kLargest, kSmallest}) {
    const std::vector<int64_t> values = {0, wrong};
    INFO("position = " << wrong);
    CHECK(plan.rotate(view, {values.data(), false, 0}) == Status::kPositionOutOfRange);
    CHECK(plan.rotate(view, {values.data(), true, 0}) == Status::kPositionOutOfRange);
    std::vector<float> cos(4, 9.0f);
    std::vector<float> sin(4, 9.0f);
    CHECK(plan.tables(values.data(), 2, cos.data(), sin.data()) == Status::kPositionOutOfRange);
    CHECK(cos == std::vector<float>(4, 9.0f));
    CHECK(sin == cos);
  }
  CHECK(plan.rotate(headsFirst(x.data(), 1, 1, 1, 8), from(0)) == Status::kInvalidShape);
  CHECK(sameBits(x, before));
}

}  // namespace ropewalk::test
