#include "encodings/relative.h"

#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("Distances beyond the limit share the outermost rows", "[encodings]") {
  // Shaw et al. with L = 5 and k = 2.
  const size_t expected[5][5] = {
      {2, 3, 4, 4, 4}, {1, 2, 3, 4, 4}, {0, 1, 2, 3, 4}, {0, 0, 1, 2, 3}, {0, 0, 0, 1, 2}};
  RelativeRows rows;
  rows.limit = 2;
  CHECK(rows.rows() == 5);
  RelativeRows bert = rows;
  bert.key_minus_query = false;
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) {
      CHECK(rows.row(i, j) == expected[i][j]);
      CHECK(bert.row(i, j) == 4 - expected[i][j]);
    }
  }
  CHECK(RelativeRows{}.rows() == 1);
  CHECK(RelativeRows{}.row(3, 9) == 0);
}

TEST_CASE("The offset places queries among their keys", "[encodings]") {
  RelativeRows rows;
  rows.limit = 8;
  RelativeRows later = rows;
  later.query_offset = 5;
  for (size_t j = 0; j < 9; ++j) CHECK(later.row(0, j) == rows.row(5, j));
}

TEST_CASE("covers tells whether any pair would be clipped", "[encodings]") {
  for (int64_t limit = 0; limit < 6; ++limit) {
    for (int64_t offset = -3; offset < 6; ++offset) {
      for (size_t queries = 0; queries < 5; ++queries) {
        for (size_t keys = 0; keys < 5; ++keys) {
          RelativeRows rows;
          rows.limit = limit;
          rows.query_offset = offset;
          bool all = true;
          for (size_t i = 0; i < queries; ++i) {
            for (size_t j = 0; j < keys; ++j) {
              const int64_t distance = static_cast<int64_t>(j) - static_cast<int64_t>(i) - offset;
              all = all && distance <= limit && distance >= -limit;
            }
          }
          CHECK(rows.covers(queries, keys) == all);
        }
      }
    }
  }
}

}  // namespace ropewalk::test
