#include "encodings/relative.h"

#include <algorithm>
#include <vector>

#include "angles/phase.h"
#include "catch.h"

namespace ropewalk::test {
namespace {

std::vector<std::vector<size_t>> rowsOf(const RelativeRows& rows, size_t queries, size_t keys) {
  std::vector<std::vector<size_t>> all(queries, std::vector<size_t>(keys));
  for (size_t i = 0; i < queries; ++i) {
    for (size_t j = 0; j < keys; ++j) all[i][j] = rows.row(i, j);
  }
  return all;
}

}  // namespace

TEST_CASE("Relative rows are clipped as in Shaw's example", "[encodings]") {
  using Matrix = std::vector<std::vector<size_t>>;
  const Matrix published = {
      {2, 3, 4, 4, 4}, {1, 2, 3, 4, 4}, {0, 1, 2, 3, 4}, {0, 0, 1, 2, 3}, {0, 0, 0, 1, 2}};
  CHECK(rowsOf({2, true, 0}, 5, 5) == published);
  Matrix bert = published;
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) bert[i][j] = published[j][i];
  }
  CHECK(rowsOf({2, false, 0}, 5, 5) == bert);
}

TEST_CASE("A relative row is the clipped distance of key and query, of either sign", "[encodings]") {
  for (const int64_t limit : {0, 1, 3, 8, 100}) {
    for (const int64_t offset : {0, 1, 5, -4, 1000, -1000}) {
      for (int64_t i = 0; i < 6; ++i) {
        for (int64_t j = 0; j < 9; ++j) {
          const int64_t distance = std::clamp(j - (i + offset), -limit, limit);
          const auto query = static_cast<size_t>(i);
          const auto key = static_cast<size_t>(j);
          CHECK(RelativeRows{limit, true, offset}.row(query, key) == static_cast<size_t>(limit + distance));
          CHECK(RelativeRows{limit, false, offset}.row(query, key) == static_cast<size_t>(limit - distance));
        }
      }
    }
  }
}

TEST_CASE("Rows of the farthest positions are the outermost", "[encodings]") {
  CHECK(RelativeRows{4, true, kMaxPosition}.row(0, 0) == 0);
  CHECK(RelativeRows{4, false, kMaxPosition}.row(0, 0) == 8);
  CHECK(RelativeRows{4, true, -kMaxPosition}.row(3, 3) == 8);
  CHECK(RelativeRows{4, false, -kMaxPosition}.row(3, 3) == 0);
}

TEST_CASE("A relative table has a row for each distance up to the limit", "[encodings]") {
  CHECK(RelativeRows{}.rows() == 1);
  CHECK(RelativeRows{2, true, 0}.rows() == 5);
  CHECK(RelativeRows{511, false, 7}.rows() == 1023);
}

TEST_CASE("A relative table covers queries and keys where no distance is clipped", "[encodings]") {
  for (const int64_t limit : {0, 1, 2, 5}) {
    for (int64_t offset = -8; offset <= 8; ++offset) {
      for (const bool key_minus_query : {true, false}) {
        for (size_t queries = 0; queries <= 5; ++queries) {
          for (size_t keys = 0; keys <= 5; ++keys) {
            bool clips = false;
            for (size_t i = 0; i < queries; ++i) {
              for (size_t j = 0; j < keys; ++j) {
                const int64_t distance = static_cast<int64_t>(j) - static_cast<int64_t>(i) - offset;
                clips = clips || distance > limit || distance < -limit;
              }
            }
            INFO("limit " << limit << ", offset " << offset << ", " << queries << " by " << keys);
            CHECK(RelativeRows{limit, key_minus_query, offset}.covers(queries, keys) == !clips);
          }
        }
      }
    }
  }
}

}  // namespace ropewalk::test
