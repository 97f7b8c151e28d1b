#include "analysis/pairwise.h"

#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

std::vector<float> matrixOf(Measure measure, const std::vector<float>& x, size_t dim) {
  const size_t rows = x.size() / dim;
  std::vector<float> out(rows * rows, kNaN);
  REQUIRE(pairwise(measure, x.data(), rows, dim, out.data()) == Status::kOk);
  return out;
}

}  // namespace

TEST_CASE("Pairs are measured as their names say", "[analysis]") {
  const std::vector<float> x = {3, 4, 0, 0, 4, 3};
  CHECK(matrixOf(Measure::kDot, x, 2) == std::vector<float>{25, 0, 24, 0, 0, 0, 24, 0, 25});
  CHECK(matrixOf(Measure::kCosine, x, 2) == std::vector<float>{1, 0, 0.96f, 0, 0, 0, 0.96f, 0, 1});
  CHECK(matrixOf(Measure::kEuclidean, x, 2) ==
        std::vector<float>{0, 5, 1.41421356f, 5, 0, 5, 1.41421356f, 5, 0});
  CHECK(matrixOf(Measure::kHamming, x, 2) == std::vector<float>{0, 2, 2, 2, 0, 2, 2, 2, 0});
}

TEST_CASE("Sums of pairs are rounded once", "[analysis]") {
  Random random(1);
  const std::vector<float> x = random.floats(5 * 1000);
  const std::vector<float> dots = matrixOf(Measure::kDot, x, 1000);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (size_t d = 0; d < 1000; ++d) sum += static_cast<double>(x[i * 1000 + d]) * x[j * 1000 + d];
      CHECK(dots[i * 5 + j] == static_cast<float>(sum));
    }
  }
}

TEST_CASE("The first duplicate is found, and NaN is never one", "[analysis]") {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 3, 4, 1, 2};
  size_t first = 9;
  size_t second = 9;
  REQUIRE(firstDuplicate(x.data(), 5, 2, &first, &second));
  CHECK(first == 1);
  CHECK(second == 3);
  CHECK(!firstDuplicate(x.data(), 3, 2, &first, &second));
  const std::vector<float> nan = {kNaN, kNaN};
  CHECK(!firstDuplicate(nan.data(), 2, 1, &first, &second));
  CHECK(!firstDuplicate(nullptr, 0, 2, &first, &second));
  CHECK(pairwise(static_cast<Measure>(4), x.data(), 1, 1, nullptr) == Status::kInvalidArgument);
}

}  // namespace ropewalk::test
