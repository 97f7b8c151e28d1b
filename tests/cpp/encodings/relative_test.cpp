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

TEST_CASE("A relative table has a row for each distance up to the limit", "[encodings]") {
  CHECK(RelativeRows{}.rows() == 1);
  CHECK(RelativeRows{2, true}.rows() == 5);
  CHECK(RelativeRows{511, false}.rows() == 1023);
}

}  // namespace ropewalk::test
