#include "encodings/learned.h"

#include <cmath>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("Learned positions are added, multiplied or set beside the tokens", "[encodings]") {
  const std::vector<float> data = {1, 2, 3, 4, 5, 6};
  const LearnedTable table = {data.data(), 3, 2};
  const std::vector<float> x = {10, 20, 30, 40};
  const std::vector<int64_t> positions = {2, 0};
  std::vector<float> out(4, kNaN);
  REQUIRE(learnedPositions(LearnedMode::kAdd, table, x.data(), 2, positions.data(), 2, out.data()) ==
          Status::kOk);
  CHECK(out == std::vector<float>{15, 26, 31, 42});
  REQUIRE(learnedPositions(LearnedMode::kMultiply, table, x.data(), 2, positions.data(), 2, out.data()) ==
          Status::kOk);
  CHECK(out == std::vector<float>{50, 120, 30, 80});
  out.assign(8, kNaN);
  REQUIRE(learnedPositions(LearnedMode::kConcatenate, table, x.data(), 2, positions.data(), 2, out.data()) ==
          Status::kOk);
  CHECK(out == std::vector<float>{10, 20, 5, 6, 30, 40, 1, 2});
  out.assign(4, kNaN);  // one number per token beside two per position
  std::vector<float> wide(6, kNaN);
  REQUIRE(learnedPositions(LearnedMode::kConcatenate, table, x.data(), 1, positions.data(), 2, wide.data()) ==
          Status::kOk);
  CHECK(wide == std::vector<float>{10, 5, 6, 20, 1, 2});
}

TEST_CASE("A learned position without a row is refused", "[encodings]") {
  const std::vector<float> data(6);
  const LearnedTable table = {data.data(), 3, 2};
  const std::vector<float> x(2);
  std::vector<float> out(2, 7.0f);
  for (const int64_t position : {int64_t{3}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    CHECK(learnedPositions(LearnedMode::kAdd, table, x.data(), 2, &position, 1, out.data()) ==
          Status::kPositionOutOfRange);
  }
  const int64_t zero = 0;
  CHECK(learnedPositions(LearnedMode::kAdd, table, x.data(), 1, &zero, 1, out.data()) ==
        Status::kInvalidShape);
  CHECK(out == std::vector<float>(2, 7.0f));
}

TEST_CASE("A table of n rows extends to n squared and keeps its own", "[encodings]") {
  Random random(1);
  const std::vector<float> data = random.floats(4 * 3);
  const LearnedTable table = {data.data(), 4, 3};
  std::vector<float> out(16 * 3, kNaN);
  REQUIRE(extendLearned(table, 0.4, 16, out.data()) == Status::kOk);
  CHECK(sameBits(out.data(), data.data(), 12));
  const auto u = [&](size_t row, size_t d) { return (data[row * 3 + d] - 0.4 * data[d]) / 0.6; };
  Worst worst;
  for (size_t p = 0; p < 16; ++p) {
    for (size_t d = 0; d < 3; ++d)
      worst.add(out[p * 3 + d], 0.4 * u(p / 4, d) + 0.6 * u(p % 4, d), 4 * kUnit);
  }
  CHECK(worst.share() <= 1);
  CHECK(extendLearned(table, 0.4, 17, out.data()) == Status::kInvalidShape);
  CHECK(extendLearned({data.data(), 0, 3}, 0.4, 1, out.data()) == Status::kInvalidShape);
  for (const double alpha : {0.0, 0.5, 1.0, -1.0, std::nan("")}) {
    CHECK(extendLearned(table, alpha, 16, out.data()) == Status::kInvalidArgument);
  }
}

}  // namespace ropewalk::test
