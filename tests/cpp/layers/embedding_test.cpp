#include "layers/embedding.h"

#include <vector>

#include "catch.h"
#include "reference.h"

namespace ropewalk::test {

TEST_CASE("embed copies the rows of its ids, scaled", "[layers]") {
  constexpr size_t kRows = 9;
  Random random(1);
  for (const size_t dim : kernelSizes()) {
    const std::vector<float> table = random.floats(kRows * dim);
    const std::vector<int64_t> ids = {8, 0, 3, 3, 1};
    for (const float scale : {1.0f, -0.5f, 3.3f}) {
      std::vector<float> out(ids.size() * dim);
      REQUIRE(embed(out.data(), table.data(), kRows, dim, ids.data(), ids.size(), scale) == Status::kOk);
      std::vector<float> expected;
      for (const int64_t id : ids) {
        for (size_t d = 0; d < dim; ++d) {
          expected.push_back(scale * table[static_cast<size_t>(id) * dim + d]);
        }
      }
      INFO("dim = " << dim << ", scale = " << scale);
      CHECK(sameBits(out, expected));
    }
  }
}

TEST_CASE("embed refuses an id that the table does not have, and writes nothing", "[layers]") {
  const std::vector<float> table(12, 1.0f);
  for (const int64_t bad : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    const std::vector<int64_t> ids = {0, 3, bad};
    std::vector<float> out(9, 7.0f);
    CHECK(embed(out.data(), table.data(), 4, 3, ids.data(), 3, 1) == Status::kPositionOutOfRange);
    CHECK(out == std::vector<float>(9, 7.0f));
  }
  CHECK(embed(nullptr, nullptr, 0, 3, nullptr, 0, 1) == Status::kOk);
}

}  // namespace ropewalk::test
