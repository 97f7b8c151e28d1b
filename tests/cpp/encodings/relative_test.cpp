#include "encodings/relative.h"

#include <algorithm>
#include <vector>

#include "angles/phase.h"
#include "catch.h"

namespace ropewalk::test {

TEST_CASE("Relative rows are clipped as in Shaw's example", "[encodings]") {
  using Matrix = std::vector<std::vector<size_t>>;
  const Matrix published = {
      {2, 3, 4, 4, 4}, {1, 2, 3, 4, 4}, {0, 1, 2, 3, 4}, {0, 0, 1, 2, 3}, {0, 0, 0, 1, 2}};
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) {
      const int64_t distance = static_cast<int64_t>(j) - static_cast<int64_t>(i);
      CHECK(RelativeRows{2, true}.row(distance) == published[i][j]);
      CHECK(RelativeRows{2, false}.row(distance) == published[j][i]);
    }
  }
}

TEST_CASE("A relative row is the clipped distance of key and query, of either sign", "[encodings]") {
  for (const int64_t limit : {0, 1, 3, 8, 100}) {
    for (int64_t distance = -120; distance <= 120; ++distance) {
      const int64_t clipped = std::clamp(distance, -limit, limit);
      CHECK(RelativeRows{limit, true}.row(distance) == static_cast<size_t>(limit + clipped));
      CHECK(RelativeRows{limit, false}.row(distance) == static_cast<size_t>(limit - clipped));
    }
  }
}

TEST_CASE("Rows of the farthest distances are the outermost", "[encodings]") {
  for (const int64_t far : {kMaxPosition, 2 * kMaxPosition}) {
    CHECK(RelativeRows{4, true}.row(-far) == 0);
    CHECK(RelativeRows{4, false}.row(-far) == 8);
    CHECK(RelativeRows{4, true}.row(far) == 8);
    CHECK(RelativeRows{4, false}.row(far) == 0);
  }
}

TEST_CASE("Relative rows are those of the distances of each query and key", "[encodings]") {
  for (const RelativeRows rows : {RelativeRows{0, true}, RelativeRows{3, true}, RelativeRows{3, false}}) {
    for (const int64_t offset : {int64_t{0}, int64_t{-2}, int64_t{5}, kMaxPosition, -kMaxPosition}) {
      for (const size_t queries : {size_t{0}, size_t{1}, size_t{4}}) {
        for (const size_t keys : {size_t{0}, size_t{1}, size_t{9}}) {
          std::vector<double> out(queries * keys, -1);
          relativeRows(rows, queries, keys, offset, out.data());
          std::vector<double> expected;
          for (int64_t query = offset; query < offset + static_cast<int64_t>(queries); ++query) {
            for (int64_t key = 0; key < static_cast<int64_t>(keys); ++key) {
              expected.push_back(static_cast<double>(rows.row(key - query)));
            }
          }
          CHECK(out == expected);
        }
      }
    }
  }
}

TEST_CASE("A relative table has a row for each distance up to the limit", "[encodings]") {
  CHECK(RelativeRows{}.rows() == 1);
  CHECK(RelativeRows{2, true}.rows() == 5);
  CHECK(RelativeRows{511, false}.rows() == 1023);
}

}  // namespace ropewalk::test
