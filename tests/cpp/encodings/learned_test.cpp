#include "encodings/learned.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {
namespace {

constexpr LearnedMode kModes[] = {LearnedMode::kAdd, LearnedMode::kMultiply, LearnedMode::kConcatenate};

LearnedTable tableOf(const std::vector<float>& data, size_t dim) {
  return {data.data(), data.size() / dim, dim};
}

std::vector<float> extended(const std::vector<float>& data, size_t dim, double alpha, size_t rows) {
  std::vector<float> out(rows * dim, kNaN);
  REQUIRE(extendLearned(tableOf(data, dim), alpha, rows, out.data()) == Status::kOk);
  return out;
}

}  // namespace

TEST_CASE("Learned positions are added, multiplied or put behind the tokens", "[encodings]") {
  const std::vector<float> table = {1, 2, 10, 20, 100, 200};
  const std::vector<float> x = {3, 4, 5, 6, 7, 8};
  const std::vector<int64_t> positions = {2, 0, 2};
  const auto merged = [&](LearnedMode mode) {
    std::vector<float> out(mode == LearnedMode::kConcatenate ? 12 : 6, kNaN);
    REQUIRE(learnedPositions(mode, tableOf(table, 2), x.data(), 2, positions.data(), 3, out.data()) ==
            Status::kOk);
    return out;
  };
  CHECK(merged(LearnedMode::kAdd) == std::vector<float>{103, 204, 6, 8, 107, 208});
  CHECK(merged(LearnedMode::kMultiply) == std::vector<float>{300, 800, 5, 12, 700, 1600});
  CHECK(merged(LearnedMode::kConcatenate) == std::vector<float>{3, 4, 100, 200, 5, 6, 1, 2, 7, 8, 100, 200});
}

TEST_CASE("Learned positions of any size are one operation per entry", "[encodings]") {
  Random random(1);
  for (const size_t dim : std::initializer_list<size_t>{0, 1, 3, 16, 67}) {
    for (const size_t rows : std::initializer_list<size_t>{0, 1, 5}) {
      constexpr size_t kPositions = 4;
      const std::vector<float> table = random.floats(kPositions * dim);
      const std::vector<float> x = random.floats(rows * dim);
      std::vector<int64_t> positions(rows);
      for (int64_t& p : positions) p = random.between(0, kPositions - 1);
      for (const LearnedMode mode : kModes) {
        std::vector<float> expected;
        for (size_t r = 0; r < rows; ++r) {
          const float* place = table.data() + static_cast<size_t>(positions[r]) * dim;
          for (size_t d = 0; d < dim; ++d) {
            const float token = x[r * dim + d];
            expected.push_back(mode == LearnedMode::kAdd        ? token + place[d]
                               : mode == LearnedMode::kMultiply ? token * place[d]
                                                                : token);
          }
          if (mode == LearnedMode::kConcatenate) expected.insert(expected.end(), place, place + dim);
        }
        std::vector<float> out(expected.size(), kNaN);
        REQUIRE(learnedPositions(mode, {table.data(), kPositions, dim}, x.data(), dim, positions.data(), rows,
                                 out.data()) == Status::kOk);
        CHECK(sameBits(out, expected));
      }
    }
  }
}

TEST_CASE("Tokens that positions are put behind may have another size, or none", "[encodings]") {
  const std::vector<float> table = {1, 2, 3};
  const std::vector<float> x = {7, 8};
  const int64_t position = 0;
  std::vector<float> out(5, kNaN);
  REQUIRE(learnedPositions(LearnedMode::kConcatenate, tableOf(table, 3), x.data(), 2, &position, 1,
                           out.data()) == Status::kOk);
  CHECK(out == std::vector<float>{7, 8, 1, 2, 3});
  out.resize(3);
  REQUIRE(learnedPositions(LearnedMode::kConcatenate, tableOf(table, 3), nullptr, 0, &position, 1,
                           out.data()) == Status::kOk);
  CHECK(out == table);
}

TEST_CASE("Learned positions outside the table are refused and nothing is written", "[encodings]") {
  const std::vector<float> table(8, 1.0f);
  const std::vector<float> x(6, 1.0f);
  for (const LearnedMode mode : kModes) {
    for (const int64_t bad : {int64_t{4}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max(), int64_t{1} << 32}) {
      for (const size_t place : std::initializer_list<size_t>{0, 2}) {
        std::vector<int64_t> positions = {0, 3, 1};
        positions[place] = bad;
        std::vector<float> out(12, 7.0f);
        CHECK(learnedPositions(mode, tableOf(table, 2), x.data(), 2, positions.data(), 3, out.data()) ==
              Status::kPositionOutOfRange);
        CHECK(out == std::vector<float>(12, 7.0f));
      }
    }
    const int64_t zero = 0;
    float out = 7;
    CHECK(learnedPositions(mode, {nullptr, 0, 1}, x.data(), 1, &zero, 1, &out) ==
          Status::kPositionOutOfRange);
    CHECK(out == 7);
  }
}

TEST_CASE("Tokens of another size cannot be added to positions or multiplied by them", "[encodings]") {
  const std::vector<float> table(8, 1.0f);
  const std::vector<float> x(3, 1.0f);
  const int64_t position = 0;
  std::vector<float> out(3, 7.0f);
  for (const LearnedMode mode : {LearnedMode::kAdd, LearnedMode::kMultiply}) {
    for (const size_t x_dim : std::initializer_list<size_t>{0, 1, 3}) {
      CHECK(learnedPositions(mode, tableOf(table, 2), x.data(), x_dim, &position, 1, out.data()) ==
            Status::kInvalidShape);
    }
  }
  CHECK(out == std::vector<float>(3, 7.0f));
}

TEST_CASE("An extended table begins with the rows it is made of, bit for bit", "[encodings]") {
  Random random(2);
  for (const size_t n : std::initializer_list<size_t>{1, 2, 3, 7, 20}) {
    std::vector<float> table = random.floats(n * 5, 3);
    table[0] = -0.0f;
    table[n * 5 - 1] = 0x1p-149f;
    for (const double alpha : {0.4, 0.1, 0.49, 0.9}) {
      const std::vector<float> all = extended(table, 5, alpha, n * n);
      CHECK(sameBits(all.data(), table.data(), n * 5));
      const std::vector<float> fewer = extended(table, 5, alpha, n / 2);
      CHECK(sameBits(fewer.data(), table.data(), n / 2 * 5));
    }
  }
}

TEST_CASE("An extended table is Su's hierarchy", "[encodings]") {
  Random random(3);
  for (const size_t n : std::initializer_list<size_t>{1, 2, 5, 12}) {
    for (const long double alpha : {0.4L, 0.25L, 0.75L}) {
      const std::vector<float> table = random.floats(n * 3, 2);
      const auto given = static_cast<double>(alpha);
      const std::vector<float> all = extended(table, 3, given, n * n);
      Worst worst;
      for (size_t p = 0; p < n * n; ++p) {
        for (size_t d = 0; d < 3; ++d) {
          const long double a = given;
          const auto u = [&](size_t row) { return (table[row * 3 + d] - a * table[d]) / (1 - a); };
          const auto expected = static_cast<double>(a * u(p / n) + (1 - a) * u(p % n));
          // Rounded once, after at most ten operations in double on numbers below 32.
          worst.add(all[p * 3 + d], expected, 0.5 * ulpOfFloat(expected) + 10 * 32 * 0x1p-53);
        }
      }
      INFO("n = " << n << ", alpha = " << given);
      CHECK(worst.share() <= 1);
    }
  }
}

TEST_CASE("A table of n rows extends to n^2 and no further", "[encodings]") {
  const std::vector<float> table = {1, 2, 3};
  std::vector<float> out(10, 7.0f);
  CHECK(extendLearned(tableOf(table, 1), 0.4, 0, out.data()) == Status::kOk);
  CHECK(extendLearned(tableOf(table, 1), 0.4, 10, out.data()) == Status::kInvalidShape);
  CHECK(extendLearned(tableOf(table, 1), 0.4, 1000, out.data()) == Status::kInvalidShape);
  CHECK(extendLearned({nullptr, 0, 1}, 0.4, 1, out.data()) == Status::kInvalidShape);
  CHECK(extendLearned({nullptr, 0, 1}, 0.4, 0, out.data()) == Status::kInvalidShape);
  for (const double alpha : {0.0, 1.0, 0.5, -0.4, 1.5, static_cast<double>(kNaN),
                             static_cast<double>(kInfinity), -static_cast<double>(kInfinity)}) {
    CHECK(extendLearned(tableOf(table, 1), alpha, 9, out.data()) == Status::kInvalidArgument);
  }
  CHECK(out == std::vector<float>(10, 7.0f));
  CHECK(extendLearned(tableOf(table, 1), 0.4, 9, out.data()) == Status::kOk);
  CHECK(out[9] == 7);
  CHECK(extendLearned({nullptr, 3, 0}, 0.4, 9, nullptr) == Status::kOk);
}

}  // namespace ropewalk::test
