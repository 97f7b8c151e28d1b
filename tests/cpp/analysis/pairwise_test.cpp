#include "analysis/pairwise.h"

#include <cmath>
#include <initializer_list>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr Measure kMeasures[] = {Measure::kDot, Measure::kCosine, Measure::kEuclidean, Measure::kHamming};

std::vector<float> pairwiseOf(Measure measure, const std::vector<float>& x, size_t rows, size_t dim) {
  std::vector<float> out(rows * rows, kNaN);
  REQUIRE(pairwise(measure, x.data(), rows, dim, out.data()) == Status::kOk);
  return out;
}

struct Expected {
  double value;
  double work;  // the size of what was summed up
};

Expected naive(Measure measure, const float* a, const float* b, size_t dim) {
  long double dot = 0;
  long double work = 0;
  long double a_square = 0;
  long double b_square = 0;
  long double distance = 0;
  double differ = 0;
  for (size_t d = 0; d < dim; ++d) {
    const long double x = a[d];
    const long double y = b[d];
    dot += x * y;
    work += std::fabs(x * y);
    a_square += x * x;
    b_square += y * y;
    distance += (x - y) * (x - y);
    differ += a[d] == b[d] ? 0 : 1;
  }
  const auto both = [](long double value, long double of) {
    return Expected{static_cast<double>(value), static_cast<double>(of)};
  };
  const long double norms = std::sqrt(a_square * b_square);
  switch (measure) {
    case Measure::kDot:
      return both(dot, work);
    case Measure::kCosine:
      return norms == 0 ? both(0, 0) : both(dot / norms, work / norms);
    case Measure::kEuclidean:
      return both(std::sqrt(distance), std::sqrt(distance));
    default:
      return {differ, 0};
  }
}

}  // namespace

TEST_CASE("Every pair of rows is measured as the formula says", "[analysis]") {
  Random random(1);
  for (const Measure measure : kMeasures) {
    for (const size_t rows : std::initializer_list<size_t>{0, 1, 2, 7}) {
      for (const size_t dim : kernelSizes()) {
        std::vector<float> x = random.floats(rows * dim, 3);
        for (size_t n = 0; n < x.size(); n += 3) x[n] = x[n % dim];  // some entries are equal
        const std::vector<float> out = pairwiseOf(measure, x, rows, dim);
        Worst worst;
        for (size_t i = 0; i < rows; ++i) {
          for (size_t j = 0; j < rows; ++j) {
            const Expected expected = naive(measure, x.data() + i * dim, x.data() + j * dim, dim);
            // Rounded to float32 once; in double, each of the additions and a few more roundings.
            const double in_double = (static_cast<double>(dim) + 6) * 0x1p-53 * expected.work;
            worst.add(out[i * rows + j], expected.value, 0.5 * ulpOfFloat(expected.value) + in_double);
          }
        }
        INFO("measure " << static_cast<int>(measure) << ", " << rows << " rows of " << dim);
        CHECK(worst.share() <= 1);
      }
    }
  }
}

TEST_CASE("Measures are symmetric, and known for a row and itself", "[analysis]") {
  Random random(2);
  constexpr size_t kRows = 9;
  constexpr size_t kDim = 21;
  std::vector<float> x = random.floats(kRows * kDim, 1e3);
  for (size_t d = 0; d < kDim; ++d) x[4 * kDim + d] = 0;  // a row of zeros
  for (const Measure measure : kMeasures) {
    const std::vector<float> out = pairwiseOf(measure, x, kRows, kDim);
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t j = 0; j < kRows; ++j) CHECK(sameBits(&out[i * kRows + j], &out[j * kRows + i], 1));
      const float itself = out[i * kRows + i];
      if (measure == Measure::kDot) CHECK((i == 4 ? itself == 0 : itself > 0));
      if (measure == Measure::kCosine) CHECK(itself == (i == 4 ? 0.0f : 1.0f));
      if (measure == Measure::kEuclidean || measure == Measure::kHamming) CHECK(itself == 0);
    }
    if (measure == Measure::kCosine) {
      for (const float c : out) CHECK((c >= -1 && c <= 1));
      for (size_t j = 0; j < kRows; ++j) CHECK(out[4 * kRows + j] == 0);
    }
  }
}

TEST_CASE("Rows of the largest and smallest numbers have a cosine", "[analysis]") {
  const std::vector<float> large = {3e38f, 3e38f, -3e38f, 3e38f};
  CHECK(pairwiseOf(Measure::kCosine, large, 2, 2) == std::vector<float>{1, 0, 0, 1});
  const std::vector<float> small = {0x1p-149f, 0, 0x1p-149f, 0x1p-149f};
  const float half_root = std::sqrt(0.5f);
  CHECK(pairwiseOf(Measure::kCosine, small, 2, 2) == std::vector<float>{1, half_root, half_root, 1});
  CHECK(pairwiseOf(Measure::kEuclidean, large, 2, 2)[1] == kInfinity);
}

TEST_CASE("The Hamming distance counts signed zeros as equal and NaN as different", "[analysis]") {
  const std::vector<float> x = {0.0f, 1, kNaN, -0.0f, 2, kNaN};
  CHECK(pairwiseOf(Measure::kHamming, x, 2, 3) == std::vector<float>{1, 2, 2, 1});
}

TEST_CASE("NaN stays in the pairs of its own row", "[analysis]") {
  const std::vector<float> x = {1, 2, kNaN, 3, 4, 5};
  for (const Measure measure : {Measure::kDot, Measure::kCosine, Measure::kEuclidean}) {
    const std::vector<float> out = pairwiseOf(measure, x, 3, 2);
    for (size_t n = 0; n < 9; ++n) CHECK(std::isnan(out[n]) == (n / 3 == 1 || n % 3 == 1));
  }
}

TEST_CASE("An unknown measure is refused and nothing is written", "[analysis]") {
  const std::vector<float> x = {1, 2};
  std::vector<float> out(4, 7.0f);
  for (const int measure : {4, 100, -1})
    CHECK(pairwise(static_cast<Measure>(measure), x.data(), 2, 1, out.data()) == Status::kInvalidArgument);
  CHECK(out == std::vector<float>(4, 7.0f));
}

TEST_CASE("The first row that repeats an earlier one is found with it", "[analysis]") {
  size_t first = 77;
  size_t second = 77;
  const auto finds = [&](const std::vector<float>& x, size_t dim) {
    return firstDuplicate(x.data(), x.size() / dim, dim, &first, &second);
  };
  CHECK_FALSE(finds({}, 3));
  CHECK_FALSE(finds({1, 2, 3}, 3));
  CHECK_FALSE(finds({1, 2, 1, 3, 2, 1, 3, 1}, 2));
  CHECK_FALSE(finds({1, kNaN, 1, kNaN}, 2));
  CHECK((first == 77 && second == 77));
  CHECK(finds({1, 2, 1, 2}, 2));
  CHECK((first == 0 && second == 1));
  CHECK(finds({5, 6, 6, 5}, 1));  // 6 repeats before 5 does
  CHECK((first == 1 && second == 2));
  CHECK(finds({4, 4, 4}, 1));
  CHECK((first == 0 && second == 1));
  CHECK(finds({0.0f, kNaN, 1, -0.0f, 5, 5, 7, -0.0f, 5}, 3) == false);
  CHECK(finds({1, 0.0f, kNaN, 2, 1, -0.0f}, 2));
  CHECK((first == 0 && second == 2));
  CHECK(firstDuplicate(nullptr, 2, 0, &first, &second));  // rows of nothing are equal
  CHECK((first == 0 && second == 1));
}

TEST_CASE("A duplicate is found wherever it stands", "[analysis]") {
  Random random(3);
  for (const size_t dim : std::initializer_list<size_t>{1, 8, 19}) {
    for (size_t i = 0; i < 6; ++i) {
      for (size_t j = i + 1; j < 6; ++j) {
        std::vector<float> x = random.floats(6 * dim);
        for (size_t d = 0; d < dim; ++d) x[j * dim + d] = x[i * dim + d];
        size_t first = 0;
        size_t second = 0;
        CHECK(firstDuplicate(x.data(), 6, dim, &first, &second));
        CHECK((first == i && second == j));
      }
    }
  }
}

}  // namespace ropewalk::test
