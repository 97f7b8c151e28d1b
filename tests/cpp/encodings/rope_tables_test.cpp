#include "encodings/rope_tables.h"

#include <vector>

#include "catch.h"
#include "encodings/rope_plan.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

TEST_CASE("A plan's own tables turn as the plan does, bit for bit", "[encodings]") {
  Random random(41);
  const std::vector<int64_t> positions = {0, 3, 7, 100, 7, 1};  // [2, 3]
  for (const Pairing pairing : {Pairing::kHalf, Pairing::kInterleaved}) {
    RopePlan plan = planOf(ropeOptions(14, 10, pairing));
    std::vector<int64_t> all(101);
    for (size_t p = 0; p < all.size(); ++p) all[p] = static_cast<int64_t>(p);
    const Tables tables = tablesOf(plan, all);
    for (const bool heads_first : {true, false}) {
      std::vector<float> x = random.floats(2 * 4 * 3 * 14);
      std::vector<float> want = x;
      const auto view = heads_first ? headsFirst<float> : tokensFirst<float>;
      REQUIRE(plan.rotate(view(want.data(), 2, 4, 3, 14), {positions.data(), true, 0}) == Status::kOk);
      REQUIRE(rotateByTables(view(x.data(), 2, 4, 3, 14), {tables.cos.data(), tables.sin.data(), 101, 5},
                             positions.data(), pairing) == Status::kOk);
      CHECK(sameBits(x, want));
    }
  }
}

TEST_CASE("Tables that are too wide, and rows that they do not have, leave x as it was", "[encodings]") {
  Random random(42);
  const std::vector<float> table = random.floats(4 * 3);
  std::vector<float> x = random.floats(2 * 6);
  const std::vector<float> before = x;
  const auto view = headsFirst(x.data(), 1, 1, 2, 6);
  const std::vector<int64_t> good = {3, 0};
  CHECK(rotateByTables(view, {table.data(), table.data(), 3, 4}, good.data(), Pairing::kHalf) ==
        Status::kInvalidShape);
  for (const std::vector<int64_t>& bad : {std::vector<int64_t>{0, 4}, {-1, 0}, {0, INT64_MAX}}) {
    CHECK(rotateByTables(view, {table.data(), table.data(), 4, 3}, bad.data(), Pairing::kHalf) ==
          Status::kPositionOutOfRange);
  }
  CHECK(sameBits(x, before));
  CHECK(rotateByTables(view, {table.data(), table.data(), 4, 3}, good.data(), Pairing::kHalf) == Status::kOk);
}

}  // namespace
}  // namespace ropewalk::test
